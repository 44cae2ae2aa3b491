"""Which features that were not selected could stand in for a selected one."""

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Interchangeable:
    """For each selected feature the others that are correlated with it.

    Parameters
    ----------
    features : ndarray of int64
        The selected features, sorted.
    others : tuple of ndarray of int64
        For each of ``features`` the features that were not selected and are correlated with it, the closest first.
    correlations : tuple of ndarray of float64
        Their correlations, in the same order; negative where one falls as the other rises.
    min_correlation : float
        The smallest |correlation| that was asked for.
    """

    features: np.ndarray
    others: tuple[np.ndarray, ...]
    correlations: tuple[np.ndarray, ...]
    min_correlation: float

    def of(self, feature: int) -> tuple[np.ndarray, np.ndarray]:
        """The features that are interchangeable with one that was selected.

        Parameters
        ----------
        feature : int
            A selected feature.

        Returns
        -------
        others : ndarray of int64
            The features, the closest first.
        correlations : ndarray of float64
            Their correlations with ``feature``.

        Raises
        ------
        ValueError
            If the feature was not selected.
        """
        place = int(np.searchsorted(self.features, feature))
        if place == self.features.size or self.features[place] != feature:
            raise ValueError(f"feature {feature!r} was not selected; ``features`` has those that were")
        return self.others[place], self.correlations[place]
