"""Copies: columns that are equal or opposite to one that is taken.

A copy adds no information, it only lowers the penalty, since two columns share the weight of one. So, as a rule
beside the objective, only one of such columns is taken, that with the lowest id, as long as any other column has a
score. Columns that are never taken need not be compared: a product with one random vector tells which of those
taken may be equal, and only these are compared entry by entry.
"""

import numpy as np

from thresher.data.blocks.base import Block
from thresher.engine.working_set import WorkingSet

EQUAL_TOL = 1e-12  # largest difference of equal columns, relative to their largest entry: rounding of the scaling
FINGERPRINT_TOL = 1e-8  # relative difference of the fingerprints of columns that are compared
TIE = 1e-9  # relative difference of squared scores that copies may have
MARGIN = 32  # candidates beyond those to be taken that are looked at for ties
MOST_EXTRA = 1 << 24  # entries of the columns that are read in vain where copies abound

NONE = np.zeros(0, dtype=np.int64)


def fingerprints(block: Block, rows: np.ndarray | None) -> np.ndarray:
    """|x'r| of each column with the same random vector r: equal, up to rounding, for columns equal up to sign.

    ``rows`` is the mask of the samples that count, None: all of them.
    """
    vector = np.random.default_rng(0).standard_normal(block.shape[0])
    return np.abs(block.correlate(vector if rows is None else np.where(rows, vector, 0.0)))


class Copies:
    """The copies that one model knows: ``units``, and the unit ``of`` which each is a copy.

    ``allowed``: copies are taken as other columns are, since no others are left or units are groups. ``extra`` more
    candidates than needed should be looked at, because many were copies in the last turn.
    """

    def __init__(self, rows: np.ndarray | None, *, allowed: bool = False):
        self.rows = None if rows is None or rows.all() else rows
        self.units, self.of, self.extra, self.allowed = NONE, NONE, 0, allowed
        self._seen, self._prints = NONE, np.zeros(0)  # fingerprints of the units that were taken, by unit

    def left_out(self, taken: WorkingSet) -> tuple[np.ndarray, np.ndarray]:
        """(copies of units that are taken now, positions of these units); the others may be taken."""
        if self.allowed or not self.units.size or not taken.units.size:
            return NONE, NONE
        order = np.argsort(taken.units)
        places = order[np.minimum(np.searchsorted(taken.units, self.of, sorter=order), order.size - 1)]
        known = taken.units[places] == self.of
        return self.units[known], places[known]

    def window(self, candidates: np.ndarray, squares: np.ndarray, number: int) -> int:
        """How many of the candidates, best first, to look at so that ``number`` of them can be taken.

        Copies have equal scores up to rounding: the one with the lowest id may be ranked just behind the last one.
        """
        size = min(candidates.size, number + self.extra)
        if self.allowed or size == 0 or size == candidates.size:
            return size
        tail = slice(size, size + MARGIN)
        tied = candidates[:size][squares[:size] <= (1.0 + TIE) * squares[size - 1]]
        lower = (squares[tail] >= (1.0 - TIE) * squares[size - 1]) & (candidates[tail] < tied.max())
        return size + int(np.flatnonzero(lower)[-1]) + 1 if lower.any() else size

    def note(self, units: np.ndarray, prints: np.ndarray) -> None:
        """Remember the fingerprints of units that are taken."""
        seen, first = np.unique(np.concatenate([self._seen, units]), return_index=True)
        self._seen, self._prints = seen, np.concatenate([self._prints, prints])[first]

    def distinct(self, units: np.ndarray, block: Block, taken: WorkingSet, number: int) -> np.ndarray:
        """Positions of at most ``number`` of ``units``, best first, without copies; ``block`` has their columns.

        Of equal ones that with the lowest id stands at the place of the best; the others are remembered as its copies.
        """
        if self.allowed:
            self.extra = 0
            return np.arange(min(number, units.size))
        prints = fingerprints(block, self.rows)
        leader = units.copy()  # of each candidate: the unit of which it is a copy, or itself
        for places in self._groups(prints, block, taken):
            inside = places[places >= taken.units.size] - taken.units.size
            is_taken = inside.size < places.size
            leader[inside] = taken.units[places[0]] if is_taken else units[inside].min()
        free = leader[~np.isin(leader, taken.units)]
        chosen = free[np.sort(np.unique(free, return_index=True)[1])][:number]
        order = np.argsort(units)
        keep = order[np.searchsorted(units[order], chosen)]
        is_copy = (leader != units) & np.isin(leader, np.concatenate([chosen, taken.units]))
        earlier = ~np.isin(self.units, units[is_copy])
        self.units = np.concatenate([self.units[earlier], units[is_copy]])
        self.of = np.concatenate([self.of[earlier], leader[is_copy]])
        self.extra = min(2 * int(is_copy.sum()), max(0, MOST_EXTRA // block.shape[0] - number))
        self.note(units[keep], prints[keep])
        return keep

    def _groups(self, prints: np.ndarray, block: Block, taken: WorkingSet) -> list[np.ndarray]:
        """Places of equal columns, ascending: those in ``taken`` first, then those in the block."""
        before = self._prints[np.searchsorted(self._seen, taken.units)]
        all_prints = np.concatenate([before, prints])
        order = np.argsort(all_prints, kind="stable")
        ranked = all_prints[order]
        close = np.diff(ranked) <= FINGERPRINT_TOL * ranked[1:]
        groups: list[np.ndarray] = []
        if close.any():
            for run in np.split(order, np.flatnonzero(~close) + 1):
                if run.size > 1 and run.max() >= before.size:
                    groups += self._compared(np.sort(run), block, taken)
        return groups

    def _compared(self, run: np.ndarray, block: Block, taken: WorkingSet) -> list[np.ndarray]:
        """The groups of equal columns among those of equal fingerprints."""
        groups: list[tuple[np.ndarray, list[int]]] = []  # a column, and the places of all that are equal to it
        for place in run.tolist():
            position = place - taken.units.size
            source = block if position >= 0 else taken.in_memory
            column = source.take(np.array([position if position >= 0 else place])).combine(np.ones(1))
            column = column if self.rows is None else column[self.rows]
            places = next((places for other, places in groups if are_equal(column, other)), None)
            if places is None:
                groups.append((column, [place]))
            else:
                places.append(place)
        return [np.array(places) for _, places in groups if len(places) > 1]


def are_equal(first: np.ndarray, second: np.ndarray) -> bool:
    """Whether two columns are equal or opposite up to rounding."""
    allowed = EQUAL_TOL * np.abs(first).max(initial=0.0)
    return any(bool(np.abs(difference).max(initial=0.0) <= allowed) for difference in (first - second, first + second))
