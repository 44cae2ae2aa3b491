"""A classifier of bags of rows over a space of training instances: predictions, and what they are made of."""

import importlib
import warnings
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import TransformerMixin
from sklearn.utils._set_output import (
    _get_output_config,  # as in selector.py: scikit-learn has no public name for it
)
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_consistent_length, check_is_fitted, column_or_1d

from thresher.data.input.validation import check_columns
from thresher.errors import MissingBagsWarning
from thresher.estimators.fgm.base import FGMBase, has_probabilities
from thresher.estimators.shared import parameters as check
from thresher.estimators.shared.base import MatrixLike
from thresher.estimators.shared.linear import probabilities
from thresher.features.fitted import FittedFeatures
from thresher.features.instances.bags import grouped
from thresher.features.instances.design import by_rows
from thresher.features.instances.fitted import BagRows, InstanceFeatures, Prototypes


class BagClassifier(TransformerMixin, FGMBase):
    """Predictions from ``selection_``, which ``fit`` sets."""

    number_parameter = "n_instances_to_select"

    # scikit-learn's metadata routing: bags are asked for without set_fit_request(bags=True) and the like
    __metadata_request__fit: ClassVar = {"bags": True}
    __metadata_request__predict: ClassVar = {"bags": True}
    __metadata_request__predict_proba: ClassVar = {"bags": True}
    __metadata_request__decision_function: ClassVar = {"bags": True}
    __metadata_request__transform: ClassVar = {"bags": True}
    __metadata_request__score: ClassVar = {"bags": True}

    @property
    def prototypes_(self) -> Any:
        """The selected training instances, in the units of X, in the order of ``selection_.features``."""
        check_is_fitted(self)
        return self._prototypes.take(self.selection_.features)

    @property
    def sigma_(self) -> float:
        """The width of the similarity that was used."""
        check_is_fitted(self)
        return self._prototypes.sigma

    def decision_function(self, X: MatrixLike, bags: ArrayLike | None = None) -> np.ndarray:
        """Confidence scores of the bags.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n_rows, n_features)
            Rows of all bags.
        bags : array-like of shape (n_rows,), default=None
            The bag of each row; values need not be those of fit. None: each row is a bag.

        Returns
        -------
        ndarray of shape (n_bags,) or (n_bags, n_classes)
            In the order of ``np.unique(bags)``. In the binary case positive scores mean ``classes_[1]``.
        """
        rows, selection = self._bag_rows(X, bags)[0], self.selection_
        return self._instance_features.scores(rows, selection.features, selection.weights, selection.intercept)

    def predict(self, X: MatrixLike, bags: ArrayLike | None = None) -> np.ndarray:
        """Class labels of the bags.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n_rows, n_features)
            Rows of all bags.
        bags : array-like of shape (n_rows,), default=None
            The bag of each row. None: each row is a bag.

        Returns
        -------
        ndarray of shape (n_bags,)
            The predicted classes, in the order of ``np.unique(bags)``.
        """
        scores = self.decision_function(X, bags)
        return self.classes_[(scores > 0).astype(int) if scores.ndim == 1 else scores.argmax(axis=1)]

    @available_if(has_probabilities)
    def predict_proba(self, X: MatrixLike, bags: ArrayLike | None = None) -> np.ndarray:
        """Class probabilities of the bags, for ``loss="logistic"``.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n_rows, n_features)
            Rows of all bags.
        bags : array-like of shape (n_rows,), default=None
            The bag of each row. None: each row is a bag.

        Returns
        -------
        ndarray of shape (n_bags, n_classes)
            In the order of ``classes_``; with more than two classes normalised so that each row sums to 1.
        """
        return probabilities(self.decision_function(X, bags))

    def predict_instances(self, X: MatrixLike, bags: ArrayLike | None = None) -> np.ndarray:
        """What each row adds to the decision of its bag: over a bag these add up, with the intercept, to the decision.

        The similarity of a bag to a selected instance is attained by one of its rows, of equals the first; that row
        gets weight times similarity.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n_rows, n_features)
            Rows of all bags.
        bags : array-like of shape (n_rows,), default=None
            The bag of each row. None: each row is a bag.

        Returns
        -------
        ndarray of shape (n_rows,) or (n_rows, n_classes)
            In the order of the rows of X.
        """
        rows, selection = self._bag_rows(X, bags)[0], self.selection_
        return self._instance_features.contributions(rows, selection.features, selection.weights)

    def transform(self, X: MatrixLike, bags: ArrayLike | None = None) -> Any:
        """Similarities of the bags to the selected instances.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n_rows, n_features)
            Rows of all bags.
        bags : array-like of shape (n_rows,), default=None
            The bag of each row. None: each row is a bag.

        Returns
        -------
        ndarray or data frame of shape (n_bags, n_selected)
            Bags in the order of ``np.unique(bags)``, which is the index of a pandas data frame; instances in the order
            of ``selection_.ranking``, the most important first, which does not depend on the order of the rows in fit.
        """
        rows, names = self._bag_rows(X, bags)
        similarities = self._instance_features.output(rows, self._ranked)
        if bags is None or _get_output_config("transform", estimator=self)["dense"] != "pandas":
            return similarities
        pandas = importlib.import_module("pandas")  # set_output asked for it, so it is there
        return pandas.DataFrame(similarities, index=pandas.Index(names, name="bag"))

    def get_feature_names_out(self, input_features: ArrayLike | None = None) -> np.ndarray:
        """Names of the columns that ``transform`` returns: "similarity to row 17".

        Parameters
        ----------
        input_features : array-like of str, default=None
            Ignored: similarities have no columns of X.

        Returns
        -------
        ndarray of str of shape (n_selected,)
            One for each selected instance.
        """
        check_is_fitted(self)
        return np.array(self._instance_features.output_names(self._ranked, str), dtype=object)

    def score(
        self, X: MatrixLike, y: ArrayLike, sample_weight: ArrayLike | None = None, bags: ArrayLike | None = None
    ) -> float:
        """Accuracy on bags.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n_rows, n_features)
            Rows of all bags.
        y : array-like of shape (n_rows,)
            Class labels: that of its bag for each row.
        sample_weight : array-like of shape (n_rows,), default=None
            Weights of the bags: that of its bag for each row.
        bags : array-like of shape (n_rows,), default=None
            The bag of each row. None: each row is a bag.

        Returns
        -------
        float
            Share of the bags, by weight, whose label is predicted.
        """
        labels = column_or_1d(y)
        check_consistent_length(X, labels)
        own = grouped(bags, labels.size)
        weights = own.each("sample_weight", check.sample_weights(sample_weight, labels.size))
        return float(np.average(self.predict(X, bags) == own.each("y", labels), weights=weights))

    def _takes(self, fitted: FittedFeatures | None) -> bool:
        return isinstance(fitted, InstanceFeatures)

    @property
    def _ranked(self) -> np.ndarray:
        """The selected instances, the most important first."""
        return self.selection_.features[self.selection_.ranking]

    @property
    def _prototypes(self) -> Prototypes:
        """The training instances that models on the path use."""
        return self._instance_features.prototypes

    @property
    def _instance_features(self) -> InstanceFeatures:
        fitted: Any = self.selection_.fitted_features
        return fitted

    def _bag_rows(self, X: MatrixLike, bags: ArrayLike | None) -> tuple[BagRows, np.ndarray]:
        """(the rows of X, checked, with their bags, what the bags are called)."""
        X = by_rows(self._checked(X))
        n_bags = self._prototypes.n_bags
        if bags is None and n_bags is not None and n_bags < self._prototypes.n_rows:  # hardly ever meant
            message = (
                f"the model was fitted to {n_bags} bags, but no bags are given here, so each row counts as one. Pass "
                "bags=, in cross-validation with sklearn.set_config(enable_metadata_routing=True); if rows are meant, "
                "bags=np.arange(len(X))"
            )
            warnings.warn(message, MissingBagsWarning, stacklevel=3)
        own = grouped(bags, X.shape[0])
        check_columns(X, self._instance_features.shown_name)
        return BagRows(X, own.bags), own.names

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags
