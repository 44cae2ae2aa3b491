"""PathDisplay: how good the models along a fitted path are, against how many features they use."""

import copy
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.metrics import check_scoring
from sklearn.utils import check_consistent_length, column_or_1d
from sklearn.utils.multiclass import unique_labels
from sklearn.utils.validation import check_is_fitted

from thresher.errors import InvalidDataError
from thresher.report.drawing import pyplot, score_name
from thresher.results import Path

ROWS_AT_ONCE, STATIONS_AT_ONCE = 16384, 32  # keep the scores of all stations out of memory
WIDE_RANGE = 20  # largest over smallest number of features from which the axis is logarithmic


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
        The number of features that the estimator has; marked if it is one of ``numbers``.
    score_name : str, default="Score"
        What the scores are; label of the y-axis.
    number_name : str, default="features"
        What is counted: "features", or "features per class".
    name : str, default=None
        Name of the estimator for the legend.

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes and Figure
        Where it was drawn.
    line_ : matplotlib Line2D
        The curve.
    chosen_ : matplotlib Line2D or None
        The marked point.

    Examples
    --------
    >>> import numpy as np
    >>> from thresher import PathDisplay
    >>> display = PathDisplay(numbers=np.array([1, 2, 4]), scores=np.array([0.7, 0.9, 0.9]), chosen=4)
    >>> display.best
    (2, 0.9)
    """

    def __init__(
        self, *, numbers: np.ndarray, scores: np.ndarray, chosen: int | None = None, score_name: str = "Score",
        number_name: str = "features", name: str | None = None,
    ):  # fmt: skip
        self.numbers = numbers
        self.scores = scores
        self.chosen = chosen
        self.score_name = score_name
        self.number_name = number_name
        self.name = name

    @classmethod
    def from_estimator(
        cls, estimator: Any, X: Any, y: ArrayLike, *, sample_weight: ArrayLike | None = None,
        scoring: str | Callable[..., float] | None = None, name: str | None = None, ax: Any = None, **kwargs: Any,
    ) -> Self:  # fmt: skip
        """Score every model of ``estimator.path_`` on X and y, and draw.

        Cost: one check of X, whose columns on the path are then taken once; a callable ``scoring`` is called with
        ``estimator.at(number)`` and X as given, which costs a check of X for each number.

        Parameters
        ----------
        estimator : fitted estimator
            One with a ``path_``, as FGMClassifier.
        X : array, sparse matrix or data frame of shape (n_samples, n_features)
            Data to score on: best not the data it was fitted to.
        y : array of shape (n_samples,)
            Its labels.
        sample_weight : array of shape (n_samples,), default=None
            Weights of the samples.
        scoring : str or callable, default=None
            A scorer of scikit-learn, by name or as a callable; None means accuracy.
        name : str, default=None
            Name for the legend; None means the name of the estimator's class.
        ax : matplotlib Axes, default=None
            Where to draw; None makes a new figure.
        **kwargs
            Passed to matplotlib's ``plot``.

        Returns
        -------
        PathDisplay
            Drawn, with the scores in its attributes.
        """
        pyplot("PathDisplay")  # missing matplotlib is told before the work, as scikit-learn does
        _check_path(estimator)
        display = cls(
            numbers=np.asarray(estimator.path_.numbers),
            scores=path_scores(estimator, X, y, sample_weight, scoring),
            chosen=_own_number(estimator),
            score_name=score_name(scoring),
            number_name="features per class" if getattr(estimator, "support", None) == "per_class" else "features",
            name=type(estimator).__name__ if name is None else name,
        )
        return display.plot(ax=ax, **kwargs)

    @property
    def best(self) -> tuple[int, float]:
        """(number of features, score) of the best model; among equals the one with the fewest features."""
        at = int(np.nanargmax(self.scores))
        return int(self.numbers[at]), float(self.scores[at])

    def plot(self, ax: Any = None, *, name: str | None = None, **kwargs: Any) -> Self:
        """Draw the scores, and mark the estimator's own number of features.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where to draw; None makes a new figure.
        name : str, default=None
            Name for the legend; None means that of the display.
        **kwargs
            Passed to matplotlib's ``plot``, as ``color`` or ``label``.

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
        self.chosen_ = self._mark_chosen()
        self._draw_axes()
        return self

    def _in_words(self, number, score):
        features = self.number_name if number != 1 else self.number_name.replace("features", "feature", 1)
        return f"{score:.3g} with {number} {features}"

    def _mark_chosen(self):
        at = np.flatnonzero(np.asarray(self.numbers) == self.chosen)
        if at.size == 0:
            return None
        number, score = int(self.numbers[at[0]]), float(self.scores[at[0]])
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
    """An error unless the estimator is fitted and has a path with models on it."""
    check_is_fitted(estimator)
    if not hasattr(estimator, "path_"):
        raise TypeError(
            f"{type(estimator).__name__} has no path_: PathDisplay draws fitted estimators of thresher such as "
            "FGMClassifier (of a pipeline, give its last step and the data transformed by the others)"
        )
    if not isinstance(estimator.path_, Path):
        raise TypeError(
            f"the path_ of {type(estimator).__name__} is a {type(estimator.path_).__name__}, not a Path: GridDisplay "
            "draws a grid"
        )
    if len(estimator.path_.numbers) == 0:
        raise ValueError("the path of the estimator is empty: no model with a known number of features was found")


def _own_number(estimator):
    """The number of features of the estimator itself: that of the station with its features, or None.

    With one support for each class, stations may share all features and differ in where the zeros are; the nearest
    weights decide.
    """
    path, own = estimator.path_, estimator.selection_
    alike = [number for number in path.numbers if np.array_equal(path.at(number).features, own.features)]
    nearest = min(alike, key=lambda number: np.linalg.norm(path.at(number).weights - own.weights), default=None)
    return None if nearest is None else int(nearest)


def path_scores(
    estimator: Any, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None, scoring: Any = None
) -> np.ndarray:
    """The score of every station on the path, in the order of ``path_.numbers``."""
    if not (scoring is None or isinstance(scoring, str) or callable(scoring)):
        raise ValueError(f"scoring must be None, the name of a scorer or a callable, got {scoring!r}")
    checked, y = estimator.checked(X), column_or_1d(y)
    check_consistent_length(checked, y, sample_weight)
    if scoring in (None, "accuracy"):
        return _accuracies(estimator, checked, y, sample_weight)
    scorer = check_scoring(estimator, scoring=scoring)
    models: Iterable[Any] = map(estimator.at, estimator.path_.numbers)
    if isinstance(scoring, str):  # looks at predictions only: so few columns do; a callable may look at anything
        features = _features(estimator.path_)
        X, models = estimator.space_.columns(checked, features), (_narrowed(model, features) for model in models)
    weighted = {} if sample_weight is None else {"sample_weight": sample_weight}
    return np.array([float(scorer(model, X, y, **weighted)) for model in models])


def _features(path):
    """All features of the path, sorted."""
    return np.unique(np.concatenate([path.at(number).features for number in path.numbers]))


def _narrowed(model, features):
    """A copy of the model for data that has only the columns ``features``."""
    model = copy.copy(model)
    vars(model).pop("feature_names_in_", None)  # checked already; the taken columns have no names
    model.n_features_in_, model.coef_ = features.size, model.coef_[:, features]
    model.selection_ = replace(model.selection_, features=np.searchsorted(features, model.selection_.features))
    return model


def _accuracies(estimator, X, y, sample_weight):
    """Accuracy of every station: the columns of the path are taken once and multiplied with many stations' weights."""
    path, codes = estimator.path_, _codes(y, estimator.classes_)
    stations, features = [path.at(number) for number in path.numbers], _features(path)
    weights = np.ones(y.size) if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
    if not (np.all(np.isfinite(weights)) and weights.sum() > 0):
        raise InvalidDataError("sample_weight must be finite and add up to more than zero")
    right = np.zeros(len(stations))
    for row in range(0, y.size, ROWS_AT_ONCE):
        rows = slice(row, row + ROWS_AT_ONCE)
        taken = estimator.space_.columns(X[rows], features).astype(np.float64)
        for first in range(0, len(stations), STATIONS_AT_ONCE):
            some = slice(first, first + STATIONS_AT_ONCE)
            right[some] += weights[rows] @ (_predicted(taken, features, stations[some]) == codes[rows, None])
    return right / weights.sum()


def _codes(y, classes):
    """Each label as its place in ``classes``; -1, which no model predicts, where it was not seen in fit."""
    unique_labels(y, classes)  # refuses what are no labels, and numbers where words were fitted
    known = np.isin(y, classes)
    if not known.any():
        raise InvalidDataError(f"y holds none of the classes that the estimator was fitted to: {classes.tolist()}")
    codes = np.full(y.size, -1)
    codes[known] = np.searchsorted(classes, y[known])
    return codes


def _predicted(taken, features, stations):
    """Place of the predicted class in ``classes_``, for every row and station."""
    outputs = stations[0].weights.shape[1] if stations[0].weights.ndim > 1 else 1
    table = np.zeros((features.size, len(stations), outputs))
    for place, station in enumerate(stations):
        table[np.searchsorted(features, station.features), place] = station.weights.reshape(-1, outputs)
    shifts = np.array([np.ravel(station.intercept) for station in stations])
    scores = (taken @ table.reshape(features.size, -1)).reshape(-1, len(stations), outputs) + shifts
    return scores.argmax(axis=2) if outputs > 1 else scores[:, :, 0] > 0
