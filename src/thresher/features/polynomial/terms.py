"""Products of columns as features: their numbers, which of them there are, and statistics of one pass over the columns.

With the constant as input 0 and column i as input i + 1, the product of inputs a <= b has number b (b + 1) / 2 + a,
however many columns there are. So linear terms have a = 0, and number 0, the constant, is no feature.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from thresher.data.blocks.base import DENSE_COLUMNS, Block, Scannable, readonly
from thresher.data.blocks.scaled import Scaling
from thresher.data.designs.base import Design
from thresher.data.scan.reducers import Collect, Reducer, distinct
from thresher.data.scan.scores import Score
from thresher.data.scan.sources import Reference
from thresher.loops import dense, products

if TYPE_CHECKING:
    from thresher.features.polynomial.spec import Polynomial

MOST_INPUTS = 4_294_967_000  # columns: more would have products whose numbers exceed 64 bits


def n_numbers(n_columns: int) -> int:
    """How many numbers the constant, linear terms, squares and products of so many columns have.

    Parameters
    ----------
    n_columns : int
        Number of columns.

    Returns
    -------
    int
        (n_columns + 1) (n_columns + 2) / 2.

    Raises
    ------
    ValueError
        If 64-bit integers cannot number them.
    """
    if n_columns > MOST_INPUTS:
        raise ValueError(
            f"X has {n_columns:,} columns, whose products cannot be numbered by 64-bit integers: products are possible "
            f"for at most {MOST_INPUTS:,} columns"
        )
    return (n_columns + 1) * (n_columns + 2) // 2


def numbers_of(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """Numbers of products of columns.

    Parameters
    ----------
    first, second : ndarray of int64
        The two columns of each, in either order; -1 in one of them: a linear term.

    Returns
    -------
    ndarray of int64
        Numbers of the products.
    """
    a = np.minimum(first, second).astype(np.int64) + 1
    b = np.maximum(first, second).astype(np.int64) + 1
    return _before(b) + a


def pairs_of(numbers: ArrayLike) -> np.ndarray:
    """The columns of products, by their numbers.

    Parameters
    ----------
    numbers : ndarray of int64
        Numbers of products.

    Returns
    -------
    ndarray of int64 of shape (n_numbers, 2)
        The columns i <= j of each product, or (i, -1) of a linear term.
    """
    numbers = np.asarray(numbers, dtype=np.int64)
    b = np.floor((np.sqrt(8.0 * numbers.astype(np.float64) + 1.0) - 1.0) / 2.0).astype(np.int64)
    for _ in range(2):  # the root is rounded
        b = np.where(_before(b) > numbers, b - 1, b)
        b = np.where(_before(b + 1) <= numbers, b + 1, b)
    a = numbers - _before(b)
    return np.stack([np.where(a == 0, b, a) - 1, np.where(a == 0, 0, b) - 1], axis=-1)


def inputs_of(numbers: np.ndarray) -> np.ndarray:
    """The columns that products are made of, sorted.

    Parameters
    ----------
    numbers : ndarray of int64
        Numbers of products.

    Returns
    -------
    ndarray of int64
        Each column once.
    """
    pairs = pairs_of(numbers)
    return distinct(pairs[pairs >= 0])


def _before(b: np.ndarray) -> np.ndarray:
    """How many numbers are below those of input b: b (b + 1) / 2, where b (b + 1) may exceed 64 bits."""
    return np.where(b % 2 == 0, b // 2 * (b + 1), (b + 1) // 2 * b)


ROUNDED_UP = 1.0 + 1e-6  # bounds are sums that are rounded


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

    def among(self, pairs: np.ndarray) -> np.ndarray:
        """Which pairs of columns (m, 2) are terms: 1, others 0."""
        first, second = pairs.T
        both = self.product[first] & self.product[second]
        known = np.where(second < 0, self.linear[first], np.where(first == second, self.square[first], both))
        return (known & (first >= 0)).astype(np.float64)


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
    """Of scaled dense columns z: sums of v z and of v z^2, and the root of sum |v| z^2. (3 k, columns).

    The product of two such roots is a bound on |sum v z z'|.
    """

    def __init__(self, V: np.ndarray):
        self.V, self.vectors = V, 3 * len(V)

    def of(self, block: Scannable, lo: int, hi: int, scaling: Scaling | None = None) -> np.ndarray:
        """See Score."""
        k = len(self.V)
        out, size = np.zeros((3 * k, hi - lo)), np.abs(self.V)
        for start in range(lo, hi, DENSE_COLUMNS):
            stop = min(start + DENSE_COLUMNS, hi)
            columns = _takeable(block).take(np.arange(start, stop)).toarray()
            own = None if scaling is None else scaling.take(slice(start - lo, stop - lo))
            z = np.ascontiguousarray(scaled_values(columns, own).T)
            part = np.zeros((3 * k, len(z)))
            dense.row_dots(readonly(z), self.V, 0, len(z), part[:k])
            squares = readonly(z * z)
            dense.row_dots(squares, self.V, 0, len(z), part[k : 2 * k])
            dense.row_dots(squares, size, 0, len(z), part[2 * k :])
            part[2 * k :] = ROUNDED_UP * np.sqrt(part[2 * k :])
            out[:, start - lo : stop - lo] = part
        return out


def sifted(terms: Terms, reducer: Reducer, ids: np.ndarray, sums: np.ndarray) -> tuple[Reducer, np.ndarray]:
    """(``reducer`` of the linear terms and squares of the columns ``ids``, bounds of those that have products).

    ``sums`` (3 k, columns) has their sums of v z and of v z^2, and their bounds.
    """
    linear, squares, bounds = np.split(sums, 3)
    found = reducer.started(0, np.zeros((len(bounds), 0)))
    for mask, scores, second, factor in (
        (terms.linear, linear, np.full_like(ids, -1), terms.polynomial.linear_factor),
        (terms.square, squares, ids, float(terms.polynomial.gamma)),
    ):
        kept = np.flatnonzero(mask[ids] & scores.any(axis=0))
        if kept.size:
            numbers = numbers_of(ids[kept], second[kept])
            found = found.merged(reducer.started(numbers, scores[:, kept] * factor))
    return found, np.where(terms.product[ids], bounds, 0.0)


class Sifted(Collect):
    """Passes linear terms and squares to another reducer and keeps the bounds of all columns, of TermSums.

    The result is (that reducer, bounds (width, k)).
    """

    def __init__(self, inner: Reducer, terms: Reference[Terms], width: int, part: Any = None):
        super().__init__(width, part)
        self.inner, self.terms = inner, terms

    def started(self, ids: int | np.ndarray, scores: np.ndarray) -> "Sifted":
        """See Reducer."""
        columns = np.arange(ids, ids + scores.shape[1]) if isinstance(ids, int) else ids
        inner, bounds = sifted(self.terms.open(), self.inner, columns, scores)
        return Sifted(inner, self.terms, self.width, (ids, bounds))

    def merged(self, other: "Sifted") -> "Sifted":
        """See Reducer; updates this reducer in place."""
        self.inner = self.inner.merged(other.inner)
        return super().merged(other)

    def result(self) -> tuple[Reducer, np.ndarray]:  # type: ignore[override]
        """(the other reducer, bounds)."""
        return self.inner, super().result()


@dataclass
class LastScan:
    """How many columns the last scan looked at the products of, scored, and may have found products with."""

    visited: int = 0
    scored: int = 0
    alive: int = 0


def raw_columns(design: Design, ids: np.ndarray) -> Any:
    """Columns of a design as a block, before scaling."""
    block: Any = design.take(ids)
    return block if design.scaling is None else block.base


def factors_of(design: Design, ids: np.ndarray) -> np.ndarray:
    """What columns of a design are multiplied by."""
    return np.ones(ids.size) if design.scaling is None else design.scaling.take(ids).factor


def scaled_values(columns: np.ndarray, scaling: Scaling | None) -> np.ndarray:
    """The columns (n, m) on their scale."""
    if scaling is None:
        return columns
    z = columns if scaling.shift is None else columns - scaling.shift
    return z * scaling.factor


def _takeable(block: Scannable) -> Block:
    """The block, if its columns can be taken."""
    if not isinstance(block, Block):
        raise TypeError(f"products need columns that can be taken, which {type(block).__name__} has not")
    return block
