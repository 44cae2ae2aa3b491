"""AlignmentPathClassifier: the selection path of kernel alignment, and an SVM on the learnt kernel."""

import copy
import warnings
from collections.abc import Callable
from dataclasses import replace
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import ClassifierMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from thresher.data.alignment import ColumnKernel
from thresher.data.explicit import columns_of
from thresher.data.workers import ONE_BLAS_THREAD, Workers, count_workers
from thresher.errors import FewerFeaturesWarning, InvalidDataError
from thresher.estimators import parameters as check
from thresher.estimators.alignments import checked_formulation, checked_gammas, checked_kernel
from thresher.estimators.arrange import arranged
from thresher.estimators.base import MatrixLike
from thresher.estimators.folds import held_out_parts
from thresher.estimators.judging import Clock, Judge, Options, Source, chosen_point, reason_of
from thresher.estimators.kernel_machine import Machine, Training, constant, trained
from thresher.estimators.linear import LinearClassifier
from thresher.estimators.scoring import fold_scorer
from thresher.estimators.selector import ColumnSelector
from thresher.results import AlignmentPath, Certificate, Selection, StopReason, Trace
from thresher.results.words import proof

MOST_SAMPLES = 20_000  # a kernel matrix of 3.2 GB
SVMS = ("kernel", None)
AUTO_CS = (1.0, 10.0, 100.0)


class AlignmentPathClassifier(ClassifierMixin, ColumnSelector):
    """Non-linear selection of features: one kernel for each, weighted by its alignment with the labels; an SVM on top.

    Generalised lp-KTA. Weights eta >= 0 of the kernels K_i, each centred and of unit trace, minimise

        lambda1 sum B_F(eta_i) + lambda2 sum eta_i^p - sum eta_i y'K_i y / n

    for p from 2 down to 1. Weights that have fallen to ``eps`` stay zero, so the number of features falls along the
    path, and one fit gives every number of features. Cross-validation chooses a point, and an SVM is trained on the
    kernel sum_i eta_i K_i, scaled to mean diagonal 1. With more than two classes the alignment is the mean over the
    classes, each against all others, so that there is one path and one set of features; SVMs are one-vs-rest.

    Parameters
    ----------
    kernel : {"rbf", "laplace", "polynomial", "linear"}, default="rbf"
        Kernel of each feature, as in ``alignments``.
    gamma : float, "scale" or array-like of shape (n_features,), default="scale"
        Parameter of the kernels, as in ``alignments``: "scale" chooses it by the variance of each column.
    degree, coef0 : int and float, default=3, 1.0
        Of the polynomial kernel (gamma x z + coef0)^degree.
    lambda1 : float or "auto", default="auto"
        Weight of the divergence; "auto": lambda2 for "euclidean", a tenth of it for "kl". 0 needs ``p_end`` > 1.
    lambda2 : float, "auto" or list of these, default="auto"
        Weight of the norm, in units of alignments divided by n, which lie between 0 and 1. "auto": the tenth largest
        of them, so that about ten features are left at p = 1. Cross-validation chooses from a list.
    eps : float, default=1e-4
        Weights that are not above it are set to zero; below 1/e.
    p_start, p_end, step : float, default=2.0, 1.0, 0.01
        The norms of the path.
    divergence : {"euclidean", "kl"} or object, default="euclidean"
        The divergence B_F, as in ``alignment_path``.
    predictor : {0, 1, 2}, default=1
        Order of the predictor from point to point; it affects time alone.
    C : float, list of float or "auto", default="auto"
        Penalty of the SVM. Cross-validation chooses from a list; "auto": from 1, 10 and 100, without it 10.
    cv : int, splitter, iterable of (train, test) or None, default=5
        Folds by which a point is chosen; an integer is lowered to the size of the smallest class. None: no choice is
        made, and the last point that has features, and at most ``max_features``, is used.
    scoring : str or callable, default="accuracy"
        Score to maximise, as in SparseSVCPath.
    max_features : int, default=None
        The most features that a point may have to be judged and used. None: all.
    svm : {"kernel", None}, default="kernel"
        Whether to train SVMs, which takes an n x n matrix for each thread. None: the path alone, a selector; ``cv``
        is not used then.
    class_weight : dict or "balanced", default=None
        Class weights, multiplied with the sample weights, in alignments and SVMs.
    max_time : float, default=None
        Time limit in seconds, after which the best point judged so far is used.
    n_jobs : int, default=None
        Number of threads. None: as many as are worthwhile, at most all cores available to the process; -1: all of
        these, -2: all but one. The result does not depend on it.
    verbose : int or callable, default=0
        1: a progress line on standard error, 2: one line for each point that is judged. A callable is called after each
        with a ``Turn``, whose ``taken`` counts points, and the number of all points.

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
    training_ : Training
        The training columns of the features on the usable part of the path, which ``at`` trains on and ``predict``
        needs: as large as those columns of X.

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

    def __init__(
        self, kernel: str = "rbf", *, gamma: float | str | ArrayLike = "scale", degree: int = 3, coef0: float = 1.0,
        lambda1: float | str = "auto", lambda2: Any = "auto", eps: float = 1e-4, p_start: float = 2.0,
        p_end: float = 1.0, step: float = 0.01, divergence: Any = "euclidean", predictor: int = 1, C: Any = "auto",
        cv: Any = 5, scoring: str | Callable[..., float] = "accuracy", max_features: int | None = None,
        svm: str | None = "kernel", class_weight: dict | str | None = None, max_time: float | None = None,
        n_jobs: int | None = None, verbose: int | Callable[..., Any] = 0,
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
        self.class_weight = class_weight
        self.max_time = max_time
        self.n_jobs = n_jobs
        self.verbose = verbose

    def fit(self, X: MatrixLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Compute the path, choose a point by cross-validation, and train the SVM.

        Cost: two passes over X and one for each fold; memory for p numbers, the path, the columns of active features
        for each fold, and an n x n kernel for each thread. X is not modified.

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
            self._check_samples(X.shape[0])
            design, _, digest, _, _ = arranged(
                self.space_, X, codes, weights, None, workers, trace, centre=False, to_csc=True
            )
            source = Source(design, checked_gammas(self.gamma, design), options.kernel, codes, classes.size)
            aligned = source.aligned(weights, trace)
            watched = clock if len(options.formulations) == 1 else None  # several have equally many points
            paths = [source.path(each, aligned, watched) for each in options.formulations]
            folds = self._folds(codes, weights)
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
                training = source.training([path], aligned, weights, self._first(path))
        self._forget()
        self.classes_, self.fingerprint_, self.C_ = classes, digest, options.Cs[chosen.which_C]
        if judged is not None:
            self.cv_results_ = judged.results(paths, options)
            path = replace(path, cv_score=judged.mean[chosen.which, chosen.which_C])
        if chosen.score is not None:
            self.best_index_, self.best_score_ = chosen.place, chosen.score
        self.path_ = path
        if training is not None:
            self.training_ = training
        self._use(chosen.place, reason_of(path, chosen, clock, bool(folds)), clock, trace)
        self._tell(clock)
        return self

    def _tell(self, clock: Clock) -> None:
        """Warn of what did not go as asked for; raise KeyboardInterrupt after Ctrl-C."""
        if clock.interrupted:
            raise KeyboardInterrupt
        if self.selection_.stop is StopReason.MAX_TIME:
            warnings.warn(self.selection_.stop_reason, ConvergenceWarning, stacklevel=3)
        if not self.selection_.features.size:
            message = "no feature was selected, so every prediction is the same class: no column agrees with the labels"
            warnings.warn(message, FewerFeaturesWarning, stacklevel=3)

    def _checked_options(self) -> Options:
        """What the fit needs of the parameters; ValueError for invalid ones."""
        lambdas = list(self.lambda2) if isinstance(self.lambda2, (list, tuple, np.ndarray)) else [self.lambda2]
        if not lambdas:
            raise ValueError("lambda2 is an empty list: pass a number, 'auto' or a list of these")
        rest = (self.eps, self.p_start, self.p_end, self.step, self.divergence, self.predictor)
        formulations = [checked_formulation(self.lambda1, each, *rest) for each in lambdas]
        if self.max_features is not None:
            check.integer("max_features", self.max_features)
        check.one_of("svm", self.svm, SVMS)
        if not callable(self.verbose):
            check.integer("verbose", int(self.verbose) if isinstance(self.verbose, bool) else self.verbose, least=0)
        judged = self.cv is not None and self.svm is not None
        given = (AUTO_CS if judged else AUTO_CS[1]) if isinstance(self.C, str) and self.C == "auto" else self.C
        Cs = check.one_or_more("C", given, AUTO_CS[1], check.SMALLEST, check.LARGEST)
        if not judged and (len(Cs) > 1 or len(formulations) > 1):
            raise ValueError("a list of C or lambda2 is chosen from by cross-validation: set cv, or pass one value")
        return Options(self._kernel(), formulations, Cs, None if self.max_features is None else int(self.max_features))

    def _kernel(self) -> ColumnKernel:
        """The kernel of each column; ValueError for invalid parameters."""
        return checked_kernel(self.kernel, self.gamma, self.degree, self.coef0)

    def _check_samples(self, n_samples: int) -> None:
        if self.svm is not None and n_samples > MOST_SAMPLES:
            raise InvalidDataError(
                f"X has {n_samples:,} samples, so that a kernel matrix takes {8e-9 * n_samples**2:.1f} GB; at most "
                f"{MOST_SAMPLES:,} are supported. Use svm=None for the path alone, and train a linear model on the "
                "features that it selects, or fit on a sample of the rows"
            )

    def _folds(self, codes: np.ndarray, weights: np.ndarray) -> list[np.ndarray]:
        """Test rows of each fold; none if no choice is to be made."""
        if self.cv is None or self.svm is None:
            return []
        cv = self.cv
        if check.is_integer(cv):
            check.integer("cv", cv, least=2)
            fewest = int(np.bincount(codes[weights > 0.0]).min())
            if fewest < 2:
                message = "a class has only one sample, so nothing can be held out: no point is chosen by cv"
                warnings.warn(message, ConvergenceWarning, stacklevel=3)
                return []
            cv = min(cv, fewest)
        return held_out_parts(cv, codes, weights)

    def _first(self, path: AlignmentPath) -> int:
        """The first point that may be used."""
        return path.place(int(self.max_features)) if self.max_features is not None and path.numbers.size else 0

    def _forget(self) -> None:
        """Remove what an earlier fit may have set and this one may not."""
        for name in ("cv_results_", "best_index_", "best_score_", "training_", "machine_"):
            self.__dict__.pop(name, None)

    def _use(self, index: int, reason: tuple[StopReason, str], clock: Clock, trace: Trace) -> None:
        """Train the SVM of a point, and set what follows."""
        point = self.path_.point(index)
        if self.svm is not None:
            training = self.training_
            rows = np.flatnonzero(training.weights > 0.0)
            with trace.step("solve"):
                if point.features.size:
                    self.machine_ = trained(training.gram(point), training, rows, self.C_)
                else:
                    self.machine_ = constant(training, rows)
        self.point_ = index
        without = self.path_.zero_objective - (point.objective - point.deviation_bound)
        self.selection_ = Selection(
            features=point.features,
            weights=point.weights,
            intercept=0.0,
            stop_reason=reason[1],
            stop=reason[0],
            certificate=Certificate(point.deviation_bound, 0.0, point.deviation_bound, 0.0, without),
            trace=trace,
            interrupted=clock.interrupted,
        )

    def _set_selection(self, selection: Selection) -> None:
        self.selection_ = selection

    def _restore(self) -> None:
        """Check that the fitted attributes belong together, as after a fit; ValueError if not."""
        trained = self.svm is not None
        if not trained == hasattr(self, "training_") == hasattr(self, "machine_"):
            raise ValueError("svm and the SVM in the file do not agree")
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
        return proof(self.selection_.certificate, self.n_features_in_)

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
        fitted, point = copy.copy(self), self.path_.point(index)
        size = f"{point.features.size:,} feature{'' if point.features.size == 1 else 's'}"
        text = f"{size} at p = {point.p:g}, from the path of a fit that stopped with: {self.selection_.stop_reason}"
        fitted._use(index, (self.selection_.stop or StopReason.CONVERGED, text), Clock(np.inf), self.selection_.trace)
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
        X, features = self._checked(X), self.selection_.features
        columns = self.space_.input_columns(X, features)
        self._check_selected(columns)
        places = np.arange(features.size)
        new = columns_of(self.space_.design(columns, keep=places).take(places))
        return self.training_.scores(new, self.path_.point(self.point_), self.machine_)

    predict = available_if(lambda self: self.svm is not None)(LinearClassifier.predict)
