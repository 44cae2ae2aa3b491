"""A block shared by several classes."""

import math
from collections.abc import Callable

import numpy as np

from thresher.data.blocks.base import Block
from thresher.data.blocks.dense import ArrayBlock


class RepeatedBlock(Block):
    """A block diagonal matrix with ``base`` repeated for each of ``classes`` classes, stored only once.

    Vectors contain the values of the first class, then those of the second, and so on.
    """

    def __init__(self, base: Block, classes: int):
        shape = classes * base.shape[0], classes * base.shape[1]
        super().__init__(shape, base.dtype, base.nbytes, base.workers)
        self.base, self.classes = base, classes
        self.entry_cost = base.entry_cost

    def of_a_class(self) -> Block:
        """See Block."""
        return self.base

    @property
    def entries(self) -> int:
        """Number of values that a product reads."""
        return self.classes * self.base.entries

    def correlate(self, V: np.ndarray, work: float | None = None) -> np.ndarray:
        """See Block; one product of the base for all classes."""
        return self._of_classes(self.base.correlate, V)

    def combine(self, W: np.ndarray) -> np.ndarray:
        """See Block; one product of the base for all classes."""
        return self._of_classes(self.base.combine, W)

    def _of_classes(self, product: Callable[[np.ndarray], np.ndarray], V: np.ndarray) -> np.ndarray:
        by_class = np.reshape(V, (self.classes, -1, *V.shape[1:]))
        side_by_side = np.moveaxis(by_class, 0, 1)
        across = math.prod(side_by_side.shape[1:])  # there may be no columns
        found = product(side_by_side.reshape(len(side_by_side), across))
        return np.moveaxis(found.reshape(-1, *side_by_side.shape[1:]), 1, 0).reshape(-1, *V.shape[1:])

    def correlate_into(self, V: np.ndarray, lo: int, hi: int, out: np.ndarray) -> None:
        """See Block; the whole product, since this block is for solvers and never scanned."""
        out += self.correlate(V.T).T[:, lo:hi]

    def combine_into(self, W: np.ndarray, lo: int, hi: int, out: np.ndarray) -> None:
        """See Block; the whole product."""
        out += self.combine(W.T).T[:, lo:hi]

    def take(self, ids: np.ndarray) -> Block:
        """See Block; copied, and no longer repeated."""
        return ArrayBlock(self.toarray(), self.workers).take(ids)

    def take_rows(self, ids: np.ndarray) -> Block:
        """See Block; copied, and no longer repeated."""
        return ArrayBlock(self.toarray(), self.workers).take_rows(ids)

    def column_squares(self, weights: np.ndarray) -> np.ndarray:
        """See Block."""
        parts = np.asarray(weights, dtype=np.float64).reshape(self.classes, -1)
        return np.concatenate([self.base.column_squares(part) for part in parts])

    def row_squares(self, weights: np.ndarray) -> np.ndarray:
        """See Block."""
        parts = np.asarray(weights, dtype=np.float64).reshape(self.classes, -1)
        return np.concatenate([self.base.row_squares(part) for part in parts])

    def joined(self, other: Block) -> Block:
        """See Block; copied, and no longer repeated."""
        return ArrayBlock(self.toarray(), self.workers).joined(ArrayBlock(other.toarray(), self.workers))

    def toarray(self) -> np.ndarray:
        """See Block."""
        return np.asfortranarray(np.kron(np.eye(self.classes), self.base.toarray()))


def for_classes(block: Block, classes: int) -> Block:
    """The columns as the solvers of a problem with this number of classes see them."""
    return block if classes == 1 else RepeatedBlock(block, classes)
