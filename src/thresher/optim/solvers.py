"""Which solver a master problem gets: each declares what it needs of problem and penalty, the first that fits is taken.

A new kind of loss or penalty brings a solver of its own by one entry in ``SOLVERS``; nothing else asks what it is.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from thresher.optim import apg, elimination, newton
from thresher.optim.master import Solution
from thresher.optim.penalties import Penalty, Pieced, Proximal
from thresher.optim.problem import Curved, Problem, Smooth


@dataclass(frozen=True)
class Solver:
    """``solve(block, problem, penalty, start, *, tol, deadline)`` for what has the methods of two protocols."""

    name: str
    solve: Callable[..., Solution]
    problem: type
    penalty: type

    def suits(self, problem: Problem, penalty: Penalty) -> bool:
        """Whether problem and penalty have what it needs."""
        return isinstance(problem, self.problem) and isinstance(penalty, self.penalty)


@dataclass(frozen=True)
class Eliminator:
    """``eliminate(block, problems, starts, stops, layout, ...)`` for problems that have the methods of a protocol."""

    name: str
    eliminate: Callable[..., Iterator[elimination.Station]]
    problem: type


SOLVERS = (
    Solver("newton", newton.solve, Curved, Pieced),
    Solver("accelerated proximal gradient", apg.solve, Smooth, Proximal),
)
ELIMINATORS = (Eliminator("second-order model", elimination.eliminate, Curved),)


def solver_for(problem: Problem, penalty: Penalty) -> Solver:
    """The first of SOLVERS that suits; TypeError where none does."""
    for solver in SOLVERS:
        if solver.suits(problem, penalty):
            return solver
    raise TypeError(f"no solver suits {type(problem).__name__} with {type(penalty).__name__}: {_needs()}")


def eliminator_for(problem: Problem) -> Eliminator:
    """The first of ELIMINATORS that suits; TypeError where none does."""
    for eliminator in ELIMINATORS:
        if isinstance(problem, eliminator.problem):
            return eliminator
    raise TypeError(f"features of {type(problem).__name__} cannot be eliminated: it has no second derivative")


def _needs() -> str:
    return "; ".join(f"{each.name} needs {each.problem.__name__} and {each.penalty.__name__}" for each in SOLVERS)
