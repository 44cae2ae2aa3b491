"""Selects the solver of a problem on taken columns: each declares what it requires; the first that fits is used.

A new kind of loss or penalty registers its solver by one entry in ``SOLVERS``; nothing else depends on its type.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from thresher.optim.elimination import by_curvature, by_cuts
from thresher.optim.elimination.rules import Remaining
from thresher.optim.penalties.norms import Budgeted, Penalty, Piecewise, Proximal
from thresher.optim.problems.cuts import CutProblem
from thresher.optim.problems.margins import Curved, Problem, Smooth
from thresher.optim.solvers import apg, bundle, newton
from thresher.optim.solvers.solution import Solution


@dataclass(frozen=True)
class Solver:
    """A solver for problems and penalties that implement two protocols.

    ``solve(block, problem, penalty, start=None, *, tol, deadline=None)`` minimises penalty(w) + loss(Xw + b) on the
    columns of a block: it returns the Solution with objective - bound <= tol, or the best one, after a step or more, if
    ``deadline`` passes.
    """

    name: str
    solve: Callable[..., Solution]
    problem: type
    penalty: type


@dataclass(frozen=True)
class Eliminator:
    """An elimination method for problems that implement a protocol.

    ``eliminate(block, problems, starts, stops, rules)`` yields what remains at each number of units in ``stops``.
    """

    eliminate: Callable[..., Iterator[Remaining]]
    problem: type


SOLVERS = (
    Solver("newton", newton.solve, Curved, Piecewise),
    Solver("accelerated proximal gradient", apg.solve, Smooth, Proximal),
    Solver("bundle method", bundle.solve, CutProblem, Budgeted),
)
ELIMINATORS = (
    Eliminator(by_curvature.eliminate, Curved),
    Eliminator(by_cuts.eliminate, CutProblem),
)


def solver_for(problem: Problem, penalty: Penalty) -> Solver:
    """The first suitable one of SOLVERS; TypeError if there is none."""
    for solver in SOLVERS:
        if isinstance(problem, solver.problem) and isinstance(penalty, solver.penalty):
            return solver
    needs = [f"{solver.name} requires {solver.problem.__name__} and {solver.penalty.__name__}" for solver in SOLVERS]
    raise TypeError(f"no solver supports {type(problem).__name__} with {type(penalty).__name__}: {'; '.join(needs)}")


def eliminator_for(problem: Problem) -> Eliminator:
    """The first suitable one of ELIMINATORS; TypeError if there is none."""
    for eliminator in ELIMINATORS:
        if isinstance(problem, eliminator.problem):
            return eliminator
    needed = "a second derivative, or a loss that is a maximum over cuts"
    raise TypeError(f"features of {type(problem).__name__} cannot be eliminated: the problem needs {needed}")
