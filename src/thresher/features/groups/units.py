"""Groups of columns as units: lists that may overlap, the nodes of a tree, and inputs that a kernel expands.

A scan keeps the squared score of every column, one vector of length p, and ranks the groups at its end: their sums are
taken in the order of the columns, whatever the pieces.
"""

from abc import abstractmethod

import numpy as np

from thresher.data.designs.units import Members, Units
from thresher.data.scan.reducers import Collect, Ranked, Reducer, best_first, largest
from thresher.loops import levels, trees


class SumOfSquares(Collect):
    """The squared score of every column, summed over the columns of V. The result is (width,)."""

    def started(self, ids: int | np.ndarray, scores: np.ndarray) -> "SumOfSquares":
        """See Reducer."""
        squares = np.zeros((1, scores.shape[1]))
        for row in scores:  # one by one: the order of np.sum depends on the width
            squares += row * row
        return SumOfSquares(self.width, (ids, squares))

    def result(self) -> np.ndarray:
        """All squares."""
        return super().result()[:, 0]


class SumOfInputs(SumOfSquares):
    """As SumOfSquares, of inputs with ``size`` numbers each: their squares are summed, in the order of the numbers."""

    def __init__(self, width: int, size: int, part: tuple[int | np.ndarray, np.ndarray] | None = None):
        super().__init__(width, part)
        self.size = size

    def started(self, ids: int | np.ndarray, scores: np.ndarray) -> "SumOfInputs":
        """See Reducer; a piece has whole inputs."""
        squares = np.empty((1, scores.shape[1] // self.size))
        levels.squares(np.ascontiguousarray(scores), self.size, squares[0])
        first = ids // self.size if isinstance(ids, int) else ids[:: self.size] // self.size
        return SumOfInputs(self.width, self.size, (first, squares))


class GroupUnits(Units):
    """Groups of the columns of a design; ``omega`` are their weights.

    A group whose columns are those of another one with no larger weight can never be better: it is ``dominated``, and
    taken only if it is forced.
    """

    def __init__(self, omega: np.ndarray, width: int, dominated: np.ndarray, mean_size: float):
        self.count, self.width, self.omega, self.dominated = omega.size, width, omega, dominated
        self.mean_size = mean_size

    def reducer(self, size: int, exclude: np.ndarray) -> Reducer:
        """See Units."""
        return SumOfSquares(self.width)

    def ranked(self, result: np.ndarray, size: int, exclude: np.ndarray) -> Ranked:
        """See Units; groups without a score are never among the best."""
        free = np.ones(self.count, dtype=bool)
        free[exclude], free[self.dominated] = False, False
        return self._best(result, size, free)

    @abstractmethod
    def _best(self, squares: np.ndarray, size: int, free: np.ndarray) -> Ranked:
        """The ``size`` groups of those that are ``free`` with the largest positive scores, best first."""

    def roots(self, units: np.ndarray) -> np.ndarray:
        """See Units."""
        return np.sqrt(self.omega[units])


class ListedGroups(GroupUnits):
    """Group g has the columns ``columns[begins[g] : begins[g + 1]]``, ascending; groups may overlap."""

    def __init__(self, begins: np.ndarray, columns: np.ndarray, omega: np.ndarray, width: int):
        self.begins, self.columns = begins, columns
        self._group_of_entry = np.repeat(np.arange(omega.size), np.diff(begins))
        super().__init__(omega, width, _dominated(begins, columns, omega), columns.size / omega.size)

    def members(self, units: np.ndarray) -> Members:
        """See Units."""
        sizes = self.begins[units + 1] - self.begins[units]
        return Members(self.columns[_ranges(self.begins[units], sizes)], sizes)

    def _best(self, squares: np.ndarray, size: int, free: np.ndarray) -> Ranked:
        # bincount adds one by one, in the order of the entries
        scores = np.bincount(self._group_of_entry, weights=squares[self.columns], minlength=self.count) / self.omega
        scores[~free] = 0.0
        return _largest_positive(scores, size)


class EachInput(GroupUnits):
    """Every input is a unit of weight 1."""

    noun = "input"

    def __init__(self, count: int):
        super().__init__(np.ones(count), count, np.zeros(0, dtype=np.int64), 1.0)

    def members(self, units: np.ndarray) -> Members:
        """See Units."""
        return Members(units, np.ones_like(units))

    def _best(self, squares: np.ndarray, size: int, free: np.ndarray) -> Ranked:
        return _largest_positive(np.where(free, squares, 0.0), size)


class ExpandedUnits(Units):
    """Units of inputs, where an input j is the ``size`` columns j * size, j * size + 1, ... of a design."""

    def __init__(self, inputs: GroupUnits, size: int):
        self.inputs, self.size, self.count, self.noun = inputs, size, inputs.count, inputs.noun
        self.mean_size = inputs.mean_size * size

    def reducer(self, size: int, exclude: np.ndarray) -> Reducer:
        """See Units."""
        return SumOfInputs(self.inputs.width, self.size)

    def ranked(self, result: np.ndarray, size: int, exclude: np.ndarray) -> Ranked:
        """See Units."""
        return self.inputs.ranked(result, size, exclude)

    def members(self, units: np.ndarray) -> Members:
        """See Units."""
        inputs, sizes = self.inputs.members(units)
        columns = (inputs[:, None] * self.size + np.arange(self.size)).ravel()
        return Members(columns, None if sizes is None else sizes * self.size)

    def roots(self, units: np.ndarray) -> np.ndarray | None:
        """See Units."""
        return None if isinstance(self.inputs, EachInput) else self.inputs.roots(units)


class TreeGroups(GroupUnits):
    """A group for each node of a tree that has columns at or below it.

    ``columns`` are in the order of a walk through the tree, so that those of a node are a range: unit ``unit[v]``, the
    v-th of the walk, has columns[start[v] : stop[v]], and the nodes below it are v + 1 to skip[v] - 1. Ranking walks
    from the roots and skips what is below a node where nothing can be among the best; ``visited`` counts the nodes.
    """

    def __init__(
        self, columns: np.ndarray, walk: np.ndarray, start: np.ndarray, stop: np.ndarray, skip: np.ndarray,
        omega: np.ndarray, width: int,
    ):  # fmt: skip
        self.columns, self.start, self.stop, self.skip, self.unit = columns, start, stop, skip, walk
        self.at = np.argsort(walk)  # where the walk has each unit
        self.visited = 0
        super().__init__(omega, width, _dominated_above(start, stop, walk, omega), float((stop - start).mean()))
        self._least = omega[walk]
        trees.least_below(skip, self._least)

    def members(self, units: np.ndarray) -> Members:
        """See Units."""
        at = self.at[units]
        sizes = self.stop[at] - self.start[at]
        return Members(self.columns[_ranges(self.start[at], sizes)], sizes)

    def _best(self, squares: np.ndarray, size: int, free: np.ndarray) -> Ranked:
        units, scores = np.empty(size, dtype=np.int64), np.empty(size)
        arrays = (self.start, self.stop, self.skip, self.unit, self.omega[self.unit], self._least)
        count, self.visited = trees.best_nodes(squares[self.columns], *arrays, free[self.unit], units, scores)
        order = best_first(scores[:count], units[:count])
        return units[order], scores[order]


def _dominated(begins: np.ndarray, columns: np.ndarray, omega: np.ndarray) -> np.ndarray:
    """Groups with the columns of another one whose weight is smaller, or equal and its number lower; sorted."""
    if columns.size == 0 or np.bincount(columns).max() == 1:
        return np.zeros(0, dtype=np.int64)
    best: dict[bytes, int] = {}
    for g in np.argsort(omega, kind="stable").tolist():
        best.setdefault(columns[begins[g] : begins[g + 1]].tobytes(), g)
    return np.setdiff1d(np.arange(omega.size), list(best.values()))


def _dominated_above(start: np.ndarray, stop: np.ndarray, unit: np.ndarray, omega: np.ndarray) -> np.ndarray:
    """Nodes of a walk with the columns of the one before or after it and a larger weight; sorted.

    Nodes with equal columns follow one another. Of equal weights the deepest stays.
    """
    run = np.cumsum(np.concatenate([[0], (np.diff(start) != 0) | (np.diff(stop) != 0)]))
    order = np.lexsort((-np.arange(unit.size), omega[unit], run))
    first = np.concatenate([[True], np.diff(run[order]) != 0])
    return np.sort(unit[order[~first]])


def _largest_positive(scores: np.ndarray, size: int) -> Ranked:
    """The ``size`` units with the largest positive scores, best first."""
    keep = largest(scores, size)
    keep = keep[scores[keep] > 0.0]
    keep = keep[best_first(scores[keep], keep)]
    return keep, scores[keep]


def _ranges(starts: np.ndarray, sizes: np.ndarray) -> np.ndarray:
    """start, start + 1, ..., start + size - 1 of each, one after the other."""
    within = np.arange(sizes.sum()) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    return np.repeat(starts, sizes) + within
