"""The two strategies of growth: gather units for elimination, or grow a final model."""

from dataclasses import replace

import numpy as np

from thresher.data.designs.base import Design
from thresher.engine.growing import Earlier, Grown, Machine, is_large
from thresher.engine.plans import GatherPlan, GrowthPlan
from thresher.engine.working_set import Taken
from thresher.optim.problems.margins import Problem
from thresher.optim.solvers.solution import out_of_time
from thresher.results import Stop, StopReason, Trace, relative

GROWING_TOL = 1e-3  # of the objective: inner accuracy while growing under inner_tol="auto"
GATHERING_TOL = 1e-5  # ... if elimination follows: what is taken should not depend on the solver
GATHERED = 1e-2  # of tol: the gap at which gathering stops, since further units would be noise
PATIENCE = 3  # turns below the wanted number of units after which the budget is considered too small


class Gatherer(Machine):
    """Gathers units for thresh(): see GatherPlan."""

    plan: GatherPlan
    default_tol = GATHERING_TOL

    @property
    def kept(self) -> int:
        """See Machine; includes the units that are added in the end."""
        missing = self.taken.units.size if self.design.prunes else 0  # those that are taken need not be added
        return max(super().kept, self.plan.at_least - missing)

    @property
    def has_reached(self) -> bool:
        """Whether ``reach`` units, at least one, are taken."""
        return self.taken.units.size >= max(self.plan.reach, 1)

    @property
    def is_optimal(self) -> bool:
        """Whether further units would be noise."""
        return self.taken.units.size >= self.plan.wanted and self.gap <= GATHERED * self.plan.tol

    def is_rough(self, taken: Taken) -> bool:
        """See Machine; where accuracy is expensive, as for large blocks, it does not improve the picks."""
        return self.plan.rough or is_large(taken.in_memory) or self.problem.accuracy > 0.0

    def candidates(self) -> tuple[np.ndarray, int]:
        """See Machine; after the last turn those up to ``at_least``."""
        best, taken = self.last_scan.best, self.taken.units
        if self.stop:
            known = np.concatenate([taken, self.copies.units])
            left = np.flatnonzero(~np.isin(best, known))  # a scan that was cut short knows nothing of the last turn
            return left, max(0, self.plan.at_least - taken.size)
        return np.arange(best.size), max(0, min(self.budget, self.plan.reach - taken.size))

    def finish(self) -> None:
        """See Machine; where too few columns have a score, copies of them fill the rest."""
        copies = np.sort(self.copies.left_out(self.taken)[0])
        copies = copies[: max(0, self.plan.wanted - self.taken.units.size)]
        if copies.size:
            self.taken = self.taken.joined(copies, self.plan.units.members(copies), self._read(copies))
            self.filled_with = copies

    def grown(self) -> None:
        """See Machine."""
        self.solve(self.growing_tol)


class Grower(Machine):
    """Grows to the end: see GrowthPlan."""

    plan: GrowthPlan
    default_tol = GROWING_TOL

    def __init__(self, design: Design, problem: Problem, plan: GrowthPlan, trace: Trace):
        super().__init__(design, problem, plan, trace)
        self.last_objective, self.misses, self.filled = np.inf, 0, False

    @property
    def has_reached(self) -> bool:
        """Whether as many units as wanted have weight."""
        return self.plan.wanted is not None and self.taken.used >= self.plan.wanted

    @property
    def is_optimal(self) -> bool:
        """Whether the gap is at most the tolerance; no reason to stop if the budget may be raised."""
        return self.gap <= self.plan.tol and not (self.plan.wanted is not None and self.plan.may_raise)

    def reason_to_stop(self) -> Stop | None:
        """See Machine; if ``wanted`` is None, also stops when the objective hardly decreases."""
        stop, plan = super().reason_to_stop(), self.plan
        decrease = self.last_objective - self.taken.solution.objective
        # a turn whose candidates are all copies takes nothing, which says nothing about the next one
        stalled = self.has_grown and decrease <= plan.min_decrease * self.at_zero
        if stop is None and plan.wanted is None and self.taken.used and stalled:
            text = f"converged: the objective decreased by less than {plan.min_decrease:g} of its value at zero weights"
            return Stop(StopReason.SMALL_DECREASE, text)
        return stop

    def judge(self) -> None:
        """Raise the budget if it is too small; else check whether there is a reason to stop."""
        if self.is_stuck():
            self.loosen()
        elif self.needs_copies():
            self.allow_copies()
        else:
            super().judge()

    def candidates(self) -> tuple[np.ndarray, int]:
        """See Machine."""
        if self.stop:
            return np.arange(0), 0
        missing = np.inf if self.plan.wanted is None else self.plan.wanted - self.taken.used
        return np.arange(self.last_scan.best.size), int(min(self.budget, max(missing, 0)))

    def begin(self, start: Earlier | None) -> None:
        """See Machine."""
        super().begin(start)
        if self.has_reached and self.taken.units.size:
            self.settle()

    def grown(self) -> None:
        """See Machine; as soon as enough units have weight, the model is solved to the final accuracy."""
        self.last_objective = self.taken.solution.objective
        near = self.gap <= self.plan.tol
        self.solve(self.final_tol if near else self.growing_tol, final=near)
        wanted = self.plan.wanted
        if wanted is not None and self.taken.used >= wanted:
            self.settle()
            self.misses += self.taken.used < wanted

    def finish(self) -> None:
        """See Machine; where nothing was left to take, the final accuracy may be what the gap still needed."""
        if self.plan.wanted is None and not out_of_time(self.plan.deadline):
            self.settle()
            self.gap = relative(self.taken.solution.objective - self.lower_bound, self.at_zero)
            if self.stop is not None and self.stop.reason is StopReason.NO_SCORE and self.is_optimal:
                self.stop = self.reason_to_stop()

    def settle(self) -> None:
        """Solve to the final accuracy; if more units than wanted have weight, keep the largest and solve again."""
        self.solve(self.final_tol, final=True)
        wanted = self.plan.wanted
        if wanted is not None and self.taken.used > wanted:
            self.solve(self.final_tol, self.taken.heaviest(self.problem, wanted), final=True)

    def is_stuck(self) -> bool:
        """Whether the optimum under this budget seems to have fewer units than wanted, and ``loosen`` can help."""
        plan, taken, best = self.plan, self.taken, self.last_scan.best
        if plan.wanted is None or not plan.may_raise or self.has_reached or out_of_time(plan.deadline):
            return False
        no_progress = self.gap <= plan.tol or self.misses >= PATIENCE or best.size == 0
        can_raise = self.budget < self.largest_budget and taken.units.size + best.size > 0
        can_fill = self.budget == self.largest_budget and taken.units.size >= plan.wanted and not self.filled
        return no_progress and (can_raise or can_fill) and len(self.turns) <= plan.max_turns

    def needs_copies(self) -> bool:
        """Whether more features are wanted than columns other than copies have a score."""
        plan, unable = self.plan, out_of_time(self.plan.deadline) or len(self.turns) > self.plan.max_turns
        if plan.wanted is None or self.has_reached or unable or self.last_scan.best.size:
            return False
        return self.copies.left_out(self.taken)[0].size > 0

    def allow_copies(self) -> None:
        """Take copies, too, from now on; the bound is then about models with copies."""
        copies, places = self.copies.left_out(self.taken)
        order = np.lexsort((copies, -self.taken.squares[places]))
        squares = self.taken.squares[places][order]
        self._last_scan = replace(self.last_scan, best=copies[order], best_squares=squares)
        self.copies.allowed = True
        self.lower_bound = self.last_scan.bound(self.budget, copies=True)

    def loosen(self) -> None:
        """Double the budget; if it is at its maximum, fill up with taken units of weight zero."""
        if self.budget < self.largest_budget:
            self.raise_budget()
        else:
            self.fill_up()

    @property
    def largest_budget(self) -> int:
        """With as many units as wanted, the penalty under this budget is the plain square: all of them get weight.

        0 if ``wanted`` is None.
        """
        return 0 if self.plan.wanted is None else self.plan.wanted - self.forced

    def raise_budget(self) -> None:
        """Double the budget, and solve again."""
        self.budget, self.misses = min(2 * self.budget, self.largest_budget), 0
        self.lower_bound = self.last_scan.bound(self.budget, copies=self.copies.allowed)
        self.solve(self.growing_tol)
        if self.has_reached:
            self.settle()

    def fill_up(self) -> None:
        """Keep the units in the model and those with the best scores among the others, as many as wanted."""
        self.filled = True
        rank = np.sqrt(self.taken.squares)
        rank[self.taken.positions] = np.inf
        keep = np.sort(np.argsort(-rank, kind="stable")[: self.plan.wanted])
        self.solve(self.final_tol, self.taken.restricted(self.problem, keep), final=True)

    def result(self, interrupted: bool) -> Grown:
        """See Machine; if ``wanted`` is None, the final model is the last turn."""
        grown = super().result(interrupted)
        return grown if self.plan.wanted is not None else replace(grown, turns=(*grown.turns, self.taken))
