"""Measures as the loss of a master problem: total times the risk, which is a maximum over labellings or rankings.

    loss(z) = sum over classes of  total * min over b of max over planes of  (loss_k - v_k.(z + b))

with total = C n, so that the error rate is the hinge loss with costs C. Where the number of predicted positives is
free, b is not penalised; elsewhere it does not change the risk. What a model predicts with is a threshold on its
training scores (see ``Oracle.threshold``), which for the error rate is b itself.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from thresher.optim.measures.base import Measure
from thresher.optim.measures.cuts import Along, Cut, Oracle, Plane
from thresher.optim.problems.margins import DualPoint, Evaluation, Problem

ROUNDING = 1e-12  # of the risk: shifts that differ by less are equally good
FIRST_STEP, LONGER = 0.1, 4.0  # of the search for a bracket of the best shift
MOST = 200  # labellings that the search for the best shift looks at


@dataclass(frozen=True)
class Mixture(DualPoint):
    """Planes v_k with weights a_k: ``direction`` is sum_k a_k v_k, ``gain`` sum_k a_k loss_k.

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


class Found(NamedTuple):
    """One class at given scores: the best shift, the risk, and planes whose mixture with ``shares`` bounds it.

    ``low`` is that bound: the risk at the best shift is not less.
    """

    shift: float
    risk: float
    planes: list[Plane]
    shares: list[float]
    low: float


@dataclass(frozen=True)
class PlaneProblem(Problem):
    """The risk of a measure times ``total``; labels y = +-1 and costs of all classes, class after class.

    Samples without cost are not there. ``total`` is the sum of the costs of a class.
    """

    y: np.ndarray
    cost: np.ndarray
    measure: Measure
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

    @property
    def size(self) -> int:
        """Number of scores."""
        return self.y.size

    def per_class(self) -> "list[PlaneProblem]":
        """See Problem."""
        pairs = zip(self.by_class(self.y), self.by_class(self.cost), strict=True)
        return [PlaneProblem(y, cost, self.measure, self.fit_intercept) for y, cost in pairs]

    def samples_that_count(self) -> np.ndarray:
        """See Problem: those with a cost."""
        return np.any(self.by_class(self.cost) > 0.0, axis=0)

    def found(self, c: int, z: np.ndarray, start: float, slack: float = 0.0) -> Found:
        """Class ``c`` at its scores z; the best shift is looked for until the risk is known up to ``slack``."""
        oracle = self.oracles[c]
        if self.shifted:
            return best_shift(oracle.along(z), start, slack)
        plane = oracle.plane(z)
        risk = plane.loss - float(plane.vector() @ z)
        return Found(0.0, max(risk, 0.0), [plane], [1.0 if risk > 0.0 else 0.0], max(risk, 0.0))

    def at(self, z: np.ndarray, start: float | np.ndarray = 0.0) -> Evaluation:
        """See Problem."""
        starts, duals, shifts, loss = np.broadcast_to(start, self.classes), [], [], 0.0
        for c, (scores, b) in enumerate(zip(self.by_class(z), starts, strict=True)):
            found = self.found(c, scores, float(b))
            loss += self.totals[c] * found.risk
            duals.append(self.mixture(c, found.planes, self.totals[c] * np.array(found.shares), scores))
            shifts.append(self.threshold(c, scores, found.shift))
        shift = np.array(shifts) if self.classes > 1 else shifts[0]
        return Evaluation(shift, loss, duals[0].joined(duals[1:]) if self.classes > 1 else duals[0])

    def mixture(self, c: int, planes: Sequence[Plane], a: np.ndarray, z: np.ndarray | None = None) -> Mixture:
        """The dual point of class ``c`` with weights ``a`` of the planes.

        Where all scores z are equal, which rows a labelling flips is arbitrary: the mean over all that flip as many is
        a dual point, too, and ranks columns by use, not by row.
        """
        direction, rows = np.zeros(self.y.size // self.classes), self.oracles[c].rows
        for plane, weight in zip(planes, a, strict=True):
            if weight > 0.0:
                direction += weight * plane.vector()
        if z is not None and np.ptp(z[rows.weights > 0.0]) == 0.0:
            for part in (rows.positives, rows.negatives):
                weights = rows.weights[part]
                direction[part] = weights * (direction[part].sum() / weights.sum())
        gain = float(sum(weight * plane.loss for plane, weight in zip(planes, a, strict=True)))
        total = float(np.sum(a))
        return Mixture(direction, gain, self.totals[c] / total if total > 0.0 else 1.0)

    def threshold(self, c: int, z: np.ndarray, shift: float) -> float:
        """What is added to scores to predict by their sign: see ``Oracle.threshold``."""
        return self.oracles[c].threshold(z, shift) if self.fit_intercept else shift


def best_shift(along: Along, start: float, slack: float) -> Found:
    """The shift of least risk: a convex function of it, whose slopes are minus the sums of the planes' vectors.

    Two planes, one leaning to each side, bound it where they meet, which is looked at next; their mixture whose vector
    adds up to zero is a dual point.
    """
    left: tuple[float, Cut] | None = None  # (b, cut) where the risk falls with b
    right: tuple[float, Cut] | None = None
    best, b, step, low = (np.inf, start), start, FIRST_STEP, 0.0
    for _ in range(MOST):
        cut = along.at(b)
        best = min(best, (cut.value, b))
        if cut.lean == 0.0 or cut.value <= 0.0:
            return Found(b, max(cut.value, 0.0), [along.plane(cut)], [1.0 if cut.value > 0.0 else 0.0], cut.value)
        if cut.lean > 0.0:
            left = (b, cut)
        else:
            right = (b, cut)
        if left is None or right is None:
            b += step if right is None else -step
            step *= LONGER
            continue
        (b_left, falls), (b_right, rises) = left, right
        at_left, at_right = falls.value + falls.lean * b_left, rises.value + rises.lean * b_right
        b = (at_left - at_right) / (falls.lean - rises.lean)
        low = at_left - falls.lean * b
        if best[0] - low <= max(slack, ROUNDING) or not b_left < b < b_right:
            break
    if left is None or right is None:
        raise ValueError("the risk has no least value: the scores are too large")
    share = -right[1].lean / (left[1].lean - right[1].lean)
    planes = [along.plane(left[1]), along.plane(right[1])]
    return Found(best[1], best[0], planes, [share, 1.0 - share], max(low, 0.0))
