"""What is kept of a scan: small values that merge, so that chunks, threads and workers cannot change the answer."""

from typing import Any, Protocol, Self

import numpy as np

SLICE = 65536  # scores looked at in one go: a slice stays in the second-level cache


def best_first(scores, ids):
    """Order by falling score, ties to the lower id."""
    return np.lexsort((ids, -scores))


class Reducer(Protocol):
    """What a scan hands its scores to: it starts one anew for each piece, and merges them in order."""

    def started(self, first: int, scores: np.ndarray) -> Self:
        """A new one that has seen ``scores`` (k, width) of the features first, first + 1, ..."""

    def merged(self, other: Self) -> Self:
        """A new one that has seen what both have seen."""

    def result(self) -> Any:
        """What was kept."""


class TopK:
    """The ``size`` features with the largest squared scores, for each column of V apart; ``exclude`` never takes part.

    Features with score zero are not kept: they have nothing to offer. The result is a list of (ids, squared scores),
    best first, one for each column of V; with ``summed`` the squares are added over the columns of V and there is
    one list. ``exclude`` is a sorted int64 array.
    """

    def __init__(self, size, exclude=(), *, summed=False, lists=None):
        self.size, self.summed = int(size), summed
        self.exclude = np.asarray(exclude, dtype=np.int64)
        self.lists = lists

    def started(self, first, scores):
        """A new TopK that has seen ``scores`` (k, width) of the features first, first + 1, ..."""
        squares = scores * scores
        if self.summed:
            squares = squares.sum(axis=0, keepdims=True)
        begin, end = np.searchsorted(self.exclude, [first, first + scores.shape[1]])
        squares[:, self.exclude[begin:end] - first] = 0.0
        return self._with([self._best(row, first) for row in squares])

    def merged(self, other):
        """A new TopK that has seen what both have seen."""
        pairs = zip(self.lists, other.lists, strict=True)
        return self._with([self._merge(mine, theirs) for mine, theirs in pairs])

    def result(self):
        """[(ids, squared scores)] for each column of V."""
        return self.lists

    def _with(self, lists):
        return TopK(self.size, self.exclude, summed=self.summed, lists=lists)

    def _best(self, row, first):
        found = (np.empty(0, dtype=np.int64), np.empty(0))
        bar = 0.0  # a score must pass it; ids come in ascending order, so a later tie loses
        for start in range(0, row.size, SLICE):
            part = row[start : start + SLICE]
            at = np.flatnonzero(part > bar)
            if at.size > self.size:  # all above the size-th largest, then ties in order of id
                least = np.partition(part[at], at.size - self.size)[at.size - self.size] if self.size else np.inf
                above, equal = at[part[at] > least], at[part[at] == least]
                at = np.sort(np.concatenate([above, equal[: self.size - above.size]]))
            if at.size:
                found = self._merge(found, (at + (first + start), part[at]))
                bar = found[1][-1] if found[0].size == self.size else 0.0
        return found

    def _merge(self, mine, theirs):
        ids = np.concatenate([mine[0], theirs[0]])
        scores = np.concatenate([mine[1], theirs[1]])
        keep = best_first(scores, ids)[: self.size]
        return ids[keep], scores[keep]


class Split:
    """Several reducers side by side: the first gets the first ``widths[0]`` columns of V, and so on."""

    def __init__(self, reducers, widths):
        self.reducers, self.widths = list(reducers), list(widths)

    def started(self, first, scores):
        """A new Split that has seen ``scores`` (k, width) of the features first, first + 1, ..."""
        parts = np.split(scores, np.cumsum(self.widths)[:-1])
        return Split([each.started(first, part) for each, part in zip(self.reducers, parts, strict=True)], self.widths)

    def merged(self, other):
        """A new Split that has seen what both have seen."""
        pairs = zip(self.reducers, other.reducers, strict=True)
        return Split([mine.merged(theirs) for mine, theirs in pairs], self.widths)

    def result(self):
        """The results of all."""
        return [each.result() for each in self.reducers]


class Collect:
    """Every score. The result is X'V itself, (p, k): p numbers a column of V, so for small p and for tests."""

    def __init__(self, parts=()):
        self.parts = tuple(parts)

    def started(self, first, scores):
        """A new Collect that has seen ``scores`` (k, width) of the features first, first + 1, ..."""
        return Collect([(first, scores)])

    def merged(self, other):
        """A new Collect that has seen what both have seen."""
        return Collect(sorted(self.parts + other.parts, key=lambda part: part[0]))

    def result(self):
        """X'V as (p, k)."""
        return np.concatenate([scores for _, scores in self.parts], axis=1).T
