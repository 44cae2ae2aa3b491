"""grow(): scan, take, solve, certify, until there is a reason to stop.

Each turn scans all columns once, takes the best ones not yet taken, solves the master problem on the taken columns and
so gets the vector for the next scan. The same scan certifies: with the scores of all columns at hand, the dual
function gives a value that no model can go below.
"""

from dataclasses import dataclass, replace

import numpy as np

from thresher.data.block import Block
from thresher.data.reducers import TopK
from thresher.data.stacked import stack
from thresher.optim import apg, newton
from thresher.optim.master import Solution, Start, out_of_time
from thresher.optim.penalties import GroupSum, KSupport

GROWING_TOL, FINAL_TOL = 1e-3, 1e-15  # of the objective: inner accuracy under inner_tol="auto"
NOTHING = 1e-6  # an objective below this share of the one without features counts as zero
PATIENCE = 3  # turns without the asked number of features after which the budget is too small


@dataclass(frozen=True)
class Plan:
    """What grow() is asked to do.

    ``wanted`` features (None: until ``tol``), ``budget`` of the penalty and features a turn (raised when it turns out
    too small for ``wanted``, if ``may_raise``), ``forced`` columns outside it, ``master`` "k_support" or "groups".
    """

    wanted: int | None
    budget: int
    may_raise: bool = False
    tol: float = 1e-3
    inner_tol: float | None = None
    min_decrease: float = 0.0
    max_turns: int = 100
    deadline: float | None = None
    forced: tuple[int, ...] = ()
    master: str = "k_support"


@dataclass(frozen=True)
class Taken:
    """The columns taken so far, in order of taking (forced ones first), and the solution on them."""

    ids: np.ndarray
    turn: np.ndarray
    block: Block | None
    solution: Solution
    forced: int = 0

    @property
    def positions(self):
        """Positions of the columns in the model: the forced ones, and the others with non-zero weight."""
        return np.concatenate([np.arange(self.forced), self.forced + np.flatnonzero(self.solution.w[self.forced :])])

    @property
    def used(self):
        """Number of columns in the model."""
        return self.forced + int(np.count_nonzero(self.solution.w[self.forced :]))


@dataclass(frozen=True)
class Sight:
    """What a scan saw: a dual point, squared scores of the forced columns (summed) and the largest others."""

    alpha: np.ndarray
    forced: float
    squares: np.ndarray
    best: np.ndarray

    def bound(self, problem, budget):
        """The dual value: no model with ``budget`` columns besides the forced ones can go below."""
        return problem.dual_value(self.alpha, self.forced + float(self.squares[:budget].sum()))


@dataclass(frozen=True)
class Grown:
    """The result: what was taken, bounds for the budget and for the pick, and why it ended."""

    taken: Taken
    budget: int
    lower_bound: float
    pick_bound: float
    at_zero: float
    reason: str
    interrupted: bool = False


def grow(design, problem, plan, trace, start=None, watch=lambda turn: None):
    """Take features until there is a reason to stop; ``start`` is (ids, weights) of an earlier fit to begin from."""
    machine = _Machine(design, problem, plan, trace)
    machine.begin(start)
    reason, interrupted = "", False
    try:
        while not reason:
            sight = machine.scan()
            watch(machine.certify(sight))
            if machine.is_stuck(sight):
                machine.loosen()
            else:
                reason = machine.reason_to_stop(sight)
            if not reason:
                machine.take_and_solve(sight)
        if plan.wanted is None:
            machine.settle()
    except KeyboardInterrupt:
        if machine.sight is None:
            raise
        reason, interrupted = "interrupted", True
    taken = machine.taken
    return Grown(
        taken,
        machine.budget,
        machine.lower_bound,
        machine.pick_bound(taken.used),
        machine.at_zero,
        reason,
        interrupted,
    )


class _Machine:
    """The moving parts of grow(): what is taken, the budget, and the best bounds so far."""

    def __init__(self, design, problem, plan, trace):
        self.design, self.problem, self.plan, self.trace = design, problem, plan, trace
        self.budget, self.forced = plan.budget, len(plan.forced)
        self.at_zero = problem.at_zero()
        self.lower_bound, self.best_pick_bound = 0.0, 0.0
        self.taken, self.sight, self.last_objective, self.misses, self.filled = None, None, np.inf, 0, False

    # the four steps of a turn

    def scan(self):
        """One pass over X: the best columns not yet taken, and the scores for the certificate."""
        solution = self.taken.solution
        size = max(self.budget, self.plan.wanted or 0, self.taken.ids.size + self.budget)
        with self.trace.step("scan", 1.0, self.design.nbytes):
            reducer = TopK(size, exclude=np.sort(self.taken.ids))
            ((ids, squares),) = self.design.scan(solution.alpha * self.problem.y, reducer)
        known = solution.scores**2
        free = np.sort(np.concatenate([known[self.forced :], squares]))[::-1]
        self.sight = Sight(solution.alpha, float(known[: self.forced].sum()), free, ids)
        return self.sight

    def certify(self, sight):
        """Keep the best bounds seen so far and record the turn."""
        with self.trace.step("certify"):
            self.lower_bound = max(self.lower_bound, sight.bound(self.problem, self.budget))
            if self.plan.wanted is not None:
                bound = sight.bound(self.problem, self.plan.wanted - self.forced)
                self.best_pick_bound = max(self.best_pick_bound, bound)
        return self.trace.turned(self.taken.used, self.taken.solution.objective, self.lower_bound, self.at_zero)

    def take_and_solve(self, sight):
        """Take the best new columns and solve the master problem on all that are taken."""
        self.last_objective = self.taken.solution.objective
        missing = np.inf if self.plan.wanted is None else self.plan.wanted - self.taken.used
        self.take(sight.best[: int(min(self.budget, max(missing, 0)))])
        self.solve(self.growing_tol if self.gap > self.plan.tol else self.final_tol)
        if self.plan.wanted is not None and self.taken.used >= self.plan.wanted:
            self.settle()
            self.misses += self.taken.used < self.plan.wanted

    def is_stuck(self, sight):
        """Whether the optimum under this budget seems to have fewer features than wanted, and something can be done."""
        plan, taken = self.plan, self.taken
        if plan.wanted is None or not plan.may_raise or taken.used >= plan.wanted or out_of_time(plan.deadline):
            return False
        no_progress = self.gap <= plan.tol or self.misses >= PATIENCE or sight.best.size == 0
        can_raise = self.budget < self.largest_budget and taken.ids.size + sight.best.size > 0
        can_fill = self.budget == self.largest_budget and taken.ids.size >= plan.wanted and not self.filled
        return no_progress and (can_raise or can_fill) and len(self.trace.turns) <= plan.max_turns

    def loosen(self):
        """Double the budget; where it is at its end, fill up with columns that are taken but have no weight."""
        if self.budget < self.largest_budget:
            self.raise_budget()
        else:
            self.fill_up()

    def reason_to_stop(self, sight):
        """Why this is the end, or an empty string."""
        plan, used, objective = self.plan, self.taken.used, self.taken.solution.objective
        if plan.wanted is not None and used >= plan.wanted:
            return f"{used} features, as asked"
        if out_of_time(plan.deadline) and used > 0:
            return "max_time is over"
        if len(self.trace.turns) > plan.max_turns:
            return f"max_iter={plan.max_turns} turns are done"
        if not sight.alpha.any():
            return "no loss is left: the features taken fit the data perfectly"
        if sight.best.size == 0:
            return "no other feature has a non-zero score"
        if self.gap <= plan.tol and not (plan.wanted is not None and plan.may_raise):
            return f"gap {self.gap:.1e} is within tol={plan.tol:g}"
        if plan.wanted is None and used and self.last_objective - objective <= plan.min_decrease * self.at_zero:
            return f"the objective fell by less than {plan.min_decrease:g} of its value without features"
        return ""

    # what the steps are made of

    @property
    def gap(self):
        """Relative gap of what is taken now."""
        return self.trace.turns[-1].gap

    @property
    def growing_tol(self):
        """Inner accuracy while growing."""
        return GROWING_TOL if self.plan.inner_tol is None else self.plan.inner_tol

    @property
    def final_tol(self):
        """Inner accuracy of the model that is returned."""
        return FINAL_TOL if self.plan.inner_tol is None else self.plan.inner_tol

    def begin(self, start):
        """Take the forced columns and those of an earlier fit, and solve on them."""
        n = self.problem.y.size
        nothing, forced = np.zeros(0, dtype=np.int64), np.asarray(self.plan.forced, dtype=np.int64)
        b, loss, alpha = self.problem.at(np.zeros(n))
        empty = Solution(np.zeros(0), np.zeros(n), b, alpha, np.zeros(0), loss, loss, 0.0)
        self.taken = Taken(nothing, nothing, None, empty)
        self.take(forced)
        self.taken = replace(self.taken, forced=forced.size)
        if start is not None:
            new = ~np.isin(start[0], self.taken.ids)
            self.take(start[0][new])
            w = np.zeros(self.taken.ids.size)
            order = np.argsort(self.taken.ids)
            w[order[np.searchsorted(self.taken.ids[order], start[0])]] = start[1]
            if w.size:
                z = self.taken.block.combine(w)
                self.taken = replace(self.taken, solution=replace(self.taken.solution, w=w, z=z))
        self.solve(self.growing_tol)
        if self.plan.wanted is not None and self.taken.used >= self.plan.wanted and self.taken.ids.size:
            self.settle()

    def take(self, ids):
        """Bring columns into memory, at weight zero."""
        if ids.size == 0:
            return
        with self.trace.step("take", *self.design.take_cost(ids)):
            block = self.design.take(ids)
            old = self.taken
            self.taken = replace(
                old,
                ids=np.concatenate([old.ids, ids]),
                turn=np.concatenate([old.turn, np.full(ids.size, old.turn.max(initial=0) + 1)]),
                block=block if old.block is None else stack([old.block, block]),
                solution=replace(old.solution, w=np.concatenate([old.solution.w, np.zeros(ids.size)])),
            )

    def solve(self, tol, taken=None):
        """Solve the master problem on the taken columns (or on ``taken``), from where the last solve ended.

        The deadline counts from the second turn on: one turn is always done.
        """
        taken = self.taken if taken is None else taken
        if taken.ids.size == 0:
            return
        solution = taken.solution
        start = Start(solution.w, solution.z, solution.b, solution.memory)
        solver = newton if self.plan.master == "k_support" else apg
        with self.trace.step("solve"):
            solution = solver.solve(
                taken.block,
                self.problem,
                self.penalty(taken),
                start,
                tol=tol * max(min(solution.objective, self.at_zero), NOTHING * self.at_zero),
                deadline=self.plan.deadline if len(self.trace.turns) > 1 else None,
            )
        self.taken = replace(taken, solution=solution)

    def penalty(self, taken):
        """The master problem's penalty on the columns taken."""
        if self.plan.master == "k_support":
            return KSupport(self.budget, self.forced)
        sizes = np.unique(taken.turn[self.forced :], return_counts=True)[1]
        return GroupSum(tuple(sizes.tolist()), self.forced)

    def settle(self):
        """Solve to the end; where more features than wanted have weight, keep the heaviest and solve again."""
        self.solve(self.final_tol)
        wanted = self.plan.wanted
        if wanted is not None and self.taken.used > wanted:
            size = np.abs(self.taken.solution.w)
            size[: self.forced] = np.inf
            keep = np.sort(np.argsort(-size, kind="stable")[:wanted])
            self.solve(self.final_tol, restricted(self.taken, keep))

    @property
    def largest_budget(self):
        """With as many columns as wanted, the penalty under this budget is the plain square: all of them get weight."""
        return self.plan.wanted - self.forced

    def raise_budget(self):
        """Allow twice as many."""
        self.budget, self.misses = min(2 * self.budget, self.largest_budget), 0
        self.lower_bound = self.sight.bound(self.problem, self.budget)
        self.solve(self.growing_tol)
        if self.taken.used >= self.plan.wanted:
            self.settle()

    def fill_up(self):
        """Keep the columns in the model and those with the best scores among the others, as many as wanted."""
        self.filled = True
        rank = np.abs(self.taken.solution.scores)
        rank[self.taken.positions] = np.inf
        keep = np.sort(np.argsort(-rank, kind="stable")[: self.plan.wanted])
        self.solve(self.final_tol, restricted(self.taken, keep))

    def pick_bound(self, used):
        """The bound for models on ``used`` features: the best of all turns if that many were wanted, else the last."""
        if used == self.plan.wanted:
            return self.best_pick_bound
        return self.sight.bound(self.problem, used - self.forced)


def restricted(taken, keep):
    """Only the columns at positions ``keep``, from memory."""
    solution, block = taken.solution, taken.block.take(keep)
    w = solution.w[keep]
    solution = replace(solution, w=w, z=block.combine(w), memory=None)
    return Taken(taken.ids[keep], taken.turn[keep], block, solution, taken.forced)
