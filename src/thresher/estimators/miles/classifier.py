"""MILESClassifier: bags of rows, classified by how near they come to a few training instances."""

import functools
from collections.abc import Callable
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from thresher.data.designs.base import Design
from thresher.data.designs.units import EachInstance, Units
from thresher.data.workers import ONE_BLAS_THREAD, Workers, count_workers
from thresher.estimators.fgm.fitting import Task, fit_design
from thresher.estimators.fgm.goals import goal_of
from thresher.estimators.fgm.options import options_of
from thresher.estimators.fgm.warm_start import Previous, Starts, largest_model
from thresher.estimators.miles.bag_classifier import BagClassifier
from thresher.estimators.miles.bags import BagSample, bag_sample
from thresher.estimators.miles.widths import RULES, chosen_width, widths
from thresher.estimators.shared import parameters as check
from thresher.estimators.shared.arrange import arranged
from thresher.estimators.shared.base import MatrixLike
from thresher.estimators.shared.folds import CS
from thresher.families.fgm.fit import growth_target
from thresher.features.instances.design import BagDesign, BagDistances, Instances, instances_of, is_centred, rows_of
from thresher.features.instances.space import Prototypes
from thresher.optim.measures.base import Measure
from thresher.optim.problems.loss import Loss
from thresher.results import Selection, Trace


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
    support : {"shared", "per_class"}, default="shared"
        With more than two classes: one set of instances shared by all classes, or the requested number for each class.
    overshoot : float, "auto" or None, default="auto"
        Elimination starts from ``overshoot`` times the requested number of instances, as in ``FGMClassifier``. None:
        growth only.
    loss : str, Loss or Measure, default="squared_hinge"
        Loss function, of bags, as in ``FGMClassifier``: "squared_hinge", "logistic", or a measure such as "f1".
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
    instances_ : Prototypes
        All instances that models on the path use, with the width and the scale of the fit.
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
    sigmas_, Cs_, scores_ : ndarray, ndarray, ndarray of shape (n_folds, n_sigmas, n_values)
        If one was chosen: the values tried, and the accuracy, or the measure that is the loss, on the bags held out.
        The best mean of ``scores_`` is not an estimate for new bags, since the same folds chose.
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

    fit_intercept, debias, inner_tol = True, False, "auto"  # of FGMClassifier, whose other values make no sense here

    def __init__(
        self, n_instances_to_select: float | None = None, *, sigma: float | str = "auto",
        C: float | str | None = None, cv: Any = 5, support: str = "shared", overshoot: float | str | None = "auto",
        loss: str | Loss | Measure = "squared_hinge", features_per_turn: int | str = "auto", tol: float = 1e-3,
        max_iter: int = 100, max_time: float | None = None, scale: str | None = "std",
        class_weight: dict | str | None = None, warm_start: bool = False, n_jobs: int | None = None,
        verbose: int | Callable[..., Any] = 0,
    ):  # fmt: skip
        self.n_instances_to_select = n_instances_to_select
        self.sigma = sigma
        self.C = C
        self.cv = cv
        self.support = support
        self.overshoot = overshoot
        self.loss = loss
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
        trace = Trace()
        C, sigma, options = self._checked_options(trace)
        with Workers(count_workers(self.n_jobs)) as workers, ONE_BLAS_THREAD:
            previous = self._previous(X)
            X, y = self._structured(rows_of(X), reset=True, y=y, ensure_min_samples=2)
            sample, goal = bag_sample(X, np.asarray(y), sample_weight, bags, self.class_weight), goal_of(self.loss)
            goal.check_weights(sample.weights)
            made, scale, digest, _, spread = arranged(
                self._column_space, X, sample.row_codes, sample.row_weights, self.scale, workers, trace,
                centre=is_centred(X),
            )  # fmt: skip
            factor = _factor(made, scale, spread)
            with trace.step("arrange"):
                instances = instances_of(sample.X, sample.row_weights)
                count = instances.rows.size
                options |= {"wanted": self._wanted(count), "units": EachInstance(count)}
                sigmas = widths(sigma, sample, instances, factor)
                search = len(sigmas) > 1
                distances = BagDistances(sample.X, sample.bags, factor, instances.rows, workers, keep=search)
            design, tried = BagDesign(distances, sigmas[0]), {}
            if search or C == "auto":
                default = goal.default_C(sample.weights)
                Cs = default * np.array(CS) if C == "auto" else np.array([default if C is None else float(C)])
                signs = check.signs_of(sample.codes, sample.classes.size)
                shared = self.support == "shared"
                make = functools.partial(goal.problems, signs, shared=shared, shift=True, weights=sample.weights)
                known = self.cv, sample, instances, trace, options
                chosen = chosen_width(distances, sigmas, Cs.tolist(), goal, make, *known)
                design, C = chosen.design, chosen.C
                tried = {"sigmas_": np.array(sigmas), "Cs_": Cs, "scores_": chosen.scores}
            task = Task(
                design, sample.codes, sample.classes, sample.weights, "instance",
                growth_target(options["wanted"], options["overshoot"], count), options, None,
                functools.partial(design.spread, weights=sample.weights),
                None if previous is None else self._starts(previous, sample, instances), scale, digest,
            )  # fmt: skip
            fit_design(self, task, C, trace, tried)
        return self

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

    def _checked_options(self, trace: Trace) -> tuple[float | str | None, float | str, dict[str, Any]]:
        """C, sigma, and the other parameters that can be validated without the data, as fgm() takes them."""
        C, options = options_of(self, None, trace)
        if isinstance(self.sigma, str):
            return C, check.one_of("sigma", self.sigma, RULES), options
        return C, check.positive("sigma", self.sigma), options

    def _wanted(self, count: int) -> int | None:
        """n_instances_to_select as a number of instances, of ``count`` different ones, or None."""
        value = self.n_instances_to_select
        if check.is_integer(value) and value is not None and not 1 <= value <= count:
            raise ValueError(
                f"n_instances_to_select={value} must be between 1 and the {count} different training instances"
            )
        if value is not None and not check.is_integer(value) and not (check.is_real(value) and 0 < value <= 1):
            raise ValueError(f"n_instances_to_select must be None, an integer or a fraction in (0, 1], got {value!r}")
        return check.n_features_wanted(value, count, "instance")

    def _previous(self, X: MatrixLike) -> Previous | None:
        """The last fit if this one starts from it; checked before anything is overwritten."""
        if not (self.warm_start and hasattr(self, "selection_")):
            return None
        shape = (self.coef_.shape[0], self.n_features_in_)
        return Previous(self.selection_, shape, self.classes_.size, None).seen(X)

    def _starts(self, previous: Previous, sample: BagSample, instances: Instances) -> Starts:
        """Where each problem starts: the instances of the last fit that are equal to rows of X."""
        n_scores = previous.check_classes(sample.classes.size)
        known, shared = self.instances_, self.support == "shared"
        place = instances.places(sample.X, known.values)

        def starts(most: int | None) -> list[tuple[np.ndarray, np.ndarray]]:
            model = largest_model(previous.selection, most)
            here = place[np.searchsorted(known.rows, model.features)]
            W = model.weights.reshape(here.size, n_scores)[here >= 0]
            here = here[here >= 0]
            if n_scores == 1 or shared:
                return [(here, W)]
            return [(here[w != 0.0], w[w != 0.0, None]) for w in W.T]

        return starts

    def _set_space(self, design: BagDesign, selection: Selection, units: Units | None) -> None:
        """Fitted attributes that say what the ids of features stand for."""
        rows = selection.features if selection.spread is None else selection.spread.columns  # of all on the path
        self.instances_: Prototypes = design.prototypes(rows)


def _factor(design: Design, scale: str | None, spread: Any) -> np.ndarray | None:
    """What each column of X is multiplied with on the scale of a design, whose columns have these deviations.

    Constant columns have no standard deviation to be divided by: with "std" they do not count, in any storage of X.
    """
    if design.scaling is None:
        return None
    factor = np.full(design.n_columns, 0.0 if scale == "std" else 1.0)  # of columns of zeros, which a design may omit
    own = design.scaling.range(0, design.width).factor
    factor[design.ids_in_X(np.arange(design.width))] = np.where(spread > 0.0, own, 0.0) if scale == "std" else own
    return factor
