"""The maps of additive kernels: phi(x)'phi(z) is the kernel, or near it.

Each input column becomes D numbers, phi(x) - phi(0), so that zeros stay zero in every storage; with an intercept that
is the same problem as phi(x). docs/theory/structured.md has the maps and their errors.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from thresher.data.blocks.base import Block
from thresher.data.blocks.compressed import CscBlock
from thresher.data.blocks.dense import DenseBlock
from thresher.errors import InvalidDataError
from thresher.features.additive.spec import STEPS, AdditiveChi2, AdditiveGaussian, Intersection, Kernel
from thresher.features.additive.step_encoding import thermometer

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


class Maps(ABC):
    """The maps of ``kernel``."""

    dense: bool = True  # whether blocks write all numbers down

    kernel: Kernel

    @abstractmethod
    def size(self, n_samples: int) -> int:
        """Numbers of an input, D, after a fit on so many samples."""

    def sizes(self) -> range:
        """All that ``size`` can be."""
        return range(self.size(2), self.size(2) + 1)

    @abstractmethod
    def block(self, columns: Block, inputs: Inputs, size: int) -> Block:
        """The ``size`` numbers of each of ``columns``, raw values, input after input."""

    def learns(self, n_samples: int) -> bool:
        """Whether the maps need values of the training data besides its statistics: see ``learnt``."""
        return False

    def learnt(self, columns: Block, inputs: Inputs) -> Inputs:
        """``inputs`` with what their maps take from the values of the training data; here nothing."""
        return inputs

    def scale_for(self, scale: str | None) -> str | None:
        """The scale that a fit uses, given the one asked for; ValueError if the kernel does not allow it."""
        if scale == "std" and not self.kernel.signed:
            raise ValueError(
                f'features="{self.kernel.word}" needs values that are not negative, but scale="std" centres them; use '
                'scale="auto", which means "max" here, "unit" or None'
            )
        return self.kernel.scale if scale == "auto" else scale


class IntersectionMaps(Maps):
    """See Intersection. A number is the root of a step, where the value is above it."""

    dense = False

    def __init__(self, kernel: Intersection):
        self.kernel: Intersection = kernel

    def size(self, n_samples: int) -> int:
        """See Maps."""
        return max(1, min(self.kernel.levels, n_samples))

    def sizes(self) -> range:
        """See Maps."""
        return range(1, self.kernel.levels + 1)

    def block(self, columns: Block, inputs: Inputs, size: int) -> Block:
        """See Maps."""
        n_rows, (_, indptr, rows, values) = columns.shape[0], columns.stored_columns(0, columns.shape[1])
        edges = inputs.edges
        if edges is None:
            steps = np.arange(size + 1) / size  # equal ones, once raised to the power
            steps = steps if self.kernel.power == 1.0 else steps ** (1.0 / self.kernel.power)
            edges = np.multiply.outer(inputs.largest * inputs.factor, steps)
        return thermometer(n_rows, indptr, rows, values, inputs.factor, edges, self.kernel.power, columns.workers)

    def learns(self, n_samples: int) -> bool:
        """See Maps."""
        return n_samples <= self.kernel.levels

    def learnt(self, columns: Block, inputs: Inputs) -> Inputs:
        """See Maps: edges at the values of the training data, where there are few samples."""
        values = columns.toarray().T
        np.minimum(values, inputs.largest[:, None], out=values)  # rows of weight zero may have larger ones
        on_scale = np.sort(values * inputs.factor[:, None], axis=1)
        edges = np.concatenate([np.zeros((values.shape[0], 1)), on_scale], axis=1)
        return Inputs(inputs.factor, inputs.centre, inputs.largest, edges)


class Chi2Maps(Maps):
    """See AdditiveChi2."""

    def __init__(self, kernel: AdditiveChi2):
        self.kernel: AdditiveChi2 = kernel

    def size(self, n_samples: int) -> int:
        """See Maps."""
        return 2 * self.kernel.order + 1

    def block(self, columns: Block, inputs: Inputs, size: int) -> Block:
        """See Maps."""
        return _written(columns, inputs, size, self._numbers)

    def _numbers(self, values: np.ndarray, inputs: Inputs, at: np.ndarray) -> np.ndarray:
        x = np.minimum(values, inputs.largest[at]) * inputs.factor[at]
        there, step = x > 0.0, STEPS[self.kernel.order]
        log = np.log(x, out=np.zeros_like(x), where=there)
        out, root = np.empty((2 * self.kernel.order + 1, x.size)), np.sqrt(np.where(there, x, 0.0))
        out[0] = np.sqrt(step) * root
        for k, (cos, sin) in enumerate(_waves(step * log, self.kernel.order), 1):
            length = np.sqrt(2.0 * step / np.cosh(np.pi * k * step)) * root
            np.multiply(length, cos, out=out[2 * k - 1])
            np.multiply(length, sin, out=out[2 * k])
        return out


class GaussianMaps(Maps):
    """See AdditiveGaussian."""

    def __init__(self, kernel: AdditiveGaussian):
        self.kernel: AdditiveGaussian = kernel

    def size(self, n_samples: int) -> int:
        """See Maps."""
        return 2 * self.kernel.frequencies

    def block(self, columns: Block, inputs: Inputs, size: int) -> Block:
        """See Maps."""
        return _written(columns, inputs, size, self._numbers)

    def _numbers(self, values: np.ndarray, inputs: Inputs, at: np.ndarray) -> np.ndarray:
        zero = self._uncentred(np.zeros(inputs.factor.size), inputs, np.arange(inputs.factor.size))
        out = self._uncentred(values, inputs, at)
        out -= zero[:, at]
        return out

    def _uncentred(self, values: np.ndarray, inputs: Inputs, at: np.ndarray) -> np.ndarray:
        """phi(x)."""
        count, period = self.kernel.frequencies, PERIOD * self.kernel.frequencies
        reach, sigmas = 0.5 * (period - MARGIN), np.sqrt(2.0 * self.kernel.gamma) * inputs.factor
        x = np.clip((values - inputs.centre[at]) * sigmas[at], -reach, reach)
        out, step = np.empty((2 * count, x.size)), 2.0 * np.pi / period
        for k, (cos, sin) in enumerate(_waves(step * x, count), 1):
            length = np.sqrt(2.0 * np.sqrt(2.0 * np.pi) / period * np.exp(-0.5 * (k * step) ** 2))
            np.multiply(length, cos, out=out[2 * k - 2])
            np.multiply(length, sin, out=out[2 * k - 1])
        return out


def maps_of(kernel: Kernel) -> Maps:
    """The maps of a kernel."""
    if isinstance(kernel, Intersection):
        return IntersectionMaps(kernel)
    if isinstance(kernel, AdditiveChi2):
        return Chi2Maps(kernel)
    if isinstance(kernel, AdditiveGaussian):
        return GaussianMaps(kernel)
    raise TypeError(f"{type(kernel).__name__} has no maps")


def check_signs(kernel: Kernel, columns: Block, called: Callable[[int], str]) -> None:
    """Raise InvalidDataError if the kernel does not allow negative values and there are; ``called`` names a column."""
    if kernel.signed:
        return
    _, indptr, rows, values = columns.stored_columns(0, columns.shape[1])
    if values.min(initial=0.0) >= 0.0:
        return
    entry = int(np.argmax(values < 0.0))
    place = int(np.searchsorted(indptr, entry, side="right")) - 1
    raise InvalidDataError(
        f"Negative values in data: column {called(place)} of X has the value {values[entry]:g} in row {rows[entry]}, "
        f'but features="{kernel.word}" is for values that are not negative: shift the column, or use '
        'features="additive_gaussian"'
    )


def _waves(angle: np.ndarray, count: int) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """(cos k angle, sin k angle) for k = 1 to ``count``, by turning on: several times faster than the functions."""
    first, now = np.exp(1j * angle), np.ones(angle.size, dtype=complex)
    for _ in range(count):
        now *= first
        yield now.real, now.imag


def _written(
    columns: Block, inputs: Inputs, size: int,
    numbers: Callable[[np.ndarray, Inputs, np.ndarray], np.ndarray],
) -> Block:  # fmt: skip
    """The columns that ``numbers(values, inputs, input of each)`` -> (size, values) makes of the entries."""
    n, m = columns.shape
    stored = columns.stored_columns(0, m)
    made = numbers(stored.values.astype(np.float64), inputs, stored.columns)
    if not columns.sparse:
        return DenseBlock(made.reshape(size, m, n).transpose(1, 0, 2).reshape(m * size, n).T, columns.workers)
    repeated = np.repeat(np.diff(stored.indptr), size)
    ends = np.cumsum(repeated)
    source = np.repeat(np.repeat(stored.indptr[:-1], size) - ends + repeated, repeated) + np.arange(repeated.sum())
    number = np.repeat(np.tile(np.arange(size), m), repeated)
    arrays = np.concatenate([[0], ends]), stored.rows[source], made[number, source]
    return CscBlock((n, m * size), *arrays, workers=columns.workers)
