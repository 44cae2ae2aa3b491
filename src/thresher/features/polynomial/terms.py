"""Which terms of a polynomial are features, and what a pass over the columns says about them."""

import functools
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from thresher.data.blocks.base import DENSE_COLUMNS, Block, Scannable, readonly
from thresher.data.blocks.compressed import CscBlock
from thresher.data.blocks.scaled import Scaling
from thresher.data.designs.base import Design
from thresher.data.scan.reducers import Collect, Reducer
from thresher.data.scan.scores import Score
from thresher.data.scan.sources import Reference
from thresher.features.polynomial.numbers import numbers_of
from thresher.loops import dense, products

if TYPE_CHECKING:
    from thresher.features.polynomial.spec import Polynomial

SURE = 1.0 + 1e-6  # bounds are sums that are rounded


@dataclass(frozen=True, eq=False)
class Terms:
    """The terms that there are: per column, whether it is one itself, its square is one, and it has products."""

    polynomial: "Polynomial"
    linear: np.ndarray
    square: np.ndarray
    product: np.ndarray

    @property
    def count(self) -> int:
        """How many terms there are."""
        inputs = int(np.count_nonzero(self.product))
        return int(np.count_nonzero(self.linear)) + int(np.count_nonzero(self.square)) + inputs * (inputs - 1) // 2


def terms_of(design: Design, polynomial: "Polynomial", weights: np.ndarray, exclude: ArrayLike = ()) -> Terms:
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

    def of(self, block: Scannable, lo: int, hi: int, scaling: Scaling | None = None) -> np.ndarray:
        """See Score; scaling changes nothing."""
        seen, known = np.zeros(hi - lo, dtype=np.int64), np.zeros((3, hi - lo))
        for first, indptr, rows, values in _takeable(block).stored_parts(lo, hi):
            products.count_distinct(indptr, rows, values, self.counts, first - lo, seen, known)
        absent = known[2] < np.count_nonzero(self.counts)  # some entries are zero without being stored
        has_zero = ((seen > 0) & (known[0] == 0.0)) | ((seen > 1) & (known[1] == 0.0)) | (seen > 2)
        return np.minimum(seen + (absent & ~has_zero), 3)[None].astype(np.float64)


class TermSums(Score):
    """Of the scaled columns z: sums of v z and of v z^2 and a bound on |sum v z z'| for all other columns z'. (3 k,).

    Of sparse columns, whose rows have at most ``peaks`` as |z|, that is the bound; of others it is the root of
    sum |v| z^2, and the product of two such roots is one. ``signed``: z may be negative.
    """

    def __init__(self, V: np.ndarray, peaks: np.ndarray, *, signed: bool):
        self.V, self.peaks, self.signed, self.vectors = V, peaks, signed, 3 * len(V)

    @functools.cached_property
    def _side_by_side(self) -> np.ndarray:
        return np.ascontiguousarray(np.concatenate([self.V, self.peaks[None]]).T)

    def of(self, block: Scannable, lo: int, hi: int, scaling: Scaling | None = None) -> np.ndarray:
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

    def of_columns(self, block: CscBlock, columns: np.ndarray, scaling: Scaling | None) -> np.ndarray:
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

    def __init__(self, inner: Reducer, terms: Reference[Terms], width: int, part: Any = None):
        super().__init__(width, part)
        self.inner, self.terms = inner, terms

    def started(self, ids: int | np.ndarray, scores: np.ndarray) -> "Sifted":
        """See Reducer."""
        k, terms = len(scores) // 3, self.terms.open()
        kernel = terms.polynomial
        j = slice(ids, ids + scores.shape[1]) if isinstance(ids, int) else ids
        inner = self.inner.started(0, np.zeros((k, 0)))
        for mask, lines, factor, linear in (
            (terms.linear[j], scores[:k], kernel.linear_factor, True),
            (terms.square[j], scores[k : 2 * k], float(kernel.gamma), False),
        ):
            there = np.flatnonzero(mask & lines.any(axis=0))
            if there.size:
                columns = there + ids if isinstance(ids, int) else ids[there]
                numbers = numbers_of(columns, np.full_like(columns, -1) if linear else columns)
                inner = inner.merged(self.inner.started(numbers, lines[:, there] * factor))
        bounds = np.where(terms.product[j], scores[2 * k :], 0.0)
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


class Peaks(Score):
    """The largest |z| of each row in some columns, and below them 1 if one of the values is negative. (n + 1, 1)."""

    vectors = 1

    def of(self, block: Scannable, lo: int, hi: int, scaling: Scaling | None = None) -> np.ndarray:
        """See Score; a number for each row, not for each column. Of sparse columns."""
        if not (isinstance(block, Block) and block.sparse):
            raise TypeError(f"the largest values of rows are those of sparse columns, got a {type(block).__name__}")
        peaks = np.zeros(block.shape[0] + 1)
        factor = np.ones(hi - lo) if scaling is None else scaling.factor
        for stored in block.stored_parts(lo, hi):
            z = stored.values * factor[stored.first - lo + stored.columns]
            np.maximum.at(peaks, stored.rows, np.abs(z))
            if z.min(initial=0.0) < 0.0:
                peaks[-1] = 1.0
        return peaks[:, None]


class LargestOfRows(Collect):
    """The largest of each of the ``width`` rows of scores that are not negative. The result is (width,)."""

    def __init__(self, width: int, largest: np.ndarray | None = None):
        super().__init__(width)
        self.largest = largest

    def started(self, ids: int | np.ndarray, scores: np.ndarray) -> "LargestOfRows":
        """See Reducer."""
        return LargestOfRows(self.width, scores.max(axis=1) if scores.size else None)

    def merged(self, other: "LargestOfRows") -> "LargestOfRows":
        """See Reducer."""
        return LargestOfRows(self.width, np.maximum(self.result(), other.result()))

    def result(self) -> np.ndarray:
        """The largest of each row."""
        return np.zeros(self.width) if self.largest is None else self.largest


def peaks_of(design: Design) -> tuple[np.ndarray, bool]:
    """(the largest |z| of each row, whether any value is negative), of the scaled columns z of a sparse ``design``."""
    found = design.scan(Peaks(), LargestOfRows(design.shape[0] + 1))
    return found[:-1], bool(found[-1])


def raw_columns(design: Design, ids: np.ndarray) -> Any:
    """Columns of a design as a block, before scaling."""
    block: Any = design.take(ids)
    return block if design.scaling is None else block.base


def scaled_values(columns: np.ndarray, scaling: Scaling | None, some: Any) -> np.ndarray:
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
