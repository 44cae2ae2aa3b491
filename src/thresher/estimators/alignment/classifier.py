"""AlignmentPathClassifier: the selection path of kernel alignment, and an SVM on the learnt kernel."""

import copy
import functools
from collections.abc import Callable
from dataclasses import replace
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import ClassifierMixin
from sklearn.exceptions import NotFittedError
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from thresher.data.input.validation import as_design
from thresher.data.scan.pieces import OutOfTime
from thresher.data.workers import ONE_BLAS_THREAD, Workers, count_workers
from thresher.estimators.alignment.cross_validation import (
    Clock,
    CrossValidation,
    KernelData,
    check_n_samples,
    choose_point,
    held_out_rows,
    results_of,
    stop_reason,
    warn_of_outcome,
)
from thresher.estimators.alignment.kernel_path import (
    KernelPath,
    as_kernel_path,
    kernel_layout,
    kernel_source,
)
from thresher.estimators.alignment.limit import apply_limit, lambda2s_with
from thresher.estimators.alignment.saved import ALIGNMENT_ATTRIBUTES
from thresher.estimators.alignment.svm import KernelSVM, TrainingSet, fit_svm
from thresher.estimators.shared import (
    SEEN,
    ColumnSelector,
    LinearClassifier,
    MatrixLike,
    check,
    fold_score,
    warn_of_scoring,
)
from thresher.features.fitted import FittedFeatures
from thresher.features.kernels.columns import sorted_columns_of
from thresher.features.kernels.sources import KernelFeatures, KernelList, SameKernel
from thresher.features.samples import Base, Samples
from thresher.results import AlignmentPath, Certificate, Selection, StopReason, Trace, rounded
from thresher.results.description import Listing

AUTO_CS, AUTO_C = (0.3, 3.0, 30.0), 10.0
UNTRAINED = "; there was no time to train the SVM: at(k) trains it, or fit again with a larger max_time"


class AlignmentPathClassifier(ClassifierMixin, ColumnSelector):
    """Non-linear selection of features: one kernel for each, weighted by its alignment with the labels; an SVM on top.

    Generalised lp-KTA. Weights eta >= 0 of the kernels K_i, each centred and of unit trace, minimise

        lambda1 sum B_F(eta_i) + lambda2 sum eta_i^p - sum eta_i y'K_i y / n

    for p from 2 down to 1. Weights that have fallen to ``path.eps`` stay zero, so the number of features falls along
    the path, and one fit gives every number of features. Cross-validation chooses a point, and an SVM is trained on the
    kernel sum_i eta_i K_i, scaled to mean diagonal 1. With more than two classes the alignment is the mean over the
    classes, each against all others, so that there is one path and one set of features; SVMs are one-vs-rest.

    Parameters
    ----------
    kernel : {"rbf", "laplace", "polynomial", "linear"} or list of (kernel, columns), default="rbf"
        Kernel of each feature, as in ``alignments``. With a list, each entry is one feature, with one weight: a kernel
        of its columns together. ``selection_.features`` and ``path_`` then count entries of the list;
        ``get_support`` and ``transform`` give the columns of those that are selected.
    gamma : float, "scale" or array-like of shape (n_features,), default="scale"
        Parameter of the kernels, as in ``alignments``: "scale" chooses it by the variance of each column. An array has
        one for each column, or for each entry of the list.
    degree, coef0 : int and float, default=3, 1.0
        Of the polynomial kernel (gamma x z + coef0)^degree.
    path : KernelPath, default=None
        Values of p, lambda1 and lambda2, divergence and accuracy of the path. None: ``KernelPath()``.
    C : float, list of float or "auto", default="auto"
        Penalty of the SVM. Cross-validation chooses from a list; "auto": from 0.3, 3 and 30, or 10 without ``cv``.
    cv : int, splitter, iterable of (train, test) or None, default=5
        Folds by which a point is chosen; an integer is lowered, with a FewerFoldsWarning, to the number of different
        rows of the smallest class, and deals rows by what they hold, as in FGMClassifier. None: no choice is made, and
        the last point that has features, and at most ``max_features``, is used.
    scoring : str or callable, default="accuracy"
        Score to maximise, as in SparseSVCPath.
    max_features : int, "auto" or None, default="auto"
        The most features that a point may have to be judged and used. None: all. "auto": all without ``cv``, else as
        many as have explicit columns that take 256 MiB in all folds, or 50 if these take more: of 2,000 samples of
        continuous columns and three folds about 200. ``selection_.stop_reason`` says so if that is not all.
    svm : {"kernel", "linear", None}, default="kernel"
        "kernel": one on the learnt kernel, three n x n matrices for each thread, of at most 20,000 samples. "linear":
        one with squared hinge loss, on explicit columns of the kernels, for any number of samples; at most 512 columns
        for a kernel. None: the path alone, a selector; ``cv`` is not used then.
    store_training_columns : bool, default=True
        Whether the fitted model keeps the columns of all features on the usable part of the path, from which ``at``
        trains SVMs. False: it keeps the selected columns alone, and of these the support rows (of a linear SVM a few
        dozen values of each); ``at`` is then not available. Model files are as large as what is kept.
    class_weight : dict or "balanced", default=None
        Class weights, multiplied with the sample weights, in alignments and SVMs.
    max_time : float, default=None
        Time limit in seconds, after which the best point judged so far is used. An SVM that takes longer is given up.
    n_jobs : int, default=None
        Number of threads. None: as many as are worthwhile (in scikit-learn: one), at most all cores available to the
        process; -1: all of these, -2: all but one. The result does not depend on it.
    verbose : int or callable, default=0
        1: a progress line on standard error, 2: one line for each fold and each point that is judged. A callable is
        called after each point with a ``Turn``, whose ``taken`` counts points, and the number of all points.

    Attributes
    ----------
    path_ : AlignmentPath
        ``p``, ``weights`` (sparse, points x features), ``n_features``, ``objective``, ``deviation_bound`` and
        ``cv_score`` of every point.
    selection_ : Selection
        Features and kernel weights eta of the chosen point. Its certificate is in units of the objective above the
        lower bound: objective minus bound is the deviation bound of the paper's lemma 1.
    cv_results_ : dict
        All points of the paths, for each lambda2 and C: ``params``, ``param_lambda2``, ``param_C``, ``param_p``,
        ``mean_test_score``, ``std_test_score``, ``rank_test_score``, ``split0_test_score``, ... as in scikit-learn's
        GridSearchCV, and ``n_features`` as in its RFECV; scores are NaN where a point was not judged. Not with
        ``cv=None``.
    best_index_, best_score_ : int, float
        The chosen point of ``path_`` and its mean score, with ``cv``; the score is not an estimate for new data.
    point_ : int
        The point of ``path_`` in use.
    max_features_ : int
        The most features that a point could have; the number of all if there was no limit.
    C_, classes_, n_features_in_, feature_names_in_, fingerprint_
        As in FGMClassifier.
    svm_ : KernelSVM
        The SVM in use: dual coefficients, intercepts, and the support rows of the selected columns.
    training_ : TrainingSet
        With ``store_training_columns``: the training columns of the features on the usable part of the path, which
        ``at`` trains on; as large as those columns of X.

    Examples
    --------
    >>> import numpy as np
    >>> from thresher import AlignmentPathClassifier, KernelPath
    >>> X = np.random.default_rng(0).standard_normal((200, 30))
    >>> y = X[:, 3] ** 2 + X[:, 8] ** 2 > 1.5
    >>> clf = AlignmentPathClassifier(path=KernelPath(step=0.05), cv=3, max_features=5).fit(X, y)
    >>> clf.selection_.features
    array([3, 8])
    """

    path_: AlignmentPath
    training_: TrainingSet
    svm_: KernelSVM
    _saved: ClassVar = ALIGNMENT_ATTRIBUTES
    _checks: ClassVar = {
        "path": as_kernel_path,
        "max_features": check.either({None: None, "auto": "auto"}, check.as_integer),
        "svm": functools.partial(check.one_of, options=("kernel", "linear", None)),
        "store_training_columns": check.as_boolean,
        "max_time": check.OPTIONAL_POSITIVE,
        "verbose": check.as_verbosity,
    }
    _linear: ClassVar[bool] = False

    def __init__(
        self, kernel: str | list = "rbf", *, gamma: float | str | ArrayLike = "scale", degree: int = 3,
        coef0: float = 1.0, path: KernelPath | None = None, C: Any = "auto", cv: Any = 5,
        scoring: str | Callable[..., float] = "accuracy", max_features: int | str | None = "auto",
        svm: str | None = "kernel", store_training_columns: bool = True, class_weight: dict | str | None = None,
        max_time: float | None = None, n_jobs: int | None = None, verbose: int | Callable[..., Any] = 0,
    ):  # fmt: skip
        self._store(locals())

    def fit(self, X: MatrixLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Compute the path, choose a point by cross-validation, and train the SVM.

        Cost: two passes over X and one for each fold; memory for p numbers, the path, the columns of active features
        for each fold (256 MiB or 50 features in all, unless ``max_features`` is given), and three n x n matrices for
        each thread (one more for kernels of several columns). X is not modified.

        Parameters
        ----------
        X : array, sparse matrix, data frame or Design of shape (n_samples, n_features)
            Samples.
        y : array-like of shape (n_samples,)
            Class labels.
        sample_weight : array-like of shape (n_samples,), default=None
            Sample weights.

        Returns
        -------
        self : AlignmentPathClassifier
            The fitted estimator.
        """
        trace = Trace()
        given = self._checked_options()
        warn_of_scoring(self.scoring, self.cv)
        clock = Clock(self._deadline(trace))
        with Workers(count_workers(self.n_jobs)) as workers, ONE_BLAS_THREAD:
            X, labels = self._structured(X, reset=True, y=y, ensure_min_samples=2)
            classes, codes = check.classes_of(labels)
            weights = check.row_weights(sample_weight, self.class_weight, codes, classes)
            check_n_samples(X.shape[0], self.svm)
            samples = Samples(X, codes, weights)
            base = Base.read(samples, self._columns, codes, weights, workers, trace, scale=None, to_csc=True)
            design, _ = base.scaled(None, centre=False)
            data = KernelData(kernel_source(self._layout, self.gamma, design), design.scan_cost(), codes, weights)
            alignments = data.alignments_in_time(trace, clock, self.fitted_features_.width)
            folds = held_out_rows(self.cv, self.svm, codes, weights, base.content)
            limited = apply_limit(given, data, alignments, len(folds), clock)
            watched = clock if len(given.lambda2s) == 1 else None  # several paths must have equally many points
            paths = [data.path(given.path, lambda2, alignments, watched) for lambda2 in given.lambda2s]
            scores = None
            if folds:
                score = fold_score(self.scoring, classes, codes, folds, sample_weight, type(self).__name__)
                scores = CrossValidation(data, paths, folds, score, given).run(workers, clock, trace)
            chosen = choose_point(paths, scores, given.max_features)
            path = paths[chosen.which]
            training = None
            if self.svm is not None:
                training = data.final_training_set(path, alignments, given.max_features, clock)
            self._forget(*SEEN)
            self.classes_ = classes
            self.fingerprint_ = base.fingerprint
            self.C_ = given.Cs[chosen.which_C]
            self.max_features_ = given.max_features or self.fitted_features_.width
            if scores is not None:
                self.cv_results_ = results_of(scores, paths, given.Cs)
                path = replace(path, cv_score=scores.mean(axis=0)[chosen.which, chosen.which_C])
            if chosen.score is not None:
                self.best_index_ = chosen.place
                self.best_score_ = chosen.score
            self.path_ = path
            self._use_point(chosen.place, training, clock, trace)
            stop, text = stop_reason(path, chosen, clock)
            self._set_point_selection(stop, text + limited, trace, interrupted=clock.interrupted)
        if training is not None and self.store_training_columns:
            self.training_ = training
        if clock.interrupted:
            raise KeyboardInterrupt
        warn_of_outcome(self.selection_, self.path_)
        self._warn_of_leak(X, codes)
        return self

    def _checked_options(self) -> Any:
        given = super()._checked_options()
        kernel_layout(self.kernel, self.gamma, self.degree, self.coef0)
        validates = self.cv is not None and self.svm is not None
        C = self.C
        if isinstance(C, str) and C == "auto":
            C = AUTO_CS if validates else AUTO_C
        given.Cs = check.one_or_more("C", C, AUTO_C, check.SMALLEST, check.LARGEST)
        given.lambda2s = given.path.lambda2s
        if not validates and (len(given.Cs) > 1 or len(given.lambda2s) > 1):
            raise ValueError("a list of C or lambda2 is chosen from by cross-validation: set cv, or pass one value")
        if validates and given.max_features not in (None, "auto"):
            given.lambda2s = lambda2s_with(given.path, given.max_features)
        return given

    @property
    def _layout(self) -> SameKernel | KernelList:
        """The kernels of the columns of X."""
        return kernel_layout(self.kernel, self.gamma, self.degree, self.coef0, self.n_features_in_)

    @property
    def fitted_features_(self) -> FittedFeatures:
        """What the ids of features stand for: columns of X, or the kernels that ``kernel`` lists."""
        columns, layout = self._columns, self._layout
        if isinstance(layout, KernelList):
            return KernelFeatures(columns.n_columns, layout, column_names=columns.column_names)
        return columns

    def _use_point(self, index: int, training: TrainingSet | None, clock: Clock, trace: Trace) -> None:
        """Train the SVM of a point; there is none if there is no time for it."""
        self.point_ = index
        self.__dict__.pop("svm_", None)
        if training is None:
            return
        given_up = clock.end_of_last_step()
        with trace.step("solve"):
            try:
                self.svm_ = fit_svm(training, self.path_.point(index), self.C_, str(self.svm), given_up)
            except OutOfTime:
                clock.late = True
            except KeyboardInterrupt:
                clock.interrupted = True

    def _set_point_selection(self, stop: StopReason, text: str, trace: Trace, *, interrupted: bool = False) -> None:
        """Set ``selection_`` to that of the point in use."""
        point = self.path_.point(self.point_)
        without_features = self.path_.zero_objective - (point.objective - point.deviation_bound)
        selection = Selection(
            features=point.features,
            weights=point.weights,
            intercept=0.0,
            stop_reason=text + (UNTRAINED if self.svm is not None and not hasattr(self, "svm_") else ""),
            stop=stop,
            certificate=Certificate(point.deviation_bound, 0.0, point.deviation_bound, 0.0, without_features),
            trace=trace,
            interrupted=interrupted,
        )
        self.selection_ = self._of_this_fit(selection)

    def _restore(self) -> None:
        """Check that the fitted attributes belong together, as after a fit; ValueError if not."""
        stopped = self.selection_.interrupted or self.selection_.stop is StopReason.MAX_TIME
        if hasattr(self, "svm_") != (self.svm is not None) and not (stopped and self.svm is not None):
            raise ValueError("svm and the SVM in the file do not agree")
        if hasattr(self, "training_") != (self.svm is not None and self.store_training_columns):
            raise ValueError("store_training_columns and the columns in the file do not agree")
        point = self.path_.point(self.point_)
        same = np.array_equal(point.features, self.selection_.features)
        if not (same and np.array_equal(point.weights, self.selection_.weights)):
            raise ValueError("the selection differs from that of its point of the path")
        if hasattr(self, "training_") and not np.isin(point.features, self.training_.ids).all():
            raise ValueError("a column of the selection is missing")
        if not hasattr(self, "max_features_"):  # files of version 3 and before
            self.max_features_ = self.max_features or self.fitted_features_.width
        if hasattr(self, "best_index_") and hasattr(self, "best_score_"):
            self.path_.point(self.best_index_)

    def _alone(self) -> Self:
        alone, names = copy.copy(self), ("training_", "cv_results_", "best_index_", "best_score_")
        alone.__dict__ = {name: value for name, value in vars(self).items() if name not in names}
        alone.store_training_columns = False
        alone.path_, alone.point_ = self.path_.only(self.point_), 0
        return alone

    def at(self, number: int) -> Self:
        """A fitted copy at the first point of the path with at most a given number of features.

        X is not needed: the SVM is trained on the columns that the fit kept.

        Parameters
        ----------
        number : int
            The largest number of features.

        Returns
        -------
        self
            A copy of this estimator, fitted with the features of that point.
        """
        check_is_fitted(self)
        check.ensure(check.is_integer(number), f"number must be an integer, got {number!r}")
        index = self.path_.place(int(number))
        if self.path_.n_features[index] > self.max_features_:
            raise ValueError(f"number={number} is above max_features={self.max_features_}: fit again with more")
        if self.svm is not None and not hasattr(self, "training_"):
            raise ValueError(
                "the training columns were not stored, so that no SVM of another point can be trained: fit again with "
                f"store_training_columns=True, or use path_.at({number}) for the features alone"
            )
        clock, trace = Clock(np.inf), self.selection_.trace
        fitted = copy.copy(self)
        fitted._use_point(index, getattr(self, "training_", None), clock, trace)
        n_features = int(self.path_.n_features[index])
        text = (
            f"{n_features:,} feature{'' if n_features == 1 else 's'} at p = {self.path_.p[index]:g}, from the path of "
            f"a fit that stopped with: {self.selection_.stop_reason}"
        )
        if clock.interrupted:
            raise KeyboardInterrupt
        fitted._set_point_selection(self.selection_.stop or StopReason.CONVERGED, text, trace)
        fitted.selection_ = replace(fitted.selection_, from_path=True)
        return fitted

    @available_if(lambda self: self.svm is not None)
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
        fitted, features = self.fitted_features_, self.selection_.features
        inputs = fitted.inputs(features)
        X = self._checked(X, needed=inputs)
        if not hasattr(self, "svm_"):
            raise NotFittedError(f"the fit was stopped early{UNTRAINED}")
        columns = fitted.input_columns(X, inputs)
        self._check_selected(columns)
        places = np.arange(inputs.size)
        new = sorted_columns_of(as_design(columns, keep=places).take(places))
        laid_out = np.searchsorted(inputs, self._layout.columns(features))  # kernel by kernel, as in svm_
        return self.svm_.decisions(new.take(laid_out))

    predict = available_if(lambda self: self.svm is not None)(LinearClassifier.predict)

    _chosen_by = "--features"
    _candidates = "models"

    def _listing(self, label: Callable[[int], str]) -> Listing:
        listing = super()._listing(label)
        return replace(listing, weight="kernel weight", ranked_by="ranked by the weight of the feature's kernel")

    def _sentences(self) -> list[str]:
        point, selection = self.path_.point(self.point_), self.selection_
        return [
            f"stop reason: {selection.stop_reason}",
            f"certificate: {self.proof()}",
            f"objective: {point.objective:.6g}, at most {point.deviation_bound:.2g} above its minimum",
            f"cost: {rounded(selection.trace.passes)} passes over the data",
        ]

    def _score_sentence(self) -> str:
        return super()._score_sentence() if self.point_ == getattr(self, "best_index_", None) else ""

    def _origin(self) -> list[str]:
        return [f"C = {self.C_:g}; path: {self.path_}; p = {self.path_.p[self.point_]:g}"]

    def _own_facts(self) -> dict[str, Any]:
        names = ("p", "n_features", "objective", "deviation_bound", "cv_score")
        scores = {"best_score": self.best_score_} if hasattr(self, "best_score_") else {}
        chosen = {"C": self.C_, "p": self.path_.p[self.point_]} | scores
        return chosen | {"path": {name: getattr(self.path_, name) for name in names}}
