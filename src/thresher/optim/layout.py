"""Which coordinates of a weight vector belong together: a column, a column over classes, a group of columns, both."""

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True, eq=False)
class Layout:
    """Coordinates to units. The columns of a unit lie side by side; all columns are there once for each class.

    A weight vector holds the weights of all columns in the first class, then those in the second, and so on. ``sizes``
    are the numbers of columns of the units, in order; None: each column is a unit. Weights of units are not known
    here: their columns come divided by the root of them (see ``data.units``), so that every unit is charged alike.
    """

    sizes: np.ndarray | None = None
    classes: int = 1

    @property
    def is_plain(self) -> bool:
        """Whether each coordinate is a unit of its own."""
        return self.sizes is None and self.classes == 1

    @property
    def starts(self) -> np.ndarray:
        """Where each unit begins among the columns; only where there are ``sizes``."""
        if self.sizes is None:
            raise ValueError("each column is a unit of its own: there are no sizes")
        return np.cumsum(self.sizes) - self.sizes

    def by_class(self, w: np.ndarray) -> np.ndarray:
        """The weights as (classes, columns)."""
        return w.reshape(self.classes, -1)

    def count(self, columns: int) -> int:
        """How many units so many columns are."""
        return columns if self.sizes is None else self.sizes.size

    def unit_of(self, columns: int) -> np.ndarray:
        """The unit of each of the columns."""
        return np.arange(columns) if self.sizes is None else np.repeat(np.arange(self.sizes.size), self.sizes)

    def dots(self, v: np.ndarray, w: np.ndarray) -> np.ndarray:
        """v_g'w_g for each unit g."""
        return self._over_columns(np.einsum("cj,cj->j", self.by_class(v), self.by_class(w)))

    def squares(self, w: np.ndarray) -> np.ndarray:
        """||w_g||^2 for each unit g."""
        return self._over_columns((self.by_class(w) ** 2).sum(axis=0))

    def lengths(self, w: np.ndarray) -> np.ndarray:
        """||w_g|| for each unit g."""
        return np.abs(w) if self.is_plain else np.sqrt(self.dots(w, w))

    def spread(self, numbers: np.ndarray) -> np.ndarray:
        """One number for each unit as one for each coordinate."""
        return np.tile(numbers if self.sizes is None else np.repeat(numbers, self.sizes), self.classes)

    def first(self, numbers: np.ndarray) -> np.ndarray:
        """Of numbers for each coordinate that at the first one of each unit: the inverse of ``spread``."""
        own = self.by_class(numbers)[0]
        return own if self.sizes is None else own[self.starts]

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
        """With more units of these sizes; None: of one column each."""
        if self.sizes is None or sizes is None:
            return self
        return Layout(np.concatenate([self.sizes, sizes]), self.classes)

    def _over_columns(self, numbers: np.ndarray) -> np.ndarray:
        if self.sizes is None:
            return numbers
        return np.add.reduceat(numbers, self.starts) if self.sizes.size else np.zeros(0)


PLAIN = Layout()
