"""Compilation of loops: without the GIL, cached on disk if a directory is writable."""

import functools
import pathlib
import warnings
import zlib

import numba

from thresher.errors import CompilationCacheWarning

# Sums may be regrouped into vector lanes; nan and inf keep their meaning.
REGROUP = frozenset({"reassoc", "nsz"})
# A product and the sum it is added to may be rounded once, by one instruction.
FUSE = frozenset({"contract"})


def compiled(function=None, *, regroup_sums=False, fuse=False, uses=None, inline=False):
    """Compile ``function`` at its first call; ``regroup_sums`` lets the sums of a dot product vectorise.

    The order of a regrouped sum is fixed when the loop is compiled, so equal input still gives equal bits. ``fuse``
    permits fused multiply-adds, for loops that arithmetic limits. ``uses`` is
    another module whose loops it calls: the cache on disk is then invalidated when that module changes. ``inline``
    inlines it into its callers, if passing tuples of arrays would cost more than the work itself.
    """
    if function is None:
        return lambda f: compiled(f, regroup_sums=regroup_sums, fuse=fuse, uses=uses, inline=inline)
    if uses is not None:  # Numba's cache is keyed by function name and by the age of its own module
        function.__qualname__ += f"-{zlib.crc32(pathlib.Path(uses.__file__).read_bytes()):08x}"
    flags = (REGROUP if regroup_sums else frozenset()) | (FUSE if fuse else frozenset())
    options = {"nogil": True, "fastmath": set(flags) or False}
    options |= {"inline": "always"} if inline else {}
    try:
        return numba.njit(cache=True, **options)(function)
    except RuntimeError:  # Numba found no directory that it may write
        _warn_once()
        return numba.njit(**options)(function)


@functools.cache
def _warn_once():
    message = "no writable cache directory, so every new process recompiles; set NUMBA_CACHE_DIR to a writable one"
    warnings.warn(message, CompilationCacheWarning, stacklevel=3)
