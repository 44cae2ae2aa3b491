"""One model that grows turn by turn: the two strategies of grow()."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from thresher.data.block import Block
from thresher.data.design import Design
from thresher.data.reducers import Reducer
from thresher.engine.plans import GatherPlan, GrowthPlan, Plan
from thresher.engine.taken import ScanResult, Taken
from thresher.optim.master import out_of_time
from thresher.optim.problem import Problem
from thresher.optim.solvers import solver_for
from thresher.results import Stop, StopReason, Trace, reached_text, relative

GROWING_TOL, FINAL_TOL = 1e-3, 1e-15  # of the objective: inner accuracy under inner_tol="auto"
GATHERING_TOL = 1e-5  # ... if elimination follows: what is taken should not depend on the solver
COARSE_TOL = 3e-3  # of the objective without units: inner accuracy for large blocks if elimination follows
LARGE = 1 << 20  # entries above which the columns taken are a large block
GATHERED = 1e-2  # of tol: the gap at which gathering stops, since further units would be noise
NOTHING = 1e-6  # an objective below this share of the one without units counts as zero
PATIENCE = 3  # turns below the wanted number of units after which the budget is considered too small

Earlier = tuple[np.ndarray, np.ndarray]  # units of an earlier fit, and weights (columns, classes) as solvers have them


@dataclass(frozen=True)
class Grown:
    """The result: what was taken, the model after each turn, bounds for the budget and for picks, why it stopped.

    ``pick_bound(n)`` is a lower bound of the objective over all subsets of n units.
    """

    taken: Taken
    turns: tuple[Taken, ...]
    budget: int
    lower_bound: float
    pick_bound: Callable[[int], float]
    at_zero: float
    stop: Stop
    interrupted: bool = False


def is_large(block: Block) -> bool:
    """Whether the block is so large that accuracy is expensive."""
    return block.shape[0] * block.shape[1] > LARGE


class Machine(ABC):
    """What both strategies share: what is taken, the budget, the best bounds so far, and the steps of a turn."""

    def __init__(self, design: Design, problem: Problem, plan: Plan, trace: Trace):
        self.design, self.problem, self.plan, self.trace = design, problem, plan, trace
        self.budget, self.forced = plan.budget, len(plan.forced)
        self.at_zero = problem.at_zero()
        self.lower_bound, self.best_pick_bound, self.gap = 0.0, 0.0, np.inf
        grouped = plan.units.members(np.zeros(0, dtype=np.int64)).sizes is not None
        self.taken = Taken.nothing(problem, grouped=grouped)
        self._last_scan: ScanResult | None = None
        self.stop: Stop | None = None
        self.turns: list[Taken] = []

    # the steps of a turn

    def vectors(self) -> np.ndarray:
        """The vectors to be scanned, as rows: one for each class."""
        return self.problem.by_class(self.taken.solution.dual_point.vector)

    @property
    def kept(self) -> int:
        """Number of scores that a scan must keep: enough for the bounds, and for the units to take next."""
        return max(self.budget, self.plan.wanted or 0, self.taken.units.size + self.budget)

    def reducer(self) -> Reducer:
        """The reducer of the scan."""
        return self.plan.units.reducer(self.kept, np.sort(self.taken.units))

    def record_scan(self, units: np.ndarray, squares: np.ndarray) -> None:
        """Keep the result of a scan."""
        known = self.taken.squares
        free = np.sort(np.concatenate([known[self.forced :], squares]))[::-1]
        rest = float(squares[-1]) if squares.size == self.kept else 0.0  # else no other unit has a score
        forced = float(known[: self.forced].sum())
        self._last_scan = ScanResult(self.taken.solution.dual_point, forced, free, units, rest)

    def certify(self) -> None:
        """Keep the best bounds seen so far."""
        self.lower_bound = max(self.lower_bound, self.last_scan.bound(self.budget))
        if self.plan.wanted is not None:
            self.best_pick_bound = max(self.best_pick_bound, self.last_scan.bound(self.plan.wanted - self.forced))
        self.gap = relative(self.taken.solution.objective - self.lower_bound, self.at_zero)
        self.turns.append(self.taken)

    def judge(self) -> None:
        """Check whether there is a reason to stop."""
        self.stop = self.reason_to_stop()

    @property
    def has_scanned(self) -> bool:
        """Whether a scan has been completed."""
        return self._last_scan is not None

    @property
    def last_scan(self) -> ScanResult:
        """Result of the last scan; ValueError before the first."""
        if self._last_scan is None:
            raise ValueError("no scan has been completed yet")
        return self._last_scan

    @property
    def has_model(self) -> bool:
        """Whether at least one turn is done."""
        return self.has_scanned and self.taken.used > 0

    def cut_short(self) -> None:
        """The scan after this turn was stopped by the deadline: keep the model, with the bounds of earlier scans."""
        self.turns.append(self.taken)
        self.stop = Stop(StopReason.MAX_TIME)

    @abstractmethod
    def requested(self) -> np.ndarray:
        """The units to take now."""

    @abstractmethod
    def grown(self) -> None:
        """Solve the master problem on all units taken."""

    def finish(self) -> None:  # noqa: B027 (optional for a strategy)
        """Called when all machines have stopped."""

    # helpers of the steps

    @property
    @abstractmethod
    def has_reached(self) -> bool:
        """Whether the number of units of the plan is reached."""

    @property
    @abstractmethod
    def is_optimal(self) -> bool:
        """Whether the gap is so small that more turns would gain nothing."""

    default_tol: float

    @property
    def growing_tol(self) -> float:
        """Inner accuracy while growing."""
        return self.default_tol if self.plan.inner_tol is None else self.plan.inner_tol

    def reason_to_stop(self) -> Stop | None:
        """Why to stop now, or None."""
        plan, used = self.plan, self.taken.used
        if self.has_reached:
            return Stop(StopReason.REACHED, "" if plan.wanted is None else reached_text(plan.wanted))
        if out_of_time(plan.deadline) and used > 0:
            return Stop(StopReason.MAX_TIME)
        if len(self.turns) > plan.max_turns:
            return Stop(StopReason.MAX_ITER, f"stopped early: max_iter={plan.max_turns} reached")
        if self.last_scan.dual.is_zero:
            return Stop(StopReason.NO_LOSS)
        if self.last_scan.best.size == 0:
            return Stop(StopReason.NO_SCORE)
        if self.is_optimal:
            return Stop(StopReason.CONVERGED, f"converged: duality gap {self.gap:.1e} <= tol={plan.tol:g}")
        return None

    @property
    def final_tol(self) -> float:
        """Inner accuracy of the model that is returned."""
        return FINAL_TOL if self.plan.inner_tol is None else self.plan.inner_tol

    def is_rough(self, taken: Taken) -> bool:
        """Whether a coarse solution is sufficient."""
        return self.plan.rough

    def begin(self, start: Earlier | None) -> None:
        """Take the forced units and those of an earlier fit, and solve on them.

        ``start`` is (units, weights (columns, classes) as solvers have them), or None.
        """
        forced = np.asarray(self.plan.forced, dtype=np.int64)
        earlier = np.zeros(0, dtype=np.int64) if start is None else start[0][~np.isin(start[0], forced)]
        for units in (forced, earlier):
            if units.size:
                members = self.plan.units.members(units)
                with self.trace.step("take", *self.design.take_cost(members.columns)):
                    self.taken = self.taken.joined(units, members, self.plan.units.take(self.design, units))
        self.taken = replace(self.taken, forced=forced.size)
        if start is not None and self.taken.units.size:
            self.taken = self.taken.at(self._spread(*start))
        self.solve(self.growing_tol)

    def _spread(self, units: np.ndarray, weights: np.ndarray) -> np.ndarray:
        """Weights of some units on all columns taken."""
        W = np.zeros((self.taken.columns.size, self.problem.classes))
        order = np.argsort(self.taken.units)
        positions = order[np.searchsorted(self.taken.units[order], units)]
        W[self.taken.layout.columns(positions)] = weights
        return W

    def solve(self, tol: float, taken: Taken | None = None) -> None:
        """Solve the master problem on the units taken (or on ``taken``), from where the last solve ended.

        The deadline applies from the second turn on: one turn is always completed.
        """
        taken = self.taken if taken is None else taken
        if taken.units.size == 0:
            return
        if self.is_rough(taken) and self.plan.inner_tol is None:
            tol = COARSE_TOL * self.at_zero
        else:
            tol *= max(min(taken.solution.objective, self.at_zero), NOTHING * self.at_zero)
        penalty = self.plan.penalty(taken, self.budget)
        solver = solver_for(self.problem, penalty)
        with self.trace.step("solve"):
            solution = solver.solve(
                taken.columns_of_classes,
                self.problem,
                penalty,
                taken.start,
                tol=tol,
                deadline=self.plan.deadline if len(self.turns) > 1 else None,
            )
        self.taken = taken.solved(solution)

    def pick_bound(self, used: int) -> float:
        """The bound for models on ``used`` units: the best of all turns if that many were wanted, else the last."""
        if used == self.plan.wanted:
            return self.best_pick_bound
        return self.last_scan.bound(used - self.forced)

    def result(self, interrupted: bool) -> Grown:
        """The result of this machine."""
        return Grown(
            self.taken,
            tuple(self.turns),
            self.budget,
            self.lower_bound,
            self.pick_bound,
            self.at_zero,
            Stop(StopReason.INTERRUPTED) if interrupted or self.stop is None else self.stop,
            interrupted,
        )


class Gatherer(Machine):
    """Gathers units for thresh(): see GatherPlan."""

    plan: GatherPlan
    default_tol = GATHERING_TOL

    @property
    def kept(self) -> int:
        """See Machine; includes the units that are added in the end."""
        return max(super().kept, self.plan.at_least)

    @property
    def has_reached(self) -> bool:
        """Whether ``reach`` units, at least one, are taken."""
        return self.taken.units.size >= max(self.plan.reach, 1)

    @property
    def is_optimal(self) -> bool:
        """Whether further units would be noise."""
        return self.taken.units.size >= self.plan.wanted and self.gap <= GATHERED * self.plan.tol

    def is_rough(self, taken: Taken) -> bool:
        """See Machine; for large blocks accuracy is expensive and does not improve the picks."""
        return self.plan.rough or is_large(taken.in_memory)

    def requested(self) -> np.ndarray:
        """The units to take now; after the last turn those up to ``at_least``."""
        if self.stop:
            return self.last_scan.best[: max(0, self.plan.at_least - self.taken.units.size)]
        return self.last_scan.best[: max(0, min(self.budget, self.plan.reach - self.taken.units.size))]

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
        if stop is None and plan.wanted is None and self.taken.used and decrease <= plan.min_decrease * self.at_zero:
            text = f"converged: the objective decreased by less than {plan.min_decrease:g} of its value at zero weights"
            return Stop(StopReason.SMALL_DECREASE, text)
        return stop

    def judge(self) -> None:
        """Raise the budget if it is too small; else check whether there is a reason to stop."""
        if self.is_stuck():
            self.loosen()
        else:
            super().judge()

    def requested(self) -> np.ndarray:
        """See Machine."""
        if self.stop:
            return self.last_scan.best[:0]
        missing = np.inf if self.plan.wanted is None else self.plan.wanted - self.taken.used
        return self.last_scan.best[: int(min(self.budget, max(missing, 0)))]

    def begin(self, start: Earlier | None) -> None:
        """See Machine."""
        super().begin(start)
        if self.has_reached and self.taken.units.size:
            self.settle()

    def grown(self) -> None:
        """See Machine; as soon as enough units have weight, the model is solved to the final accuracy."""
        self.last_objective = self.taken.solution.objective
        self.solve(self.growing_tol if self.gap > self.plan.tol else self.final_tol)
        wanted = self.plan.wanted
        if wanted is not None and self.taken.used >= wanted:
            self.settle()
            self.misses += self.taken.used < wanted

    def finish(self) -> None:
        """See Machine."""
        if self.plan.wanted is None:
            self.settle()

    def settle(self) -> None:
        """Solve to the final accuracy; if more units than wanted have weight, keep the largest and solve again."""
        self.solve(self.final_tol)
        wanted = self.plan.wanted
        if wanted is not None and self.taken.used > wanted:
            self.solve(self.final_tol, self.taken.heaviest(self.problem, wanted))

    def is_stuck(self) -> bool:
        """Whether the optimum under this budget seems to have fewer units than wanted, and ``loosen`` can help."""
        plan, taken, best = self.plan, self.taken, self.last_scan.best
        if plan.wanted is None or not plan.may_raise or self.has_reached or out_of_time(plan.deadline):
            return False
        no_progress = self.gap <= plan.tol or self.misses >= PATIENCE or best.size == 0
        can_raise = self.budget < self.largest_budget and taken.units.size + best.size > 0
        can_fill = self.budget == self.largest_budget and taken.units.size >= plan.wanted and not self.filled
        return no_progress and (can_raise or can_fill) and len(self.turns) <= plan.max_turns

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
        self.lower_bound = self.last_scan.bound(self.budget)
        self.solve(self.growing_tol)
        if self.has_reached:
            self.settle()

    def fill_up(self) -> None:
        """Keep the units in the model and those with the best scores among the others, as many as wanted."""
        self.filled = True
        rank = np.sqrt(self.taken.squares)
        rank[self.taken.positions] = np.inf
        keep = np.sort(np.argsort(-rank, kind="stable")[: self.plan.wanted])
        self.solve(self.final_tol, self.taken.restricted(self.problem, keep))

    def result(self, interrupted: bool) -> Grown:
        """See Machine; if ``wanted`` is None, the final model is the last turn."""
        grown = super().result(interrupted)
        return grown if self.plan.wanted is not None else replace(grown, turns=(*grown.turns, self.taken))
