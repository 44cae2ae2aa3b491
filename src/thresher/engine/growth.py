"""grow(): scan, take, solve, certify, until there is a reason to stop.

Each turn scans all columns once, takes the best ones not yet taken, solves the master problem on the taken columns and
so gets the vector for the next scan. The same scan certifies: with the scores of all columns at hand, the dual
function gives a value that no model can go below. Several models (classes, folds, values of C) grow side by side:
one scan serves them all.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from thresher.data.reducers import Split, TopK
from thresher.engine.taken import Sight, Taken
from thresher.optim import apg, newton
from thresher.optim.master import out_of_time
from thresher.optim.penalties import GroupSum, KSupport
from thresher.results import as_asked, relative

GROWING_TOL, FINAL_TOL = 1e-3, 1e-15  # of the objective: inner accuracy under inner_tol="auto"
GATHERING_TOL = 1e-5  # ... when the columns are threshed afterwards: what is taken should not hang on the solver
COARSE_TOL = 3e-3  # of the objective without features: inner accuracy when many columns are threshed afterwards
LARGE = 1 << 20  # numbers in the columns taken that are many
GATHERED = 1e-2  # of tol: the gap at which gathering ends, since what more would be taken is noise
NOTHING = 1e-6  # an objective below this share of the one without features counts as zero
PATIENCE = 3  # turns without the asked number of features after which the budget is too small


@dataclass(frozen=True)
class Plan:
    """What grow() is asked to do.

    ``wanted`` features (None: until ``tol``), ``budget`` of the penalty and features a turn (raised when it turns out
    too small for ``wanted``, if ``may_raise``), ``forced`` columns outside it, ``master`` "k_support" or "groups".
    With ``reach``, growth only gathers so many columns for thresh(), whatever their weights; where there are fewer than
    ``at_least`` in the end, the last scan's best make up for it. ``rough`` solves to COARSE_TOL only.
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
    reach: int | None = None
    at_least: int = 0
    rough: bool = False


@dataclass(frozen=True)
class Grown:
    """The result: what was taken, the model after each turn, bounds for the budget and for picks, why it ended.

    ``pick_bound(number)`` is a value that no model on any ``number`` columns goes below.
    """

    taken: Taken
    turns: tuple[Taken, ...]
    budget: int
    lower_bound: float
    pick_bound: Callable[[int], float]
    at_zero: float
    reason: str
    interrupted: bool = False


def grow(design, problems, plans, trace, starts=None, watch=lambda turn: None):
    """A Grown for each of ``problems``: take features until there is a reason to stop, all in the same scans.

    ``plans`` is one plan for each, or one for all; the trace tells of those whose plan is the last. ``starts`` are
    (ids, weights (ids, classes)) of an earlier fit to begin from, or None.
    """
    plans = [plans] * len(problems) if isinstance(plans, Plan) else plans
    machines = [_Machine(design, problem, plan, trace) for problem, plan in zip(problems, plans, strict=True)]
    told = [machine for machine in machines if machine.plan is plans[-1]]
    interrupted = False
    try:
        for machine, start in zip(machines, starts or [None] * len(machines), strict=True):
            machine.begin(start)
        while any(not machine.reason for machine in machines):
            growing = [machine for machine in machines if not machine.reason]
            scan(design, growing, trace)
            with trace.step("certify"):
                for machine in growing:
                    machine.certify()
            watch(recorded(told, trace))
            for machine in growing:
                machine.judge()
            take(design, growing, trace)
            for machine in growing:
                if not machine.reason:
                    machine.grown()
        for machine in machines:
            if machine.plan.wanted is None:
                machine.settle()
    except KeyboardInterrupt:
        if any(machine.sight is None for machine in machines):
            raise
        interrupted = True
    return [machine.result(interrupted) for machine in machines]


def scan(design, machines, trace):
    """One pass over X for all: the best columns that each has not yet taken, and the scores for the certificates."""
    V = [machine.vectors() for machine in machines]
    reducers = [machine.reducer() for machine in machines]
    with trace.step("scan", 1.0, design.nbytes):
        seen = design.scan(np.concatenate(V).T, Split(reducers, [len(rows) for rows in V]))
    for machine, ((ids, squares),) in zip(machines, seen, strict=True):
        machine.see(ids, squares)


def take(design, machines, trace):
    """Bring the columns that each machine asks for into memory; columns that several ask for are read once."""
    asked = [machine.asks() for machine in machines]
    wanted = [ids for ids in asked if ids.size]
    if not wanted:
        return
    union = wanted[0] if len(wanted) == 1 else np.unique(np.concatenate(wanted))
    with trace.step("take", *design.take_cost(union)):
        block = design.take(union)
        for machine, ids in zip(machines, asked, strict=True):
            if ids.size:
                same = ids is union
                machine.taken = machine.taken.joined(ids, block if same else block.take(np.searchsorted(union, ids)))


def recorded(machines, trace):
    """The turn as the trace keeps it: sums over the machines."""
    return trace.turned(
        sum(machine.taken.used for machine in machines),
        sum(machine.taken.ids.size for machine in machines),
        sum(machine.taken.solution.objective for machine in machines),
        sum(machine.lower_bound for machine in machines),
        sum(machine.at_zero for machine in machines),
    )


def is_large(block):
    """Whether the columns hold so many numbers that accuracy has a price."""
    return block.shape[0] * block.shape[1] > LARGE


class _Machine:
    """One model that grows: what is taken, the budget, and the best bounds so far."""

    def __init__(self, design, problem, plan, trace):
        self.design, self.problem, self.plan, self.trace = design, problem, plan, trace
        self.budget, self.forced = plan.budget, len(plan.forced)
        self.at_zero = problem.at_zero()
        self.lower_bound, self.best_pick_bound, self.gap = 0.0, 0.0, np.inf
        self.taken, self.sight, self.reason, self.turns = Taken.nothing(problem), None, "", []
        self.last_objective, self.misses, self.filled = np.inf, 0, False

    # the steps of a turn

    def vectors(self):
        """The vectors to be scanned, as rows: one for each class."""
        return (self.taken.solution.alpha * self.problem.y).reshape(self.problem.classes, -1)

    @property
    def kept(self):
        """How many scores a scan must keep: enough for the bounds, and for the columns to take next."""
        return max(self.budget, self.plan.wanted or 0, self.taken.ids.size + self.budget, self.plan.at_least)

    def reducer(self):
        """What the scan keeps."""
        return TopK(self.kept, exclude=np.sort(self.taken.ids), summed=True)

    def see(self, ids, squares):
        """Keep what a scan saw."""
        known = self.taken.squares
        free = np.sort(np.concatenate([known[self.forced :], squares]))[::-1]
        rest = float(squares[-1]) if squares.size == self.kept else 0.0  # else no other column has a score
        self.sight = Sight(self.taken.solution.alpha, float(known[: self.forced].sum()), free, ids, rest)

    def certify(self):
        """Keep the best bounds seen so far."""
        self.lower_bound = max(self.lower_bound, self.sight.bound(self.problem, self.budget))
        if self.plan.wanted is not None:
            bound = self.sight.bound(self.problem, self.plan.wanted - self.forced)
            self.best_pick_bound = max(self.best_pick_bound, bound)
        self.gap = relative(self.taken.solution.objective - self.lower_bound, self.at_zero)
        self.turns.append(self.taken)

    def judge(self):
        """Loosen the budget where it is too small; else see whether there is a reason to stop."""
        if self.is_stuck():
            self.loosen()
        else:
            self.reason = self.reason_to_stop()

    def asks(self):
        """The columns to take now; those that make up the number when growth has ended."""
        plan = self.plan
        if self.reason:
            return self.sight.best[: max(0, plan.at_least - self.taken.ids.size)]
        if plan.reach is not None:
            missing = plan.reach - self.taken.ids.size
        else:
            missing = np.inf if plan.wanted is None else plan.wanted - self.taken.used
        return self.sight.best[: int(min(self.budget, max(missing, 0)))]

    def grown(self):
        """Solve the master problem on all columns taken."""
        self.last_objective = self.taken.solution.objective
        self.solve(self.growing_tol if self.gap > self.plan.tol or self.plan.reach is not None else self.final_tol)
        if self.plan.reach is None and self.plan.wanted is not None and self.taken.used >= self.plan.wanted:
            self.settle()
            self.misses += self.taken.used < self.plan.wanted

    def is_stuck(self):
        """Whether the optimum under this budget seems to have fewer features than wanted, and something can be done."""
        plan, taken, best = self.plan, self.taken, self.sight.best
        if plan.wanted is None or plan.reach is not None or not plan.may_raise or taken.used >= plan.wanted:
            return False
        if out_of_time(plan.deadline):
            return False
        no_progress = self.gap <= plan.tol or self.misses >= PATIENCE or best.size == 0
        can_raise = self.budget < self.largest_budget and taken.ids.size + best.size > 0
        can_fill = self.budget == self.largest_budget and taken.ids.size >= plan.wanted and not self.filled
        return no_progress and (can_raise or can_fill) and len(self.turns) <= plan.max_turns

    def loosen(self):
        """Double the budget; where it is at its end, fill up with columns that are taken but have no weight."""
        if self.budget < self.largest_budget:
            self.raise_budget()
        else:
            self.fill_up()

    def reason_to_stop(self):
        """Why this is the end, or an empty string."""
        plan, used, objective = self.plan, self.taken.used, self.taken.solution.objective
        reached = self.taken.ids.size if plan.reach is not None else used
        if plan.wanted is not None and reached >= (plan.reach or plan.wanted):
            return as_asked(plan.wanted)
        if out_of_time(plan.deadline) and used > 0:
            return "max_time is over"
        if len(self.turns) > plan.max_turns:
            return f"max_iter={plan.max_turns} turns are done"
        if not self.sight.alpha.any():
            return "no loss is left: the features taken fit the data perfectly"
        if self.sight.best.size == 0:
            return "no other feature has a non-zero score"
        enough = plan.reach is not None and reached >= plan.wanted and self.gap <= GATHERED * plan.tol
        if enough or (self.gap <= plan.tol and plan.reach is None and not (plan.wanted is not None and plan.may_raise)):
            return f"gap {self.gap:.1e} is within tol={plan.tol:g}"
        if plan.wanted is None and used and self.last_objective - objective <= plan.min_decrease * self.at_zero:
            return f"the objective fell by less than {plan.min_decrease:g} of its value without features"
        return ""

    # what the steps are made of

    @property
    def growing_tol(self):
        """Inner accuracy while growing."""
        if self.plan.inner_tol is not None:
            return self.plan.inner_tol
        return GROWING_TOL if self.plan.reach is None else GATHERING_TOL

    @property
    def final_tol(self):
        """Inner accuracy of the model that is returned."""
        return FINAL_TOL if self.plan.inner_tol is None else self.plan.inner_tol

    def begin(self, start):
        """Take the forced columns and those of an earlier fit, and solve on them."""
        forced = np.asarray(self.plan.forced, dtype=np.int64)
        earlier = np.zeros(0, dtype=np.int64) if start is None else start[0][~np.isin(start[0], forced)]
        for ids in (forced, earlier):
            if ids.size:
                with self.trace.step("take", *self.design.take_cost(ids)):
                    self.taken = self.taken.joined(ids, self.design.take(ids))
        self.taken = replace(self.taken, forced=forced.size)
        if start is not None and self.taken.ids.size:
            W = np.zeros((self.taken.ids.size, self.problem.classes))
            order = np.argsort(self.taken.ids)
            W[order[np.searchsorted(self.taken.ids[order], start[0])]] = start[1]
            self.taken = self.taken.at(self.problem, W)
        self.solve(self.growing_tol)
        wanted = self.plan.wanted
        if self.plan.reach is None and wanted is not None and self.taken.used >= wanted and self.taken.ids.size:
            self.settle()

    def solve(self, tol, taken=None):
        """Solve the master problem on the taken columns (or on ``taken``), from where the last solve ended.

        The deadline counts from the second turn on: one turn is always done.
        """
        taken = self.taken if taken is None else taken
        if taken.ids.size == 0:
            return
        rough = self.plan.rough or (self.plan.reach is not None and is_large(taken.block))
        if rough and self.plan.inner_tol is None:
            tol = COARSE_TOL * self.at_zero
        else:
            tol *= max(min(taken.solution.objective, self.at_zero), NOTHING * self.at_zero)
        solver = newton if self.plan.master == "k_support" else apg
        with self.trace.step("solve"):
            solution = solver.solve(
                self.problem.on(taken.block),
                self.problem,
                self.penalty(taken),
                taken.start,
                tol=tol,
                deadline=self.plan.deadline if len(self.turns) > 1 else None,
            )
        self.taken = taken.solved(solution)

    def penalty(self, taken):
        """The master problem's penalty on the columns taken."""
        if self.plan.master == "k_support":
            return KSupport(self.budget, self.forced, self.problem.classes)
        sizes = np.unique(taken.turn[self.forced :], return_counts=True)[1]
        return GroupSum(tuple(sizes.tolist()), self.forced)

    def settle(self):
        """Solve to the end; where more features than wanted have weight, keep the heaviest and solve again."""
        self.solve(self.final_tol)
        wanted = self.plan.wanted
        if wanted is not None and self.taken.used > wanted:
            self.solve(self.final_tol, self.taken.heaviest(self.problem, wanted))

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
        rank = np.sqrt(self.taken.squares)
        rank[self.taken.positions] = np.inf
        keep = np.sort(np.argsort(-rank, kind="stable")[: self.plan.wanted])
        self.solve(self.final_tol, self.taken.restricted(self.problem, keep))

    def pick_bound(self, used):
        """The bound for models on ``used`` features: the best of all turns if that many were wanted, else the last."""
        if used == self.plan.wanted:
            return self.best_pick_bound
        return self.sight.bound(self.problem, used - self.forced)

    def result(self, interrupted):
        """What grow() returns of this machine."""
        settled = [self.taken] if self.plan.wanted is None else []
        return Grown(
            self.taken,
            tuple(self.turns + settled),
            self.budget,
            self.lower_bound,
            self.pick_bound,
            self.at_zero,
            "interrupted" if interrupted else self.reason,
            interrupted,
        )
