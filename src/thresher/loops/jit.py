"""Compilation of loops: without the GIL, cached on disk if a directory is writable."""

import functools
import logging
import pathlib
import threading
import zlib

import numba
from numba.core import event

from thresher._garbage import pause, resume
from thresher.errors import CompilationCacheWarning, warn

# Sums may be regrouped into vector lanes; nan and inf keep their meaning.
REGROUP = frozenset({"reassoc", "nsz"})
# A product and the sum it is added to may be rounded once, by one instruction.
FUSE = frozenset({"contract"})
# What is left out is not compiled: loops are not called from C, allocate nothing and return no arrays, so that no
# references need be counted. Division by zero gives inf or nan, as in numpy, without a test at each division.
LEAN = {"nogil": True, "no_cfunc_wrapper": True, "_nrt": False, "error_model": "numpy"}
# Numba's configuration while a loop and its helpers are compiled. LIGHT: for loops of branches and scattered access,
# which more optimisation makes no faster; it takes a fifth of the time. LANES: equal work on numbers that lie side by
# side is done by one instruction, which changes no bits.
LIGHT, LANES = {"OPT": type(vars(numba.config)["OPT"])(1)}, {"SLP_VECTORIZE": 1}
_CONFIGS: dict = {}  # by function
NOTICE = "thresher: compiling loops, which takes a few seconds; they are cached for later runs"


def compiled(function=None, *, regroup_sums=False, fuse=False, config=None, uses=None):
    """Compile ``function`` at its first call; ``regroup_sums`` lets the sums of a dot product vectorise.

    The order of a regrouped sum is fixed when the loop is compiled, so equal input still gives equal bits. ``fuse``
    permits fused multiply-adds, for loops that arithmetic limits. ``config`` is LIGHT, LANES or None. ``uses`` is
    another module whose loops it calls: the cache on disk is then invalidated when that module changes.
    """
    if function is None:
        return functools.partial(compiled, regroup_sums=regroup_sums, fuse=fuse, config=config, uses=uses)
    if config is not None:
        _CONFIGS[function] = config
    if uses is not None:  # Numba's cache is keyed by function name and by the age of its own module
        function.__qualname__ += f"-{zlib.crc32(pathlib.Path(uses.__file__).read_bytes()):08x}"
    flags = (REGROUP if regroup_sums else frozenset()) | (FUSE if fuse else frozenset())
    options = LEAN | {"fastmath": set(flags) or False}
    try:
        return numba.njit(cache=True, **options)(function)
    except RuntimeError:  # Numba found no directory that it may write
        _warn_once()
        return numba.njit(**options)(function)


def helper(function):
    """Compile ``function`` as a part of the loops that call it; it cannot be called from Python.

    Without the code that unpacks Python objects, and without a file of its own in the cache, that takes half the time.
    """
    return numba.njit(no_cpython_wrapper=True, **LEAN)(function)


@functools.cache
def _warn_once():
    message = (
        "no folder for compiled loops can be written, so each new process compiles them again, for 10 to 15 s: run "
        "'thresher warmup --cache DIR' once and set the environment variable NUMBA_CACHE_DIR=DIR"
    )
    warn(message, CompilationCacheWarning)


class _Compilations(event.Listener):
    """Notified by Numba when it begins and ends to compile a loop, which it does under a lock, not when it loads one.

    The first one of ours is logged.
    """

    def __init__(self):
        self.announced, self.before = False, []

    def on_start(self, event):
        """Log it once, and set what this loop is compiled with."""
        function = event.data["dispatcher"].py_func
        told = self.announced or _warn_once.cache_info().currsize  # that warning says so, too
        if not told and str(function.__module__).startswith("thresher."):
            self.announced = True
            logging.getLogger("thresher").warning(NOTICE)
        config = _CONFIGS.get(function, {})
        self.before.append({name: getattr(numba.config, name) for name in config})
        vars(numba.config).update(config)

    def on_end(self, event):
        """Set back what was set."""
        vars(numba.config).update(self.before.pop())


class _Pauses(event.Listener):
    """Notified by Numba when a thread asks for the lock of its compiler, to load or compile a loop, and gives it back.

    Meanwhile no garbage is collected: Numba makes millions of small objects, and at the first loop loads half of its
    own modules; looking through them, and through all modules loaded, would take a tenth of the time.
    """

    def __init__(self):
        self.of_thread = threading.local()  # a thread waits for the lock while another one has it

    def on_start(self, event):
        """Pause the garbage collection when the first of nested locks is asked for."""
        mine = vars(self.of_thread)
        mine["depth"] = mine.get("depth", 0) + 1
        if mine["depth"] == 1:
            mine["collects"] = pause()

    def on_end(self, event):
        """Resume it when the last one is given back."""
        mine = vars(self.of_thread)
        mine["depth"] -= 1
        if mine["depth"] == 0:
            resume(mine["collects"])


event.register("numba:compile", _Compilations())
event.register("numba:compiler_lock", _Pauses())
