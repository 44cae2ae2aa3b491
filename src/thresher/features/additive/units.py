"""Inputs of a kernel as units: several numbers each."""

import numpy as np

from thresher.data.designs.numbering import BlockNumbering
from thresher.data.designs.units import GroupUnits, Members, SumOfSquares, Units, largest_positive
from thresher.data.scan.reducers import Ranked, Reducer
from thresher.loops import levels


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


class EachInput(GroupUnits):
    """Every input is a unit of weight 1."""

    noun = "input"

    def __init__(self, count: int):
        super().__init__(np.ones(count), count, np.zeros(0, dtype=np.int64), 1.0)

    def members(self, units: np.ndarray) -> Members:
        """See Units."""
        return Members(units, np.ones_like(units))

    def _best(self, squares: np.ndarray, size: int, free: np.ndarray) -> Ranked:
        return largest_positive(np.where(free, squares, 0.0), size)


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
        columns = BlockNumbering(self.size).all_columns(inputs)
        return Members(columns, None if sizes is None else sizes * self.size)

    def roots(self, units: np.ndarray) -> np.ndarray | None:
        """See Units."""
        return None if isinstance(self.inputs, EachInput) else self.inputs.roots(units)
