"""Dense columns, in C or Fortran order, used without copying."""

from typing import Self

import numpy as np

from thresher.data.blocks.base import Block, readonly
from thresher.data.workers import SERIAL, Workers
from thresher.loops import dense, moments

WIDEST_RANGE = 8192  # columns of a range in C order
COPY_COST = 8  # copying an entry takes as long as reading this many
SQUARED_ROWS, SQUARED_VALUES = 256, 1 << 20  # rows, and approximate number of entries, whose squares are held in memory
LEAST_PAIRED = 4  # vectors from which on they are taken two at a time
BLAS_GRAIN = 16  # rows or columns: BLAS sums in the same order if ranges begin at multiples of this and are no narrower


class DenseBlock(Block):
    """X as a two-dimensional array: ``by_rows`` (C order) or by columns (Fortran order)."""

    def __init__(self, X: np.ndarray, workers: Workers = SERIAL):
        self.by_rows = X.flags.c_contiguous
        if not (self.by_rows or X.flags.f_contiguous):
            raise ValueError("X must be a C- or Fortran-contiguous array")
        self.shape, self.dtype, self.nbytes, self.workers = X.shape, X.dtype, X.nbytes, workers
        self.major = readonly(X if self.by_rows else X.T)  # rows of this array are contiguous

    @property
    def entries(self) -> int:
        """Number of stored values."""
        return self.shape[0] * self.shape[1]

    def column_ranges(
        self, per_worker: int = 1, most: int | None = None, work: float | None = None
    ) -> list[tuple[int, int]]:
        """Ranges of equal width; in C order narrow enough for their sums to stay in the second-level cache."""
        ranges = super().column_ranges(per_worker, most, work)
        if not self.by_rows:
            return ranges
        return [(start, min(start + WIDEST_RANGE, hi)) for lo, hi in ranges for start in range(lo, hi, WIDEST_RANGE)]

    def correlate_into(self, V: np.ndarray, lo: int, hi: int, out: np.ndarray) -> None:
        """See Block."""
        (_row_sums if self.by_rows else _row_dots)(self.major, V, lo, hi, out)

    def combine_into(self, W: np.ndarray, lo: int, hi: int, out: np.ndarray) -> None:
        """See Block."""
        (_row_dots if self.by_rows else _row_sums)(self.major, W, lo, hi, out)

    def statistics_into(self, weights: np.ndarray, lo: int, hi: int, anchor: np.ndarray, out: np.ndarray) -> None:
        """See Scannable."""
        first = int(np.argmax(weights > 0))
        if self.by_rows:
            anchor[:] = self.major[first, lo:hi]
            for start in range(lo, hi, moments.NARROW):
                stop = min(start + moments.NARROW, hi)
                part = np.zeros((moments.STATISTICS, stop - start))
                moments.of_columns(self.major, weights, anchor[start - lo : stop - lo], start, stop, part)
                bad = np.flatnonzero(~np.isfinite(part[moments.SUM]))
                if bad.size:
                    columns, origins = self.major[:, start + bad], anchor[start - lo + bad]
                    part[:, bad] = moments.plain_statistics(columns, weights, origins)
                out[:, start - lo : stop - lo] = part
        else:
            anchor[:] = self.major[lo:hi, first]
            moments.row_statistics(self.major, weights, anchor, lo, hi, out)

    def take(self, ids: np.ndarray) -> Block:
        """See Block; the copy is in Fortran order, which solvers read fastest."""
        chosen = self.major[:, ids] if self.by_rows else self.major[ids]
        return DenseBlock(np.asfortranarray(chosen) if self.by_rows else chosen.T, self.workers)

    def take_rows(self, ids: np.ndarray) -> Block:
        """See Block; the copy is in the order of this block."""
        chosen = self.major[ids] if self.by_rows else self.major[:, ids]
        return DenseBlock(chosen if self.by_rows else chosen.T, self.workers)

    def combine_some(self, ids: np.ndarray, w: np.ndarray) -> np.ndarray:
        """See Block; in C order few columns are copied, else all columns are read."""
        if self.by_rows and len(ids) * COPY_COST < self.shape[1]:
            return self.take(ids).combine(w)
        full = np.zeros(self.shape[1])
        full[ids] = w
        return self.combine(full)

    def part(self, rows: np.ndarray, columns: np.ndarray) -> Block:
        """See Block."""
        index = np.ix_(rows, columns) if self.by_rows else np.ix_(columns, rows)
        return DenseBlock(self.major[index] if self.by_rows else self.major[index].T, self.workers)

    def column_squares(self, weights: np.ndarray) -> np.ndarray:
        """See Block."""
        return self._squares_down(weights) if self.by_rows else self._squares_across(weights)

    def row_squares(self, weights: np.ndarray) -> np.ndarray:
        """See Block."""
        return self._squares_across(weights) if self.by_rows else self._squares_down(weights)

    def _squares_across(self, weights: np.ndarray) -> np.ndarray:
        out = np.empty(self.major.shape[0])
        for first, last in self._square_rows():
            for lo, hi in _equal_ranges(first, last, SQUARED_VALUES // max(1, self.major.shape[1])):
                out[lo:hi] = np.square(self.major[lo:hi], dtype=np.float64) @ weights
        return out

    def _squares_down(self, weights: np.ndarray) -> np.ndarray:
        weights, out = np.asarray(weights), np.zeros(self.major.shape[1])
        for first, last in self._square_rows():
            for lo, hi in _equal_ranges(0, out.size, SQUARED_VALUES // SQUARED_ROWS):
                out[lo:hi] += weights[first:last] @ np.square(self.major[first:last, lo:hi], dtype=np.float64)
        return out

    def native(self) -> np.ndarray:
        """See Block."""
        return self.major if self.by_rows else self.major.T

    def _square_rows(self) -> list[tuple[int, int]]:
        """Ranges of rows of ``major`` that are squared and summed together."""
        length = self.major.shape[0]
        return [(lo, min(lo + SQUARED_ROWS, length)) for lo in range(0, length, SQUARED_ROWS)]

    def toarray(self) -> np.ndarray:
        """See Block."""
        return np.array(self.major if self.by_rows else self.major.T, dtype=np.float64, order="F")

    def joined(self, other: Self) -> Block:
        """One block with the columns of both, in Fortran order."""
        m = self.shape[1]
        X = np.empty((self.shape[0], m + other.shape[1]), dtype=self.dtype, order="F")
        for part, where in ((self, slice(None, m)), (other, slice(m, None))):
            X[:, where] = part.major if part.by_rows else part.major.T
        return DenseBlock(X, self.workers)


def _equal_ranges(begin: int, end: int, width: int) -> list[tuple[int, int]]:
    """Ranges of about ``width`` between begin and end, such that sums do not depend on the split: see BLAS_GRAIN."""
    width = max(BLAS_GRAIN, width // BLAS_GRAIN * BLAS_GRAIN)
    cuts = [begin + width * k for k in range(max(1, (end - begin) // width))]
    return list(zip(cuts, [*cuts[1:], end], strict=True))


def _row_dots(A: np.ndarray, V: np.ndarray, lo: int, hi: int, out: np.ndarray) -> None:
    pairs = _in_pairs(V)
    if pairs:
        dense.paired_row_dots(A, V[:pairs], lo, hi, out[:pairs])
    if pairs < len(V):
        dense.row_dots(A, V[pairs:], lo, hi, out[pairs:])


def _row_sums(A: np.ndarray, V: np.ndarray, lo: int, hi: int, out: np.ndarray) -> None:
    used = np.flatnonzero(V.any(axis=0))  # rows whose coefficient is zero in all vectors are not read
    pairs = _in_pairs(V)
    if pairs:
        dense.paired_row_sums(A, V[:pairs], used, lo, hi, out[:pairs])
    if pairs < len(V):
        dense.row_sums(A, V[pairs:], used, lo, hi, out[pairs:])


def _in_pairs(V: np.ndarray) -> int:
    """How many of the vectors are taken two at a time: few are not, since memory limits them."""
    return len(V) // 2 * 2 if len(V) >= LEAST_PAIRED else 0
