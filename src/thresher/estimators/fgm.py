"""FGMClassifier: the feature generating machine as a scikit-learn estimator."""

import warnings
from dataclasses import replace

import numpy as np
from scipy import sparse

from thresher.data.door import as_design, check_finite
from thresher.data.scales import SCALES, scaled
from thresher.data.workers import ONE_BLAS_THREAD, Workers, count_workers
from thresher.errors import FewerFeaturesWarning
from thresher.estimators import parameters as check
from thresher.estimators.progress import Progress
from thresher.estimators.selector import SelectorClassifier
from thresher.families.fgm import fgm
from thresher.optim.losses import LOSSES
from thresher.optim.master import Problem
from thresher.results import Trace

DEFAULT_C = 10.0


class FGMClassifier(SelectorClassifier):
    """Linear classifier on a few columns, grown out of all of them, with a proof of how good it is.

    Minimises 1/2 ||w||_B^2 + C sum_i weight_i loss(y_i (x_i'w + b)) over all columns, where ||.||_B is the B-support
    norm: the convex stand-in for "at most B columns". Each turn scans X once, takes the B best columns and solves on
    the columns taken.

    Parameters
    ----------
    n_features_to_select : int, float or None, default=None
        Number of columns, or a fraction of them. Exactly so many come back, or a FewerFeaturesWarning says why not.
        None grows until the gap is within ``tol``.
    C : float, default=None
        Weight of the loss against the penalty; None means 10.
    loss : {"squared_hinge", "logistic"}, default="squared_hinge"
        The loss.
    features_per_turn : int or "auto", default="auto"
        The budget B, which is also the number of columns taken each turn. "auto": a tenth of the number to select, at
        most 100 (10 if there is no number), and doubled when the optimum under it has too few columns.
    tol : float, default=1e-3
        Gap at which a model counts as optimal: (objective - lower_bound) / (objective without columns).
    inner_tol : float or "auto", default="auto"
        Accuracy of each turn's problem, as a share of its objective. "auto": 1e-3 while growing, and to rounding for
        the model that is returned.
    max_iter : int, default=100
        Number of turns at most.
    max_time : float, default=None
        Seconds after which the model found so far is returned. At least one turn is done.
    scale : {"auto", "std", "max", "unit", None}, default="auto"
        Columns are scaled without touching X: to spread 1 ("std", centred if there is an intercept), largest entry 1
        ("max"), length 1 ("unit"). "auto" leaves data with under 30 % non-zero entries alone, takes "max" when
        more than a fifth of the columns are zero in most rows, and "std" otherwise.
    fit_intercept : bool, default=True
        Whether there is a shift b; it is not penalised.
    always_include : list of int or str, default=None
        Columns that must be in the model, by number or by data frame name. They count in ``n_features_to_select``.
    debias : bool, default=False
        Refit the chosen columns with the plain penalty 1/2 ||w||^2.
    class_weight : dict or "balanced", default=None
        Weights of the classes, multiplied with those of the samples.
    warm_start : bool, default=False
        Begin from the columns and weights of the last fit.
    n_jobs : int, default=None
        Threads; None means all cores this process may use. The result does not depend on it.
    verbose : int, default=0
        1 draws a progress line, 2 one line a turn, on standard error.

    Attributes
    ----------
    selection_ : Selection
        ``features`` (sorted), ``weights`` in the units of X, ``stop_reason``, ``certificate``, ``trace``, ``scale``.
    coef_ : csr_array of shape (1, n_features)
        The weights, sparse.
    intercept_ : ndarray of shape (1,)
        The shift.
    classes_ : ndarray of shape (2,)
        The labels; positive scores speak for the second.
    n_features_in_, feature_names_in_ : int, ndarray
        Number and, for data frames, names of the columns seen in fit.
    n_iter_ : int
        Number of turns.

    Examples
    --------
    >>> from thresher import FGMClassifier
    >>> from thresher.datasets import make_wide
    >>> data = make_wide(300, 2000, n_relevant=5, random_state=0)
    >>> clf = FGMClassifier(n_features_to_select=5).fit(data.X, data.y)
    >>> clf.selection_.features, data.relevant
    (array([ 539,  615, 1021, 1272, 1697]), array([ 539,  615, 1021, 1272, 1697]))
    """

    def __init__(
        self, n_features_to_select=None, *, C=None, loss="squared_hinge", features_per_turn="auto", tol=1e-3,
        inner_tol="auto", max_iter=100, max_time=None, scale="auto", fit_intercept=True, always_include=None,
        debias=False, class_weight=None, warm_start=False, n_jobs=None, verbose=0,
    ):  # fmt: skip
        self.n_features_to_select = n_features_to_select
        self.C = C
        self.loss = loss
        self.features_per_turn = features_per_turn
        self.tol = tol
        self.inner_tol = inner_tol
        self.max_iter = max_iter
        self.max_time = max_time
        self.scale = scale
        self.fit_intercept = fit_intercept
        self.always_include = always_include
        self.debias = debias
        self.class_weight = class_weight
        self.warm_start = warm_start
        self.n_jobs = n_jobs
        self.verbose = verbose

    def fit(self, X, y, sample_weight=None):
        """Select columns of X and fit the model on them.

        Cost: one pass over X for validation and statistics, one for each turn and one more; memory for the columns
        taken. X is neither changed nor kept.
        """
        trace = Trace()
        options = self._options(trace)
        with Workers(count_workers(self.n_jobs)) as workers, ONE_BLAS_THREAD:
            previous = self._previous(X)
            X, y = self._structured(X, reset=True, y=y, ensure_min_samples=2)
            classes, y = check.two_classes(y)
            weights = check.row_weights(sample_weight, self.class_weight, y, classes)
            wanted = check.number_wanted(self.n_features_to_select, X.shape[1])
            forced = self._forced(X, wanted)
            cost = check.costs(options.pop("C"), weights)
            keep = forced if previous is None else np.union1d(forced, previous.features)
            design, scale = self._scaled(X, weights, keep, workers, trace)
            problem = Problem(y, cost, LOSSES[self.loss], bool(self.fit_intercept))
            progress = Progress(self.verbose, wanted)
            selection = fgm(
                design,
                problem,
                trace,
                wanted=wanted,
                forced=design.numbers_here(forced),
                start=self._start(design, previous),
                watch=progress,
                **options,
            )
            progress.close()
        self.classes_ = classes
        self.selection_ = replace(selection, scale=scale)
        self.coef_ = sparse.csr_array(
            (selection.weights, selection.features, np.array([0, selection.features.size])), shape=(1, X.shape[1])
        )
        self.intercept_ = np.array([selection.intercept])
        self.n_iter_ = max(1, len(trace.turns) - 1)
        if selection.interrupted:
            raise KeyboardInterrupt
        self._warn_if_fewer(wanted)
        return self

    def _options(self, trace):
        """Parameters that need no look at the data, checked, as fgm() takes them (and C)."""
        check.one_of("loss", self.loss, tuple(LOSSES))
        check.one_of("scale", self.scale, SCALES)
        auto_turn, auto_inner = (
            isinstance(given, str) and given == "auto" for given in (self.features_per_turn, self.inner_tol)
        )
        deadline = None if self.max_time is None else trace.begun + check.positive("max_time", self.max_time)
        check.whole("verbose", int(self.verbose) if isinstance(self.verbose, bool) else self.verbose, least=0)
        return {
            "C": DEFAULT_C if self.C is None else check.positive("C", self.C),
            "per_turn": None if auto_turn else check.whole("features_per_turn", self.features_per_turn),
            "tol": check.positive("tol", self.tol, zero=True),
            "inner_tol": None if auto_inner else check.positive("inner_tol", self.inner_tol),
            "max_turns": check.whole("max_iter", self.max_iter),
            "deadline": deadline,
            "debias": bool(self.debias),
        }

    def _forced(self, X, wanted):
        names = getattr(self, "feature_names_in_", None)
        forced = check.column_numbers("always_include", self.always_include, X.shape[1], names)
        if wanted is not None and forced.size > wanted:
            raise ValueError(f"always_include names {forced.size} columns, but n_features_to_select is {wanted}")
        return forced

    def _scaled(self, X, weights, keep, workers, trace):
        """The design on its scale, after the pass that checks every entry and gathers statistics."""
        design = as_design(X, workers, keep=keep)
        with trace.step("validate", *design.check_cost()):
            anchor, table = design.statistics(weights)
        check_finite(table, design.ids)
        centre = bool(self.fit_intercept)
        return scaled(design, anchor, table, weights.sum(), self.scale, centre=centre, n_features=X.shape[1])

    def _previous(self, X):
        """The last fit's selection if it is to be started from; checked before anything is overwritten."""
        if not (self.warm_start and hasattr(self, "selection_")):
            return None
        seen, n_features = self.coef_.shape[1], getattr(X, "shape", np.shape(X))[-1]
        if seen != n_features:
            raise ValueError(
                f"warm_start=True, but X has {n_features} columns and the last fit saw {seen}: "
                "fit a new estimator or set warm_start=False"
            )
        return self.selection_

    @staticmethod
    def _start(design, previous):
        if previous is None:
            return None
        here = design.numbers_here(previous.features)
        return here, design.in_units_here(here, previous.weights)

    def _warn_if_fewer(self, wanted):
        found, reason = self.selection_.features.size, self.selection_.stop_reason
        idle = self.selection_.features[self.selection_.weights == 0.0]
        messages = []
        if idle.size:
            messages.append(f"columns {idle.tolist()} of always_include have weight zero: they say nothing new")
        if wanted is not None and found < wanted:
            messages.append(f"{found} features came back, {wanted} were asked for: {reason}")
        elif found == 0:
            messages.append(f"no feature was selected, every prediction is the same class: {reason}")
        for message in messages:
            warnings.warn(message, FewerFeaturesWarning, stacklevel=3)
