"""Groups of columns as units: lists that may overlap, and the nodes of a tree."""

import numpy as np

from thresher.data.designs.numbering import end_to_end
from thresher.data.designs.units import GroupUnits, Members, largest_positive
from thresher.data.scan.reducers import Ranked, best_first
from thresher.loops import trees


class ListedGroups(GroupUnits):
    """Group g has the columns ``columns[begins[g] : begins[g + 1]]``, ascending; groups may overlap."""

    def __init__(self, begins: np.ndarray, columns: np.ndarray, omega: np.ndarray, width: int):
        self.begins, self.columns = begins, columns
        self._group_of_entry = np.repeat(np.arange(omega.size), np.diff(begins))
        super().__init__(omega, width, _dominated(begins, columns, omega), columns.size / omega.size)

    def members(self, units: np.ndarray) -> Members:
        """See Units."""
        sizes = self.begins[units + 1] - self.begins[units]
        return Members(self.columns[end_to_end(self.begins[units], sizes)], sizes)

    def _best(self, squares: np.ndarray, size: int, free: np.ndarray) -> Ranked:
        # bincount adds one by one, in the order of the entries
        scores = np.bincount(self._group_of_entry, weights=squares[self.columns], minlength=self.count) / self.omega
        scores[~free] = 0.0
        return largest_positive(scores, size)


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
        return Members(self.columns[end_to_end(self.start[at], sizes)], sizes)

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
