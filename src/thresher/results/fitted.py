"""What a model of selected features says of them: it asks the FittedFeatures of its fit."""

from typing import Protocol

import numpy as np

from thresher.results.group_labels import GroupLabels
from thresher.results.spread import Spread, WithImportance


class KnownFeatures(Protocol):
    """What results ask of FittedFeatures: see ``thresher.features.FittedFeatures``."""

    @property
    def spread(self) -> Spread | None:
        """Standard deviations of the features; None: not known."""

    @property
    def labels(self) -> GroupLabels | None:
        """Labels of groups of features; None: features are selected one by one."""

    def pairs_of(self, ids: np.ndarray) -> np.ndarray | None:
        """The two columns of X that each feature is made of; None: it is made of one."""


class OfFittedFeatures(WithImportance):
    """The features of a model, or the groups of them, by what is known from the fit."""

    features: np.ndarray
    units: np.ndarray | None
    fitted_features: KnownFeatures | None

    @property
    def spread(self) -> Spread | None:  # type: ignore[override]  # of GridPoint it is a field
        """Standard deviations of the features on the path over the training samples; None: not known."""
        return None if self.fitted_features is None else self.fitted_features.spread

    @property
    def labels(self) -> GroupLabels | None:
        """Labels of the groups on the path; None: features were selected one by one."""
        return None if self.fitted_features is None else self.fitted_features.labels

    @property
    def noun(self) -> str:
        """What is counted: features, or groups or inputs of them."""
        return "feature" if self.units is None else "group" if self.labels is None else self.labels.noun

    @property
    def groups(self) -> np.ndarray | None:
        """Labels of the selected groups; None where features were selected one by one."""
        if self.units is None:
            return None
        return self.units.copy() if self.labels is None else self.labels.of(self.units)

    @property
    def pairs(self) -> np.ndarray | None:
        """(n_features, 2): columns i <= j of each product, (i, -1) of a linear term; None: features are no products."""
        return None if self.fitted_features is None else self.fitted_features.pairs_of(self.features)
