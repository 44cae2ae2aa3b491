"""ProvenInactive: which features and samples safe screening has proven to have no influence on a model."""

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True, eq=False, repr=False)
class ProvenInactive:
    """Features and samples that are proven to be inactive at the optimum, in every class: the sets F, R and L of SIFS.

    A bit is kept for each column and for each sample and class, whatever was proven; ids are made when they are asked
    for. Samples of weight zero are in none of the sets.

    Parameters
    ----------
    n_features_in : int
        Number of columns of X.
    n_features, n_samples : int
        How many features and samples are proven to be inactive.
    columns : ndarray of int64 or None
        The columns of X that the solver was given, sorted; all others are empty. None: all columns.
    zero_weight : ndarray of uint8
        Bits: which of the ``columns`` have weight zero.
    off_margin, linear : ndarray of uint8 of shape (n_bytes,) and (n_problems, n_bytes)
        Bits: which samples are off the margin in every class, and on the linear part of the loss in each.
    """

    n_features_in: int
    n_features: int
    n_samples: int
    columns: np.ndarray | None
    zero_weight: np.ndarray
    off_margin: np.ndarray
    linear: np.ndarray

    @property
    def features(self) -> np.ndarray:
        """Features whose weight is zero (F), sorted: int64; n_features_in bytes of memory besides."""
        inactive = np.ones(self.n_features_in, dtype=bool)
        inactive[self.other_features] = False
        return np.flatnonzero(inactive)

    @property
    def other_features(self) -> np.ndarray:
        """All other features, sorted: int64. Of very wide data they are few."""
        size = self.n_features_in if self.columns is None else self.columns.size
        others = np.flatnonzero(np.unpackbits(self.zero_weight, count=size) == 0)
        return others if self.columns is None else self.columns[others]

    @property
    def samples(self) -> np.ndarray:
        """Samples that are off the margin, on either side of it, sorted: int64."""
        return _ids(self.off_margin)

    @property
    def zero_loss(self) -> np.ndarray | list[np.ndarray]:
        """Samples whose loss is zero (R), sorted: int64; with many classes a list, one array for each."""
        return _of_each([_ids(self.off_margin & ~linear) for linear in self.linear])

    @property
    def linear_loss(self) -> np.ndarray | list[np.ndarray]:
        """Samples on the linear part of the loss (L), sorted: int64; with many classes a list, one array for each."""
        return _of_each([_ids(self.off_margin & linear) for linear in self.linear])

    def __repr__(self) -> str:
        return f"ProvenInactive({self.n_features} of {self.n_features_in} features, {self.n_samples} samples)"


def _ids(bits: np.ndarray) -> np.ndarray:
    """The positions of the bits that are set."""
    return np.flatnonzero(np.unpackbits(bits))


def _of_each(classes: list[np.ndarray]) -> np.ndarray | list[np.ndarray]:
    return classes[0] if len(classes) == 1 else classes
