"""Which solver a master problem gets: each declares what it needs of problem and penalty, the first that fits is taken.

A new kind of loss or penalty brings a solver of its own by one entry in ``SOLVERS``; nothing else asks what it is.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from thresher.data.block import Block
from thresher.optim import apg, elimination, newton
from thresher.optim.layout import Layout
from thresher.optim.master import Solution, Start
from thresher.optim.penalties import Penalty, Pieced, Proximal
from thresher.optim.problem import Curved, Problem, Smooth


class Solve(Protocol):
    """Minimises penalty(w) + loss(Xw + b) on the columns of a block.

    ``problem`` and ``penalty`` have the methods of the protocols that the Solver names, which ``suits`` checks.
    """

    def __call__(
        self,
        block: Block,
        problem: Any,
        penalty: Any,
        start: Start | None = None,
        *,
        tol: float,
        deadline: float | None = None,
    ) -> Solution:
        """The Solution with objective - bound <= tol, or the best one when ``deadline`` has passed."""


class Eliminate(Protocol):
    """Drops units under the plain penalty: see ``elimination.eliminate``, whose contract this is."""

    def __call__(
        self,
        block: Block,
        problems: Sequence[Any],
        starts: Sequence[Start],
        stops: Iterable[int],
        *,
        layout: Layout,
        forced: int,
        pool: int | None,
        tol: float,
        first_tol: float | None,
        deadline: float | None,
    ) -> Iterator[elimination.Station]:
        """A Station for each number of units in ``stops``."""


@dataclass(frozen=True)
class Solver:
    """A solver for problems and penalties that have the methods of two protocols."""

    name: str
    solve: Solve
    problem: type
    penalty: type

    def suits(self, problem: Problem, penalty: Penalty) -> bool:
        """Whether problem and penalty have what it needs."""
        return isinstance(problem, self.problem) and isinstance(penalty, self.penalty)


@dataclass(frozen=True)
class Eliminator:
    """A way to eliminate units of problems that have the methods of a protocol."""

    name: str
    eliminate: Eliminate
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
