"""grow(): scan, take, solve, certify, until there is a reason to stop.

Each turn scans all columns once, takes the best units not yet taken, solves the problem on the columns taken and
so gets the vector for the next scan. The same scan certifies: with the scores of all columns known, the dual function
gives a lower bound of the objective of every model. Several models (classes, folds, values of C) grow side by side:
one scan serves them all.
"""

import functools
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from thresher.data.designs.base import Design
from thresher.data.scan.pieces import OutOfTime
from thresher.data.scan.reducers import Ranked, Reducer, Split
from thresher.data.scan.scores import Correlation, Score
from thresher.data.workers import threads_of
from thresher.engine.growing import Earlier, GrowingModel, Grown, is_large
from thresher.engine.plans import GatherPlan, GrowthPlan, Plan
from thresher.engine.working_set import WorkingSet
from thresher.optim.penalties.layout import Layout
from thresher.optim.problems.margins import Problem
from thresher.optim.solvers.solution import out_of_time
from thresher.results import Step, Stop, StopReason, Trace, Turn, relative

GROWING_TOL = 1e-3  # of the objective: inner accuracy while growing under inner_tol="auto"
GATHERING_TOL = 1e-5  # ... if elimination follows: what is taken should not depend on the solver
GATHERED = 1e-2  # of tol: the gap at which gathering stops, since further units would be noise
PATIENCE = 3  # turns below the wanted number of units after which the budget is considered too small


def grow(
    design: Design,
    problems: Sequence[Problem],
    plans: Sequence[Plan] | Plan,
    trace: Trace,
    starts: Sequence[Earlier | None] | None = None,
    watch: Callable[[Turn], None] = lambda turn: None,
) -> list[Grown]:
    """A Grown for each of ``problems``: take units until there is a reason to stop, all in the same scans.

    ``plans`` is one plan for each, or one for all; the trace records those with the last plan. ``starts`` are (units,
    weights (columns, classes)) of an earlier fit to start from, or None.
    """
    plans = [plans] * len(problems) if isinstance(plans, Plan) else plans
    models = [new_model(design, problem, plan, trace) for problem, plan in zip(problems, plans, strict=True)]
    traced = [model for model in models if model.plan is plans[-1]]
    try:
        for model, start in zip(models, starts or [None] * len(models), strict=True):
            model.begin(start)
        growing = models
        while growing:
            scan_and_certify(design, growing, trace)
            watch(recorded(traced, trace))
            for model in going_on(growing):
                model.judge()
            take(design, growing, trace)
            growing = going_on(growing)
            solve_all(design, growing, plans[-1], trace)
            growing = going_on(growing)
        for model in models:
            model.finish()
    except KeyboardInterrupt:
        if not all(model.has_scanned for model in models):
            raise
        for model in models:
            model.stop = Stop(StopReason.INTERRUPTED)
    return [model.result() for model in models]


def new_model(design: Design, problem: Problem, plan: Plan, trace: Trace) -> GrowingModel:
    """A model that has taken nothing yet, of the kind that the plan needs."""
    kind: type[GrowingModel] = Gatherer if isinstance(plan, GatherPlan) else Grower
    return kind(design, problem, plan, trace)


def going_on(models: Sequence[GrowingModel]) -> list[GrowingModel]:
    """The models that have no reason to stop."""
    return [model for model in models if not model.stop]


def scan_and_certify(design: Design, models: Sequence[GrowingModel], trace: Trace) -> None:
    """A scan and the certificates that follow from it; when the deadline passes, all end with what they have."""
    try:
        scan(design, models, trace)
    except OutOfTime:
        for model in models:
            model.cut_short()
        return
    with trace.step("certify"):
        for model in models:
            model.certify()


def scan(design: Design, models: Sequence[GrowingModel], trace: Trace) -> None:
    """One pass over X for all: the best units that each has not yet taken, and the scores for the certificates.

    Units that need others are found by further scans, again for all. Once each model has been solved, any scan may be
    stopped by a deadline.
    """
    units, deadline = models[0].plan.units, models[0].plan.deadline
    requests = [model.ranking_request() for model in models]
    reducers = [units.reducer(request.size, request.exclude) for request in requests]
    has_models = all(model.has_model for model in models)
    read = functools.partial(scan_on_record, trace, deadline if has_models else None)
    vectors = np.concatenate([request.V for request in requests])
    results = read(design, Correlation(vectors.T), Split(reducers, [len(request.V) for request in requests]))
    eligible: Sequence[Ranked | None] = units.eligible(design, requests, read) or [None] * len(models)
    for model, request, result, best in zip(models, requests, results, eligible, strict=True):
        model.record_scan(units.ranked(result, request.size, request.exclude), best)


def scan_on_record(trace: Trace, deadline: float | None, design: Design, score: Score, reducer: Reducer) -> Any:
    """The result of a scan, recorded as a step; of one that is stopped by the deadline the part that was read."""
    cost, begun = design.scan_cost(), trace.elapsed
    try:
        with trace.step("scan", *cost):
            return design.scan(score, reducer, deadline)
    except OutOfTime as cut:
        part = Step("scan", trace.elapsed - begun, cut.share * cost.passes, int(cut.share * cost.bytes))
        trace.steps.append(part)
        raise


def take(design: Design, models: Sequence[GrowingModel], trace: Trace) -> None:
    """Load the units that each model requests into memory; those that several request are read once.

    Copies of other columns are then not taken, see ``copies``.
    """
    requests = [model.requested() for model in models]
    wanted = [units for units in requests if units.size]
    if not wanted:
        return
    all_units = models[0].plan.units
    union = wanted[0] if len(wanted) == 1 else np.unique(np.concatenate(wanted))
    columns, sizes = all_units.members(union)
    with trace.step("take", *design.take_cost(columns)):
        block = all_units.take(design, union)
        for model, units in zip(models, requests, strict=True):
            if units.size:
                part = block if units is union else block.take(Layout(sizes).columns(np.searchsorted(union, units)))
                model.accept(units, part)


def solve_all(design: Design, models: Sequence[GrowingModel], last: Plan, trace: Trace) -> None:
    """Solve on what was taken, each model on one thread if that pays off.

    There may be hundreds: when the deadline passes, only those without a model go on. The pick comes from the models of
    the ``last`` plan, unless others are better: those are solved first, and the others are not needed at all.
    """

    def solve(model: GrowingModel) -> None:
        if out_of_time(model.plan.deadline) and (model.has_model or model.plan is not last):
            model.cut_short()
        else:
            model.grown()

    ordered = sorted(models, key=lambda model: model.plan is not last)
    # small solves hold the interpreter most of the time: on several threads they take longer
    work = sum(model.taken.in_memory.entries for model in models if model.taken.block is not None)
    with trace.step("solve"):
        threads_of(design.workers).map(solve, [(model,) for model in ordered], entries=work)


def recorded(models: Sequence[GrowingModel], trace: Trace) -> Turn:
    """The recorded turn: sums over the models."""
    return trace.record_turn(
        sum(model.taken.used for model in models),
        sum(model.taken.units.size for model in models),
        sum(model.taken.solution.objective for model in models),
        sum(model.lower_bound for model in models),
        sum(model.at_zero for model in models),
        models[0].design.visited_share,
        sum(model.taken.solution.cuts for model in models),
        max(relative(model.taken.solution.gap, model.at_zero) for model in models),
    )


class Gatherer(GrowingModel):
    """Gathers units for thresh(): see GatherPlan."""

    plan: GatherPlan
    default_tol = GATHERING_TOL

    @property
    def kept(self) -> int:
        """See GrowingModel; includes the units that are added in the end."""
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

    def is_rough(self, taken: WorkingSet) -> bool:
        """See GrowingModel; where accuracy is expensive, as for large blocks, it does not improve the picks."""
        return self.plan.rough or is_large(taken.in_memory) or self.problem.accuracy > 0.0

    def candidates(self) -> tuple[np.ndarray, int]:
        """See GrowingModel; after the last turn those up to ``at_least``."""
        best, taken = self.last_scan.best, self.taken.units
        if self.stop:
            known = np.concatenate([taken, self.copies.units])
            left = np.flatnonzero(~np.isin(best, known))  # a scan that was cut short knows nothing of the last turn
            return left, max(0, self.plan.at_least - taken.size)
        return np.arange(best.size), max(0, min(self.budget, self.plan.reach - taken.size))

    def finish(self) -> None:
        """See GrowingModel; where too few columns have a score, copies of them fill the rest."""
        copies = np.sort(self.copies.left_out(self.taken)[0])
        copies = copies[: max(0, self.plan.wanted - self.taken.units.size)]
        if copies.size:
            self.taken = self.taken.joined(copies, self.plan.units.members(copies), self._read(copies))
            self.filled_with = copies

    def grown(self) -> None:
        """See GrowingModel."""
        self.solve()


class Grower(GrowingModel):
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
        """See GrowingModel; if ``wanted`` is None, also stops when the objective hardly decreases."""
        stop, plan = super().reason_to_stop(), self.plan
        decrease = self.last_objective - self.taken.solution.objective
        # a turn whose candidates are all copies takes nothing, which does not predict the next one
        stalled = self.has_grown and decrease <= plan.min_decrease * self.at_zero
        if stop is None and plan.wanted is None and self.taken.used and stalled:
            text = f"converged: the objective decreased by less than {plan.min_decrease:g} of its value at zero weights"
            return Stop(StopReason.SMALL_DECREASE, text)
        return stop

    def judge(self) -> None:
        """Raise the budget if it is too small, or fill up; else check whether there is a reason to stop."""
        if self.is_stuck():
            if self.budget < self.largest_budget:
                self.raise_budget()
            else:
                self.fill_up()
        elif self.needs_copies():
            self.allow_copies()
        else:
            super().judge()

    def candidates(self) -> tuple[np.ndarray, int]:
        """See GrowingModel."""
        if self.stop:
            return np.arange(0), 0
        missing = np.inf if self.plan.wanted is None else self.plan.wanted - self.taken.used
        return np.arange(self.last_scan.best.size), int(min(self.budget, max(missing, 0)))

    def begin(self, start: Earlier | None) -> None:
        """See GrowingModel."""
        super().begin(start)
        if self.has_reached and self.taken.units.size:
            self.settle()

    def grown(self) -> None:
        """See GrowingModel; as soon as enough units have weight, the model is solved to the final accuracy."""
        self.last_objective = self.taken.solution.objective
        near = self.gap <= self.plan.tol
        self.solve(final=near)
        wanted = self.plan.wanted
        if wanted is not None and self.taken.used >= wanted:
            self.settle()
            self.misses += self.taken.used < wanted

    def finish(self) -> None:
        """See GrowingModel; where nothing was left to take, the final accuracy may be what the gap still needed."""
        if self.plan.wanted is None and not out_of_time(self.plan.deadline):
            self.settle()
            self.gap = relative(self.taken.solution.objective - self.lower_bound, self.at_zero)
            if self.stop is not None and self.stop.reason is StopReason.NO_SCORE and self.is_optimal:
                self.stop = self.reason_to_stop()

    def settle(self) -> None:
        """Solve to the final accuracy; if more units than wanted have weight, keep the largest and solve again."""
        self.solve(final=True)
        wanted = self.plan.wanted
        if wanted is not None and self.taken.used > wanted:
            self.solve(self.taken.heaviest(self.problem, wanted), final=True)

    def is_stuck(self) -> bool:
        """Whether the optimum under this budget seems to have fewer units than wanted, and ``judge`` can help."""
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
        self.last_scan = replace(self.last_scan, best=copies[order], best_squares=squares)
        self.copies.allowed = True
        self.lower_bound = self.last_scan.bound(self.budget, copies=True)

    @property
    def largest_budget(self) -> int:
        """With as many units as wanted, the penalty under this budget is the plain square: all of them get weight.

        0 if ``wanted`` is None.
        """
        return 0 if self.plan.wanted is None else self.plan.wanted - self.taken.forced

    def raise_budget(self) -> None:
        """Double the budget, and solve again."""
        self.budget, self.misses = min(2 * self.budget, self.largest_budget), 0
        self.lower_bound = self.last_scan.bound(self.budget, copies=self.copies.allowed)
        self.solve()
        if self.has_reached:
            self.settle()

    def fill_up(self) -> None:
        """Keep the units in the model and those with the best scores among the others, as many as wanted."""
        self.filled = True
        rank = np.sqrt(self.taken.squares)
        rank[self.taken.positions] = np.inf
        keep = np.sort(np.argsort(-rank, kind="stable")[: self.plan.wanted])
        self.solve(self.taken.restricted(self.problem, keep), final=True)

    def result(self) -> Grown:
        """See GrowingModel; if ``wanted`` is None, the final model is the last turn."""
        grown = super().result()
        return grown if self.plan.wanted is not None else replace(grown, turns=(*grown.turns, self.taken))
