"""Blocks side by side: the columns taken so far."""

from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property, reduce

import numpy as np

from thresher.data.blocks.base import Block

JOIN_BELOW = 1 << 26  # bytes; neighbouring parts up to this size in total are copied into one


class StackedBlock(Block):
    """X = [part_0, part_1, ...], without copying the parts into one array."""

    def __init__(self, parts: Iterable[Block]):
        self.parts = list(parts)
        self.bounds = np.cumsum([0] + [part.shape[1] for part in self.parts])
        first, nbytes = self.parts[0], sum(part.nbytes for part in self.parts)
        super().__init__((first.shape[0], int(self.bounds[-1])), first.dtype, nbytes, first.workers)
        self.entry_cost = first.entry_cost

    @property
    def entries(self) -> int:
        """Number of stored values."""
        return sum(part.entries for part in self.parts)

    def _overlaps(self, lo: int, hi: int) -> Iterator[tuple[Block, int, int, int]]:
        for part, start, stop in zip(self.parts, self.bounds[:-1], self.bounds[1:], strict=True):
            a, b = max(lo, start), min(hi, stop)
            if a < b:
                yield part, int(start), int(a), int(b)

    def correlate_into(self, V: np.ndarray, lo: int, hi: int, out: np.ndarray) -> None:
        """See Block."""
        for part, start, a, b in self._overlaps(lo, hi):
            part.correlate_into(V, a - start, b - start, out[:, a - lo : b - lo])

    def combine_into(self, W: np.ndarray, lo: int, hi: int, out: np.ndarray) -> None:
        """See Block."""
        for part, _, a, b in self._overlaps(0, self.shape[1]):
            part.combine_into(np.ascontiguousarray(W[:, a:b]), lo, hi, out)

    def take(self, ids: np.ndarray) -> Block:
        """See Block."""
        ids = np.asarray(ids, dtype=np.int64)
        which = np.searchsorted(self.bounds, ids, side="right") - 1
        taken, places = [], []
        for index, part in enumerate(self.parts):
            here = np.flatnonzero(which == index)
            if here.size:
                taken.append(part.take(ids[here] - self.bounds[index]))
                places.append(here)
        if not taken:
            return self.parts[0].take(ids)
        order = np.concatenate(places)
        stacked = stack(taken)
        in_order = bool(np.all(order == np.arange(ids.size)))
        return stacked if in_order else stacked.take(np.argsort(order))

    def take_rows(self, ids: np.ndarray) -> Block:
        """See Block."""
        return StackedBlock([part.take_rows(ids) for part in self.parts])

    def column_squares(self, weights: np.ndarray) -> np.ndarray:
        """See Block."""
        return np.concatenate([part.column_squares(weights) for part in self.parts])

    def row_squares(self, weights: np.ndarray) -> np.ndarray:
        """See Block."""
        cut = zip(self.parts, np.split(np.asarray(weights), self.bounds[1:-1]), strict=True)
        return reduce(np.add, [part.row_squares(piece) for part, piece in cut])

    def gram(self, weights: np.ndarray) -> np.ndarray:
        """See Block; sparse parts are copied into one, which is kept."""
        if not all(part.column_entries is not None for part in self.parts):
            return super().gram(weights)
        return self._joined.gram(weights)

    @cached_property
    def _joined(self) -> Block:
        """One block with all columns."""
        return reduce(lambda one, other: one.joined(other), self.parts)

    def toarray(self) -> np.ndarray:
        """See Block."""
        X = np.empty(self.shape, order="F")
        return np.concatenate([part.toarray() for part in self.parts], axis=1, out=X)

    def joined(self, other: Block) -> Block:
        """One stack with the parts of both."""
        return StackedBlock(self.parts + (other.parts if isinstance(other, StackedBlock) else [other]))


def stack(blocks: Sequence[Block]) -> Block:
    """The blocks side by side as one: small neighbours are copied into one, large ones are not copied."""
    parts: list[Block] = []
    for block in blocks:
        for part in block.parts if isinstance(block, StackedBlock) else [block]:
            if part.shape[1] == 0:
                continue
            if parts and parts[-1].nbytes + part.nbytes < JOIN_BELOW:
                parts[-1] = parts[-1].joined(part)
            else:
                parts.append(part)
    if not parts:
        return blocks[0]
    return parts[0] if len(parts) == 1 else StackedBlock(parts)
