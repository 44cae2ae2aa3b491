"""Scores of held-out samples by scikit-learn's scorers, from decision values that are known already."""

import importlib
import inspect
from collections.abc import Callable
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin

from thresher.errors import did_you_mean

FoldScorer = Callable[[np.ndarray, np.ndarray], float]  # of (scores of all rows, rows of a fold)


def fold_scorer(
    scoring: Any,
    classes: np.ndarray,
    y: np.ndarray,
    n_outputs: int,
    folds: list[np.ndarray],
    weights: np.ndarray | None,
    owner: str,
) -> FoldScorer:
    """The scorer as a function of (scores of all rows, a fold), tried on all folds before anything is solved.

    ``weights`` are the sample weights that were given, if any; ``owner`` is the class that messages speak of.
    """
    metrics = importlib.import_module("sklearn.metrics")  # on demand: it takes a third of a second to load
    if isinstance(scoring, str) and scoring not in metrics.get_scorer_names():
        hint = did_you_mean(scoring, metrics.get_scorer_names()) or "; use for example 'accuracy' or 'roc_auc'"
        raise ValueError(f"scoring={scoring!r} is not the name of a scorer of scikit-learn{hint}")
    if not isinstance(scoring, str) and not callable(scoring):
        raise ValueError(f"scoring must be a string or a callable, got {scoring!r}")
    scorer = metrics.check_scoring(PrecomputedScores(classes), scoring=scoring)
    accepts = inspect.signature(scorer).parameters
    weighted = "sample_weight" in accepts or any(option.kind == option.VAR_KEYWORD for option in accepts.values())

    def score(scores: np.ndarray, test: np.ndarray) -> float:
        options = {"sample_weight": weights[test]} if weighted and weights is not None else {}
        return scorer(PrecomputedScores(classes, scores), test, y[test], **options)

    blank = np.zeros(y.shape if n_outputs == 1 else (y.size, n_outputs))
    try:
        trial = [score(blank, test) for test in folds]
    except ValueError as error:
        macro = f"{scoring}_macro"
        if not isinstance(scoring, str) or macro not in metrics.get_scorer_names():
            raise
        labels = f"{classes.size} classes" if classes.size > 2 else f"the classes {classes.tolist()}"
        raise ValueError(
            f"scoring={scoring!r} is of class 1 of two classes, but y has {labels}; use {macro!r}, the mean over the "
            "classes"
        ) from error
    except AttributeError as error:
        raise ValueError(
            f"scoring={scoring!r} cannot be used: {owner} has decision_function and predict only ({error})"
        ) from error
    if np.isnan(trial).any():
        fold = int(np.flatnonzero(np.isnan(trial))[0])
        raise ValueError(f"scoring={scoring!r} is undefined (NaN) on fold {fold} of cv: use larger folds")
    return score


class PrecomputedScores(ClassifierMixin, BaseEstimator):
    """A classifier with precomputed scores, for scorers: X is an array of row numbers."""

    def __init__(self, classes: np.ndarray | None = None, scores: np.ndarray | None = None):
        self.classes_: Any = classes
        self.scores: Any = scores

    def fit(self, X: Any, y: Any) -> Self:
        """Do nothing: the scores are given."""
        return self

    def decision_function(self, rows: np.ndarray) -> Any:
        """The scores of the rows."""
        return self.scores[rows]

    def predict(self, rows: np.ndarray) -> np.ndarray:
        """The classes of the rows."""
        scores = self.scores[rows]
        return self.classes_[(scores > 0).astype(int) if scores.ndim == 1 else scores.argmax(axis=1)]
