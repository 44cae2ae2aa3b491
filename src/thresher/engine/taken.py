"""What crosses the border to the solvers' side: the columns taken, and what a scan saw of the others."""

from dataclasses import dataclass, replace

import numpy as np

from thresher.data.block import Block
from thresher.data.stacked import stack
from thresher.optim.master import Solution, Start


@dataclass(frozen=True)
class Taken:
    """The columns taken so far, in order of taking (forced ones first), and the solution on them.

    The solution's w holds the weights of the first class on all columns, then those of the second, and so on.
    """

    ids: np.ndarray
    turn: np.ndarray
    block: Block | None
    solution: Solution
    forced: int = 0
    classes: int = 1

    @classmethod
    def nothing(cls, problem):
        """The model without columns."""
        b, loss, alpha = problem.at(np.zeros_like(problem.y))
        none = np.zeros(0, dtype=np.int64)
        empty = Solution(np.zeros(0), np.zeros_like(problem.y), b, alpha, np.zeros(0), loss, loss, 0.0)
        return cls(none, none, None, empty, classes=problem.classes)

    @property
    def lengths(self):
        """The length of each column's weights over the classes."""
        return np.sqrt((self.weights**2).sum(axis=1))

    @property
    def weights(self):
        """The weights as (columns, classes)."""
        return self.solution.w.reshape(self.classes, -1).T

    @property
    def squares(self):
        """The squared score of each column, summed over the classes."""
        return (self.solution.scores.reshape(self.classes, -1) ** 2).sum(axis=0)

    @property
    def positions(self):
        """Positions of the columns in the model: the forced ones, and the others with non-zero weight."""
        return np.concatenate([np.arange(self.forced), self.forced + np.flatnonzero(self.lengths[self.forced :])])

    @property
    def used(self):
        """Number of columns in the model."""
        return self.forced + int(np.count_nonzero(self.lengths[self.forced :]))

    @property
    def start(self):
        """Where the next solve begins."""
        return Start(self.solution.w, self.solution.z, self.solution.b, self.solution.memory)

    def joined(self, ids, block):
        """With more columns, at weight zero."""
        W = np.concatenate([self.weights, np.zeros((ids.size, self.classes))])
        return replace(
            self,
            ids=np.concatenate([self.ids, ids]),
            turn=np.concatenate([self.turn, np.full(ids.size, self.turn.max(initial=0) + 1)]),
            block=block if self.block is None else stack([self.block, block]),
            solution=replace(self.solution, w=W.T.ravel()),
        )

    def solved(self, solution):
        """With another solution on the same columns."""
        return replace(self, solution=solution)

    def at(self, problem, W):
        """With the weights W (columns, classes)."""
        w = np.ascontiguousarray(W.T).ravel()
        return replace(self, solution=replace(self.solution, w=w, z=problem.on(self.block).combine(w)))

    def restricted(self, problem, keep):
        """Only the columns at positions ``keep``, from memory."""
        fewer = replace(self, ids=self.ids[keep], turn=self.turn[keep], block=self.block.take(keep))
        fewer = replace(fewer, solution=replace(self.solution, memory=None)).at(problem, self.weights[keep])
        b, loss, alpha = problem.at(fewer.solution.z, self.solution.b)
        return fewer.solved(replace(fewer.solution, b=b, loss=loss, alpha=alpha))

    def heaviest(self, problem, number):
        """At most ``number`` columns: the forced ones and those with the largest weights, none of them zero."""
        size = self.lengths
        size[: self.forced] = np.inf
        keep = np.sort(np.argsort(-size, kind="stable")[: min(number, self.used)])
        return self if keep.size == size.size else self.restricted(problem, keep)

    def like(self, problem, other):
        """``other``, which has some of these columns and neither block nor scores, with both."""
        order = np.argsort(self.ids)
        block = self.block.take(order[np.searchsorted(self.ids[order], other.ids)])
        return replace(other, block=block).at(problem, other.weights)


@dataclass(frozen=True)
class Sight:
    """What a scan saw: a dual point, squared scores of the forced columns (summed) and the largest others.

    ``rest`` is the most that the squared score of a column can be which is not among them.
    """

    alpha: np.ndarray
    forced: float
    squares: np.ndarray
    best: np.ndarray
    rest: float

    def bound(self, problem, budget):
        """The dual value: no model with ``budget`` columns besides the forced ones can go below.

        Where more columns are asked for than scores were kept, unseen ones may stand in the place of small ones.
        """
        top = float(np.maximum(self.squares[:budget], self.rest).sum())
        unseen = max(0, budget - self.squares.size) * self.rest
        return problem.dual_value(self.alpha, self.forced + top + unseen)
