"""Ids of any size to small numbers, in the order in which they were first met: open addressing over plain arrays."""

import numpy as np

from thresher.loops.jit import LIGHT, compiled, helper

M1, M2 = np.uint64(0xFF51AFD7ED558CCD), np.uint64(0xC4CEB9FE1A85EC53)
HALF = np.uint64(33)


@helper
def mixed(number):
    """64 bits that depend on every bit of ``number``."""
    bits = np.uint64(number)
    bits = (bits ^ (bits >> HALF)) * M1
    bits = (bits ^ (bits >> HALF)) * M2
    return bits ^ (bits >> HALF)


@compiled(config=LIGHT)
def hash_ids(wanted, width, out):
    """Every id, mixed, as a number below ``width``, a power of two."""
    mask = np.uint64(width - 1)
    for at in range(wanted.size):
        out[at] = np.int64(mixed(wanted[at]) & mask)


@compiled(config=LIGHT)
def find_slots(wanted, cells, ids, count, out, insert):
    """Slots of the ids ``wanted`` into ``out``; (how many were done, slots in use).

    ``cells`` has slots or -1 and a power of two for its length. New ids get the next slots, or -1 unless ``insert``.
    Ends early where ``cells`` would be more than half full or ``ids`` has no room.
    """
    mask, room = np.uint64(cells.size - 1), cells.size >> 1
    room = ids.size if ids.size < room else room
    for at in range(wanted.size):
        number = np.int64(wanted[at])
        cell = mixed(number) & mask
        while cells[cell] >= 0 and ids[cells[cell]] != number:
            cell = (cell + np.uint64(1)) & mask
        slot = cells[cell]
        if slot < 0 and insert:
            if count >= room:
                return at, count
            slot, ids[count], cells[cell] = count, number, count
            count += 1
        out[at] = slot
    return wanted.size, count
