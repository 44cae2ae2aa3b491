"""What methods of elimination share: which units leave next, how accurate stations are, and what is left at each."""

import heapq
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from thresher.optim.penalties.layout import PLAIN, Layout
from thresher.optim.solvers.solution import Solution

ELIMINATION_ENTRIES = 1 << 26  # entries up to which the columns may be copied into one float64 array
COMPACT_SHARE = 0.8  # columns are copied together when fewer than this share of them are left
TIE_DIGITS = 9  # decimals of the logarithm of squared weights; equal after rounding is a tie
NEGLIGIBLE = 1e-24  # of the largest squared weight: less is a rounding error, and a tie with zero


@dataclass(frozen=True, eq=False)
class Needs:
    """Heredity: a product stays only where its columns do.

    ``others`` (units, 2): positions of the units that each needs, -1: none; ``both`` of them, or one.
    """

    others: np.ndarray
    both: bool

    def first(self, units: np.ndarray, order: np.ndarray, count: int) -> np.ndarray:
        """The ``count`` of ``units`` to remove, as positions in it, sorted: those first in ``order`` that none needs.

        A unit that is needed may be removed once those that need it are.
        """
        left = Dependencies(self.held(units), self.both)
        rank = np.empty(units.size, dtype=np.int64)
        rank[order] = np.arange(units.size)
        heap = [(int(rank[at]), at) for at in range(units.size) if not left.needed_by[at]]
        heapq.heapify(heap)
        gone: set[int] = set()
        while len(gone) < count and heap:
            _, at = heapq.heappop(heap)
            if left.needed_by[at] or at in gone:  # another one that helped has gone since, or it was pushed twice
                continue
            gone.add(at)
            for other in left.freed_by(at):
                heapq.heappush(heap, (int(rank[other]), other))
        return np.array(sorted(gone), dtype=np.int64)

    def held(self, units: np.ndarray) -> list[set[int]]:
        """Positions in ``units`` of those that each of them needs, as far as they are there."""
        place = {unit: at for at, unit in enumerate(units.tolist())}
        return [{place[other] for other in set(self.others[unit].tolist()) if other in place} for unit in place]


class Dependencies:
    """Which units help others to stay, while units are removed.

    ``held`` are those that each has of what it needs: it stays as long as it has both of them, or one.
    """

    def __init__(self, held: list[set[int]], both: bool):
        self.held = held
        self.helps: list[set[int]] = [set() for _ in held]  # those that it helps to stay
        self.needed_by: list[set[int]] = [set() for _ in held]  # those of them that could not stay without it
        for at, others in enumerate(held):
            for other in others:
                self.helps[other].add(at)
                if both or len(others) == 1:
                    self.needed_by[other].add(at)

    def freed_by(self, at: int) -> list[int]:
        """Remove a unit that none needs: those that none needs any more."""
        freed = []
        for other in self.held[at]:
            self.helps[other].discard(at)
            if at in self.needed_by[other]:
                self.needed_by[other].discard(at)
                if not self.needed_by[other]:
                    freed.append(other)
        for user in self.helps[at]:  # these stay with what else they have
            self.held[user].discard(at)
            if len(self.held[user]) == 1:
                self.needed_by[next(iter(self.held[user]))].add(user)
        return freed


class Remaining(NamedTuple):
    """A station: positions of the columns and of the units that are left, and the solution of each problem on them."""

    kept: np.ndarray
    units: np.ndarray
    solutions: tuple[Solution, ...]

    @property
    def objective(self) -> float:
        """Sum over the problems."""
        return sum(solution.objective for solution in self.solutions)

    @property
    def gap(self) -> float:
        """Duality gap on these columns."""
        return sum(solution.gap for solution in self.solutions)


@dataclass(frozen=True, eq=False)
class Rules:
    """Units with the smallest weights leave first, of tied ones that taken last.

    Parameters
    ----------
    tol : float
        Largest gap of a station.
    first_tol : float or None, default=None
        Largest gap on all columns; None: ``tol``. If this is small, the result does not depend on the starts.
    layout : Layout
        Columns to units; its classes are ignored.
    forced : int, default=0
        The first units, which never leave.
    pool : int or None, default=None
        The first units, which leave only when no others are left; None: those that are forced.
    needs : Needs or None, default=None
        Which units others need: they stay as long as these do.
    deadline : float or None, default=None
        When the station being solved is given up: DeadlinePassed is raised.
    """

    tol: float
    first_tol: float | None = None
    layout: Layout = PLAIN
    forced: int = 0
    pool: int | None = None
    needs: Needs | None = None
    deadline: float | None = None

    @property
    def first_gap(self) -> float:
        """Largest gap on all columns."""
        return self.tol if self.first_tol is None else self.first_tol

    def units(self, kept: np.ndarray) -> np.ndarray:
        """The units of the columns ``kept``, which are sorted."""
        return kept if self.layout.sizes is None else np.unique(self.layout.unit_of(kept))

    def leaving(self, kept: np.ndarray, squares: np.ndarray, stop: int) -> np.ndarray:
        """Positions in ``kept`` of the columns to remove until ``stop`` units are left.

        ``squares`` are the squared weights of the columns.
        """
        unit = self.layout.unit_of(kept)
        begins = np.flatnonzero(np.diff(unit, prepend=-1))
        units, size = unit[begins], np.add.reduceat(squares, begins)
        pool = max(self.pool or 0, self.forced)
        later = (units >= pool) if units.size > pool else np.ones(units.size, dtype=bool)
        size = np.where(size > NEGLIGIBLE * size.max(initial=0.0), size, 0.0)
        rank = np.round(np.log(np.maximum(size, np.finfo(float).tiny)), TIE_DIGITS)
        rank[units < self.forced] = np.inf
        order = np.lexsort((-units, rank, ~later))
        number = units.size - stop
        lightest = order[:number] if self.needs is None else self.needs.first(units, order, number)
        going = np.zeros(units.size, dtype=bool)
        going[lightest] = True
        return np.flatnonzero(np.repeat(going, np.diff(np.append(begins, unit.size))))
