"""Features that are numbers made of single columns by a kernel: never stored for all of X, made where they are scored.

Feature j * D + l is number l of input j, where D is the number of numbers of an input.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse

from thresher.data.blocks.base import Block
from thresher.data.designs.base import Design
from thresher.data.designs.numbering import BlockNumbering
from thresher.data.designs.scaled import ScaledDesign
from thresher.data.input.validation import check_columns, stored_block
from thresher.data.scan.pieces import Cost, Opened, Piece
from thresher.errors import InvalidDataError
from thresher.features.additive.maps import Inputs, as_stored, check_signs, maps_of
from thresher.features.additive.spec import Kernel
from thresher.features.columns import Label, MadeSpace

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

    def __init__(self, base: Design, kernel: Kernel, inputs: Inputs, called: Callable[[int], str] = str):
        self.base, self.kernel, self.inputs, self.called = base, kernel, inputs, called
        self.maps = maps_of(kernel)
        self.size = self.maps.size(base.shape[0])
        self.shape, self.dtype = (base.shape[0], base.width * self.size), np.dtype(np.float64)
        self.nbytes, self.entries, self.workers = base.nbytes, base.entries, base.workers
        numbers = self.size if self.maps.dense else 1
        self.entry_cost = base.entry_cost + ENTRY_COST * numbers
        # what an input takes in a piece, at most on average, in numbers
        self._input_cost = max(self.size, numbers * base.entries / max(1, base.width))

    @property
    def numbering(self) -> BlockNumbering:
        """How features are numbered: a block for each input."""
        return BlockNumbering(self.size)

    @property
    def n_columns(self) -> int:
        """See Design: all features, those of columns of zeros too."""
        return self.base.n_columns * self.size

    def block(self, inputs: np.ndarray) -> Block:
        """All numbers of the columns ``inputs`` of the base."""
        columns, in_X = as_stored(self.base.take(inputs)), self.base.ids_in_X(inputs)
        check_signs(self.kernel, columns, lambda place: self.called(int(in_X[place])))
        here = self.inputs.take(inputs)
        here = self.maps.learnt(columns, here) if self.maps.learns(self.shape[0]) else here
        return self.maps.block(columns, here, self.size)

    def expansion(self, ids: np.ndarray) -> "Expansion":
        """How new values of the inputs that the features ``ids`` are made of become numbers."""
        here = np.unique(self.numbering.blocks(ids))
        inputs = self.inputs.take(here)
        if self.maps.learns(self.shape[0]):
            inputs = self.maps.learnt(as_stored(self.base.take(here)), inputs)
        return Expansion(self.kernel, self.size, self.base.ids_in_X(here), inputs)

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
        inputs = self.numbering.whole_blocks(ids)
        if inputs is not None:
            return self.block(inputs)
        inputs, place = np.unique(self.numbering.blocks(ids), return_inverse=True)
        return self.block(inputs).take(self.numbering.moved(ids, place))

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


def expanded(
    design: Design, kernel: Kernel, mean: np.ndarray, largest: np.ndarray, called: Callable[[int], str] = str
) -> ExpandedDesign:
    """The features that ``kernel`` makes of the columns of ``design``, on its scale; these have that mean and max |x|.

    Values are those of X as given: the scale enters the maps.
    """
    factor, centre, base = np.ones(design.width), mean, design
    if isinstance(design, ScaledDesign):
        base, factor = design.base, design.scaling.factor
        if design.scaling.shift is not None and not kernel.signed:
            raise InvalidDataError(
                f'features="{kernel.word}" is for values that are not negative, but the Design given as X shifts its '
                "columns: scale them without a shift"
            )
    return ExpandedDesign(base, kernel, Inputs(factor, centre, largest), called)


@dataclass(frozen=True, eq=False)
class Expansion:
    """How columns become numbers: the kernel of a fit, and what the maps of the selected inputs learnt from its data.

    Parameters
    ----------
    kernel : Intersection, AdditiveChi2 or AdditiveGaussian
        The kernel.
    size : int
        Numbers of an input.
    columns : ndarray of int64
        The columns of X that are known, sorted: those of all models on the path.
    inputs : Inputs
        What the maps of these columns need.
    """

    kernel: Kernel
    size: int
    columns: np.ndarray
    inputs: Inputs

    def block(self, columns: Any, ids: np.ndarray, called: Callable[[int], str]) -> Block:
        """All numbers of the columns ``ids`` of X (sorted), given as an array or a sparse matrix of these columns.

        Raises InvalidDataError where a value is not finite, or negative and the kernel does not allow that.
        """
        check_columns(columns, lambda place: called(int(ids[place])))
        stored = stored_block(columns)
        check_signs(self.kernel, stored, lambda place: called(int(ids[place])))
        return maps_of(self.kernel).block(stored, self.inputs.take(np.searchsorted(self.columns, ids)), self.size)


@dataclass(frozen=True)
class ExpandedSpace(MadeSpace):
    """Numbers made of the columns of X by an Expansion."""

    n_columns: int
    expansion: Expansion = field(repr=False, compare=False)
    column_names: Sequence[str] | np.ndarray | None = field(default=None, kw_only=True, compare=False, repr=False)

    @property
    def width(self) -> int:
        """See Space."""
        return self.n_columns * self.expansion.size

    def inputs(self, ids: np.ndarray) -> np.ndarray:
        """See Space."""
        return np.unique(ids // self.expansion.size)

    def names(self, ids: Sequence[int] | np.ndarray, label: Label) -> list[str]:
        """See Space: the name of the column, and which of its numbers."""
        return [f"{label(int(j) // self.expansion.size)}[{int(j) % self.expansion.size}]" for j in ids]

    def columns(self, X: Any, ids: np.ndarray) -> Any:
        """See Space."""
        inputs, columns = self._inputs_of(X, ids)
        made = self._made(columns, inputs, ids)
        return sparse.csr_array(made) if sparse.issparse(columns) else made

    def chunks(self, X: Any, ids: np.ndarray, size: int) -> Iterator[tuple[slice, Any]]:
        """See Space; as arrays, of fewer rows where these would be large."""
        inputs, columns = self._inputs_of(X, ids)
        columns = columns.tocsr() if sparse.issparse(columns) else columns
        size = max(1, min(size, 4 * MOST_NUMBERS // max(1, ids.size)))
        for first in range(0, columns.shape[0], size):
            rows = slice(first, first + size)
            yield rows, self._made(columns[rows], inputs, ids)

    def _made(self, columns: Any, inputs: np.ndarray, ids: np.ndarray) -> np.ndarray:
        """The features ``ids``, made of ``columns``, which are ``inputs``."""
        size = self.expansion.size
        place = np.searchsorted(inputs, ids // size) * size + ids % size
        return self.expansion.block(columns, inputs, self.called).take(place).toarray()

    def scores(self, X: Any, ids: np.ndarray, weights: np.ndarray, intercept: float | np.ndarray) -> np.ndarray:
        """See Space; arrays some rows at a time."""
        inputs, columns = self._inputs_of(X, ids)
        size = self.expansion.size
        W = np.zeros((inputs.size * size, *weights.shape[1:]))
        W[np.searchsorted(inputs, ids // size) * size + ids % size] = weights
        n_rows = columns.shape[0]
        step = n_rows if sparse.issparse(columns) else max(1, MOST_NUMBERS // max(1, W.shape[0]))
        check_columns(columns, lambda place: self.called(int(inputs[place])))  # the message counts rows of all of X
        out = np.empty((n_rows, *weights.shape[1:]))
        for lo in range(0, n_rows, max(1, step)):
            part = columns if step >= n_rows else columns[lo : lo + step]
            out[lo : lo + step] = self.expansion.block(part, inputs, self.called).combine(W)
        return out + intercept
