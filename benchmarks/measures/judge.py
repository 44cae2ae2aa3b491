"""The judge: F1 at a threshold, PRBEP and Rec@2p of the order, by code that shares nothing with thresher."""

from typing import NamedTuple

import numpy as np
from sklearn.model_selection import StratifiedKFold

FOLDS = 3  # of the training rows: C, thresholds


class Model(NamedTuple):
    """A linear model: columns, their weights, and a shift."""

    features: np.ndarray
    weights: np.ndarray
    shift: float

    def scores(self, X):
        """Scores of the rows of X: positive ones are predicted positive."""
        w = np.zeros(X.shape[1])
        w[self.features] = self.weights
        return X @ w + self.shift


class Verdict(NamedTuple):
    """Measures on the test rows in per cent."""

    f1: float
    prbep: float
    recall: float

    @classmethod
    def of(cls, y, scores):
        """Of labels and scores: F1 at the threshold zero, the others by order."""
        n_positive = int(np.count_nonzero(y > 0))
        top = positives_in_top(y, scores, n_positive), positives_in_top(y, scores, 2 * n_positive)
        return cls(100.0 * f1(y, scores > 0.0), *(100.0 * found / n_positive for found in top))

    def __str__(self):
        return f"{self.f1:.1f} / {self.prbep:.1f} / {self.recall:.1f}"


def f1(y, predicted):
    """2 a / (P + predicted positives), where a are right; 0 if there are none of all."""
    both = int(np.count_nonzero(predicted)) + int(np.count_nonzero(y > 0))
    return 2.0 * int(np.count_nonzero(predicted & (y > 0))) / both if both else 0.0


def positives_in_top(y, scores, k):
    """How many of the k rows with the largest scores are positive; of equal scores the first rows count."""
    return int(np.count_nonzero(y[np.argsort(-scores, kind="stable")[:k]] > 0))


def threshold_for_f1(y, scores):
    """(threshold, F1 there): midway between the scores where F1 is largest."""
    order = np.argsort(-scores, kind="stable")
    falling, found = scores[order], np.cumsum(y[order] > 0)
    values = 2.0 * found / (np.arange(1, y.size + 1) + found[-1])
    values[:-1][falling[:-1] == falling[1:]] = -1.0  # equal scores cannot be told apart
    best = int(values.argmax())
    below = falling[best + 1] if best + 1 < y.size else falling[best] - 1.0
    return 0.5 * float(falling[best] + below), float(values[best])


def folds_of(y):
    """The folds of the training rows by which C and thresholds are chosen, the same for all who choose."""
    return list(StratifiedKFold(FOLDS, shuffle=True, random_state=0).split(y, y))


def held_out_scores(fit, X, y):
    """Scores of each row by the model of ``fit(X, y)`` on the folds that it is not in."""
    scores = np.empty(y.size)
    for train, test in folds_of(y):
        scores[test] = fit(X[train], y[train]).scores(X[test])
    return scores
