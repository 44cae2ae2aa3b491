"""Measures as the loss of a problem: total times the risk, which is a maximum over labellings or rankings.

    loss(z) = sum over classes of  total * min over b of max over cuts of  (loss_k - v_k.(z + b))

with total = C n, so that the error rate is the hinge loss with costs C. Where the number of predicted positives is
free, b is not penalised; elsewhere it does not change the risk. What a model predicts with is a threshold on its
training scores (see ``Oracle.threshold``), which for the error rate is b itself.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from thresher.optim.measures.cuts import Cut, Oracle, ShiftSearch, Violation
from thresher.optim.problems.margins import DualPoint, Evaluation, LabelledProblem

if TYPE_CHECKING:
    from thresher.optim.measures.base import Measure

SHIFT_ROUNDING = 1e-12  # of the risk: shifts that differ by less are equally good
BRACKET_STEP, BRACKET_GROWTH = 0.1, 4.0  # of the search for a bracket of the best shift
MOST_SHIFTS = 200  # labellings that the search for the best shift looks at


@dataclass(frozen=True)
class Mixture(DualPoint):
    """Cuts v_k with weights a_k: ``direction`` is sum_k a_k v_k, ``gain`` sum_k a_k loss_k.

    Weights of each class add up to its total at most; all of them may be multiplied by up to ``room``.
    """

    direction: np.ndarray
    gain: float
    room: float

    @property
    def vector(self) -> np.ndarray:
        """See DualPoint."""
        return self.direction

    def value(self, square: float) -> float:
        """See DualPoint."""
        return self.gain - 0.5 * square

    def bound(self, square: float) -> float:
        """See DualPoint."""
        if self.gain <= 0.0:
            return 0.0
        multiple = min(self.room, self.gain / square) if square > 0.0 else self.room
        return multiple * self.gain - 0.5 * multiple * multiple * square

    def joined(self, others: "Sequence[Mixture]") -> "Mixture":
        """See DualPoint."""
        points = [self, *others]
        direction = np.concatenate([point.direction for point in points])
        return Mixture(direction, sum(point.gain for point in points), min(point.room for point in points))


class BestShift(NamedTuple):
    """One class at given scores: the best shift, the risk, and cuts whose mixture with ``shares`` bounds it."""

    shift: float
    risk: float
    cuts: list[Cut]
    shares: list[float]

    @classmethod
    def of_one(cls, shift: float, risk: float, cut: Cut) -> "BestShift":
        """A shift at which a single cut bounds the risk."""
        return cls(shift, max(risk, 0.0), [cut], [1.0 if risk > 0.0 else 0.0])


@dataclass(frozen=True)
class CutProblem(LabelledProblem):
    """The risk of a measure times ``total``; labels y = +-1 and costs of all classes, class after class.

    Samples without cost do not count. ``total`` is the sum of the costs of a class.
    """

    measure: "Measure"
    fit_intercept: bool = True
    classes: int = 1
    accuracy: float = 1e-3

    @cached_property
    def oracles(self) -> list[Oracle]:
        """The searches of each class. Raises InvalidDataError for weights that the measure does not take."""
        pairs = zip(self.by_class(self.y), self.by_class(self.cost), strict=True)
        return [self.measure.prepare(y, cost / cost.max() if cost.any() else cost) for y, cost in pairs]

    @cached_property
    def totals(self) -> np.ndarray:
        """C n of each class."""
        return self.by_class(self.cost).sum(axis=1)

    @cached_property
    def without_features(self) -> float:
        """The loss if all scores are zero."""
        return self.at(np.zeros(self.size)).loss

    @property
    def shifted(self) -> bool:
        """Whether the shift is a variable."""
        return self.fit_intercept and self.oracles[0].shift

    def best_shift(self, c: int, z: np.ndarray, start: float, slack: float = 0.0) -> BestShift:
        """Class ``c`` at its scores z; the best shift is looked for until the risk is known up to ``slack``."""
        oracle = self.oracles[c]
        if self.shifted:
            return best_shift(oracle.shift_search(z), start, slack)
        cut = oracle.cut(z)
        return BestShift.of_one(0.0, cut.loss - float(cut.vector() @ z), cut)

    def at(self, z: np.ndarray, start: float | np.ndarray = 0.0) -> Evaluation:
        """See Problem."""
        starts = np.broadcast_to(start, self.classes)
        parts = enumerate(zip(self.by_class(z), starts, strict=True))
        best = [self.best_shift(c, scores, float(b)) for c, (scores, b) in parts]
        loss = sum(total * each.risk for total, each in zip(self.totals, best, strict=True))
        shares = [total * np.array(each.shares) for total, each in zip(self.totals, best, strict=True)]
        dual = self.joined_mixture([each.cuts for each in best], shares, z)
        return Evaluation(self.thresholds(z, [each.shift for each in best]), loss, dual)

    def joined_mixture(
        self, cuts: Sequence[Sequence[Cut]], weights: Sequence[np.ndarray], z: np.ndarray | None = None
    ) -> Mixture:
        """The dual point of all classes, from the cuts of each and their weights: see ``mixture``."""
        scores = [None] * self.classes if z is None else self.by_class(z)
        first, *others = (self.mixture(c, *part) for c, part in enumerate(zip(cuts, weights, scores, strict=True)))
        return first.joined(others)

    def mixture(self, c: int, cuts: Sequence[Cut], a: np.ndarray, z: np.ndarray | None = None) -> Mixture:
        """The dual point of class ``c`` with weights ``a`` of the cuts.

        Where all scores z are equal, which rows a labelling flips is arbitrary: the mean over all that flip as many is
        a dual point, too, and ranks columns by use, not by row.
        """
        direction, rows = np.zeros(self.y.size // self.classes), self.oracles[c].rows
        for cut, weight in zip(cuts, a, strict=True):
            if weight > 0.0:
                direction += weight * cut.vector()
        if z is not None and np.ptp(z[rows.weights > 0.0]) == 0.0:
            for part in (rows.positives, rows.negatives):
                weights = rows.weights[part]
                direction[part] = weights * (direction[part].sum() / weights.sum())
        gain = float(sum(weight * cut.loss for cut, weight in zip(cuts, a, strict=True)))
        total = float(np.sum(a))
        return Mixture(direction, gain, self.totals[c] / total if total > 0.0 else 1.0)

    def thresholds(self, z: np.ndarray, shifts: Sequence[float]) -> float | np.ndarray:
        """What is added to the scores of each class to predict by their sign: see ``Oracle.threshold``."""
        if self.fit_intercept:
            parts = zip(self.oracles, self.by_class(z), shifts, strict=True)
            shifts = [oracle.threshold(scores, float(shift)) for oracle, scores, shift in parts]
        return np.array(shifts) if self.classes > 1 else float(shifts[0])


def best_shift(search: ShiftSearch, start: float, slack: float) -> BestShift:
    """The shift of least risk: a convex function of it, whose slopes are minus the sums of the cuts' vectors.

    Two cuts, one leaning to each side, bound it where they meet, which is looked at next; their mixture whose vector
    adds up to zero is a dual point.
    """
    left: tuple[float, Violation] | None = None  # (b, violation) where the risk falls with b
    right: tuple[float, Violation] | None = None
    best, b, step = (np.inf, start), start, BRACKET_STEP
    for _ in range(MOST_SHIFTS):
        violation = search.at(b)
        best = min(best, (violation.value, b))
        if violation.vector_sum == 0.0 or violation.value <= 0.0:
            return BestShift.of_one(b, violation.value, search.cut(violation))
        if violation.vector_sum > 0.0:
            left = (b, violation)
        else:
            right = (b, violation)
        if left is None or right is None:
            b += step if right is None else -step
            step *= BRACKET_GROWTH
            continue
        (b_left, falls), (b_right, rises) = left, right
        at_left, at_right = falls.value + falls.vector_sum * b_left, rises.value + rises.vector_sum * b_right
        b = (at_left - at_right) / (falls.vector_sum - rises.vector_sum)
        low = at_left - falls.vector_sum * b
        if best[0] - low <= max(slack, SHIFT_ROUNDING) or not b_left < b < b_right:
            break
    if left is None or right is None:
        raise ValueError("the risk has no least value: the scores are too large")
    share = -right[1].vector_sum / (left[1].vector_sum - right[1].vector_sum)
    cuts = [search.cut(left[1]), search.cut(right[1])]
    return BestShift(best[1], best[0], cuts, [share, 1.0 - share])
