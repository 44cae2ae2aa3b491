"""A selection as a data frame of pandas or polars."""

import importlib
from typing import Any

import numpy as np

from thresher.results.known import OfFittedFeatures

LIBRARIES = ("pandas", "polars")


class Tabulated(OfFittedFeatures):
    """A selection that can be a table."""

    classes: np.ndarray | None
    library: str | None

    def to_frame(self, library: str | None = None) -> Any:
        """The selection as a data frame, the most important feature first.

        Parameters
        ----------
        library : {"pandas", "polars"}, default=None
            Whose data frame. None: that of the data frame fitted on, else the first of these that is installed.

        Returns
        -------
        DataFrame
            Columns ``feature`` (names; x0, x1, ... where columns of X have none), ``weight``, ``importance``, ``rank``,
            from 1, and ``class``: the class that the feature favours, by the sign of its weight. Where each class has
            weights, a row for each feature and class. Columns are left out where they would say nothing:
            ``importance`` where it is not known, ``class`` where weights favour none, as those of kernels.

        Raises
        ------
        ImportError
            If the library, or either, is not installed.
        """
        return _data_frame(self._columns(), library, self.library)

    def _columns(self) -> dict[str, np.ndarray]:
        """The columns of the table."""
        order, importance = self.ranking, self.importance
        ids, weights = self.features[order], self.weights[order]
        across = weights.shape[1] if weights.ndim > 1 else 1
        known = {} if importance is None else {"importance": importance[order]}
        columns = {
            "feature": np.array(self._names(ids), dtype=object),
            "weight": weights,
            **known,
            "rank": np.arange(1, ids.size + 1),
        }
        rows = {
            name: np.repeat(values, across) if values.ndim == 1 else values.ravel() for name, values in columns.items()
        }
        return rows if self.classes is None else rows | {"class": favoured(weights, self.classes)}

    def _names(self, ids: np.ndarray) -> list[str]:
        """Names of features."""
        if self.fitted_features is None:
            return [f"x{j}" for j in ids.tolist()]
        return self.fitted_features.names(ids, self.fitted_features.column_name)


def favoured(weights: np.ndarray, classes: np.ndarray) -> np.ndarray:
    """The class of each weight."""
    return np.tile(classes, len(weights)) if weights.ndim > 1 else classes[(weights > 0).astype(int)]


def _data_frame(columns: dict[str, np.ndarray], library: str | None, fitted_on: str | None) -> Any:
    """A data frame of the library, else of that fitted on, else of one that is installed."""
    if library is not None and library not in LIBRARIES:
        raise ValueError(f"library must be None, 'pandas' or 'polars', got {library!r}")
    for name in [library] if library else [fitted_on, *LIBRARIES] if fitted_on else LIBRARIES:
        try:
            return importlib.import_module(str(name)).DataFrame(columns)
        except ImportError:
            continue
    raise ImportError(f"to_frame needs {library or 'pandas or polars'}: pip install {library or 'pandas'}")
