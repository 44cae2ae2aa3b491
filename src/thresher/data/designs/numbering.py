"""Numbers of columns that come in ranges, or in blocks of one size."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike


def end_to_end(starts: np.ndarray, sizes: np.ndarray) -> np.ndarray:
    """The numbers start, start + 1, ..., start + size - 1 of each range, one range after the other."""
    ends = np.cumsum(sizes)
    return np.repeat(starts - ends + sizes, sizes) + np.arange(sizes.sum())


@dataclass(frozen=True)
class BlockNumbering:
    """Column l of block j has the number j * size + l."""

    size: int

    def blocks(self, ids: ArrayLike) -> np.ndarray:
        """The block of each column."""
        return np.asarray(ids, dtype=np.int64) // self.size

    def places(self, ids: ArrayLike) -> np.ndarray:
        """The place of each column in its block."""
        return np.asarray(ids, dtype=np.int64) % self.size

    def moved(self, ids: ArrayLike, blocks: np.ndarray) -> np.ndarray:
        """The columns at the same places of other blocks, one for each."""
        return blocks * self.size + self.places(ids)

    def all_columns(self, blocks: np.ndarray) -> np.ndarray:
        """All columns of some blocks, block after block."""
        return (blocks[:, None] * self.size + np.arange(self.size)).ravel()

    def whole_blocks(self, ids: np.ndarray) -> np.ndarray | None:
        """The blocks of which these are ``all_columns``; None if there are none."""
        blocks = self.blocks(ids[:: self.size])
        whole = blocks.size * self.size == ids.size and np.array_equal(ids, self.all_columns(blocks))
        return blocks if whole else None
