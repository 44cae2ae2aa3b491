"""Losses: functions of labels y = +-1, scores z and costs c >= 0 (C times the weight of the sample), never of X.

Each loss is sum_i c_i l(y_i z_i) with l convex and smooth. In the dual, alpha_i = -c_i l'(y_i z_i) >= 0, and

    sum_i c_i l(y_i z_i)  >=  dual(alpha) - sum_i alpha_i y_i z_i        for every alpha in the domain,

with equality at alpha = ``dual_point``: that is Fenchel and Young's inequality, from which every certificate follows.
"""

from abc import ABC, abstractmethod

import numpy as np
from scipy.special import expit, xlogy

from thresher.loops import hinge

# A sum below this share of its terms counts as zero; the remaining error of the shift is removed by ``feasible``.
ROUNDING = 1e-14
# Shares of the cost that have logarithms on both sides.
INSIDE = np.finfo(float).tiny, 1.0 - np.finfo(float).epsneg


class Loss(ABC):
    """The methods of a loss that solvers use. All take and return float64 arrays of length n, or floats."""

    name: str

    @abstractmethod
    def value(self, y: np.ndarray, z: np.ndarray, cost: np.ndarray) -> float:
        """sum_i c_i l(y_i z_i)."""

    @abstractmethod
    def dual_point(self, y: np.ndarray, z: np.ndarray, cost: np.ndarray) -> np.ndarray:
        """alpha_i = -c_i l'(y_i z_i); the gradient in z is -alpha * y."""

    @abstractmethod
    def curvature(self, y: np.ndarray, z: np.ndarray, cost: np.ndarray) -> np.ndarray:
        """c_i l''(y_i z_i), an element of the generalised second derivative where there is a kink."""

    def guarded_curvature(
        self, y: np.ndarray, z: np.ndarray, cost: np.ndarray, more: float, least: float
    ) -> np.ndarray:
        """A curvature with which longer steps are safe: see SquaredHinge; here it is the curvature itself."""
        return self.curvature(y, z, cost)

    @abstractmethod
    def curvature_bound(self, cost: np.ndarray) -> np.ndarray:
        """An upper bound of ``curvature`` over all z, per sample."""

    @abstractmethod
    def dual(self, alpha: np.ndarray, cost: np.ndarray) -> float:
        """The concave dual function, -inf outside its domain."""

    @abstractmethod
    def scaled_dual(self, alpha: np.ndarray, cost: np.ndarray, square: float) -> float:
        """Max over s >= 0 of dual(s alpha) - s^2 square / 2: the best bound in the direction alpha."""

    def dual_weights(self, cost: np.ndarray) -> np.ndarray | None:
        """The c with which the dual function is 1'alpha - sum alpha_i^2 / (2 c_i); None if it has another form."""
        return None

    def gradient(self, y: np.ndarray, z: np.ndarray, cost: np.ndarray) -> np.ndarray:
        """Derivative in z."""
        return -y * self.dual_point(y, z, cost)

    def slope(self, y: np.ndarray, z: np.ndarray, cost: np.ndarray, b: float) -> tuple[float, float, float]:
        """Derivative of value(y, z + b, cost) in b, the sum of |terms| of it, and the second derivative."""
        slopes = self.gradient(y, z + b, cost)
        return slopes.sum(), np.abs(slopes).sum(), self.curvature(y, z + b, cost).sum()

    def best_shift(self, y: np.ndarray, z: np.ndarray, cost: np.ndarray, start: float | np.ndarray = 0.0) -> float:
        """The b that minimises value(y, z + b, cost): a root of its increasing derivative, up to rounding.

        Newton's method inside a bracket; for the squared hinge it ends at the root exactly, since the derivative
        is piecewise linear.
        """
        low, high, b = -np.inf, np.inf, float(start)
        for _ in range(200):
            slope, size, curvature = self.slope(y, z, cost, b)
            if abs(slope) <= ROUNDING * size:
                return b
            low, high = (b, high) if slope < 0 else (low, b)
            far = 10.0 * (1.0 + abs(b))
            step = b - slope / curvature if curvature * far > abs(slope) else np.inf  # longer steps are not reliable
            if not low < step < high:
                if np.isinf(low) or np.isinf(high):  # no bracket yet: increase the step
                    step = b + np.sign(-slope) * (1.0 + 2.0 * abs(b))
                else:
                    step = 0.5 * (low + high)
            if step == b or not np.isfinite(step):
                return b
            b = step
        return b

    def feasible(self, alpha: np.ndarray, y: np.ndarray) -> np.ndarray:
        """Alpha with sum_i alpha_i y_i = 0, by shrinking the heavier class: corrects an inexact shift."""
        positive = y > 0
        up, down = alpha[positive].sum(), alpha[~positive].sum()
        if up <= 0 or down <= 0:
            return np.zeros_like(alpha)
        return np.where(positive, alpha * min(1.0, down / up), alpha * min(1.0, up / down))


class SquaredHinge(Loss):
    """l(m) = max(0, 1 - m)^2 / 2."""

    name = "squared_hinge"

    def value(self, y: np.ndarray, z: np.ndarray, cost: np.ndarray) -> float:
        """See Loss."""
        slack = np.maximum(0.0, 1.0 - y * z)
        return 0.5 * float(cost @ (slack * slack))

    def dual_point(self, y: np.ndarray, z: np.ndarray, cost: np.ndarray) -> np.ndarray:
        """See Loss."""
        return cost * np.maximum(0.0, 1.0 - y * z)

    def curvature(self, y: np.ndarray, z: np.ndarray, cost: np.ndarray) -> np.ndarray:
        """See Loss."""
        return np.where(y * z < 1.0, cost, 0.0)

    def slope(self, y: np.ndarray, z: np.ndarray, cost: np.ndarray, b: float) -> tuple[float, float, float]:
        """See Loss."""
        return hinge.slope(y, z, cost, b)

    def guarded_curvature(
        self, y: np.ndarray, z: np.ndarray, cost: np.ndarray, more: float, least: float
    ) -> np.ndarray:
        """The curvature, also of samples that a step may bring over the kink.

        Those nearest to it count: with ``more`` times the cost of those that have curvature already, and with the
        cost of ``least`` samples in all. Costs and not samples are counted, so that equal samples may be merged.
        """
        margin, total = y * z, cost.sum()
        inside = cost[margin < 1.0].sum()
        unit = cost[cost > 0].min(initial=total)
        enough = min(max((1.0 + more) * inside, least * unit), total)
        order = np.argsort(margin, kind="stable")
        last = np.searchsorted(np.cumsum(cost[order]), enough * (1.0 - 1e-9))
        return np.where(margin <= max(1.0, margin[order[min(last, margin.size - 1)]]), cost, 0.0)

    def curvature_bound(self, cost: np.ndarray) -> np.ndarray:
        """See Loss."""
        return cost

    def dual(self, alpha: np.ndarray, cost: np.ndarray) -> float:
        """1'alpha - sum alpha_i^2 / (2 c_i)."""
        if alpha.min(initial=0.0) < 0 or np.any(alpha[cost == 0] > 0):
            return -np.inf
        return float(alpha.sum() - 0.5 * _squares(alpha, cost))

    def scaled_dual(self, alpha: np.ndarray, cost: np.ndarray, square: float) -> float:
        """(1'alpha)^2 / (2 (sum alpha_i^2 / c_i + square))."""
        return 0.5 * self.best_multiple(alpha, cost, square) * float(alpha.sum())

    def dual_weights(self, cost: np.ndarray) -> np.ndarray | None:
        """See Loss."""
        return cost

    def best_multiple(self, alpha: np.ndarray, cost: np.ndarray, square: float) -> float:
        """The s >= 0 at which ``scaled_dual`` is attained."""
        bottom = _squares(alpha, cost) + square
        return float(alpha.sum() / bottom) if bottom > 0 else 0.0


class Logistic(Loss):
    """l(m) = log(1 + exp(-m))."""

    name = "logistic"

    def value(self, y: np.ndarray, z: np.ndarray, cost: np.ndarray) -> float:
        """See Loss."""
        return float(cost @ np.logaddexp(0.0, -y * z))

    def dual_point(self, y: np.ndarray, z: np.ndarray, cost: np.ndarray) -> np.ndarray:
        """See Loss."""
        return cost * expit(-y * z)

    def curvature(self, y: np.ndarray, z: np.ndarray, cost: np.ndarray) -> np.ndarray:
        """See Loss."""
        p = expit(y * z)
        return cost * p * (1.0 - p)

    def curvature_bound(self, cost: np.ndarray) -> np.ndarray:
        """See Loss."""
        return 0.25 * cost

    def dual(self, alpha: np.ndarray, cost: np.ndarray) -> float:
        """Sum of the entropies: -alpha log(alpha / c) - (c - alpha) log(1 - alpha / c)."""
        used = cost > 0
        a, c = alpha[used], cost[used]
        if a.min(initial=0.0) < 0 or np.any(a > c) or np.any(alpha[~used] > 0):
            return -np.inf
        return float((-xlogy(a, a / c) - xlogy(c - a, (c - a) / c)).sum())

    def scaled_dual(self, alpha: np.ndarray, cost: np.ndarray, square: float) -> float:
        """See Loss: concave in s, its derivative falls from +inf at 0 to -inf at the end of the domain."""
        used = alpha > 0
        a, c = alpha[used], cost[used]
        if a.size == 0:
            return 0.0
        end = float((c / a).min())
        low, high, s = 0.0, end, min(1.0, 0.5 * end)
        for _ in range(100):
            share = np.clip(s * a / c, *INSIDE)
            slope = float(a @ (np.log1p(-share) - np.log(share))) - s * square
            bend = -float((a * a / (c * share * (1.0 - share))).sum()) - square
            low, high = (s, high) if slope > 0 else (low, s)
            step = s - slope / bend if bend < 0.0 else np.inf
            if not low < step < high:
                step = 0.5 * (low + high)
            if abs(step - s) <= 1e-13 * s:
                break
            s = step
        best = max(
            (s, 1.0) if end >= 1.0 else (s,),
            key=lambda t: self.dual(np.minimum(t * alpha, cost), cost) - 0.5 * t * t * square,
        )
        return self.dual(np.minimum(best * alpha, cost), cost) - 0.5 * best * best * square


class SmoothedHinge(Loss):
    """l(m) = 0 for m >= 1, (1 - m)^2 / (2 gamma) for 1 - gamma <= m < 1, and 1 - m - gamma / 2 below: 0 < gamma < 1."""

    def __init__(self, gamma: float):
        self.gamma, self.name = gamma, f"smoothed_hinge_{gamma:g}"

    def value(self, y: np.ndarray, z: np.ndarray, cost: np.ndarray) -> float:
        """See Loss."""
        slack = 1.0 - y * z
        theta = np.clip(slack / self.gamma, 0.0, 1.0)
        return float(cost @ (theta * (slack - 0.5 * self.gamma * theta)))

    def dual_point(self, y: np.ndarray, z: np.ndarray, cost: np.ndarray) -> np.ndarray:
        """See Loss."""
        return cost * np.clip((1.0 - y * z) / self.gamma, 0.0, 1.0)

    def curvature(self, y: np.ndarray, z: np.ndarray, cost: np.ndarray) -> np.ndarray:
        """See Loss."""
        slack = 1.0 - y * z
        return np.where((slack > 0.0) & (slack < self.gamma), cost / self.gamma, 0.0)

    def curvature_bound(self, cost: np.ndarray) -> np.ndarray:
        """See Loss."""
        return cost / self.gamma

    def dual(self, alpha: np.ndarray, cost: np.ndarray) -> float:
        """1'alpha - gamma / 2 sum alpha_i^2 / c_i for 0 <= alpha <= c."""
        if alpha.min(initial=0.0) < 0 or np.any(alpha > cost * (1.0 + 1e-12)):
            return -np.inf
        return float(alpha.sum() - 0.5 * self.gamma * _squares(alpha, cost))

    def scaled_dual(self, alpha: np.ndarray, cost: np.ndarray, square: float) -> float:
        """See Loss: a parabola in s, on the part of it where s alpha <= c."""
        used = alpha > 0.0
        if not used.any():
            return 0.0
        bottom = self.gamma * _squares(alpha, cost) + square
        s = min(float(alpha.sum() / bottom), float((cost[used] / alpha[used]).min()))
        return s * float(alpha.sum()) - 0.5 * s * s * bottom


def _squares(alpha: np.ndarray, cost: np.ndarray) -> float:
    return float(np.divide(alpha * alpha, cost, out=np.zeros_like(alpha), where=cost > 0).sum())


LOSSES: dict[str, Loss] = {loss.name: loss for loss in (SquaredHinge(), Logistic())}
