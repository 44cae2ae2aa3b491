"""Features that are numbers made of single columns by a kernel: never stored for all of X, made where they are scored.

Feature j * D + l is number l of input j, where D is the number of numbers of an input.
"""

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from thresher.data.blocks.base import Block
from thresher.data.designs.base import Design
from thresher.data.designs.numbering import BlockNumbering
from thresher.data.scan.pieces import Cost, Generated, Piece
from thresher.data.scan.sources import reference
from thresher.features.additive.maps import Inputs, check_signs

if TYPE_CHECKING:
    from thresher.features.additive.spec import InputMap

MOST_NUMBERS = 1 << 20  # entries, numbers and scores of a piece, and of the rows that are predicted at a time
FEWEST_NUMBERS, SHARE = 1 << 15, 16  # pieces of a small X have this share of its entries
PER_WORKER = 2  # pieces for each thread at least, as in memory
ENTRY_COST = 16  # what an entry costs besides reading it: its level, or each of its numbers


class InputNumbers:
    """The numbers that ``kernel`` makes of the columns of ``base``, raw values: what pieces refer to.

    ``called`` names a column of X in messages.
    """

    def __init__(self, base: Design, kernel: "InputMap", inputs: Inputs, called: Callable[[int], str]):
        self.base, self.kernel, self.inputs, self.called = base, kernel, inputs, called
        self.size = kernel.size(base.shape[0])

    def learnt(self, ids: np.ndarray, columns: Block | None = None) -> Inputs:
        """What the maps of the inputs ``ids`` need; their ``columns`` are read if that is more than is known."""
        inputs = self.inputs.take(ids)
        if not self.kernel.learns(self.base.shape[0]):
            return inputs
        columns = self.base.take(ids) if columns is None else columns
        return self.kernel.learnt(columns, inputs)

    def of(self, ids: np.ndarray) -> Block:
        """All numbers of the inputs ``ids``."""
        columns, in_X = self.base.take(ids), self.base.ids_in_X(ids)
        if self.kernel.positive_only:
            check_signs(self.kernel.word, columns, lambda place: self.called(int(in_X[place])))
        return self.kernel.block(columns, self.learnt(ids, columns), self.size)

    def block(self, lo: int, hi: int) -> Block:
        """See BlockSource: of whole inputs."""
        return self.of(np.arange(lo // self.size, hi // self.size))


class ExpandedDesign(Design):
    """All numbers of all columns of ``base``, raw values; ``called`` names a column of X in messages."""

    def __init__(self, base: Design, kernel: "InputMap", inputs: Inputs, called: Callable[[int], str] = str):
        self.base, self.kernel = base, kernel
        self.numbers = InputNumbers(base, kernel, inputs, called)
        self.size = self.numbers.size
        self.numbering = BlockNumbering(self.size)
        self.shape, self.dtype = (base.shape[0], base.width * self.size), np.dtype(np.float64)
        self.nbytes, self.entries, self.workers = base.nbytes, base.entries, base.workers
        written = self.size if kernel.written_down else 1
        self.entry_cost = base.entry_cost + ENTRY_COST * written
        # what an input takes in a piece, at most on average, in numbers
        self._input_cost = max(self.size, written * base.entries / max(1, base.width))

    @property
    def n_columns(self) -> int:
        """See Design: all features, those of columns of zeros too."""
        return self.base.n_columns * self.size

    def known_inputs(self, ids: np.ndarray) -> tuple[np.ndarray, Inputs]:
        """(the columns of X that the features ``ids`` are made of, what their maps need)."""
        here = np.unique(self.numbering.blocks(ids))
        return self.base.ids_in_X(here), self.numbers.learnt(here)

    def pieces(self, vectors: int = 1) -> Iterator[Piece]:
        """See Design; whole inputs."""
        step, numbers = self._step(vectors), reference(self.numbers, self.workers)
        for start in range(0, self.base.width, step):
            stop = min(start + step, self.base.width)
            yield Generated(numbers, start * self.size, (stop - start) * self.size)

    def _step(self, vectors: int) -> int:
        """Inputs of a piece."""
        each = max(self._input_cost, float(self.size * vectors))
        count = PER_WORKER * self.workers.parallelism
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
        inputs = self.numbering.whole_blocks(ids)
        if inputs is not None:
            return self.numbers.of(inputs)
        inputs, place = np.unique(self.numbering.blocks(ids), return_inverse=True)
        return self.numbers.of(inputs).take(self.numbering.moved(ids, place))

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
