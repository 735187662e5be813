"""Prints what a script can see of its interpreter."""

import os, sys

first_modules = sorted(sys.modules)
first_main = sorted(vars(sys.modules["__main__"]))

import builtins, gc, json, locale, logging, pickle, random, resource, signal, threading, time, warnings

# Kept apart: modules loaded before the first line may be more, but only of the standard library.
with open(os.environ["WORLD_MODULES"], "w") as file:
    json.dump(first_modules, file)


def stack_of_threads():
    return [(t.name, t.daemon, type(t).__name__) for t in threading.enumerate()]


world = {
    "argv": sys.argv,
    "orig_argv": sys.orig_argv,
    "path": sys.path,
    "path_hooks": [getattr(hook, "__name__", str(hook)) for hook in sys.path_hooks],
    "meta_path": [getattr(finder, "__name__", type(finder).__name__) for finder in sys.meta_path],
    "flags": str(sys.flags),
    "executable": sys.executable,
    "prefix": sys.prefix,
    "name": __name__,
    "file": __file__,
    "spec": repr(__spec__),
    "loader": type(__loader__).__name__,
    "package": __package__,
    "cached": globals().get("__cached__", "absent"),
    "doc": __doc__,
    "main": first_main,
    "main is this": sys.modules["__main__"].__dict__ is globals(),
    "builtins": sorted(vars(builtins)),
    "random": random.Random(5).random(),
    "filters": [str(item) for item in warnings.filters],
    "warnoptions": sys.warnoptions,
    "logging": [
        logging.root.level,
        len(logging.root.handlers),
        sorted(logging.root.manager.loggerDict),
        logging.lastResort is not None,
        logging.raiseExceptions,
    ],
    "signals": [str(signal.getsignal(s)) for s in sorted(signal.valid_signals())],
    "mask": sorted(signal.pthread_sigmask(signal.SIG_BLOCK, [])),
    "wakeup": signal.set_wakeup_fd(-1),
    "timers": [signal.getitimer(which) for which in (signal.ITIMER_REAL, signal.ITIMER_VIRTUAL, signal.ITIMER_PROF)],
    "threads": stack_of_threads(),
    "active": threading.active_count(),
    "main thread": threading.main_thread() is threading.current_thread(),
    "gc": [gc.isenabled(), gc.get_threshold(), gc.get_debug(), gc.get_freeze_count()],
    "trace": [sys.gettrace(), sys.getprofile(), threading.gettrace(), threading.getprofile()],
    "excepthook": sys.excepthook is sys.__excepthook__,
    "displayhook": sys.displayhook is sys.__displayhook__,
    "unraisablehook": sys.unraisablehook is sys.__unraisablehook__,
    "breakpointhook": sys.breakpointhook is sys.__breakpointhook__,
    "thread excepthook": threading.excepthook is threading.__excepthook__,
    "stdout": [
        sys.stdout is sys.__stdout__,
        type(sys.stdout).__name__,
        sys.stdout.encoding,
        sys.stdout.errors,
        sys.stdout.line_buffering,
        sys.stdout.write_through,
    ],
    "stderr": [sys.stderr is sys.__stderr__, sys.stderr.encoding, sys.stderr.errors, sys.stderr.line_buffering],
    "stdin": [sys.stdin is sys.__stdin__, sys.stdin.isatty(), sys.stdin.read()],
    "import": __import__ is builtins.__import__ and repr(builtins.__import__),
    "recursion": sys.getrecursionlimit(),
    "switch": sys.getswitchinterval(),
    "int digits": sys.get_int_max_str_digits(),
    "asyncgen": str(sys.get_asyncgen_hooks()),
    "dont write": [sys.dont_write_bytecode, sys.pycache_prefix],
    "locale": locale.setlocale(locale.LC_ALL),
    "limits": [resource.getrlimit(getattr(resource, n)) for n in sorted(dir(resource)) if n.startswith("RLIMIT_")],
    "umask": os.umask(0o022),
    "cwd": os.getcwd(),
    "nice": os.nice(0),
    "affinity": sorted(os.sched_getaffinity(0)),
    "standard files": [os.path.exists(f"/proc/self/fd/{n}") for n in (0, 1, 2)],
    "inherited": [fd for fd in range(256) if os.path.exists(f"/proc/self/fd/{fd}") and fd > 2 and os.get_inheritable(fd)],
    "group": os.getpgid(0) == os.getpgid(os.getppid()),
    "stack size": threading.stack_size(),
    "clocks": [
        c.__name__ + c.__qualname__ + c.__module__ + (c.__doc__ or "")[:20] + repr(c)
        for c in (time.time, time.perf_counter, time.monotonic, print, time.sleep)
    ],
    "pickled": [pickle.loads(pickle.dumps(c)) is c for c in (time.time, time.perf_counter, print, time.sleep)],
    "pickle bytes": [pickle.dumps(c).hex() for c in (time.time, time.perf_counter_ns, print, time.sleep, open)],
    "environment": sorted(k for k in os.environ if k not in ("PYTHONPATH", "WORLD_MODULES") and not k.startswith("UNSLOW_")),
}
for key, value in world.items():
    print(f"{key}: {value}")
