"""MILESClassifier: bags of instances, of which a few training instances are selected."""

from collections.abc import Callable
from typing import Any, Self

from numpy.typing import ArrayLike

from thresher.estimators.miles.bag_classifier import BagClassifier
from thresher.estimators.shared.base import MatrixLike
from thresher.features.base import FeatureMap
from thresher.features.instances.spec import BagSimilarity
from thresher.optim.measures.base import Measure
from thresher.optim.problems.loss import Loss


class MILESClassifier(BagClassifier):
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
        bags, together with C if that is "auto".
    C : float or "auto", default=None
        Weight of the loss relative to the penalty. None: 1, with a measure 1e6 divided by the number of bags. "auto":
        chosen from 0.01, 0.1, 1, 10 and 100 times that by cross-validation over bags.
    cv : int, splitter or iterable of (train, test), default=5
        Cross-validation folds of bags, in the order of ``np.unique(bags)``, for the choice of sigma and C. Instances of
        bags that are held out are not candidates.
    scoring : str or callable, default=None
        What sigma and C are chosen by, as in scikit-learn. None: accuracy, or the measure that is the loss.
    loss : str, Loss or Measure, default="squared_hinge"
        Loss function, of bags, as in ``FGMClassifier``: "squared_hinge", "logistic", or a measure such as "f1".
    per_class : bool, default=False
        With more than two classes: whether each class has the requested number of instances of its own.
    elimination : bool, default=True
        Whether more instances than requested are gathered and eliminated, as in ``FGMClassifier``.
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
        each sigma that is tried; half of the time is for the choice of sigma and C.
    scale : {"auto", "std", "max", "unit", None}, default="std"
        How the columns of X are scaled before distances are measured: as in ``FGMClassifier``. A sparse X is scaled,
        not centred, which distances do not depend on. With "std", columns that are constant in fit do not count.
        Similarities are not scaled.
    class_weight : dict or "balanced", default=None
        Class weights, multiplied with the weights of the bags.
    warm_start : bool, default=False
        Start from the instances and weights of the last fit, as far as equal rows are in X.
    n_jobs : int, default=None
        Number of threads. None: as many as are worthwhile, at most all cores available to the process; -1: all of
        these, -2: all but one. The result does not depend on it.
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
    path_ : Path
        Models with other numbers of instances; ``at(number)`` returns the classifier of one.
    coef_ : csr_array of shape (1, n_rows) or (n_classes, n_rows)
        Weights, by row of the training data, as a sparse matrix.
    intercept_ : ndarray of shape (1,) or (n_classes,)
        Intercept, which is always fitted.
    classes_ : ndarray of shape (n_classes,)
        Class labels. In the binary case positive scores mean ``classes_[1]``.
    sigma_, C_ : float
        The values used.
    cv_results_ : dict
        If sigma or C was chosen: the values tried and their scores on the bags held out, under the keys of
        scikit-learn's ``GridSearchCV``. The best mean is not an estimate for new bags, since the same folds chose.
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
    >>> clf = MILESClassifier(1, sigma=0.5).fit(X, y, bags=bags)
    >>> clf.prototypes_, clf.predict([[8.9], [0.4]], bags=[5, 5])
    (array([[9.3]]), array([1]))
    >>> clf.predict_instances([[8.9], [0.4]], bags=[5, 5]).round(1)
    array([1., 0.])
    """

    def __init__(
        self, n_instances_to_select: float | None = None, *, sigma: float | str = "auto",
        C: float | str | None = None, cv: Any = 5, scoring: str | Callable[..., Any] | None = None,
        loss: str | Loss | Measure = "squared_hinge", per_class: bool = False, elimination: bool = True,
        n_candidates: float | str = "auto", features_per_turn: int | str = "auto", tol: float = 1e-3,
        max_iter: int = 100, max_time: float | None = None, scale: str | None = "std",
        class_weight: dict | str | None = None, warm_start: bool = False, n_jobs: int | None = None,
        verbose: int | Callable[..., Any] = 0,
    ):  # fmt: skip
        self.n_instances_to_select = n_instances_to_select
        self.sigma = sigma
        self.C = C
        self.cv = cv
        self.scoring = scoring
        self.loss = loss
        self.per_class = per_class
        self.elimination = elimination
        self.n_candidates = n_candidates
        self.features_per_turn = features_per_turn
        self.tol = tol
        self.max_iter = max_iter
        self.max_time = max_time
        self.scale = scale
        self.class_weight = class_weight
        self.warm_start = warm_start
        self.n_jobs = n_jobs
        self.verbose = verbose

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
        return self._fit(X, y, sample_weight, bags)

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
    def _noun(self) -> str:
        return "instance"

    def _settings(self) -> str:
        return f"sigma = {self.sigma_:g}; {super()._settings()}"

    def _own_facts(self) -> dict[str, Any]:
        own = {"sigma": self.sigma_, "n_candidates": self.fitted_features_.n_candidates}
        return super()._own_facts() | own

    def _feature_map(self) -> FeatureMap:
        return BagSimilarity(self.sigma)
