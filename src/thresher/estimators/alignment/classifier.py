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
from thresher.estimators.alignment.deadline import Clock, awaited
from thresher.estimators.alignment.judging import Judge, Options, Source, chosen_point, reason_of, tell
from thresher.estimators.alignment.kernel_choice import checked_kernel, checked_units, is_list, kernel_source
from thresher.estimators.alignment.kernel_machine import Machine, Training, machine_of
from thresher.estimators.alignment.options import check_samples, checked_options, held_out
from thresher.estimators.alignment.saved import SAVED
from thresher.estimators.shared import parameters as check
from thresher.estimators.shared.base import MatrixLike
from thresher.estimators.shared.described import Described, chosen_by, scoring_name
from thresher.estimators.shared.linear import LinearClassifier
from thresher.estimators.shared.scoring import fold_scorer
from thresher.estimators.shared.selector import ColumnSelector
from thresher.features.base import Base, Samples
from thresher.features.fitted import FittedFeatures
from thresher.features.kernels.alignment import UnitKernels
from thresher.features.kernels.explicit import TrainingColumns, columns_of
from thresher.features.kernels.units import UnitFeatures, kernels_of
from thresher.results import AlignmentPath, Certificate, Selection, StopReason, Trace, rounded
from thresher.results.description import Listing
from thresher.results.words import proof

UNTRAINED = "; there was no time to train the SVM: at(k) trains it, or fit again with more time"


class AlignmentPathClassifier(Described, ClassifierMixin, ColumnSelector):
    """Non-linear selection of features: one kernel for each, weighted by its alignment with the labels; an SVM on top.

    Generalised lp-KTA. Weights eta >= 0 of the kernels K_i, each centred and of unit trace, minimise

        lambda1 sum B_F(eta_i) + lambda2 sum eta_i^p - sum eta_i y'K_i y / n

    for p from 2 down to 1. Weights that have fallen to ``eps`` stay zero, so the number of features falls along the
    path, and one fit gives every number of features. Cross-validation chooses a point, and an SVM is trained on the
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
    lambda1 : float or "auto", default="auto"
        Weight of the divergence; "auto": lambda2 for "euclidean", a tenth of it for "kl". 0 needs ``p_end`` > 1.
    lambda2 : float, "auto" or list of these, default="auto"
        Weight of the norm, in units of alignments divided by n, which lie between 0 and 1. "auto": the tenth largest
        of them, so that about ten features are left at p = 1. Cross-validation chooses from a list. With
        ``max_features`` and ``cv``, "auto" is a list of two: the second is such that the path begins with
        ``max_features`` features, whose weights then differ less.
    eps : float, default=1e-4
        Weights that are not above it are set to zero; below 1/e.
    p_start, p_end, step : float, default=2.0, 1.0, 0.01
        The norms of the path.
    divergence : {"euclidean", "kl"} or object, default="euclidean"
        The divergence B_F, as in ``alignment_path``.
    predictor : {0, 1, 2}, default=1
        Order of the predictor from point to point; it affects time alone.
    C : float, list of float or "auto", default="auto"
        Penalty of the SVM. Cross-validation chooses from a list; "auto": from 0.3, 3 and 30, without it 10.
    cv : int, splitter, iterable of (train, test) or None, default=5
        Folds by which a point is chosen; an integer is lowered to the size of the smallest class, with a
        FewerFoldsWarning. None: no choice is made, and the last point that has features, and at most
        ``max_features``, is used.
    scoring : str or callable, default="accuracy"
        Score to maximise, as in SparseSVCPath.
    max_features : int, default=None
        The most features that a point may have to be judged and used. None: all.
    svm : {"kernel", "linear", None}, default="kernel"
        "kernel": SVC on the learnt kernel, an n x n matrix for each thread, of at most 20,000 samples. "linear":
        LinearSVC, with squared hinge loss, on explicit columns of the kernels, for any number of samples; at most 512
        columns for a kernel. None: the path alone, a selector; ``cv`` is not used then.
    keep : {"path", "support"}, default="path"
        What the model keeps of X. "path": also the columns of all features on the usable part of the path, from which
        ``at`` trains SVMs. "support": the selected columns alone, and of these the support rows (of a linear SVM a few
        dozen values of each); ``at`` is then not available. Model files are as large as what is kept.
    class_weight : dict or "balanced", default=None
        Class weights, multiplied with the sample weights, in alignments and SVMs.
    max_time : float, default=None
        Time limit in seconds, after which the best point judged so far is used. An SVM that takes longer is given up:
        its thread ends when it is done.
    n_jobs : int, default=None
        Number of threads. None: as many as are worthwhile, at most all cores available to the process; -1: all of
        these, -2: all but one. The result does not depend on it.
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
    cv_results_ : dict of ndarray
        ``n_features``, ``mean_test_score``, ``std_test_score``, ``split0_test_score``, ... as of scikit-learn's RFECV,
        and ``p``, ``lambda2`` and ``C``; NaN where a point was not judged. Not with ``cv=None``.
    best_index_, best_score_ : int, float
        The chosen point of ``path_`` and its mean score, with ``cv``; the score is not an estimate for new data.
    point_ : int
        The point of ``path_`` in use.
    C_, classes_, n_features_in_, feature_names_in_, fingerprint_
        As in FGMClassifier.
    machine_ : Machine
        The SVM in use: dual coefficients, intercepts, and the support rows of the selected columns.
    training_ : Training
        With ``keep="path"``: the training columns of the features on the usable part of the path, which ``at`` trains
        on; as large as those columns of X.

    Examples
    --------
    >>> import numpy as np
    >>> from thresher import AlignmentPathClassifier
    >>> X = np.random.default_rng(0).standard_normal((200, 30))
    >>> y = X[:, 3] ** 2 + X[:, 8] ** 2 > 1.5
    >>> clf = AlignmentPathClassifier(step=0.05, cv=3, max_features=5).fit(X, y)
    >>> clf.selection_.features
    array([3, 8])
    """

    path_: AlignmentPath
    training_: Training
    machine_: Machine
    _saved: ClassVar = SAVED
    _linear: ClassVar[bool] = False

    def __init__(
        self, kernel: str | list = "rbf", *, gamma: float | str | ArrayLike = "scale", degree: int = 3,
        coef0: float = 1.0, lambda1: float | str = "auto", lambda2: Any = "auto", eps: float = 1e-4,
        p_start: float = 2.0, p_end: float = 1.0, step: float = 0.01, divergence: Any = "euclidean",
        predictor: int = 1, C: Any = "auto", cv: Any = 5, scoring: str | Callable[..., float] = "accuracy",
        max_features: int | None = None, svm: str | None = "kernel", keep: str = "path",
        class_weight: dict | str | None = None, max_time: float | None = None, n_jobs: int | None = None,
        verbose: int | Callable[..., Any] = 0,
    ):  # fmt: skip
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.lambda1 = lambda1
        self.lambda2 = lambda2
        self.eps = eps
        self.p_start = p_start
        self.p_end = p_end
        self.step = step
        self.divergence = divergence
        self.predictor = predictor
        self.C = C
        self.cv = cv
        self.scoring = scoring
        self.max_features = max_features
        self.svm = svm
        self.keep = keep
        self.class_weight = class_weight
        self.max_time = max_time
        self.n_jobs = n_jobs
        self.verbose = verbose

    def fit(self, X: MatrixLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Compute the path, choose a point by cross-validation, and train the SVM.

        Cost: two passes over X and one for each fold; memory for p numbers, the path, the columns of active features
        for each fold, and an n x n kernel for each thread (two for kernels of several columns). X is not modified.

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
        options = self._checked_options()
        clock = Clock(np.inf if self.max_time is None else trace.begun + check.positive("max_time", self.max_time))
        with Workers(count_workers(self.n_jobs)) as workers, ONE_BLAS_THREAD:
            X, labels = self._structured(X, reset=True, y=y, ensure_min_samples=2)
            classes, codes = check.classes_of(labels)
            weights = check.row_weights(sample_weight, self.class_weight, codes, classes)
            check_samples(X.shape[0], self.svm)
            samples = Samples(X, codes, weights)
            base = Base.read(samples, self._columns, codes, weights, workers, trace, scale=None, to_csc=True)
            design, _ = base.scaled(None, centre=False)
            kernels = kernel_source(self.kernel, self.gamma, self.degree, self.coef0, design)
            source = Source(kernels, design.scan_cost(), codes, classes.size)
            aligned = source.first_aligned(weights, trace, clock, self.fitted_features_.width)
            watched = clock if len(options.formulations) == 1 else None  # several have equally many points
            paths = [source.path(each, aligned, watched) for each in options.formulations]
            folds = held_out(self.cv, self.svm, codes, weights)
            given = None if sample_weight is None else check.sample_weights(sample_weight, codes.size)
            judged = None
            if folds:
                n_outputs, name = 1 if classes.size == 2 else classes.size, type(self).__name__
                scorer = fold_scorer(self.scoring, classes, classes[codes], n_outputs, folds, given, name)
                judge = Judge(source, paths, folds, weights, scorer, options)
                judged = judge.judged(workers, clock, self.verbose, trace)
            chosen = chosen_point(paths, judged, self.max_features)
            path = paths[chosen.which]
            training = None
            if self.svm is not None:
                training = source.last_training(path, aligned, weights, self._first(path), clock)
            self._forget()
            self.classes_, self.fingerprint_, self.C_ = classes, base.fingerprint, options.Cs[chosen.which_C]
            if judged is not None:
                self.cv_results_ = judged.results(paths, options)
                path = replace(path, cv_score=judged.mean[chosen.which, chosen.which_C])
            if chosen.score is not None:
                self.best_index_, self.best_score_ = chosen.place, chosen.score
            self.path_ = path
            self._use(chosen.place, training, clock, trace, lambda: reason_of(path, chosen, clock, bool(folds)))
        if training is not None and self.keep == "path":
            self.training_ = training
        tell(self.selection_, self.path_, clock)
        return self

    def _checked_options(self) -> Options:
        """What the fit needs of the parameters; ValueError for invalid ones."""
        return checked_options(self)

    @property
    def fitted_features_(self) -> FittedFeatures:
        """What the ids of features stand for: columns of X, or the kernels that ``kernel`` lists."""
        if not is_list(self.kernel):
            return self._columns
        units = checked_units(self.kernel, self.gamma, self.degree, self.coef0, self.n_features_in_)
        return UnitFeatures(self.n_features_in_, units, column_names=getattr(self, "feature_names_in_", None))

    def _kernels(self, ids: np.ndarray, gammas: np.ndarray) -> UnitKernels:
        """The kernels of some features, with these gammas."""
        space = self.fitted_features_
        if isinstance(space, UnitFeatures):
            return kernels_of(space.units, ids, gammas)
        return UnitKernels((checked_kernel(self.kernel, self.gamma, self.degree, self.coef0),), gammas)

    def _first(self, path: AlignmentPath) -> int:
        """The first point that may be used."""
        return path.place(int(self.max_features)) if self.max_features is not None and path.numbers.size else 0

    def _forget(self) -> None:
        """Remove what an earlier fit may have set and this one may not."""
        for name in ("cv_results_", "best_index_", "best_score_", "training_", "machine_"):
            self.__dict__.pop(name, None)

    def _use(
        self, index: int, training: Training | None, clock: Clock, trace: Trace,
        reason: Callable[[], tuple[StopReason, str]],
    ) -> None:  # fmt: skip
        """Train the SVM of a point, and set what follows; without the SVM if there is no time for it."""
        point, untrained = self.path_.point(index), ""
        self.__dict__.pop("machine_", None)
        if training is not None:
            given_up = clock.last_call()
            make = functools.partial(machine_of, training, point, self.C_, str(self.svm), given_up)
            with trace.step("solve"):
                try:
                    self.machine_ = awaited([make], 1, given_up)[0]
                except OutOfTime:
                    clock.late, untrained = True, UNTRAINED
                except KeyboardInterrupt:
                    clock.interrupted, untrained = True, UNTRAINED
        stop, text = reason()
        self.point_ = index
        without = self.path_.zero_objective - (point.objective - point.deviation_bound)
        self.selection_ = Selection(
            features=point.features,
            weights=point.weights,
            intercept=0.0,
            stop_reason=text + untrained,
            stop=stop,
            certificate=Certificate(point.deviation_bound, 0.0, point.deviation_bound, 0.0, without),
            trace=trace,
            interrupted=clock.interrupted,
        )

    def _set_selection(self, selection: Selection) -> None:
        self.selection_ = selection

    def _restore(self) -> None:
        """Check that the fitted attributes belong together, as after a fit; ValueError if not."""
        stopped = self.selection_.interrupted or self.selection_.stop is StopReason.MAX_TIME
        if hasattr(self, "machine_") != (self.svm is not None) and not (stopped and self.svm is not None):
            raise ValueError("svm and the SVM in the file do not agree")
        if hasattr(self, "training_") != (self.svm is not None and self.keep == "path"):
            raise ValueError("keep and the columns in the file do not agree")
        point = self.path_.point(self.point_)
        same = np.array_equal(point.features, self.selection_.features)
        if not (same and np.array_equal(point.weights, self.selection_.weights)):
            raise ValueError("the selection differs from that of its point of the path")
        if hasattr(self, "training_") and not np.isin(point.features, self.training_.ids).all():
            raise ValueError("a column of the selection is missing")
        if hasattr(self, "best_index_") and hasattr(self, "best_score_"):
            self.path_.point(self.best_index_)

    def proof(self) -> str:
        """What the certificate proves, as a sentence. It is about the training data, not about new data.

        Returns
        -------
        str
            How far the weights of the kernels may be from the best ones.
        """
        check_is_fitted(self)
        return proof(self.selection_.certificate, self.fitted_features_.width)

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
        if not check.is_integer(number):
            raise ValueError(f"number must be an integer, got {number!r}")
        index = self.path_.place(int(number))
        if self.max_features is not None and self.path_.n_features[index] > self.max_features:
            raise ValueError(f"number={number} is above max_features={self.max_features}: fit again with more")
        if self.svm is not None and not hasattr(self, "training_"):
            raise ValueError(
                "the columns of other points were not kept, so that no SVM can be trained: fit again with keep='path', "
                f"or use path_.at({number}) for the features alone"
            )
        fitted, point = copy.copy(self), self.path_.point(index)
        size = f"{point.features.size:,} feature{'' if point.features.size == 1 else 's'}"
        text = f"{size} at p = {point.p:g}, from the path of a fit that stopped with: {self.selection_.stop_reason}"
        reason, training = (self.selection_.stop or StopReason.CONVERGED, text), getattr(self, "training_", None)
        clock = Clock(np.inf)
        fitted._use(index, training, clock, self.selection_.trace, lambda: reason)
        if clock.interrupted:
            raise KeyboardInterrupt
        return fitted

    @available_if(lambda self: self.svm is not None)
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
        X, features, space = self._checked(X), self.selection_.features, self.fitted_features_
        if not hasattr(self, "machine_"):
            raise NotFittedError(f"the fit was stopped early{UNTRAINED}")
        inputs = space.inputs(features)
        columns = space.input_columns(X, inputs)
        self._check_selected(columns)
        places = np.arange(inputs.size)
        new = columns_of(as_design(columns, keep=places).take(places))
        return self.machine_.scores(self._laid_out(new, inputs, features))

    def _laid_out(self, columns: TrainingColumns, inputs: np.ndarray, features: np.ndarray) -> TrainingColumns:
        """Columns ``inputs`` of X as the machine has them: laid out kernel by kernel."""
        space = self.fitted_features_
        if not isinstance(space, UnitFeatures):
            return columns
        return columns.take(np.searchsorted(inputs, space.units.columns(features)))

    predict = available_if(lambda self: self.svm is not None)(LinearClassifier.predict)

    _chosen_by = "--features"

    def _listing(self, label: Callable[[int], str]) -> Listing:
        listing = super()._listing(label)
        noun = "kernels" if self.fitted_features_.width != self.n_features_in_ or is_list(self.kernel) else listing.noun
        ranked_by = "ranked by the weight of the feature's kernel"
        return replace(listing, noun=noun, weight="kernel weight", ranked_by=ranked_by)

    def _sentences(self) -> list[str]:
        path, point, selection = self.path_, self.point_, self.selection_
        return [
            f"stop reason: {selection.stop_reason}",
            f"certificate: {self.proof()}",
            f"objective: {path.objective[point]:.6g}, at most {path.deviation_bound[point]:.2g} above its minimum",
            f"cost: {rounded(selection.trace.passes)} passes over the data",
        ]

    def _score_sentence(self) -> str:
        if not hasattr(self, "best_score_") or self.point_ != self.best_index_:
            return ""
        n_judged = np.count_nonzero(~np.isnan(self.cv_results_["mean_test_score"]))
        return chosen_by(scoring_name(self.scoring), self.best_score_, f"the best of {n_judged:,} models")

    def _origin(self) -> list[str]:
        return [f"C = {self.C_:g}; path: {self.path_}; p = {self.path_.p[self.point_]:g}"]

    def _own_facts(self) -> dict[str, Any]:
        names = ("p", "n_features", "objective", "deviation_bound", "cv_score")
        scores = {"best_score": self.best_score_} if hasattr(self, "best_score_") else {}
        chosen = {"C": self.C_, "p": self.path_.p[self.point_]} | scores
        return chosen | {"path": {name: getattr(self.path_, name) for name in names}}

