"""SparseSVCPath: the elastic-net SVM over a whole grid of (alpha, beta), as a scikit-learn estimator."""

import difflib
import warnings
from dataclasses import replace

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import check_scoring, get_scorer_names
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from thresher.estimators import parameters as check
from thresher.estimators.folds import held_out_parts
from thresher.estimators.grid import GridMaker, ends, in_units_of_X
from thresher.estimators.progress import PointProgress
from thresher.estimators.sparse_svm import ElasticSVC, SparseSVC, ended
from thresher.families.sparse_svm import grid_of, walk
from thresher.results import Certificate, Step, Trace

SHARED = ("gamma", "scale", "fit_intercept", "screening", "tol", "class_weight", "n_jobs")


class SparseSVCPath(ElasticSVC):
    """SparseSVC at every point of a grid of (alpha, beta), each solved from its neighbour; cross-validation on top.

    The grid runs from the largest beta, where no feature has a weight, down; for each beta from the largest alpha,
    where the model is known in closed form, down. Safe tests remove features and samples at each point.

    Parameters
    ----------
    n_betas, n_alphas : int, default=10, 100
        Size of the grid.
    betas : array-like of shape (n_betas,), default=None
        The values of beta; None: logarithmic, from the largest down to ``beta_ratio`` times that.
    alphas : array-like of shape (n_alphas,) or (n_betas, n_alphas), default=None
        The values of alpha, for all betas or for each; None: logarithmic, for each beta from its largest down to
        ``alpha_ratio`` times that.
    beta_ratio, alpha_ratio : float, default=0.05, 0.01
        Where the grid ends.
    gamma, scale, fit_intercept, screening, tol, class_weight, n_jobs
        As in SparseSVC.
    cv : int, splitter or iterable of (train, test), default=None
        Folds to choose a point by. Without it ``predict`` uses the last point of the grid.
    scoring : str or callable, default="accuracy"
        What is chosen for, a name or a scorer of scikit-learn's that asks for ``predict`` or ``decision_function``.
    max_time : float, default=None
        Seconds after which the fit ends with the points that it has reached.
    verbose : int or callable, default=0
        1 draws a progress line, 2 one line for each beta, on standard error. A function is called after each point with
        a ``Turn``, whose ``taken`` counts points, and the number of all points, those of the folds included.

    Attributes
    ----------
    path_ : Grid
        ``betas`` (n_betas,); ``alphas``, ``gap``, ``features_removed``, ``samples_removed``, ``selected``, ... of shape
        (n_betas, n_alphas); ``coef(i, j)`` the weights at a point, sparse.
    scores_ : ndarray of shape (n_folds, n_betas, n_alphas)
        Scores of the folds, with ``cv``.
    best_index_, best_score_, best_estimator_ : tuple, float, SparseSVC
        The point with the best mean score, of equals that with the larger penalties; with ``cv``.
    selection_, coef_, intercept_, classes_, n_features_in_, feature_names_in_, fingerprint_
        As in SparseSVC, of the best point, or of the last.

    Examples
    --------
    >>> from thresher import SparseSVCPath
    >>> from thresher.datasets import make_wide
    >>> data = make_wide(200, 500, n_relevant=5, random_state=0)
    >>> path = SparseSVCPath(n_betas=4, n_alphas=5, cv=3).fit(data.X, data.y)
    >>> path.path_
    Grid(4 betas x 5 alphas, 20 points solved; features 0 to 395)
    >>> path.best_index_, path.best_estimator_.selection_.features.size
    ((1, 4), 7)
    """

    def __init__(
        self, n_betas=10, n_alphas=100, *, betas=None, alphas=None, beta_ratio=0.05, alpha_ratio=0.01, gamma=0.5,
        scale=None, fit_intercept=False, screening="auto", tol=1e-6, cv=None, scoring="accuracy", class_weight=None,
        max_time=None, n_jobs=None, verbose=0,
    ):  # fmt: skip
        self.n_betas = n_betas
        self.n_alphas = n_alphas
        self.betas = betas
        self.alphas = alphas
        self.beta_ratio = beta_ratio
        self.alpha_ratio = alpha_ratio
        self.gamma = gamma
        self.scale = scale
        self.fit_intercept = fit_intercept
        self.screening = screening
        self.tol = tol
        self.cv = cv
        self.scoring = scoring
        self.class_weight = class_weight
        self.max_time = max_time
        self.n_jobs = n_jobs
        self.verbose = verbose

    def fit(self, X, y, sample_weight=None):
        """Solve all points; with ``cv`` those of every fold, too. X is neither changed nor kept."""
        trace = Trace()
        options = self._checked_options()
        deadline = np.inf if self.max_time is None else trace.begun + check.positive("max_time", self.max_time)
        with self._arranged(X, y, sample_weight, trace) as data:
            folds = [] if self.cv is None else held_out_parts(self.cv, data.codes, data.weights)
            scorer = self._scorer(data.classes) if folds else None
            betas, alphas = grid_of(data.svms, **options)
            watch = PointProgress(self.verbose, alphas.size * (1 + len(folds)))
            walker = _Walker(self, data, betas, alphas, trace, deadline, watch)
            grid, selection = walker.whole()
            scores, supports = walker.folds(folds, scorer) if not walker.ended else (None, None)
            watch.close(trace)
        for name in ("scores_", "best_index_", "best_score_", "best_estimator_", "supports_"):
            self.__dict__.pop(name, None)
        self.path_ = grid
        self._finished(data, selection, max(1, int(grid.steps.sum())))
        if scores is not None:
            self._choose(scores, supports)
        worst = np.nanmax(grid.gap)
        if worst > self.tol and selection.certificate.gap <= self.tol:
            message = f"{int((grid.gap > self.tol).sum())} points have a gap above tol={self.tol:g}, up to {worst:.1e}"
            warnings.warn(message, ConvergenceWarning, stacklevel=2)
        if walker.interrupted:
            raise KeyboardInterrupt
        return self

    def _checked_options(self):
        """What ``grid_of`` takes; raises for parameters that cannot be."""
        super()._checked_options()
        if not callable(self.verbose):
            check.whole("verbose", int(self.verbose) if isinstance(self.verbose, bool) else self.verbose, least=0)
        betas = None if self.betas is None else check.positive_array("betas", self.betas, (1,))
        alphas = None if self.alphas is None else check.positive_array("alphas", self.alphas, (1, 2))
        if alphas is not None and alphas.ndim == 2:
            rows = check.whole("n_betas", self.n_betas) if betas is None else betas.size
            if alphas.shape[0] != rows:
                raise ValueError(f"alphas has {alphas.shape[0]} rows, but there are {rows} betas")
        return {
            "n_betas": check.whole("n_betas", self.n_betas),
            "n_alphas": check.whole("n_alphas", self.n_alphas),
            "beta_ratio": check.fraction("beta_ratio", self.beta_ratio),
            "alpha_ratio": check.fraction("alpha_ratio", self.alpha_ratio),
            "betas": betas,
            "alphas": alphas,
        }

    def _scorer(self, classes):
        if isinstance(self.scoring, str) and self.scoring not in get_scorer_names():
            near = difflib.get_close_matches(self.scoring, get_scorer_names(), 3)
            hint = f"; perhaps {', '.join(map(repr, near))}" if near else ", such as 'accuracy', 'f1' or 'roc_auc'"
            raise ValueError(f"scoring={self.scoring!r} is not a name that scikit-learn knows{hint}")
        return check_scoring(_Told(classes), scoring=self.scoring)

    def _choose(self, scores, supports):
        """The point with the best mean score; of equals the first, which has the larger penalties."""
        mean = scores.mean(axis=0)
        self.scores_, self.supports_ = scores, supports
        self.best_index_ = tuple(int(at) for at in np.unravel_index(np.argmax(mean), mean.shape))
        self.best_score_ = float(mean[self.best_index_])
        self.best_estimator_ = self.at(*self.best_index_)
        self._set_selection(self.best_estimator_.selection_)

    def _restore(self):
        """Set what follows from the other fitted attributes, as after a fit."""
        if hasattr(self, "best_index_"):
            self.best_estimator_ = self.at(*self.best_index_)

    def at(self, i, j):
        """The SparseSVC at point (i, j) of the grid, fitted: nothing is solved and X is not needed."""
        check_is_fitted(self)
        i, j = (check.place(name, value) for name, value in (("i", i), ("j", j)))
        s = self.path_.number(i, j)
        i, j = divmod(s, self.path_.shape[1])
        grid, own = self.path_, self.selection_
        features, weights, intercept = grid.model(i, j)
        at_zero = (1.0 - 0.5 * self.gamma) * max(1, *grid.across, 1)
        value = float(grid.objective[i, j])
        bound = value - float(grid.gap[i, j]) * at_zero
        fitted = SparseSVC(
            float(grid.alphas[i, j]), float(grid.betas[i]), **{name: getattr(self, name) for name in SHARED}
        )
        for name in ("n_features_in_", "feature_names_in_", "classes_", "fingerprint_"):
            if hasattr(self, name):
                setattr(fitted, name, getattr(self, name))
        fitted.features_removed_ = int(grid.features_removed[i, j])
        fitted.samples_removed_ = int(grid.samples_removed[i, j])
        fitted.n_iter_ = max(1, int(grid.steps[i, j]))
        certificate, reason = Certificate(value, bound, value, bound, at_zero), ended(float(grid.gap[i, j]), self.tol)
        model = {"features": features, "weights": weights, "intercept": intercept}
        fitted._set_selection(replace(own, stop_reason=reason, certificate=certificate, **model))
        return fitted

    @available_if(lambda self: self.cv is not None)
    def fold_support(self, fold, i, j):
        """Features with a weight at point (i, j) in the model that was fitted without a fold."""
        check_is_fitted(self, "supports_")
        begins, ids = self.supports_[fold]
        s = self.path_.number(check.place("i", i), check.place("j", j))
        return ids[begins[s] : begins[s + 1]]

    @available_if(lambda self: self.cv is not None)
    def stability(self, i, j):
        """(features, share of the folds whose model has them) at point (i, j): features that hold up come first."""
        check_is_fitted(self, "supports_")
        found = np.concatenate([self.fold_support(fold, i, j) for fold in range(len(self.supports_))])
        features, counts = np.unique(found, return_counts=True)
        order = np.argsort(-counts, kind="stable")
        return features[order], counts[order] / len(self.supports_)


class _Told(ClassifierMixin, BaseEstimator):
    """A classifier that has been told its scores: X is the numbers of the rows."""

    def __init__(self, classes=None, scores=None):
        self.classes_, self.scores = classes, scores

    def fit(self, X, y):
        """Nothing to do."""
        return self

    def decision_function(self, rows):
        """The scores of the rows."""
        return self.scores[rows]

    def predict(self, rows):
        """The classes of the rows."""
        found = self.scores[rows]
        return self.classes_[(found > 0).astype(int) if found.ndim == 1 else found.argmax(axis=1)]


class _Walker:
    """Walks over the grid with the problems of the whole and of the folds, until the time is over or Ctrl-C."""

    def __init__(self, estimator, data, betas, alphas, trace, deadline, watch):
        self.data, self.betas, self.alphas, self.trace, self.watch = data, betas, alphas, trace, watch
        self.deadline, self.rules, self.tol = deadline, estimator._rules, float(estimator.tol)
        self.interrupted = self.ended = False
        self.done = 0

    def _points(self, svms):
        """As ``walk``, with a record of each point; ends early when it must, but not before the first point."""
        data, trace = self.data, self.trace
        points = walk(svms, self.betas, self.alphas, self.tol * svms[0].at_zero, self.rules)
        begun, before = trace.elapsed, data.sides.passes
        for i, j, found in points:
            passes = data.sides.passes - before
            trace.steps.append(Step("solve", trace.elapsed - begun, passes, int(passes * data.design.nbytes)))
            yield i, j, found
            self.done += 1
            gap = max(point.gap for point in found) / svms[0].at_zero
            features = max(point.ids.size for point in found)
            self.watch(self.betas[i], self.alphas[i, j], features, gap, self.done, trace)
            if trace.begun + trace.elapsed > self.deadline:
                self.ended = True
                return
            begun, before = trace.elapsed, data.sides.passes

    def whole(self):
        """(Grid, Selection of the last point reached)."""
        data = self.data
        maker = GridMaker(self.betas, self.alphas, data.svms, data.design, data.n_features)
        last = None
        try:
            for i, j, points in self._points(data.svms):
                maker.add(i, j, points)
                last = points
        except KeyboardInterrupt:
            if last is None:
                raise
            self.interrupted = self.ended = True
        selection = data.selection(last, self.tol, self.trace)
        return maker.grid(), replace(selection, interrupted=self.interrupted)

    def folds(self, folds, scorer):
        """(scores, supports) of all folds, or (None, None) where there are none or they could not be ended."""
        if not folds:
            return None, None
        data = self.data
        scores, supports = np.zeros((len(folds), *self.alphas.shape)), []
        try:
            for fold, test in enumerate(folds):
                weights = data.weights.copy()
                weights[test] = 0.0
                svms, ids = data.problems(weights, data.svms[0].row_squares), []
                for i, j, points in self._points(svms):
                    found = np.column_stack([svm.y * point.z for svm, point in zip(svms, points, strict=True)])
                    told = _Told(data.classes, found[:, 0] if len(svms) == 1 else found)
                    scores[fold, i, j] = scorer(told, test, data.y[test], **data.scoring_weights(test))
                    ids.append(in_units_of_X(data.design, points)[0])
                supports.append((ends(ids), np.concatenate(ids)))
        except KeyboardInterrupt:
            self.interrupted = self.ended = True
        return (None, None) if self.ended else (scores, supports)
