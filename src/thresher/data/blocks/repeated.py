"""A block shared by several classes."""

from collections.abc import Iterator

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
        """See Block; one vector is one product of all classes."""
        if np.ndim(V) == 1:
            return self.base.correlate(V.reshape(self.classes, -1).T).T.ravel()
        return super().correlate(V, work)

    def combine(self, W: np.ndarray) -> np.ndarray:
        """See Block; one vector is one product of all classes."""
        if np.ndim(W) == 1:
            return self.base.combine(W.reshape(self.classes, -1).T).T.ravel()
        return super().combine(W)

    def correlate_into(self, V: np.ndarray, lo: int, hi: int, out: np.ndarray) -> None:
        """See Block."""
        n, m = self.base.shape
        for c, a, b in self._overlaps(lo, hi, m):
            rows = np.ascontiguousarray(V[:, c * n : (c + 1) * n])
            self.base.correlate_into(rows, a - c * m, b - c * m, out[:, a - lo : b - lo])

    def combine_into(self, W: np.ndarray, lo: int, hi: int, out: np.ndarray) -> None:
        """See Block."""
        n, m = self.base.shape
        for c, a, b in self._overlaps(lo, hi, n):
            rows = np.ascontiguousarray(W[:, c * m : (c + 1) * m])
            self.base.combine_into(rows, a - c * n, b - c * n, out[:, a - lo : b - lo])

    def _overlaps(self, lo: int, hi: int, length: int) -> Iterator[tuple[int, int, int]]:
        """(class, start, stop): the intersection of the range with each class."""
        for c in range(self.classes):
            a, b = max(lo, c * length), min(hi, (c + 1) * length)
            if a < b:
                yield c, a, b

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
