"""What every ``path_`` has, whatever the family."""

from typing import Any, Protocol, runtime_checkable

import numpy as np

from thresher.results.grid import GridPoint
from thresher.results.selection import Station


@runtime_checkable
class FeaturePath(Protocol):
    """The models of one fit, from few features to many: ``Path`` and ``Grid`` are such."""

    def __len__(self) -> int:
        """Number of models."""

    @property
    def n_features(self) -> np.ndarray:
        """Number of features of each model, int64: ``features.size`` of what ``at`` gives; ``len`` entries in all."""

    def at(self, *args: Any) -> Station | GridPoint:
        """One of the models.

        Parameters
        ----------
        *args : int
            Which one: of a Path a number of features, of a Grid the places of beta and alpha.

        Returns
        -------
        Station or GridPoint
            With ``features``, ``weights``, ``intercept`` and ``objective``.
        """
