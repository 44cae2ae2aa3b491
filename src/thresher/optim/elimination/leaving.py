"""What methods of elimination share: which units leave next, and what is left when they have."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from thresher.optim.elimination.needs import Needs
from thresher.optim.penalties.layout import Layout
from thresher.optim.solvers.solution import Solution

TIE_DIGITS = 9  # decimals of the logarithm of squared weights; equal after rounding is a tie
NEGLIGIBLE = 1e-24  # of the largest squared weight: less is a rounding error, and a tie with zero


class Station(NamedTuple):
    """Positions of the columns and of the units that are left, and the solution of each problem on them."""

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


@dataclass(frozen=True)
class Order:
    """Units with the smallest weights leave first, of tied ones that taken last; forced ones never.

    The first ``pool`` units leave only when no others are left, and none that others need. ``unit`` is the unit of each
    column; ``single``: each column is one.
    """

    unit: np.ndarray
    single: bool
    forced: int
    pool: int
    needs: Needs | None

    @classmethod
    def of(cls, layout: Layout, columns: int, forced: int, pool: int | None, needs: Needs | None) -> "Order":
        """The order of these columns; None for ``pool``: the forced units."""
        pool = forced if pool is None else max(pool, forced)
        return cls(layout.unit_of(columns), layout.sizes is None, forced, pool, needs)

    def units(self, kept: np.ndarray) -> np.ndarray:
        """The units of the columns ``kept``, which are sorted."""
        return kept if self.single else np.unique(self.unit[kept])

    def leaving(self, kept: np.ndarray, squares: np.ndarray, stop: int) -> np.ndarray:
        """Positions in ``kept`` of the columns to remove until ``stop`` units are left.

        ``squares`` are the squared weights of the columns.
        """
        units, size, counts = (kept, squares, None) if self.single else self._summed(kept, squares)
        later = (units >= self.pool) if units.size > self.pool else np.ones(units.size, dtype=bool)
        size = np.where(size > NEGLIGIBLE * size.max(initial=0.0), size, 0.0)
        rank = np.round(np.log(np.maximum(size, np.finfo(float).tiny)), TIE_DIGITS)
        rank[units < self.forced] = np.inf
        order = np.lexsort((-units, rank, ~later))
        number = units.size - stop
        lightest = np.sort(order[:number]) if self.needs is None else self.needs.first(units, order, number)
        if counts is None:
            return lightest
        going = np.zeros(units.size, dtype=bool)
        going[lightest] = True
        return np.flatnonzero(np.repeat(going, counts))

    def _summed(self, kept: np.ndarray, squares: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """(units, sums over their columns, numbers of columns) of the columns ``kept``."""
        unit = self.unit[kept]
        begins = np.flatnonzero(np.diff(unit, prepend=-1))
        sums = np.add.reduceat(squares, begins) if begins.size else squares
        return unit[begins], sums, np.diff(np.append(begins, unit.size))
