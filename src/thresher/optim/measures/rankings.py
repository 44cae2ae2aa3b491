"""Measures of rankings: ROC area and average precision, and their most violated rankings.

A ranking is known by its swapped pairs, those of a positive i and a negative j above it. Its sum over rows is
- sum over swapped pairs of (s_i - s_j) / (P N), which is Psi(y') - Psi(y) for Psi = sum_ij y_ij (s_i - s_j) / (2 P N).
Inside a class the order by score is the best one, of equal scores the lower row first; all that matters is how the
classes are merged, and thus the number of swapped pairs that each row is in.
"""

from abc import abstractmethod
from dataclasses import dataclass

import numpy as np

from thresher.errors import InvalidDataError
from thresher.loops import measures as loops
from thresher.optim.measures.cuts import Cut, Oracle, Rows


@dataclass(frozen=True, eq=False)
class RankCut(Cut):
    """A ranking: for each row the number of swapped pairs that it is in, as int32.

    v_i is the sum of w_i w_j over the swapped pairs of i, divided by that over all pairs, and negative for negatives.
    """

    @classmethod
    def of(cls, rows: Rows, loss: float, swapped: np.ndarray) -> "RankCut":
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


def swapped_weights(rows: Rows, swapped: np.ndarray) -> np.ndarray:
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
        merged = self._merged(self.checked(scores))
        swapped = np.zeros(self.rows.y.size, dtype=np.int32)
        swapped[merged.positives] = merged.negatives_above
        swapped[merged.negatives] = self.rows.n_positive - merged.positives_above
        return RankCut.of(self.rows, self._loss(merged), swapped)

    def most_violated(self, scores: np.ndarray) -> np.ndarray:
        """Ranks, 1 for the best row; rows that are not there have 0."""
        merged, ranks = self._merged(self.checked(scores)), np.zeros(self.rows.y.size)
        ranks[merged.positives] = merged.negatives_above + np.arange(1, self.rows.n_positive + 1)
        ranks[merged.negatives] = merged.positives_above + np.arange(1, self.rows.n_negative + 1)
        return ranks

    @abstractmethod
    def _merged(self, scores: np.ndarray) -> "Merged":
        """The most violated ranking."""

    @abstractmethod
    def _loss(self, merged: "Merged") -> float:
        """The loss of a ranking."""


@dataclass(frozen=True)
class Merged:
    """Rows of both classes from the best one down, and for each how many of the other class are above it."""

    positives: np.ndarray
    negatives_above: np.ndarray
    negatives: np.ndarray
    positives_above: np.ndarray


class RocOracle(RankingOracle):
    """ROC area: a pair is swapped where its margin s_i - s_j is below 1, so the ranking is that by s - y / 2."""

    def _merged(self, scores: np.ndarray) -> Merged:
        rows = self.rows
        positives, negatives = falling(scores, rows.positives), falling(scores, rows.negatives)
        rising = -(scores[positives] - 1.0), -scores[negatives]
        return Merged(
            positives,
            np.searchsorted(rising[1], rising[0], side="left"),  # a margin of exactly 1 is wide enough
            negatives,
            np.searchsorted(rising[0], rising[1], side="right"),
        )

    def _loss(self, merged: Merged) -> float:
        true, false = self.rows.weights[merged.positives], self.rows.weights[merged.negatives]
        above = np.concatenate([[0.0], np.cumsum(false)])
        return min(1.0, float(true @ above[merged.negatives_above] / (true.sum() * above[-1])))


class PrecisionOracle(RankingOracle):
    """Average precision.

    The j-th negative, with r of the P positives above it, adds a sum over the positives m = r + 1 .. P that depends on
    j and r alone. The best r does not fall as j rises: it is found for every other j between those of its neighbours.
    """

    def _merged(self, scores: np.ndarray) -> Merged:
        rows = self.rows
        positives, negatives = falling(scores, rows.positives), falling(scores, rows.negatives)
        above = np.empty(rows.n_negative, dtype=np.int64)
        loops.place_negatives(scores[positives], scores[negatives], above)
        before = np.searchsorted(above, np.arange(rows.n_positive), side="right")
        return Merged(positives, before, negatives, above)

    def _loss(self, merged: Merged) -> float:
        hits = np.arange(1, merged.positives.size + 1)
        return 1.0 - float((hits / (hits + merged.negatives_above)).mean())


def falling(scores: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """``rows`` from the best score down, of equal ones the lower row first."""
    return rows[np.argsort(-scores[rows], kind="stable")]


def swapped_share(y: np.ndarray, ranks: np.ndarray) -> float:
    """The share of pairs of a positive and a negative that are in wrong order."""
    positive = y[_rows_by_rank(y, ranks)] > 0
    swapped = np.cumsum(~positive)[positive].sum()
    return float(swapped / _pair_count(positive))


def precision_of_ranks(y: np.ndarray, ranks: np.ndarray) -> float:
    """The mean over the positives of the precision at their ranks."""
    places = np.flatnonzero(y[_rows_by_rank(y, ranks)] > 0) + 1
    if places.size == 0:
        raise InvalidDataError("average precision is undefined: y has no positive rows")
    return float((np.arange(1, places.size + 1) / places).mean())


def roc_area(y: np.ndarray, scores: np.ndarray, weights: np.ndarray) -> float:
    """The share of pairs in right order, those with equal scores counted half; a pair weighs the product of two."""
    positive, negative = (y > 0) & (weights > 0.0), (y < 0) & (weights > 0.0)
    if not (positive.any() and negative.any()):
        raise InvalidDataError("ROC area is undefined: y must have positive and negative rows")
    order = np.argsort(scores[negative], kind="stable")
    sorted_scores = scores[negative][order]
    sums = np.concatenate([[0.0], np.cumsum(weights[negative][order])])
    below = sums[np.searchsorted(sorted_scores, scores[positive], side="left")]
    upto = sums[np.searchsorted(sorted_scores, scores[positive], side="right")]
    own = weights[positive]
    return float(0.5 * (own @ (below + upto)) / (own.sum() * sums[-1]))


def average_precision(y: np.ndarray, scores: np.ndarray) -> float:
    """The sum of the precisions at all thresholds, each times what the recall gains there."""
    order = np.argsort(-scores, kind="stable")
    last = np.append(np.flatnonzero(np.diff(scores[order])), y.size - 1)  # of each threshold
    hits = np.cumsum(y[order] > 0)[last]
    if hits.size == 0 or hits[-1] == 0:
        raise InvalidDataError("average precision is undefined: y has no positive rows")
    return float((np.diff(hits, prepend=0) * (hits / (last + 1))).sum() / hits[-1])


def _rows_by_rank(y: np.ndarray, ranks: np.ndarray) -> np.ndarray:
    """The rows from rank 1 down; ``ranks`` must be 1 .. n, each once."""
    order = np.argsort(ranks, kind="stable")
    if not np.array_equal(ranks[order], np.arange(1, y.size + 1)):
        raise InvalidDataError(f"ranks must be the numbers 1 to {y.size}, each once")
    return order


def _pair_count(positive: np.ndarray) -> int:
    pairs = int(positive.sum()) * int((~positive).sum())
    if pairs == 0:
        raise InvalidDataError("ROC area is undefined: y must have positive and negative rows")
    return pairs
