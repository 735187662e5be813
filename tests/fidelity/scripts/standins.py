"""What scripts do with clocks, print and others besides calling them."""

import copy
import functools
import inspect
import logging
import os
import pickle
import sys
import time
import types
import warnings
from time import perf_counter
from time import time as now


class Timer:
    clock = time.perf_counter
    other = now
    say = print

    def __init__(self, clock=time.monotonic):
        self.start = self.clock()
        self.elsewhere = clock

    def elapsed(self):
        return self.clock() - self.start


timer = Timer()
print("elapsed", 0 <= timer.elapsed() < 5, type(timer.other()).__name__, type(timer.elsewhere()).__name__)
timer.say("said", "by", "an", "attribute", sep="-")
print("bound?", type(Timer.__dict__["clock"]) is types.FunctionType, isinstance(timer.clock, types.MethodType))
print("isbuiltin", inspect.isbuiltin(time.time), inspect.isroutine(time.time), callable(time.time), inspect.isfunction(time.time))
print("isinstance", isinstance(time.time, types.BuiltinFunctionType), isinstance(print, type(len)))
print("signature", inspect.signature(print))
print("repr", repr(time.time), repr(print), str(perf_counter))
print("copies", copy.copy(time.time) is time.time, copy.deepcopy(print) is print)
print("pickles", pickle.loads(pickle.dumps(time.time)) is time.time, pickle.loads(pickle.dumps({"p": print}))["p"] is print)
print("hash", {time.time: 1}[time.time], time.time == time.time, time.time is now)
print("partial", functools.partial(print, end="!\n")("x"))
print("wraps", functools.wraps(time.time)(lambda: 0).__name__)
print("info", time.get_clock_info("perf_counter").implementation, time.get_clock_info("time").adjustable)
print("map", list(map(print, "ab")))
for bad in (lambda: time.time(1), lambda: print(nonsense=1), lambda: time.sleep("x"), lambda: time.sleep(-1)):
    try:
        bad()
    except Exception as error:
        print(type(error).__name__, error)
print("names", time.time.__name__, time.time.__qualname__, time.time.__module__, print.__self__.__name__, print.__text_signature__)
print("orders", time.monotonic() <= time.monotonic() <= time.perf_counter() + 1e9)


def deprecated():
    warnings.warn("old", DeprecationWarning, stacklevel=2)


warnings.simplefilter("always")
deprecated()
logging.basicConfig(format="%(filename)s:%(lineno)d %(funcName)s %(name)s %(message)s", stream=sys.stdout, level="INFO")
logging.getLogger("a.b").info("hello %s", 5)


class Handler(logging.Handler):
    def emit(self, record):
        warnings.warn("from emit", stacklevel=1)
        print("handled", record.getMessage(), record.lineno, record.funcName, record.pathname == os.path.abspath(__file__))


logging.getLogger("c").addHandler(Handler())
logging.getLogger("c").warning("careful", stacklevel=1)


class Slow:
    def write(self, text):
        sys.stdout.write(text.upper())

    def flush(self):
        pass


def caller():
    print("to my own file", file=Slow(), flush=True)


caller()
