"""thresh(): backward elimination on the columns that growth has taken, without reading X again."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any

import numpy as np

from thresher.engine.growing import is_large
from thresher.engine.working_set import Taken
from thresher.optim.dispatch import eliminator_for, solver_for
from thresher.optim.elimination.rules import Needs, Rules
from thresher.optim.penalties.layout import Layout
from thresher.optim.penalties.norms import KSupport
from thresher.optim.problems.margins import Problem
from thresher.optim.solvers.solution import DeadlinePassed, Divisible, Solution, Start, evaluated, out_of_time
from thresher.results import Trace

STEP = 0.1  # share of the units that are removed at a time while far above the number wanted
FIRST_TOL, STATION_TOL = 1e-12, 1e-11  # of the objective without features: gaps of the first and the other stations
LARGE_TOL = 1e-2  # ... of all stations of large blocks, where accuracy is expensive, and with ``rough``


def stops(most: int, fine: int, least: int = 1) -> list[int]:
    """Numbers of units of the stations, decreasing to ``least``: all from ``fine`` on, ever fewer above."""
    counts = [most]
    while counts[-1] > max(fine, least):
        counts.append(max(fine, least, min(counts[-1] - 1, int((1.0 - STEP) * counts[-1]))))
    return counts + list(range(counts[-1] - 1, least - 1, -1))


def thresh(
    taken: Taken,
    problem: Problem,
    at_zero: float,
    counts: Sequence[int],
    trace: Trace,
    *,
    pool: int | None = None,
    needs: Callable[[np.ndarray], Needs | None] | None = None,
    exact: int | None = None,
    rough: bool = False,
    deadline: float | None = None,
) -> Iterator[Taken]:
    """Yield what is left of ``taken`` at each of ``counts`` units, decreasing: a Taken without block and scores.

    The penalty is the plain 1/2 ||w||^2, and units with the smallest weights are removed first; the first ``pool``
    units taken only when no later ones are left; ``needs(units)`` says which stay as long as others do. The station
    with ``exact`` units is solved up to rounding, the others to the tolerances above. Stops early when ``deadline``
    passes: if it has already passed, nothing is yielded.
    """
    if out_of_time(deadline):
        return
    eliminate = eliminator_for(problem).eliminate
    solutions = apart(taken.solution, taken.layout.classes)
    starts = [Start(solution.w, solution.z, solution.b, solution.memory) for solution in solutions]
    first_tol, tol = (LARGE_TOL, LARGE_TOL) if rough or is_large(taken.in_memory) else (FIRST_TOL, STATION_TOL)
    first_tol, tol = max(first_tol, problem.accuracy), max(tol, problem.accuracy)
    rules = Rules(
        tol * at_zero, first_tol * at_zero, Layout(taken.layout.sizes), taken.forced, pool,
        needs=None if needs is None else needs(taken.units), deadline=deadline,
    )  # fmt: skip
    with trace.step("thresh"), suppress(DeadlinePassed):
        for station in eliminate(taken.in_memory, problem.per_class(), starts, counts, rules):
            left = taken.fewer(station.units).solved(end_to_end(station.solutions))
            if station.units.size == exact and not out_of_time(deadline):
                left = refitted(replace(left, block=taken.in_memory.take(station.kept)), problem, deadline)
            nothing = np.zeros(0)  # vectors of all stations would take more memory than the columns
            solution = replace(left.solution, z=nothing, dual=None, scores=nothing, memory=None)
            yield replace(left, block=None, solution=solution)


def refitted(taken: Taken, problem: Problem, deadline: float | None = None) -> Taken:
    """A copy solved up to rounding under the plain penalty, which does not couple the classes.

    Classes that the deadline leaves no time for keep their weights.
    """
    penalty, solutions = KSupport(taken.columns.size), []
    for part, old in zip(problem.per_class(), apart(taken.solution, taken.layout.classes), strict=True):
        start = Start(old.w, old.z, old.b, old.memory)
        if out_of_time(deadline):
            solutions.append(evaluated(taken.in_memory, part, penalty, old.w, old.z, old.b))
            continue
        solver = solver_for(part, penalty)
        solutions.append(solver.solve(taken.in_memory, part, penalty, start, tol=-np.inf, deadline=deadline))
    return taken.solved(end_to_end(solutions))


def apart(solution: Solution, classes: int) -> list[Solution]:
    """The solution of each class; only w, z, b and the memory are split, which is dropped if that cannot be."""
    memory = solution.memory if isinstance(solution.memory, Divisible) else None
    if classes == 1:
        return [replace(solution, memory=memory)]
    memories = [None if memory is None else memory.of_class(c) for c in range(classes)]
    shifts = np.broadcast_to(solution.b, classes)
    rows = zip(solution.w.reshape(classes, -1), solution.z.reshape(classes, -1), shifts, memories, strict=True)
    return [replace(solution, w=w, z=z, b=float(b), memory=kept) for w, z, b, kept in rows]


def end_to_end(solutions: Sequence[Solution]) -> Solution:
    """The solutions of single classes as one, concatenated."""
    if len(solutions) == 1:
        return solutions[0]
    parts: dict[str, Any] = {n: np.concatenate([getattr(s, n) for s in solutions]) for n in ("w", "z", "scores")}
    parts |= {n: sum(getattr(s, n) for s in solutions) for n in ("loss", "objective", "bound")}
    first, *others = solutions
    dual = first.dual_point.joined([s.dual_point for s in others])
    memory = first.memory.joined([s.memory for s in others]) if isinstance(first.memory, Divisible) else None
    return Solution(**parts, dual=dual, b=np.array([s.b for s in solutions]), memory=memory)
