"""Additive kernels as users describe them; ``maps`` has what they make of columns."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from thresher.features.polynomial.spec import Polynomial

# Distance of the frequencies of AdditiveChi2 by order: that with the smallest error.
STEPS = {2: 0.51, 3: 0.445, 4: 0.4075, 5: 0.3775, 6: 0.3525, 7: 0.3325}
MOST_LEVELS = 65535


class Kernel:
    """A kernel that is a sum over columns. Subclasses are frozen dataclasses, so that model files can hold them."""

    word: ClassVar[str]  # what is short for it
    signed: ClassVar[bool] = False  # whether values may be negative
    scale: ClassVar[str] = "max"  # what scale="auto" means


@dataclass(frozen=True)
class Intersection(Kernel):
    """Histogram intersection: the kernel sum_j min(x_j^power, z_j^power), for values that are not negative.

    Each input becomes ``levels`` numbers: steps of equal height between 0 and the largest value seen in fit (larger new
    values count as that one). On training data the kernel is overestimated by at most one step; it is exact where there
    are no more samples than levels.

    Parameters
    ----------
    levels : int, default=100
        Number of steps, at most 65535.
    power : float, default=1.0
        The power that values on their scale are raised to.

    Examples
    --------
    >>> import numpy as np
    >>> from thresher import FGMClassifier, Intersection
    >>> X = np.random.default_rng(0).random((200, 30))
    >>> y = np.abs(X[:, 7] - 0.5) > 0.25                 # no line separates these
    >>> FGMClassifier(1, features=Intersection(levels=20)).fit(X, y).selection_.groups
    array([7])
    """

    levels: int = 100
    power: float = 1.0
    word: ClassVar[str] = "intersection"

    def __post_init__(self) -> None:
        _check_integer("levels", self.levels, 1, MOST_LEVELS)
        _check_positive("power", self.power)


@dataclass(frozen=True)
class AdditiveChi2(Kernel):
    """Additive chi-squared: the kernel sum_j 2 x_j z_j / (x_j + z_j), for values that are not negative.

    Each input becomes 2 order + 1 numbers (the homogeneous map of Vedaldi and Zisserman); new values above the largest
    one seen in fit count as that one.

    Parameters
    ----------
    order : int, default=4
        From 2 to 7. The error of each term, relative to the larger one of x_j and z_j, is at most 0.013, 0.006, 0.003,
        0.0016, 0.0009 or 0.0005.
    """

    order: int = 4
    word: ClassVar[str] = "additive_chi2"

    def __post_init__(self) -> None:
        _check_integer("order", self.order, min(STEPS), max(STEPS))


@dataclass(frozen=True)
class AdditiveGaussian(Kernel):
    """Additive Gaussian: the kernel sum_j exp(-gamma (x_j - z_j)^2), by cosines and sines of fixed frequencies.

    With sigma = 1 / sqrt(2 gamma), values (on their scale, from the mean of the column) count as at most
    0.9 frequencies - 1.75 sigma from the mean, 2.75 by default; between such values the error of each term is at most
    0.0023.

    Parameters
    ----------
    gamma : float, default=0.5
        Width of the kernel, for columns on their scale: by default sigma is a standard deviation of the column.
    frequencies : int, default=5
        Each input becomes twice as many numbers; at least 3. More of them reach farther from the mean, which a larger
        gamma needs.
    """

    gamma: float = 0.5
    frequencies: int = 5
    word: ClassVar[str] = "additive_gaussian"
    signed: ClassVar[bool] = True
    scale: ClassVar[str] = "std"

    def __post_init__(self) -> None:
        _check_positive("gamma", self.gamma)
        _check_integer("frequencies", self.frequencies, 3, 1000)


KERNELS: tuple[type[Kernel], ...] = (Intersection, AdditiveChi2, AdditiveGaussian)
WORDS = ("linear", *(kernel.word for kernel in KERNELS), Polynomial.word)


def kernel_of(features: Any) -> Kernel | Polynomial | None:
    """The kernel that ``features`` asks for; None for "linear". ValueError for anything else."""
    if isinstance(features, (Kernel, Polynomial)):
        return features
    if isinstance(features, str) and features in WORDS:
        if features == Polynomial.word:
            return Polynomial()
        return None if features == "linear" else KERNELS[WORDS.index(features) - 1]()
    raise ValueError(
        f"features must be one of {WORDS}, or Intersection(...), AdditiveChi2(...), AdditiveGaussian(...) or "
        f"Polynomial(...); got {features!r}"
    )


def _check_integer(name: str, value: Any, least: int, most: int) -> None:
    if not isinstance(value, (int, np.integer)) or isinstance(value, bool) or not least <= value <= most:
        raise ValueError(f"{name} must be an integer from {least} to {most}, got {value!r}")


def _check_positive(name: str, value: Any) -> None:
    real = isinstance(value, (int, float, np.integer, np.floating)) and not isinstance(value, bool)
    if not real or not np.isfinite(value) or value <= 0.0:
        raise ValueError(f"{name} must be a positive number, got {value!r}")
