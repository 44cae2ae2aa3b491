"""Slots: a small consecutive index for each feature id, assigned when the id is first seen."""

import numpy as np
from numpy.typing import ArrayLike

from thresher.data.workers import unbroken
from thresher.loops import slots as loops

FIRST_SIZE = 1024
AT_ONCE = 1 << 16  # ids that are looked up at a time: a copy of all would weigh as much as their values
MOST = 2**30  # slots have 32 bits


class Slots:
    """Ids and their slots; memory grows with the number of ids seen, whatever their magnitude."""

    def __init__(self, ids: ArrayLike = ()):
        ids = np.asarray(ids, dtype=np.int64)
        self.count, self._ids = ids.size, ids
        self._make_room(max(FIRST_SIZE, ids.size))

    @property
    def ids(self) -> np.ndarray:
        """The ids, by slot."""
        return self._ids[: self.count]

    def find(self, wanted: np.ndarray, *, insert: bool = False) -> np.ndarray:
        """Slots of the ids ``wanted`` as int32; for an id not seen before -1 or, with ``insert``, a new slot."""
        slots, done = np.empty(wanted.size, dtype=np.int32), 0
        while done < wanted.size:
            some = np.ascontiguousarray(wanted[done : done + AT_ONCE], dtype=np.int64)  # one loop for ids of any type
            room = slots[done : done + some.size]
            with unbroken():  # cells, ids and their count belong together
                more, self.count = loops.find_slots(some, self._cells, self._ids, self.count, room, insert)
                if more < some.size:
                    self._make_room(2 * self.count)
            done += more
        return slots

    def _make_room(self, count: int) -> None:
        room = 1 << int(count - 1).bit_length()
        if room > MOST:
            raise MemoryError(f"more than {MOST:,} distinct features, the largest supported number; set hash_bits")
        before, self._ids = self.ids, np.empty(room, dtype=np.int64)
        self._cells = np.full(2 * room, -1, dtype=np.int32)
        if before.size:  # the same ids in the same order get the same slots
            loops.find_slots(before, self._cells, self._ids, 0, np.empty(before.size, dtype=np.int32), True)


def hashed(ids: np.ndarray, bits: int) -> np.ndarray:
    """Hashes of the ids: int64, pseudo-random, below 2^bits."""
    out = np.empty(ids.size, dtype=np.int64)
    loops.hash_ids(ids, 1 << bits, out)
    return out
