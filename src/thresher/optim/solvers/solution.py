"""The start and the solution of every solver of a problem on the taken columns."""

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol, Self, runtime_checkable

import numpy as np

from thresher.data.blocks.base import Block
from thresher.optim.penalties.norms import Penalty
from thresher.optim.problems.margins import DualPoint, Problem

# A time of ``time.perf_counter``, or what says whether to stop; None: never.
Deadline = float | Callable[[], bool] | None


@runtime_checkable
class Divisible(Protocol):
    """Memory of a solver that also serves on fewer columns, and for single classes; other memory does not."""

    def fewer_columns(self, columns: np.ndarray) -> Self:
        """That of some of the columns."""

    def of_class(self, c: int) -> Self:
        """That of one class."""

    def joined(self, others: Sequence[Self]) -> Self:
        """That of this and other classes."""


@dataclass(frozen=True)
class Solution:
    """A point w, its scores and dual point. ``bound`` is a lower bound of the optimum.

    ``dual`` is the dual point that is scanned next, ``scores`` are X'dual.vector; None and empty if they were dropped,
    as in the stations of a path. ``memory`` is what the solver passes on to its next solve.
    """

    w: np.ndarray
    z: np.ndarray
    b: float | np.ndarray
    dual: DualPoint | None
    scores: np.ndarray
    loss: float
    objective: float
    bound: float
    iterations: int = 0
    products: int = 0
    memory: Any = None

    @property
    def dual_point(self) -> DualPoint:
        """``dual``; ValueError if it was dropped."""
        if self.dual is None:
            raise ValueError("this solution has no dual point")
        return self.dual

    @property
    def start(self) -> "Start":
        """Where the next solve starts."""
        return Start(self.w, self.z, self.b, self.memory)

    @property
    def cuts(self) -> int:
        """Number of cuts in the memory; 0 for solvers without any."""
        return getattr(self.memory, "n_cuts", 0)

    @property
    def gap(self) -> float:
        """Objective - bound, never negative."""
        return max(0.0, self.objective - self.bound)


@dataclass(frozen=True)
class Start:
    """Where a solver starts: w, z = Xw, and the memory of the last solve (step size, inner products)."""

    w: np.ndarray
    z: np.ndarray
    b: float | np.ndarray = 0.0
    memory: Any = None

    @classmethod
    def zero(cls, block: Any) -> "Start":
        """The origin, for a block or what else has its shape."""
        return cls(np.zeros(block.shape[1]), np.zeros(block.shape[0]))


def evaluated(
    block: Block, problem: Problem, penalty: Penalty, w: np.ndarray, z: np.ndarray, b_start: float | np.ndarray
) -> Solution:
    """The Solution at w with the dual point that follows from it: costs one product with the block."""
    b, loss, dual = problem.at(z, b_start)
    scores = block.correlate(dual.vector)
    bound = dual.bound(2.0 * penalty.conjugate(scores))
    return Solution(w, z, b, dual, scores, loss, penalty.value(w) + loss, bound)


def out_of_time(deadline: Deadline) -> bool:
    """Whether the deadline has passed."""
    if callable(deadline):
        return deadline()
    return deadline is not None and time.perf_counter() >= deadline


def better(first: Solution, second: Solution) -> Solution:
    """The solution with the lower objective, with the higher of the two bounds: each bound is valid by itself."""
    lower = first if first.objective < second.objective else second
    return replace(lower, bound=max(first.bound, second.bound))


class DeadlinePassed(Exception):
    """Raised when the deadline passes during a computation that has no useful partial result."""


def in_time(items: Iterable[int], deadline: Deadline) -> Iterator[int]:
    """The items, as long as the deadline has not passed; then DeadlinePassed is raised."""
    for item in items:
        if out_of_time(deadline):
            raise DeadlinePassed
        yield item
