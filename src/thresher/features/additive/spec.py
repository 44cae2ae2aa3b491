"""Additive kernels as users describe them, and what they make of columns: phi(x)'phi(z) is the kernel, or near it.

Each input column becomes D numbers, phi(x) - phi(0), so that zeros stay zero in every storage; with an intercept that
is the same problem as phi(x). docs/theory/structured.md has the maps and their errors.
"""

from abc import abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from thresher.data.blocks.base import Block
from thresher.data.blocks.compressed import CscBlock
from thresher.data.blocks.dense import DenseBlock
from thresher.data.designs.numbering import end_to_end
from thresher.features.additive.maps import InputMap, Inputs
from thresher.features.additive.step_encoding import step_encoded
from thresher.features.base import check_number
from thresher.state import register

PERIOD, MARGIN = 1.8, 3.5  # of AdditiveGaussian, in sigma: period for each frequency, and how much of it is left free
# Distance of the frequencies of AdditiveChi2 by order: that with the smallest error.
STEPS = {2: 0.51, 3: 0.445, 4: 0.4075, 5: 0.3775, 6: 0.3525, 7: 0.3325}
HIGHEST_LEVEL = 65535


@dataclass(frozen=True)
class AdditiveKernel(InputMap):
    """A kernel that is a sum over columns: k(x, z) = sum_j phi(x_j)'phi(z_j).

    A kernel of your own is a frozen dataclass with ``size`` and ``numbers``.
    """

    @abstractmethod
    def numbers(self, values: np.ndarray, inputs: Inputs, at: np.ndarray) -> np.ndarray:
        """What the kernel makes of values of columns: phi(x) - phi(0).

        Parameters
        ----------
        values : ndarray of shape (n_values,)
            Values as given.
        inputs : Inputs
            Factor, mean and largest |x| of the columns.
        at : ndarray of int64 of shape (n_values,)
            The column of each value, as a position in ``inputs``.

        Returns
        -------
        ndarray of shape (size, n_values)
            The numbers; zeros of the value 0.
        """

    def block(self, columns: Block, inputs: Inputs, size: int) -> Block:
        """See InputMap."""
        n, m = columns.shape
        stored = columns.stored_columns(0, m)
        made = self.numbers(stored.values.astype(np.float64), inputs, stored.columns)
        if not columns.sparse:
            return DenseBlock(made.reshape(size, m, n).transpose(1, 0, 2).reshape(m * size, n).T, columns.workers)
        entries = np.repeat(np.diff(stored.indptr), size)
        source = end_to_end(np.repeat(stored.indptr[:-1], size), entries)
        number = np.repeat(np.tile(np.arange(size), m), entries)
        begins = np.concatenate([[0], np.cumsum(entries)])
        return CscBlock((n, m * size), begins, stored.rows[source], made[number, source], workers=columns.workers)


@register
@dataclass(frozen=True)
class Intersection(InputMap):
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
    >>> FGMClassifier(1, feature_map=Intersection(levels=20)).fit(X, y).selection_.groups
    array([7])
    """

    levels: int = 100
    power: float = 1.0
    word: ClassVar[str] = "intersection"
    written_down: ClassVar[bool] = False

    def __post_init__(self) -> None:
        _check_integer("levels", self.levels, 1, HIGHEST_LEVEL)
        check_number("power", self.power)

    def size(self, n_samples: int) -> int:
        """See InputMap."""
        return max(1, min(self.levels, n_samples))

    def sizes(self) -> range:
        """See InputMap."""
        return range(1, self.levels + 1)

    def block(self, columns: Block, inputs: Inputs, size: int) -> Block:
        """See InputMap."""
        _, indptr, rows, values = columns.stored_columns(0, columns.shape[1])
        edges = inputs.edges
        if edges is None:
            steps = np.arange(size + 1) / size  # equal ones, once raised to the power
            steps = steps if self.power == 1.0 else steps ** (1.0 / self.power)
            edges = np.multiply.outer(inputs.largest * inputs.factor, steps)
        return step_encoded(columns.shape[0], indptr, rows, values, inputs.factor, edges, self.power, columns.workers)

    def learns(self, n_samples: int) -> bool:
        """See InputMap."""
        return n_samples <= self.levels

    def learnt(self, columns: Block, inputs: Inputs) -> Inputs:
        """See InputMap: edges at the values of the training data, where there are few samples."""
        values = columns.toarray().T
        np.minimum(values, inputs.largest[:, None], out=values)  # rows of weight zero may have larger ones
        on_scale = np.sort(values * inputs.factor[:, None], axis=1)
        edges = np.concatenate([np.zeros((values.shape[0], 1)), on_scale], axis=1)
        return replace(inputs, edges=edges)


@register
@dataclass(frozen=True)
class AdditiveChi2(AdditiveKernel):
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

    def size(self, n_samples: int) -> int:
        """See InputMap."""
        return 2 * self.order + 1

    def numbers(self, values: np.ndarray, inputs: Inputs, at: np.ndarray) -> np.ndarray:
        """See AdditiveKernel."""
        x = np.minimum(values, inputs.largest[at]) * inputs.factor[at]
        positive, step = x > 0.0, STEPS[self.order]
        log = np.log(x, out=np.zeros_like(x), where=positive)
        out, root = np.empty((2 * self.order + 1, x.size)), np.sqrt(np.where(positive, x, 0.0))
        out[0] = np.sqrt(step) * root
        lengths = (np.sqrt(2.0 * step / np.cosh(np.pi * k * step)) * root for k in range(1, self.order + 1))
        write_waves(step * log, lengths, out[1:])
        return out


@register
@dataclass(frozen=True)
class AdditiveGaussian(AdditiveKernel):
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
    positive_only: ClassVar[bool] = False
    auto_scale: ClassVar[str] = "std"

    def __post_init__(self) -> None:
        check_number("gamma", self.gamma)
        _check_integer("frequencies", self.frequencies, 3, 1000)

    def size(self, n_samples: int) -> int:
        """See InputMap."""
        return 2 * self.frequencies

    def numbers(self, values: np.ndarray, inputs: Inputs, at: np.ndarray) -> np.ndarray:
        """See AdditiveKernel."""
        zero = self._uncentred(np.zeros(inputs.factor.size), inputs, np.arange(inputs.factor.size))
        out = self._uncentred(values, inputs, at)
        out -= zero[:, at]
        return out

    def _uncentred(self, values: np.ndarray, inputs: Inputs, at: np.ndarray) -> np.ndarray:
        """phi(x)."""
        count, period = self.frequencies, PERIOD * self.frequencies
        reach, sigmas = 0.5 * (period - MARGIN), np.sqrt(2.0 * self.gamma) * inputs.factor
        x = np.clip((values - inputs.centre[at]) * sigmas[at], -reach, reach)
        out, step = np.empty((2 * count, x.size)), 2.0 * np.pi / period
        squares = (2.0 * np.sqrt(2.0 * np.pi) / period * np.exp(-0.5 * (k * step) ** 2) for k in range(1, count + 1))
        write_waves(step * x, map(np.sqrt, squares), out)
        return out


def _check_integer(name: str, value: Any, least: int, most: int) -> None:
    if not isinstance(value, (int, np.integer)) or isinstance(value, bool) or not least <= value <= most:
        raise ValueError(f"{name} must be an integer from {least} to {most}, got {value!r}")


def write_waves(angle: np.ndarray, lengths: Iterable[Any], out: np.ndarray) -> None:
    """Write length cos k angle and length sin k angle for k = 1, 2, ...: several times faster than the functions."""
    first, now = np.exp(1j * angle), np.ones(angle.size, dtype=complex)
    for place, length in enumerate(lengths):
        now *= first
        np.multiply(length, now.real, out=out[2 * place])
        np.multiply(length, now.imag, out=out[2 * place + 1])
