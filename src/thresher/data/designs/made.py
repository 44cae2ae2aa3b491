"""Designs whose columns are made, where they are scored, of those of another design."""

from collections.abc import Iterator

import numpy as np

from thresher.data.blocks.base import Block
from thresher.data.designs.base import Design
from thresher.data.scan.pieces import Generated
from thresher.data.scan.sources import reference


class MadeDesign(Design):
    """``width`` columns of float64 that are made of those of ``base``."""

    def __init__(self, base: Design, width: int, entry_cost: int):
        self.base, self.workers, self.entry_cost = base, base.workers, entry_cost
        self.shape, self.dtype = (base.shape[0], width), np.dtype(np.float64)
        self.nbytes, self.entries = base.nbytes, base.entries

    def block(self, lo: int, hi: int) -> Block:
        """See BlockSource: the columns lo <= j < hi, as ``take`` makes them."""
        return self.take(np.arange(lo, hi))

    def generated(self, step: int) -> Iterator[Generated]:
        """Pieces of ``step`` columns, which refer to this design."""
        source = reference(self, self.workers)
        for first in range(0, self.width, step):
            yield Generated(source, first, min(step, self.width - first))
