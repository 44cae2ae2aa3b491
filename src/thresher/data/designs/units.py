"""Units: what a fit counts, takes and eliminates as one; a unit is one column of a design or several."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from thresher.data.blocks.base import Block
from thresher.data.blocks.scaled import ScaledBlock, Scaling
from thresher.data.designs.base import Design
from thresher.data.scan.reducers import Collect, Ranked, Reducer, TopK, best_first, largest, sum_of_squares
from thresher.data.scan.scores import Score

Scan = Callable[[Design, Score, Reducer], Any]  # ``Design.scan``, with a deadline and recorded in the trace


class RankingRequest(NamedTuple):
    """What a growing model asks a scan for, with its vectors V (k, n).

    It has taken the units ``taken`` with these ``columns`` (None: no unit), and wants ``size`` others ranked, none of
    those in ``exclude`` (sorted).
    """

    V: np.ndarray
    taken: np.ndarray
    columns: Block | None
    size: int
    exclude: np.ndarray


class Members(NamedTuple):
    """The columns of some units, concatenated, and how many each has (None: one each); may contain duplicates."""

    columns: np.ndarray
    sizes: np.ndarray | None


class Units(ABC):
    """All units that a fit may choose from, numbered from 0.

    A unit g has columns, a weight omega_g > 0 and the score c_g'c_g / omega_g; it is charged 1/2 omega_g ||w_g||^2. The
    columns that ``take`` passes to solvers are divided by the root of omega_g, so that solvers need no weights: w_g is
    then ``in_design`` of the solution.
    """

    count: int
    grouped: bool = True  # whether a unit may have several columns
    noun: str = "group"  # in messages
    mean_size: float = 1.0  # columns per unit

    @abstractmethod
    def reducer(self, size: int, exclude: np.ndarray) -> Reducer:
        """A reducer whose result has all that ``ranked`` needs, which is called with the same arguments.

        It may leave out what is not among the ``size`` best units, or is in ``exclude`` (sorted), so that little is
        kept where units are columns; where units are ranked only when all columns have been scored, it keeps
        all scores. Either way ``ranked`` has the last word. The scores of all vectors of a scan are summed.
        """

    def ranked(self, result: Any, size: int, exclude: np.ndarray) -> Ranked:
        """(units, scores) of the ``size`` best units, best first, none of ``exclude``, from the result of the reducer.

        By default that is the only list of the result.
        """
        return result[0]

    @abstractmethod
    def members(self, units: np.ndarray) -> Members:
        """The columns of ``units``, in that order."""

    @abstractmethod
    def roots(self, units: np.ndarray) -> np.ndarray | None:
        """The root of omega_g for each of ``units``; None if all are 1."""

    def eligible(self, design: Design, requests: Sequence[RankingRequest], scan: Scan) -> list[Ranked] | None:
        """For each model the best units that it may take next, by further scans for all; None: any that are ranked."""
        return None

    def needed(self, units: np.ndarray) -> tuple[np.ndarray, bool] | None:
        """(positions (m, 2) in ``units`` of those that each needs, -1: none; whether both or one); None: none does."""
        return None

    def take(self, design: Design, units: np.ndarray) -> Block:
        """The columns of ``units``, each divided by the root of its unit's weight, in memory."""
        columns, sizes = self.members(units)
        block, roots = design.take(columns), self.roots(units)
        if roots is None:
            return block
        return ScaledBlock(block, Scaling(1.0 / (roots if sizes is None else np.repeat(roots, sizes)), None))

    def in_design(self, units: np.ndarray, W: np.ndarray) -> np.ndarray:
        """Weights (columns, classes) on the columns of the design with the scores of ``W`` on those of ``take``."""
        roots, sizes = self.roots(units), self.members(units).sizes
        return W if roots is None else W / (roots if sizes is None else np.repeat(roots, sizes))[:, None]


class EachColumn(Units):
    """Every column is a unit of weight 1."""

    grouped, noun = False, "feature"

    def __init__(self, count: int):
        self.count = count

    def reducer(self, size: int, exclude: np.ndarray) -> Reducer:
        """See Units."""
        return TopK(size, exclude=exclude, summed=True)

    def members(self, units: np.ndarray) -> Members:
        """See Units."""
        return Members(units, None)

    def roots(self, units: np.ndarray) -> None:
        """See Units."""
        return None


class SumOfSquares(Collect):
    """The squared score of every column, summed over the columns of V. The result is (width,)."""

    def started(self, ids: int | np.ndarray, scores: np.ndarray) -> "SumOfSquares":
        """See Reducer."""
        return SumOfSquares(self.width, (ids, sum_of_squares(scores)[None]))

    def result(self) -> np.ndarray:
        """All squares."""
        return super().result()[:, 0]


class GroupUnits(Units):
    """Groups of the columns of a design; ``omega`` are their weights.

    A scan keeps the squared score of every column, one vector of length p, and ranks the groups at its end: their sums
    are taken in the order of the columns, whatever the pieces.

    A group whose columns are those of another one with no larger weight can never be better: it is ``dominated``, and
    taken only if it is forced.
    """

    def __init__(self, omega: np.ndarray, width: int, dominated: np.ndarray, mean_size: float):
        self.count, self.width, self.omega, self.dominated = omega.size, width, omega, dominated
        self.mean_size = mean_size

    def reducer(self, size: int, exclude: np.ndarray) -> Reducer:
        """See Units: all scores, whatever the size."""
        return SumOfSquares(self.width)

    def ranked(self, result: np.ndarray, size: int, exclude: np.ndarray) -> Ranked:
        """See Units; groups without a score are never among the best."""
        free = np.ones(self.count, dtype=bool)
        free[exclude], free[self.dominated] = False, False
        return self._best(result, size, free)

    @abstractmethod
    def _best(self, squares: np.ndarray, size: int, free: np.ndarray) -> Ranked:
        """The ``size`` groups of those that are ``free`` with the largest positive scores, best first."""

    def roots(self, units: np.ndarray) -> np.ndarray:
        """See Units."""
        return np.sqrt(self.omega[units])


def largest_positive(scores: np.ndarray, size: int) -> Ranked:
    """The ``size`` units with the largest positive scores, best first."""
    keep = largest(scores, size)
    keep = keep[scores[keep] > 0.0]
    keep = keep[best_first(scores[keep], keep)]
    return keep, scores[keep]
