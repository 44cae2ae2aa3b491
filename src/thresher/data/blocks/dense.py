"""Dense columns, in C or Fortran order, used without copying."""

from collections.abc import Callable
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from thresher.data.blocks.base import Block, readonly
from thresher.data.workers import SERIAL, Workers
from thresher.loops import dense, digests, moments

WIDEST_RANGE = 8192  # columns of a range in C order
COPY_COST = 8  # copying an entry takes as long as reading this many
GATHER_COST = 8  # that copying an entry of a row takes from columns, in products
HASH_COST = 4  # hashing an entry takes as long as this many products
SQUARED_ROWS, SQUARED_VALUES = 256, 1 << 20  # rows, and approximate number of entries, whose squares are held in memory
LEAST_PAIRED = 4  # vectors from which on they are taken two at a time
# BLAS products are split at positions that do not depend on the number of threads, so neither does the result.
BLAS_ROWS, BLAS_COLUMNS = 4096, 128
# ``densified`` always makes arrays of up to SMALL_ARRAY entries; larger ones must have at least MIN_DENSITY non-zeros
SMALL_ARRAY, MIN_DENSITY = 1 << 22, 0.05
BLAS_GRAIN = 16  # rows or columns: BLAS sums in the same order if ranges begin at multiples of this and are no narrower


class DenseBlock(Block):
    """X as a two-dimensional array: ``by_rows`` (C order) or by columns (Fortran order)."""

    def __init__(self, X: np.ndarray, workers: Workers = SERIAL):
        super().__init__(X.shape, X.dtype, X.nbytes, workers)
        self.by_rows = X.flags.c_contiguous
        if not (self.by_rows or X.flags.f_contiguous):
            raise ValueError("X must be a C- or Fortran-contiguous array")
        self.major = readonly(X if self.by_rows else X.T)  # rows of this array are contiguous

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

    def add_digests(self, ids: np.ndarray, keys: np.ndarray, out: np.ndarray) -> None:
        """See Block; each thread some of the rows."""
        loop, work = digests.of_rows if self.by_rows else digests.of_columns, HASH_COST * ids.size * out.size
        ranges = self.workers.cut(out.size, threads=self._threads(work), grain=64)
        self.workers.map(lambda lo, hi: loop(self.major, ids, keys, lo, hi, out), ranges, entries=work)

    def take(self, ids: np.ndarray) -> Block:
        """See Block; the copy is in Fortran order, which solvers read fastest."""
        chosen = np.asfortranarray(self.major[:, ids]) if self.by_rows else self.major[ids].T
        return type(self)(chosen, self.workers)

    def take_rows(self, ids: np.ndarray) -> Block:
        """See Block; the copy is in the order of this block."""
        if self.by_rows:
            return type(self)(self.major[ids], self.workers)
        chosen = np.empty((self.major.shape[0], len(ids)), dtype=self.major.dtype)

        def fill(lo: int, hi: int) -> None:
            np.take(self.major[lo:hi], ids, axis=1, out=chosen[lo:hi], mode="clip")

        self.workers.map(fill, self.column_ranges(work=GATHER_COST * chosen.size), entries=GATHER_COST * chosen.size)
        return type(self)(chosen.T, self.workers)

    def combine_some(self, ids: np.ndarray, w: np.ndarray) -> np.ndarray:
        """See Block; in C order few columns are copied, else all columns are read."""
        if self.by_rows and len(ids) * COPY_COST < self.shape[1]:
            return self.take(ids).combine(w)
        full = np.zeros(self.shape[1])
        full[ids] = w
        return self.combine(full)

    def part(self, rows: np.ndarray, columns: np.ndarray) -> Block:
        """See Block."""
        chosen = self.major[np.ix_(rows, columns)] if self.by_rows else self.major[np.ix_(columns, rows)].T
        return type(self)(chosen, self.workers)

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
        return np.array(self.native(), dtype=np.float64, order="F")

    def joined(self, other: Self) -> Block:
        """One block with the columns of both, in Fortran order."""
        X = np.empty((self.shape[0], self.shape[1] + other.shape[1]), dtype=self.dtype, order="F")
        np.concatenate([self.native(), other.native()], axis=1, out=X)
        return type(self)(X, self.workers)


class ArrayBlock(DenseBlock):
    """Columns as one float64 array in Fortran order, for dense linear algebra.

    Full products use BLAS on fixed tiles; products over a range use the compiled loops, since the rounding of BLAS
    depends on the range.
    """

    def __init__(self, X: ArrayLike, workers: Workers = SERIAL):
        self.X = np.asfortranarray(X, dtype=np.float64)
        super().__init__(self.X, workers)
        self.by_rows = False  # an array of one row or column has both orders
        self.major = readonly(self.X.T)

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


def densified(block: Block, most: int) -> Block:
    """The same columns as one dense float64 array, copied, if that has at most ``most`` entries; else the block itself.

    Very sparse columns stay as they are unless they are small: most of the array would be zeros.
    """
    size = block.shape[0] * block.shape[1]
    dense_enough = size <= SMALL_ARRAY or block.non_zeros >= MIN_DENSITY * size
    return ArrayBlock(block.toarray(), block.workers) if size <= most and dense_enough else block


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
