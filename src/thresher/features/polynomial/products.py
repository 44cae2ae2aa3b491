"""Products of columns: a design that is computed on demand, and what new data needs of them."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse

from thresher.data.blocks.base import Block
from thresher.data.blocks.compressed import CscBlock, index_dtype
from thresher.data.blocks.dense import DenseBlock
from thresher.data.blocks.scaled import Scaling
from thresher.data.designs.base import Design
from thresher.data.designs.made import MadeDesign
from thresher.data.input.validation import stored_block
from thresher.data.scan.pieces import Cost, Piece, Stage
from thresher.data.scan.reducers import Reducer, distinct
from thresher.data.scan.scores import Correlation, Score
from thresher.data.scan.sources import learnt, reference
from thresher.errors import UnsupportedDesignError
from thresher.features.fitted import Label
from thresher.features.fitted_columns import MadeFeatures
from thresher.features.polynomial.terms import (
    MOST_INPUTS,
    LastScan,
    Sifted,
    Terms,
    TermSums,
    inputs_of,
    n_numbers,
    numbers_of,
    pairs_of,
    raw_columns,
    scaled_values,
)
from thresher.features.polynomial.tiles import Tiles
from thresher.features.polynomial.walks import Walks
from thresher.loops import products
from thresher.state import need, need_floats, need_ids

WRITTEN_ENTRIES = 1 << 22  # of a piece whose features are written down


def is_sparse(design: Design) -> bool:
    """Whether the columns of a design are stored sparsely."""
    return raw_columns(design, np.arange(min(1, design.width))).sparse


class ProductDesign(MadeDesign):
    """Linear terms, squares and products of the columns of ``base``, scaled or not, times the factors of the kernel.

    ``terms`` says which of them there are; features that are not among them have score zero.
    """

    prunes = True

    def __init__(self, base: Design, terms: Terms):
        super().__init__(base, n_numbers(base.width), base.entry_cost)
        self.terms, self.polynomial, self.sparse = terms, terms.polynomial, is_sparse(base)
        if self.sparse and base.scaling is not None and base.scaling.shift is not None:
            raise UnsupportedDesignError("products of sparse columns that are shifted would not be sparse")
        self._pairs: Walks | Tiles = Walks(base) if self.sparse else Tiles(base)

    @property
    def visited_share(self) -> float:
        """See Design: of those whose products the last scan looked at."""
        return learnt(self, LastScan).visited / max(1, self.base.width)

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
        last = learnt(self, LastScan)
        if isinstance(self._pairs, Walks):
            yield from self._pairs.stages(score.V, self.terms, reducer, bar, last)
            return
        sifted = Sifted(reducer, reference(self.terms, self.workers), self.base.width)
        inner, bounds = self.base.scan(TermSums(score.V), sifted, deadline)
        yield Stage(found=inner)
        bounds, factor = np.ascontiguousarray(bounds.T), self.polynomial.product_factor
        yield from self._pairs.stages(score.V, bounds, factor, reducer, bar, last)

    def pieces(self, vectors: int = 1) -> Iterator[Piece]:
        """See Design; all features, each written down: for few columns."""
        return self.generated(max(1, WRITTEN_ENTRIES // max(1, self.shape[0] * vectors)))

    def take(self, ids: np.ndarray) -> Block:
        """See Design; float64, with the factors of the kernel; numbers that are no terms have columns of zeros."""
        pairs = pairs_of(ids)
        return self._made(pairs, self.polynomial.factors(pairs))

    def take_as_given(self, ids: np.ndarray) -> tuple[Block, np.ndarray]:
        """See Design: products of scaled columns, without the factors of the kernel."""
        known = np.flatnonzero(self.holds(ids))
        pairs = pairs_of(self.ids_here(ids[known]))
        return self._made(pairs, np.ones(len(pairs))), known

    def _made(self, pairs: np.ndarray, factors: np.ndarray) -> Block:
        """The products of ``pairs`` times ``factors``; those that are no terms are zero."""
        first, second = np.maximum(pairs[:, 0], 0), pairs[:, 1]  # a placeholder for the constant: any column works
        inputs = distinct(np.concatenate([first, second[second >= 0]]))
        scaling = None if self.base.scaling is None else self.base.scaling.take(inputs)
        columns = raw_columns(self.base, inputs)
        return product_block(columns, scaling, inputs, pairs, factors * self.terms.among(pairs))

    def take_cost(self, ids: np.ndarray) -> Cost:
        """See Design."""
        return self.base.take_cost(inputs_of(ids))

    def scan_cost(self) -> Cost:
        """See Design: of dense columns one pass for bounds, and one for the tiles of products."""
        passes, read = self.base.scan_cost()
        return Cost(passes, read) if self.sparse else Cost(2.0 * passes, 2 * read)

    def in_units_of_X(self, ids: np.ndarray, w: np.ndarray) -> tuple[np.ndarray, float | np.ndarray]:
        """See Design: in units of the products of scaled columns, without the factors of the kernel."""
        return (w.T * self.polynomial.factors(pairs_of(ids))).T, 0.0

    def in_units_here(self, ids: np.ndarray, weights: np.ndarray) -> np.ndarray:
        """See Design."""
        factors = self.polynomial.factors(pairs_of(ids))
        return (weights.T * np.divide(1.0, factors, out=np.zeros_like(factors), where=factors > 0.0)).T

    def holds(self, ids: ArrayLike) -> np.ndarray:
        """See Design."""
        pairs = pairs_of(ids)
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
        pairs = pairs_of(ids)
        columns = pairs >= 0
        pairs[columns] = of_columns(pairs[columns])
        return numbers_of(*pairs.T)


def product_block(
    columns: Block,
    scaling: Scaling | None,
    inputs: np.ndarray,
    pairs: np.ndarray,
    factors: np.ndarray,
) -> Block:
    """The products ``pairs`` of the columns ``inputs`` (sorted), a block, put on their scale, times ``factors``."""
    first, second = np.searchsorted(inputs, pairs[:, 0]), np.searchsorted(inputs, pairs[:, 1])
    second = np.where(pairs[:, 1] < 0, -1, second)
    if not columns.sparse:
        z = scaled_values(columns.toarray(), scaling)
        made = np.asfortranarray(np.where(second < 0, 1.0, z[:, second]) * z[:, first] * factors)
        return DenseBlock(made, columns.workers)
    _, indptr, rows, values = columns.stored_columns(0, columns.shape[1])
    values = values.astype(np.float64)
    if scaling is not None:
        values *= np.repeat(scaling.factor, np.diff(indptr))
    ends = np.empty(len(pairs) + 1, dtype=np.int64)
    arrays = indptr, rows, values, first, second, ends
    products.meeting(*arrays, np.empty(0, dtype=rows.dtype), np.empty(0))
    indices = np.empty(int(ends[-1]), dtype=index_dtype(columns.shape[0]))
    out = np.empty(indices.size)
    if indices.size:
        products.meeting(*arrays, indices, out)
    out *= np.repeat(factors, np.diff(ends))
    return CscBlock((columns.shape[0], len(pairs)), ends, indices, out, columns.workers)


@dataclass(frozen=True, eq=False)
class ProductFeatures(MadeFeatures, kind="products"):
    """Linear terms, squares and products of columns x as (x - shift) * factor, without the factors of the kernel.

    Parameters
    ----------
    known : ndarray of int64
        The columns of all features on the path, sorted.
    shift : ndarray of float64
        What is subtracted from each.
    factor : ndarray of float64
        What each is then multiplied by.
    """

    known: np.ndarray = field(repr=False)
    shift: np.ndarray = field(repr=False)
    factor: np.ndarray = field(repr=False)
    candidate: ClassVar[str] = "term"
    varies: ClassVar[str] = "product"
    copies: ClassVar[bool] = False

    def check_parts(self) -> None:
        """See FittedFeatures."""
        need(self.n_columns <= MOST_INPUTS, "there are too many columns for products")
        known = need_ids(self.known, "columns of the products", self.n_columns)
        need_floats(self.shift, "shift of the products", known.shape)
        need_floats(self.factor, "factor of the products", known.shape, least=0.0)

    def covers(self, ids: np.ndarray) -> bool:
        """See FittedFeatures: the constant is no feature."""
        return bool((ids > 0).all() and np.isin(self.inputs(ids), self.known).all())

    def only(self, ids: np.ndarray, units: np.ndarray | None) -> Self:
        """See FittedFeatures."""
        known = self.inputs(ids)
        at = np.searchsorted(self.known, known)
        return replace(super().only(ids, units), known=known, shift=self.shift[at], factor=self.factor[at])

    @property
    def n_listed(self) -> int | None:
        """See FittedFeatures."""
        return self.n_candidates

    def places(self, ids: np.ndarray) -> list[dict[str, Any]]:
        """See FittedFeatures."""
        return [{"pair": pair} for pair in pairs_of(ids).tolist()]

    def pairs_of(self, ids: np.ndarray) -> np.ndarray:
        """See FittedFeatures."""
        return pairs_of(ids)

    @property
    def width(self) -> int:
        """See FittedFeatures; the constant has a number, too."""
        return n_numbers(self.n_columns)

    def inputs(self, ids: np.ndarray) -> np.ndarray:
        """See FittedFeatures."""
        return inputs_of(ids)

    def names(self, ids: Sequence[int] | np.ndarray, label: Label) -> list[str]:
        """See FittedFeatures: "a*b", "a^2" or "a"."""
        pairs = pairs_of(ids).tolist()
        return [label(i) if j < 0 else f"{label(i)}^2" if i == j else f"{label(i)}*{label(j)}" for i, j in pairs]

    def put_back(self, columns: Any, ids: np.ndarray) -> Any:
        """See FittedFeatures: there is no way back."""
        raise ValueError(
            "inverse_transform is not possible: the columns cannot be recovered from their products; "
            "get_support(indices=True) gives these columns"
        )

    def block(self, columns: Any, inputs: np.ndarray, ids: np.ndarray) -> tuple[Block, np.ndarray]:
        """See MadeFeatures."""
        at = np.searchsorted(self.known, inputs)
        shift = self.shift[at]
        scaling = Scaling(self.factor[at], shift if shift.any() else None)
        if sparse.issparse(columns) and scaling.shift is not None:
            columns = columns.toarray()  # few columns: those of the selection
        made = product_block(stored_block(columns), scaling, inputs, pairs_of(ids), np.ones(ids.size))
        return made, np.arange(ids.size)
