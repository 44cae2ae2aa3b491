"""Which coordinates of a weight vector belong together: a column, a column over classes, a group of columns, both."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np


@dataclass(frozen=True, eq=False)
class Layout:
    """Maps coordinates to units. The columns of a unit are adjacent; all columns are repeated for each class.

    A weight vector contains the weights of all columns in the first class, then those in the second, and so on.
    ``sizes`` are the numbers of columns of the units, in order; None: each column is a unit. Weights of units do not
    occur here: columns are divided by their root beforehand (see ``data.units``), so all units are penalised equally.
    """

    sizes: np.ndarray | None = None
    classes: int = 1

    @property
    def is_plain(self) -> bool:
        """Whether each coordinate is a unit of its own."""
        return self.sizes is None and self.classes == 1

    @property
    def starts(self) -> np.ndarray:
        """Index of the first column of each unit; only if there are ``sizes``."""
        sizes = np.asarray(self.sizes)
        return np.cumsum(sizes) - sizes

    def by_class(self, w: np.ndarray) -> np.ndarray:
        """The weights as (classes, columns)."""
        return w.reshape(self.classes, -1)

    def count(self, columns: int) -> int:
        """Number of units that this number of columns has."""
        return columns if self.sizes is None else self.sizes.size

    @cached_property
    def _unit_of_column(self) -> np.ndarray:
        return np.repeat(np.arange(self.starts.size), np.asarray(self.sizes))

    def unit_of(self, columns: np.ndarray) -> np.ndarray:
        """The unit of each of the columns."""
        return columns if self.sizes is None else self._unit_of_column[columns]

    def dots(self, v: np.ndarray, w: np.ndarray) -> np.ndarray:
        """v_g'w_g for each unit g."""
        return self._over_columns(np.einsum("cj,cj->j", self.by_class(v), self.by_class(w)))

    def squares(self, w: np.ndarray) -> np.ndarray:
        """||w_g||^2 for each unit g."""
        return self._over_columns((self.by_class(w) ** 2).sum(axis=0))

    def lengths(self, w: np.ndarray) -> np.ndarray:
        """||w_g|| for each unit g."""
        return np.abs(w) if self.is_plain else np.sqrt(self.dots(w, w))

    def spread(self, values: np.ndarray) -> np.ndarray:
        """One value per unit as one per coordinate."""
        return np.tile(values if self.sizes is None else np.repeat(values, self.sizes), self.classes)

    def first(self, values: np.ndarray) -> np.ndarray:
        """The value at the first coordinate of each unit: the inverse of ``spread``."""
        return self.by_class(values)[0][... if self.sizes is None else self.starts]

    def columns(self, units: np.ndarray) -> np.ndarray:
        """Positions of the columns of ``units``, unit after unit."""
        if self.sizes is None:
            return units
        sizes = self.sizes[units]
        within = np.arange(sizes.sum()) - np.repeat(np.cumsum(sizes) - sizes, sizes)
        return np.repeat(self.starts[units], sizes) + within

    def take(self, units: np.ndarray) -> "Layout":
        """The layout of some of the units, in that order."""
        return Layout(None if self.sizes is None else self.sizes[units], self.classes)

    def joined(self, sizes: np.ndarray | None) -> "Layout":
        """The layout with further units of these sizes appended; None: one column each."""
        if self.sizes is None or sizes is None:
            return self
        return Layout(np.concatenate([self.sizes, sizes]), self.classes)

    def _over_columns(self, values: np.ndarray) -> np.ndarray:
        if self.sizes is None:
            return values
        return np.add.reduceat(values, self.starts) if self.sizes.size else np.zeros(0)


PLAIN = Layout()
