"""Reducers: what a scan keeps. They merge, so that the result does not depend on pieces, threads and workers."""

import itertools
from collections.abc import Sequence
from typing import Any, Protocol, Self

import numpy as np
from numpy.typing import ArrayLike

SLICE = 65536  # scores processed at a time: a slice stays in the second-level cache
FIRST = 4096  # scores of the first slice: cheap to rank, and few of the others then exceed the bar

Ranked = tuple[np.ndarray, np.ndarray]  # ids and squared scores, best first


def distinct(values: np.ndarray) -> np.ndarray:
    """The distinct values, ascending: np.unique by sorting, since its hashing takes ten times as long for millions."""
    values = np.sort(values)
    return values[np.concatenate([[True], values[1:] != values[:-1]])] if values.size else values


def best_first(scores: np.ndarray, ids: np.ndarray) -> np.ndarray:
    """Order by decreasing score, ties by ascending id."""
    return np.lexsort((ids, -scores))


def largest(scores: np.ndarray, size: int) -> np.ndarray:
    """Positions of the ``size`` largest scores, ascending; of tied ones the first."""
    if scores.size <= size or size == 0:
        return np.arange(min(scores.size, size))
    least = np.partition(scores, scores.size - size)[scores.size - size]
    keep = scores > least
    keep[np.flatnonzero(scores == least)[: size - np.count_nonzero(keep)]] = True
    return np.flatnonzero(keep)


def sum_of_squares(scores: np.ndarray) -> np.ndarray:
    """The squares of scores (k, width), summed over k: one by one, since the order of np.sum depends on the width."""
    total = scores[0] * scores[0]
    for row in scores[1:]:
        total += row * row
    return total


def passing(bounds: np.ndarray, gates: np.ndarray, bar: np.ndarray) -> np.ndarray:
    """Which features, of which ``bounds`` (k, width) on |score| are known, reach the bar of one of the gates.

    A design that prunes computes the others no further; ties are kept.
    """
    kept, first = np.zeros(bounds.shape[1], dtype=bool), 0
    for count, least in zip(gates.tolist(), np.broadcast_to(bar, gates.shape).tolist(), strict=True):
        kept |= sum_of_squares(bounds[first : first + count]) >= least
        first += count
    return kept


class Reducer(Protocol):
    """What a scan passes its scores to: one is started for each piece, and they are merged in order."""

    @property
    def bar(self) -> np.ndarray:
        """What the sum of squared scores of each gate must exceed to be kept: 0 until its list is full.

        One number may stand for all gates.
        """

    def gates(self, vectors: int) -> np.ndarray:
        """How many of the vectors each gate has, one after the other: it keeps features by their sum of squares."""

    def started(self, ids: int | np.ndarray, scores: np.ndarray) -> Self:
        """A new reducer of ``scores`` (k, width) of the features ``ids``: ascending ids, or the first of a range."""

    def merged(self, other: Self) -> Self:
        """A new reducer of the scores of both."""

    def result(self) -> Any:
        """What is kept of the scan."""


class TopK:
    """The ``size`` features with the largest squared scores, separately for each column of V, except ``exclude``.

    Features with score zero are never kept. The result is a list of (ids, squared scores),
    best first, one for each column of V; with ``summed`` the squares are added over the columns of V and there is
    one list. ``exclude`` is a sorted int64 array.
    """

    def __init__(self, size: int, exclude: ArrayLike = (), *, summed: bool = False, lists: Sequence[Ranked] = ()):
        self.size, self.summed = int(size), summed
        self.exclude = np.asarray(exclude, dtype=np.int64)
        self.lists = list(lists)

    @property
    def bar(self) -> np.ndarray:
        """See Reducer."""
        return np.array([self._bar(scores) for _, scores in self.lists] or [0.0])

    def _bar(self, scores: np.ndarray) -> float:
        """What a score must exceed to join a list with these."""
        if self.size == 0:
            return np.inf
        return scores.min() if scores.size == self.size else 0.0

    def gates(self, vectors: int) -> np.ndarray:
        """See Reducer."""
        return np.array([vectors]) if self.summed else np.ones(vectors, dtype=np.int64)

    def started(self, ids: int | np.ndarray, scores: np.ndarray) -> "TopK":
        """See Reducer."""
        excluded = self._excluded(ids, scores.shape[1])
        of_lists = [scores] if self.summed else [scores[r : r + 1] for r in range(len(scores))]
        return self._with([self._best(rows, excluded, ids) for rows in of_lists])

    def _excluded(self, ids: int | np.ndarray, width: int) -> np.ndarray:
        """Positions of the excluded features, sorted."""
        if isinstance(ids, np.ndarray):
            places = np.searchsorted(ids, self.exclude)
            there = places < ids.size
            return places[there][ids[places[there]] == self.exclude[there]]
        begin, end = np.searchsorted(self.exclude, [ids, ids + width])
        return self.exclude[begin:end] - ids

    def merged(self, other: "TopK") -> "TopK":
        """See Reducer."""
        pairs = zip(self.result(), other.result(), strict=True)
        return self._with([self._merge(mine, theirs) for mine, theirs in pairs])

    def result(self) -> list[Ranked]:
        """[(ids, squared scores)] for each column of V."""
        return self.lists

    def _with(self, lists: list[Ranked]) -> "TopK":
        return TopK(self.size, self.exclude, summed=self.summed, lists=lists)

    def _best(self, scores: np.ndarray, excluded: np.ndarray, ids: int | np.ndarray) -> Ranked:
        """The best of one list, by the sum of squares over the rows."""
        found, squares = np.empty(0, dtype=np.int64), np.empty(0)  # positions, ascending
        bar = self._bar(squares)  # of tied scores the first is kept
        cuts = [0, *range(min(FIRST, scores.shape[1]), scores.shape[1], SLICE), scores.shape[1]]
        for start, stop in itertools.pairwise(cuts):
            part = sum_of_squares(scores[:, start:stop])
            begin, end = np.searchsorted(excluded, [start, stop])
            part[excluded[begin:end] - start] = 0.0
            top = np.flatnonzero(part > bar)
            if top.size:
                found, squares = np.concatenate([found, top + start]), np.concatenate([squares, part[top]])
                keep = largest(squares, self.size)
                found, squares = found[keep], squares[keep]
                bar = self._bar(squares)
        found_ids = ids[found] if isinstance(ids, np.ndarray) else found + ids
        order = best_first(squares, found_ids)
        return found_ids[order], squares[order]

    def _merge(self, mine: Ranked, theirs: Ranked) -> Ranked:
        ids = np.concatenate([mine[0], theirs[0]])
        scores = np.concatenate([mine[1], theirs[1]])
        keep = best_first(scores, ids)[: self.size]
        return ids[keep], scores[keep]


class Split:
    """Several reducers side by side: the first gets the first ``widths[0]`` columns of V, and so on."""

    def __init__(self, reducers: Sequence[Reducer], widths: Sequence[int]):
        self.reducers, self.widths = list(reducers), list(widths)

    @property
    def bar(self) -> np.ndarray:
        """See Reducer: those of all."""
        pairs = zip(self.reducers, self.widths, strict=True)
        return np.concatenate([np.broadcast_to(one.bar, one.gates(width).size) for one, width in pairs])

    def gates(self, vectors: int) -> np.ndarray:
        """See Reducer: those of all."""
        return np.concatenate([one.gates(width) for one, width in zip(self.reducers, self.widths, strict=True)])

    def started(self, ids: int | np.ndarray, scores: np.ndarray) -> "Split":
        """See Reducer."""
        parts = np.split(scores, np.cumsum(self.widths)[:-1])
        pairs = zip(self.reducers, parts, strict=True)
        return Split([reducer.started(ids, part) for reducer, part in pairs], self.widths)

    def merged(self, other: "Split") -> "Split":
        """See Reducer."""
        pairs = zip(self.reducers, other.reducers, strict=True)
        return Split([mine.merged(theirs) for mine, theirs in pairs], self.widths)

    def result(self) -> list[Any]:
        """The results of all reducers."""
        return [reducer.result() for reducer in self.reducers]


class AtLeast:
    """All |scores| of at least ``least``.

    The result is (columns of V, features, scores), in the order of the features.
    """

    def __init__(self, least: float, parts: tuple[tuple[np.ndarray, ...], ...] = ()):
        self.least, self.parts = least, parts

    @property
    def bar(self) -> np.ndarray:
        """See Reducer."""
        return np.array([self.least**2])

    def gates(self, vectors: int) -> np.ndarray:
        """See Reducer."""
        return np.ones(vectors, dtype=np.int64)

    def started(self, ids: int | np.ndarray, scores: np.ndarray) -> "AtLeast":
        """See Reducer."""
        positions, rows = np.nonzero((np.abs(scores) >= self.least).T)
        features = ids[positions] if isinstance(ids, np.ndarray) else positions + ids
        return AtLeast(self.least, ((rows, features, scores[rows, positions]),))

    def merged(self, other: "AtLeast") -> "AtLeast":
        """See Reducer."""
        return AtLeast(self.least, (*self.parts, *(part for part in other.parts if part[0].size)))

    def result(self) -> tuple[np.ndarray, ...]:
        """(columns of V, features, scores)."""
        return tuple(np.concatenate(arrays) for arrays in zip(*self.parts, strict=True))


class Collect:
    """Every score of ``width`` features. The result is (width, k): X'V itself, for small p, or the statistics.

    The scores of a piece are copied into the result when it is merged, so that at most one piece is held twice;
    features in no piece have score zero.
    """

    def __init__(self, width: int, part: tuple[int | np.ndarray, np.ndarray] | None = None):
        self.width, self.part = width, part
        self._whole: np.ndarray | None = None

    @property
    def bar(self) -> np.ndarray:
        """See Reducer."""
        return np.array([-np.inf])

    def gates(self, vectors: int) -> np.ndarray:
        """See Reducer."""
        return np.array([vectors])

    def started(self, ids: int | np.ndarray, scores: np.ndarray) -> "Collect":
        """See Reducer."""
        return Collect(self.width, (ids, scores))

    def merged(self, other: Self) -> Self:
        """See Reducer; updates this reducer in place."""
        self._put(self.part)
        self._put(other.part)
        if other._whole is not None:
            if self._whole is None:
                self._whole = other._whole
            else:
                self._whole += other._whole
        self.part = None
        return self

    def _put(self, part: tuple[int | np.ndarray, np.ndarray] | None) -> None:
        if part is None:
            return
        ids, scores = part
        if self._whole is None:
            self._whole = np.zeros((scores.shape[0], self.width))
        self._whole[:, ids if isinstance(ids, np.ndarray) else slice(ids, ids + scores.shape[1])] = scores

    def result(self) -> np.ndarray:
        """All scores as (width, k)."""
        self._put(self.part)
        self.part = None
        return np.zeros((self.width, 0)) if self._whole is None else self._whole.T
