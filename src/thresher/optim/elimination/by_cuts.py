"""Backward elimination for losses that are a maximum over cuts, which have no curvature.

Under the plain penalty 1/2 ||w||^2 a station is a small quadratic program in the weights of the cuts, whose Gram
matrix loses one rank when a column leaves. The cuts of one station hold on the next, so that few are missing there:
new ones are sought until the gap is small enough.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

import numpy as np

from thresher.data.blocks.base import Block
from thresher.data.blocks.dense import densified
from thresher.optim.elimination.leaving import Order, Station
from thresher.optim.elimination.needs import Needs
from thresher.optim.penalties.layout import PLAIN, Layout
from thresher.optim.penalties.norms import KSupport
from thresher.optim.problems.cuts import CutProblem
from thresher.optim.solvers.bundle import searched
from thresher.optim.solvers.cut_memory import CutMemory
from thresher.optim.solvers.solution import DeadlinePassed, Divisible, Solution, Start, in_time, out_of_time

DENSE_ENTRIES = 1 << 26  # entries up to which the columns may be copied into one float64 array
COMPACT_SHARE = 0.8  # columns are copied together when fewer than this share of them are left


def eliminate(
    block: Block,
    problems: Sequence[CutProblem],
    starts: Sequence[Start],
    stops: Iterable[int],
    *,
    layout: Layout = PLAIN,
    forced: int = 0,
    pool: int | None = None,
    needs: Needs | None = None,
    tol: float,
    first_tol: float | None = None,
    deadline: float | None = None,
) -> Iterator[Station]:
    """Yield a Station for each number of units in ``stops``, which decreases: see ``elimination.eliminate``.

    The gap of a station is at most ``tol`` or, if that is less, what the bundle method reaches.
    """
    order = Order.of(layout, block.shape[1], forced, pool, needs)
    columns, kept = _ColumnsLeft(densified(block, DENSE_ENTRIES)), np.arange(block.shape[1])
    starts = [_on_all_columns(block, start) for start in starts]
    solutions = _solutions(columns, problems, starts, tol if first_tol is None else first_tol, deadline)
    for stop in stops:
        if stop < order.units(kept).size:
            squares = sum(solution.w**2 for solution in solutions)
            stays = np.delete(np.arange(kept.size), order.leaving(kept, np.asarray(squares), stop))
            kept, columns = kept[stays], columns.some(stays)
            starts = [_start(columns, solution, stays) for solution in solutions]
            solutions = _solutions(columns, problems, starts, tol, deadline)
        yield Station(kept, order.units(kept), tuple(solutions))


def _on_all_columns(block: Block, start: Start) -> Start:
    """The start with cuts on all columns: growth may end with some on which nothing was solved."""
    return replace(start, memory=start.memory.on(block)) if isinstance(start.memory, CutMemory) else start


def _solutions(columns, problems, starts, tol, deadline) -> list[Solution]:
    """The solution of each problem on the columns; DeadlinePassed if there is no time for it."""
    solutions = []
    for c in in_time(range(len(problems)), deadline):
        share = tol / len(problems)
        found = searched(columns, problems[c], KSupport(columns.shape[1]), starts[c], tol=share, deadline=deadline)
        if out_of_time(deadline) and not found.is_settled(share):
            raise DeadlinePassed
        solutions.append(found.solution())
    return solutions


def _start(columns, solution: Solution, stays: np.ndarray) -> Start:
    """Where the solution on fewer columns starts."""
    w, memory = solution.w[stays], solution.memory
    return Start(
        w, columns.combine(w), solution.b, memory.fewer_columns(stays) if isinstance(memory, Divisible) else None
    )


class _ColumnsLeft:
    """Some columns of a block that are left, copied together now and then: what the bundle method sees of them."""

    def __init__(self, block: Block, kept: np.ndarray | None = None):
        self.block, self.kept = block, np.arange(block.shape[1]) if kept is None else kept
        self.shape = block.shape[0], self.kept.size

    def some(self, stays: np.ndarray) -> "_ColumnsLeft":
        """Only the columns at positions ``stays``."""
        kept = self.kept[stays]
        if kept.size < COMPACT_SHARE * self.block.shape[1]:
            return _ColumnsLeft(self.block.take(kept))
        return _ColumnsLeft(self.block, kept)

    def of_a_class(self) -> "_ColumnsLeft":
        return self

    def correlate(self, V: np.ndarray) -> np.ndarray:
        return self.block.correlate(V)[self.kept]

    def combine(self, w: np.ndarray) -> np.ndarray:
        spread = np.zeros(self.block.shape[1])
        spread[self.kept] = w
        return self.block.combine(spread)
