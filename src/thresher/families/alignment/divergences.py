"""Bregman divergences of the weights of kernels from a start eta_0."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

SMALLEST_WEIGHT = 1e-300  # weights below are zero
NODES, NODE_WEIGHTS = np.polynomial.legendre.leggauss(64)


class Divergence(ABC):
    """A Bregman divergence B_F of numbers from ``start``, eta_0, given by F' and F''.

    ``ratio`` is lambda1 / lambda2 where lambda1 is "auto".
    """

    start: float = 0.0
    ratio: float = 1.0

    @abstractmethod
    def slope(self, eta: np.ndarray) -> np.ndarray:
        """F'."""

    @abstractmethod
    def curvature(self, eta: np.ndarray) -> np.ndarray:
        """F''."""

    def third_derivative(self, eta: np.ndarray) -> np.ndarray:
        """F''', for the predictor of second order; by differences."""
        h = 1e-5 * eta
        return (self.curvature(eta + h) - self.curvature(eta - h)) / (2.0 * h)

    def value(self, eta: np.ndarray) -> np.ndarray:
        """B_F(eta): the integral of (eta - t) F''(t) from eta_0 to eta, by Gauss's rule."""
        half = 0.5 * (np.asarray(eta) - self.start)
        return sum(weight * half * (half - half * node) * self.curvature(self.start + half * (1.0 + node))
                   for node, weight in zip(NODES, NODE_WEIGHTS, strict=True))  # fmt: skip

    def deviation(self, eps: float) -> float:
        """The term of lemma 1 for a weight below eps that is set to zero: the integral of t F''(t) from 0 to eps."""
        t = 0.5 * eps * (1.0 + NODES)
        return float(0.5 * eps * (NODE_WEIGHTS @ (t * self.curvature(t))))

    def inverse_slope(self, slope: np.ndarray) -> np.ndarray | None:
        """The eta with F'(eta) = slope; None if there is no closed form."""
        return None


@dataclass(frozen=True)
class SquaredEuclidean(Divergence):
    """F = x^2: B_F = (eta - eta_0)^2."""

    start: float = 0.0

    def slope(self, eta: np.ndarray) -> np.ndarray:
        """See Divergence."""
        return 2.0 * eta

    def curvature(self, eta: np.ndarray) -> np.ndarray:
        """See Divergence."""
        return np.full_like(eta, 2.0)

    def third_derivative(self, eta: np.ndarray) -> np.ndarray:
        """See Divergence."""
        return np.zeros_like(eta)

    def value(self, eta: np.ndarray) -> np.ndarray:
        """See Divergence."""
        return (eta - self.start) ** 2

    def deviation(self, eps: float) -> float:
        """See Divergence."""
        return eps * eps

    def inverse_slope(self, slope: np.ndarray) -> np.ndarray:
        """See Divergence."""
        return np.maximum(0.5 * slope, 0.0)


@dataclass(frozen=True)
class GeneralisedKL(Divergence):
    """F = x ln x - x: B_F = eta ln(eta / eta_0) - eta + eta_0, with eta_0 > 0."""

    start: float = 0.01
    ratio = 0.1  # with 1, weights would differ by a factor of e at most

    def slope(self, eta: np.ndarray) -> np.ndarray:
        """See Divergence."""
        return np.log(eta)

    def curvature(self, eta: np.ndarray) -> np.ndarray:
        """See Divergence."""
        return 1.0 / eta

    def third_derivative(self, eta: np.ndarray) -> np.ndarray:
        """See Divergence."""
        return -1.0 / eta**2

    def value(self, eta: np.ndarray) -> np.ndarray:
        """See Divergence."""
        positive = np.maximum(eta, SMALLEST_WEIGHT)
        return eta * np.log(positive / self.start) - eta + self.start

    def deviation(self, eps: float) -> float:
        """See Divergence."""
        return eps

    def inverse_slope(self, slope: np.ndarray) -> np.ndarray:
        """See Divergence."""
        return np.exp(np.minimum(slope, 700.0))


class GivenDivergence(Divergence):
    """A divergence given by an object with ``slope(eta)`` = F', ``curvature(eta)`` = F'' and ``start`` = eta_0."""

    def __init__(self, given: Any):
        self.given = given
        self.start = float(given.start)

    def slope(self, eta: np.ndarray) -> np.ndarray:
        """See Divergence."""
        return np.asarray(self.given.slope(eta), dtype=np.float64)

    def curvature(self, eta: np.ndarray) -> np.ndarray:
        """See Divergence."""
        return np.asarray(self.given.curvature(eta), dtype=np.float64)


DIVERGENCES: dict[str, Callable[[], Divergence]] = {"euclidean": SquaredEuclidean, "kl": GeneralisedKL}
