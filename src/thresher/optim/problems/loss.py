"""What every loss is: sum_i c_i l(y_i z_i) of labels y = +-1, scores z and costs c >= 0, C times the sample weight.

l is a convex function of the margin m = y z with a continuous slope; it does not increase, and comes as close to 0 as
one likes. In the dual, alpha_i = -c_i l'(y_i z_i) >= 0, and with d(t) = min over m of l(m) + t m

    sum_i c_i l(y_i z_i)  >=  sum_i c_i d(alpha_i / c_i) - sum_i alpha_i y_i z_i        for every alpha in the domain,

with equality at that alpha: Fenchel and Young's inequality, from which every certificate follows.
"""

from abc import abstractmethod
from collections.abc import Callable

import numpy as np

from thresher.optim.named_values import LossOrMeasure
from thresher.optim.problems.margins import MarginProblem

# A sum below this share of its terms counts as zero; the remaining error of the shift is removed by ``feasible``.
SHIFT_SLOPE_ROUNDING = 1e-14
OUTSIDE = 1e-12  # shares may leave the domain of the dual function by so much, through rounding
GOLDEN = 0.5 * (np.sqrt(5.0) - 1.0)
NEAREST = 1e-9  # relative accuracy of the best multiple, whose bound is flat there
SMALLEST = 1e-30  # multiples below give the bound 0
DEFAULT_C = 1.0


class Loss(LossOrMeasure):
    """A loss function l of margins m = y z, with labels y = +-1 and scores z; base class for losses of your own.

    A subclass is a frozen dataclass with ``value``, ``slope``, ``curvature``, ``dual`` and ``largest_curvature``. All
    else follows: sums over samples, dual points, lower bounds of the objective. l must be convex with a continuous
    slope, must not increase, and its infimum must be 0. ``thresher.testing.check_loss`` checks all of this.

    Attributes
    ----------
    name : str
        What ``thresher inspect`` calls it; the name of the class unless the class sets another one.
    title : str
        The same in words.
    largest_curvature : float
        An upper bound of the second derivative of l. Each loss has its own.
    steepest : float
        The upper end of the domain of ``dual``: the limit of -l'(m) for m to -infinity. Infinity by default.
    zero_from : float
        The margin from which on l is 0. Infinity by default, for losses that are positive everywhere.

    See Also
    --------
    thresher.testing.check_loss : Checks a loss.

    Examples
    --------
    >>> from dataclasses import dataclass
    >>> import numpy as np
    >>> from thresher import FGMClassifier
    >>> from thresher.losses import Loss
    >>> @dataclass(frozen=True)
    ... class Exponential(Loss):
    ...     steepest = 10.0                        # exp(-m) down to that slope, linear below
    ...     largest_curvature = 10.0
    ...     def value(self, margins):
    ...         return -self.slope(margins) * (1.0 + np.maximum(0.0, -np.log(10.0) - margins))
    ...     def slope(self, margins):
    ...         return -np.exp(np.minimum(-margins, np.log(10.0)))
    ...     def curvature(self, margins):
    ...         return np.where(margins > -np.log(10.0), -self.slope(margins), 0.0)
    ...     def dual(self, shares):
    ...         return shares - shares * np.log(np.maximum(shares, 1e-300))
    >>> X, y = np.random.default_rng(0).standard_normal((60, 20)), np.arange(60) % 2
    >>> X[:, 7] += 2 * y
    >>> FGMClassifier(1, loss=Exponential()).fit(X, y).selection_.features
    array([7])
    """

    @property
    def steepest(self) -> float:
        """The limit of -l'(m) for m to -infinity."""
        return np.inf

    @property
    def zero_from(self) -> float:
        """The margin from which on l is 0."""
        return np.inf

    @property
    @abstractmethod
    def largest_curvature(self) -> float:
        """An upper bound of the second derivative of l."""

    @abstractmethod
    def value(self, margins: np.ndarray) -> np.ndarray:
        """The loss of each sample.

        Parameters
        ----------
        margins : ndarray of float64
            Margins m = y z, of any size.

        Returns
        -------
        ndarray of the same shape
            l(m).
        """

    @abstractmethod
    def slope(self, margins: np.ndarray) -> np.ndarray:
        """The derivative of the loss of each sample.

        Parameters
        ----------
        margins : ndarray of float64
            Margins m = y z, of any size.

        Returns
        -------
        ndarray of the same shape
            l'(m), not above 0.
        """

    @abstractmethod
    def curvature(self, margins: np.ndarray) -> np.ndarray:
        """The second derivative of the loss of each sample.

        Parameters
        ----------
        margins : ndarray of float64
            Margins m = y z, of any size.

        Returns
        -------
        ndarray of the same shape
            l''(m), not below 0; at a kink of the slope any value between those on both sides.
        """

    @abstractmethod
    def dual(self, shares: np.ndarray) -> np.ndarray:
        """The dual function of each sample: minus the convex conjugate of l at -t.

        Parameters
        ----------
        shares : ndarray of float64
            t, from 0 to ``steepest``.

        Returns
        -------
        ndarray of the same shape
            d(t) = min over m of l(m) + t m; d(0) = 0.
        """

    def default_C(self, weights: np.ndarray) -> float:
        """See LossOrMeasure: 1.0, whatever the weights."""
        return DEFAULT_C

    def problem(
        self, y: np.ndarray, cost: np.ndarray, fit_intercept: bool, classes: int = 1, share: float = 1.0
    ) -> MarginProblem:
        """See LossOrMeasure: the share has no influence."""
        return MarginProblem(y, cost, self, fit_intercept, classes)

    def total(self, margins: np.ndarray, cost: np.ndarray) -> float:
        """The loss of all samples.

        Parameters
        ----------
        margins, cost : ndarray of shape (n,)
            Margins, and costs that are not negative.

        Returns
        -------
        float
            sum_i c_i l(m_i).
        """
        return float(cost @ self.value(margins))

    def dual_point(self, margins: np.ndarray, cost: np.ndarray) -> np.ndarray:
        """The dual point that belongs to margins.

        Parameters
        ----------
        margins, cost : ndarray of shape (n,)
            Margins, and costs that are not negative.

        Returns
        -------
        ndarray of shape (n,)
            alpha_i = -c_i l'(m_i); the gradient in z is -alpha * y.
        """
        return -cost * self.slope(margins)

    def curvatures(self, margins: np.ndarray, cost: np.ndarray) -> np.ndarray:
        """The second derivative of the loss of all samples in their scores.

        Parameters
        ----------
        margins, cost : ndarray of shape (n,)
            Margins, and costs that are not negative.

        Returns
        -------
        ndarray of shape (n,)
            c_i l''(m_i).
        """
        return cost * self.curvature(margins)

    def dual_total(self, alpha: np.ndarray, cost: np.ndarray) -> float:
        """The dual function of all samples, which is concave.

        Parameters
        ----------
        alpha, cost : ndarray of shape (n,)
            A dual point, and costs that are not negative.

        Returns
        -------
        float
            sum_i c_i d(alpha_i / c_i); -inf outside its domain.
        """
        used = cost > 0.0
        shares = alpha[used] / cost[used]
        inside = shares.min(initial=0.0) >= 0.0 and shares.max(initial=0.0) <= self.steepest * (1.0 + OUTSIDE)
        if not inside or np.any(alpha[~used] != 0.0):
            return -np.inf
        return float(cost[used] @ self.dual(np.minimum(shares, self.steepest)))

    def best_bound(self, alpha: np.ndarray, cost: np.ndarray, square: float) -> float:
        """The best lower bound that multiples of a dual point give.

        Here it is found by search: a bracket of the best multiple, then golden sections of it.

        Parameters
        ----------
        alpha, cost : ndarray of shape (n,)
            A dual point in the domain, and costs that are not negative.
        square : float
            Twice the conjugate of the penalty at this point.

        Returns
        -------
        float
            Max over s >= 0 of dual_total(s alpha) - s^2 square / 2.
        """
        used = alpha > 0.0
        if not used.any():
            return 0.0
        cost, shares = cost[used], alpha[used] / cost[used]
        end = self.steepest / float(shares.max())

        def bound(s: float) -> float:
            return float(cost @ self.dual(np.minimum(s * shares, self.steepest))) - 0.5 * s * s * square

        middle = min(1.0, end)
        low, high = 0.5 * middle, min(2.0 * middle, end)
        while bound(high) > bound(middle) and high < end:
            low, middle, high = middle, high, min(2.0 * high, end)
        while bound(low) > bound(middle) and low > SMALLEST:
            low, middle, high = 0.5 * low, low, middle
        return max(bound(golden_maximum(bound, low, high)), bound(middle), bound(high), 0.0)

    def dual_weights(self, cost: np.ndarray) -> np.ndarray | None:
        """Weights of a dual function that is quadratic, for which there are faster solvers.

        Parameters
        ----------
        cost : ndarray of shape (n,)
            Costs that are not negative.

        Returns
        -------
        ndarray of shape (n,) or None
            The v with which ``dual_total`` is sum_i alpha_i - alpha_i^2 / (2 v_i) for all alpha >= 0; None if it has
            another form.
        """
        return None

    def slope_of_shift(self, y: np.ndarray, z: np.ndarray, cost: np.ndarray, b: float) -> tuple[float, float, float]:
        """How the loss changes with a shift of all scores.

        Parameters
        ----------
        y, z, cost : ndarray of shape (n,)
            Labels -1.0 and +1.0, scores, and costs that are not negative.
        b : float
            The shift.

        Returns
        -------
        tuple of three floats
            The derivative of the loss at z + b in b, the sum of the magnitudes of its terms, the second derivative.
        """
        margins = y * (z + b)
        slopes = -y * self.dual_point(margins, cost)
        return float(slopes.sum()), float(np.abs(slopes).sum()), float(self.curvatures(margins, cost).sum())

    def best_shift(self, y: np.ndarray, z: np.ndarray, cost: np.ndarray, start: float = 0.0) -> float:
        """The shift of all scores that minimises the loss: a root of its increasing derivative, up to rounding.

        Newton's method inside a bracket; for the squared hinge it ends at the root exactly, since the derivative is
        piecewise linear.

        Parameters
        ----------
        y, z, cost : ndarray of shape (n,)
            Labels -1.0 and +1.0, scores, and costs that are not negative.
        start : float, default=0.0
            An initial guess.

        Returns
        -------
        float
            The b that minimises the loss at z + b.
        """
        low, high, b = -np.inf, np.inf, float(start)
        for _ in range(200):
            slope, size, curvature = self.slope_of_shift(y, z, cost, b)
            if abs(slope) <= SHIFT_SLOPE_ROUNDING * size:
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


def golden_maximum(function: Callable[[float], float], low: float, high: float) -> float:
    """Where a concave function is largest between two numbers, to a relative accuracy of NEAREST: golden sections."""
    left, right = high - GOLDEN * (high - low), low + GOLDEN * (high - low)
    at_left, at_right = function(left), function(right)
    while high - low > NEAREST * high:
        if at_left < at_right:
            low, left, at_left = left, right, at_right
            right = low + GOLDEN * (high - low)
            at_right = function(right)
        else:
            high, right, at_right = right, left, at_left
            left = high - GOLDEN * (high - low)
            at_left = function(left)
    return 0.5 * (low + high)
