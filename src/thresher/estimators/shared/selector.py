"""What predicts with a linear model of its features, and what selects columns of X."""

from collections.abc import Mapping
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse
from scipy.special import expit
from sklearn.base import ClassifierMixin
from sklearn.utils import check_array
from sklearn.utils._set_output import (
    _get_output_config,  # the only private name: scikit-learn has no public one
)
from sklearn.utils.validation import check_is_fitted

from thresher.data.designs.base import Design
from thresher.data.input.validation import as_design, checked_sparse
from thresher.data.scan.reducers import AtLeast, TopK
from thresher.data.scan.scores import Pearson
from thresher.data.workers import Workers, count_workers
from thresher.errors import InvalidDataError
from thresher.estimators.shared import parameters as check
from thresher.estimators.shared.base import FeatureEstimator, MatrixLike
from thresher.estimators.shared.ranking import RankedInputs
from thresher.features.fitted import FittedFeatures
from thresher.results import Interchangeable, sparse_rows
from thresher.results.weights import SparseRows

COLUMNS_PER_SCAN = 16  # whose correlations one scan computes: their scores must fit into memory, for a piece
CORRELATION_ROUNDING = 1e-9  # by which a correlation may fall short of the bound: equal columns have 1 up to rounding


class ColumnSelector(RankedInputs):
    """Transformer and feature names from ``selection_``, which ``fit`` sets."""

    def transform(self, X: MatrixLike) -> Any:
        """The selected features of X.

        Parameters
        ----------
        X : array, sparse matrix, data frame or Design of shape (n_samples, n_features)
            Samples. Features that are not selected may contain NaN and infinity; of a data frame like that of ``fit``
            the selected columns are enough, in any order, with or without others. Only where it has exactly those of
            ``fit`` must their order be the same.

        Returns
        -------
        array, sparse matrix or data frame of shape (n_samples, n_selected_features)
            In the storage and dtype of X; a data frame if ``set_output`` requests one.
        """
        check_is_fitted(self)
        container = _get_output_config("transform", estimator=self)["dense"]
        space, features = self.fitted_features_, self._selected_inputs
        if not space.copies:
            return space.output(self._checked(X, needed=features), self.selection_.features)
        columns = space.input_columns(self._checked(X, dtype="numeric", needed=features), features)
        self._check_selected(columns)
        if container != "default" and hasattr(X, "columns") and space.strict:  # keep each column's own type
            names = getattr(self, "feature_names_in_", None)
            which = features.tolist() if names is None else names[features].tolist()
            return nw.from_native(X, eager_only=True)[:, which].to_native()
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
        return self._selected_inputs.copy() if indices else self.support_

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
        label = self.fitted_features_.column_name if names is None else names.__getitem__
        return np.array(self.fitted_features_.output_names(self.selection_.features, label), dtype=object)

    def interchangeable(
        self, X: MatrixLike, min_correlation: float = 0.99, sample_weight: ArrayLike | None = None
    ) -> Interchangeable:
        """The features that were not selected and are strongly correlated with a selected one.

        A selection of few features takes one of several that say the same. Cost: one pass over X for every 16 selected
        features; where none is found one more, for the largest correlation that there is.

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
            ``of("GENE00202")`` returns the other features, by name, and their correlations, the closest first;
            ``modules`` are the sets of features that stand for each other; ``closest`` is the largest correlation where
            none reaches ``min_correlation``.
        """
        bound = check.as_positive("min_correlation", min_correlation)
        check.ensure(bound <= 1.0, f"min_correlation must be at most 1, got {min_correlation!r}")
        X = self._checked(X)
        check.ensure(
            self.fitted_features_.strict,
            "interchangeable needs a fixed set of columns: it is not available for hashed or open-ended features",
        )
        weights = check.sample_weights(sample_weight, X.shape[0])
        with Workers(count_workers(getattr(self, "n_jobs", 1))) as workers:
            design = as_design(X, workers, keep=self._selected_inputs)
            return correlated_columns(design, self._selected_inputs, weights, bound, self.fitted_features_)


class LinearClassifier(ClassifierMixin, FeatureEstimator):
    """Decision function and predictions from ``selection_`` and ``classes_``, which ``fit`` sets."""

    def decision_function(self, X: MatrixLike) -> np.ndarray:
        """Confidence scores of the samples.

        Parameters
        ----------
        X : array, sparse matrix, data frame or Design of shape (n_samples, n_features)
            Samples. Features that are not selected may contain NaN and infinity; of a data frame like that of ``fit``
            the selected columns are enough, in any order, with or without others. Only where it has exactly those of
            ``fit`` must their order be the same.

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_classes)
            In the binary case positive scores mean ``classes_[1]``; with more classes one score per class.
        """
        check_is_fitted(self)
        selection, space = self.selection_, self.fitted_features_
        X = self._checked(X, needed=space.inputs(selection.features))
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
            Samples. Features that are not selected may contain NaN and infinity; of a data frame like that of ``fit``
            the selected columns are enough, in any order, with or without others. Only where it has exactly those of
            ``fit`` must their order be the same.

        Returns
        -------
        ndarray of shape (n_samples,)
            The predicted classes.
        """
        scores = self.decision_function(X)
        return self._labels.predict(scores)

    @property
    def coef_(self) -> SparseRows:
        """Weights as a sparse matrix, one row for two classes, else one for each."""
        return sparse_rows(self.selection_.features, self.selection_.weights, self.fitted_features_.width)

    @property
    def intercept_(self) -> np.ndarray:
        """Intercept, one for each row of ``coef_``."""
        return np.atleast_1d(np.array(self.selection_.intercept, dtype=np.float64))


def probabilities(scores: np.ndarray) -> np.ndarray:
    """Class probabilities (samples, classes) of a logistic model with scores (samples,) or (samples, classes)."""
    positive = expit(scores)
    if positive.ndim == 1:
        return np.column_stack([1.0 - positive, positive])
    total = positive.sum(axis=1, keepdims=True)
    return np.divide(positive, total, out=np.full_like(positive, 1.0 / positive.shape[1]), where=total > 0.0)


def correlated_columns(
    design: Design, features: np.ndarray, weights: np.ndarray, min_correlation: float, fitted: FittedFeatures
) -> Interchangeable:
    """The columns of X with |correlation| >= ``min_correlation`` to one of ``features``, which are sorted."""
    block, known = design.take_as_given(features)
    nothing = np.zeros(0, dtype=np.int64)
    others, pairs = [nothing] * features.size, [np.zeros((0, 2), dtype=np.int64)]
    correlations = [np.zeros(0)] * features.size
    scores = {}
    for first in range(0, known.size, COLUMNS_PER_SCAN):
        some = np.arange(first, min(first + COLUMNS_PER_SCAN, known.size))
        scores[first] = score = Pearson(block.take(some).combine(np.eye(some.size)), weights)
        rows, ids, values = design.scan(score, AtLeast(min_correlation - CORRELATION_ROUNDING))
        ids = design.ids_in_X(ids)
        selected = np.isin(ids, features)
        for row, place in enumerate(known[some]):
            own = rows == row
            near = ids[own & selected]
            pairs.append(np.column_stack([np.full(near.size, features[place]), near]))
            own, close = ids[own & ~selected], np.clip(values[own & ~selected], -1.0, 1.0)
            order = np.lexsort((own, -np.abs(close)))
            others[place], correlations[place] = own[order], close[order]
    closest = None
    if not any(ids.size for ids in others):
        closest = closest_pair(design, features[known], scores)
    numbers = np.unique(np.concatenate([features, *others, np.array(closest[:2] if closest else (), dtype=np.int64)]))
    names = None if fitted.column_names is None else {j: fitted.column_name(j) for j in numbers.tolist()}
    both = np.concatenate(pairs)
    both = both[both[:, 0] < both[:, 1]]
    return Interchangeable(features, tuple(others), tuple(correlations), min_correlation, both, closest, names)


def closest_pair(design: Design, features: np.ndarray, scores: Mapping[int, Pearson]) -> tuple[int, int, float] | None:
    """(one of ``features``, another column, their |correlation|) with the largest; ``scores`` by their first place."""
    exclude, best = np.sort(design.ids_here(features)), (0.0, -1, -1)
    for first, score in scores.items():
        for row, (ids, squares) in enumerate(design.scan(score, TopK(1, exclude))):
            if ids.size and squares[0] > best[0]:
                best = float(squares[0]), int(features[first + row]), int(design.ids_in_X(ids)[0])
    return None if best[0] == 0.0 else (best[1], best[2], min(1.0, best[0] ** 0.5))
