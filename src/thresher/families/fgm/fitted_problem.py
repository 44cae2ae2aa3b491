"""One problem during a fit: what growth took, the stations of elimination, and the pick."""

from collections.abc import Sequence

import numpy as np

from thresher.engine.growing import Grown, is_large
from thresher.engine.plans import Plan
from thresher.engine.threshing import Elimination, refitted, stops, thresh
from thresher.engine.working_set import WorkingSet
from thresher.families.fgm.spec import MOST_COLUMNS
from thresher.optim.problems.margins import Problem
from thresher.optim.solvers.solution import out_of_time
from thresher.results import Stop, StopReason, Trace, reached_text

CLEARLY = 0.02  # lower objective, by which the pick from a smaller pool is preferred
STRIDE = 0.01  # of the number wanted: units that leave at a time where a station is expensive
FINE = 100  # if no number is requested, the path has every number of features up to this one


class FittedProblem:
    """One problem during a fit: the turns of growth, the stations of elimination, and its pick.

    ``candidates`` are the results of growth under each plan; the pick comes from ``grown``; ``last`` is where
    elimination ended, with its columns.
    """

    def __init__(self, problem: Problem, candidates: Sequence[Grown], trace: Trace):
        self.problem, self.candidates, self.trace = problem, candidates, trace
        self.grown = candidates[-1]
        self.stations: dict[int, WorkingSet] = {}  # of elimination, by number of units
        self.stop, self.untried = self.grown.stop, False  # untried: the deadline passed before all candidates were
        taken = self.last = self.grown.taken
        self.pick = taken.heaviest(problem, taken.used if self.plan.wanted is None else self.plan.wanted)

    @property
    def plan(self) -> Plan:
        """The plan of the growth that the pick comes from."""
        return self.grown.plan

    @property
    def scores(self) -> np.ndarray:
        """Scores of the pick, (samples, classes)."""
        return self.problem.by_class(self.pick.solution.z).T + self.pick.solution.b

    def finish(self, *, eliminates: bool, debias: bool) -> None:
        """From what growth took to the pick."""
        if eliminates:
            self.thresh()
        elif debias:
            self.refit()

    def thresh(self) -> None:
        """Eliminate down to the pick, which has the number wanted; the rest of the path is left for later.

        The pick comes from the largest pool, unless that from a smaller one has a clearly lower objective.
        """
        if self.plan.wanted is None:
            return
        self.thresh_to_pick(carefully=True)
        for grown in self.candidates[-2::-1]:
            if out_of_time(grown.plan.deadline):
                self.untried = True
                return
            trial = FittedProblem(self.problem, [grown], self.trace)
            trial.thresh_to_pick()
            self.untried = trial.stop.reason is StopReason.MAX_TIME
            if trial.pick.used == self.pick.used and trial.objective < (1.0 - CLEARLY) * self.objective:
                trial.thresh_to_pick(carefully=True)
                self.grown = grown
                self.stations = trial.stations
                self.last = trial.last
                self.pick = trial.pick
                self.stop = trial.stop

    @property
    def objective(self) -> float:
        """1/2 ||w||^2 plus the loss of the pick."""
        solution = self.pick.solution
        return 0.5 * float(solution.w @ solution.w) + solution.loss

    @property
    def pool(self) -> WorkingSet:
        """The units that the pick comes from: those beyond the plan's reach are for the path alone."""
        taken, size = self.grown.taken, self.plan.reach
        return taken if size is None or size >= taken.units.size else taken.restricted(self.problem, np.arange(size))

    def thresh_to_pick(self, *, carefully: bool = False) -> None:
        """Eliminate down to the pick, a tenth of the units at a time; ``carefully`` by ones from twice that number on.

        Where stations are expensive, some units are removed at a time, and the numbers between are left for later: of
        groups with many columns a tenth, of large blocks ``stride`` ones.
        """
        pool, wanted = self.pool, self.plan.wanted
        if not pool.units.size or wanted is None:
            return
        target = min(wanted, pool.units.size)
        if not carefully:
            self.eliminate(pool, stops(pool.units.size, target, target))
            return
        fine = target if self.is_coarse else min(2 * wanted, pool.units.size)
        first, *counts = stops(pool.units.size, fine, target)
        self.eliminate(pool, [first, *(n for n in counts if (n - target) % self.stride == 0)], exact=target)

    @property
    def stride(self) -> int:
        """Units that leave at a time on the way to the pick: of large blocks one per cent of the number wanted."""
        if self.plan.wanted is None or self.is_coarse or not is_large(self.grown.taken.in_memory):
            return 1
        return max(1, int(STRIDE * self.plan.wanted))

    @property
    def is_coarse(self) -> bool:
        """Whether the pool has so many columns that not every number of groups is a station."""
        return self.plan.units.grouped and self.pool.columns.size > MOST_COLUMNS

    def eliminate(self, pool: WorkingSet, counts: Sequence[int], exact: int | None = None) -> None:
        """Eliminate to each of ``counts``; the pick is the last station."""
        number = None
        for left in thresh(self._elimination(pool, counts, exact=exact), self.trace, self.plan.deadline):
            number = left.units.size
            self.stations[number] = left
        if number != counts[-1]:
            self.stop = Stop(StopReason.MAX_TIME)
        if not self.stations:  # the pick is what growth has
            return
        self.last = pool.like(self.stations[min(self.stations)])
        self.pick = self.last.heaviest(self.problem, counts[-1])

    def rest(self) -> list[Elimination]:
        """What remains to be eliminated for the path: above the pool, and below the pick."""
        if self.stop.reason is StopReason.MAX_TIME or not self.pick.units.size:
            return []
        taken, wanted, reach = self.grown.taken, self.plan.wanted, self.plan.reach
        below, least = (self.pick if reach is None else self.last), max(1, taken.forced)
        counts = stops(below.units.size, FINE if wanted is None else below.units.size, least)
        copies = np.isin(below.units, self.grown.copies)
        first = int(np.count_nonzero(~copies)) if copies.any() else None  # copies go first
        rests = [self._elimination(below, counts if wanted is None else counts[1:], first)]
        if wanted is None or reach is None:
            return rests
        if self.is_coarse or self.stride > 1:
            pool = self.pool
            counts = stops(pool.units.size, min(2 * wanted, pool.units.size), min(wanted, pool.units.size))[:-1]
            rests.append(self._elimination(pool, counts))
        if taken.units.size > reach:
            rests.append(self._elimination(taken, stops(taken.units.size, 2 * wanted, reach)[:-1], reach))
        return rests

    def _elimination(
        self, taken: WorkingSet, counts: Sequence[int], pool: int | None = None, exact: int | None = None
    ) -> Elimination:
        return Elimination(taken, self.problem, self.grown.at_zero, self.plan, counts, pool, exact)

    def refit(self) -> None:
        """Refit the pick with the plain penalty 1/2 ||w||^2."""
        if self.pick.units.size:
            with self.trace.step("debias"):
                self.pick = refitted(self.pick, self.problem, self.plan.deadline)

    def why(self) -> Stop:
        """The reason to stop."""
        if self.is_late:
            return Stop(StopReason.MAX_TIME)
        reached = self.plan.wanted is not None and self.pick.used == self.plan.wanted
        return Stop(StopReason.REACHED, reached_text(self.pick.used, self.plan.units.noun)) if reached else self.stop

    @property
    def is_late(self) -> bool:
        """Whether the deadline left something out."""
        return self.untried or self.stop.reason is StopReason.MAX_TIME
