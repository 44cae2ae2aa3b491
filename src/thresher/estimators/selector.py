"""What every estimator here shares: a linear classifier that is also a selector of columns."""

import narwhals as nw
import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin, TransformerMixin
from sklearn.utils import assert_all_finite, check_array
from sklearn.utils._set_output import (
    _get_output_config,  # the only private name: no public one tells the output wanted
)
from sklearn.utils.validation import check_is_fitted, validate_data

from thresher.data.columns import put_columns, scores, take_columns
from thresher.data.door import checked_sparse
from thresher.errors import InvalidDataError, InvalidDataTypeError

FLOATS = (np.float64, np.float32)
WIDEST = 2**36  # columns that a mask is made for


class SelectorClassifier(ClassifierMixin, TransformerMixin, BaseEstimator):
    """Prediction, transformation and names from ``selection_``, ``classes_`` and ``coef_``, which ``fit`` sets."""

    def decision_function(self, X):
        """Scores: (rows,), positive for ``classes_[1]``; with more than two classes (rows, classes), one for each."""
        X = self._checked(X)
        return scores(X, self.selection_.features, self.selection_.weights, self.selection_.intercept)

    def predict(self, X):
        """The class of each row."""
        found = self.decision_function(X)
        return self.classes_[(found > 0).astype(int) if found.ndim == 1 else found.argmax(axis=1)]

    def _set_selection(self, selection):
        """Fitted attributes that follow from ``selection``; ``n_features_in_`` is known."""
        self.selection_ = selection
        self.coef_, self.intercept_ = self._coefficients(selection)

    def _coefficients(self, selection):
        """(coef_, intercept_) of a selection."""
        weights = selection.weights if selection.weights.ndim == 2 else selection.weights[:, None]
        rows = sparse.csr_array(weights.T)
        rows.eliminate_zeros()
        shape = (weights.shape[1], self._width)
        coefficients = sparse.csr_array((rows.data, selection.features[rows.indices], rows.indptr), shape=shape)
        return coefficients, np.atleast_1d(np.asarray(selection.intercept, dtype=np.float64)).copy()

    @property
    def _width(self):
        """How many columns there are to select from."""
        return self.n_features_in_

    def transform(self, X):
        """The chosen columns of X, in its own storage; a data frame where ``set_output`` asks for one."""
        check_is_fitted(self)
        wanted = _get_output_config("transform", estimator=self)["dense"]
        if wanted != "default" and hasattr(X, "columns"):  # keep each column's own type
            self._checked(X, dtype="numeric")
            frame = nw.from_native(X, eager_only=True)
            return frame[:, self.selection_.features.tolist()].to_native()
        return take_columns(self._checked(X, dtype="numeric"), self.selection_.features)

    def inverse_transform(self, X):
        """A matrix with all columns, zero but for the chosen ones, which are those of X."""
        check_is_fitted(self)
        X = check_array(checked_sparse(X) if sparse.issparse(X) else X, accept_sparse=("csr", "csc"))
        if X.shape[1] != self.selection_.features.size:
            raise InvalidDataError(
                f"X must have {self.selection_.features.size} columns, as transform returns; got shape {X.shape}"
            )
        return put_columns(X, self.selection_.features, self._width)

    def get_support(self, indices=False):
        """A mask over all columns, or the sorted column numbers with ``indices=True``."""
        check_is_fitted(self)
        if indices:
            return self.selection_.features.copy()
        if self._width > WIDEST:
            raise ValueError(f"a mask over {self._width:,} columns does not fit memory: take get_support(indices=True)")
        mask = np.zeros(self._width, dtype=bool)
        mask[self.selection_.features] = True
        return mask

    def get_feature_names_out(self, input_features=None):
        """Names of the chosen columns: of the data frame fitted on, of ``input_features``, or x0, x1, ..."""
        check_is_fitted(self)
        features, own = self.selection_.features, getattr(self, "feature_names_in_", None)
        if input_features is not None:
            input_features = np.asarray(input_features, dtype=object)
            if own is not None and not np.array_equal(own, input_features):
                raise ValueError("input_features is not equal to feature_names_in_")
            if input_features.size != self.n_features_in_:
                raise ValueError(
                    "input_features should have length equal to number of features "
                    f"({self.n_features_in_}), got {input_features.size}"
                )
            own = input_features
        return np.array([f"x{j}" for j in features] if own is None else own[features], dtype=object)

    def checked(self, X):
        """X as ``predict`` looks at it.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n_samples, n_features)
            Data with the columns seen in fit.

        Returns
        -------
        ndarray or sparse matrix
            X in floats, with sound structure, every value finite.
        """
        return self._checked(X)

    def _checked(self, X, dtype=FLOATS):
        check_is_fitted(self)
        X = self._structured(X, reset=False, dtype=dtype)
        assert_all_finite(X.data if sparse.issparse(X) else X, input_name="X")
        return X

    def _structured(self, X, *, reset, dtype=FLOATS, **options):
        """X as a float array or a sound CSR or CSC matrix with the right number of columns, perhaps not finite."""
        if sparse.issparse(X):
            X = checked_sparse(X)
        elif not hasattr(X, "shape") and hasattr(X, "collect"):
            raise InvalidDataTypeError("X is a lazy data frame: call its collect() first")
        return validate_data(
            self, X, reset=reset, dtype=dtype, accept_sparse=("csr", "csc"), ensure_all_finite=False, **options
        )

    def __sklearn_is_fitted__(self):
        return hasattr(self, "selection_")

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags
