"""thresh(): eliminate backward on the columns that growth has taken, without another look at X."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from thresher.engine.machines import is_large
from thresher.engine.taken import Taken
from thresher.optim.layout import Layout
from thresher.optim.master import Solution, Start
from thresher.optim.penalties import KSupport
from thresher.optim.problem import Problem
from thresher.optim.solvers import eliminator_for, solver_for
from thresher.results import Trace

STEP = 0.1  # share of the units that go at once while far above the number wanted
FIRST_TOL, STATION_TOL = 1e-12, 1e-11  # of the objective without features: gaps of the first and the other stations
LARGE_TOL = 1e-2  # ... of all, where accuracy has a price: on many numbers, or in rough work


def stops(most: int, fine: int, least: int = 1) -> list[int]:
    """Numbers of units at which elimination stops: every one up to ``fine``, ever fewer above, down to ``least``."""
    numbers = [most]
    while numbers[-1] > max(fine, least):
        numbers.append(max(fine, least, min(numbers[-1] - 1, int((1.0 - STEP) * numbers[-1]))))
    return numbers + list(range(numbers[-1] - 1, least - 1, -1))


def thresh(
    taken: Taken,
    problem: Problem,
    at_zero: float,
    numbers: Sequence[int],
    trace: Trace,
    *,
    pool: int | None = None,
    exact: int | None = None,
    rough: bool = False,
    deadline: float | None = None,
) -> Iterator[Taken]:
    """Yield what is left of ``taken`` at each of ``numbers``, which fall: a Taken without block and scores.

    The penalty is the plain 1/2 ||w||^2, and the lightest units go first; the first ``pool`` units taken compete
    only when the later ones are gone. The station with ``exact`` units is solved to rounding, the others as the
    constants above say. Ends early when ``deadline`` has passed.
    """
    eliminate = eliminator_for(problem).eliminate
    starts = [Start(one.w, one.z, one.b) for one in apart(taken.solution, taken.layout.classes)]
    first_tol, tol = (LARGE_TOL, LARGE_TOL) if rough or is_large(taken.in_memory) else (FIRST_TOL, STATION_TOL)
    how: dict[str, Any] = {"forced": taken.forced, "pool": pool, "tol": tol * at_zero, "first_tol": first_tol * at_zero}
    how |= {"layout": Layout(taken.layout.sizes), "deadline": deadline}
    with trace.step("thresh"):
        for station in eliminate(taken.in_memory, problem.each(), starts, numbers, **how):
            left = taken.fewer(station.units).solved(end_to_end(station.solutions))
            if station.units.size == exact:
                left = refitted(replace(left, block=taken.in_memory.take(station.kept)), problem, deadline)
            nothing = np.zeros(0)  # vectors of as many stations as there are would be more than the columns
            solution = replace(left.solution, z=nothing, dual=None, scores=nothing, memory=None)
            yield replace(left, block=None, solution=solution)


def refitted(taken: Taken, problem: Problem, deadline: float | None = None) -> Taken:
    """With the solution under the plain penalty, which has no tie between the classes, to rounding."""
    penalty, solutions = KSupport(taken.columns.size), []
    for one, old in zip(problem.each(), apart(taken.solution, taken.layout.classes), strict=True):
        start = Start(old.w, old.z, old.b)
        solver = solver_for(one, penalty)
        solutions.append(solver.solve(taken.in_memory, one, penalty, start, tol=-np.inf, deadline=deadline))
    return taken.solved(end_to_end(solutions))


def apart(solution: Solution, classes: int) -> list[Solution]:
    """The solutions of the single classes; only w, z and b of them are told apart."""
    if classes == 1:
        return [solution]
    shifts = np.broadcast_to(solution.b, classes)
    rows = zip(solution.w.reshape(classes, -1), solution.z.reshape(classes, -1), shifts, strict=True)
    return [replace(solution, w=w, z=z, b=float(b)) for w, z, b in rows]


def end_to_end(solutions: Sequence[Solution]) -> Solution:
    """The solutions of single classes as one."""
    if len(solutions) == 1:
        return solutions[0]
    parts: dict[str, Any] = {n: np.concatenate([getattr(s, n) for s in solutions]) for n in ("w", "z", "scores")}
    parts |= {n: sum(getattr(s, n) for s in solutions) for n in ("loss", "objective", "bound")}
    dual = solutions[0].dual_point.joined([s.dual_point for s in solutions[1:]])
    return Solution(**parts, dual=dual, b=np.array([s.b for s in solutions]))
