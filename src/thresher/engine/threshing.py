"""thresh(): eliminate backward on the columns that growth has taken, without another look at X."""

from dataclasses import replace

import numpy as np

from thresher.engine.growth import is_large
from thresher.optim import newton
from thresher.optim.elimination import eliminate
from thresher.optim.master import Solution, Start
from thresher.optim.penalties import KSupport

STEP = 0.1  # share of the columns that go at once while far above the number wanted
FIRST_TOL, STATION_TOL = 1e-12, 1e-11  # of the objective without features: gaps of the first and the other stations
LARGE_TOL = 1e-2  # ... of all, where accuracy has a price: on many numbers, or in rough work


def stops(most, fine, least=1):
    """Numbers of columns at which elimination stops: every one up to ``fine``, ever fewer above, down to ``least``."""
    numbers = [most]
    while numbers[-1] > max(fine, least):
        numbers.append(max(fine, least, min(numbers[-1] - 1, int((1.0 - STEP) * numbers[-1]))))
    return numbers + list(range(numbers[-1] - 1, least - 1, -1))


def thresh(taken, problem, at_zero, numbers, trace, *, pool=None, exact=None, rough=False, deadline=None):
    """Yield what is left of ``taken`` at each of ``numbers``, which fall: a Taken without block and scores.

    The penalty is the plain 1/2 ||w||^2, and the lightest columns go first; the first ``pool`` columns taken compete
    only when the later ones are gone. The station with ``exact`` columns is solved to rounding, the others as the
    constants above say. Ends early when ``deadline`` has passed.
    """
    starts = [Start(one.w, one.z, one.b) for one in apart(taken.solution, taken.classes)]
    first_tol, tol = (LARGE_TOL, LARGE_TOL) if rough or is_large(taken.block) else (FIRST_TOL, STATION_TOL)
    how = {"forced": taken.forced, "pool": pool, "tol": tol * at_zero, "first_tol": first_tol * at_zero}
    with trace.step("thresh"):
        for kept, solutions in eliminate(taken.block, problem.each(), starts, numbers, deadline=deadline, **how):
            left = replace(taken, ids=taken.ids[kept], turn=taken.turn[kept], solution=end_to_end(solutions))
            if kept.size == exact:
                left = refitted(replace(left, block=taken.block.take(kept)), problem, deadline)
            nothing = np.zeros(0)  # vectors of as many stations as there are would be more than the columns
            solution = replace(left.solution, z=nothing, alpha=nothing, scores=nothing, memory=None)
            yield replace(left, block=None, solution=solution)


def refitted(taken, problem, deadline=None):
    """With the solution under the plain penalty, which has no tie between the classes, to rounding."""
    penalty, solutions = KSupport(taken.ids.size), []
    for one, old in zip(problem.each(), apart(taken.solution, taken.classes), strict=True):
        start = Start(old.w, old.z, old.b)
        solutions.append(newton.solve(taken.block, one, penalty, start, tol=-np.inf, deadline=deadline))
    return taken.solved(end_to_end(solutions))


def apart(solution, classes):
    """The solutions of the single classes; only w, z and b of them are told apart."""
    if classes == 1:
        return [solution]
    shifts = np.broadcast_to(solution.b, classes)
    rows = zip(solution.w.reshape(classes, -1), solution.z.reshape(classes, -1), shifts, strict=True)
    return [replace(solution, w=w, z=z, b=float(b)) for w, z, b in rows]


def end_to_end(solutions):
    """The solutions of single classes as one."""
    if len(solutions) == 1:
        return solutions[0]
    vectors = {name: np.concatenate([getattr(s, name) for s in solutions]) for name in ("w", "z", "alpha", "scores")}
    sums = {name: sum(getattr(s, name) for s in solutions) for name in ("loss", "objective", "bound")}
    return Solution(**vectors, **sums, b=np.array([s.b for s in solutions]))
