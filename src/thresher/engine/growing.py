"""One model that grows turn by turn: what both strategies of grow() share."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field, replace

import numpy as np

from thresher.data.blocks.base import Block
from thresher.data.designs.base import Design
from thresher.data.designs.units import RankingRequest
from thresher.data.scan.reducers import Ranked
from thresher.engine.copies import MARGIN, NONE, Copies, fingerprints
from thresher.engine.plans import Plan
from thresher.engine.working_set import ScanResult, WorkingSet
from thresher.features.base import Earlier
from thresher.optim.dispatch import solver_for
from thresher.optim.problems.margins import Problem
from thresher.optim.solvers.solution import out_of_time
from thresher.results import Stop, StopReason, Trace, reached_text, relative

COARSE_TOL = 3e-3  # of the objective without units: inner accuracy for large blocks if elimination follows
COMPARED_TOL = 1e-2  # ... of models that are compared only, where the loss is a maximum over cuts
LARGE_BLOCK = 1 << 20  # entries above which the columns taken are a large block
WITHIN = 0.3  # of the gap at which growth ends: the inner accuracy must be better
NOTHING = 1e-6  # an objective below this share of the one without units counts as zero


@dataclass(frozen=True)
class Grown:
    """What growth under a plan took, the model after each turn, bounds for the budget and for picks, why it stopped.

    ``pick_bound(n)`` is a lower bound of the objective over all subsets of n units. ``copies`` are those of the units
    taken, always the last ones, that are equal to others: there were not enough without them.
    """

    plan: Plan
    taken: WorkingSet
    turns: tuple[WorkingSet, ...]
    budget: int
    lower_bound: float
    pick_bound: Callable[[int], float]
    at_zero: float
    stop: Stop
    copies: np.ndarray = field(default_factory=lambda: NONE)


@dataclass(frozen=True)
class PickBound:
    """A lower bound of the objective on any n units: ``best`` of all turns if n were wanted, else that of a scan."""

    wanted: int | None
    forced: int
    best: float
    scan: ScanResult

    def __call__(self, n_units: int) -> float:
        """The bound for ``n_units`` units."""
        return self.best if n_units == self.wanted else self.scan.bound(n_units - self.forced, copies=True)


def is_large(block: Block) -> bool:
    """Whether the block is so large that accuracy is expensive."""
    return block.shape[0] * block.shape[1] > LARGE_BLOCK


class GrowingModel(ABC):
    """What both strategies share: what is taken, the budget, the best bounds so far, and the steps of a turn."""

    def __init__(self, design: Design, problem: Problem, plan: Plan, trace: Trace):
        self.design, self.problem, self.plan, self.trace = design, problem, plan, trace
        self.budget = plan.budget
        self.at_zero = problem.at_zero()
        self.lower_bound, self.best_pick_bound, self.gap = 0.0, 0.0, np.inf
        self.taken = WorkingSet.nothing(problem, grouped=plan.units.grouped)
        self.last_scan: ScanResult  # once there was one: see ``has_scanned``
        self.has_scanned = False
        self.stop: Stop | None = None
        self.turns: list[WorkingSet] = []
        self.copies, self.filled_with = Copies(problem.samples_that_count(), allowed=plan.units.grouped), NONE
        self._number, self.has_grown = 0, True  # units to be taken, whether any were

    # the steps of a turn

    @property
    def kept(self) -> int:
        """Number of scores that a scan must keep: enough for the bounds, and for the units to take next.

        The bounds of larger picks are better with more, which cost nothing unless the design prunes.
        """
        least = max(self.budget, self.plan.wanted or 0)
        return least if self.design.prunes else max(least, self.taken.units.size + self.budget)

    def ranking_request(self) -> RankingRequest:
        """What is asked of the next scan: the vectors of all classes, and which units it must rank."""
        size, copies = self.kept, self.copies
        exclude = np.union1d(self.taken.units, np.asarray(self.plan.exclude, dtype=np.int64))
        if not self.plan.units.grouped:
            size += MARGIN + copies.extra
            exclude = np.union1d(exclude, copies.left_out(self.taken)[0])
        V = self.problem.by_class(self.taken.solution.dual_point.vector)
        return RankingRequest(V, self.taken.units, self.taken.block, size, exclude)

    def record_scan(self, ranked: Ranked, eligible: Ranked | None) -> None:
        """Keep the best units of a scan and their scores; of ``eligible`` units alone some are taken, None: of all."""
        known, kept, forced = self.taken.squares, ranked[1][: self.kept], self.taken.forced
        free = np.sort(np.concatenate([known[forced:], kept]))[::-1]
        rest = float(kept[-1]) if kept.size == self.kept else 0.0  # else no other unit has a score
        copies = known[self.copies.left_out(self.taken)[1]]
        best = ranked if eligible is None else eligible
        dual, of_forced = self.taken.solution.dual_point, float(known[:forced].sum())
        self.last_scan = ScanResult(dual, of_forced, free, *best, rest, copies)
        self.has_scanned = True

    def certify(self) -> None:
        """Keep the best bounds seen so far."""
        self.lower_bound = max(self.lower_bound, self.last_scan.bound(self.budget))
        if self.plan.wanted is not None:
            bound = self.last_scan.bound(self.plan.wanted - self.taken.forced, copies=True)
            self.best_pick_bound = max(self.best_pick_bound, bound)
        self.gap = relative(self.taken.solution.objective - self.lower_bound, self.at_zero)
        self.turns.append(self.taken)

    def judge(self) -> None:
        """Check whether there is a reason to stop."""
        self.stop = self.reason_to_stop()

    @property
    def has_model(self) -> bool:
        """Whether at least one turn is done."""
        return self.has_scanned and self.taken.used > 0

    def cut_short(self) -> None:
        """The deadline passed in this turn or in the scan after it: keep the model, and the bounds of earlier scans."""
        self.turns.append(self.taken)
        self.stop = Stop(StopReason.MAX_TIME)

    @abstractmethod
    def candidates(self) -> tuple[np.ndarray, int]:
        """(positions in ``last_scan.best`` of the units that may be taken now, how many to take)."""

    def requested(self) -> np.ndarray:
        """The units to look at now: those to take or, where there may be copies, some more."""
        positions, self._number = self.candidates()
        units = self.last_scan.best[positions]
        return units[: self.copies.window(units, self.last_scan.best_squares[positions], self._number)]

    def accept(self, units: np.ndarray, block: Block) -> None:
        """Take of ``units``, which were requested, those that are not copies; ``block`` has their columns."""
        keep = self.copies.distinct(units, block, self.taken, self._number)
        if not np.array_equal(keep, np.arange(units.size)):
            units = units[keep]
            block = block.take(keep)
        self.has_grown = units.size > 0
        if self.has_grown:
            self.taken = self.taken.joined(units, self.plan.units.members(units), block)

    @abstractmethod
    def grown(self) -> None:
        """Solve the problem on all units taken."""

    def finish(self) -> None:  # noqa: B027 (optional for a strategy)
        """Called when all models have stopped."""

    # helpers of the steps

    @property
    @abstractmethod
    def has_reached(self) -> bool:
        """Whether the number of units of the plan is reached."""

    @property
    @abstractmethod
    def is_optimal(self) -> bool:
        """Whether the gap is so small that more turns would gain nothing."""

    default_tol: float  # inner accuracy while growing

    def reason_to_stop(self) -> Stop | None:
        """Why to stop now, or None."""
        plan, used, exhausted = self.plan, self.taken.used, self.exhausted
        if self.has_reached:
            return Stop(StopReason.REACHED, "" if plan.wanted is None else reached_text(plan.wanted, plan.units.noun))
        if self.is_optimal or (exhausted and self.gap <= plan.tol):
            text = f"converged: duality gap {self.gap:.1e} <= tol={plan.tol:g}"
            fewer = plan.wanted is not None or used == 0  # then say why there are no more features
            return Stop(StopReason.CONVERGED, f"{text}; {self._said(exhausted)}" if exhausted and fewer else text)
        if used > 0 and out_of_time(plan.deadline):
            return Stop(StopReason.MAX_TIME)
        if len(self.turns) > plan.max_turns:
            return Stop(StopReason.MAX_ITER, f"stopped early: max_iter={plan.max_turns} reached")
        return None if exhausted is None else Stop(exhausted, self._said(exhausted))

    def _said(self, reason: StopReason) -> str:
        """The stop reason, with the noun of the units."""
        text = reason.value
        if reason is StopReason.NO_LOSS and self.at_zero == 0.0:
            text = "zero loss without any feature, so none is needed"
        return text.replace("feature", self.plan.units.noun)

    @property
    def exhausted(self) -> StopReason | None:
        """Why there is nothing more to take, if there is nothing."""
        if self.last_scan.dual.is_zero:
            return StopReason.NO_LOSS
        return StopReason.NO_SCORE if self.last_scan.best.size == 0 else None

    def is_rough(self, taken: WorkingSet) -> bool:
        """Whether a coarse solution is sufficient."""
        return self.plan.rough

    def begin(self, start: Earlier | None) -> None:
        """Take the forced units and those of an earlier fit, and solve on them.

        ``start`` is (units, weights (columns, classes) as solvers have them), or None.
        """
        forced = np.asarray(self.plan.forced, dtype=np.int64)
        if forced.size:
            block = self._read(forced)
            self.taken = self.taken.joined(forced, self.plan.units.members(forced), block)
            if not self.plan.units.grouped:
                self.copies.note(forced, fingerprints(block, self.copies.rows))
        self.taken = replace(self.taken, forced=forced.size)
        if start is not None:
            earlier = start[0][~np.isin(start[0], forced)]
            if earlier.size:
                self._number = earlier.size
                self.accept(earlier, self._read(earlier))
            there = np.isin(start[0], self.taken.units)  # all but copies, which are single columns
            if self.taken.units.size:
                W = np.zeros((self.taken.columns.size, self.problem.classes))
                weights = start[1] if there.all() else start[1][there]
                W[self.taken.layout.columns(self.taken.places(start[0][there]))] = weights
                self.taken = self.taken.at(W)
        self.solve()

    def _read(self, units: np.ndarray) -> Block:
        """The columns of ``units``, in memory."""
        with self.trace.step("take", *self.design.take_cost(self.plan.units.members(units).columns)):
            return self.plan.units.take(self.design, units)

    def solve(self, taken: WorkingSet | None = None, *, final: bool = False) -> None:
        """Solve the problem on the units taken (or on ``taken``), from where the last solve ended.

        ``final`` is the accuracy of the model that is returned. When the deadline has passed, a model that there is
        stays as it is; the first one gets a single step.
        """
        if taken is None and out_of_time(self.plan.deadline) and self.taken.used > self.taken.forced:
            return
        taken = self.taken if taken is None else taken
        if taken.units.size == 0:
            return
        penalty = self.plan.penalty(taken, self.budget)
        block = taken.columns_of_classes
        solver = solver_for(self.problem, penalty)
        start, tol = taken.solution.start, self.inner_tol(taken, final=final)
        with self.trace.step("solve"):
            solution = solver.solve(block, self.problem, penalty, start, tol=tol, deadline=self.plan.deadline)
        self.taken = replace(taken, solution=solution)

    def inner_tol(self, taken: WorkingSet, *, final: bool) -> float:
        """The accuracy to which the problem on ``taken`` is solved: of its objective, or of that without units."""
        plan, accuracy = self.plan, self.problem.accuracy
        scale = max(min(taken.solution.objective, self.at_zero), NOTHING * self.at_zero)
        if plan.inner_tol is not None:
            return plan.inner_tol * scale
        tol = (plan.final_tol if final else self.default_tol) * scale
        if self.is_rough(taken):
            tol = (COMPARED_TOL if plan.rough and accuracy > 0.0 else COARSE_TOL) * self.at_zero
        # below the gap that growth is to reach
        return tol if final else max(tol, min(accuracy, WITHIN * plan.tol) * self.at_zero)

    def result(self) -> Grown:
        """The result of this model, when it has stopped."""
        return Grown(
            self.plan,
            self.taken,
            tuple(self.turns),
            self.budget,
            self.lower_bound,
            PickBound(self.plan.wanted, self.taken.forced, self.best_pick_bound, self.last_scan),
            self.at_zero,
            self.stop or Stop(StopReason.INTERRUPTED),
            self.filled_with,
        )
