"""SparseSVCPath: the elastic-net SVM over a whole grid of (alpha, beta), as a scikit-learn estimator."""

import functools
from collections.abc import Callable
from dataclasses import replace
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from thresher.errors import warn
from thresher.estimators.shared import (
    INTEGER,
    REAL,
    SEEN,
    Attribute,
    FoldScore,
    MatrixLike,
    PointProgress,
    check,
    cv_results,
    fold_score,
    held_out_parts,
    warn_of_scoring,
)
from thresher.estimators.sparse_svm.svc import ElasticSVC, SparseSVC, summable
from thresher.families.sparse_svm import GridWalk, best_point, certified, grid_of, stop
from thresher.results import Grid, StopReason, Trace
from thresher.state import ArrayReader, ArrayWriter, fields, get_parts, integer, need, required

Supports = list[tuple[np.ndarray, np.ndarray]]  # of each fold: where the features of each point begin, and these
SCREENING = ("features_removed", "samples_removed", "screened")  # of a grid
GRID_CHECKS = {
    "n_betas": check.as_integer,
    "n_alphas": check.as_integer,
    "betas": check.either({None: None}, functools.partial(check.penalties, dimensions=(1,))),
    "alphas": check.either({None: None}, functools.partial(check.penalties, dimensions=(1, 2))),
    "beta_ratio": check.either({"auto": None}, check.as_fraction),
    "alpha_ratio": check.either({"auto": None}, check.as_fraction),
}
CHOICE = ("scores_", "supports_", "best_index_", "best_score_")  # what cross-validation sets; the rest follows
SHARED_ATTRIBUTES = (*SEEN, "_library", "classes_", "fingerprint_")  # of a point and the grid
SHARED_PARAMETERS = ("smoothing", "scale", "fit_intercept", "screening", "tol", "class_weight", "n_jobs")


def get_grid(reader: ArrayReader, part: Any, name: str, path: Any) -> Grid:
    """The grid of a SparseSVCPath that has its classes."""
    across = () if path.classes_.size == 2 else (path.classes_.size,)
    return Grid.from_state(reader, part, path.n_features_in_, across)


def put_scores(writer: ArrayWriter, name: str, scores: np.ndarray) -> Any:
    """The scores of the folds, one row for each."""
    return writer.put(name, scores.reshape(len(scores), -1), "<f8")


def get_scores(reader: ArrayReader, part: Any, name: str, path: Any) -> np.ndarray:
    """The scores of a SparseSVCPath that has its grid."""
    grid = path.path_
    return reader.get(part, "<f8", (None, grid.alphas.size), name, finite=False).reshape(-1, *grid.shape)


def put_supports(writer: ArrayWriter, name: str, supports: Supports) -> Any:
    """The features of all models of each fold, end to end."""
    return [
        {
            "begins": writer.put(f"supports.{fold}.begins", begins, "<i8"),
            "ids": writer.put(f"supports.{fold}.ids", ids, "<i8"),
        }
        for fold, (begins, ids) in enumerate(supports)
    ]


def get_supports(reader: ArrayReader, part: Any, name: str, path: Any) -> Supports:
    """The features of a SparseSVCPath that has its grid."""
    need(isinstance(part, list), f"{name} must be a list")
    folds = [fields(fold, required("begins", "ids"), name) for fold in part]
    what, size, count = f"the features of {name}", path.path_.alphas.size, path.n_features_in_
    return [get_parts(reader, fold["begins"], fold["ids"], size, what, count=count) for fold in folds]


def get_point(reader: ArrayReader, part: Any, name: str, path: Any) -> tuple[int, int]:
    """The indices of a point."""
    need(isinstance(part, list) and len(part) == 2, f"{name} must be a pair")
    return integer(part[0], name), integer(part[1], name)


GRID_ATTRIBUTES = {
    "n_iter_": INTEGER,
    "path_": Attribute(lambda writer, name, grid: grid.to_state(writer), get_grid),
    "scores_": Attribute(put_scores, get_scores, optional=True),
    "supports_": Attribute(put_supports, get_supports, optional=True),
    "best_index_": Attribute(lambda writer, name, point: [int(index) for index in point], get_point, optional=True),
    "best_score_": REAL._replace(optional=True),
}


class SparseSVCPath(ElasticSVC):
    """SparseSVC at every point of a grid of (alpha, beta), each solved from its neighbour; cross-validation on top.

    The grid runs from the largest beta, at which no feature is selected, downwards; for each beta from the largest
    alpha downwards. On request, safe screening tests prove at each point which features and samples cannot matter.

    Parameters
    ----------
    n_betas, n_alphas : int, default=10, 100
        Number of values of beta and of alpha in the grid, before ``beta_ratio="auto"`` extends it.
    betas : array-like of shape (n_betas,), default=None
        Values of beta. None: logarithmic, from the largest down to ``beta_ratio`` times that.
    alphas : array-like of shape (n_alphas,) or (n_betas, n_alphas), default=None
        Values of alpha, for all betas or for each. None: logarithmic, for each beta from its largest down to
        ``alpha_ratio`` times that.
    beta_ratio, alpha_ratio : float or "auto", default="auto"
        Smallest over largest value (in the paper 0.05, 0.01). "auto": 0.05, 0.001 and, with ``cv`` but no ``betas`` or
        ``alphas``, a third more values as long as the best point is among the last 5 %, to about 0.001 and 1e-6.
    smoothing : float in (0, 1), default=0.5
        Width of the smooth part of the hinge loss, as in SparseSVC.
    scale : {"auto", "std", "max", "unit", None}, default="auto"
        How features are scaled, as in SparseSVC. The paper's setting is None.
    fit_intercept : bool, default=True
        Whether to fit an intercept, as in SparseSVC.
    screening : {"auto", "sifs+gap", "sifs", "sifs, ifs first", "iss", "ifs", "gap", None}, default="auto"
        Which safe screening tests are run, as in SparseSVC.
    tol : float, default=1e-6
        Duality gap to reach, as in SparseSVC.
    cv : int, splitter or iterable of (train, test), default=None
        Cross-validation folds to choose a point by, of an integer by what rows hold, as in FGMClassifier. None:
        ``predict`` uses the last point of the grid. Splitters that need groups are passed as
        ``list(splitter.split(X, y, groups))``.
    scoring : str or callable, default="accuracy"
        Score to maximise: name of a scorer of scikit-learn, or a scorer that uses ``predict`` or
        ``decision_function``. A callable is passed row numbers as X. Scorers that accept ``sample_weight`` get it.
        Without ``cv`` it has no effect, as a warning says.
    class_weight : dict or "balanced", default=None
        Class weights, multiplied with the sample weights. Without "balanced", points with a large alpha predict the
        larger class only.
    max_time : float, default=None
        Time limit in seconds, after which the fit ends with the points solved so far.
    n_jobs : int, default=None
        Number of threads. None: as many as are worthwhile (in scikit-learn: one), at most all cores available to the
        process; -1: all of these, -2: all but one. The result does not depend on it.
    verbose : int or callable, default=0
        1: a progress line on standard error, 2: one line for each beta. A callable is called after each point with a
        ``Turn``, whose ``taken`` counts points, and the number of all points, those of the folds included.

    Attributes
    ----------
    path_ : Grid
        ``betas`` (n_betas,); ``alphas``, ``gap``, ``n_features``, ``features_removed``, ``samples_removed``, ... of
        shape (n_betas, n_alphas); ``screened`` marks the points where something was tested; ``at(i, j)`` is the model
        at a point, ``at(i, j).proven_inactive`` what was proven there, ``coef(i, j)`` its weights as a sparse matrix.
    scores_ : ndarray of shape (n_folds, n_betas, n_alphas)
        Scores of the folds, with ``cv``.
    cv_results_ : dict
        The same under the keys of scikit-learn's ``GridSearchCV``, with ``cv``: ``params``, ``param_alpha``,
        ``param_beta``, ``split{i}_test_score``, ``mean_test_score``, ``std_test_score`` and ``rank_test_score``. Point
        (i, j) has the position i * n_alphas + j.
    best_index_, best_score_, best_estimator_ : tuple, float, SparseSVC
        The point with the best mean score, the first if there are ties; with ``cv``. ``best_score_`` is not an estimate
        for new data, since the same folds chose the point (on pure noise it was up to 0.58): for that use
        ``cross_val_score`` on the whole estimator (nested cross-validation) or samples that ``fit`` did not see.
    selection_, coef_, intercept_, classes_, n_features_in_, feature_names_in_, fingerprint_
        As in SparseSVC, of the best point, or of the last.

    Examples
    --------
    >>> from thresher import SparseSVCPath
    >>> from thresher.datasets import make_wide
    >>> data = make_wide(200, 500, n_relevant=5, random_state=0)
    >>> path = SparseSVCPath(n_betas=4, n_alphas=5, cv=3).fit(data.X, data.y)
    >>> path.path_
    Grid(4 betas x 6 alphas, 24 points solved; features 0 to 390)
    >>> path.best_index_, path.best_estimator_.selection_.features.size
    ((2, 4), 66)
    """

    path_: Grid
    _saved: ClassVar = GRID_ATTRIBUTES
    _checks: ClassVar = ElasticSVC._checks | GRID_CHECKS

    def __init__(
        self, n_betas: int = 10, n_alphas: int = 100, *, betas: ArrayLike | None = None,
        alphas: ArrayLike | None = None, beta_ratio: float | str = "auto", alpha_ratio: float | str = "auto",
        smoothing: float = 0.5, scale: str | None = "auto", fit_intercept: bool = True,
        screening: str | None = "auto", tol: float = 1e-6, cv: Any = None,
        scoring: str | Callable[..., float] = "accuracy", class_weight: dict | str | None = None,
        max_time: float | None = None, n_jobs: int | None = None, verbose: int | Callable[..., Any] = 0,
    ):  # fmt: skip
        self._store(locals())

    def fit(self, X: MatrixLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Solve all points, with ``cv`` also those of every fold. X is neither modified nor kept.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n_samples, n_features)
            Samples.
        y : array-like of shape (n_samples,)
            Class labels.
        sample_weight : array-like of shape (n_samples,), default=None
            Sample weights.

        Returns
        -------
        self : SparseSVCPath
            The fitted estimator.
        """
        trace = Trace()
        given = self._checked_options()
        warn_of_scoring(self.scoring, self.cv)
        with self._arranged(X, y, sample_weight, trace) as (training, rows, classes, codes, base):
            folds = [] if self.cv is None else held_out_parts(self.cv, codes, training.weights, base.content)
            score = self._score(classes, codes, folds, sample_weight) if folds else None
            progress = PointProgress(self.verbose, 0)
            walk = GridWalk(
                training, folds, score, tol=float(self.tol), rules=self._rules, trace=trace,
                deadline=self._deadline(trace), progress=progress,
            )  # fmt: skip
            penalties = grid_of(training.svms, **{name: getattr(given, name) for name in GRID_CHECKS})
            penalties, scored = walk.run(penalties)
            progress.close()
            grid = walk.grid(penalties)
        self._set_fitted(classes, base.fingerprint, walk.selection(), int(grid.steps.sum()))
        self.path_ = grid
        if scored is not None:
            self._choose(scored.scores, scored.supports)
            self.selection_ = self.best_estimator_.selection_
        if walk.ended:
            self._ended_early(walk.interrupted, chosen=scored is not None)
        self._warn_of_outcome()
        worst, proven = np.nanmax(grid.gap), self.selection_.certificate
        if worst > self.tol and proven is not None and proven.gap <= self.tol:
            count = int((grid.gap > self.tol).sum())
            message = f"{count} points did not converge: duality gaps above tol={self.tol:g}, up to {worst:.1e}"
            warn(message, ConvergenceWarning)
        if walk.interrupted:
            raise KeyboardInterrupt
        self._warn_of_leak(rows, codes)
        return self

    def _score(
        self, classes: np.ndarray, codes: np.ndarray, folds: list[np.ndarray], sample_weight: ArrayLike | None
    ) -> FoldScore:
        """How the models of the folds are scored."""
        weights = None if sample_weight is None else summable(check.sample_weights(sample_weight, codes.size))
        return fold_score(self.scoring, classes, codes, folds, weights, "SparseSVC")

    def _ended_early(self, interrupted: bool, chosen: bool) -> None:
        """State in ``stop_reason`` and, unless after Ctrl-C, in a warning how many points were solved."""
        what = f"{int(self.path_.solved.sum())} of {self.path_.gap.size} points solved"
        if chosen:
            what += ", though the best one is at the end of the grid"
        elif self.cv is not None:
            what += " and none chosen by cross-validation: the last one, with the most features, is used"
        stop = StopReason.INTERRUPTED if interrupted else StopReason.MAX_TIME
        reason = f"{stop.value}, with {what}; {self.selection_.stop_reason}"
        self.selection_ = replace(self.selection_, stop_reason=reason, stop=stop, interrupted=interrupted)
        if not interrupted:
            warn(reason, ConvergenceWarning)

    def _checked_options(self) -> Any:
        given = super()._checked_options()
        if given.alphas is not None and given.alphas.ndim == 2:
            n_betas = given.n_betas if given.betas is None else given.betas.size
            if given.alphas.shape[0] != n_betas:
                raise ValueError(f"alphas has {given.alphas.shape[0]} rows, but there are {n_betas} betas")
        return given

    def _choose(self, scores: np.ndarray, supports: Supports) -> None:
        """Choose the point with the best mean score; of ties the first (on a grid made here: the larger penalties)."""
        grid = self.path_
        self.scores_ = scores
        self.supports_ = supports
        betas = np.repeat(grid.betas, grid.shape[1]).tolist()
        points = zip(grid.alphas.ravel().tolist(), betas, strict=True)
        params = [{"alpha": alpha, "beta": beta} for alpha, beta in points]
        self.cv_results_ = cv_results(params, scores.reshape(len(scores), -1))
        self.best_index_ = best_point(scores)
        self.best_score_ = float(self.cv_results_["mean_test_score"].reshape(grid.shape)[self.best_index_])
        self.best_estimator_ = self.at(*self.best_index_)

    def _restore(self) -> None:
        grid = self.path_
        check_grid(grid)
        chosen = [hasattr(self, name) for name in CHOICE]
        check.ensure(all(chosen) or not any(chosen), "a part of the cross-validation results is missing")
        if all(chosen):
            same = len(self.supports_) == len(self.scores_)
            check.ensure(same, "scores_ and supports_ have different numbers of folds")
            saved = self.best_index_, self.best_score_
            self._choose(self.scores_, self.supports_)
            best = self.best_index_, self.best_score_
            check.ensure(saved == best, "best_index_ is not the point with the best mean score")
        point = grid.at(*self._point)
        pairs = [(getattr(self.selection_, name), getattr(point, name)) for name in ("features", "weights")]
        same = all(np.array_equal(one, other) for one, other in pairs)
        check.ensure(same, "the model differs from that of its point of the grid")

    def at(self, i: int, j: int) -> SparseSVC:
        """The SparseSVC at point (i, j) of the grid, fitted: nothing is solved and X is not needed.

        Its duality gap is within ``tol``; a SparseSVC that is fitted on its own is solved more accurately.

        Parameters
        ----------
        i, j : int
            Indices of its beta and of its alpha; negative ones count from the end.

        Returns
        -------
        SparseSVC
            Fitted, with the parameters of this estimator and the penalties of the point.
        """
        check_is_fitted(self)
        grid, point = self.path_, self.path_.at(i, j)
        fitted = SparseSVC(point.alpha, point.beta, **{name: getattr(self, name) for name in SHARED_PARAMETERS})
        fitted.__dict__.update({name: value for name, value in vars(self).items() if name in SHARED_ATTRIBUTES})
        fitted.features_removed_ = int(grid.features_removed[i, j])
        fitted.samples_removed_ = int(grid.samples_removed[i, j])
        if point.proven_inactive is not None:
            fitted.proven_inactive_ = point.proven_inactive
        fitted.n_iter_ = max(1, int(grid.steps[i, j]))
        n_problems = grid.across[0] if grid.across else 1  # each class against the rest
        at_zero = n_problems * (1.0 - 0.5 * self.smoothing)
        why = stop(point.gap, self.tol)
        fitted.selection_ = replace(
            self.selection_,
            features=point.features,
            weights=point.weights,
            intercept=point.intercept,
            stop_reason=why.text,
            stop=why.reason,
            certificate=certified(point.objective, point.gap, at_zero),
            fitted_features=replace(self._columns, spread=point.spread),
        )
        return fitted

    def _alone(self) -> SparseSVC:
        return self.at(*self._point)

    @available_if(lambda self: self.cv is not None)
    def fold_support(self, fold: int, i: int, j: int) -> np.ndarray:
        """Features selected by the model that was fitted without a fold.

        Parameters
        ----------
        fold : int
            Index of the fold, from 0.
        i, j : int
            The point, as in ``at``.

        Returns
        -------
        ndarray of int64
            The features, sorted.
        """
        check_is_fitted(self, "supports_")
        if not check.is_integer(fold) or not 0 <= fold < len(self.supports_):
            raise ValueError(f"fold must be an integer from 0 to {len(self.supports_) - 1}, got {fold!r}")
        begins, ids = self.supports_[fold]
        point = self.path_.position(i, j)
        return ids[begins[point] : begins[point + 1]]

    @available_if(lambda self: self.cv is not None)
    def stability(self, i: int, j: int) -> tuple[np.ndarray, np.ndarray]:
        """Fraction of the folds in which each feature is selected.

        Parameters
        ----------
        i, j : int
            The point, as in ``at``.

        Returns
        -------
        features : ndarray of int64
            Features selected in any fold, the most frequent first.
        shares : ndarray of float
            Fraction of the folds whose model selects each feature.
        """
        check_is_fitted(self, "supports_")
        selected = np.concatenate([self.fold_support(fold, i, j) for fold in range(len(self.supports_))])
        features, counts = np.unique(selected, return_counts=True)
        order = np.argsort(-counts, kind="stable")
        return features[order], counts[order] / len(self.supports_)

    _chosen_by = "--point"

    @property
    def _point(self) -> tuple[int, int]:
        """The point that is predicted with: the best, or the last one solved."""
        return self.best_index_ if hasattr(self, "best_index_") else self.path_.last

    def _origin(self) -> list[str]:
        i, j = self._point
        return [f"grid: {self.path_}; chosen: point {i}, {j}"]

    def _notes(self) -> list[str]:
        if not hasattr(self, "best_index_"):
            return []
        places = zip(("beta", "alpha"), self.best_index_, self.path_.shape, strict=True)
        ends = [name for name, place, count in places if place == count - 1 > 0]
        advice = [f"a smaller {name}_ratio may be better" for name in ends]
        return [f"the best point is at the end of the grid: {', '.join(advice)}"] if advice else []

    def _own_facts(self) -> dict[str, Any]:
        grid, (i, j) = self.path_, self._point
        arrays = {name: getattr(grid, name) for name in ("betas", "alphas", "gap", *SCREENING)}
        scores = {}
        if hasattr(self, "scores_"):
            scores = {"scores": self.scores_.mean(axis=0), "best_score": self.best_score_}
        chosen = {"point": [i, j], "alpha": grid.alphas[i, j], "beta": grid.betas[i]}
        return chosen | {"grid": arrays | {"selected": grid.n_features}} | scores


def check_grid(grid: Grid) -> None:
    """Raise ValueError if a grid from a file cannot be that of a fit."""
    check.ensure(grid.solved.any(), "no point of the grid was solved")
    valid = np.nanmin(grid.gap) >= 0.0 and not np.isinf(grid.gap).any()
    check.ensure(valid, "the grid contains negative or infinite duality gaps")
    possible = grid.features_removed.max() <= grid.n_features_in and grid.samples_removed.max() <= grid.n_samples
    check.ensure(possible, "more features or samples were removed than there are")
