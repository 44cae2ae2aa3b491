"""thresh(): backward elimination on the columns that growth has taken, without reading X again."""

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from thresher.engine.growing import is_large
from thresher.engine.plans import Plan
from thresher.engine.working_set import WorkingSet
from thresher.optim.dispatch import eliminator_for, solver_for
from thresher.optim.elimination.rules import Needs, Rules
from thresher.optim.penalties.layout import Layout
from thresher.optim.penalties.norms import KSupport
from thresher.optim.problems.margins import Problem
from thresher.optim.solvers.solution import DeadlinePassed, Divisible, Solution, evaluated, out_of_time
from thresher.results import Trace

REMOVED_SHARE = 0.1  # share of the units that are removed at a time while far above the number wanted
ROUGH_SHARE = 0.3  # ... of models that are only compared with others
FIRST_TOL, STATION_TOL = 1e-12, 1e-11  # of the objective without features: gaps of the first and the other stations
LARGE_TOL = 1e-2  # ... of all stations of large blocks, where accuracy is expensive, and with ``rough``


def stops(most: int, fine: int, least: int = 1, share: float = REMOVED_SHARE) -> list[int]:
    """Numbers of units of the stations, decreasing to ``least``: all from ``fine`` on, fewer by a ``share`` above."""
    counts = [most]
    while counts[-1] > max(fine, least):
        counts.append(max(fine, least, min(counts[-1] - 1, int((1.0 - share) * counts[-1]))))
    return counts + list(range(counts[-1] - 1, least - 1, -1))


@dataclass(frozen=True)
class Elimination:
    """Backward elimination from ``taken`` to each of ``counts`` units, decreasing, on columns in memory.

    The penalty is the plain 1/2 ||w||^2, and units with the smallest weights are removed first; the first ``pool``
    units taken only when no later ones are left, and units that others need not as long as these stay. The station with
    ``exact`` units is solved up to rounding, the others to the tolerances above.
    """

    taken: WorkingSet
    problem: Problem
    at_zero: float
    plan: Plan
    counts: Sequence[int]
    pool: int | None = None
    exact: int | None = None


def thresh(task: Elimination, trace: Trace, deadline: float | None = None) -> Iterator[WorkingSet]:
    """Yield what is left at each of the counts: a WorkingSet without block and scores.

    Stops early when ``deadline`` passes: if it has already passed, nothing is yielded.
    """
    if out_of_time(deadline):
        return
    taken, problem = task.taken, task.problem
    block, needed = taken.in_memory, task.plan.units.needed(taken.units)
    rough = task.plan.rough or is_large(block)
    first_tol = LARGE_TOL if rough else FIRST_TOL
    tol = LARGE_TOL if rough else STATION_TOL
    rules = Rules(
        max(tol, problem.accuracy) * task.at_zero,
        max(first_tol, problem.accuracy) * task.at_zero,
        Layout(taken.layout.sizes),
        taken.forced,
        task.pool,
        needs=None if needed is None else Needs(*needed),
        deadline=deadline,
    )
    starts = [solution.start for solution in apart(taken.solution, taken.layout.classes)]
    stations = eliminator_for(problem).eliminate(block, problem.per_class(), starts, task.counts, rules)
    with trace.step("thresh"), suppress(DeadlinePassed):
        for station in stations:
            left = replace(taken.fewer(station.units), solution=joined_solutions(station.solutions))
            if station.units.size == task.exact and not out_of_time(deadline):
                left = refitted(replace(left, block=block.take(station.kept)), problem, deadline)
            nothing = np.zeros(0)  # vectors of all stations would take more memory than the columns
            solution = replace(left.solution, z=nothing, dual=None, scores=nothing, memory=None)
            yield replace(left, block=None, solution=solution)


def refitted(taken: WorkingSet, problem: Problem, deadline: float | None = None) -> WorkingSet:
    """A copy solved up to rounding under the plain penalty, which does not couple the classes.

    Classes that the deadline leaves no time for keep their weights.
    """
    penalty, solutions = KSupport(taken.columns.size), []
    for part, old in zip(problem.per_class(), apart(taken.solution, taken.layout.classes), strict=True):
        if out_of_time(deadline):
            solutions.append(evaluated(taken.in_memory, part, penalty, old.w, old.z, old.b))
            continue
        solver = solver_for(part, penalty)
        solutions.append(solver.solve(taken.in_memory, part, penalty, old.start, tol=-np.inf, deadline=deadline))
    return replace(taken, solution=joined_solutions(solutions))


def apart(solution: Solution, classes: int) -> list[Solution]:
    """The solution of each class; only w, z, b and the memory are split, which is dropped if that cannot be."""
    memory = solution.memory if isinstance(solution.memory, Divisible) else None
    if classes == 1:
        return [replace(solution, memory=memory)]
    memories = [None if memory is None else memory.of_class(c) for c in range(classes)]
    shifts = np.broadcast_to(solution.b, classes)
    rows = zip(solution.w.reshape(classes, -1), solution.z.reshape(classes, -1), shifts, memories, strict=True)
    return [replace(solution, w=w, z=z, b=float(b), memory=kept) for w, z, b, kept in rows]


def joined_solutions(solutions: Sequence[Solution]) -> Solution:
    """The solutions of single classes as one, concatenated."""
    if len(solutions) == 1:
        return solutions[0]
    parts: dict[str, Any] = {n: np.concatenate([getattr(s, n) for s in solutions]) for n in ("w", "z", "scores")}
    parts |= {n: sum(getattr(s, n) for s in solutions) for n in ("loss", "objective", "bound")}
    first, *others = solutions
    dual = first.dual_point.joined([s.dual_point for s in others])
    memory = first.memory.joined([s.memory for s in others]) if isinstance(first.memory, Divisible) else None
    return Solution(**parts, dual=dual, b=np.array([s.b for s in solutions]), memory=memory)
