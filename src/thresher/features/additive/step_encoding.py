"""Columns of an expanded intersection kernel, which are never written down: each entry stores how many are not zero."""

from typing import Any, Self

import numpy as np

from thresher.data.blocks.base import Block, readonly
from thresher.data.blocks.compressed import ranges_between
from thresher.data.blocks.dense import ArrayBlock
from thresher.data.designs.numbering import BlockNumbering, end_to_end
from thresher.data.workers import SERIAL, Workers
from thresher.loops import levels as loops


class StepBlock(Block):
    """D numbers for each of some inputs: number l is ``amplitudes[j, l]`` where the level is above l, else zero.

    Input j has the rows ``indices[indptr[j] : indptr[j + 1]]``, ascending, with levels from 1 to D; all other rows have
    level 0. The columns are those of input 0, then those of input 1, and so on. A product costs the entries and D for
    each input.
    """

    entry_cost = 8

    def __init__(
        self, n_rows: int, indptr: np.ndarray, indices: np.ndarray, levels: np.ndarray, amplitudes: np.ndarray,
        workers: Workers = SERIAL,
    ):  # fmt: skip
        self.indptr, self.indices, self.levels = readonly(indptr), readonly(indices), readonly(levels)
        self.amplitudes = readonly(amplitudes)
        self.size = amplitudes.shape[1]  # numbers of an input, D
        self.structure_bytes = self.indices.nbytes
        nbytes = sum(array.nbytes for array in self._arrays)
        super().__init__((int(n_rows), amplitudes.size), np.dtype(np.float64), nbytes, workers)

    @property
    def _arrays(self) -> tuple[np.ndarray, ...]:
        return self.indptr, self.indices, self.levels, self.amplitudes

    @property
    def entries(self) -> int:
        """Number of stored levels."""
        return self.levels.size

    @property
    def non_zeros(self) -> int:
        """See Block; an entry counts as many times as it has numbers that are not zero."""
        return int(self.levels.sum(dtype=np.int64))

    def column_ranges(
        self, per_worker: int = 1, most: int | None = None, work: float | None = None
    ) -> list[tuple[int, int]]:
        """Ranges of whole inputs with about equal numbers of entries."""
        pieces = max(self._threads(work) * per_worker, self._cuts(most))
        cuts = np.searchsorted(self.indptr, np.linspace(0, self.entries, pieces + 1)[1:-1])
        return ranges_between(cuts * self.size, self.shape[1])

    def correlate_into(self, V: np.ndarray, lo: int, hi: int, out: np.ndarray) -> None:
        """See Block."""
        first, last = lo // self.size, -(-hi // self.size)
        whole = lo == first * self.size and hi == last * self.size and out.flags.c_contiguous
        into = out if whole else np.empty((len(V), (last - first) * self.size))
        loops.correlate(*self._arrays, V, first, last, np.empty(self.size + 1), into)
        if not whole:
            out[:] = into[:, lo - first * self.size : hi - first * self.size]

    def combine_into(self, W: np.ndarray, lo: int, hi: int, out: np.ndarray) -> None:
        """See Block."""
        loops.combine(*self._arrays, np.ascontiguousarray(W), lo, hi, np.empty(self.size + 1), out)

    def take(self, ids: np.ndarray) -> Block:
        """See Block; only whole inputs stay as they are."""
        ids = np.asarray(ids, dtype=np.int64)
        inputs = BlockNumbering(self.size).whole_blocks(ids)
        if inputs is None:
            return ArrayBlock(self._dense(ids), self.workers)
        sizes = self.indptr[inputs + 1] - self.indptr[inputs]
        places = end_to_end(self.indptr[inputs], sizes)
        indptr = np.concatenate([[0], np.cumsum(sizes)])
        return self._with(indptr, self.indices[places], self.levels[places], self.amplitudes[inputs])

    def take_rows(self, ids: np.ndarray) -> Block:
        """See Block."""
        place = np.full(self.shape[0], -1, dtype=np.int64)
        place[ids] = np.arange(len(ids))
        rows = place[self.indices]
        kept = rows >= 0
        indptr = np.concatenate([[0], np.cumsum(kept)])[self.indptr]
        indices = rows[kept].astype(self.indices.dtype)
        return self._with(indptr, indices, self.levels[kept], self.amplitudes, len(ids))

    def _with(self, indptr: Any, indices: Any, levels: Any, amplitudes: Any, n_rows: int | None = None) -> Any:
        return StepBlock(self.shape[0] if n_rows is None else n_rows, indptr, indices, levels, amplitudes, self.workers)

    def column_squares(self, weights: np.ndarray) -> np.ndarray:
        """See Block."""
        return self._squared().correlate(weights)

    def row_squares(self, weights: np.ndarray) -> np.ndarray:
        """See Block."""
        return self._squared().combine(weights)

    def _squared(self) -> "StepBlock":
        """The block of the squares of all entries."""
        return self._with(self.indptr, self.indices, self.levels, np.square(self.amplitudes))

    def joined(self, other: Self) -> Block:
        """One block with the columns of both."""
        indptr = np.concatenate([self.indptr, other.indptr[1:] + self.indptr[-1]])
        indices, levels, amplitudes = (
            np.concatenate([getattr(part, name) for part in (self, other)])
            for name in ("indices", "levels", "amplitudes")
        )
        return self._with(indptr, indices, levels, amplitudes)

    def toarray(self) -> np.ndarray:
        """See Block."""
        return self._dense(np.arange(self.shape[1]))

    def _dense(self, ids: np.ndarray) -> np.ndarray:
        out = np.zeros((ids.size, self.shape[0]))
        loops.write_columns(*self._arrays, ids, out)
        return out.T


def step_encoded(
    n_rows: int, indptr: np.ndarray, indices: np.ndarray, values: np.ndarray, factor: np.ndarray,
    edges: np.ndarray, power: float = 1.0, workers: Workers = SERIAL,
) -> StepBlock:  # fmt: skip
    """The block of inputs with the given stored values (CSC), for the kernel min(x^power, z^power).

    Levels count the ``edges`` (inputs, D + 1) below |value| * factor; the amplitudes are the roots of the steps between
    their powers.
    """
    size = edges.shape[1] - 1
    levels: np.ndarray = np.empty(values.size, dtype=np.uint8 if size <= 255 else np.uint16)
    below = readonly(np.ascontiguousarray(edges[:, :size]))
    loops.find_levels(readonly(indptr), readonly(values), readonly(factor), below, levels)
    kept = levels > 0
    if not kept.all():
        indptr = np.concatenate([[0], np.cumsum(kept)])[indptr]
        indices, levels = indices[kept], levels[kept]
    amplitudes = np.sqrt(np.maximum(np.diff(edges if power == 1.0 else edges**power, axis=1), 0.0))
    return StepBlock(n_rows, indptr.astype(np.int64), indices, levels, amplitudes, workers)
