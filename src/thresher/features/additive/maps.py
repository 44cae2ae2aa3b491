"""What the maps of additive kernels share: what they know of columns, and blocks of the numbers that they make."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from thresher.data.blocks.base import Block
from thresher.data.blocks.compressed import CscBlock
from thresher.data.blocks.dense import DenseBlock
from thresher.errors import InvalidDataError
from thresher.state import need, need_floats, register


@register
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

    def check(self, count: int, size: int) -> None:
        """Raise Damaged unless the fields, which may be of any type, belong to ``count`` maps to ``size`` numbers."""
        need_floats(self.factor, "factor of the inputs", (count,), least=0.0)
        need_floats(self.centre, "centre of the inputs", (count,))
        need_floats(self.largest, "largest of the inputs", (count,), least=0.0)
        if self.edges is not None:
            need_floats(self.edges, "edges of the inputs", (count, size + 1))
            rising = bool((self.edges[:, 0] == 0.0).all() and (np.diff(self.edges, axis=1) >= 0.0).all())
            need(rising, "edges of the inputs must begin at 0 and not decrease")


def check_signs(word: str, columns: Block, called: Callable[[int], str]) -> None:
    """Raise InvalidDataError if there are negative values; ``word`` is the feature map, ``called`` names a column."""
    _, indptr, rows, values = columns.stored_columns(0, columns.shape[1])
    if values.min(initial=0.0) >= 0.0:
        return
    entry = int(np.argmax(values < 0.0))
    place = int(np.searchsorted(indptr, entry, side="right")) - 1
    raise InvalidDataError(
        f"Negative values in data: column {called(place)} of X has the value {values[entry]:g} in row {rows[entry]}, "
        f'but feature_map="{word}" is for values that are not negative: shift the column, or use '
        'feature_map="additive_gaussian"'
    )


def waves(angle: np.ndarray, count: int) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """(cos k angle, sin k angle) for k = 1 to ``count``, by turning on: several times faster than the functions."""
    first, now = np.exp(1j * angle), np.ones(angle.size, dtype=complex)
    for _ in range(count):
        now *= first
        yield now.real, now.imag


def written(
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
