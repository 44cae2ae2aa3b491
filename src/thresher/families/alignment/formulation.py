"""Generalised lp-KTA (Jawanpuria, Varma and Nath, 2014) at one p.

minimise over eta >= 0:  lambda1 sum B_F(eta_i) + lambda2 sum eta_i^p - sum eta_i a_i,   a_i = y'K_i y / n      (1)

Kernels do not depend on each other, so each weight is the root of one increasing function of ln eta (5).
"""

from dataclasses import dataclass

import numpy as np

from thresher.families.alignment.divergences import SMALLEST_WEIGHT, Divergence

LARGEST_EPS = float(np.exp(-1.0))
AUTO_COUNT = 10  # kernels that lambda2="auto" leaves at p = 1, of a hundred or more


@dataclass(frozen=True)
class Formulation:
    """(1), and how its path is followed; ``exact``: no kernel is left out on the way."""

    lambda1: float
    lambda2: float
    divergence: Divergence
    eps: float = 1e-4
    p_start: float = 2.0
    p_end: float = 1.0
    step: float = 0.01
    predictor: int = 1
    exact: bool = False

    @property
    def norms(self) -> np.ndarray:
        """The values of p: from p_start down by step, and p_end."""
        count = int(np.floor((self.p_start - self.p_end) / self.step + 1e-9))
        p = np.round(self.p_start - self.step * np.arange(count + 1), 12)
        return p if np.isclose(p[-1], self.p_end, rtol=0.0, atol=1e-9) else np.append(p, self.p_end)

    @property
    def _slope_at_start(self) -> float:
        """F'(eta_0)."""
        return float(self.divergence.slope(np.array([self.divergence.start]))[0])

    def slope(self, eta: np.ndarray, p: float, a: np.ndarray) -> np.ndarray:
        """G of (5): the derivative of (1) by eta, which is zero at the optimum."""
        norm = self.lambda2 * p * eta ** (p - 1.0)
        if self.lambda1 == 0.0:
            return norm - a
        return self.lambda1 * (self.divergence.slope(eta) - self._slope_at_start) + norm - a

    def curvature(self, eta: np.ndarray, p: float) -> np.ndarray:
        """The derivative of G by eta."""
        norm = self.lambda2 * p * (p - 1.0) * eta ** (p - 2.0)
        return norm if self.lambda1 == 0.0 else norm + self.lambda1 * self.divergence.curvature(eta)

    def weights_without_norm(self, a: np.ndarray) -> np.ndarray | None:
        """The weights that solve (5) for lambda2 = 0; None if lambda1 = 0 or there is no closed form."""
        return None if self.lambda1 == 0.0 else self.divergence.inverse_slope(self._slope_at_start + a / self.lambda1)

    def objective(self, eta: np.ndarray, p: float, a: np.ndarray) -> float:
        """The value of (1)."""
        divergence = self.lambda1 * self.divergence.value(eta).sum() if self.lambda1 else 0.0
        return float(divergence + self.lambda2 * np.sum(eta**p) - eta @ a)

    def deviation_bound(self, p: float, left_out: int) -> float:
        """Lemma 1: how far the objective can be above its minimum if so many weights below eps are set to zero."""
        norm = self.lambda2 * (p - 1.0) * self.eps**p
        return left_out * (self.lambda1 * self.divergence.deviation(self.eps) + norm)


def auto_lambda2(a: np.ndarray) -> float:
    """The tenth largest alignment, so that about as many kernels are left at p = 1; of fewer than 100 the top tenth."""
    positive = np.sort(a[a > 0.0])[::-1]
    if not positive.size:
        return 1.0
    return float(positive[min(AUTO_COUNT, -(-positive.size // AUTO_COUNT)) - 1])


def lambda2_to_begin_with(
    count: int, a: np.ndarray, lambda1: float | None, divergence: Divergence, eps: float, p: float
) -> float | None:
    """The lambda2 at which ``count`` kernels, fewer if alignments are equal, have weights above eps at ``p``.

    The path that begins there has no others. ``lambda1`` None: the divergence's ratio of lambda2. None if there is no
    such lambda2, because weights stay near eta_0 > eps.
    """
    positive = np.sort(a[a > 0.0])[::-1]
    if not positive.size:
        return 1.0
    keeps_all = positive.size <= count
    margin = 1.0 - 1e-9 if keeps_all else 1.0 + 1e-9  # the next one is left out, and those equal to it
    alignment = float(positive[min(count, positive.size - 1)]) * margin
    at_eps, at_start = divergence.slope(np.array([eps, max(divergence.start, SMALLEST_WEIGHT)]))
    divergence_slope = float(at_eps - at_start)
    norm_slope = p * eps ** (p - 1.0)
    if lambda1 is None:
        slope = divergence.ratio * divergence_slope + norm_slope
        return alignment / slope if slope > 0.0 else None
    left = alignment - lambda1 * divergence_slope
    return left / norm_slope if left > 0.0 else None
