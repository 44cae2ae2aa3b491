"""X in memory, or memory-mapped: the design that scans arrays as they lie."""

from collections.abc import Iterator

import numpy as np

from thresher.data.block import Block
from thresher.data.design import MOST_WORK, Cost, Design, Piece, Slice
from thresher.data.sides import Sides

PER_WORKER = 4  # pieces at least, so that no thread waits long for the last one
TURNED = 1 << 30  # bytes up to which a sparse matrix may be copied into the other order


class MemoryDesign(Design):
    """One block with all columns of X, or of a copy of it, which cost a pass."""

    def __init__(self, block: Block, ids: np.ndarray | None = None, copied: bool = False, n_columns: int | None = None):
        self.block, self.ids, self.workers, self.copied = block, ids, block.workers, copied
        self._n_columns = block.shape[1] if n_columns is None else n_columns
        self.shape, self.dtype, self.nbytes, self.entries = block.shape, block.dtype, block.nbytes, block.entries

    @property
    def n_columns(self) -> int:
        """See Design."""
        return self._n_columns

    def pieces(self, vectors: int = 1) -> Iterator[Piece]:
        """See Design."""
        for lo, hi in self.block.column_ranges(per_worker=PER_WORKER, most=MOST_WORK // vectors):
            yield Slice(lo, self.block, lo, hi)

    def take(self, ids: np.ndarray) -> Block:
        """See Design."""
        return self.block.take(ids)

    def take_cost(self, ids: np.ndarray) -> Cost:
        """See Design; rows stored one after the other are all looked through."""
        if self.block.row_entries is not None:
            return Cost(1.0, self.block.structure_bytes)
        share = len(ids) / max(1, self.width)
        return Cost(share, int(share * self.nbytes))

    def check_cost(self) -> Cost:
        """See Design."""
        looked = self.block.structure_bytes + (self.nbytes if self.copied else 0)
        return Cost(1.0 + looked / max(1, self.nbytes), self.nbytes + looked)

    def sides(self) -> Sides:
        """X by rows and by columns; beyond TURNED bytes only as it lies."""
        other = self.block.turned() if self.nbytes <= TURNED else self.block
        by_rows = self.block.row_entries is not None
        return Sides(*((self.block, other) if by_rows else (other, self.block)))
