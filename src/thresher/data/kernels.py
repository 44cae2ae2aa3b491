"""Additive kernels, as maps of single columns: phi(x)'phi(z) is the kernel, or near it.

Each input column becomes D numbers, phi(x) - phi(0), so that zeros stay zero in every storage; with an intercept that
is the same problem as phi(x). docs/theory/structured.md has the maps and their errors.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from thresher.data.block import Block
from thresher.data.compressed import CscBlock, index_dtype
from thresher.data.dense import DenseBlock
from thresher.data.thermometer import thermometer
from thresher.errors import InvalidDataError

# Distance of the frequencies of AdditiveChi2 by order: that with the smallest error for values in ratios up to 100.
STEPS = {2: 0.51, 3: 0.445, 4: 0.4075, 5: 0.3775, 6: 0.3525, 7: 0.3325}
MOST_LEVELS = 65535
PERIOD, MARGIN = 1.8, 3.5  # of AdditiveGaussian, in sigma: period for each frequency, and how much of it is left free


@dataclass(frozen=True, eq=False)
class Inputs:
    """What the maps of some inputs need: x is (x - centre) * factor on its scale, and ``largest`` the training max |x|.

    ``edges`` (inputs, D + 1) are those of the levels of Intersection where they are values of the training data.
    """

    factor: np.ndarray
    centre: np.ndarray
    largest: np.ndarray
    edges: np.ndarray | None = None

    def take(self, ids: np.ndarray | slice) -> "Inputs":
        """Those of the inputs ``ids``."""
        edges = None if self.edges is None else self.edges[ids]
        return Inputs(self.factor[ids], self.centre[ids], self.largest[ids], edges)


class Kernel(ABC):
    """A kernel that is a sum over columns. Subclasses are frozen dataclasses, so that models can name them."""

    signed: ClassVar[bool] = False  # whether values may be negative
    scale: ClassVar[str] = "max"  # what scale="auto" means
    word: ClassVar[str]  # what is short for it

    @abstractmethod
    def size(self, n_samples: int) -> int:
        """Numbers of an input, D, after a fit on so many samples."""

    def sizes(self) -> range:
        """All that ``size`` can be."""
        return range(self.size(MOST_LEVELS), self.size(MOST_LEVELS) + 1)

    @abstractmethod
    def block(self, columns: CscBlock | DenseBlock, inputs: Inputs, size: int) -> Block:
        """The ``size`` numbers of each of ``columns``, raw values, input after input."""

    def learns(self, n_samples: int) -> bool:
        """Whether the maps need values of the training data besides its statistics: see ``learnt``."""
        return False

    def learnt(self, columns: CscBlock | DenseBlock, inputs: Inputs) -> Inputs:
        """``inputs`` with what their maps take from the values of the training data; here nothing."""
        return inputs

    def scale_for(self, scale: str | None) -> str | None:
        """The scale that a fit uses, given the one asked for; ValueError if the kernel does not allow it."""
        if scale == "std" and not self.signed:
            raise ValueError(
                f'features="{self.word}" needs values that are not negative, but scale="std" centres them; use '
                'scale="auto", which means "max" here, "unit" or None'
            )
        return self.scale if scale == "auto" else scale


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

    def size(self, n_samples: int) -> int:
        """See Kernel."""
        return max(1, min(self.levels, n_samples))

    def sizes(self) -> range:
        """See Kernel."""
        return range(1, self.levels + 1)

    def block(self, columns: CscBlock | DenseBlock, inputs: Inputs, size: int) -> Block:
        """See Kernel."""
        n_rows, indptr, indices, values = _entries(columns)
        edges = inputs.edges
        if edges is None:
            steps = np.arange(size + 1) / size  # equal ones, once raised to the power
            steps = steps if self.power == 1.0 else steps ** (1.0 / self.power)
            edges = np.multiply.outer(inputs.largest * inputs.factor, steps)
        return thermometer(n_rows, indptr, indices, values, inputs.factor, edges, self.power, columns.workers)

    def learns(self, n_samples: int) -> bool:
        """See Kernel."""
        return n_samples <= self.levels

    def learnt(self, columns: CscBlock | DenseBlock, inputs: Inputs) -> Inputs:
        """See Kernel: edges at the values of the training data, where there are few samples."""
        values = columns.toarray().T
        np.minimum(values, inputs.largest[:, None], out=values)  # rows of weight zero may have larger ones
        on_scale = np.sort(values * inputs.factor[:, None], axis=1)
        edges = np.concatenate([np.zeros((values.shape[0], 1)), on_scale], axis=1)
        return Inputs(inputs.factor, inputs.centre, inputs.largest, edges)


@dataclass(frozen=True)
class AdditiveChi2(Kernel):
    """Additive chi-squared: the kernel sum_j 2 x_j z_j / (x_j + z_j), for values that are not negative.

    Each input becomes 2 order + 1 numbers (the homogeneous map of Vedaldi and Zisserman); new values above the largest
    one seen in fit count as that one.

    Parameters
    ----------
    order : int, default=4
        From 2 to 7. The error, relative to the larger one of x_j and z_j, is at most 0.013, 0.006, 0.003, 0.0016,
        0.0009 or 0.0005 for values in ratios up to 100.
    """

    order: int = 4
    word: ClassVar[str] = "additive_chi2"

    def __post_init__(self) -> None:
        _check_integer("order", self.order, min(STEPS), max(STEPS))

    def size(self, n_samples: int) -> int:
        """See Kernel."""
        return 2 * self.order + 1

    def block(self, columns: CscBlock | DenseBlock, inputs: Inputs, size: int) -> Block:
        """See Kernel."""
        return _written(columns, inputs, size, self._numbers)

    def _numbers(self, values: np.ndarray, inputs: Inputs) -> np.ndarray:
        x = np.minimum(values, inputs.largest) * inputs.factor
        there, step = x > 0.0, STEPS[self.order]
        log = np.log(x, out=np.zeros_like(x), where=there)
        out, root = np.empty((2 * self.order + 1, x.size)), np.sqrt(np.where(there, x, 0.0))
        out[0] = np.sqrt(step) * root
        for k in range(1, self.order + 1):
            root_k = np.sqrt(2.0 * step / np.cosh(np.pi * k * step)) * root
            out[2 * k - 1], out[2 * k] = root_k * np.cos(k * step * log), root_k * np.sin(k * step * log)
        return out


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
    signed: ClassVar[bool] = True
    scale: ClassVar[str] = "std"
    word: ClassVar[str] = "additive_gaussian"

    def __post_init__(self) -> None:
        _check_positive("gamma", self.gamma)
        _check_integer("frequencies", self.frequencies, 3, 1000)

    def size(self, n_samples: int) -> int:
        """See Kernel."""
        return 2 * self.frequencies

    def block(self, columns: CscBlock | DenseBlock, inputs: Inputs, size: int) -> Block:
        """See Kernel."""
        return _written(columns, inputs, size, self._numbers)

    def _numbers(self, values: np.ndarray, inputs: Inputs) -> np.ndarray:
        period = PERIOD * self.frequencies
        reach, sigmas = 0.5 * (period - MARGIN), np.sqrt(2.0 * self.gamma) * inputs.factor
        x, zero = (np.clip((v - inputs.centre) * sigmas, -reach, reach) for v in (values, np.zeros_like(values)))
        out = np.empty((2 * self.frequencies, x.size))
        for k in range(1, self.frequencies + 1):
            step = 2.0 * np.pi * k / period
            root = np.sqrt(2.0 * np.sqrt(2.0 * np.pi) / period * np.exp(-0.5 * step * step))
            out[2 * k - 2] = root * (np.cos(step * x) - np.cos(step * zero))
            out[2 * k - 1] = root * (np.sin(step * x) - np.sin(step * zero))
        return out


KERNELS: tuple[type[Kernel], ...] = (Intersection, AdditiveChi2, AdditiveGaussian)
WORDS = ("linear", *(kernel.word for kernel in KERNELS))


def kernel_of(features: Any) -> Kernel | None:
    """The kernel that ``features`` asks for; None for "linear". ValueError for anything else."""
    if isinstance(features, KERNELS):
        return features
    if isinstance(features, str) and features in WORDS:
        return None if features == "linear" else KERNELS[WORDS.index(features) - 1]()
    raise ValueError(
        f"features must be one of {WORDS}, or Intersection(...), AdditiveChi2(...) or AdditiveGaussian(...); got "
        f"{features!r}"
    )


def as_stored(block: Block) -> CscBlock | DenseBlock:
    """Columns as CSC or as an array; copied if they are neither."""
    if isinstance(block, (CscBlock, DenseBlock)):
        return block
    return DenseBlock(block.toarray(), block.workers)


def check_signs(kernel: Kernel, columns: CscBlock | DenseBlock, called: Callable[[int], str]) -> None:
    """Raise InvalidDataError if the kernel does not allow negative values and there are; ``called`` names a column."""
    values = columns.values if isinstance(columns, CscBlock) else columns.native()
    if kernel.signed or not values.size or values.min() >= 0.0:
        return
    if isinstance(columns, CscBlock):
        entry = int(np.argmax(values < 0.0))
        place, row = int(np.searchsorted(columns.indptr, entry, side="right")) - 1, int(columns.indices[entry])
        value = float(values[entry])
    else:
        place = int(np.argmax((values < 0.0).any(axis=0)))
        row = int(np.argmax(values[:, place] < 0.0))
        value = float(values[row, place])
    raise InvalidDataError(
        f'column {called(place)} of X has the value {value:g} in row {row}, but features="{kernel.word}" is for values '
        'that are not negative: shift the column, or use features="additive_gaussian"'
    )


def _entries(columns: CscBlock | DenseBlock) -> tuple[int, np.ndarray, np.ndarray, np.ndarray]:
    """(rows, indptr, indices, values) of stored columns; of an array all entries."""
    n, m = columns.shape
    if isinstance(columns, CscBlock):
        return n, columns.indptr, columns.indices, columns.values
    return n, np.arange(m + 1) * n, np.tile(np.arange(n, dtype=index_dtype(n)), m), columns.native().T.ravel()


def _written(
    columns: CscBlock | DenseBlock, inputs: Inputs, size: int, numbers: Callable[[np.ndarray, Inputs], np.ndarray]
) -> Block:
    """The columns that ``numbers(values, inputs of each)`` -> (size, values) makes of each entry, in their storage."""
    (n, m), (_, indptr, indices, values) = columns.shape, _entries(columns)
    lengths = np.diff(indptr)
    made = numbers(values.astype(np.float64), inputs.take(np.repeat(np.arange(m), lengths)))
    if isinstance(columns, DenseBlock):
        return DenseBlock(made.reshape(size, m, n).transpose(1, 0, 2).reshape(m * size, n).T, columns.workers)
    repeated = np.repeat(lengths, size)
    ends = np.cumsum(repeated)
    source = np.repeat(np.repeat(indptr[:-1], size) - ends + repeated, repeated) + np.arange(repeated.sum())
    number = np.repeat(np.tile(np.arange(size), m), repeated)
    arrays = np.concatenate([[0], ends]), indices[source], made[number, source]
    return CscBlock((n, m * size), *arrays, workers=columns.workers)


def _check_integer(name: str, value: Any, least: int, most: int) -> None:
    if not isinstance(value, (int, np.integer)) or isinstance(value, bool) or not least <= value <= most:
        raise ValueError(f"{name} must be an integer from {least} to {most}, got {value!r}")


def _check_positive(name: str, value: Any) -> None:
    real = isinstance(value, (int, float, np.integer, np.floating)) and not isinstance(value, bool)
    if not real or not np.isfinite(value) or value <= 0.0:
        raise ValueError(f"{name} must be a positive number, got {value!r}")
