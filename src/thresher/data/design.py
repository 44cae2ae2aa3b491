"""Design: all p columns of X, wherever they live, and the scan: one full pass over them."""

from abc import ABC, abstractmethod
from typing import NamedTuple

import numpy as np

from thresher.data.block import Block, as_rows


class Piece(NamedTuple):
    """Columns lo..hi-1 of a block are the features first, first + 1, ... of the design."""

    first: int
    block: Block
    lo: int
    hi: int


class Design(ABC):
    """An n x p matrix that can be scanned and of which columns can be taken.

    Features are numbered 0..p-1 here; ``ids`` (None or sorted int64) gives their numbers in X where the design leaves
    out columns that hold nothing.
    """

    shape: tuple[int, int]
    dtype: np.dtype
    nbytes: int
    ids: np.ndarray | None = None

    @abstractmethod
    def pieces(self):
        """All columns, as Pieces in ascending order."""

    @abstractmethod
    def take(self, ids):
        """A Block of the columns ``ids``, in that order, in memory."""

    @abstractmethod
    def sides(self):
        """Sides: X for solvers that read some rows as often as some columns."""

    @abstractmethod
    def take_cost(self, ids):
        """(passes over X, bytes read) of ``take(ids)``."""

    def scan(self, V, reducer):
        """Hand X'V, piece by piece, to ``reducer``: one pass over X for all columns of V. Returns its result.

        Pieces are worked on by threads and merged in order, so the answer does not depend on how many there are.
        """
        rows = as_rows(V)

        def reduce_piece(first, block, lo, hi):
            scores = np.zeros((rows.shape[0], hi - lo))
            block.correlate_into(rows, lo, hi, scores)
            return reducer.started(first, scores)

        tasks = list(self.pieces())
        parts = self.workers.map(reduce_piece, tasks, entries=max(piece.block.entries for piece in tasks))
        total = parts[0]
        for part in parts[1:]:
            total = total.merged(part)
        return total.result()

    def in_units_of_X(self, ids, w):
        """(weights, offset) on the columns ``ids`` of X as given that score as ``w`` does on the columns here.

        ``w`` is (ids,) or (ids, classes); the offset is a number, or one for each class.
        """
        return w, 0.0

    def in_units_here(self, ids, weights):
        """The w on the columns here that scores as ``weights`` do on X as given: the inverse of ``in_units_of_X``."""
        return weights

    def numbers_in_X(self, ids):
        """The numbers in X of the features ``ids`` of this design."""
        ids = np.asarray(ids, dtype=np.int64)
        return ids if self.ids is None else self.ids[ids]

    def numbers_here(self, ids):
        """The numbers in this design of the columns ``ids`` of X; a column that holds nothing has none: KeyError."""
        ids = np.asarray(ids, dtype=np.int64)
        if self.ids is None:
            return ids
        at = np.searchsorted(self.ids, ids)
        found = (at < self.ids.size) & (self.ids[np.minimum(at, self.ids.size - 1)] == ids)
        if not found.all():
            raise KeyError(f"column {int(ids[~found][0])} holds no non-zero entry")
        return at
