"""Sparse columns: CSC and CSR, used without copying, with 32- or 64-bit indices."""

import itertools
from collections.abc import Iterator
from functools import cached_property
from typing import Any, Self

import numpy as np
from scipy import sparse

from thresher.data.blocks import base
from thresher.data.blocks.base import Block, StoredColumns, readonly
from thresher.data.workers import SERIAL, Workers
from thresher.loops import compressed, digests, moments, products

TILE_SUMS = 1 << 18  # sums held at a time when several vectors are scattered: they stay in the second-level cache
TILE_ENTRIES = 4  # entries of a line in a tile, on average
SAMPLED_INDICES = 65536  # indices by which the work on columns of CSR is balanced
PRODUCT_SUMS = 1 << 18  # sums of products of columns that are taken in one pass over the rows
SQUARED_VALUES = 1 << 16  # entries whose squares are held at a time: they stay in the second-level cache
MOVE_COST = 64  # moving an entry to another place takes as long as this many products of dense entries


class _CompressedBlock(Block):
    """Both orders: three arrays, validated and canonical (indices sorted, no duplicates).

    Lines are what is stored contiguously: rows if ``by_rows``, else columns.
    """

    entry_cost = 8
    sparse = True
    by_rows: bool

    def __init__(
        self,
        shape: tuple[int, int],
        indptr: np.ndarray,
        indices: np.ndarray,
        values: np.ndarray,
        workers: Workers = SERIAL,
    ):
        nbytes = indptr.nbytes + indices.nbytes + values.nbytes
        super().__init__((int(shape[0]), int(shape[1])), values.dtype, nbytes, workers)
        self.indptr, self.indices, self.values = readonly(indptr), readonly(indices), readonly(values)
        self.structure_bytes = self.indices.nbytes

    @property
    def _arrays(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        return self.indptr, self.indices, self.values

    @property
    def entries(self) -> int:
        """Number of stored values."""
        return self.values.size

    def correlate_into(self, V: np.ndarray, lo: int, hi: int, out: np.ndarray) -> None:
        """See Block."""
        (self._scattered if self.by_rows else self._gathered)(V, lo, hi, out)

    def combine_into(self, W: np.ndarray, lo: int, hi: int, out: np.ndarray) -> None:
        """See Block."""
        (self._gathered if self.by_rows else self._scattered)(W, lo, hi, out)

    def _gathered(self, V: np.ndarray, lo: int, hi: int, out: np.ndarray) -> None:
        """Products of the stored lines lo <= i < hi with the rows of V."""
        if len(V) == 1:
            compressed.gather(*self._arrays, V[0], lo, hi, out[0])
            return
        for r in range(0, len(V), 8):  # of all at once fewer stay in the second-level cache
            part = V[r : r + 8]
            loop, width = (compressed.gather_four, 4) if len(part) <= 4 else (compressed.gather_eight, 8)
            side_by_side = np.zeros((V.shape[1], width))
            side_by_side[:, : len(part)] = part.T
            loop(*self._arrays, side_by_side, lo, hi, out[r : r + 8])

    def _scattered(self, V: np.ndarray, lo: int, hi: int, out: np.ndarray) -> None:
        """Sums of the stored lines times the entries of each row of V, at the places lo <= l < hi."""
        k = len(V)
        if k == 1:
            used = np.flatnonzero(V[0])  # lines whose coefficient is zero are not read
            compressed.scatter(*self._arrays, used, V[0, used], lo, hi, False, out[0])
            return
        at, tile = np.empty(self.indptr.size - 1, dtype=np.int64), np.empty((self._tile_width(k, hi - lo), k))
        compressed.scatter_many(*self._arrays, np.ascontiguousarray(V.T), lo, hi, at, tile, out)

    def _tile_width(self, k: int, width: int) -> int:
        """Places whose sums for k vectors are held at a time: TILE_SUMS in all, but lines have entries in a tile."""
        full_enough = TILE_ENTRIES * self.shape[0] * self.shape[1] // max(1, self.entries)
        return max(1, min(width, max(TILE_SUMS // k, full_enough)))

    def reordered(self) -> "_CompressedBlock":
        """The same values in the other storage order, copied: each thread writes a range of the new lines."""
        lines = self.indptr.size - 1
        across = CsrBlock((lines, sum(self.shape) - lines), *self._arrays, self.workers)
        work = MOVE_COST * self.entries
        kind = CscBlock if self.by_rows else CsrBlock
        return kind(self.shape, *across._transposed(across.column_ranges(work=work), work), self.workers)

    def _transposed(
        self, ranges: list[tuple[int, int]], work: float = 0.0
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """(indptr, indices, values) in the other storage order, of the places in adjacent ranges."""
        first, last = ranges[0][0], ranges[-1][1]
        indptr = np.zeros(last - first + 1, dtype=self.indptr.dtype)
        places = index_dtype(self.indptr.size - 1)

        def write(at: np.ndarray, size: int) -> tuple[np.ndarray, np.ndarray]:
            indices, values = np.empty(size, places), np.empty(size, self.dtype)
            self.workers.map(
                lambda lo, hi: compressed.transpose_range(
                    *self._arrays, lo, hi, at[lo - first : hi - first], indices, values
                ),
                ranges,
                entries=work,
            )
            return indices, values

        write(indptr[1:], 0)  # counts them
        np.cumsum(indptr, out=indptr)
        return indptr, *write(indptr[:-1].copy(), int(indptr[-1]))

    def column_squares(self, weights: np.ndarray) -> np.ndarray:
        """See Block; in CSR rows without weight are not read."""
        return self._place_squares(weights, self.shape[1]) if self.by_rows else self._line_squares(weights)

    def row_squares(self, weights: np.ndarray) -> np.ndarray:
        """See Block; in CSC columns without weight are not read."""
        return self._line_squares(weights) if self.by_rows else self._place_squares(weights, self.shape[0])

    def _line_squares(self, weights: np.ndarray) -> np.ndarray:
        """sum_l A[i, l]^2 weights[l] of each stored line: products of the squares, of some lines at a time."""
        out, weights = np.zeros(self.indptr.size - 1), np.asarray(weights, dtype=np.float64)
        cuts = np.searchsorted(self.indptr, np.arange(SQUARED_VALUES, self.entries, SQUARED_VALUES))
        for lo, hi in ranges_between(cuts, out.size):
            begin, end = self.indptr[lo], self.indptr[hi]
            squares = readonly(np.square(self.values[begin:end], dtype=np.float64))
            arrays = readonly(self.indptr[lo : hi + 1] - begin), self.indices[begin:end], squares
            compressed.gather(*arrays, weights, 0, hi - lo, out[lo:hi])
        return out

    def _place_squares(self, weights: np.ndarray, size: int) -> np.ndarray:
        """sum_i A[i, l]^2 weights[i] over the stored lines, at each place; lines without weight are not read."""
        weights, out = np.asarray(weights, dtype=np.float64), np.zeros(size)
        used = np.flatnonzero(weights)
        compressed.scatter(*self._arrays, used, weights[used], 0, size, True, out)
        return out

    def _picked(self, ids: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """(indptr, indices, values) of the stored lines ``ids``."""
        ids = np.asarray(ids, dtype=np.int64)
        indptr = np.zeros(ids.size + 1, dtype=self.indptr.dtype)
        np.cumsum(self.indptr[ids + 1] - self.indptr[ids], out=indptr[1:])
        indices = np.empty(int(indptr[-1]), dtype=self.indices.dtype)
        values = np.empty(indices.size, dtype=self.dtype)
        compressed.pick_rows(*self._arrays, ids, indices, values)
        return indptr, indices, values

    def part(self, rows: np.ndarray, columns: np.ndarray) -> Block:
        """See Block."""
        lines, ids = (rows, columns) if self.by_rows else (columns, rows)
        across = self.shape[1 if self.by_rows else 0]
        place = np.full(across, -1, dtype=index_dtype(across))
        place[ids] = np.arange(len(ids))
        lines = np.asarray(lines, dtype=np.int64)
        indptr = np.zeros(lines.size + 1, dtype=self.indptr.dtype)
        most = int((self.indptr[lines + 1] - self.indptr[lines]).sum())  # an upper bound: unused pages are free
        indices, values = np.empty(most, dtype=self.indices.dtype), np.empty(most, dtype=self.dtype)
        compressed.pick_kept(*self._arrays, lines, place, indptr, indices, values)
        stored = indptr[-1]
        return type(self)((len(rows), len(columns)), indptr, indices[:stored], values[:stored], self.workers)

    def native(self) -> Any:
        """See Block."""
        kind = sparse.csr_array if self.by_rows else sparse.csc_array
        return kind((self.values, self.indices, self.indptr), shape=self.shape)

    def toarray(self) -> np.ndarray:
        """See Block."""
        X = np.zeros(self.shape if self.by_rows else self.shape[::-1])
        X[np.repeat(np.arange(len(X)), np.diff(self.indptr)), self.indices] = self.values
        return np.asfortranarray(X if self.by_rows else X.T)

    def statistics_into(self, weights: np.ndarray, lo: int, hi: int, anchor: np.ndarray, out: np.ndarray) -> None:
        """See Scannable."""
        stored = np.zeros((moments.STATISTICS + 1, hi - lo))
        anchor[:] = np.nan
        loop = moments.of_stored_columns if self.by_rows else moments.of_stored_rows
        loop(*self._arrays, weights, lo, hi, anchor, stored)
        anchor[np.isnan(anchor)] = 0.0
        # Weight of the entries that are not stored, which are zero. The total is summed in the same order as in the
        # loop, so that it is exactly zero for a column with every entry stored.
        absent = np.cumsum(weights)[-1] - stored[moments.STATISTICS]
        out[:] = stored[: moments.STATISTICS]
        out[moments.SUM] -= absent * anchor
        out[moments.SQUARES] += absent * anchor**2


class CscBlock(_CompressedBlock):
    """X by columns: indptr has m + 1 entries."""

    by_rows = False

    @property
    def column_entries(self) -> np.ndarray:
        """See Block."""
        return np.diff(self.indptr)

    def stored_columns(self, lo: int, hi: int) -> StoredColumns:
        """See Block; not copied."""
        begin, end = self.indptr[lo], self.indptr[hi]
        return StoredColumns(lo, self.indptr[lo : hi + 1] - begin, self.indices[begin:end], self.values[begin:end])

    def stored_parts(self, lo: int, hi: int) -> Iterator[StoredColumns]:
        """See Block."""
        ends = np.arange(self.indptr[lo] + base.PART_VALUES, self.indptr[hi], base.PART_VALUES)
        splits = np.searchsorted(self.indptr, ends) - lo
        for first, last in ranges_between(splits, hi - lo):
            yield self.stored_columns(lo + first, lo + last)

    def column_ranges(
        self, per_worker: int = 1, most: int | None = None, work: float | None = None
    ) -> list[tuple[int, int]]:
        """Ranges with about equal numbers of stored entries."""
        pieces = max(self._threads(work) * per_worker, self._cuts(most))
        if pieces == 1:
            return [(0, self.shape[1])]
        cuts = np.searchsorted(self.indptr, np.linspace(0, self.entries, pieces + 1)[1:-1])
        return ranges_between(cuts, self.shape[1])

    def add_digests(self, ids: np.ndarray, keys: np.ndarray, out: np.ndarray) -> None:
        """See Block; each thread some of the columns."""
        work = self.work(1)
        ends = np.cumsum(self.indptr[ids + 1] - self.indptr[ids])
        cuts = np.linspace(0, self.entries, self._threads(work) + 1)[1:-1]
        ranges = ranges_between(np.searchsorted(ends, cuts), ids.size)
        sums = np.zeros((len(ranges), out.size), dtype=np.uint64)
        self.workers.map(
            lambda part, lo, hi: digests.of_stored_columns(*self._arrays, ids, keys, lo, hi, sums[part]),
            [(part, *columns) for part, columns in enumerate(ranges)],
            entries=work,
        )
        out += sums.sum(axis=0, dtype=np.uint64)

    def take(self, ids: np.ndarray) -> "CscBlock":
        """See Block."""
        return CscBlock((self.shape[0], len(ids)), *self._picked(ids), workers=self.workers)

    @cached_property
    def _rows(self) -> _CompressedBlock:
        """The same by rows."""
        return self.reordered()

    def gram(self, weights: np.ndarray) -> np.ndarray:
        """See Block; row by row, by a copy that is kept: the work is that of the entries that rows have in common."""
        m, rows = self.shape[1], self._rows
        out, weights = np.zeros((m, m)), np.asarray(weights, dtype=np.float64)

        def below(lo: int, hi: int) -> None:
            """Columns lo..hi and those before them, and the mirror image."""
            sums = np.zeros((hi - lo, hi))
            ends = rows.indptr[:-1], rows.indptr[1:]
            products.pair_grid(*ends, rows.indices, rows.values, weights, lo, hi, sums)
            out[lo:hi, :hi] += sums
            out[:hi, lo:hi] += sums.T

        work = self.entry_cost * self.entries * (1.0 + self.entries / max(1, self.shape[0]))
        wanted = max(self._threads(work), -(-m * m // (2 * PRODUCT_SUMS)))
        cuts = np.sqrt(np.linspace(0.0, 1.0, wanted + 1)[1:-1]) * m  # about equal numbers of sums
        self.workers.map(below, ranges_between(cuts.astype(np.int64), m), entries=work)
        out[np.diag_indices(m)] = self.column_squares(weights)
        return out

    def take_rows(self, ids: np.ndarray) -> Block:
        """See Block. Reads every index once."""
        return self.part(ids, np.arange(self.shape[1]))

    def combine_some(self, ids: np.ndarray, w: np.ndarray) -> np.ndarray:
        """See Block; only those columns are read."""
        out = np.zeros(self.shape[0])
        compressed.scatter(*self._arrays, np.asarray(ids, dtype=np.int64), w, 0, self.shape[0], False, out)
        return out

    def joined(self, other: Self) -> "CscBlock":
        """One block with the columns of both."""
        indptr = np.concatenate([self.indptr, other.indptr[1:] + self.indptr[-1]])
        return CscBlock(
            (self.shape[0], self.shape[1] + other.shape[1]),
            indptr,
            np.concatenate([self.indices, other.indices]),
            np.concatenate([self.values, other.values]),
            self.workers,
        )


class CsrBlock(_CompressedBlock):
    """X by rows: indptr has n + 1 entries. Columns are found by search in the sorted rows."""

    by_rows = True

    @cached_property
    def _sample(self) -> np.ndarray:
        """Some of the column indices, sorted."""
        return np.sort(self.indices[:: max(1, self.entries // SAMPLED_INDICES)])

    @property
    def row_entries(self) -> np.ndarray:
        """See Block."""
        return np.diff(self.indptr)

    def stored_columns(self, lo: int, hi: int) -> StoredColumns:
        """See Block; copied, by a search in every row."""
        return StoredColumns(lo, *self._transposed([(lo, hi)]))

    def column_ranges(
        self, per_worker: int = 1, most: int | None = None, work: float | None = None
    ) -> list[tuple[int, int]]:
        """Ranges with about equal numbers of stored entries, estimated from a sample of the indices.

        One range per thread whatever ``per_worker`` is, since every further range searches every row again; large
        matrices or many vectors get more ranges, so that a scan can be interrupted.
        """
        count = self._threads(work)
        pieces = count * max(1, -(-self._cuts(most) // count))
        if pieces == 1 or self._sample.size < pieces:
            return [(0, self.shape[1])]
        cuts = self._sample[np.arange(1, pieces) * self._sample.size // pieces].astype(np.int64) + 1
        return ranges_between(cuts, self.shape[1])

    def add_digests(self, ids: np.ndarray, keys: np.ndarray, out: np.ndarray) -> None:
        """See Block; reads every index once, each thread some of the rows."""
        of_all, work = np.zeros(self.shape[1], dtype=np.uint64), self.work(1)
        of_all[ids] = keys
        cuts = np.linspace(0, self.entries, self._threads(work) + 1)[1:-1]
        self.workers.map(
            lambda lo, hi: digests.of_stored_rows(*self._arrays, of_all, lo, hi, out),
            ranges_between(np.searchsorted(self.indptr, cuts), self.shape[0]),
            entries=work,
        )

    def take(self, ids: np.ndarray) -> Block:
        """See Block; the copy is stored by columns. Reads every index once; each thread some of the rows."""
        ids = np.asarray(ids, dtype=np.int64)
        if 2 * ids.size > self.shape[1]:
            columns, which = self.reordered(), ids
        else:
            wanted, which = np.unique(ids, return_inverse=True)
            columns = CscBlock((self.shape[0], wanted.size), *self._some_columns(wanted), workers=self.workers)
        in_order = columns.shape[1] == ids.size and bool(np.all(which == np.arange(ids.size)))
        return columns if in_order else columns.take(which)

    def _some_columns(self, wanted: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """(indptr, indices, values) of the columns ``wanted``, which are sorted without duplicates."""
        place = np.full(self.shape[1], -1, dtype=np.int32)
        place[wanted] = np.arange(wanted.size)
        most = max(1, self.entries // (8 * max(1, wanted.size)))  # so that counts stay small beside X
        cuts = np.linspace(0, self.entries, min(self._threads(None), most) + 1)[1:-1]
        ranges = ranges_between(np.searchsorted(self.indptr, cuts), self.shape[0])
        parts = [(part, *rows) for part, rows in enumerate(ranges)]
        counts = np.zeros((len(ranges), wanted.size), dtype=np.int64)
        self.workers.map(
            lambda part, first, last: compressed.count_entries(
                self.indptr, self.indices, place, first, last, counts[part]
            ),
            parts,
            entries=self.work(1),
        )
        indptr = np.concatenate([[0], np.cumsum(counts.sum(axis=0))])
        at = indptr[:-1] + np.cumsum(counts, axis=0) - counts  # where each range of rows writes
        indices = np.empty(int(indptr[-1]), dtype=index_dtype(self.shape[0]))
        values = np.empty(indices.size, dtype=self.dtype)
        self.workers.map(
            lambda part, first, last: compressed.pick_columns(
                *self._arrays, place, first, last, at[part], indices, values
            ),
            parts,
            entries=self.work(1),
        )
        return indptr, indices, values

    def take_rows(self, ids: np.ndarray) -> Block:
        """See Block."""
        return CsrBlock((len(ids), self.shape[1]), *self._picked(ids), workers=self.workers)

    def joined(self, other: Self) -> Block:
        """One block with the columns of both, by columns."""
        return self.reordered().joined(other.reordered())


def index_dtype(length: int) -> type[np.signedinteger]:
    """The smaller of the two integer types that can index this many places."""
    return np.int32 if length <= 2**31 - 1 else np.int64


def ranges_between(cuts: np.ndarray, length: int) -> list[tuple[int, int]]:
    """Ranges of [0, length) split at ``cuts``; empty ones are omitted, except for length 0."""
    bounds = np.unique(np.clip(np.concatenate([[0], cuts, [length]]), 0, length)).tolist()
    return list(itertools.pairwise(bounds)) or [(0, length)]
