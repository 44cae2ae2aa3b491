"""A linear classifier over a feature space."""

import numpy as np
from scipy.special import expit
from sklearn.base import ClassifierMixin

from thresher.estimators.shared.base import FeatureEstimator, MatrixLike
from thresher.results import Selection, sparse_rows
from thresher.results.weights import SparseRows
from thresher.targets.classes import ClassLabels


class LinearClassifier(ClassifierMixin, FeatureEstimator):
    """Decision function and predictions from ``selection_`` and ``classes_``, which ``fit`` sets."""

    classes_: np.ndarray
    coef_: SparseRows
    intercept_: np.ndarray

    def decision_function(self, X: MatrixLike) -> np.ndarray:
        """Confidence scores of the samples.

        Parameters
        ----------
        X : array, sparse matrix, data frame or Design of shape (n_samples, n_features)
            Samples. Features that are not selected may contain NaN and infinity.

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_classes)
            In the binary case positive scores mean ``classes_[1]``; with more classes one score per class.
        """
        X, selection, space = self._checked(X), self.selection_, self.fitted_features_
        with np.errstate(invalid="ignore"):  # infinity minus infinity, which is refused below
            scores = space.scores(X, selection.features, selection.weights, selection.intercept)
        # a value that is not finite shows in the scores, unless BLAS leaves out what has weight zero
        if not (np.isfinite(scores).all() and selection.weighted.all()):
            self._check_selected(space.input_columns(X, space.inputs(selection.features)))
        return scores

    def predict(self, X: MatrixLike) -> np.ndarray:
        """Class labels of the samples.

        Parameters
        ----------
        X : array, sparse matrix, data frame or Design of shape (n_samples, n_features)
            Samples. Features that are not selected may contain NaN and infinity.

        Returns
        -------
        ndarray of shape (n_samples,)
            The predicted classes.
        """
        scores = self.decision_function(X)
        return ClassLabels(self.classes_).predict(scores)

    def _set_selection(self, selection: Selection) -> None:
        """Fitted attributes that follow from ``selection``; ``n_features_in_`` is known."""
        self.selection_ = selection
        self.coef_, self.intercept_ = self._coefficients(selection)

    def _coefficients(self, selection: Selection) -> tuple[SparseRows, np.ndarray]:
        """(coef_, intercept_) of a selection."""
        coefficients = sparse_rows(selection.features, selection.weights, self.fitted_features_.width)
        return coefficients, np.atleast_1d(np.asarray(selection.intercept, dtype=np.float64)).copy()


def probabilities(scores: np.ndarray) -> np.ndarray:
    """Class probabilities (samples, classes) of a logistic model with scores (samples,) or (samples, classes)."""
    positive = expit(scores)
    if positive.ndim == 1:
        return np.column_stack([1.0 - positive, positive])
    total = positive.sum(axis=1, keepdims=True)
    return np.divide(positive, total, out=np.full_like(positive, 1.0 / positive.shape[1]), where=total > 0.0)
