"""Units that need others: a product stays only where its columns do."""

import heapq
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True, eq=False)
class Needs:
    """``others`` (units, 2): positions of the units that each needs, -1: none; ``both`` of them, or one."""

    others: np.ndarray
    both: bool

    def first(self, units: np.ndarray, order: np.ndarray, count: int) -> np.ndarray:
        """The ``count`` of ``units`` to remove, as positions in it, sorted: those first in ``order`` that none needs.

        A unit that is needed may be removed once those that need it are.
        """
        place = {unit: at for at, unit in enumerate(units.tolist())}
        held = [{place[u] for u in set(self.others[unit].tolist()) if u in place} for unit in units.tolist()]
        needed_by: list[set[int]] = [set() for _ in held]  # those that could not stay without it
        asked_by: list[set[int]] = [set() for _ in held]  # those that it helps to stay
        for at, others in enumerate(held):
            for other in others:
                asked_by[other].add(at)
                if self.both or len(others) == 1:
                    needed_by[other].add(at)
        rank = np.empty(units.size, dtype=np.int64)
        rank[order] = np.arange(units.size)
        heap = [(int(rank[at]), at) for at in range(units.size) if not needed_by[at]]
        heapq.heapify(heap)
        gone: set[int] = set()
        while len(gone) < count and heap:
            _, at = heapq.heappop(heap)
            if needed_by[at] or at in gone:  # since it was pushed, another one that helped has gone; or pushed twice
                continue
            gone.add(at)
            for other in held[at]:  # what it needed may go, if nothing else needs it
                asked_by[other].discard(at)
                if at in needed_by[other]:
                    needed_by[other].discard(at)
                    if not needed_by[other]:
                        heapq.heappush(heap, (int(rank[other]), other))
            for user in asked_by[at]:  # these stay with what else they have
                held[user].discard(at)
                if len(held[user]) == 1:
                    needed_by[next(iter(held[user]))].add(user)
        return np.array(sorted(gone), dtype=np.int64)
