"""SparseSVC: the elastic-net SVM at one point (alpha, beta), as a scikit-learn estimator."""

import functools
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.exceptions import ConvergenceWarning

from thresher.data.input.validation import stored_entries
from thresher.data.workers import ONE_BLAS_THREAD, SERIAL, Workers, count_workers
from thresher.errors import FewerFeaturesWarning, InvalidDataError, warn
from thresher.estimators.shared import INTEGER, SEEN, ColumnSelector, LinearClassifier, MatrixLike, StepProgress, check
from thresher.families.sparse_svm import SvmTraining, fit_point
from thresher.families.sparse_svm.monitor import SolveMonitor
from thresher.families.sparse_svm.rules import SCREENING_RULES
from thresher.features.fitted import FittedFeatures
from thresher.features.fitted_columns import ColumnFeatures
from thresher.features.samples import Base, Samples
from thresher.results import Selection, StopReason, Trace
from thresher.targets.classes import signs_of

HEAVY = 1e100  # sample weights above this are divided by the largest
SMALLEST_NORM = 1e-60  # of a column: squares of smaller ones may underflow
PARALLEL_FROM = 1 << 23  # stored values from which on more than one thread is worthwhile


class ElasticSVC(ColumnSelector, LinearClassifier):
    """What SparseSVC and SparseSVCPath share: parameters, data and the binary problems inside."""

    _checks: ClassVar = {
        "smoothing": check.as_fraction,
        "tol": check.as_positive,
        "scale": check.SCALE,
        "screening": functools.partial(check.one_of, options=tuple(SCREENING_RULES)),
        "max_time": check.OPTIONAL_POSITIVE,
        "verbose": check.as_verbosity,
    }

    def _checked_options(self) -> Any:
        given = super()._checked_options()
        check.ensure(
            self.screening != "iss" or not self.fit_intercept,
            "screening='iss' tests samples, and none can be tested in a model with an intercept: use "
            "fit_intercept=False, or screening='ifs' or 'gap', which test features",
        )
        return given

    def _takes(self, fitted: FittedFeatures | None) -> bool:
        return type(fitted) is ColumnFeatures

    @property
    def _rules(self) -> Any:
        return SCREENING_RULES[self.screening]

    @contextmanager
    def _arranged(
        self, X: MatrixLike, y: ArrayLike, sample_weight: ArrayLike | None, trace: Trace
    ) -> Iterator[tuple[SvmTraining, Any, np.ndarray, np.ndarray, Base]]:
        """Yield what the family trains on, X, the classes, the class of each sample, and X as it was read."""
        X, labels = self._structured(X, reset=True, y=y, ensure_min_samples=2)
        classes, codes = check.classes_of(labels)
        weights = summable(check.row_weights(sample_weight, self.class_weight, codes, classes))
        count = count_workers(self.n_jobs, pays=stored_entries(X) >= PARALLEL_FROM)
        with Workers(count) if count > 1 else SERIAL as workers, ONE_BLAS_THREAD:
            base = Base.read(
                Samples(X, codes, weights), self._columns, codes, weights, workers, trace, scale=self.scale
            )
            design, scale = base.scaled(self.scale, centre=False)
            if self.fit_intercept:  # the weights are the same, and the solvers many times as fast
                design = base.centred(design)
            with trace.step("arrange", 1.0, design.nbytes):
                sides = design.sides()
            largest = np.sqrt(max(float(sides.column_squares(weights / weights.sum()).max(initial=0.0)), 0.0))
            sizes = base.spread if self.fit_intercept else base.largest
            lost = largest == 0.0 and scale is None and sizes.max(initial=0.0) > 0.0
            if lost or 0.0 < largest < SMALLEST_NORM:
                raise InvalidDataError(
                    f"the columns of X have norms of at most {largest:.1e}, too small for squares in float64: "
                    "multiply X by a constant or use scale='max'"
                )
            training = SvmTraining(
                design, sides, np.atleast_2d(signs_of(codes, classes.size)), weights, gamma=float(self.smoothing),
                shift=bool(self.fit_intercept), n_features_in=self.n_features_in_, scale=scale,
                spread=base.spread,
            )  # fmt: skip
            yield training, X, classes, codes, base

    def _set_fitted(self, classes: np.ndarray, fingerprint: dict, selection: Selection, n_steps: int) -> None:
        """Set the fitted attributes of both estimators, and remove those of an earlier fit."""
        self._forget(*SEEN)
        self.classes_ = classes
        self.fingerprint_ = fingerprint
        self.n_iter_ = max(1, n_steps)
        spread = None if selection.fitted_features is None else selection.fitted_features.spread
        selection = replace(selection, fitted_features=replace(self._columns, spread=spread))
        self.selection_ = self._of_this_fit(selection)

    def _warn_of_outcome(self) -> None:
        """Warn the caller of ``fit`` if the solver did not converge or no feature was selected."""
        selection, certificate = self.selection_, self.selection_.certificate
        if certificate is not None and certificate.gap > self.tol:
            late = f" within max_time={self.max_time:g}" if selection.stop is StopReason.MAX_TIME else ""
            gap = f"the duality gap is {certificate.gap:.1e}, above tol={self.tol:g}"
            warn(f"the solver did not converge{late}: {gap}", ConvergenceWarning)
        elif selection.features.size == 0:
            message = "no feature was selected, so every prediction is the same class: use a smaller beta"
            warn(message, FewerFeaturesWarning)


def summable(weights: np.ndarray) -> np.ndarray:
    """Weights whose sum does not overflow; only their ratios matter."""
    return weights / weights.max() if weights.max() > HEAVY else weights


class SparseSVC(ElasticSVC):
    """Sparse linear SVM: an elastic-net penalty and a smoothed hinge loss, solved to a certified duality gap.

    Minimises  sum_i c_i l(1 - y_i (x_i'w + b)) + alpha/2 ||w||^2 + beta ||w||_1,  where c_i is the sample's share of
    the total weight and, with s the ``smoothing``, l(t) is 0 for t < 0, t^2 / (2 s) up to s, and t - s/2 above. On
    request, safe screening tests prove which features and samples cannot affect the solution, and remove them; the
    result is that on all of X either way.

    More than two classes are fitted one-vs-rest.

    Parameters
    ----------
    alpha : float, default=1e-3
        Weight of the l2 penalty.
    beta : float, default=1e-4
        Weight of the l1 penalty: the larger, the fewer features.
    smoothing : float in (0, 1), default=0.5
        Width of the smooth part of the hinge loss (gamma in the paper).
    scale : {"auto", "std", "max", "unit", None}, default="auto"
        How features are scaled, as in FGMClassifier. The paper's setting is None. That columns are centred, where there
        is an intercept, affects the time only.
    fit_intercept : bool, default=True
        Whether to fit an intercept b, which is not penalised. With an intercept screening tests features only: the
        tests of samples need bounds of b, and none are known. The paper's setting is False.
    screening : {"auto", "sifs+gap", "sifs", "sifs, ifs first", "iss", "ifs", "gap", None}, default="auto"
        Which safe screening tests are run: static tests of samples (iss) and features (ifs) or both alternately (sifs)
        before a solve, gap-safe tests before, during and after it (gap). "auto": what is fastest, which is no test at
        all, as with None, since the solver reads only rows and columns that are active. "gap" costs a few per cent and
        proves the most. The result does not depend on it.
    tol : float, default=1e-6
        Duality gap to reach, relative to the objective 1 - smoothing/2 at w = 0.
    class_weight : dict or "balanced", default=None
        Class weights, multiplied with the sample weights.
    max_time : float, default=None
        Seconds after which the fit stops with the model it has, and a warning. None: no limit.
    n_jobs : int, default=None
        Number of threads. None: as many as are worthwhile (in scikit-learn: one), at most all cores available to the
        process; -1: all of these, -2: all but one. The result does not depend on it.
    verbose : int or callable, default=0
        1 updates a line of progress on standard error, 2 writes one for each step, 0 nothing. A callable is called
        instead after each step, with a Turn (``taken`` is the number of steps) and None.

    Attributes
    ----------
    selection_ : Selection
        ``features`` (sorted), ``weights`` in the units of X, ``importance`` (|weight| times the standard deviation of
        the column), ``stop_reason``, ``certificate``, ``trace``, ``scale``.
    coef_ : csr_array of shape (1, n_features) or (n_classes, n_features)
        Weights as a sparse matrix.
    intercept_ : ndarray of shape (1,) or (n_classes,)
        Intercept.
    classes_ : ndarray of shape (n_classes,)
        Class labels. In the binary case positive scores mean ``classes_[1]``.
    features_removed_, samples_removed_ : int
        Number of features and samples that were proven not to affect the solution (in any class). Without tests only
        columns that were left out as empty count, and what is known of a solution in closed form.
    proven_inactive_ : ProvenInactive
        Which these are: ``features`` with weight zero; ``samples`` off the margin, either with ``zero_loss`` or with
        ``linear_loss``. Sorted ids, the rows and columns of X. Not in model files.
    n_features_in_, feature_names_in_ : int, ndarray
        Number and, for data frames, names of the features seen in fit.
    n_iter_ : int
        Number of steps of the solver.
    fingerprint_ : dict
        ``rows``, ``columns`` and ``digest`` of the data, as in FGMClassifier.

    Examples
    --------
    >>> from thresher import SparseSVC
    >>> from thresher.datasets import make_wide
    >>> data = make_wide(300, 2000, n_relevant=5, random_state=0)
    >>> clf = SparseSVC(alpha=1e-3, beta=0.2, screening="gap").fit(data.X, data.y)
    >>> clf.selection_.features, data.relevant
    (array([ 539,  615, 1021, 1272, 1697]), array([ 539,  615, 1021, 1272, 1697]))
    >>> clf.features_removed_, clf.selection_.certificate.gap < 1e-6
    (1995, True)
    >>> clf.proven_inactive_.other_features
    array([ 539,  615, 1021, 1272, 1697])
    """

    _saved: ClassVar = {"n_iter_": INTEGER, "features_removed_": INTEGER, "samples_removed_": INTEGER}
    _checks: ClassVar = ElasticSVC._checks | {"alpha": check.as_penalty, "beta": check.as_penalty}

    def __init__(
        self, alpha: float = 1e-3, beta: float = 1e-4, *, smoothing: float = 0.5, scale: str | None = "auto",
        fit_intercept: bool = True, screening: str | None = "auto", tol: float = 1e-6,
        class_weight: dict | str | None = None, max_time: float | None = None, n_jobs: int | None = None,
        verbose: int | Callable[..., Any] = 0,
    ):  # fmt: skip
        self._store(locals())

    def fit(self, X: MatrixLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Fit the model; X is neither modified nor kept, but a sparse X of at most 1 GiB is copied into both orders.

        Parameters
        ----------
        X : array, sparse matrix, data frame or Design of shape (n_samples, n_features)
            Samples. A Design is read by its own workers, whatever ``n_jobs`` is.
        y : array-like of shape (n_samples,)
            Class labels.
        sample_weight : array-like of shape (n_samples,), default=None
            Sample weights.

        Returns
        -------
        self : SparseSVC
            The fitted estimator.
        """
        trace = Trace()
        given = self._checked_options()
        progress = StepProgress(self.verbose, trace)
        monitor = SolveMonitor(self._deadline(trace), progress if self.verbose else None)
        with self._arranged(X, y, sample_weight, trace) as (training, rows, classes, codes, base):
            point = fit_point(
                training, given.alpha, given.beta, tol=self.tol, rules=self._rules, trace=trace, monitor=monitor
            )
        progress.close()
        self._set_fitted(classes, base.fingerprint, point.selection, point.steps)
        self.proven_inactive_ = point.proven
        self.features_removed_ = point.proven.n_features
        self.samples_removed_ = point.proven.n_samples
        self._warn_of_outcome()
        self._warn_of_leak(rows, codes)
        return self

    def _origin(self) -> list[str]:
        tested = "" if self.screening not in ("auto", None) else "; no screening tests were run"
        return [f"removed: {self.features_removed_:,} features, {self.samples_removed_:,} samples{tested}"]

    def _own_facts(self) -> dict[str, Any]:
        removed = {"features_removed": self.features_removed_, "samples_removed": self.samples_removed_}
        return {"alpha": self.alpha, "beta": self.beta} | removed
