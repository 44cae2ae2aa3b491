"""Block: some columns of X in memory, which is all that a solver sees of the data."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike

from thresher.data.workers import SERIAL, Workers
from thresher.loops import dense, moments

# ``densified`` always makes arrays of up to SMALL_ARRAY entries; larger ones must have at least MIN_DENSITY non-zeros
SMALL_ARRAY, MIN_DENSITY = 1 << 22, 0.05
DENSE_COLUMNS = 64  # columns that are converted to a dense array at a time
PART_VALUES = 1 << 20  # stored values of a part of the columns
# BLAS products are split at positions that do not depend on the number of threads, so neither does the result.
BLAS_ROWS, BLAS_COLUMNS = 4096, 128


def readonly(array: ArrayLike) -> np.ndarray:
    """A plain read-only view: memory maps and writable arrays then share one compiled loop."""
    view = np.asarray(array).view(np.ndarray)
    view.flags.writeable = False
    return view


def as_rows(V: ArrayLike) -> np.ndarray:
    """Vectors of length n, given as (n,) or (n, k), as the rows of a contiguous float64 array."""
    V = np.asarray(V, dtype=np.float64)
    return np.ascontiguousarray(V[None] if V.ndim == 1 else V.T)


def like_given(rows: np.ndarray, V: ArrayLike) -> np.ndarray:
    """The result ``rows`` in the shape in which the vectors were given: (m,) or (m, k)."""
    return rows[0] if np.ndim(V) == 1 else rows.T


class StoredColumns(NamedTuple):
    """The stored values of adjacent columns, with their rows in ascending order.

    Those of column ``first`` + k are at indptr[k] to indptr[k + 1] - 1.
    """

    first: int
    indptr: np.ndarray
    rows: np.ndarray
    values: np.ndarray

    @property
    def columns(self) -> np.ndarray:
        """The column of each value, counted from ``first``."""
        return np.repeat(np.arange(self.indptr.size - 1), np.diff(self.indptr))


class Scannable(ABC):
    """The methods of columns that a scan needs; the minimum for a piece of a design."""

    shape: tuple[int, int]

    @abstractmethod
    def correlate_into(self, V: np.ndarray, lo: int, hi: int, out: np.ndarray) -> None:
        """out[r, j - lo] = sum_i X[i, j] V[r, i] for columns lo <= j < hi. V: (k, n), out: (k, hi - lo), zeroed."""

    @abstractmethod
    def statistics_into(self, weights: np.ndarray, lo: int, hi: int, anchor: np.ndarray, out: np.ndarray) -> None:
        """Fill anchor (hi - lo,) and out (moments.STATISTICS, hi - lo), zeroed: see ``loops.moments``."""


class Block(Scannable):
    """The columns of an n x m matrix X, in memory.

    A storage format defines ``correlate_into``, ``combine_into``, ``take`` and ``joined``; how the work is split among
    threads is decided here and does not change a bit of the result.
    """

    dtype: np.dtype
    nbytes: int
    workers: Workers = SERIAL
    structure_bytes: int = 0  # bytes of the index arrays of a sparse format
    entry_cost: int = 1  # time that a stored value takes in a product, in that of a dense one
    sparse: bool = False  # whether zeros are not stored

    @property
    @abstractmethod
    def entries(self) -> int:
        """Number of stored values: the cost of a product."""

    @property
    def row_entries(self) -> np.ndarray | None:
        """Number of stored values in each row; None unless rows are stored contiguously."""
        return None

    @property
    def column_entries(self) -> np.ndarray | None:
        """Number of stored values in each column; None unless columns are stored contiguously."""
        return None

    def stored_columns(self, lo: int, hi: int) -> StoredColumns:
        """The stored values of the columns lo <= j < hi: all values, unless the block is ``sparse``."""
        n_rows, width = self.shape[0], hi - lo
        values = self.take(np.arange(lo, hi)).toarray().T.ravel()
        return StoredColumns(lo, np.arange(width + 1) * n_rows, np.tile(np.arange(n_rows), width), values)

    def stored_parts(self, lo: int, hi: int) -> Iterator[StoredColumns]:
        """``stored_columns``, as many columns at a time as have about PART_VALUES values."""
        step = max(1, PART_VALUES * self.shape[1] // max(1, self.entries))
        for first in range(lo, hi, step):
            yield self.stored_columns(first, min(first + step, hi))

    def statistics_into(self, weights: np.ndarray, lo: int, hi: int, anchor: np.ndarray, out: np.ndarray) -> None:
        """See Scannable; converts a few columns at a time to dense. Formats that are scanned in full override this."""
        first = int(np.argmax(weights > 0))
        for start in range(lo, hi, DENSE_COLUMNS):
            stop = min(start + DENSE_COLUMNS, hi)
            A, part = self.take(np.arange(start, stop)).toarray().T, np.zeros((moments.STATISTICS, stop - start))
            anchor[start - lo : stop - lo] = A[:, first]
            moments.row_statistics(readonly(A), weights, anchor[start - lo : stop - lo].copy(), 0, stop - start, part)
            out[:, start - lo : stop - lo] = part

    @abstractmethod
    def combine_into(self, W: np.ndarray, lo: int, hi: int, out: np.ndarray) -> None:
        """out[r, i - lo] += sum_j X[i, j] W[r, j] for rows lo <= i < hi. W: (k, m), out: (k, hi - lo)."""

    @abstractmethod
    def take(self, ids: np.ndarray) -> "Block":
        """A block of the columns ``ids``, in that order, copied."""

    @abstractmethod
    def take_rows(self, ids: np.ndarray) -> "Block":
        """A block of the rows ``ids``, sorted without duplicates, copied."""

    def part(self, rows: np.ndarray, columns: np.ndarray) -> "Block":
        """A block of some rows and columns, both sorted without duplicates, copied."""
        return self.take(columns).take_rows(rows)

    def combine_some(self, ids: np.ndarray, w: np.ndarray) -> np.ndarray:
        """X[:, ids] w for few columns."""
        return self.take(ids).combine(w)

    def of_a_class(self) -> "Block":
        """The columns of each class, which are the same; here the block itself."""
        return self

    def reordered(self) -> "Block":
        """A copy in the other storage order (by rows instead of by columns), where the format has one; else itself."""
        return self

    @abstractmethod
    def column_squares(self, weights: np.ndarray) -> np.ndarray:
        """result[j] = sum_i weights[i] X[i, j]^2, in float64."""

    @abstractmethod
    def row_squares(self, weights: np.ndarray) -> np.ndarray:
        """result[i] = sum_j weights[j] X[i, j]^2, in float64."""

    @abstractmethod
    def joined(self, other: Self) -> "Block":
        """One block with the columns of both; ``other`` is of the same kind."""

    def densified(self, most: int) -> "Block":
        """The same columns as one dense float64 array, copied, if that has at most ``most`` entries; else itself.

        Very sparse columns stay as they are unless they are small: most of the array would be zeros.
        """
        size = self.shape[0] * self.shape[1]
        dense_enough = size <= SMALL_ARRAY or self.entries >= MIN_DENSITY * size
        return ArrayBlock(self.toarray(), self.workers) if size <= most and dense_enough else self

    def gram(self, weights: np.ndarray) -> np.ndarray:
        """X' diag(weights) X, (m, m), computed a few columns at a time."""
        m = self.shape[1]
        out = np.empty((m, m))
        for lo in range(0, m, DENSE_COLUMNS):
            ids = np.arange(lo, min(lo + DENSE_COLUMNS, m))
            out[:, ids] = self.correlate(weights[:, None] * self.take(ids).toarray())
        return out

    def row_gram(self) -> np.ndarray:
        """XX', (n, n), computed a few columns at a time."""
        out = np.zeros((self.shape[0],) * 2)
        for lo in range(0, self.shape[1], DENSE_COLUMNS):
            A = self.take(np.arange(lo, min(lo + DENSE_COLUMNS, self.shape[1]))).toarray()
            out += A @ A.T
        return out

    def column_ranges(
        self, per_worker: int = 1, most: int | None = None, work: float | None = None
    ) -> list[tuple[int, int]]:
        """Ranges of columns to distribute over threads, ``per_worker`` for each, of about ``most`` entries at most.

        ``work`` (default: that of one product) decides how many threads pay off. Storage formats may override this to
        balance it better.
        """
        threads = self._threads(work)
        cuts = self._cuts(most)
        return self.workers.cut(self.shape[1], threads=threads, per_worker=per_worker, grain=16, at_least=cuts)

    def work(self, vectors: int, entries: float | None = None) -> float:
        """What products of all (or so many) entries with so many vectors cost, in products of dense entries."""
        return vectors * self.entry_cost * (self.entries if entries is None else entries)

    def _threads(self, work: float | None) -> int:
        """Number of threads that pay off for ``work``, by default for one product."""
        return self.workers.share(self.work(1) if work is None else work)

    def _cuts(self, most: int | None) -> int:
        """Number of ranges such that each has at most about ``most`` entries."""
        return 1 if most is None else -(-self.entries // max(1, most))

    def correlate(self, V: np.ndarray, work: float | None = None) -> np.ndarray:
        """X'V: result[j] = sum_i X[i, j] V[i]; V is (n,) or (n, k), the result (m,) or (m, k).

        ``work`` is the number of entries that will be read, if known to be fewer than all.
        """
        rows = as_rows(V)
        out = np.zeros((rows.shape[0], self.shape[1]))
        cost = self.work(len(rows), work)
        self._in_ranges(self.correlate_into, rows, self.column_ranges(work=cost), cost, out)
        return like_given(out, V)

    def combine(self, W: np.ndarray) -> np.ndarray:
        """XW: result[i] = sum_j X[i, j] W[j]; W is (m,) or (m, k), the result (n,) or (n, k)."""
        rows = as_rows(W)
        out = np.zeros((rows.shape[0], self.shape[0]))
        cost = self.work(len(rows))
        ranges = self.workers.cut(self.shape[0], threads=self._threads(cost), grain=64)
        self._in_ranges(self.combine_into, rows, ranges, cost, out)
        return like_given(out, W)

    def _in_ranges(
        self,
        product: Callable[[np.ndarray, int, int, np.ndarray], None],
        V: np.ndarray,
        ranges: list[tuple[int, int]],
        work: float,
        out: np.ndarray,
    ) -> None:
        """Let ``product(V, lo, hi, part)`` fill each range of ``out`` (k, length), which is zero."""

        def fill(lo: int, hi: int) -> None:
            part = out[:, lo:hi]
            if part.flags.c_contiguous:
                product(V, lo, hi, part)
            else:  # loops vectorise over contiguous sums, and are compiled for one layout
                separate = np.zeros(part.shape)
                product(V, lo, hi, separate)
                part[:] = separate

        self.workers.map(fill, ranges, entries=work)

    def native(self) -> Any:
        """The columns as a numpy array or a scipy sparse array."""
        return self.toarray()

    @abstractmethod
    def toarray(self) -> np.ndarray:
        """The block as a dense float64 array in Fortran order, copied: for small blocks."""


class ArrayBlock(Block):
    """Columns as one float64 array in Fortran order, for dense linear algebra.

    Full products use BLAS on fixed tiles; products over a range use the compiled loops, since the rounding of BLAS
    depends on the range.
    """

    def __init__(self, X: ArrayLike, workers: Workers = SERIAL):
        self.X, self.workers = np.asfortranarray(X, dtype=np.float64), workers
        self.shape, self.dtype, self.nbytes = self.X.shape, self.X.dtype, self.X.nbytes

    @property
    def entries(self) -> int:
        """Number of stored values."""
        return self.X.size

    def correlate_into(self, V: np.ndarray, lo: int, hi: int, out: np.ndarray) -> None:
        """See Block."""
        dense.row_dots(readonly(self.X.T), V, lo, hi, out)

    def combine_into(self, W: np.ndarray, lo: int, hi: int, out: np.ndarray) -> None:
        """See Block."""
        dense.row_sums(readonly(self.X.T), W, np.flatnonzero(W.any(axis=0)), lo, hi, out)

    def combine(self, W: np.ndarray) -> np.ndarray:
        """See Block."""
        out = np.empty((self.shape[0], *W.shape[1:]))
        products = self.shape[0] * W.size
        self._tiles(lambda lo, hi: np.matmul(self.X[lo:hi], W, out=out[lo:hi]), self.shape[0], BLAS_ROWS, products)
        return out

    def correlate(self, V: np.ndarray, work: float | None = None) -> np.ndarray:
        """See Block."""
        out = np.empty((self.shape[1], *V.shape[1:]))
        m = self.shape[1]
        products = m * V.size if V.ndim > 1 else 0  # threads gained nothing on one vector, with 2 to 16 of them
        self._tiles(lambda lo, hi: np.matmul(self.X[:, lo:hi].T, V, out=out[lo:hi]), m, BLAS_COLUMNS, products)
        return out

    def gram(self, weights: np.ndarray) -> np.ndarray:
        """See Block; rows without weight cost nothing."""
        m, rows = self.shape[1], np.flatnonzero(weights)
        out = np.empty((m, m))
        A = self.X if rows.size == weights.size else self.X[rows]
        B = A * weights[rows, None]

        def below(lo: int, hi: int) -> None:
            """Columns lo..hi from the diagonal down, and their mirror image above the diagonal."""
            out[lo:, lo:hi] = B[:, lo:].T @ A[:, lo:hi]
            out[lo:hi, hi:] = out[hi:, lo:hi].T

        self._tiles(below, m, BLAS_COLUMNS, A.size * m // 2)
        return out

    def row_gram(self) -> np.ndarray:
        """See Block."""
        return self.X @ self.X.T

    def _tiles(self, function: Callable[[int, int], Any], length: int, step: int, products: int) -> None:
        """Call ``function(lo, hi)`` on all tiles, on as many threads as the number of ``products`` pays for."""
        tiles = [(lo, min(lo + step, length)) for lo in range(0, length, step)]
        self.workers.map(function, tiles, entries=products)

    def take(self, ids: np.ndarray) -> "Block":
        """See Block."""
        return ArrayBlock(self.X[:, ids], self.workers)

    def take_rows(self, ids: np.ndarray) -> "Block":
        """See Block."""
        return ArrayBlock(self.X[ids], self.workers)

    def column_squares(self, weights: np.ndarray) -> np.ndarray:
        """See Block."""
        return weights @ np.square(self.X)

    def row_squares(self, weights: np.ndarray) -> np.ndarray:
        """See Block."""
        return np.square(self.X) @ weights

    def joined(self, other: Self) -> "Block":
        """One block with the columns of both."""
        return ArrayBlock(np.concatenate([self.X, other.X], axis=1), self.workers)

    def toarray(self) -> np.ndarray:
        """See Block."""
        return self.X.copy(order="F")
