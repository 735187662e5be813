"""Processes, threads and tasks that a script starts behave as ever; each process has its own recording."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.runs import Run, assert_sums

Both = Callable[..., tuple[Run, Run]]

SCRIPTS = {
    "fork": """
        import multiprocessing, os, sys, time
        def work(n):
            print("child", n, sys.argv, __name__, multiprocessing.current_process().name, flush=True)
            return n * n
        if __name__ == "__main__":
            context = multiprocessing.get_context("fork")
            with context.Pool(1) as pool:
                print(pool.map(work, range(3)))
            child = context.Process(target=work, args=(9,))
            child.start(); child.join(); print(child.exitcode)
            broken = context.Process(target=sys.exit, args=(5,))
            broken.start(); broken.join(); print(broken.exitcode)
    """,
    "spawn": """
        import multiprocessing, sys
        print("top", __name__)
        def work(n):
            return n, sys.argv, __name__, multiprocessing.current_process().name
        if __name__ == "__main__":
            context = multiprocessing.get_context("spawn")
            with context.Pool(1) as pool:
                print(pool.map(work, range(2)))
    """,
    "forkserver": """
        import multiprocessing
        def work(queue):
            queue.put("from the child")
        if __name__ == "__main__":
            context = multiprocessing.get_context("forkserver")
            queue = context.Queue()
            child = context.Process(target=work, args=(queue,))
            child.start(); print(queue.get()); child.join(); print(child.exitcode)
    """,
    "child_raises": """
        import multiprocessing
        def work():
            raise ValueError("in a child")
        child = multiprocessing.get_context("fork").Process(target=work, name="C")
        child.start(); child.join(); print(child.exitcode)
    """,
    "spawn_function_pickled": """
        import concurrent.futures, multiprocessing, time
        if __name__ == "__main__":
            with concurrent.futures.ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as pool:
                print(type(pool.submit(time.time).result()).__name__, pool.submit(print, "x").result())
    """,
    "os_fork": """
        import os, sys, atexit
        atexit.register(lambda: print("atexit", flush=True))
        sys.stdout.flush()
        pid = os.fork()
        if pid == 0:
            print("child", flush=True)
            os._exit(3)
        print("parent", os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
        sys.stdout.flush()
        pid = os.fork()
        if pid == 0:
            sys.exit(4)
        print("parent", os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
    """,
    "fork_of_fork": """
        import os
        for depth in range(3):
            pid = os.fork()
            if pid:
                os._exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) + 1)
        os._exit(10)
    """,
    "fork_in_thread": """
        import os, threading
        def work():
            pid = os.fork()
            if pid == 0:
                print("child", threading.current_thread() is threading.main_thread(), flush=True)
                os._exit(0)
            os.waitpid(pid, 0)
        t = threading.Thread(target=work); t.start(); t.join(); print("done")
    """,
    "exec": """
        import os, sys
        sys.stdout.flush()
        os.execv(sys.executable, [sys.executable, "-c", "import sys; print('new program', sys.argv); sys.exit(6)", "x"])
    """,
    "subprocess": """
        import os, subprocess, sys
        code = "import sys; print(sys.argv, sys.path[0], __name__); sys.exit(3)"
        done = subprocess.run([sys.executable, "-c", code, "a"], capture_output=True, text=True)
        print(done)
        print(subprocess.check_output([sys.executable, "-I", "-c", "print('isolated')"]))
        print(subprocess.run("echo shell", shell=True).returncode, os.system("exit 3"))
        print(subprocess.Popen(["cat"], stdin=subprocess.PIPE, stdout=subprocess.PIPE).communicate(b"hi"))
        try:
            subprocess.run(["sleep", "5"], timeout=0.1)
        except subprocess.TimeoutExpired as error:
            print(str(error)[:30])
        print(subprocess.run([sys.executable, "-c", "1/0"], capture_output=True, text=True).stderr)
    """,
    "subprocess_with_clean_environment": """
        import subprocess, sys
        print(subprocess.run([sys.executable, "-c", "import os, sys; print(sorted(os.environ), 'sitecustomize' in sys.modules)"], env={}, capture_output=True, text=True).stdout)
    """,
    "threads": """
        import threading, time
        local = threading.local()
        lines = []
        def work(n):
            local.n = n
            for _ in range(50):
                time.sleep(0); print(end="")
                assert local.n == n
            lines.append((n, threading.current_thread().name))
        threads = [threading.Thread(target=work, args=(n,), name=f"T{n}") for n in range(4)]
        [t.start() for t in threads]; print(sorted(t.name for t in threading.enumerate()) [:1]); [t.join() for t in threads]
        print(sorted(lines), threading.active_count())
        threading.Thread(target=lambda: (time.sleep(0.2), print("after main")), name="late").start()
        print("main ends")
    """,
    "daemon_thread": """
        import threading, time
        threading.Thread(target=lambda: time.sleep(30), daemon=True).start()
        print("leaving")
    """,
    "asyncio": """
        import asyncio, time
        async def task(n):
            time.monotonic(); print("begin", n)
            await asyncio.sleep(0.01 * n)
            print("end", n); return n
        async def main():
            print(await asyncio.gather(*(task(n) for n in range(4))))
            process = await asyncio.create_subprocess_exec("echo", "hi", stdout=asyncio.subprocess.PIPE)
            print(await process.communicate())
            print(await asyncio.to_thread(lambda: (print("in a thread"), 5)[1]))
        asyncio.run(main())
    """,
    "signals_and_timers": """
        import signal, time
        got = []
        signal.signal(signal.SIGALRM, lambda *a: got.append(1))
        signal.setitimer(signal.ITIMER_REAL, 0.05, 0.05)
        for _ in range(5): time.sleep(0.05); print(end="")
        signal.setitimer(signal.ITIMER_REAL, 0)
        print(len(got) >= 3)
        def boom(*a): raise RuntimeError("from a handler")
        signal.signal(signal.SIGALRM, boom)
        signal.setitimer(signal.ITIMER_REAL, 0.05)
        try:
            time.sleep(3)
        except RuntimeError as error:
            print(error, error.__traceback__.tb_next.tb_frame.f_code.co_name)
    """,
    "tracing_tools": """
        import sys, trace, cProfile, pstats, io
        def f():
            import time; time.sleep(0); return 1
        calls = []
        sys.setprofile(lambda frame, event, arg: calls.append(frame.f_code.co_name) if event == "call" else None)
        f(); sys.setprofile(None)
        print("f" in calls)
        print(trace.Trace(count=1, trace=0).runfunc(f))
        profile = cProfile.Profile(); print(profile.runcall(f))
    """,
    "exec_and_compile": """
        exec(compile("import time\\ndef g():\\n    return time.time() > 0\\nprint(g(), __name__)", "<made up>", "exec"))
        import types, sys; m = types.ModuleType("made"); exec("x = 1", m.__dict__); print(m.x)
        print(eval("__import__('json').dumps([1])"))
    """,
    "reload": """
        import importlib, json, time, sys
        print(importlib.reload(json) is json, importlib.import_module("json.decoder").__name__)
        del sys.modules["json"]; import json as again; print(again is json)
        importlib.reload(time); print(type(time.time()).__name__)
    """,
    "import_order": """
        import sys
        class Finder:
            def find_spec(self, name, path=None, target=None):
                if name == "invented":
                    print("asked for", name)
        sys.meta_path.insert(0, Finder())
        try: import invented
        except ModuleNotFoundError as e: print(e, e.name)
        import builtins; original = builtins.__import__
        def mine(name, *a, **k):
            if name == "colorsys": print("importing", name)
            return original(name, *a, **k)
        builtins.__import__ = mine
        import colorsys
    """,
    "replaces_our_hooks": """
        import builtins, time, gc
        old = builtins.print, time.time
        builtins.print = lambda *a, **k: old[0]("mine:", *a, **k)
        time.time = lambda: 5.0
        print(time.time()); gc.callbacks.clear(); gc.collect()
        builtins.print, time.time = old
        print("back", time.time() > 5)
    """,
    "deep": """
        import sys
        def f(n): return 0 if n == 0 else 1 + f(n - 1)
        print(f(900))
    """,
    "audit": """
        import sys
        seen = []
        sys.addaudithook(lambda event, args: seen.append(event) if event in ("os.system", "subprocess.Popen", "signal.pthread_kill") else None)
        import os; os.system("true"); print(seen)
    """,
    "tempfiles": """
        import tempfile, os, glob
        with tempfile.TemporaryDirectory() as d: print(os.listdir(d), os.listdir("."))
    """,
}


@pytest.mark.parametrize("name", SCRIPTS)
def test_behaves(name: str, work: Path, both: Both) -> None:
    """Output, errors and exit code are equal; the main process's account sums."""
    lines = SCRIPTS[name].strip("\n").splitlines()
    (work / "train.py").write_text("".join(line[8:] + "\n" for line in lines))
    _, run = both("train.py")
    assert_sums(run.account())
