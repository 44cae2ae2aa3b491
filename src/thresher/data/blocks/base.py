"""Block: some columns of X in memory, which is all that a solver sees of the data."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike

from thresher.data.workers import SERIAL, Workers
from thresher.loops import digests, moments

DENSE_COLUMNS = 64  # columns that are converted to a dense array at a time
PART_VALUES = 1 << 20  # stored values of a part of the columns


def readonly(array: ArrayLike) -> np.ndarray:
    """A plain read-only view: memory maps and writable arrays then share one compiled loop."""
    view = np.asarray(array).view(np.ndarray)
    view.flags.writeable = False
    return view


def as_rows(V: ArrayLike) -> np.ndarray:
    """Vectors of length n, given as (n,) or (n, k), as the rows of a contiguous float64 array."""
    V = np.asarray(V, dtype=np.float64)
    return np.ascontiguousarray(V[None] if V.ndim == 1 else V.T)


def count_vectors(V: ArrayLike) -> int:
    """How many vectors of length n were given, as (n,) or (n, k)."""
    return 1 if np.ndim(V) == 1 else np.shape(V)[1]


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

    def __init__(self, shape: tuple[int, int], dtype: np.dtype, nbytes: int, workers: Workers = SERIAL):
        self.shape = shape
        self.dtype = dtype
        self.nbytes = nbytes
        self.workers = workers

    @property
    def entries(self) -> int:
        """Number of stored values, the cost of a product: all, unless a format omits some."""
        return self.shape[0] * self.shape[1]

    @property
    def non_zeros(self) -> int:
        """About how many values are not zero: ``entries``, unless a format knows better."""
        return self.entries

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
        for ids, A in self._dense_parts(lo, hi):
            part, origins = np.zeros((moments.STATISTICS, ids.size)), A[first].copy()
            moments.row_statistics(readonly(A.T), weights, origins, 0, ids.size, part)
            anchor[ids - lo] = origins
            out[:, ids - lo] = part

    def add_digests(self, ids: np.ndarray, keys: np.ndarray, out: np.ndarray) -> None:
        """Add the hashes of the non-zero entries of the columns ``ids`` to ``out`` (n,): see ``loops.digests``.

        Each of the columns, sorted, has one of ``keys`` (uint64, none is 0). Formats that are read in full override
        this.
        """
        for first in range(0, ids.size, DENSE_COLUMNS):
            some = slice(first, first + DENSE_COLUMNS)
            columns = readonly(self.take(ids[some]).toarray().T)
            digests.of_columns(columns, np.arange(len(columns)), keys[some], 0, out.size, out)

    def _dense_parts(self, lo: int, hi: int) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """(ids, dense array) of the columns lo <= j < hi, a few at a time."""
        for start in range(lo, hi, DENSE_COLUMNS):
            ids = np.arange(start, min(start + DENSE_COLUMNS, hi))
            yield ids, self.take(ids).toarray()

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

    def gram(self, weights: np.ndarray) -> np.ndarray:
        """X' diag(weights) X, (m, m), computed a few columns at a time."""
        m = self.shape[1]
        out = np.empty((m, m))
        for ids, A in self._dense_parts(0, m):
            out[:, ids] = self.correlate(weights[:, None] * A)
        return out

    def row_gram(self) -> np.ndarray:
        """XX', (n, n), computed a few columns at a time."""
        out = np.zeros((self.shape[0],) * 2)
        for _, A in self._dense_parts(0, self.shape[1]):
            out += A @ A.T
        return out

    def column_ranges(
        self, per_worker: int = 1, most: int | None = None, work: float | None = None
    ) -> list[tuple[int, int]]:
        """Ranges of columns to distribute over threads, ``per_worker`` for each, of about ``most`` entries at most.

        ``work`` (default: that of one product) decides how many threads pay off. Storage formats may override this to
        balance it better.
        """
        threads, cuts = self._threads(work), self._cuts(most)
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
        cost = self.work(count_vectors(V), work)
        return self._in_ranges(self.correlate_into, V, self.shape[1], self.column_ranges(work=cost), cost)

    def combine(self, W: np.ndarray) -> np.ndarray:
        """XW: result[i] = sum_j X[i, j] W[j]; W is (m,) or (m, k), the result (n,) or (n, k)."""
        cost = self.work(count_vectors(W))
        ranges = self.workers.cut(self.shape[0], threads=self._threads(cost), grain=64)
        return self._in_ranges(self.combine_into, W, self.shape[0], ranges, cost)

    def _in_ranges(
        self,
        product: Callable[[np.ndarray, int, int, np.ndarray], None],
        V: np.ndarray,
        length: int,
        ranges: list[tuple[int, int]],
        work: float,
    ) -> np.ndarray:
        """A product of this length with V, one vector or several: ``product(rows, lo, hi, part)`` fills each range."""
        rows = as_rows(V)
        out = np.zeros((len(rows), length))

        def fill(lo: int, hi: int) -> None:
            part = out[:, lo:hi]
            if part.flags.c_contiguous:
                product(rows, lo, hi, part)
            else:  # loops vectorise over contiguous sums, and are compiled for one layout
                separate = np.zeros(part.shape)
                product(rows, lo, hi, separate)
                part[:] = separate

        self.workers.map(fill, ranges, entries=work)
        return out[0] if np.ndim(V) == 1 else out.T

    def native(self) -> Any:
        """The columns as a numpy array or a scipy sparse array."""
        return self.toarray()

    @abstractmethod
    def toarray(self) -> np.ndarray:
        """The block as a dense float64 array in Fortran order, copied: for small blocks."""
