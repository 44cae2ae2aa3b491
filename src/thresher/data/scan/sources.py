"""Sources: the data that pieces of a scan refer to, opened once in each process that works on them.

What a process learns of a source it remembers from one scan to the next: gone with the source, and never pickled.
"""

import collections
import itertools
import math
import os
import threading
import uuid
import weakref
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

import numpy as np
from numpy.typing import DTypeLike

from thresher.data.workers import SERIAL, Runner
from thresher.errors import UnsupportedDesignError

MOST_KEPT = 1 << 31  # bytes of all that is kept in a process
MOST_OPEN = 8  # sources that a process has opened at a time; the one that was used least recently is closed first

T = TypeVar("T")
Source = TypeVar("Source", covariant=True)
Recipe = Callable[[], Any]


@dataclass(frozen=True, eq=False)
class Reference(Generic[Source]):
    """What a piece has instead of the data itself: small when pickled.

    In the process that made it, and in forks of that, it has the ``source``. Other processes get ``key`` and
    ``recipe``, which opens the source there: once, for all pieces that refer to it. None: it cannot be opened there.
    """

    key: Hashable
    recipe: Recipe | None = None
    source: Source | None = field(default=None, repr=False)
    runner: Runner = field(default=SERIAL, repr=False)

    def open(self) -> Source:
        """The source.

        Raises
        ------
        UnsupportedDesignError
            If it is in the memory of another process.
        """
        if self.source is not None:
            return self.source
        if self.recipe is None:
            raise UnsupportedDesignError(
                "a piece of a scan refers to data in the memory of another process: scan with threads (n_jobs), or "
                "have the runner of the Design hand the data to its workers (see Runner.ship)"
            )
        return opened_once(self.key, self.recipe)

    def __reduce__(self) -> tuple:
        return _arrived, (self.key, self.recipe if self.source is None else _shipped(self.source, self.runner))


def reference(source: T, runner: Runner) -> Reference[T]:
    """What pieces have instead of ``source``, for the workers of ``runner``; it is shipped when the first is pickled.

    Parameters
    ----------
    source : object
        Anything that is compared by identity and can be referred to weakly.
    runner : Runner
        Where the pieces will be worked on.

    Returns
    -------
    Reference
        With the same key for the same source.
    """
    with _process.lock:
        key = _process.keys.get(source)
        if key is None:
            key = _process.keys[source] = f"{_process.name}.{next(_process.numbers)}"
            _process.sources[key] = source
    return Reference(key, None, source, runner)


def opened_once(key: Hashable, recipe: Callable[[], T]) -> T:
    """What ``recipe()`` returns, called once in this process as long as it is among the MOST_OPEN used last.

    Parameters
    ----------
    key : hashable
        The same for the same recipe.
    recipe : callable
        Opens the source. Threads that ask for the same key wait for the first of them.

    Returns
    -------
    object
        The source.
    """
    with _process.lock:
        opening = _process.opened.setdefault(key, _Opening())
        _process.opened.move_to_end(key)
        while len(_process.opened) > MOST_OPEN:
            _process.opened.popitem(last=False)
    with opening.lock:
        if opening.source is None:
            opening.source = recipe()
    return opening.source


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
    with _process.lock:
        found = _process.learnt.get(source)
        if found is None:
            found = _process.learnt[source] = make()
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
        if _process.has_room(nbytes):
            weakref.finalize(self, _process.release, nbytes)
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


class _Opening:
    """A source that is open, or is being opened by the thread that holds the lock."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.source: Any = None


class _Process:
    """The sources that this process refers to, those of others that it has opened, and what it has learnt of them."""

    def __init__(self) -> None:
        self.keys: weakref.WeakKeyDictionary[Any, str] = weakref.WeakKeyDictionary()
        self.sources: weakref.WeakValueDictionary[Hashable, Any] = weakref.WeakValueDictionary()
        self.recipes: weakref.WeakKeyDictionary[Any, Recipe] = weakref.WeakKeyDictionary()
        self.learnt: weakref.WeakKeyDictionary[Any, Any] = weakref.WeakKeyDictionary()
        self.nbytes = 0  # of what is kept
        self.reset()

    def reset(self) -> None:
        """Locks and keys anew: a child has keys of its own, and not the threads that may have held the locks."""
        self.name, self.numbers = uuid.uuid4().hex, itertools.count()
        self.lock = threading.RLock()  # shipping a source may ship another one; the thread that holds it may free rows
        self.opened: collections.OrderedDict[Hashable, _Opening] = collections.OrderedDict()

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


_process = _Process()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_process.reset)


def _shipped(source: Any, runner: Runner) -> Recipe | None:
    """How other processes open ``source``: it is shipped once."""
    with _process.lock:
        recipe = _process.recipes.get(source)
        if recipe is None:
            recipe = runner.ship(source)
            if recipe is not None:
                _process.recipes[source] = recipe
    return recipe


def _arrived(key: Hashable, recipe: Recipe | None) -> Reference:
    """A reference that was pickled; the source itself where it is."""
    return Reference(key, recipe, _process.sources.get(key))
