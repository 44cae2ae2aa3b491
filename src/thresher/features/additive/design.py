"""Features that are numbers made of single columns by a kernel: never stored for all of X, made where they are scored.

Feature j * D + l is number l of input j, where D is the number of numbers of an input.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from thresher.data.blocks.base import Block
from thresher.data.designs.base import Design
from thresher.data.scan.pieces import Cost, Opened, Piece
from thresher.features.additive.maps import Inputs, as_stored, check_signs
from thresher.features.additive.step_encoding import whole_inputs

if TYPE_CHECKING:
    from thresher.features.additive.spec import InputMap

MOST_NUMBERS = 1 << 20  # entries, numbers and scores of a piece, and of the rows that are predicted at a time
FEWEST_NUMBERS, SHARE = 1 << 15, 16  # pieces of a small X have this share of its entries
PER_WORKER = 2  # pieces for each thread at least, as in memory
ENTRY_COST = 16  # what an entry costs besides reading it: its level, or each of its numbers


@dataclass(frozen=True)
class ExpandedPiece(Piece):
    """Some inputs of a design, expanded by the worker that scores them."""

    design: "ExpandedDesign"
    inputs: slice

    @property
    def first(self) -> int:  # type: ignore[override]  # computed: a piece is frozen, so it is never set
        """First feature."""
        return self.inputs.start * self.design.size

    @property
    def width(self) -> int:  # type: ignore[override]
        """Number of features."""
        return (self.inputs.stop - self.inputs.start) * self.design.size

    def open(self) -> Opened:
        """See Piece."""
        return Opened(self.design.block(np.arange(self.inputs.start, self.inputs.stop)), 0, self.width)


class ExpandedDesign(Design):
    """All numbers of all columns of ``base``, raw values; ``called`` names a column of X in messages."""

    def __init__(self, base: Design, kernel: "InputMap", inputs: Inputs, called: Callable[[int], str] = str):
        self.base, self.kernel, self.inputs, self.called = base, kernel, inputs, called
        self.size = kernel.size(base.shape[0])
        self.shape, self.dtype = (base.shape[0], base.width * self.size), np.dtype(np.float64)
        self.nbytes, self.entries, self.workers = base.nbytes, base.entries, base.workers
        numbers = self.size if kernel.written_down else 1
        self.entry_cost = base.entry_cost + ENTRY_COST * numbers
        # what an input takes in a piece, at most on average, in numbers
        self._input_cost = max(self.size, numbers * base.entries / max(1, base.width))

    @property
    def n_columns(self) -> int:
        """See Design: all features, those of columns of zeros too."""
        return self.base.n_columns * self.size

    def block(self, inputs: np.ndarray) -> Block:
        """All numbers of the columns ``inputs`` of the base."""
        columns, in_X = as_stored(self.base.take(inputs)), self.base.ids_in_X(inputs)
        if self.kernel.positive_only:
            check_signs(self.kernel.word, columns, lambda place: self.called(int(in_X[place])))
        here = self.inputs.take(inputs)
        here = self.kernel.learnt(columns, here) if self.kernel.learns(self.shape[0]) else here
        return self.kernel.block(columns, here, self.size)

    def known_inputs(self, ids: np.ndarray) -> tuple[np.ndarray, Inputs]:
        """(the columns of X that the features ``ids`` are made of, what their maps need)."""
        here = np.unique(ids // self.size)
        inputs = self.inputs.take(here)
        if self.kernel.learns(self.shape[0]):
            inputs = self.kernel.learnt(as_stored(self.base.take(here)), inputs)
        return self.base.ids_in_X(here), inputs

    def pieces(self, vectors: int = 1) -> Iterator[Piece]:
        """See Design; whole inputs."""
        step = self._step(vectors)
        for start in range(0, self.base.width, step):
            yield ExpandedPiece(self, slice(start, min(start + step, self.base.width)))

    def _step(self, vectors: int) -> int:
        """Inputs of a piece."""
        each = max(self._input_cost, float(self.size * vectors))
        count = PER_WORKER * int(getattr(self.workers, "count", 1))
        most = min(MOST_NUMBERS, max(FEWEST_NUMBERS, self.base.entries // SHARE))
        return max(1, min(int(most / each), -(-self.base.width // count)))

    def scan_cost(self) -> Cost:
        """See Design: passes over X as it is stored; where that is by rows, each piece searches all of them."""
        step = self._step(1)
        count, first = -(-self.base.width // step), self.base.take_cost(np.arange(min(step, self.base.width)))
        by_columns = count <= 1 or first.passes < 1.0
        return self.base.scan_cost() if by_columns else Cost(count * first.passes, count * first.bytes)

    def take(self, ids: np.ndarray) -> Block:
        """See Design; whole inputs stay in a form that does not write the numbers down, if the kernel has one."""
        ids = np.asarray(ids, dtype=np.int64)
        inputs = whole_inputs(ids, self.size)
        if inputs is not None:
            return self.block(inputs)
        inputs, place = np.unique(ids // self.size, return_inverse=True)
        return self.block(inputs).take(place * self.size + ids % self.size)

    def take_cost(self, ids: np.ndarray) -> Cost:
        """See Design."""
        return self.base.take_cost(np.unique(np.asarray(ids, dtype=np.int64) // self.size))

    def holds(self, ids: ArrayLike) -> np.ndarray:
        """See Design."""
        return self.base.holds(np.asarray(ids, dtype=np.int64) // self.size)

    def ids_in_X(self, ids: ArrayLike) -> np.ndarray:
        """See Design."""
        ids = np.asarray(ids, dtype=np.int64)
        return self.base.ids_in_X(ids // self.size) * self.size + ids % self.size

    def ids_here(self, ids: ArrayLike) -> np.ndarray:
        """See Design."""
        ids = np.asarray(ids, dtype=np.int64)
        return self.base.ids_here(ids // self.size) * self.size + ids % self.size
