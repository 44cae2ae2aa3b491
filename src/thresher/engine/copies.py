"""Copies: columns that are equal or opposite to one that is taken.

A copy says nothing new, it only lowers the penalty, since two columns share the weight of one. So, as a rule beside the
objective, only one of such columns is taken, that with the lowest id, as long as any other column has a score. Columns
that are never taken need not be compared: a product with one random vector tells which of those taken may be equal,
and only these are compared entry by entry.
"""

import numpy as np

from thresher.data.blocks.base import Block
from thresher.engine.working_set import Taken

ALIKE = 1e-12  # largest difference of equal columns, relative to their largest entry: rounding of the scaling
NEAR = 1e-8  # relative difference of the fingerprints of columns that are compared
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
    """The copies that one machine knows: ``units``, and the unit ``of`` which each is a copy.

    ``allowed``: no others are left, so copies are taken as other columns are. ``extra`` more candidates than needed
    should be looked at, because many were copies in the last turn.
    """

    def __init__(self, rows: np.ndarray | None):
        self.rows = None if rows is None or rows.all() else rows
        self.units, self.of, self.extra, self.allowed = NONE, NONE, 0, False
        self._seen, self._prints = NONE, np.zeros(0)  # fingerprints of the units that were taken, by unit

    def left_out(self, taken: Taken) -> tuple[np.ndarray, np.ndarray]:
        """(copies of units that are taken now, positions of these units); the others may be taken."""
        if self.allowed or self.units.size == 0:
            return NONE, NONE
        order = np.argsort(taken.units)
        places = np.searchsorted(taken.units, self.of, sorter=order)
        places = order[np.minimum(places, max(order.size - 1, 0))] if order.size else NONE
        known = taken.units[places] == self.of if order.size else np.zeros(self.of.size, dtype=bool)
        return self.units[known], places[known] if order.size else NONE

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

    def distinct(self, units: np.ndarray, block: Block, taken: Taken, number: int) -> np.ndarray:
        """Positions of at most ``number`` of ``units``, best first, without copies; ``block`` has their columns.

        Of equal ones that with the lowest id stands at the place of the best; the others are remembered as its copies.
        """
        prints = fingerprints(block, self.rows)
        groups = [] if self.allowed else self._groups(prints, block, taken)
        place_of, kept = np.arange(units.size), np.ones(units.size, dtype=bool)
        leaders: list[tuple[np.ndarray, int]] = []
        for known, places in groups:
            kept[places] = False
            leader = units[places].min() if known is None else taken.units[known]
            if known is None:
                kept[places[0]] = True
                place_of[places[0]] = places[np.argmin(units[places])]
            leaders.append((units[places], int(leader)))
        keep = place_of[kept][:number]
        there = set(units[keep].tolist()) | set(taken.units.tolist()) if leaders else set()
        found = [(copies[copies != leader], leader) for copies, leader in leaders if leader in there]
        count = sum(copies.size for copies, _ in found)
        self.extra = min(2 * count, max(0, MOST_EXTRA // block.shape[0] - number))
        if count:
            units_found = np.concatenate([copies for copies, _ in found])
            earlier = ~np.isin(self.units, units_found)
            self.units = np.concatenate([self.units[earlier], units_found])
            self.of = np.concatenate([self.of[earlier], *(np.full(copies.size, leader) for copies, leader in found)])
        self.note(units[keep], prints[keep])
        return keep

    def _groups(self, prints: np.ndarray, block: Block, taken: Taken) -> list[tuple[int | None, np.ndarray]]:
        """Equal columns: (position in ``taken`` of the one that is there or None, positions in the block)."""
        before = self._prints[np.searchsorted(self._seen, taken.units)]
        all_prints = np.concatenate([before, prints])
        order = np.argsort(all_prints, kind="stable")
        ranked = all_prints[order]
        close = np.diff(ranked) <= NEAR * ranked[1:]
        if not close.any():
            return []
        groups: list[tuple[int | None, np.ndarray]] = []
        for run in np.split(order, np.flatnonzero(~close) + 1):
            if run.size > 1 and run.max() >= before.size:
                groups += self._compared(np.sort(run), before.size, block, taken)
        return groups

    def _compared(self, run: np.ndarray, first: int, block: Block, taken: Taken) -> list[tuple[int | None, np.ndarray]]:
        """The groups among columns of equal fingerprints: those below ``first`` are taken, the others in the block."""
        leaders: list[tuple[int, np.ndarray]] = []
        members: dict[int, list[int]] = {}
        for place in run.tolist():
            source, position = (taken.in_memory, place) if place < first else (block, place - first)
            column = source.take(np.array([position])).combine(np.ones(1))
            column = column if self.rows is None else column[self.rows]
            like = next((leader for leader, other in leaders if alike(column, other)), None)
            if like is None:
                leaders.append((place, column))
                members[place] = []
            elif place >= first:
                members[like].append(place - first)
        return [
            (leader, np.array(found)) if leader < first else (None, np.array([leader - first, *found]))
            for leader, found in members.items()
            if found
        ]


def alike(first: np.ndarray, second: np.ndarray) -> bool:
    """Whether two columns are equal or opposite up to rounding."""
    allowed = ALIKE * np.abs(first).max(initial=0.0)
    return any(bool(np.abs(difference).max(initial=0.0) <= allowed) for difference in (first - second, first + second))
