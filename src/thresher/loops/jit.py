"""Compilation of loops: without the GIL, cached on disk if a directory is writable."""

import functools
import gc
import logging
import pathlib
import warnings
import zlib

import numba
from numba.core import event

from thresher.errors import CompilationCacheWarning

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
    message = "no writable cache directory, so every new process recompiles; set NUMBA_CACHE_DIR to a writable one"
    warnings.warn(message, CompilationCacheWarning, stacklevel=3)


class _Compilations(event.Listener):
    """Told by Numba when it begins and ends to compile a loop, which it does under a lock, not when it loads one.

    The first one of ours is logged. Meanwhile no garbage is collected: Numba makes millions of small objects, and
    looking through them, and through all modules loaded, would take a tenth of the time.
    """

    def __init__(self):
        self.depth, self.announced, self.collects, self.before = 0, False, False, []

    def on_start(self, event):
        """Say so once, pause the garbage collection, and set what this loop is compiled with."""
        ours = str(event.data["dispatcher"].py_func.__module__).startswith("thresher.")
        if ours and not self.announced:
            self.announced = True
            logging.getLogger("thresher").warning(NOTICE)
        config = _CONFIGS.get(event.data["dispatcher"].py_func, {})
        self.before.append({name: getattr(numba.config, name) for name in config})
        vars(numba.config).update(config)
        if self.depth == 0:
            self.collects = ours and gc.isenabled()
            if self.collects:
                gc.disable()
        self.depth += 1

    def on_end(self, event):
        """Set back what was set; resume the garbage collection when the outermost loop is done."""
        self.depth -= 1
        vars(numba.config).update(self.before.pop())
        if self.depth == 0 and self.collects:
            gc.enable()


event.register("numba:compile", _Compilations())
