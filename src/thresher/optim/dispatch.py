"""Selects the solver of a problem on taken columns: each declares what it requires; the first that fits is used.

A new kind of loss or penalty registers its solver by one entry in ``SOLVERS``; nothing else depends on its type.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from thresher.data.blocks.base import Block
from thresher.optim.elimination import by_curvature as elimination
from thresher.optim.elimination import by_cuts as cut_elimination
from thresher.optim.elimination.leaving import Station
from thresher.optim.elimination.needs import Needs
from thresher.optim.penalties.layout import Layout
from thresher.optim.penalties.norms import Budgeted, Penalty, Piecewise, Proximal
from thresher.optim.problems.cuts import CutProblem
from thresher.optim.problems.margins import Curved, Problem, Smooth
from thresher.optim.solvers import apg, bundle, newton
from thresher.optim.solvers.solution import Solution, Start


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
        """The Solution with objective - bound <= tol; the best one, after a step or more, if ``deadline`` passes."""


class Eliminate(Protocol):
    """Eliminates units under the plain penalty: see ``elimination.eliminate``."""

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
        needs: Needs | None,
        tol: float,
        first_tol: float | None,
        deadline: float | None,
    ) -> Iterator[Station]:
        """A Station for each number of units in ``stops``."""


def any_block(block: Block) -> bool:
    """A solver without limits on the size of the columns."""
    return True


@dataclass(frozen=True)
class Solver:
    """A solver for problems and penalties that implement two protocols, on blocks that it ``fits``."""

    name: str
    solve: Solve
    problem: type
    penalty: type
    fits: Callable[[Block], bool] = any_block

    def suits(self, block: Block, problem: Problem, penalty: Penalty) -> bool:
        """Whether problem and penalty implement these protocols, and the block fits."""
        return isinstance(problem, self.problem) and isinstance(penalty, self.penalty) and self.fits(block)


@dataclass(frozen=True)
class Eliminator:
    """An elimination method for problems that implement a protocol, on blocks that it ``fits``."""

    name: str
    eliminate: Eliminate
    problem: type
    fits: Callable[[Block], bool] = any_block


SOLVERS = (
    Solver("newton", newton.solve, Curved, Piecewise),
    Solver("accelerated proximal gradient", apg.solve, Smooth, Proximal),
    Solver("bundle method", bundle.solve, CutProblem, Budgeted),
)
ELIMINATORS = (
    Eliminator("second-order model", elimination.eliminate, Curved),
    Eliminator("cuts", cut_elimination.eliminate, CutProblem),
)


def solver_for(block: Block, problem: Problem, penalty: Penalty) -> Solver:
    """The first suitable one of SOLVERS; TypeError if there is none."""
    for solver in SOLVERS:
        if solver.suits(block, problem, penalty):
            return solver
    raise TypeError(f"no solver supports {type(problem).__name__} with {type(penalty).__name__}: {_needs()}")


def eliminator_for(problem: Problem, block: Block | None = None) -> Eliminator:
    """The first suitable one of ELIMINATORS, for a block if there is one yet; TypeError if there is none."""
    for eliminator in ELIMINATORS:
        if isinstance(problem, eliminator.problem) and (block is None or eliminator.fits(block)):
            return eliminator
    needed = "a second derivative, or a loss that is a maximum over cuts"
    raise TypeError(f"features of {type(problem).__name__} cannot be eliminated: the problem needs {needed}")


def _needs() -> str:
    return "; ".join(
        f"{solver.name} requires {solver.problem.__name__} and {solver.penalty.__name__}" for solver in SOLVERS
    )
