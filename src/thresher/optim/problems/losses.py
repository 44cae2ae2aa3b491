"""Losses of margins as values: the squared hinge, the logistic loss and the smoothed hinge."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy.special import expit, xlogy

from thresher.loops import hinge
from thresher.optim.named_values import is_positive
from thresher.optim.problems.loss import Loss
from thresher.state import register

# Shares of the cost that have logarithms on both sides.
INSIDE = np.finfo(float).tiny, 1.0 - np.finfo(float).epsneg


@register
@dataclass(frozen=True)
class SquaredHinge(Loss):
    """l(m) = max(0, 1 - m)^2 / 2.

    Examples
    --------
    >>> import numpy as np
    >>> from thresher.losses import SquaredHinge
    >>> SquaredHinge().value(np.array([-1.0, 0.5, 2.0]))
    array([2.   , 0.125, 0.   ])
    """

    name: ClassVar[str] = "squared_hinge"
    largest_curvature = 1.0
    zero_from = 1.0

    def value(self, margins: np.ndarray) -> np.ndarray:
        """See Loss."""
        slack = np.maximum(0.0, 1.0 - margins)
        return 0.5 * (slack * slack)

    def slope(self, margins: np.ndarray) -> np.ndarray:
        """See Loss."""
        return -np.maximum(0.0, 1.0 - margins)

    def curvature(self, margins: np.ndarray) -> np.ndarray:
        """See Loss."""
        return np.where(margins < 1.0, 1.0, 0.0)

    def dual(self, shares: np.ndarray) -> np.ndarray:
        """See Loss."""
        return shares - 0.5 * shares * shares

    def dual_total(self, alpha: np.ndarray, cost: np.ndarray) -> float:
        """See Loss: 1'alpha - sum alpha_i^2 / (2 c_i)."""
        if alpha.min(initial=0.0) < 0 or np.any(alpha[cost == 0] > 0):
            return -np.inf
        return float(alpha.sum() - 0.5 * _squares_over_cost(alpha, cost))

    def best_bound(self, alpha: np.ndarray, cost: np.ndarray, square: float) -> float:
        """See Loss: (1'alpha)^2 / (2 (sum alpha_i^2 / c_i + square))."""
        bottom = _squares_over_cost(alpha, cost) + square
        multiple = float(alpha.sum() / bottom) if bottom > 0 else 0.0
        return 0.5 * multiple * float(alpha.sum())

    def dual_weights(self, cost: np.ndarray) -> np.ndarray:
        """See Loss."""
        return cost

    def slope_of_shift(self, y: np.ndarray, z: np.ndarray, cost: np.ndarray, b: float) -> tuple[float, float, float]:
        """See Loss."""
        return hinge.slope(y, z, cost, b)


@register
@dataclass(frozen=True)
class Logistic(Loss):
    """l(m) = log(1 + exp(-m)); models fitted with it have ``predict_proba``.

    Examples
    --------
    >>> import numpy as np
    >>> from thresher.losses import Logistic
    >>> Logistic().value(np.zeros(1))
    array([0.69314718])
    """

    name: ClassVar[str] = "logistic"
    largest_curvature = 0.25
    steepest = 1.0

    def value(self, margins: np.ndarray) -> np.ndarray:
        """See Loss."""
        return np.logaddexp(0.0, -margins)

    def slope(self, margins: np.ndarray) -> np.ndarray:
        """See Loss."""
        return -expit(-margins)

    def curvature(self, margins: np.ndarray) -> np.ndarray:
        """See Loss."""
        return self.curvatures(margins, np.ones_like(margins))

    def curvatures(self, margins: np.ndarray, cost: np.ndarray) -> np.ndarray:
        """See Loss."""
        p = expit(margins)
        return cost * p * (1.0 - p)

    def dual(self, shares: np.ndarray) -> np.ndarray:
        """See Loss: the entropy."""
        return -xlogy(shares, shares) - xlogy(1.0 - shares, 1.0 - shares)

    def dual_total(self, alpha: np.ndarray, cost: np.ndarray) -> float:
        """See Loss: sum of the entropies, -alpha log(alpha / c) - (c - alpha) log(1 - alpha / c)."""
        used = cost > 0
        a, c = alpha[used], cost[used]
        if a.min(initial=0.0) < 0 or np.any(a > c) or np.any(alpha[~used] > 0):
            return -np.inf
        return float((-xlogy(a, a / c) - xlogy(c - a, (c - a) / c)).sum())

    def best_bound(self, alpha: np.ndarray, cost: np.ndarray, square: float) -> float:
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
            key=lambda t: self.dual_total(np.minimum(t * alpha, cost), cost) - 0.5 * t * t * square,
        )
        return self.dual_total(np.minimum(best * alpha, cost), cost) - 0.5 * best * best * square


@register
@dataclass(frozen=True)
class SmoothedHinge(Loss):
    """l(m) = 0 for m >= 1, (1 - m)^2 / (2 smoothing) for 1 - smoothing <= m < 1, and 1 - m - smoothing / 2 below.

    Parameters
    ----------
    smoothing : float
        Above 0: the width of the interval of margins on which the loss is quadratic.

    Examples
    --------
    >>> import numpy as np
    >>> from thresher.losses import SmoothedHinge
    >>> SmoothedHinge(0.5).value(np.array([-1.0, 0.75, 1.0]))
    array([1.75  , 0.0625, 0.    ])
    """

    smoothing: float
    name: ClassVar[str] = "smoothed_hinge"
    steepest = 1.0
    zero_from = 1.0

    def __post_init__(self) -> None:
        if not is_positive(self.smoothing):
            raise ValueError(f"smoothing must be a number above 0, got {self.smoothing!r}")
        object.__setattr__(self, "smoothing", float(self.smoothing))

    @property
    def title(self) -> str:
        """The loss in words."""
        return f"smoothed hinge (smoothing = {self.smoothing:g})"

    @property
    def largest_curvature(self) -> float:
        """See Loss."""
        return 1.0 / self.smoothing

    def value(self, margins: np.ndarray) -> np.ndarray:
        """See Loss."""
        slack = 1.0 - margins
        theta = np.clip(slack / self.smoothing, 0.0, 1.0)
        return theta * (slack - 0.5 * self.smoothing * theta)

    def slope(self, margins: np.ndarray) -> np.ndarray:
        """See Loss."""
        return -np.clip((1.0 - margins) / self.smoothing, 0.0, 1.0)

    def curvature(self, margins: np.ndarray) -> np.ndarray:
        """See Loss."""
        slack = 1.0 - margins
        return np.where((slack > 0.0) & (slack < self.smoothing), 1.0 / self.smoothing, 0.0)

    def dual(self, shares: np.ndarray) -> np.ndarray:
        """See Loss."""
        return shares - 0.5 * self.smoothing * shares * shares


def _squares_over_cost(alpha: np.ndarray, cost: np.ndarray) -> float:
    return float(np.divide(alpha * alpha, cost, out=np.zeros_like(alpha), where=cost > 0).sum())


LOSSES: dict[str, Loss] = {loss.name: loss for loss in (SquaredHinge(), Logistic())}
