"""Features that are several numbers made of each column: never stored for all of X, made where they are scored.

Feature j * size + l is number l of column j, its input. All numbers of an input are selected together, in groups of
inputs or by themselves.
"""

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from thresher.data.blocks.base import Block
from thresher.data.designs.base import Design
from thresher.data.designs.made import MadeDesign
from thresher.data.designs.numbering import BlockNumbering
from thresher.data.designs.units import GroupUnits, Members, SumOfSquares, Units, largest_positive
from thresher.data.scan.pieces import Cost, Piece
from thresher.data.scan.reducers import Ranked, Reducer
from thresher.features.base import column_units
from thresher.features.fitted import Label
from thresher.features.fitted_columns import MadeFeatures
from thresher.features.samples import Base, Restrictions
from thresher.loops import levels

MOST_NUMBERS = 1 << 20  # entries, numbers and scores of a piece
FEWEST_NUMBERS, SHARE = 1 << 15, 16  # pieces of a small X have this share of its entries
PIECES_PER_WORKER = 2  # pieces for each thread at least, as in memory
NUMBER_COST = 16  # what an entry costs besides reading it: its level, or each of its numbers


class ExpandedDesign(MadeDesign):
    """``size`` numbers of each column of ``base``, which ``numbers_of`` makes.

    ``written`` is how many of them are stored for an entry of a column: all, unless blocks have a form of their own.
    """

    def __init__(self, base: Design, size: int, written: int | None = None):
        written = size if written is None else written
        super().__init__(base, base.width * size, base.entry_cost + NUMBER_COST * written)
        self.size, self.numbering = size, BlockNumbering(size)
        # what an input takes in a piece, at most on average, in numbers
        self._input_cost = max(size, written * base.entries / max(1, base.width))

    @abstractmethod
    def numbers_of(self, inputs: np.ndarray) -> Block:
        """All numbers of some columns of ``base``, those of the first one first."""

    @property
    def n_columns(self) -> int:
        """See Design: all features, those of columns of zeros too."""
        return self.base.n_columns * self.size

    def pieces(self, vectors: int = 1) -> Iterator[Piece]:
        """See Design; whole inputs."""
        return self.generated(self._step(vectors) * self.size)

    def _step(self, vectors: int) -> int:
        """Inputs of a piece."""
        each = max(self._input_cost, float(self.size * vectors))
        count = PIECES_PER_WORKER * self.workers.parallelism
        most = min(MOST_NUMBERS, max(FEWEST_NUMBERS, self.base.entries // SHARE))
        return max(1, min(int(most / each), -(-self.base.width // count)))

    def scan_cost(self) -> Cost:
        """See Design: passes over X as it is stored; where that is by rows, each piece searches all of them."""
        step = self._step(1)
        count, first = -(-self.base.width // step), self.base.take_cost(np.arange(min(step, self.base.width)))
        by_columns = count <= 1 or first.passes < 1.0
        return self.base.scan_cost() if by_columns else Cost(count * first.passes, count * first.bytes)

    def take(self, ids: np.ndarray) -> Block:
        """See Design; whole inputs stay in the form of ``numbers_of``."""
        inputs = self.numbering.whole_blocks(ids)
        if inputs is not None:
            return self.numbers_of(inputs)
        inputs, place = np.unique(self.numbering.blocks(ids), return_inverse=True)
        return self.numbers_of(inputs).take(self.numbering.moved(ids, place))

    def take_cost(self, ids: np.ndarray) -> Cost:
        """See Design."""
        return self.base.take_cost(np.unique(self.numbering.blocks(ids)))

    def holds(self, ids: ArrayLike) -> np.ndarray:
        """See Design."""
        return self.base.holds(self.numbering.blocks(ids))

    def ids_in_X(self, ids: ArrayLike) -> np.ndarray:
        """See Design."""
        return self.numbering.moved(ids, self.base.ids_in_X(self.numbering.blocks(ids)))

    def ids_here(self, ids: ArrayLike) -> np.ndarray:
        """See Design."""
        return self.numbering.moved(ids, self.base.ids_here(self.numbering.blocks(ids)))


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
        """See Units: all scores of inputs, whatever the size."""
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


def expanded_units(base: Base, design: ExpandedDesign, restrictions: Restrictions) -> dict[str, Any]:
    """As ``column_units``, where all numbers of a column are selected together."""
    fields = column_units(base, design.base, restrictions, EachInput(design.base.width))
    return fields | {"units": ExpandedUnits(fields["units"], design.size), "weights": base.weights}


class ExpandedFeatures(MadeFeatures):
    """What new data needs of ``size`` numbers of each column, which ``numbers_of`` makes."""

    size: int

    @abstractmethod
    def numbers_of(self, columns: Any, inputs: np.ndarray) -> Block:
        """All numbers of ``columns``, an array or a sparse matrix of the columns ``inputs`` of X."""

    @property
    def numbering(self) -> BlockNumbering:
        """How features are numbered: a block for each input."""
        return BlockNumbering(self.size)

    @property
    def width(self) -> int:
        """See FittedFeatures."""
        return self.n_columns * self.size

    def inputs(self, ids: np.ndarray) -> np.ndarray:
        """See FittedFeatures."""
        return np.unique(self.numbering.blocks(ids))

    def names(self, ids: Sequence[int] | np.ndarray, label: Label) -> list[str]:
        """See FittedFeatures: the name of the column, and which of its numbers."""
        inputs, places = self.numbering.blocks(ids).tolist(), self.numbering.places(ids).tolist()
        return [f"{label(j)}[{place}]" for j, place in zip(inputs, places, strict=True)]

    def block(self, columns: Any, inputs: np.ndarray, ids: np.ndarray) -> tuple[Block, np.ndarray]:
        """See MadeFeatures."""
        places = self.numbering.moved(ids, np.searchsorted(inputs, self.numbering.blocks(ids)))
        return self.numbers_of(columns, inputs), places
