"""X in memory, or memory-mapped: the design that scans arrays as they lie."""

import numpy as np

from thresher.data.compressed import CscBlock, CsrBlock
from thresher.data.design import Design, Piece
from thresher.data.sides import Sides
from thresher.loops import moments

TURNED = 1 << 30  # bytes up to which a sparse matrix may be copied into the other order


class MemoryDesign(Design):
    """One block with all columns of X, or of a copy of it, which cost a pass."""

    def __init__(self, block, ids=None, copied=False):
        self.block, self.ids, self.workers, self.copied = block, ids, block.workers, copied
        self.shape, self.dtype, self.nbytes = block.shape, block.dtype, block.nbytes

    def pieces(self):
        """See Design."""
        for lo, hi in self.block.column_ranges(per_worker=4):
            yield Piece(lo, self.block, lo, hi)

    def take(self, ids):
        """See Design."""
        return self.block.take(ids)

    def sides(self):
        """X by rows and by columns; beyond TURNED bytes only as it lies."""
        other = self.block.turned() if self.nbytes <= TURNED else self.block
        by_rows = isinstance(self.block, CsrBlock)
        return Sides(*((self.block, other) if by_rows else (other, self.block)))

    def take_cost(self, ids):
        """See Design; rows stored one after the other are all looked through."""
        share = len(ids) / max(1, self.shape[1])
        if isinstance(self.block, CsrBlock):
            return 1.0, self.block.indices.nbytes
        return share, int(share * self.nbytes)

    def check_cost(self):
        """(passes over X, bytes read) of the door's look at a sparse structure, of a copy and of ``statistics``."""
        looked = self.block.indices.nbytes if isinstance(self.block, (CscBlock, CsrBlock)) else 0
        looked += self.nbytes if self.copied else 0
        return 1.0 + looked / max(1, self.nbytes), self.nbytes + looked

    def statistics(self, weights):
        """Column statistics (anchor, table) in one pass: see ``loops.moments``. ``weights`` are of the rows."""
        anchor, table = np.zeros(self.shape[1]), np.zeros((moments.ROWS, self.shape[1]))

        def fill(_, block, lo, hi):
            part = np.zeros((moments.ROWS, hi - lo))  # contiguous, or the loops would not vectorise
            block.statistics_into(weights, lo, hi, anchor[lo:hi], part)
            table[:, lo:hi] = part

        self.workers.map(fill, list(self.pieces()), entries=self.block.entries)
        return anchor, table
