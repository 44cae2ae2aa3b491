"""What every measure of performance can do."""

from abc import ABC, abstractmethod
from numbers import Integral
from typing import ClassVar

import numpy as np

from thresher.errors import InvalidDataError
from thresher.optim.measures.cuts import Oracle, Rows, checked_scores, signs
from thresher.optim.measures.labellings import best_rows
from thresher.optim.measures.scorer import MeasureScorer


class Measure(ABC):
    """A measure of performance in the binary case. Subclasses are frozen dataclasses: values that can be compared.

    Attributes
    ----------
    name : str
        The name by which ``loss=`` knows it.
    free : bool
        Whether the number of predicted positives is free.
    is_weighted : bool
        Whether weights other than 0 and 1 have a meaning.
    """

    name: ClassVar[str]
    free: ClassVar[bool] = False
    is_weighted: ClassVar[bool] = False

    def loss(self, y: np.ndarray, labels: np.ndarray) -> float:
        """Delta(y, labels): one less the measure, in [0, 1].

        Parameters
        ----------
        y : array-like of shape (n_samples,)
            True labels, -1 and +1.
        labels : array-like of shape (n_samples,)
            Predicted labels, -1 and +1. For measures of rankings the ranks, 1 for the best sample to n_samples.

        Returns
        -------
        float
            0 where the prediction is perfect.
        """
        y = signs("y", y)
        if np.shape(labels) != y.shape:
            raise InvalidDataError(f"labels must have the shape of y, {y.shape}; got {np.shape(labels)}")
        return float(self._loss(y, np.asarray(labels)))

    def score(self, y: np.ndarray, scores: np.ndarray) -> float:
        """The measure of real scores, in [0, 1]; greater is better.

        Where the number of predicted positives is free, scores above 0 are predicted positive. Where it is fixed, those
        with the largest scores are, of equal ones the lower row.

        Parameters
        ----------
        y : array-like of shape (n_samples,)
            True labels, -1 and +1.
        scores : array-like of shape (n_samples,)
            Finite scores, such as those of ``decision_function``.

        Returns
        -------
        float
            The measure; of the error rate it is the accuracy.
        """
        y = signs("y", y)
        return float(self._score(y, checked_scores(scores, y.size)))

    def label(self, scores: np.ndarray, n_positive: int | None = None) -> np.ndarray:
        """Labels of new samples: by count where the number of predicted positives is fixed, otherwise by sign.

        Parameters
        ----------
        scores : array-like of shape (n_samples,)
            Finite scores.
        n_positive : int or None, default=None
            How many positives there are among the samples; for measures whose number of predicted positives depends
            on it.

        Returns
        -------
        ndarray of shape (n_samples,)
            -1.0 and +1.0; of equal scores the lower row is labelled positive first.
        """
        scores = checked_scores(scores, np.size(scores))
        if n_positive is not None and not (isinstance(n_positive, Integral) and 0 <= n_positive <= scores.size):
            raise ValueError(f"n_positive must be an integer from 0 to {scores.size} (samples), got {n_positive!r}")
        k = self._count(n_positive, scores.size)
        if k is None:
            return np.where(scores > 0.0, 1.0, -1.0)
        labels = np.full(scores.size, -1.0)
        labels[best_rows(scores, np.sort(scores)[::-1], k)] = 1.0
        return labels

    def most_violated(self, y: np.ndarray, scores: np.ndarray) -> np.ndarray:
        """The y' that maximises loss(y, y') - sum_i (y_i - y'_i) s_i / (2 n), by an exact search in n log n.

        Among labellings that are violated equally that with the fewest true positives, then the fewest false ones, is
        returned; of equal scores the lower row counts as the better one. Measures of rankings have another sum: the
        mean of s_i - s_j over the pairs of a positive i and a negative j in wrong order.

        Parameters
        ----------
        y : array-like of shape (n_samples,)
            True labels, -1 and +1; both must occur.
        scores : array-like of shape (n_samples,)
            Finite scores.

        Returns
        -------
        ndarray of shape (n_samples,)
            What ``loss`` takes: labels -1.0 and +1.0, or ranks.
        """
        return self.prepare(y).most_violated(scores)

    def prepare(self, y: np.ndarray, weights: np.ndarray | None = None) -> Oracle:
        """The search for cutting planes, for solvers.

        Parameters
        ----------
        y : array-like of shape (n_samples,)
            True labels, -1 and +1; both must occur.
        weights : array-like of shape (n_samples,) or None, default=None
            Weights of the samples. Samples of weight 0 are not there: they are counted nowhere. Weights other than 0
            and 1 have a meaning for the error rate and the ROC area alone.

        Returns
        -------
        Oracle
            With ``cut(scores)`` and ``risk(scores)``.
        """
        rows = Rows.of(y, weights)
        if not self.is_weighted and not rows.counted:
            raise InvalidDataError(
                f"{self!r} takes weights 0 and 1 only: with others, the most violated prediction would be the solution "
                "of a knapsack problem. Use ErrorRate() or RocArea(), or repeat samples"
            )
        return self._oracle(rows)

    def scorer(self) -> MeasureScorer:
        """A scorer for scikit-learn, for example ``cross_val_score(clf, X, y, scoring=F1().scorer())``.

        Returns
        -------
        MeasureScorer
            A callable of (estimator, X, y).
        """
        return MeasureScorer(self)

    @abstractmethod
    def _loss(self, y: np.ndarray, labels: np.ndarray) -> float:
        """``loss`` of checked labels y."""

    @abstractmethod
    def _score(self, y: np.ndarray, scores: np.ndarray) -> float:
        """``score`` of checked input."""

    @abstractmethod
    def _oracle(self, rows: Rows) -> Oracle:
        """The search on these rows."""

    def _count(self, n_positive: int | None, n: int) -> int | None:
        """How many of n rows are predicted positive; None if their number is free, or does not matter."""
        return None
