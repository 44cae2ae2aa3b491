"""Block: some columns, in memory. All that a solver ever sees of the data."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from thresher.data.workers import SERIAL, Workers
from thresher.loops import dense, moments

SMALL_ARRAY, FULL = 1 << 22, 0.05  # entries of an array that is always made; share of them that a larger one needs
AT_ONCE = 64  # columns that are made dense at a time when inner products are formed
# BLAS products are cut at places that do not depend on the number of threads: nor does the result.
TILE_ROWS, TILE_COLUMNS = 4096, 128


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
    """The result ``rows`` in the form in which the vectors were given: (m,) or (m, k)."""
    return rows[0] if np.ndim(V) == 1 else rows.T


class Scannable(ABC):
    """What a scan needs of columns: all that a piece of a design must be."""

    shape: tuple[int, int]

    @abstractmethod
    def correlate_into(self, V: np.ndarray, lo: int, hi: int, out: np.ndarray) -> None:
        """out[r, j - lo] = sum_i X[i, j] V[r, i] for columns lo <= j < hi. V: (k, n), out: (k, hi - lo), zeroed."""

    @abstractmethod
    def statistics_into(self, weights: np.ndarray, lo: int, hi: int, anchor: np.ndarray, out: np.ndarray) -> None:
        """Fill anchor (hi - lo,) and out (moments.ROWS, hi - lo), zeroed: see ``loops.moments``."""


class Block(Scannable):
    """The columns of an n x m matrix X, in memory.

    A storage defines ``correlate_into``, ``combine_into``, ``take`` and ``joined``; how the work is cut among threads
    is decided here and cannot change a bit of the result.
    """

    dtype: np.dtype
    nbytes: int
    workers: Workers = SERIAL
    structure_bytes: int = 0  # bytes of indices, which say where the numbers stand

    @property
    @abstractmethod
    def entries(self) -> int:
        """Number of stored numbers: what a product costs."""

    @property
    def row_entries(self) -> np.ndarray | None:
        """Stored numbers in each row, where rows lie apart."""
        return None

    @property
    def column_entries(self) -> np.ndarray | None:
        """Stored numbers in each column, where columns lie apart."""
        return None

    def statistics_into(self, weights: np.ndarray, lo: int, hi: int, anchor: np.ndarray, out: np.ndarray) -> None:
        """See Scannable; some columns at a time are made dense. A storage that is scanned whole knows a better way."""
        first = int(np.argmax(weights > 0))
        for start in range(lo, hi, AT_ONCE):
            stop = min(start + AT_ONCE, hi)
            A, part = self.take(np.arange(start, stop)).toarray().T, np.zeros((moments.ROWS, stop - start))
            anchor[start - lo : stop - lo] = A[:, first]
            moments.of_rows(readonly(A), weights, anchor[start - lo : stop - lo].copy(), 0, stop - start, part)
            out[:, start - lo : stop - lo] = part

    @abstractmethod
    def combine_into(self, W: np.ndarray, lo: int, hi: int, out: np.ndarray) -> None:
        """out[r, i - lo] += sum_j X[i, j] W[r, j] for rows lo <= i < hi. W: (k, m), out: (k, hi - lo)."""

    @abstractmethod
    def take(self, ids: np.ndarray) -> "Block":
        """A block of the columns ``ids``, in that order, copied."""

    @abstractmethod
    def take_rows(self, ids: np.ndarray) -> "Block":
        """A block of the rows ``ids``, sorted and each once, copied."""

    def part(self, rows: np.ndarray, columns: np.ndarray) -> "Block":
        """A block of some rows and columns, both sorted, each once, copied."""
        return self.take(columns).take_rows(rows)

    def combine_some(self, ids: np.ndarray, w: np.ndarray) -> np.ndarray:
        """X[:, ids] w for few columns."""
        return self.take(ids).combine(w)

    def turned(self) -> "Block":
        """The same numbers in the other order, copied, where the storage has one in which rows (columns) lie apart."""
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

    def gathered(self, most: int) -> "Block":
        """The same columns as one float64 array, copied, where that has at most ``most`` entries; else itself.

        Columns that are nearly empty stay as they are unless they are small: an array of zeros helps nobody.
        """
        size = self.shape[0] * self.shape[1]
        full = size <= SMALL_ARRAY or self.entries >= FULL * size
        return ArrayBlock(self.toarray(), self.workers) if size <= most and full else self

    def gram(self, weights: np.ndarray) -> np.ndarray:
        """X' diag(weights) X, (m, m), some columns at a time."""
        m = self.shape[1]
        out = np.empty((m, m))
        for lo in range(0, m, AT_ONCE):
            some = np.arange(lo, min(lo + AT_ONCE, m))
            out[:, some] = self.correlate(weights[:, None] * self.take(some).toarray())
        return out

    def column_ranges(self, per_worker: int = 1, most: int | None = None) -> list[tuple[int, int]]:
        """Ranges of columns to share among threads, ``per_worker`` for each, of about ``most`` entries at most.

        A storage may know a better cut.
        """
        return self.workers.cut(self.shape[1], per_worker=per_worker, grain=16, at_least=self._cuts(most))

    def _cuts(self, most: int | None) -> int:
        """How many ranges keep below ``most`` entries each."""
        return 1 if most is None else -(-self.entries // max(1, most))

    def correlate(self, V: np.ndarray, work: float | None = None) -> np.ndarray:
        """X'V: result[j] = sum_i X[i, j] V[i]; V is (n,) or (n, k), the result (m,) or (m, k).

        ``work`` tells how many entries will be looked at, where that is known to be fewer than all.
        """
        rows = as_rows(V)
        out = np.zeros((rows.shape[0], self.shape[1]))
        entries = self.entries if work is None else work
        few = work is not None and not self.workers.pays(work)
        ranges = [(0, self.shape[1])] if few else self.column_ranges()
        self.workers.map(lambda lo, hi: self.correlate_into(rows, lo, hi, out[:, lo:hi]), ranges, entries=entries)
        return like_given(out, V)

    def combine(self, W: np.ndarray) -> np.ndarray:
        """XW: result[i] = sum_j X[i, j] W[j]; W is (m,) or (m, k), the result (n,) or (n, k)."""
        rows = as_rows(W)
        out = np.zeros((rows.shape[0], self.shape[0]))
        self.workers.map(
            lambda lo, hi: self.combine_into(rows, lo, hi, out[:, lo:hi]),
            self.workers.cut(self.shape[0], grain=64),
            entries=self.entries,
        )
        return like_given(out, W)

    def native(self) -> Any:
        """The columns as users know them: an array or a sparse matrix of scipy's."""
        return self.toarray()

    @abstractmethod
    def toarray(self) -> np.ndarray:
        """The block as a dense float64 array in Fortran order, copied: for small blocks."""


class ArrayBlock(Block):
    """Columns as one float64 array in Fortran order, for dense linear algebra.

    Products of the whole go through BLAS on fixed tiles; those of any range through the compiled loops, since what
    BLAS rounds depends on the range.
    """

    def __init__(self, X: ArrayLike, workers: Workers = SERIAL):
        self.X, self.workers = np.asfortranarray(X, dtype=np.float64), workers
        self.shape, self.dtype, self.nbytes = self.X.shape, self.X.dtype, self.X.nbytes

    @property
    def entries(self) -> int:
        """Number of stored numbers."""
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
        self._tiles(lambda lo, hi: np.matmul(self.X[lo:hi], W, out=out[lo:hi]), self.shape[0], TILE_ROWS)
        return out

    def correlate(self, V: np.ndarray, work: float | None = None) -> np.ndarray:
        """See Block."""
        out = np.empty((self.shape[1], *V.shape[1:]))
        self._tiles(lambda lo, hi: np.matmul(self.X[:, lo:hi].T, V, out=out[lo:hi]), self.shape[1], TILE_COLUMNS)
        return out

    def gram(self, weights: np.ndarray) -> np.ndarray:
        """See Block; rows without weight cost nothing."""
        m, rows = self.shape[1], np.flatnonzero(weights)
        out = np.empty((m, m))
        A = self.X if rows.size == weights.size else self.X[rows]
        B = A * weights[rows, None]

        def below(lo: int, hi: int) -> None:
            """The block column lo..hi from the diagonal down, and the same to its right."""
            out[lo:, lo:hi] = B[:, lo:].T @ A[:, lo:hi]
            out[lo:hi, hi:] = out[hi:, lo:hi].T

        self._tiles(below, m, TILE_COLUMNS)
        return out

    def _tiles(self, function: Callable[[int, int], Any], length: int, step: int) -> None:
        """``function(lo, hi)`` of all tiles, on threads where that pays."""
        tiles = [(lo, min(lo + step, length)) for lo in range(0, length, step)]
        self.workers.map(function, tiles, entries=self.entries)

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
