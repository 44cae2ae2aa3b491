"""Products of columns: a design that nobody stores, and the space of its features."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse

from thresher.data.blocks.base import Block
from thresher.data.blocks.compressed import CscBlock, index_dtype
from thresher.data.blocks.dense import DenseBlock
from thresher.data.blocks.scaled import ScaledBlock, Scaling
from thresher.data.designs.base import Design
from thresher.data.input.validation import check_columns, stored_block
from thresher.data.scan.kept import learnt
from thresher.data.scan.pieces import Cost, Generated, Piece, Stage
from thresher.data.scan.reducers import Reducer, distinct
from thresher.data.scan.scores import ColumnScaling, Correlation, Score
from thresher.data.scan.sources import reference
from thresher.errors import InvalidDataError, UnsupportedDesignError
from thresher.features.columns import Label, MadeSpace
from thresher.features.polynomial.spec import Polynomial
from thresher.features.polynomial.terms import Sifted, Terms, TermSums, peaks_of, raw_columns, scaled_values, terms_of
from thresher.features.polynomial.tiles import Tiles
from thresher.features.polynomial.walks import Walks
from thresher.loops import products
from thresher.results.products import Products, n_numbers, numbers_of, pairs_of

TOO_LARGE, TOO_SMALL = 1e30, 1e-30  # the largest |x| of scaled columns whose products are made
MOST_ENTRIES = 1 << 22  # of a piece whose features are written down, and of the rows that are predicted at a time


@dataclass(frozen=True, eq=False)
class TermColumns:
    """The columns of terms, products of the columns of ``base``: what pieces refer to. Others are zero."""

    base: Design
    terms: Terms

    def block(self, lo: int, hi: int) -> Block:
        """See BlockSource; float64, with the factors of the kernel."""
        pairs = pairs_of(np.arange(lo, hi))
        return self.made(pairs, self.terms.polynomial.factors(pairs))

    def made(self, pairs: np.ndarray, factors: np.ndarray) -> Block:
        """The products of ``pairs`` times ``factors``."""
        first, second = np.maximum(pairs[:, 0], 0), pairs[:, 1]  # any column is as good as another for the constant
        inputs = distinct(np.concatenate([first, second[second >= 0]]))
        scaling = None if self.base.scaling is None else self.base.scaling.take(inputs)
        columns = raw_columns(self.base, inputs)
        return product_block(columns, scaling, inputs, pairs, factors * self._there(pairs))

    def _there(self, pairs: np.ndarray) -> np.ndarray:
        """Which of the pairs are terms: 1, others 0."""
        first, second = pairs.T
        terms = self.terms
        both = terms.product[first] & terms.product[second]
        there = np.where(second < 0, terms.linear[first], np.where(first == second, terms.square[first], both))
        return (there & (first >= 0)).astype(np.float64)


@dataclass
class Visited:
    """How many columns the last scan of a design looked at the products of."""

    columns: int = 0

    def note(self, columns: int) -> None:
        """So many, up to now."""
        self.columns = columns


def is_sparse(design: Design) -> bool:
    """Whether the columns of a design are stored sparsely."""
    return isinstance(raw_columns(design, np.arange(min(1, design.width))), CscBlock)


class ProductDesign(Design):
    """Linear terms, squares and products of the columns of ``base``, scaled or not, times the factors of the kernel.

    ``terms`` says which of them there are; features that are not among them have score zero.
    """

    prunes = True

    def __init__(self, base: Design, terms: Terms):
        self.base, self.terms, self.polynomial = base, terms, terms.polynomial
        self.shape, self.dtype = (base.shape[0], n_numbers(base.width)), np.dtype(np.float64)
        self.nbytes, self.entries, self.workers = base.nbytes, base.entries, base.workers
        self.entry_cost, self.columns = base.entry_cost, TermColumns(base, terms)
        self.sparse = is_sparse(base)
        shifted = base.scaling is not None and base.scaling.shift is not None
        if self.sparse and shifted:
            raise UnsupportedDesignError("products of sparse columns that are shifted would not be sparse")
        self._peaks: np.ndarray
        self._peaks, self._signed = peaks_of(base) if self.sparse else (np.zeros(base.shape[0]), True)
        self._pairs = self._walks() if self.sparse else Tiles(base)

    def _walks(self) -> Walks:
        """The walks through the columns, by a copy of X by columns where it has none."""
        columns: Any = self.base.sides().columns
        columns = columns.base if isinstance(columns, ScaledBlock) else columns
        columns = columns if isinstance(columns, CscBlock) else columns.reordered()
        return Walks(self.base, columns, self._peaks, signed=self._signed)

    @property
    def visited(self) -> int:
        """Number of columns whose products the last scan looked at."""
        return learnt(self, Visited).columns

    @property
    def visited_share(self) -> float:
        """See Design: of those whose products it looked at."""
        return self.visited / max(1, self.base.width)

    @property
    def n_columns(self) -> int:
        """See Design."""
        return n_numbers(self.base.n_columns)

    def stages(
        self, score: Score, reducer: Reducer, bar: Callable[[], Any], deadline: float | None = None
    ) -> Iterator[Stage]:
        """See Design; columns alone first, then their products as far as they may be kept."""
        if not isinstance(score, Correlation):
            yield Stage(self.pieces(score.vectors), self.scan_work)
            return
        watch = learnt(self, Visited).note
        if isinstance(self._pairs, Walks):
            yield from self._pairs.stages(score.V, self.terms, reducer, bar, watch)
            return
        sums = TermSums(score.V, self._peaks, signed=self._signed)
        sifted = Sifted(reducer, reference(self.terms, self.workers), self.base.width)
        inner, bounds = self.base.scan(sums, sifted, deadline)
        yield Stage(found=inner)
        bounds, factor = np.ascontiguousarray(bounds.T), self.polynomial.product_factor
        yield from self._pairs.stages(score.V, bounds, factor, reducer, bar, watch)

    def pieces(self, vectors: int = 1) -> Iterator[Piece]:
        """See Design; all features, each written down: for few columns."""
        step, columns = max(1, MOST_ENTRIES // max(1, self.shape[0] * vectors)), reference(self.columns, self.workers)
        for first in range(0, self.width, step):
            yield Generated(columns, first, min(step, self.width - first))

    def take(self, ids: np.ndarray) -> Block:
        """See Design; float64, with the factors of the kernel."""
        pairs = pairs_of(np.asarray(ids, dtype=np.int64))
        return self.columns.made(pairs, self.polynomial.factors(pairs))

    def take_as_given(self, ids: np.ndarray) -> tuple[Block, np.ndarray]:
        """See Design: products of scaled columns, without the factors of the kernel."""
        known = np.flatnonzero(self.holds(ids))
        pairs = pairs_of(self.ids_here(ids[known]))
        return self.columns.made(pairs, np.ones(len(pairs))), known

    def take_cost(self, ids: np.ndarray) -> Cost:
        """See Design."""
        pairs = pairs_of(ids)
        return self.base.take_cost(distinct(pairs[pairs >= 0]))

    def check_cost(self) -> Cost:
        """See Design."""
        return self.base.check_cost()

    def in_units_of_X(self, ids: np.ndarray, w: np.ndarray) -> tuple[np.ndarray, float | np.ndarray]:
        """See Design: in units of the products of scaled columns, without the factors of the kernel."""
        return (w.T * self.polynomial.factors(pairs_of(ids))).T, 0.0

    def in_units_here(self, ids: np.ndarray, weights: np.ndarray) -> np.ndarray:
        """See Design."""
        factors = self.polynomial.factors(pairs_of(ids))
        return (weights.T * np.divide(1.0, factors, out=np.zeros_like(factors), where=factors > 0.0)).T

    def holds(self, ids: ArrayLike) -> np.ndarray:
        """See Design."""
        pairs = pairs_of(np.asarray(ids, dtype=np.int64))
        return np.all((pairs < 0) | self.base.holds(np.maximum(pairs, 0)), axis=-1)

    def ids_in_X(self, ids: ArrayLike) -> np.ndarray:
        """See Design."""
        return self._renumbered(ids, self.base.ids_in_X)

    def ids_here(self, ids: ArrayLike) -> np.ndarray:
        """See Design."""
        return self._renumbered(ids, self.base.ids_here)

    def _renumbered(self, ids: ArrayLike, of_columns: Callable[[np.ndarray], np.ndarray]) -> np.ndarray:
        if self.base.ids is None:
            return np.asarray(ids, dtype=np.int64)
        pairs = pairs_of(np.asarray(ids, dtype=np.int64))
        there = pairs >= 0
        pairs[there] = of_columns(pairs[there])
        return numbers_of(*pairs.T)

    def products(self, ids: np.ndarray) -> Products:
        """What the features ``ids`` are made of: their columns, and how these are scaled."""
        pairs = pairs_of(ids)
        inputs = distinct(pairs[pairs >= 0])
        scaling = Scaling(np.ones(inputs.size), None) if self.base.scaling is None else self.base.scaling.take(inputs)
        shift = np.zeros(inputs.size) if scaling.shift is None else scaling.shift
        return Products(self.base.ids_in_X(inputs), shift, scaling.factor, self.terms.count)

    def spread(self, ids: np.ndarray, weights: np.ndarray) -> np.ndarray:
        """Standard deviations of the features ``ids``, in their units: products of scaled columns."""
        block, total = self.take(ids), weights.sum()
        mean = block.correlate(weights) / total
        variance = np.maximum(block.column_squares(weights) / total - mean**2, 0.0)
        return self.in_units_here(ids, np.sqrt(variance))


def products_of(
    design: Design, polynomial: Polynomial, weights: np.ndarray, exclude: ArrayLike, largest: np.ndarray,
    called: Callable[[int], str] = str,
) -> ProductDesign:  # fmt: skip
    """The products of the columns of ``design``, whose largest |x| are given, except the columns ``exclude`` of X."""
    if design.n_columns < 2:
        raise InvalidDataError('X has 1 feature(s): products need at least two columns; use features="linear"')
    size = largest if design.scaling is None else largest * design.scaling.take(np.arange(design.width)).factor
    most = float(size.max(initial=0.0))
    if most > TOO_LARGE or 0.0 < most < TOO_SMALL:
        column = called(int(design.ids_in_X(np.argmax(size, keepdims=True))[0]))
        raise InvalidDataError(
            f"column {column} of X has values of up to {most:.3g} on the scale of the fit, the largest of all: their "
            f"products are too {'large' if most > 1.0 else 'small'} to be computed; use scale='max'"
        )
    excluded = np.asarray(exclude, dtype=np.int64)
    excluded = design.ids_here(excluded[design.holds(excluded)])
    return ProductDesign(design, terms_of(design, polynomial, weights, excluded))


@dataclass(frozen=True)
class ProductSpace(MadeSpace):
    """Linear terms, squares and products of the scaled columns of X, without the factors of the kernel."""

    copies = False

    n_columns: int
    products: Products = field(repr=False, compare=False)
    column_names: Sequence[str] | np.ndarray | None = field(default=None, kw_only=True, compare=False, repr=False)

    @property
    def width(self) -> int:
        """See Space; the constant has a number, too."""
        return n_numbers(self.n_columns)

    def inputs(self, ids: np.ndarray) -> np.ndarray:
        """See Space."""
        pairs = pairs_of(ids)
        return distinct(pairs[pairs >= 0])

    def names(self, ids: Sequence[int] | np.ndarray, label: Label) -> list[str]:
        """See Space: "a*b", "a^2" or "a"."""
        pairs = pairs_of(np.asarray(ids, dtype=np.int64)).tolist()
        return [label(i) if j < 0 else f"{label(i)}^2" if i == j else f"{label(i)}*{label(j)}" for i, j in pairs]

    def output(self, X: Any, ids: np.ndarray) -> Any:
        """See Space: the products themselves, in the precision of X."""
        columns = self.columns(X, ids)
        return columns.astype(np.float32) if X.dtype == np.float32 else columns

    def output_names(self, ids: np.ndarray, label: Label) -> list[str]:
        """See Space."""
        return self.names(ids, label)

    def put_back(self, columns: Any, ids: np.ndarray) -> Any:
        """See Space: there is no way back."""
        raise ValueError(
            "inverse_transform is not possible: products do not tell the columns that they are made of; "
            "get_support(indices=True) gives these columns"
        )

    def columns(self, X: Any, ids: np.ndarray) -> Any:
        """See Space."""
        inputs, columns = self._inputs_of(X, ids)
        block = self._block(columns, inputs, ids)
        return sparse.csr_array(block.native()) if sparse.issparse(columns) else block.toarray()

    def scores(self, X: Any, ids: np.ndarray, weights: np.ndarray, intercept: float | np.ndarray) -> np.ndarray:
        """See Space; arrays some rows at a time."""
        inputs, columns = self._inputs_of(X, ids)
        n_rows = columns.shape[0]
        step = n_rows if sparse.issparse(columns) else max(1, MOST_ENTRIES // max(1, ids.size))
        out = np.empty((n_rows, *weights.shape[1:]))
        for lo in range(0, n_rows, max(1, step)):
            part = columns if step >= n_rows else columns[lo : lo + step]
            out[lo : lo + step] = self._block(part, inputs, ids).combine(weights)
        return out + intercept

    def _block(self, columns: Any, inputs: np.ndarray, ids: np.ndarray) -> Block:
        pairs = pairs_of(ids)
        at = np.searchsorted(self.products.columns, inputs)
        shift = self.products.shift[at]
        scaling = Scaling(self.products.factor[at], shift if shift.any() else None)
        if sparse.issparse(columns) and scaling.shift is not None:
            columns = columns.toarray()  # few columns: those of the selection
        return product_block(stored_block(columns), scaling, inputs, pairs, np.ones(len(pairs)))

    def _inputs_of(self, X: Any, ids: np.ndarray) -> tuple[np.ndarray, Any]:
        """See MadeSpace; InvalidDataError where one of these columns is not finite."""
        inputs, columns = super()._inputs_of(X, ids)
        check_columns(columns, lambda place: self.called(int(inputs[place])))
        return inputs, columns


def product_block(
    columns: CscBlock | DenseBlock,
    scaling: ColumnScaling | None,
    inputs: np.ndarray,
    pairs: np.ndarray,
    factors: np.ndarray,
) -> Block:
    """The products ``pairs`` of the columns ``inputs`` (sorted), a block, put on their scale, times ``factors``."""
    first, second = np.searchsorted(inputs, pairs[:, 0]), np.searchsorted(inputs, pairs[:, 1])
    second = np.where(pairs[:, 1] < 0, -1, second)
    if not isinstance(columns, CscBlock):
        z = scaled_values(columns.toarray(), scaling, slice(None))
        made = np.asfortranarray(np.where(second < 0, 1.0, z[:, second]) * z[:, first] * factors)
        return DenseBlock(made, columns.workers)
    values = columns.values.astype(np.float64)
    if scaling is not None:
        values *= np.repeat(scaling.factor, np.diff(columns.indptr))
    ends = np.empty(len(pairs) + 1, dtype=np.int64)
    arrays = columns.indptr, columns.indices, values, first, second, ends
    products.meeting(*arrays, np.empty(0, dtype=columns.indices.dtype), np.empty(0))
    indices = np.empty(int(ends[-1]), dtype=index_dtype(columns.shape[0]))
    out = np.empty(indices.size)
    if indices.size:
        products.meeting(*arrays, indices, out)
    out *= np.repeat(factors, np.diff(ends))
    return CscBlock((columns.shape[0], len(pairs)), ends, indices, out, columns.workers)
