"""PathDisplay: how good the models along a fitted path are, against how many features they use."""

import copy
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.metrics import check_scoring
from sklearn.utils import check_consistent_length, column_or_1d
from sklearn.utils.multiclass import unique_labels
from sklearn.utils.validation import check_is_fitted

from thresher.data.input.validation import all_finite, check_columns
from thresher.errors import InvalidDataError
from thresher.report.drawing import pyplot, score_name
from thresher.results import AlignmentPath, Path

ROWS_AT_ONCE, STATIONS_AT_ONCE = 16384, 32  # scored together, so that memory stays small
WIDE_RANGE = 20  # ratio of the numbers of features from which the axis is logarithmic


@dataclass(kw_only=True, eq=False, repr=False)
class PathDisplay:
    """Score on given data against the number of features, from one fit.

    Use ``from_estimator`` to make one; the values drawn are then kept in the attributes.

    Parameters
    ----------
    numbers : ndarray of int
        Numbers of features, ascending.
    scores : ndarray of float
        Score of the model with each of these numbers; greater is better.
    chosen : int, default=None
        Number of features of the estimator itself; marked if it is one of ``numbers``.
    score_name : str, default="Score"
        Name of the score; label of the y-axis.
    number_name : str, default="features"
        What is counted: "features", or "features per class".
    name : str, default=None
        Name of the estimator for the legend.
    deviations : ndarray of float, default=None
        Standard deviation of each score over the folds, drawn as a band.

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes and Figure
        Axes and figure of the plot.
    line_ : matplotlib Line2D
        The curve.
    chosen_ : matplotlib Line2D or None
        The marked point.
    band_ : matplotlib PolyCollection or None
        The band of one deviation to both sides.

    Examples
    --------
    >>> import numpy as np
    >>> from thresher import PathDisplay
    >>> display = PathDisplay(numbers=np.array([1, 2, 4]), scores=np.array([0.7, 0.9, 0.9]), chosen=4)
    >>> display.best
    (2, 0.9)
    """

    numbers: np.ndarray
    scores: np.ndarray
    chosen: int | None = None
    score_name: str = "Score"
    number_name: str = "features"
    name: str | None = None
    deviations: np.ndarray | None = None

    @classmethod
    def from_estimator(
        cls, estimator: Any, X: Any = None, y: ArrayLike | None = None, *, sample_weight: ArrayLike | None = None,
        scoring: str | Callable[..., float] | None = None, name: str | None = None, ax: Any = None, **kwargs: Any,
    ) -> Self:  # fmt: skip
        """Score every model of ``estimator.path_`` on X and y, and plot; without X, what the fit scored itself.

        Cost: one validation of X, whose columns on the path are then taken once; a callable ``scoring`` is called with
        ``estimator.at(number)`` and X as given, which costs a check of X for each number.

        Parameters
        ----------
        estimator : fitted estimator
            An estimator with a ``path_``, for example FGMClassifier.
        X : array, sparse matrix or data frame of shape (n_samples, n_features), default=None
            Data to score on, preferably not the training data. None: mean and deviation over the folds of the fit's
            own cross-validation, its ``cv_results_``, which an AlignmentPathClassifier with ``cv`` has.
        y : array of shape (n_samples,), default=None
            Class labels; not without X.
        sample_weight : array of shape (n_samples,), default=None
            Sample weights.
        scoring : str or callable, default=None
            A scorer of scikit-learn, by name or as a callable. None: accuracy.
        name : str, default=None
            Name for the legend. None: the name of the estimator's class.
        ax : matplotlib Axes, default=None
            Axes to draw on. None: a new figure.
        **kwargs
            Passed to matplotlib's ``plot``.

        Returns
        -------
        PathDisplay
            Drawn, with the scores in its attributes.
        """
        pyplot("PathDisplay")  # raise first if matplotlib is missing, as scikit-learn does
        _check_path(estimator)
        if X is None:
            if y is not None or sample_weight is not None or scoring is not None:
                raise ValueError("y, sample_weight and scoring need X; without it the scores of the fit are drawn")
            values = _own_scores(estimator)
        elif y is None:
            raise ValueError("y is missing: pass the class labels of X")
        else:
            values = {
                "numbers": usable_numbers(estimator),
                "scores": path_scores(estimator, X, y, sample_weight, scoring),
                "chosen": _n_features_chosen(estimator),
                "score_name": score_name(scoring),
                "number_name": "features per class" if getattr(estimator, "per_class", False) else "features",
            }
        return cls(**values, name=type(estimator).__name__ if name is None else name).plot(ax=ax, **kwargs)

    @property
    def best(self) -> tuple[int, float]:
        """(number of features, score) of the best model; the one with the fewest features if there are ties."""
        best = int(np.nanargmax(self.scores))
        return int(self.numbers[best]), float(self.scores[best])

    def plot(self, ax: Any = None, *, name: str | None = None, **kwargs: Any) -> Self:
        """Plot the scores, and mark the estimator's own number of features.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Axes to draw on. None: a new figure.
        name : str, default=None
            Name for the legend. None: that of the display.
        **kwargs
            Passed to matplotlib's ``plot``, for example ``color`` or ``label``.

        Returns
        -------
        self : PathDisplay
            The display, drawn.
        """
        self.ax_ = pyplot("PathDisplay").subplots()[1] if ax is None else ax
        self.figure_ = self.ax_.figure
        name = self.name if name is None else name
        label = ("" if name is None else f"{name}: ") + f"best {self._in_words(*self.best)}"
        (self.line_,) = self.ax_.plot(self.numbers, self.scores, **{"label": label, **kwargs})
        self.band_ = None
        if self.deviations is not None:
            low, high = self.scores - self.deviations, self.scores + self.deviations
            self.band_ = self.ax_.fill_between(self.numbers, low, high, color=self.line_.get_color(), alpha=0.2)
        self.chosen_ = self._mark_chosen()
        self._draw_axes()
        return self

    def _in_words(self, number, score):
        features = self.number_name if number != 1 else self.number_name.replace("features", "feature", 1)
        return f"{score:.3g} with {number} {features}"

    def _mark_chosen(self):
        places = np.flatnonzero(np.asarray(self.numbers) == self.chosen)
        if places.size == 0:
            return None
        number, score = int(self.numbers[places[0]]), float(self.scores[places[0]])
        label = f"chosen: {self._in_words(number, score)}"
        style = {"marker": "o", "linestyle": "none", "color": self.line_.get_color()}
        return self.ax_.plot([number], [score], label=label, **style)[0]

    def _draw_axes(self):
        smallest, largest = np.min(self.numbers), np.max(self.numbers)
        if largest >= WIDE_RANGE * max(smallest, 1):
            self.ax_.set_xscale("log" if smallest > 0 else "symlog")
            self.ax_.xaxis.set_major_formatter("{x:g}")  # 100, not 10 to the 2
        self.ax_.set(xlabel=f"Number of {self.number_name}", ylabel=self.score_name)
        self.ax_.legend()


def _check_path(estimator):
    """Raise an error unless the estimator is fitted and has a path with models."""
    check_is_fitted(estimator)
    if not hasattr(estimator, "path_"):
        raise TypeError(
            f"{type(estimator).__name__} has no path_: PathDisplay expects a fitted estimator of thresher, for example "
            "FGMClassifier (for a pipeline, pass its last step and the data transformed by the others)"
        )
    if not isinstance(estimator.path_, (Path, AlignmentPath)):
        raise TypeError(
            f"the path_ of {type(estimator).__name__} is a {type(estimator.path_).__name__}, not a Path: use "
            "GridDisplay for a grid"
        )
    if len(estimator.path_.numbers) == 0:
        raise ValueError("the path of the estimator is empty: it contains no model to score")


def _own_scores(estimator):
    """What cross-validation inside the fit found, of the parameters it chose; of equal numbers of features the best."""
    results = getattr(estimator, "cv_results_", None)
    if results is None or "n_features" not in results:
        fit = ", or fit with cv" if isinstance(estimator.path_, AlignmentPath) else ""
        raise ValueError(
            f"the fit of this {type(estimator).__name__} did not score its numbers of features, so X and y are needed: "
            f"PathDisplay.from_estimator(clf, X_test, y_test){fit}"
        )
    known = np.flatnonzero(~np.isnan(results["mean_test_score"]))
    for name, value in (("C", getattr(estimator, "C_", None)), ("lambda2", getattr(estimator.path_, "lambda2", None))):
        if f"param_{name}" in results and value is not None:
            known = known[results[f"param_{name}"][known] == value]
    if not known.size:
        raise ValueError("no point was judged in time by cross-validation: pass X and y to score the models on")
    numbers, means = results["n_features"][known], results["mean_test_score"][known]
    order = known[np.lexsort((-means, numbers))]
    numbers, first = np.unique(results["n_features"][order], return_index=True)
    return {
        "numbers": numbers,
        "scores": results["mean_test_score"][order][first],
        "deviations": results["std_test_score"][order][first],
        "chosen": int(estimator.selection_.features.size),
        "score_name": score_name(estimator.scoring),
    }


def _n_features_chosen(estimator):
    """The number of features of the estimator itself: that of the station with its features, or None.

    With one support for each class, stations may have the same features and differ in where the zeros are; the one
    with the nearest weights is taken.
    """
    path, selection = estimator.path_, estimator.selection_
    alike = [number for number in path.numbers if np.array_equal(path.at(number).features, selection.features)]
    nearest = min(alike, key=lambda number: np.linalg.norm(path.at(number).weights - selection.weights), default=None)
    return None if nearest is None else int(nearest)


def usable_numbers(estimator: Any) -> np.ndarray:
    """Numbers of features that ``at`` accepts, ascending."""
    numbers, most = np.asarray(estimator.path_.numbers), getattr(estimator, "max_features_", None)
    return numbers if most is None else numbers[numbers <= most]


def path_scores(
    estimator: Any, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None, scoring: Any = None
) -> np.ndarray:
    """The score of every station on the path, in the order of ``usable_numbers``."""
    if not (scoring is None or isinstance(scoring, str) or callable(scoring)):
        raise ValueError(f"scoring must be None, a string or a callable, got {scoring!r}")
    if not estimator.fitted_features_.of_rows:
        raise ValueError(
            "PathDisplay scores rows, but labels of this model belong to bags: use clf.at(k).score(X, y, bags=bags) "
            "for the k in clf.path_.numbers"
        )
    checked, y = estimator.checked(X), column_or_1d(y)
    check_consistent_length(checked, y, sample_weight)
    space, linear = estimator.fitted_features_, not isinstance(estimator.path_, AlignmentPath)
    if linear and scoring in (None, "accuracy"):
        return _accuracies(estimator, checked, y, sample_weight)
    scorer = check_scoring(estimator, scoring=scoring)
    models: Iterable[Any] = map(estimator.at, usable_numbers(estimator).tolist())
    if linear and isinstance(scoring, str) and space.width == space.n_inputs:
        features = _features(estimator.path_)  # predictions need these columns alone
        X, models = _finite_columns(estimator, checked, features), (_on_columns(model, features) for model in models)
    weighted = {} if sample_weight is None else {"sample_weight": sample_weight}
    return np.array([float(scorer(model, X, y, **weighted)) for model in models])


def _features(path):
    """All features of the path, sorted."""
    return np.unique(np.concatenate([path.at(number).features for number in path.numbers]))


def _finite_columns(estimator, X, features):
    """The columns ``features`` of X; InvalidDataError names the first that is not finite."""
    space = estimator.fitted_features_
    columns = space.columns(X, features)
    check_columns(columns, lambda place: space.shown_name(int(features[place])))
    return columns


def _on_columns(model, features):
    """A copy of the model for data that has only the columns ``features``."""
    model = copy.copy(model)
    vars(model).pop("feature_names_in_", None)  # checked already; the taken columns have no names
    model.n_features_in_ = features.size
    places = np.searchsorted(features, model.selection_.features)
    model.selection_ = replace(model.selection_, features=places, fitted_features=None)
    return model


def _accuracies(estimator, X, y, sample_weight):
    """Accuracy of every station: the columns of the path are taken once and multiplied with many stations' weights."""
    path, codes = estimator.path_, _codes(y, estimator.classes_)
    stations, features = [path.at(number) for number in path.numbers], _features(path)
    weights = np.ones(y.size) if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
    if not (np.all(np.isfinite(weights)) and weights.sum() > 0):
        raise InvalidDataError("sample_weight must be finite and have a positive sum")
    right = np.zeros(len(stations))
    for rows, taken in estimator.fitted_features_.chunks(X, features, ROWS_AT_ONCE):
        if not all_finite(taken):  # the message counts rows of all of X
            _finite_columns(estimator, X, features)
        for first in range(0, len(stations), STATIONS_AT_ONCE):
            some = slice(first, first + STATIONS_AT_ONCE)
            right[some] += weights[rows] @ (_predicted(taken, features, stations[some]) == codes[rows, None])
    return right / weights.sum()


def _codes(y, classes):
    """Index of each label in ``classes``; -1, which no model predicts, if it was not seen in fit."""
    unique_labels(y, classes)  # raises for invalid labels, and for a mix of numbers and strings
    known = np.isin(y, classes)
    if not known.any():
        raise InvalidDataError(f"y contains none of the classes seen in fit: {classes.tolist()}")
    return np.where(known, np.searchsorted(classes, y), -1)


def _predicted(taken, features, stations):
    """Index of the predicted class in ``classes_``, for every row and station."""
    outputs = stations[0].weights.shape[1] if stations[0].weights.ndim > 1 else 1
    table = np.zeros((features.size, len(stations), outputs))
    for place, station in enumerate(stations):
        table[np.searchsorted(features, station.features), place] = station.weights.reshape(-1, outputs)
    intercepts = np.array([np.ravel(station.intercept) for station in stations])
    scores = (taken @ table.reshape(features.size, -1)).reshape(-1, len(stations), outputs) + intercepts
    return scores.argmax(axis=2) if outputs > 1 else scores[:, :, 0] > 0
