"""Which terms of a polynomial are features, and what a pass over the columns says about them."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from thresher.data.blocks.base import DENSE_COLUMNS, Block, Scannable, readonly
from thresher.data.blocks.compressed import CscBlock
from thresher.data.designs.base import Design
from thresher.data.scan.reducers import Collect, Reducer
from thresher.data.scan.scores import ColumnScaling, Score
from thresher.features.polynomial.spec import Polynomial
from thresher.loops import dense, products
from thresher.results.products import numbers_of

SURE = 1.0 + 1e-6  # bounds are sums that are rounded


@dataclass(frozen=True, eq=False)
class Terms:
    """The terms that there are: per column, whether it is one itself, its square is one, and it has products."""

    polynomial: Polynomial
    linear: np.ndarray
    square: np.ndarray
    product: np.ndarray

    @property
    def count(self) -> int:
        """How many terms there are."""
        inputs = int(np.count_nonzero(self.product))
        return int(np.count_nonzero(self.linear)) + int(np.count_nonzero(self.square)) + inputs * (inputs - 1) // 2


def terms_of(design: Design, polynomial: Polynomial, weights: np.ndarray, exclude: ArrayLike = ()) -> Terms:
    """The Terms of the columns of ``design``, without those in ``exclude``; one pass over X.

    Columns that are constant where there is weight have no products, those with two values no square.
    """
    allowed = np.ones(design.width, dtype=bool)
    allowed[np.asarray(exclude, dtype=np.int64)] = False
    values = design.scan(DistinctValues(weights), Collect(design.width))[:, 0]
    varies = allowed & (values > 1.0)
    square = varies & (values > 2.0) & (not polynomial.interaction_only)
    return Terms(polynomial, allowed & (polynomial.coef0 > 0.0), square, varies)


class DistinctValues(Score):
    """How many different values each column has where there is weight, counted up to 3. (1, columns)."""

    vectors = 1

    def __init__(self, weights: ArrayLike):
        self.counts = np.asarray(weights) > 0.0

    def of(self, block: Scannable, lo: int, hi: int, scaling: ColumnScaling | None = None) -> np.ndarray:
        """See Score; scaling changes nothing."""
        seen, known = np.zeros(hi - lo, dtype=np.int64), np.zeros((3, hi - lo))
        for first, indptr, rows, values in _takeable(block).stored_parts(lo, hi):
            products.distinct(indptr, rows, values, self.counts, first - lo, seen, known)
        absent = known[2] < np.count_nonzero(self.counts)  # some entries are zero without being stored
        has_zero = ((seen > 0) & (known[0] == 0.0)) | ((seen > 1) & (known[1] == 0.0)) | (seen > 2)
        return np.minimum(seen + (absent & ~has_zero), 3)[None].astype(np.float64)


class TermSums(Score):
    """Of the scaled columns z: sums of v z and of v z^2 and a bound on |sum v z z'| for all other columns z'. (3 k,).

    Of sparse columns, whose rows have at most ``peaks`` as |z|, that is the bound; of others it is the root of
    sum |v| z^2, and the product of two such roots is one. ``signed``: z may be negative.
    """

    def __init__(self, V: np.ndarray, peaks: np.ndarray, *, signed: bool):
        self.V, self.signed, self.vectors = V, signed, 3 * len(V)
        self._side_by_side = np.ascontiguousarray(np.concatenate([V, peaks[None]]).T)

    def of(self, block: Scannable, lo: int, hi: int, scaling: ColumnScaling | None = None) -> np.ndarray:
        """See Score: of dense columns."""
        k = len(self.V)
        out, size = np.zeros((3 * k, hi - lo)), np.abs(self.V)
        for start, columns in _arrays(block, lo, hi):
            z = np.ascontiguousarray(scaled_values(columns, scaling, slice(start - lo, start - lo + DENSE_COLUMNS)).T)
            part = np.zeros((3 * k, len(z)))
            dense.row_dots(readonly(z), self.V, 0, len(z), part[:k])
            squares = readonly(z * z)
            dense.row_dots(squares, self.V, 0, len(z), part[k : 2 * k])
            dense.row_dots(squares, size, 0, len(z), part[2 * k :])
            part[2 * k :] = SURE * np.sqrt(part[2 * k :])
            out[:, start - lo : start - lo + len(z)] = part
        return out

    def of_columns(self, block: CscBlock, columns: np.ndarray, scaling: ColumnScaling | None) -> np.ndarray:
        """As ``of``, for some columns of a sparse block, whose scaling is given."""
        factor = np.ones(columns.size) if scaling is None else scaling.factor
        sums = np.empty((4, len(self.V), columns.size))
        arrays = block.indptr, block.indices, block.values, factor, columns, self._side_by_side
        products.column_sums(*arrays, 0, columns.size, sums)
        return self._scores(sums)

    def _scores(self, sums: np.ndarray) -> np.ndarray:
        up, down = sums[products.UP], sums[products.DOWN]
        bounds = SURE * (up + down if self.signed else np.maximum(up, down))
        return np.concatenate([sums[products.LINEAR], sums[products.SQUARE], bounds])


class Sifted(Collect):
    """Passes linear terms and squares to another reducer and keeps the bounds of all columns, of TermSums.

    The result is (that reducer, bounds (width, k)).
    """

    def __init__(self, inner: Reducer, terms: Terms, width: int, part: Any = None):
        super().__init__(width, part)
        self.inner, self.terms = inner, terms

    def started(self, ids: int | np.ndarray, scores: np.ndarray) -> "Sifted":
        """See Reducer."""
        k, kernel = len(scores) // 3, self.terms.polynomial
        j = slice(ids, ids + scores.shape[1]) if isinstance(ids, int) else ids
        inner = self.inner.started(0, np.zeros((k, 0)))
        for mask, lines, factor, linear in (
            (self.terms.linear[j], scores[:k], kernel.linear_factor, True),
            (self.terms.square[j], scores[k : 2 * k], float(kernel.gamma), False),
        ):
            there = np.flatnonzero(mask & lines.any(axis=0))
            if there.size:
                columns = there + ids if isinstance(ids, int) else ids[there]
                numbers = numbers_of(columns, np.full_like(columns, -1) if linear else columns)
                inner = inner.merged(self.inner.started(numbers, lines[:, there] * factor))
        bounds = np.where(self.terms.product[j], scores[2 * k :], 0.0)
        return Sifted(inner, self.terms, self.width, (ids, bounds))

    @property
    def bounds(self) -> np.ndarray:
        """Those of the columns of a single piece, (k, columns)."""
        return np.zeros((0, 0)) if self.part is None else self.part[1]

    def merged(self, other: "Sifted") -> "Sifted":
        """See Reducer; updates this reducer in place."""
        self.inner = self.inner.merged(other.inner)
        return super().merged(other)

    def result(self) -> tuple[Reducer, np.ndarray]:  # type: ignore[override]
        """(the other reducer, bounds)."""
        return self.inner, super().result()


def peaks_of(design: Design) -> tuple[np.ndarray, bool]:
    """(the largest |z| of each row, whether any z is negative), of the scaled columns z of a sparse ``design``."""
    peaks, signed = np.zeros(design.shape[0]), False
    for piece in design.pieces():
        block, lo, hi = piece.open()
        if not (isinstance(block, Block) and block.sparse):
            return peaks, True
        scaling = None if design.scaling is None else design.scaling.range(piece.first, piece.first + piece.width)
        factor = np.ones(hi - lo) if scaling is None else scaling.factor
        for stored in block.stored_parts(lo, hi):
            z = stored.values * factor[stored.first - lo + stored.columns]
            np.maximum.at(peaks, stored.rows, np.abs(z))
            signed = signed or bool(z.min(initial=0.0) < 0.0)
    return peaks, signed


def raw_columns(design: Design, ids: np.ndarray) -> Any:
    """Columns of a design as a block, before scaling."""
    block: Any = design.take(ids)
    return block if design.scaling is None else block.base


def scaled_values(columns: np.ndarray, scaling: ColumnScaling | None, some: Any) -> np.ndarray:
    """The columns (n, m), which are ``some`` of those of ``scaling``, on their scale."""
    if scaling is None:
        return columns
    z = columns if scaling.shift is None else columns - scaling.shift[some]
    return z * scaling.factor[some]


def _arrays(block: Scannable, lo: int, hi: int) -> Any:
    """(first column, array of float64) for a few columns at a time."""
    for start in range(lo, hi, DENSE_COLUMNS):
        yield start, _takeable(block).take(np.arange(start, min(start + DENSE_COLUMNS, hi))).toarray()


def _takeable(block: Scannable) -> Block:
    """The block, if its columns can be taken."""
    if not isinstance(block, Block):
        raise TypeError(f"products need columns that can be taken, which {type(block).__name__} has not")
    return block
