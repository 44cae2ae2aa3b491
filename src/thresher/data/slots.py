"""Feature ids without end: each gets a small number, its slot, when it is first met."""

import numpy as np
from numpy.typing import ArrayLike

from thresher.data.workers import unbroken
from thresher.loops import slots as loops

FIRST = 1024
MOST = 2**30  # slots have 32 bits


class Slots:
    """Ids and their slots; memory grows with the ids met, whatever their size."""

    def __init__(self, ids: ArrayLike = ()):
        ids = np.asarray(ids, dtype=np.int64)
        self.count, self._ids = ids.size, ids
        self._make_room(max(FIRST, ids.size))

    @property
    def ids(self) -> np.ndarray:
        """The ids, by slot."""
        return self._ids[: self.count]

    def find(self, wanted: np.ndarray, *, insert: bool = False) -> np.ndarray:
        """Slots of the ids ``wanted`` as int32; -1 for one that was never met, or, with ``insert``, a new slot."""
        found, done = np.empty(wanted.size, dtype=np.int32), 0
        while True:
            with unbroken():  # cells, ids and their count belong together
                more, self.count = loops.find(wanted[done:], self._cells, self._ids, self.count, found[done:], insert)
                done += more
                if done < wanted.size:
                    self._make_room(2 * self.count)
            if done == wanted.size:
                return found

    def _make_room(self, count: int) -> None:
        room = 1 << int(count - 1).bit_length()
        if room > MOST:
            raise MemoryError(f"{MOST:,} features were seen, and no more can be told apart: use hash_bits")
        ids = np.empty(room, dtype=np.int64)
        ids[: self.count] = self._ids[: self.count]
        self._ids, self._cells = ids, np.full(2 * room, -1, dtype=np.int32)
        loops.place(self._cells, self._ids, self.count)


def hashed(ids: np.ndarray, bits: int) -> np.ndarray:
    """Numbers below 2^bits, as good as random, for ids; int64."""
    out = np.empty(ids.size, dtype=np.int64)
    loops.hashed(ids, 1 << bits, out)
    return out
