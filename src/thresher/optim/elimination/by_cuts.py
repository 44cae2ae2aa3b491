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
from thresher.optim.elimination.rules import COMPACT_SHARE, ELIMINATION_ENTRIES, Remaining, Rules
from thresher.optim.penalties.norms import KSupport
from thresher.optim.problems.cuts import CutProblem
from thresher.optim.solvers.bundle import searched
from thresher.optim.solvers.cut_memory import CutMemory
from thresher.optim.solvers.solution import DeadlinePassed, Solution, Start, in_time, out_of_time


def eliminate(
    block: Block, problems: Sequence[CutProblem], starts: Sequence[Start], stops: Iterable[int], rules: Rules
) -> Iterator[Remaining]:
    """Yield what remains at each number of units in ``stops``, which decreases: see ``by_curvature.eliminate``.

    The gap of a station is at most ``rules.tol`` or, if that is less, what the bundle method reaches.
    """
    columns = _ColumnsLeft(densified(block, ELIMINATION_ENTRIES), np.arange(block.shape[1]))
    kept = columns.kept
    # growth may end with some columns on which nothing was solved
    memories = [start.memory.on(block) if isinstance(start.memory, CutMemory) else None for start in starts]
    starts = [replace(start, memory=memory) for start, memory in zip(starts, memories, strict=True)]
    solutions = _solutions(columns, problems, starts, rules.first_gap, rules.deadline)
    for stop in stops:
        if stop < rules.units(kept).size:
            squares = sum(solution.w**2 for solution in solutions)
            stays = np.delete(np.arange(kept.size), rules.leaving(kept, np.asarray(squares), stop))
            kept, columns = kept[stays], columns.some(stays)
            starts = [_start(columns, solution, stays) for solution in solutions]
            solutions = _solutions(columns, problems, starts, rules.tol, rules.deadline)
        yield Remaining(kept, rules.units(kept), tuple(solutions))


def _solutions(columns, problems, starts, tol, deadline) -> list[Solution]:
    """The solution of each problem on the columns; DeadlinePassed if there is no time for it."""
    solutions, share = [], tol / len(problems)
    for c in in_time(range(len(problems)), deadline):
        search = searched(columns, problems[c], KSupport(columns.shape[1]), starts[c], tol=share, deadline=deadline)
        if out_of_time(deadline) and not search.is_settled(share):
            raise DeadlinePassed
        solutions.append(search.solution())
    return solutions


def _start(columns, solution: Solution, stays: np.ndarray) -> Start:
    """Where the solution on fewer columns starts."""
    w = solution.w[stays]
    return Start(w, columns.combine(w), solution.b, solution.memory.fewer_columns(stays))


class _ColumnsLeft:
    """Columns of a block that are left, compacted from time to time, as the bundle method calls them."""

    def __init__(self, block: Block, kept: np.ndarray):
        self.block, self.kept = block, kept
        self.shape = block.shape[0], kept.size

    def some(self, stays: np.ndarray) -> "_ColumnsLeft":
        """Only the columns at positions ``stays``."""
        kept = self.kept[stays]
        if kept.size < COMPACT_SHARE * self.block.shape[1]:
            return _ColumnsLeft(self.block.take(kept), np.arange(kept.size))
        return _ColumnsLeft(self.block, kept)

    def of_a_class(self) -> "_ColumnsLeft":
        return self

    def correlate(self, V: np.ndarray) -> np.ndarray:
        return self.block.correlate(V)[self.kept]

    def combine(self, w: np.ndarray) -> np.ndarray:
        spread = np.zeros(self.block.shape[1])
        spread[self.kept] = w
        return self.block.combine(spread)
