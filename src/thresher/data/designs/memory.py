"""X in memory, or memory-mapped: the design that scans arrays without copying them."""

from collections.abc import Iterator

import numpy as np

from thresher.data.blocks.base import Block
from thresher.data.blocks.sides import Sides
from thresher.data.designs.base import Design
from thresher.data.scan.pieces import MOST_WORK, SCORE_COST, Cost, Piece, Slice
from thresher.data.scan.sources import reference
from thresher.loops.digests import column_keys

PER_WORKER = 2  # minimum number of pieces, so that no thread waits long for the last one; more cost on many threads
REORDER_LIMIT = 1 << 30  # bytes up to which a sparse matrix may be copied into the other storage order


class MemoryDesign(Design):
    """One block with all columns of X, or of a copy of it (``copied``), which costs a pass."""

    in_memory = True

    def __init__(self, block: Block, ids: np.ndarray | None = None, copied: bool = False, n_columns: int | None = None):
        stored = {"entries": block.entries, "nbytes": block.nbytes}
        super().__init__(block.shape, block.dtype, **stored, workers=block.workers, ids=ids)
        self.block, self.copied, self.entry_cost = block, copied, block.entry_cost
        self._n_columns = block.shape[1] if n_columns is None else n_columns

    @property
    def n_columns(self) -> int:
        """See Design."""
        return self._n_columns

    def pieces(self, vectors: int = 1) -> Iterator[Piece]:
        """See Design."""
        # columns of very few entries cost what their scores cost
        share = self.entries / max(1, self.entries + SCORE_COST * self.width)
        most = max(1, int(share * MOST_WORK / vectors))
        ranges = self.block.column_ranges(PER_WORKER, most=most, work=self.scan_work)
        block = reference(self.block, self.workers)
        for lo, hi in ranges:
            yield Slice(lo, block, lo, hi)

    def of_rows(self, rows: np.ndarray) -> "MemoryDesign":
        """See Design."""
        return MemoryDesign(self.block.take_rows(rows), ids=self.ids, n_columns=self.n_columns)

    def take(self, ids: np.ndarray) -> Block:
        """See Design."""
        return self.block.take(ids)

    def take_cost(self, ids: np.ndarray) -> Cost:
        """See Design; in a format stored by rows all rows are searched."""
        if self.block.row_entries is not None:
            return Cost(1.0, self.block.structure_bytes)
        share = len(ids) / max(1, self.width)
        return Cost(share, int(share * self.nbytes))

    def check_cost(self) -> Cost:
        """See Design."""
        extra_bytes = self.block.structure_bytes + (self.nbytes if self.copied else 0)
        return Cost(1.0 + extra_bytes / max(1, self.nbytes), self.nbytes + extra_bytes)

    def row_digests(self, ids: np.ndarray) -> np.ndarray:
        """See Design; nothing is copied."""
        out = np.zeros(self.shape[0], dtype=np.uint64)
        self.block.add_digests(ids, column_keys(self.ids_in_X(ids)), out)
        return out

    def sides(self) -> Sides:
        """X by rows and by columns; beyond REORDER_LIMIT bytes only in its own order."""
        other = self.block.reordered() if self.nbytes <= REORDER_LIMIT else self.block
        by_rows = self.block.row_entries is not None
        return Sides(*((self.block, other) if by_rows else (other, self.block)))
