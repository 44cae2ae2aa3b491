"""Sources: the data that pieces of a scan refer to, opened once in each process that works on them."""

import collections
import itertools
import os
import threading
import uuid
import weakref
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from thresher.data.workers import SERIAL, Runner
from thresher.errors import UnsupportedDesignError

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
    with _registry.lock:
        key = _registry.keys.get(source)
        if key is None:
            key = _registry.keys[source] = f"{_registry.name}.{next(_registry.numbers)}"
            _registry.sources[key] = source
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
    with _registry.lock:
        opening = _registry.opened.setdefault(key, _Opening())
        _registry.opened.move_to_end(key)
        while len(_registry.opened) > MOST_OPEN:
            _registry.opened.popitem(last=False)
    with opening.lock:
        if opening.source is None:
            opening.source = recipe()
    return opening.source


class _Opening:
    """A source that is open, or is being opened by the thread that holds the lock."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.source: Any = None


class _Registry:
    """The sources that this process refers to, and those of other processes that it has opened."""

    def __init__(self) -> None:
        self.keys: weakref.WeakKeyDictionary[Any, str] = weakref.WeakKeyDictionary()
        self.sources: weakref.WeakValueDictionary[Hashable, Any] = weakref.WeakValueDictionary()
        self.recipes: weakref.WeakKeyDictionary[Any, Recipe] = weakref.WeakKeyDictionary()
        self.reset()

    def reset(self) -> None:
        """Locks and keys anew: a child has keys of its own, and not the threads that may have held the locks."""
        self.name, self.numbers = uuid.uuid4().hex, itertools.count()
        self.lock = threading.RLock()  # shipping a source may ship another one
        self.opened: collections.OrderedDict[Hashable, _Opening] = collections.OrderedDict()


_registry = _Registry()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_registry.reset)


def _shipped(source: Any, runner: Runner) -> Recipe | None:
    """How other processes open ``source``: it is shipped once."""
    with _registry.lock:
        recipe = _registry.recipes.get(source)
        if recipe is None:
            recipe = runner.ship(source)
            if recipe is not None:
                _registry.recipes[source] = recipe
    return recipe


def _arrived(key: Hashable, recipe: Recipe | None) -> Reference:
    """A reference that was pickled; the source itself where it is."""
    return Reference(key, recipe, _registry.sources.get(key))
