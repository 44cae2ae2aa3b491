"""grow(): scan, take, solve, certify, until there is a reason to stop.

Each turn scans all columns once, takes the best units not yet taken, solves the problem on the columns taken and
so gets the vector for the next scan. The same scan certifies: with the scores of all columns known, the dual function
gives a lower bound of the objective of every model. Several models (classes, folds, values of C) grow side by side:
one scan serves them all.
"""

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from thresher.data.designs.base import Design
from thresher.data.scan.pieces import OutOfTime
from thresher.data.scan.reducers import Reducer, Split
from thresher.data.scan.scores import Correlation, Score
from thresher.engine.growing import Earlier, Grown, Machine
from thresher.engine.plans import GatherPlan, Plan
from thresher.engine.strategies import Gatherer, Grower
from thresher.optim.penalties.layout import Layout
from thresher.optim.problems.margins import Problem
from thresher.optim.solvers.solution import out_of_time
from thresher.results import Step, Trace, Turn, relative


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
    machines = [machine_for(plan)(design, problem, plan, trace) for problem, plan in zip(problems, plans, strict=True)]
    traced = [machine for machine in machines if machine.plan is plans[-1]]
    interrupted = False
    try:
        for machine, start in zip(machines, starts or [None] * len(machines), strict=True):
            machine.begin(start)
        while any(not machine.stop for machine in machines):
            growing = [machine for machine in machines if not machine.stop]
            try:
                scan(design, growing, trace)
            except OutOfTime:
                for machine in growing:
                    machine.cut_short()
                watch(recorded(traced, trace))
                take(design, growing, trace)
                break
            with trace.step("certify"):
                for machine in growing:
                    machine.certify()
            watch(recorded(traced, trace))
            for machine in growing:
                machine.judge()
            take(design, growing, trace)
            solve([machine for machine in growing if not machine.stop], plans[-1])
        for machine in machines:
            machine.finish()
    except KeyboardInterrupt:
        if not all(machine.has_scanned for machine in machines):
            raise
        interrupted = True
    return [machine.result(interrupted) for machine in machines]


def machine_for(plan: Plan) -> type[Machine]:
    """The strategy of a plan."""
    return Gatherer if isinstance(plan, GatherPlan) else Grower


def scan(design: Design, machines: Sequence[Machine], trace: Trace) -> None:
    """One pass over X for all: the best units that each has not yet taken, and the scores for the certificates.

    Units that need others are found by further scans, again for all. Once each machine has a model, any scan may be
    stopped by a deadline.
    """
    V = [machine.vectors() for machine in machines]
    reducers = [machine.reducer() for machine in machines]
    deadlines = [machine.plan.deadline for machine in machines if machine.plan.deadline is not None]
    may_end = len(deadlines) == len(machines) and all(machine.has_model for machine in machines)
    read = functools.partial(scan_on_record, trace, max(deadlines) if may_end else None)
    results = read(design, Correlation(np.concatenate(V).T), Split(reducers, [len(rows) for rows in V]))
    requests = [machine.ranking_request() for machine in machines]
    eligible = machines[0].plan.units.eligible(design, requests, read)
    for number, machine in enumerate(machines):
        machine.record_scan(results[number], None if eligible is None else eligible[number])


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


def take(design: Design, machines: Sequence[Machine], trace: Trace) -> None:
    """Load the units that each machine requests into memory; those that several request are read once.

    Copies of other columns are then not taken, see ``copies``.
    """
    requests = [machine.requested() for machine in machines]
    wanted = [units for units in requests if units.size]
    if not wanted:
        return
    all_units = machines[0].plan.units
    union = wanted[0] if len(wanted) == 1 else np.unique(np.concatenate(wanted))
    columns, sizes = all_units.members(union)
    with trace.step("take", *design.take_cost(columns)):
        block = all_units.take(design, union)
        for machine, units in zip(machines, requests, strict=True):
            if units.size:
                part = block if units is union else block.take(Layout(sizes).columns(np.searchsorted(union, units)))
                machine.accept(units, part)


def solve(machines: Sequence[Machine], last: Plan) -> None:
    """Solve on what was taken. There may be hundreds: when the deadline passes, only those without a model go on.

    The pick comes from the models of the ``last`` plan, unless others are better: those are solved first, and the
    others are not needed at all.
    """
    for machine in sorted(machines, key=lambda machine: machine.plan is not last):
        if out_of_time(machine.plan.deadline) and (machine.has_model or machine.plan is not last):
            machine.cut_short()
        else:
            machine.grown()


def recorded(machines: Sequence[Machine], trace: Trace) -> Turn:
    """The recorded turn: sums over the machines."""
    return trace.record_turn(
        sum(machine.taken.used for machine in machines),
        sum(machine.taken.units.size for machine in machines),
        sum(machine.taken.solution.objective for machine in machines),
        sum(machine.lower_bound for machine in machines),
        sum(machine.at_zero for machine in machines),
        machines[0].design.visited_share,
        sum(machine.taken.solution.cuts for machine in machines),
        max(relative(machine.taken.solution.gap, machine.at_zero) for machine in machines),
    )
