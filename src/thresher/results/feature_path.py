"""The protocol that the ``path_`` of every estimator implements."""

from collections.abc import Iterator
from typing import Any, Protocol, runtime_checkable

import numpy as np

from thresher.results.alignment_path import AlignmentPoint
from thresher.results.grid import GridPoint
from thresher.results.selection import Station


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
