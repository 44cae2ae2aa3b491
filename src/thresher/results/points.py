"""The models of one fit with different numbers of features: their protocol, points of paths and grids."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Protocol, runtime_checkable

import numpy as np

from thresher.results.known import Spread, WithImportance
from thresher.results.selection import Station


@dataclass(frozen=True, eq=False)
class AlignmentPoint:
    """A point of an AlignmentPath.

    Parameters
    ----------
    p : float
        The norm.
    features : ndarray of int64
        The features whose kernels have a weight, sorted.
    weights : ndarray of shape (n_features,)
        Weights eta of their kernels, all above eps.
    objective : float
        Value of the formulation at these weights.
    deviation_bound : float
        By how much the objective may exceed its minimum, since small weights were set to zero.
    intercept : float, default=0.0
        Always 0: the weights are those of kernels, not of a linear model.
    """

    p: float
    features: np.ndarray
    weights: np.ndarray
    objective: float
    deviation_bound: float
    intercept: float = 0.0


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
        return np.flatnonzero(np.unpackbits(self.off_margin))

    @property
    def zero_loss(self) -> np.ndarray | list[np.ndarray]:
        """Samples whose loss is zero (R), sorted: int64; with many classes a list, one array for each."""
        return self._per_class(~self.linear)

    @property
    def linear_loss(self) -> np.ndarray | list[np.ndarray]:
        """Samples on the linear part of the loss (L), sorted: int64; with many classes a list, one array for each."""
        return self._per_class(self.linear)

    def _per_class(self, bits: np.ndarray) -> np.ndarray | list[np.ndarray]:
        """Those of the samples off the margin whose bits are set: for each class, without a list if there is one."""
        classes = [np.flatnonzero(np.unpackbits(of_class)) for of_class in self.off_margin & bits]
        return classes[0] if len(classes) == 1 else classes

    def __repr__(self) -> str:
        return f"ProvenInactive({self.n_features} of {self.n_features_in} features, {self.n_samples} samples)"


@dataclass(frozen=True)
class GridPoint(WithImportance):
    """The model at one point of a grid.

    Parameters
    ----------
    features : ndarray of int64
        The features, sorted.
    weights : ndarray of shape (n_features,) or (n_features, n_classes)
        Their weights, in the units of X.
    intercept : float or ndarray of shape (n_classes,)
        The intercept.
    alpha : float
        Weight of the squared penalty.
    beta : float
        Weight of the absolute penalty.
    gap : float
        Duality gap as a share of the objective at w = 0.
    objective : float
        The objective.
    spread : Spread, default=None
        Standard deviations of the columns, from which ``importance`` and ``ranking`` follow; None: not known.
    proven_inactive : ProvenInactive, default=None
        Which features and samples were proven to be inactive; None: not known, as in a model that was loaded.
    """

    features: np.ndarray
    weights: np.ndarray
    intercept: float | np.ndarray
    alpha: float
    beta: float
    gap: float
    objective: float
    spread: Spread | None = field(default=None, repr=False)
    proven_inactive: ProvenInactive | None = None


@runtime_checkable
class FeaturePath(Protocol):
    """The models of one fit with different numbers of features: ``Path``, ``Grid`` and ``AlignmentPath``."""

    def __len__(self) -> int:
        """Number of models."""

    @property
    def n_features(self) -> np.ndarray:
        """Number of features of each model, int64: ``features.size`` of what ``at`` returns; ``len`` entries."""

    def feature_sets(self) -> Iterator[np.ndarray]:
        """The features of each model, those of small models first; of a Path elimination comes before growth.

        Returns
        -------
        iterator of ndarray of int64
            Sorted features.
        """

    def at(self, *args: Any) -> Station | GridPoint | AlignmentPoint:
        """One of the models.

        Parameters
        ----------
        *args : int
            Which one: of a Path a number of features, of an AlignmentPath the largest, of a Grid the places of beta and
            alpha.

        Returns
        -------
        Station, GridPoint or AlignmentPoint
            With ``features``, ``weights``, ``intercept`` and ``objective``.
        """
