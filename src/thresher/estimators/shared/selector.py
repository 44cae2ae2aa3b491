"""A selector of features, and the linear classifier that is one."""

from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse
from sklearn.base import TransformerMixin
from sklearn.utils import check_array
from sklearn.utils._set_output import (
    _get_output_config,  # the only private name: scikit-learn has no public one
)
from sklearn.utils.validation import check_is_fitted

from thresher.data.input.validation import as_design, checked_sparse
from thresher.data.workers import Workers, count_workers
from thresher.errors import InvalidDataError
from thresher.estimators.shared import parameters as check
from thresher.estimators.shared.base import FeatureEstimator, MatrixLike
from thresher.estimators.shared.correlated import interchangeable
from thresher.estimators.shared.linear import LinearClassifier
from thresher.results import Interchangeable
from thresher.results.words import proof

WIDEST_MASK = 2**36  # features


class ColumnSelector(TransformerMixin, FeatureEstimator):
    """Transformer and feature names from ``selection_``, which ``fit`` sets."""

    def transform(self, X: MatrixLike) -> Any:
        """The selected features of X.

        Parameters
        ----------
        X : array, sparse matrix, data frame or Design of shape (n_samples, n_features)
            Samples. Features that are not selected may contain NaN and infinity.

        Returns
        -------
        array, sparse matrix or data frame of shape (n_samples, n_selected_features)
            In the storage and dtype of X; a data frame if ``set_output`` requests one.
        """
        check_is_fitted(self)
        container = _get_output_config("transform", estimator=self)["dense"]
        space, features = self.fitted_features_, self._selected_inputs
        if not space.copies:
            return space.output(self._checked(X), self.selection_.features)
        if container != "default" and hasattr(X, "columns") and space.strict:  # keep each column's own type
            self._check_selected(space.input_columns(self._checked(X, dtype="numeric"), features))
            frame = nw.from_native(X, eager_only=True)
            return frame[:, features.tolist()].to_native()
        columns = space.input_columns(self._checked(X, dtype="numeric"), features)
        self._check_selected(columns)
        return columns

    def inverse_transform(self, X: MatrixLike) -> Any:
        """Reverse the transformation: features that are not selected become zero.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_samples, n_selected_features)
            What ``transform`` returns.

        Returns
        -------
        array or sparse matrix of shape (n_samples, n_features)
            X with columns of zeros inserted for the features that are not selected.
        """
        check_is_fitted(self)
        features = self._selected_inputs
        if not self.fitted_features_.copies:
            return self.fitted_features_.put_back(X, features)
        X = check_array(checked_sparse(X) if sparse.issparse(X) else X, accept_sparse=("csr", "csc"))
        if X.shape[1] != features.size:
            raise InvalidDataError(f"X must have {features.size} columns, as transform returns; got shape {X.shape}")
        return self.fitted_features_.put_back(X, features)

    def get_support(self, indices: bool = False) -> np.ndarray:
        """Mask or integer ids of the selected features.

        Parameters
        ----------
        indices : bool, default=False
            Whether to return the sorted ids of the features instead of a mask.

        Returns
        -------
        ndarray of bool of shape (n_features,), or of int of shape (n_selected_features,)
            The mask or the ids.
        """
        check_is_fitted(self)
        if indices:
            return self._selected_inputs.copy()
        width = self.fitted_features_.n_inputs
        if width > WIDEST_MASK:
            raise ValueError(f"a mask over {width:,} features does not fit in memory: use get_support(indices=True)")
        mask = np.zeros(width, dtype=bool)
        mask[self._selected_inputs] = True
        return mask

    @property
    def _selected_inputs(self) -> np.ndarray:
        """What the selected features are made of: the columns that ``transform`` returns."""
        return self.fitted_features_.inputs(self.selection_.features)

    def get_feature_names_out(self, input_features: ArrayLike | None = None) -> np.ndarray:
        """Names of the selected features.

        Parameters
        ----------
        input_features : array-like of str of shape (n_features_in_,), default=None
            Names of the columns; None: those of the data frame fitted on, or x0, x1, ...

        Returns
        -------
        ndarray of str of shape (n_selected_features,)
            One for each column that ``transform`` returns.
        """
        check_is_fitted(self)
        names = getattr(self, "feature_names_in_", None)
        if input_features is not None:
            given = np.asarray(input_features, dtype=object)
            if names is not None and not np.array_equal(names, given):
                raise ValueError("input_features is not equal to feature_names_in_")
            if given.size != self.n_features_in_:
                raise ValueError(
                    "input_features should have length equal to number of features "
                    f"({self.n_features_in_}), got {given.size}"
                )
            names = given
        label = "x{}".format if names is None else names.__getitem__
        return np.array(self.fitted_features_.output_names(self.selection_.features, label), dtype=object)

    def interchangeable(
        self, X: MatrixLike, min_correlation: float = 0.99, sample_weight: ArrayLike | None = None
    ) -> Interchangeable:
        """The features that were not selected and are strongly correlated with a selected one.

        A selection of few features takes one of several that say the same. Cost: one pass over X for every 16 selected
        features.

        Parameters
        ----------
        X : array, sparse matrix, data frame or Design of shape (n_samples, n_features)
            Samples, for example those of ``fit``.
        min_correlation : float, default=0.99
            The smallest |correlation| (Pearson) of features that count as interchangeable, above 0 and at most 1, where
            1 means equal up to sign, shift and scale (and rounding).
        sample_weight : array-like of shape (n_samples,), default=None
            Sample weights. None: 1 for each sample.

        Returns
        -------
        Interchangeable
            ``of(feature)`` returns the other features and their correlations, the closest first.
        """
        bound = check.positive("min_correlation", min_correlation)
        if bound > 1.0:
            raise ValueError(f"min_correlation must be at most 1, got {min_correlation!r}")
        X = self._checked(X)
        if not self.fitted_features_.strict:
            raise ValueError(
                "interchangeable needs a fixed set of columns: it is not available for hashed or open-ended features"
            )
        weights = check.sample_weights(sample_weight, X.shape[0])
        with Workers(count_workers(getattr(self, "n_jobs", 1))) as workers:
            design = as_design(X, workers, keep=self._selected_inputs)
            return interchangeable(design, self._selected_inputs, weights, bound)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


class SelectorClassifier(ColumnSelector, LinearClassifier):
    """A linear classifier that is also a selector of its features."""

    def proof(self) -> str:
        """What the certificate of the fit proves, as a sentence. It is about the training data, not about new data.

        Returns
        -------
        str
            How much of the training objective any other model of the same kind could still take off.
        """
        check_is_fitted(self)
        return proof(self.selection_.certificate, self.n_features_in_)
