"""What a process remembers of a source from one scan to the next: gone with the source, and never pickled."""

import math
import os
import threading
import weakref
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import numpy as np
from numpy.typing import DTypeLike

MOST_KEPT = 1 << 31  # bytes of all that is kept in a process

T = TypeVar("T")


def learnt(source: Any, make: Callable[[], T]) -> T:
    """What this process has learnt of ``source``: the same object each time, made by ``make()`` at first.

    Parameters
    ----------
    source : object
        What it is about; it must not refer to the source.
    make : callable
        Returns an object that has learnt nothing yet.

    Returns
    -------
    object
        It goes with the source.
    """
    with _memory.lock:
        found = _memory.learnt.get(source)
        if found is None:
            found = _memory.learnt[source] = make()
        return found


class Kept:
    """Rows of tables that are computed once, if there is room for all of them; several threads may do so at once.

    Parameters
    ----------
    rows : int
        How many there are.
    *tables : tuple of (shape, dtype)
        Of a row in each table.
    """

    def __init__(self, rows: int, *tables: tuple[tuple[int, ...], DTypeLike]):
        nbytes = rows * sum(math.prod(shape) * np.dtype(dtype).itemsize for shape, dtype in tables)
        self._known = np.zeros(rows, dtype=bool)
        self._tables: list[np.ndarray] | None = None
        if _memory.has_room(nbytes):
            weakref.finalize(self, _memory.release, nbytes)
            self._tables = [np.empty((rows, *shape), dtype=dtype) for shape, dtype in tables]

    @property
    def tables(self) -> list[np.ndarray] | None:
        """The tables, if all rows are there."""
        return self._tables if self._known.all() else None

    def of(self, ids: np.ndarray, compute: Callable[[np.ndarray], Sequence[np.ndarray]]) -> Sequence[np.ndarray]:
        """Some rows of each table, copied.

        Parameters
        ----------
        ids : ndarray of int64
            Numbers of the rows.
        compute : callable
            Returns the rows with these numbers, of each table.

        Returns
        -------
        sequence of ndarray
            One of each table.
        """
        if self._tables is None:
            return compute(ids)
        missing = ids[~self._known[ids]]
        if missing.size:
            for table, rows in zip(self._tables, compute(missing), strict=True):
                table[missing] = rows
            self._known[missing] = True  # last: other threads read rows that are known
        return [table[ids] for table in self._tables]


class _Memory:
    """What this process has learnt of sources, and how many bytes are kept of them."""

    def __init__(self) -> None:
        self.learnt: weakref.WeakKeyDictionary[Any, Any] = weakref.WeakKeyDictionary()
        self.nbytes = 0
        self.reset()

    def reset(self) -> None:
        """The lock anew: a child does not have the thread that may have held it."""
        self.lock = threading.RLock()  # rows may be released by a thread that holds it

    def has_room(self, nbytes: int) -> bool:
        """Whether so many bytes more can be kept; they count from now on."""
        with self.lock:
            enough = self.nbytes + nbytes <= MOST_KEPT
            self.nbytes += nbytes if enough else 0
        return enough

    def release(self, nbytes: int) -> None:
        """So many bytes are kept no longer."""
        with self.lock:
            self.nbytes -= nbytes


_memory = _Memory()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_memory.reset)
