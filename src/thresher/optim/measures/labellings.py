"""Most violated labellings for measures of the contingency table, exactly, in the time of sorting.

With a true positives and b false ones, loss(a, b) + sum_i (y'_i - y_i) s_i / (2n) is largest where the a best positives
and the b best negatives are labelled positive: so prefix sums of the sorted scores give its value for every (a, b).
Equal scores: the lower row is the better one. Equally violated labellings: the fewest true positives, then the fewest
false ones.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from thresher.loops import measures as loops
from thresher.optim.measures.cuts import LabelCut, LabelledRows, Oracle, ShiftSearch, Violation, checked_scores

VALUE_ROUNDING = 1e-12  # share of a value that may be lost to rounding where values are compared
COUNT_PAIRS = 1 << 20  # pairs of counts whose losses are in memory together

LossOfCounts = Callable[[Any, Any, int, int], Any]  # of true and false positives, which may be arrays, and P and N


class LabellingOracle(Oracle):
    """What the searches for labellings share."""

    def cut(self, scores: np.ndarray) -> Any:
        """See Oracle: by the search at no shift, where a shift changes the risk."""
        search = self.shift_search(scores)
        return search.cut(search.at(0.0))

    def most_violated(self, scores: np.ndarray) -> np.ndarray:
        """See Oracle."""
        return self.cut(scores).labels()


class ErrorOracle(LabellingOracle):
    """The error rate: each row by itself, so that the risk is the weighted mean of max(0, 1 - y_i s_i)."""

    shift = True

    def shift_search(self, scores: np.ndarray) -> "_ErrorSearch":
        """See Oracle."""
        return _ErrorSearch(self, checked_scores(scores, self.rows.y.size))

    def threshold(self, scores: np.ndarray, shift: float) -> float:
        """See Oracle: ``shift`` itself."""
        return shift

    def uniform_cut(self, positive: bool) -> LabelCut:
        """See Oracle."""
        return self.labelled(self.rows.steps < 0.0 if positive else self.rows.steps > 0.0)

    def labelled(self, flips: np.ndarray) -> LabelCut:
        """The cut of the labelling that differs from y where ``flips`` is true."""
        return LabelCut.of(self.rows, self.rows.weights[flips].sum() / self.rows.total, flips)


class _ErrorSearch(ShiftSearch):
    def __init__(self, oracle: ErrorOracle, scores: np.ndarray):
        self.oracle, self.margins = oracle, 1.0 - oracle.rows.y * scores

    def at(self, b: float) -> Violation:
        """See ShiftSearch."""
        steps = self.oracle.rows.steps
        slack = self.margins - b * self.oracle.rows.y
        flips = (slack > 0.0) & (steps != 0.0)
        return Violation(float(np.abs(steps[flips]) @ slack[flips]), float(steps[flips].sum()), flips)

    def cut(self, violation: Violation) -> LabelCut:
        """See ShiftSearch."""
        return self.oracle.labelled(violation.counts)


class CountsOracle(LabellingOracle):
    """A function of the numbers of true and false positives, both of which are free: all that may be the best."""

    shift = True

    def __init__(self, rows: LabelledRows, loss_of_counts: LossOfCounts):
        super().__init__(rows)
        self.loss_of_counts = loss_of_counts

    def shift_search(self, scores: np.ndarray) -> "_CountsSearch":
        """See Oracle."""
        return _CountsSearch(self, checked_scores(scores, self.rows.y.size))

    def threshold(self, scores: np.ndarray, shift: float) -> float:
        """See Oracle: that with the best measure, since the risk is only a bound of it and has another minimum.

        Of equally good ones the one nearest to ``shift`` is taken.
        """
        scores = np.concatenate([scores[self.rows.positives], scores[self.rows.negatives]])
        order = np.argsort(-scores, kind="stable")
        falling, true = scores[order], np.cumsum(order < self.rows.n_positive)
        ends = np.append(np.flatnonzero(np.diff(falling)), falling.size - 1)  # of rows with equal scores
        loss = self.loss(true[ends], ends + 1 - true[ends])
        best = ends[loss <= loss.min() + VALUE_ROUNDING]
        below = np.append(falling, falling[-1] - 2.0)  # all rows are above the last threshold
        shifts = -0.5 * (below[best] + below[best + 1])
        return float(shifts[np.argmin(np.abs(shifts - shift))])

    def uniform_cut(self, positive: bool) -> LabelCut:
        """See Oracle."""
        rows = self.rows
        flips = np.zeros(rows.y.size, dtype=bool)
        flips[rows.negatives if positive else rows.positives] = True
        counts = (rows.n_positive, rows.n_negative) if positive else (0, 0)
        return LabelCut.of(rows, self.loss(*counts), flips)

    def loss(self, a: Any, b: Any) -> Any:
        """The loss of a true and b false positives; numbers or arrays."""
        true, false = np.asarray(a, dtype=np.float64), np.asarray(b, dtype=np.float64)
        return self.loss_of_counts(true, false, self.rows.n_positive, self.rows.n_negative)

    def counts(self, negatives: np.ndarray, true_part: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Numbers of true positives that may be the best, and for each the best number of false ones.

        ``negatives`` are their scores, falling; ``true_part`` is the sum over rows for each number of true positives.
        Losses are in [0, 1]: counts whose sum is too far below the largest one cannot make up for it.
        """
        false_part = np.concatenate([[0.0], np.cumsum(negatives)]) / self.rows.n
        room = 1.0 - self.loss(np.argmax(true_part), np.argmax(false_part)) + VALUE_ROUNDING
        a = np.flatnonzero(true_part >= true_part.max() - room)
        b = np.flatnonzero(false_part >= false_part.max() - room)
        best, step = np.empty(a.size, dtype=np.int64), max(1, COUNT_PAIRS // b.size)
        for lo in range(0, a.size, step):
            best[lo : lo + step] = b[np.argmax(self.loss(a[lo : lo + step, None], b) + false_part[b], axis=1)]
        return a, best


class FBetaOracle(CountsOracle):
    """F-beta: 1 - (1 + beta^2) a / (a + b + beta^2 P).

    For each a, loss and prefix sum are concave in b: the best b is where their differences cease to be positive. It
    moves with a in one direction for beta >= 1 alone, so that each a has a binary search of its own, all at once.
    """

    def __init__(self, rows: LabelledRows, loss_of_counts: LossOfCounts, beta: float):
        super().__init__(rows, loss_of_counts)
        self.square = beta * beta

    def counts(self, negatives: np.ndarray, true_part: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """See CountsOracle.

        Negatives above 0 always pay, and those never do for which even the largest rise of the loss is too small. The
        loss at these two numbers of false positives then bounds the value of each number of true ones from both sides.
        """
        rows, base = self.rows, self.square * self.rows.n_positive
        a = np.arange(rows.n_positive + 1)
        largest_rise = float(((1.0 + self.square) * a / ((a + base) * (a + base + 1.0))).max())
        low = int(np.searchsorted(-negatives, 0.0, side="left"))
        high = int(np.searchsorted(-negatives, rows.n * largest_rise, side="left"))
        least, largest = (self.loss(a, b) + true_part for b in (low, high))
        bar = float(least.max())
        a = np.flatnonzero(largest >= bar - VALUE_ROUNDING * (1.0 + abs(bar)))
        best = np.empty(a.size, dtype=np.int64)
        loops.false_positives(a.astype(np.float64), low, high, negatives, float(rows.n), self.square, base, best)
        return a, best


class _CountsSearch(ShiftSearch):
    def __init__(self, oracle: CountsOracle, scores: np.ndarray):
        self.oracle, self.best = oracle, _Sorted(oracle.rows, scores)

    def at(self, b: float) -> Violation:
        """See ShiftSearch."""
        rows, best = self.oracle.rows, self.best
        true_part = best.true_part - b * (rows.n_positive - np.arange(rows.n_positive + 1)) / rows.n
        true, false = self.oracle.counts(best.negatives + b, true_part)
        value = self.oracle.loss(true, false) + true_part[true] + best.false_part[false] + b * false / rows.n
        chosen = int(np.argmax(value))
        counts = int(true[chosen]), int(false[chosen])
        return Violation(float(value[chosen]), (rows.n_positive - sum(counts)) / rows.n, counts)

    def cut(self, violation: Violation) -> LabelCut:
        """See ShiftSearch."""
        loss = self.oracle.loss(*violation.counts)
        return LabelCut.of(self.oracle.rows, loss, self.best.flips(*violation.counts))


class FixedCountOracle(LabellingOracle):
    """Exactly k rows are labelled positive: PRBEP, precision and recall at k.

    The entries of y - y' sum to 2 (P - k) for every such labelling. Unless that is zero, a constant added to all scores
    would remove the loss; therefore the direction loses its ``mean``, which moves all labellings alike. With a mean of
    zero it is the paper's.
    """

    def __init__(self, rows: LabelledRows, loss_of_counts: LossOfCounts, k: int):
        super().__init__(rows)
        self.loss_of_counts, self.k = loss_of_counts, k
        self.mean = (rows.n_positive - k) / rows.n**2

    @property
    def n_predicted(self) -> float:
        """See Oracle."""
        return float(self.k)

    def cut(self, scores: np.ndarray) -> LabelCut:
        """See Oracle."""
        rows, k = self.rows, self.k
        best = _Sorted(rows, checked_scores(scores, rows.y.size))
        a = np.arange(max(0, k - rows.n_negative), min(k, rows.n_positive) + 1)
        losses = self.loss_of_counts(a.astype(np.float64), (k - a).astype(np.float64), rows.n_positive, rows.n_negative)
        place = int(np.argmax(losses + best.true_part[a] + best.false_part[k - a]))
        chosen = int(a[place])
        return LabelCut.of(rows, losses[place], best.flips(chosen, k - chosen), self.mean)


class _Sorted:
    """Scores of both classes from the best one down, and what the sum over rows is made of.

    ``true_part[a]`` is the sum where all but the a best positives are flipped, ``false_part[b]`` that where the b best
    negatives are.
    """

    def __init__(self, rows: LabelledRows, scores: np.ndarray):
        self.rows, self.scores = rows, scores
        self.positives = np.sort(scores[rows.positives])[::-1]
        self.negatives = np.sort(scores[rows.negatives])[::-1]
        self.true_part = -np.append(np.cumsum(self.positives[::-1])[::-1], 0.0) / rows.n
        self.false_part = np.concatenate([[0.0], np.cumsum(self.negatives)]) / rows.n

    def flips(self, a: int, b: int) -> np.ndarray:
        """Where the labelling with the a best positives and the b best negatives differs from y."""
        rows, scores = self.rows, self.scores
        flips = np.zeros(scores.size, dtype=bool)
        flips[rows.positives] = True
        flips[rows.positives[best_rows(scores[rows.positives], self.positives, a)]] = False
        flips[rows.negatives[best_rows(scores[rows.negatives], self.negatives, b)]] = True
        return flips


def best_rows(scores: np.ndarray, falling: np.ndarray, count: int) -> np.ndarray:
    """The ``count`` best rows, of equal ones the lower; ``falling`` are the scores, sorted from the best one down."""
    if count == 0:
        return np.zeros(0, dtype=np.intp)
    last = falling[count - 1]
    above = np.flatnonzero(scores > last)
    return np.concatenate([above, np.flatnonzero(scores == last)[: count - above.size]])
