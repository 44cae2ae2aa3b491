"""MILESClassifier: bags of instances, of which a few training instances are selected."""

import importlib
from collections.abc import Callable
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils._set_output import (
    _get_output_config,  # as in selector.py: scikit-learn has no public name for it
)
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_consistent_length, check_is_fitted, column_or_1d

from thresher.data.input.validation import check_columns
from thresher.errors import MissingBagsWarning, warn
from thresher.estimators.fgm.base import FGMBase, as_number, has_probabilities
from thresher.estimators.shared import MatrixLike, RankedInputs, check, probabilities
from thresher.features.base import FeatureMap
from thresher.features.fitted import FittedFeatures
from thresher.features.instances.bags import grouped
from thresher.features.instances.design import by_rows
from thresher.features.instances.fitted import BagRows, InstanceFeatures
from thresher.features.instances.spec import BagSimilarity
from thresher.optim.measures.base import Measure
from thresher.optim.problems.loss import Loss

X_AND_BAGS = """Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n_rows, n_features)
            Rows of all bags.
        bags : array-like of shape (n_rows,), default=None
            The bag of each row; values need not be those of fit. None: each row is a bag."""


def of_rows_in_bags(method: Any) -> Any:
    """Insert what the docstrings of all methods of (X, bags) say of these."""
    method.__doc__ = (method.__doc__ or "").replace("(X_AND_BAGS)", X_AND_BAGS)
    return method


class MILESClassifier(RankedInputs, FGMBase):
    """Classifier of bags of rows (multiple instance learning) that selects the training instances that explain them.

    A label belongs to a bag, a set of rows (instances). Feature k of a bag is its similarity to training instance k:
    the largest exp(-distance^2 / (2 sigma^2)) over its rows. Of these features, as many as there are different training
    rows, ``FGMClassifier``'s algorithm selects a few, without writing all of them down, and proves how good the
    selection is. What each row of a bag adds to its decision is known (``predict_instances``).

    Parameters
    ----------
    n_instances_to_select : int, float or None, default=None
        Number of training instances to select, or a fraction of the different ones. Exactly this many are selected;
        otherwise a FewerFeaturesWarning states the reason. None: grow until the duality gap is within ``tol``.
    sigma : float, "auto" or "search", default="auto"
        Width of the similarity, on the scale of the columns. "auto": the median distance between different training
        instances, within bags if each bag has two. "search": 0.5, 1 or 2 times that, chosen by cross-validation over
        bags, together with what is "auto".
    C : float, "auto" or None, default="auto"
        Weight of the loss relative to the penalty. None: 1, with a measure 1e6 divided by the number of bags. "auto":
        chosen from 0.01, 0.1, 1 and 10 times that by cross-validation over bags; as None where there is no number of
        instances, or nothing to hold out (``by_rule_``).
    cv : int, splitter or iterable of (train, test), default=None
        Cross-validation folds of bags, which a splitter or an iterable numbers in the order of ``np.unique(bags)``, for
        what is chosen; if nothing is, a warning says that ``cv`` has no effect. An integer: so many, by what
        bags hold, as in ``FGMClassifier``. None: 5, or as many as there can be. Instances of bags that are held out are
        not candidates.
    scoring : str or callable, default=None
        What is chosen by, as in scikit-learn; if nothing is chosen a warning says that it has no effect. None:
        accuracy, or the measure that is the loss.
    loss : str, Loss or Measure, default="squared_hinge"
        Loss function, of bags, as in ``FGMClassifier``: "squared_hinge", "logistic", or a measure such as "f1".
    per_class : bool, default=False
        With more than two classes: whether each class has the requested number of instances of its own.
    elimination : bool, "auto" or None, default="auto"
        Whether more instances than requested are gathered and eliminated, as in ``FGMClassifier``. None: True. "auto":
        chosen by cross-validation over bags, with C if that is "auto".
    n_candidates : int, float or "auto", default="auto"
        Number of instances from which elimination starts, as in ``FGMClassifier``.
    features_per_turn : int or "auto", default="auto"
        Number of instances taken per turn.
    tol : float, default=1e-3
        Duality gap at which a model has converged: (objective - lower_bound) / (objective at w = 0).
    max_iter : int, default=100
        Maximum number of turns.
    max_time : float, default=None
        Time limit in seconds, after which the model found so far is returned. At least one turn is run, and one for
        each sigma that is tried; half of the time is for what is chosen.
    scale : {"auto", "std", "max", "unit", None}, default="std"
        How the columns of X are scaled before distances are measured: as in ``FGMClassifier``. A sparse X is scaled,
        not centred, which distances do not depend on. With "std", columns that are constant in fit do not count.
        Similarities are not scaled.
    class_weight : dict or "balanced", default=None
        Class weights, multiplied with the weights of the bags.
    warm_start : bool, default=False
        Start from the instances and weights of the last fit, as far as equal rows are in X. What is "auto" is chosen
        anew.
    n_jobs : int, default=None
        Number of threads. None: as many as are worthwhile (in scikit-learn: one), at most all cores available to the
        process; -1: all of these, -2: all but one. The result does not depend on it.
    verbose : int or callable, default=0
        1: a progress line on standard error, 2: one line per turn. A callable is called after each turn with the
        ``Turn`` and the number of instances to gather, or None.

    Attributes
    ----------
    selection_ : Selection
        ``features`` (row numbers of the selected training instances, sorted), ``weights`` of the similarities,
        ``importance``, ``stop_reason``, ``certificate``, ``trace``, ``scale``.
    prototypes_ : ndarray or csr_array of shape (n_selected, n_features)
        The selected training instances.
    support_, ranking_ : ndarray of shape (n_rows,)
        Mask of the selected training instances; ranks of all of them, 1 of those that are selected.
    path_ : Path
        Models with other numbers of instances; ``at(number)`` returns the classifier of one.
    coef_ : csr_array of shape (1, n_rows) or (n_classes, n_rows)
        Weights, by row of the training data, as a sparse matrix.
    intercept_ : ndarray of shape (1,) or (n_classes,)
        Intercept, which is always fitted.
    classes_ : ndarray of shape (n_classes,)
        Class labels. In the binary case positive scores mean ``classes_[1]``.
    sigma_, C_, elimination_ : float, float, bool
        The values used, and whether instances were eliminated.
    cv_results_ : dict
        If there was something to choose: what was tried and its scores on the bags held out, under the keys of
        scikit-learn's ``GridSearchCV``. The best mean is not an estimate for new bags, since the same folds chose.
    best_index_, rule_index_, by_rule_ : int, int, str
        As in ``FGMClassifier``.
    n_features_in_, feature_names_in_ : int, ndarray
        Number and, for data frames, names of the columns seen in fit.
    n_iter_ : int
        Number of turns.
    fingerprint_ : dict
        ``rows``, ``columns`` and ``digest`` (hexadecimal) of the data, without the bags.

    Examples
    --------
    >>> import numpy as np
    >>> from thresher import MILESClassifier
    >>> X = np.array([[0.0], [9.0], [0.2], [9.3], [0.5], [1.0], [0.1], [0.7]])
    >>> bags, y = np.repeat([0, 1, 2, 3], 2), np.repeat([1, 1, 0, 0], 2)
    >>> clf = MILESClassifier(1, sigma=0.5, C=1).fit(X, y, bags=bags)
    >>> clf.prototypes_, clf.predict([[8.9], [0.4]], bags=[5, 5])
    (array([[9.3]]), array([1]))
    >>> clf.predict_instances([[8.9], [0.4]], bags=[5, 5]).round(1)
    array([1., 0.])
    """

    number_parameter = "n_instances_to_select"

    # scikit-learn's metadata routing: bags are requested without set_fit_request(bags=True) and the like
    __metadata_request__fit: ClassVar = {"bags": True}
    __metadata_request__predict: ClassVar = {"bags": True}
    __metadata_request__predict_proba: ClassVar = {"bags": True}
    __metadata_request__decision_function: ClassVar = {"bags": True}
    __metadata_request__transform: ClassVar = {"bags": True}
    __metadata_request__score: ClassVar = {"bags": True}

    _checks = FGMBase._checks | {"n_instances_to_select": check.either({None: None}, as_number)}

    def __init__(
        self, n_instances_to_select: float | None = None, *, sigma: float | str = "auto",
        C: float | str | None = "auto", cv: Any = None, scoring: str | Callable[..., Any] | None = None,
        loss: str | Loss | Measure = "squared_hinge", per_class: bool = False, elimination: bool | str | None = "auto",
        n_candidates: float | str = "auto", features_per_turn: int | str = "auto", tol: float = 1e-3,
        max_iter: int = 100, max_time: float | None = None, scale: str | None = "std",
        class_weight: dict | str | None = None, warm_start: bool = False, n_jobs: int | None = None,
        verbose: int | Callable[..., Any] = 0,
    ):  # fmt: skip
        self._store(locals())

    def fit(
        self, X: MatrixLike, y: ArrayLike, sample_weight: ArrayLike | None = None, bags: ArrayLike | None = None
    ) -> Self:
        """Select training instances and fit the model on the similarities to them.

        Cost: each turn computes the distances of all rows to all different rows, unless bags times different rows are
        at most 2^27: then these similarities (1 GiB) are computed once and kept. Memory: X, a scaled copy of it, what
        is kept, and bags x 256 numbers for each piece under way. X is not modified.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n_rows, n_features)
            Rows of all bags, in any order.
        y : array-like of shape (n_rows,)
            Class labels: that of its bag for each row.
        sample_weight : array-like of shape (n_rows,), default=None
            Weights of the bags: that of its bag for each row. None: 1. Rows of weight zero are no candidates.
        bags : array-like of shape (n_rows,), default=None
            The bag of each row: equal values belong together. None: each row is a bag.

        Returns
        -------
        self : MILESClassifier
            The fitted estimator.
        """
        return self._fit(X, y, sample_weight, bags=bags)

    def fit_transform(
        self, X: MatrixLike, y: ArrayLike, sample_weight: ArrayLike | None = None, bags: ArrayLike | None = None
    ) -> Any:
        """Fit, and return the similarities of the bags to the selected instances.

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
        ndarray or data frame of shape (n_bags, n_selected)
            As ``transform`` returns.
        """
        return self.fit(X, y, sample_weight=sample_weight, bags=bags).transform(X, bags=bags)

    @property
    def prototypes_(self) -> Any:
        """The selected training instances, in the units of X, in the order of ``selection_.features``."""
        check_is_fitted(self)
        return self._instance_features.prototypes.take(self.selection_.features)

    @property
    def sigma_(self) -> float:
        """The width of the similarity that was used."""
        check_is_fitted(self)
        return self._instance_features.prototypes.sigma

    @of_rows_in_bags
    def decision_function(self, X: MatrixLike, bags: ArrayLike | None = None) -> np.ndarray:
        """Confidence scores of the bags.

        (X_AND_BAGS)

        Returns
        -------
        ndarray of shape (n_bags,) or (n_bags, n_classes)
            In the order of ``np.unique(bags)``. In the binary case positive scores mean ``classes_[1]``.
        """
        rows, selection = self._bag_rows(X, bags)[0], self.selection_
        return self._instance_features.scores(rows, selection.features, selection.weights, selection.intercept)

    @of_rows_in_bags
    def predict(self, X: MatrixLike, bags: ArrayLike | None = None) -> np.ndarray:
        """Class labels of the bags.

        (X_AND_BAGS)

        Returns
        -------
        ndarray of shape (n_bags,)
            The predicted classes, in the order of ``np.unique(bags)``.
        """
        scores = self.decision_function(X, bags)
        return self._labels.predict(scores)

    @available_if(has_probabilities)
    @of_rows_in_bags
    def predict_proba(self, X: MatrixLike, bags: ArrayLike | None = None) -> np.ndarray:
        """Class probabilities of the bags, for ``loss="logistic"``.

        (X_AND_BAGS)

        Returns
        -------
        ndarray of shape (n_bags, n_classes)
            In the order of ``classes_``; with more than two classes normalised so that each row sums to 1.
        """
        return probabilities(self.decision_function(X, bags))

    @of_rows_in_bags
    def predict_instances(self, X: MatrixLike, bags: ArrayLike | None = None) -> np.ndarray:
        """What each row adds to the decision of its bag: over a bag these add up, with the intercept, to the decision.

        The similarity of a bag to a selected instance is attained by one of its rows, of equals the first; that row
        gets weight times similarity.

        (X_AND_BAGS)

        Returns
        -------
        ndarray of shape (n_rows,) or (n_rows, n_classes)
            In the order of the rows of X.
        """
        rows, selection = self._bag_rows(X, bags)[0], self.selection_
        return self._instance_features.contributions(rows, selection.features, selection.weights)

    @of_rows_in_bags
    def transform(self, X: MatrixLike, bags: ArrayLike | None = None) -> Any:
        """Similarities of the bags to the selected instances.

        (X_AND_BAGS)

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
    def _instance_features(self) -> InstanceFeatures:
        fitted: Any = self.selection_.fitted_features
        return fitted

    def _bag_rows(self, X: MatrixLike, bags: ArrayLike | None) -> tuple[BagRows, np.ndarray]:
        """(the rows of X, checked, with their bags, what the bags are called)."""
        X = by_rows(self._checked(X))
        fitted = self._instance_features.prototypes
        if bags is None and fitted.n_bags is not None and fitted.n_bags < fitted.n_rows:  # hardly ever meant
            message = (
                f"the model was fitted to {fitted.n_bags} bags, but no bags are given here, so each row counts as "
                "one. Pass bags=, in cross-validation with sklearn.set_config(enable_metadata_routing=True); if rows "
                "are meant, bags=np.arange(len(X))"
            )
            warn(message, MissingBagsWarning)
        own = grouped(bags, X.shape[0])
        check_columns(X, self._instance_features.shown_name)
        return BagRows(X, own.bags), own.names

    @property
    def _noun(self) -> str:
        return "instance"

    def _settings(self) -> str:
        return f"sigma = {self.sigma_:g}; {super()._settings()}"

    def _own_facts(self) -> dict[str, Any]:
        own = {"sigma": self.sigma_, "n_candidates": self.fitted_features_.n_candidates}
        return super()._own_facts() | own

    def _feature_map(self) -> FeatureMap:
        return BagSimilarity(self.sigma)
