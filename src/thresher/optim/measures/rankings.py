"""Measures of rankings: ROC area and average precision, and their most violated rankings.

A ranking is known by its swapped pairs, those of a positive i and a negative j above it. Its sum over rows is
- sum over swapped pairs of (s_i - s_j) / (P N), which is Psi(y') - Psi(y) for Psi = sum_ij y_ij (s_i - s_j) / (2 P N).
Inside a class the order by score is the best one, of equal scores the lower row first; all that matters is how the
classes are merged, and thus the number of swapped pairs that each row is in.
"""

from abc import abstractmethod
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from thresher.errors import InvalidDataError
from thresher.loops import measures as loops
from thresher.optim.measures.base import Measure
from thresher.optim.measures.cuts import Cut, LabelledRows, Oracle, checked_scores
from thresher.state import register


@dataclass(frozen=True, eq=False)
class RankCut(Cut):
    """A ranking: for each row the number of swapped pairs that it is in, as int32.

    v_i is the sum of w_i w_j over the swapped pairs of i, divided by that over all pairs, and negative for negatives.
    """

    @classmethod
    def of(cls, rows: LabelledRows, loss: float, swapped: np.ndarray) -> "RankCut":
        """The cut of a ranking with these numbers of swapped pairs."""
        return cls(float(loss), swapped.astype(np.int32).tobytes(), rows)

    def swapped(self) -> np.ndarray:
        """For each row the number of swapped pairs that it is in."""
        return np.frombuffer(self.key, dtype=np.int32)

    def vector(self) -> np.ndarray:
        """See Cut."""
        rows, swapped = self.rows, self.swapped()
        if rows.counted:
            return rows.y * swapped / (rows.n_positive * rows.n_negative)
        return swapped_weights(rows, swapped)


def swapped_weights(rows: LabelledRows, swapped: np.ndarray) -> np.ndarray:
    """The vector of a cut where rows have weights.

    The ranking is in the numbers: above a positive that is in c swapped pairs are the c negatives that are in the most
    of them, and below a negative that is in c are the c positives that are in the most.
    """
    v = np.zeros(rows.y.size)
    sides = (rows.positives, rows.negatives)
    for own, other in (sides, sides[::-1]):
        order = np.argsort(-swapped[other], kind="stable")
        sums = np.concatenate([[0.0], np.cumsum(rows.weights[other[order]])])
        v[own] = rows.y[own] * rows.weights[own] * sums[swapped[own]]
    return v / (rows.weights[rows.positives].sum() * rows.weights[rows.negatives].sum())


class RankingOracle(Oracle):
    """What the searches for rankings share."""

    def cut(self, scores: np.ndarray) -> RankCut:
        """See Oracle."""
        merged = self._ranking(scores)
        swapped = np.zeros(self.rows.y.size, dtype=np.int32)
        swapped[merged.positives] = merged.negatives_above
        swapped[merged.negatives] = self.rows.n_positive - merged.positives_above
        return RankCut.of(self.rows, self._loss(merged), swapped)

    def most_violated(self, scores: np.ndarray) -> np.ndarray:
        """Ranks, 1 for the best row; rows that do not count have 0."""
        merged, ranks = self._ranking(scores), np.zeros(self.rows.y.size)
        ranks[merged.positives] = merged.negatives_above + np.arange(1, self.rows.n_positive + 1)
        ranks[merged.negatives] = merged.positives_above + np.arange(1, self.rows.n_negative + 1)
        return ranks

    def _ranking(self, scores: np.ndarray) -> "Merged":
        """The most violated ranking."""
        scores = checked_scores(scores, self.rows.y.size)
        positives, negatives = (
            rows[np.argsort(-scores[rows], kind="stable")] for rows in (self.rows.positives, self.rows.negatives)
        )
        return Merged(positives, negatives, *self._merged(scores[positives], scores[negatives]))

    @abstractmethod
    def _merged(self, positives: np.ndarray, negatives: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """How many negatives are above each positive, and positives above each negative, by falling scores."""

    @abstractmethod
    def _loss(self, merged: "Merged") -> float:
        """The loss of a ranking."""


@dataclass(frozen=True)
class Merged:
    """Rows of both classes from the best one down, and for each how many of the other class are above it."""

    positives: np.ndarray
    negatives: np.ndarray
    negatives_above: np.ndarray
    positives_above: np.ndarray


class RocOracle(RankingOracle):
    """ROC area: a pair is swapped where its margin s_i - s_j is below 1, so the ranking is that by s - y / 2."""

    def _merged(self, positives: np.ndarray, negatives: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        needed = 1.0 - positives  # a margin of exactly 1 is wide enough
        return np.searchsorted(-negatives, needed, side="left"), np.searchsorted(needed, -negatives, side="right")

    def _loss(self, merged: Merged) -> float:
        true, false = self.rows.weights[merged.positives], self.rows.weights[merged.negatives]
        above = np.concatenate([[0.0], np.cumsum(false)])
        return min(1.0, float(true @ above[merged.negatives_above] / (true.sum() * above[-1])))


class PrecisionOracle(RankingOracle):
    """Average precision.

    The j-th negative, with r of the P positives above it, adds a sum over the positives m = r + 1 .. P that depends on
    j and r alone. The best r does not fall as j rises: it is found for every other j between those of its neighbours.
    """

    def _merged(self, positives: np.ndarray, negatives: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        above = np.empty(negatives.size, dtype=np.int64)
        loops.place_negatives(positives, negatives, above)
        return np.searchsorted(above, np.arange(positives.size), side="right"), above

    def _loss(self, merged: Merged) -> float:
        hits = np.arange(1, merged.positives.size + 1)
        return 1.0 - float((hits / (hits + merged.negatives_above)).mean())


@register
@dataclass(frozen=True)
class RocArea(Measure):
    """The area under the ROC curve: the share of pairs of a positive and a negative sample in right order.

    Pairs with equal scores count half. Its risk is the mean of max(0, 1 - (s_i - s_j)) over those pairs.

    Examples
    --------
    >>> from thresher import RocArea
    >>> RocArea().score([1, 1, -1, -1], [0.3, 0.1, 0.3, -1.0])
    0.625
    >>> RocArea().most_violated([1, 1, -1, -1], [3.0, 0.1, 0.5, -3.0])     # ranks
    array([1., 3., 2., 4.])
    """

    name: ClassVar[str] = "auc"
    title = "area under the ROC curve"
    of_rankings: ClassVar[bool] = True
    is_weighted: ClassVar[bool] = True

    def loss_of(self, y: np.ndarray, labels: np.ndarray) -> float:
        """See Measure."""
        positive = y[_rows_by_rank(y, labels)] > 0
        if positive.all() or not positive.any():
            raise InvalidDataError("ROC area is undefined: y must have positive and negative rows")
        swapped = np.cumsum(~positive)[positive].sum()
        return float(swapped / (int(positive.sum()) * int((~positive).sum())))

    def score_of(self, y: np.ndarray, scores: np.ndarray) -> float:
        """See Measure."""
        return self.weighted_score_of(y, scores, np.ones(y.size))

    def weighted_score_of(self, y: np.ndarray, scores: np.ndarray, weights: np.ndarray) -> float:
        """See Measure: a pair weighs as much as the product of its two."""
        positive, negative = y > 0, y < 0
        if not (positive.any() and negative.any()):
            raise InvalidDataError("ROC area is undefined: y must have positive and negative rows")
        order = np.argsort(scores[negative], kind="stable")
        rising, own = scores[negative][order], weights[positive]
        sums = np.concatenate([[0.0], np.cumsum(weights[negative][order])])
        below, upto = (sums[np.searchsorted(rising, scores[positive], side=side)] for side in ("left", "right"))
        return float(0.5 * (own @ (below + upto)) / (own.sum() * sums[-1]))

    def oracle(self, rows: LabelledRows) -> Oracle:
        """See Measure."""
        return RocOracle(rows)


@register
@dataclass(frozen=True)
class AveragePrecision(Measure):
    """The mean over the positives of the precision among the samples that are ranked no worse.

    Samples with equal scores are taken together, as scikit-learn does.

    Examples
    --------
    >>> from thresher import AveragePrecision
    >>> AveragePrecision().score([1, 1, -1, -1], [3.0, 0.1, 0.5, -1.0])
    0.8333333333333333
    >>> AveragePrecision().most_violated([1, 1, -1, -1], [1.0, 0.1, 0.5, -3.0])     # ranks
    array([2., 3., 1., 4.])
    """

    name: ClassVar[str] = "average_precision"
    of_rankings: ClassVar[bool] = True

    def loss_of(self, y: np.ndarray, labels: np.ndarray) -> float:
        """See Measure."""
        places = np.flatnonzero(y[_rows_by_rank(y, labels)] > 0) + 1
        if places.size == 0:
            raise InvalidDataError("average precision is undefined: y has no positive rows")
        return 1.0 - float((np.arange(1, places.size + 1) / places).mean())

    def score_of(self, y: np.ndarray, scores: np.ndarray) -> float:
        """See Measure."""
        order = np.argsort(-scores, kind="stable")
        last = np.append(np.flatnonzero(np.diff(scores[order])), y.size - 1)  # of each threshold
        hits = np.cumsum(y[order] > 0)[last]
        if not hits[-1]:
            raise InvalidDataError("average precision is undefined: y has no positive rows")
        return float((np.diff(hits, prepend=0) * (hits / (last + 1))).sum() / hits[-1])

    def oracle(self, rows: LabelledRows) -> Oracle:
        """See Measure."""
        return PrecisionOracle(rows)


def _rows_by_rank(y: np.ndarray, ranks: np.ndarray) -> np.ndarray:
    """The rows from rank 1 down; ``ranks`` must be 1 .. n, each once."""
    order = np.argsort(ranks, kind="stable")
    if not np.array_equal(ranks[order], np.arange(1, y.size + 1)):
        raise InvalidDataError(f"ranks must be the numbers 1 to {y.size}, each once")
    return order
