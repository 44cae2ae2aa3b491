"""Importance: how much a feature matters, whatever the units of its column."""

from dataclasses import dataclass

import numpy as np

from thresher.errors import InconsistentResultError


@dataclass(frozen=True)
class Spread:
    """Standard deviations of some columns of X over the samples of a fit, counted by their weights.

    Parameters
    ----------
    columns : ndarray of int64
        Numbers of the columns, sorted.
    std : ndarray of float64
        Their standard deviations, in the units of X; of a column whose squares overflow, its largest |x|.
    """

    columns: np.ndarray
    std: np.ndarray

    def of(self, features: np.ndarray) -> np.ndarray:
        """Standard deviations of some of the columns.

        Parameters
        ----------
        features : ndarray of int64
            Numbers of columns; each must be one of ``columns``.

        Returns
        -------
        ndarray of float64
            One for each of ``features``.

        Raises
        ------
        InconsistentResultError
            If the standard deviation of a column is not known.
        """
        if not self.covers(features):
            raise InconsistentResultError("the standard deviation of a selected column is missing")
        return self.std[np.searchsorted(self.columns, features)]

    def covers(self, features: np.ndarray) -> bool:
        """Whether the standard deviations of all these columns are known.

        Parameters
        ----------
        features : ndarray of int64
            Numbers of columns.

        Returns
        -------
        bool
            Whether ``of`` accepts them.
        """
        return bool(np.isin(features, self.columns).all())


class WithImportance:
    """What a model of selected features says about how much each of them matters.

    **The importance of a feature is |weight| times the standard deviation of its column**, over the samples of the fit:
    the standard deviation of what the feature adds to the scores. It does not depend on the units of the column, as the
    weight does, nor on the ``scale`` of the fit. With more than two classes |weight| is the Euclidean norm over them. A
    constant column has importance 0: it moves all scores alike.
    """

    features: np.ndarray
    weights: np.ndarray
    spread: Spread | None

    @property
    def importance(self) -> np.ndarray | None:
        """Importance of each feature; None where the columns' standard deviations are not known.

        That is so for streams, which keep no statistics of columns, and for model files of earlier versions.
        """
        return None if self.spread is None else self._lengths * self.spread.of(self.features)

    @property
    def ranking(self) -> np.ndarray:
        """Positions of the features, the most important first; where importance is not known, by |weight|."""
        importance, lengths = self.importance, self._lengths
        return np.lexsort((-lengths,) if importance is None else (-lengths, -importance))

    @property
    def _lengths(self) -> np.ndarray:
        """|weight| of each feature: with more than two classes the norm over them."""
        return np.abs(self.weights) if self.weights.ndim == 1 else np.linalg.norm(self.weights, axis=1)
