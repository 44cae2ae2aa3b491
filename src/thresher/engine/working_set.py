"""The units taken, which solvers work on, and the results of a scan over the others."""

from dataclasses import dataclass, replace

import numpy as np

from thresher.data.blocks.base import Block
from thresher.data.blocks.repeated import for_classes
from thresher.data.blocks.stacked import stack
from thresher.data.designs.units import Members
from thresher.optim.penalties.layout import Layout
from thresher.optim.problems.margins import DualPoint, Problem
from thresher.optim.solvers.solution import Divisible, Solution


@dataclass(frozen=True)
class WorkingSet:
    """The units taken so far, in order of taking (forced ones first), their columns, and the solution on them.

    ``turn`` is the turn in which each unit was taken. The columns of a unit are adjacent; ``layout`` has the units.
    """

    units: np.ndarray
    columns: np.ndarray
    turn: np.ndarray
    block: Block | None
    solution: Solution
    layout: Layout
    forced: int = 0

    @classmethod
    def nothing(cls, problem: Problem, *, grouped: bool = False) -> "WorkingSet":
        """The model without units; ``grouped``: units may have several columns."""
        b, loss, dual = problem.at(np.zeros(problem.size))
        none = np.zeros(0, dtype=np.int64)
        empty = Solution(np.zeros(0), np.zeros(problem.size), b, dual, np.zeros(0), loss, loss, 0.0)
        return cls(none, none, none, None, empty, Layout(none if grouped else None, problem.classes))

    @property
    def lengths(self) -> np.ndarray:
        """The length of each unit's weights."""
        return np.sqrt(self.layout.squares(self.solution.w))

    @property
    def weights(self) -> np.ndarray:
        """The weights as (columns, classes)."""
        return self.layout.by_class(self.solution.w).T

    @property
    def squares(self) -> np.ndarray:
        """The squared score of each unit, summed over columns and classes."""
        return self.layout.squares(self.solution.scores)

    @property
    def positions(self) -> np.ndarray:
        """Positions of the units in the model: the forced ones, and the others with non-zero weight."""
        return np.concatenate([np.arange(self.forced), self.forced + np.flatnonzero(self.lengths[self.forced :])])

    @property
    def used(self) -> int:
        """Number of units in the model."""
        return self.forced + int(np.count_nonzero(self.lengths[self.forced :]))

    @property
    def in_memory(self) -> Block:
        """``block``; ValueError if it was dropped, as in the stations of elimination."""
        if self.block is None:
            raise ValueError("the columns of this model are not in memory")
        return self.block

    @property
    def columns_of_classes(self) -> Block:
        """The columns as the solvers of this problem see them."""
        return for_classes(self.in_memory, self.layout.classes)

    def joined(self, units: np.ndarray, members: Members, block: Block) -> "WorkingSet":
        """A copy with more units, at weight zero."""
        W = np.concatenate([self.weights, np.zeros((members.columns.size, self.layout.classes))])
        return replace(
            self,
            units=np.concatenate([self.units, units]),
            columns=np.concatenate([self.columns, members.columns]),
            turn=np.concatenate([self.turn, np.full(units.size, self.turn.max(initial=0) + 1)]),
            block=block if self.block is None else stack([self.block, block]),
            layout=self.layout.joined(members.sizes),
            solution=replace(self.solution, w=W.T.ravel()),
        )

    def places(self, units: np.ndarray) -> np.ndarray:
        """The positions of some of the units."""
        order = np.argsort(self.units)
        return order[np.searchsorted(self.units[order], units)]

    def at(self, W: np.ndarray) -> "WorkingSet":
        """A copy with the weights W (columns, classes)."""
        w = np.ascontiguousarray(W.T).ravel()
        return replace(self, solution=replace(self.solution, w=w, z=self.columns_of_classes.combine(w)))

    def fewer(self, keep: np.ndarray, block: Block | None = None) -> "WorkingSet":
        """Only the units at positions ``keep``, with this block; the solution is still that of all."""
        return replace(
            self,
            units=self.units[keep],
            columns=self.columns[self.layout.columns(keep)],
            turn=self.turn[keep],
            block=block,
            layout=self.layout.take(keep),
        )

    def restricted(self, problem: Problem, keep: np.ndarray) -> "WorkingSet":
        """Only the units at positions ``keep``, from memory."""
        columns = self.layout.columns(keep)
        memory = self.solution.memory
        memory = memory.fewer_columns(columns) if isinstance(memory, Divisible) else None
        fewer = self.fewer(keep, self.in_memory.take(columns))
        fewer = replace(fewer, solution=replace(self.solution, memory=memory)).at(self.weights[columns])
        b, loss, dual = problem.at(fewer.solution.z, self.solution.b)
        return replace(fewer, solution=replace(fewer.solution, b=b, loss=loss, dual=dual))

    def heaviest(self, problem: Problem, n_units: int) -> "WorkingSet":
        """At most ``n_units`` units: the forced ones and those with the largest non-zero weights."""
        size = self.lengths
        size[: self.forced] = np.inf
        keep = np.sort(np.argsort(-size, kind="stable")[: min(n_units, self.used)])
        return self if keep.size == size.size else self.restricted(problem, keep)

    def like(self, other: "WorkingSet") -> "WorkingSet":
        """``other``, which has a subset of these units without block and scores, with both filled in."""
        columns = self.layout.columns(self.places(other.units))
        return replace(other, block=self.in_memory.take(columns)).at(other.weights)


@dataclass(frozen=True)
class ScanResult:
    """Result of a scan: a dual point, squared scores of the forced units (summed) and the largest others.

    ``best`` are the best units not yet taken, with ``best_squares``; ``rest`` is an upper bound of the squared score of
    every unit that is not among ``squares``. ``copies`` are the squared scores of units that are equal to one taken.
    """

    dual: DualPoint
    forced: float
    squares: np.ndarray
    best: np.ndarray
    best_squares: np.ndarray
    rest: float
    copies: np.ndarray

    def bound(self, budget: int, *, copies: bool = False) -> float:
        """The dual value: a lower bound for all models with ``budget`` units besides the forced ones.

        If ``budget`` exceeds the number of scores kept, ``rest`` bounds the scores of the others. With ``copies`` the
        models may have units that are equal to others.
        """
        squares = self.squares
        if copies and self.copies.size:
            squares = np.sort(np.concatenate([squares, self.copies]))[::-1]
        top = float(np.maximum(squares[:budget], self.rest).sum())
        unseen = max(0, budget - squares.size) * self.rest
        return self.dual.bound(self.forced + top + unseen)
