"""What every measure of performance can do; measures of the numbers of true and of false positives."""

from abc import abstractmethod
from numbers import Integral
from typing import Any, ClassVar

import numpy as np

from thresher.errors import InvalidDataError
from thresher.optim.measures.cuts import LabelledRows, Oracle, checked_scores, checked_weights, signs
from thresher.optim.measures.labellings import CountsOracle, FixedCountOracle, best_rows
from thresher.optim.measures.scorer import MeasureScorer
from thresher.optim.named_values import LossOrMeasure
from thresher.optim.problems.cuts import CutProblem

DEFAULT_TOTAL = 1e6  # C times the number of samples
CANDIDATES_OF_MEASURES = 1.2  # times the number of features wanted; from hundreds, with a large C, picks fit noise

LOSS_ROUNDING = 1e-12  # what a loss may be below 0 or above 1 by


class Measure(LossOrMeasure):
    """A measure of performance in the binary case; base class for measures of your own.

    A subclass is a frozen dataclass: a value that can be compared. It has ``loss_of``, ``score_of`` and ``oracle``, and
    where needed ``n_predicted``, ``of_share`` and ``weighted_score_of``; input is checked before these are called. For
    measures of true and false positives, ``ConfusionMeasure`` has all of it. ``thresher.testing.check_measure`` checks
    a measure.

    Attributes
    ----------
    name : str
        The name in messages and ``thresher inspect``; the name of the class unless the class sets another one.
    title : str
        The same in words.
    of_rankings : bool
        Whether what it is the measure of are ranks instead of labels. False by default.
    is_weighted : bool
        Whether sample weights other than 0 and 1 have a meaning. False by default.
    judges : bool
        Whether cross-validation scores models by it, else by accuracy. True by default.
    candidate_factor : float
        With how many times as many candidates as features elimination starts. 1.2 by default.

    See Also
    --------
    thresher.testing.check_measure : Checks a measure.
    """

    of_rankings: ClassVar[bool] = False
    is_weighted: ClassVar[bool] = False
    judges: ClassVar[bool] = True
    selects_all: ClassVar[bool] = True
    candidate_factor: ClassVar[float | None] = CANDIDATES_OF_MEASURES

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
        return float(self.loss_of(y, np.asarray(labels)))

    def score(self, y: np.ndarray, scores: np.ndarray, weights: np.ndarray | None = None) -> float:
        """The measure of real scores, in [0, 1]; greater is better.

        Where the number of predicted positives is free, scores above 0 are predicted positive. Where it is fixed, those
        with the largest scores are, of equal ones the lower row.

        Parameters
        ----------
        y : array-like of shape (n_samples,)
            True labels, -1 and +1.
        scores : array-like of shape (n_samples,)
            Finite scores, such as those of ``decision_function``.
        weights : array-like of shape (n_samples,) or None, default=None
            Weights of the samples; samples of weight 0 are left out. None: 1 for each sample.

        Returns
        -------
        float
            The measure; of the error rate it is the accuracy.
        """
        y = signs("y", y)
        scores = checked_scores(scores, y.size)
        if weights is None:
            return float(self.score_of(y, scores))
        weights = checked_weights(weights, y.size)
        used = weights > 0.0
        if np.all(weights[used] == 1.0):
            return float(self.score_of(y[used], scores[used]))
        self._check_weighted()
        return float(self.weighted_score_of(y[used], scores[used], weights[used]))

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
        k = self.n_predicted(n_positive, scores.size)
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
            Weights of the samples; samples of weight 0 are left out. Weights other than 0 and 1 have a meaning for the
            error rate and the ROC area alone.

        Returns
        -------
        Oracle
            With ``cut(scores)`` and ``risk(scores)``.
        """
        rows = LabelledRows.of(y, weights)
        if not rows.counted:
            self._check_weighted()
        return self.oracle(rows)

    def scorer(self) -> MeasureScorer:
        """A scorer for scikit-learn, for example ``cross_val_score(clf, X, y, scoring=F1().scorer())``.

        Returns
        -------
        MeasureScorer
            A callable of (estimator, X, y).
        """
        return MeasureScorer(self)

    def default_C(self, weights: np.ndarray) -> float:
        """See LossOrMeasure: 1e6 divided by the sum of the weights."""
        return DEFAULT_TOTAL / float(weights.sum())

    def check_weights(self, weights: np.ndarray) -> None:
        """See LossOrMeasure: other weights than 0 and 1 are for measures where ``is_weighted`` is true."""
        if not self.is_weighted and not np.isin(weights, (0.0, 1.0)).all():
            raise InvalidDataError(
                f"loss={self.name!r} takes sample weights 0 and 1 only, and no class_weight: with others, the most "
                "violated labelling would be the solution of a knapsack problem. Use loss='error' or 'auc', "
                "'squared_hinge' or 'logistic', or repeat samples"
            )
        self.n_predicted(1, int(np.count_nonzero(weights)))  # raises if these are too few

    def problem(
        self, y: np.ndarray, cost: np.ndarray, fit_intercept: bool, classes: int = 1, share: float = 1.0
    ) -> CutProblem:
        """See LossOrMeasure: of the measure of that share."""
        return CutProblem(y, cost, self.of_share(share), fit_intercept, classes)

    def _check_weighted(self) -> None:
        if not self.is_weighted:
            raise InvalidDataError(
                f"{self!r} takes weights 0 and 1 only: with others, the most violated prediction would be the solution "
                "of a knapsack problem. Use ErrorRate() or RocArea(), or repeat samples"
            )

    @abstractmethod
    def loss_of(self, y: np.ndarray, labels: np.ndarray) -> float:
        """What ``loss`` returns.

        Parameters
        ----------
        y : ndarray of shape (n_samples,)
            True labels, -1.0 and +1.0.
        labels : ndarray of shape (n_samples,)
            Predicted labels or ranks, not checked.

        Returns
        -------
        float
            In [0, 1].
        """

    @abstractmethod
    def score_of(self, y: np.ndarray, scores: np.ndarray) -> float:
        """What ``score`` returns where all samples have weight 1.

        Parameters
        ----------
        y : ndarray of shape (n_samples,)
            True labels, -1.0 and +1.0.
        scores : ndarray of shape (n_samples,)
            Finite scores.

        Returns
        -------
        float
            In [0, 1].
        """

    def weighted_score_of(self, y: np.ndarray, scores: np.ndarray, weights: np.ndarray) -> float:
        """What ``score`` returns for other weights; for measures where ``is_weighted`` is true.

        Parameters
        ----------
        y : ndarray of shape (n_samples,)
            True labels, -1.0 and +1.0.
        scores : ndarray of shape (n_samples,)
            Finite scores.
        weights : ndarray of shape (n_samples,)
            Weights above 0.

        Returns
        -------
        float
            In [0, 1].
        """
        raise NotImplementedError(f"{type(self).__name__} has is_weighted = True, but no weighted_score_of")

    @abstractmethod
    def oracle(self, rows: LabelledRows) -> Oracle:
        """The search for the most violated labelling or ranking.

        Parameters
        ----------
        rows : LabelledRows
            Labels and weights, with at least one row of each class.

        Returns
        -------
        Oracle
            The search on these rows.
        """

    def n_predicted(self, n_positive: int | None, n_samples: int) -> int | None:
        """How many samples are predicted positive.

        Parameters
        ----------
        n_positive : int or None
            How many samples are positive; None if that is not known.
        n_samples : int
            Number of samples.

        Returns
        -------
        int or None
            None, unless a measure overrides it: their number is free, or does not matter. Raises ValueError where there
            are too few samples.
        """
        return None


class ConfusionMeasure(Measure):
    """A measure of the confusion matrix; base class for measures of your own, with an exact search.

    A subclass is a frozen dataclass with ``loss_of_counts``, and ``n_predicted`` where the number of predicted
    positives is fixed. ``thresher.testing.check_measure`` checks it.

    The search for the most violated labelling is exact. For a free number of predicted positives it looks at all
    numbers of true and of false positives that the scores leave possible: for n samples that takes up to about n^2 / 8
    evaluations of ``loss_of_counts``, on arrays, and n log n where the scores separate the classes well. A measure with
    a faster search overrides ``oracle``.

    See Also
    --------
    thresher.testing.check_measure : Checks a measure.

    Examples
    --------
    >>> from dataclasses import dataclass
    >>> import numpy as np
    >>> from thresher import FGMClassifier
    >>> from thresher.measures import ConfusionMeasure
    >>> @dataclass(frozen=True)
    ... class BalancedAccuracy(ConfusionMeasure):
    ...     def loss_of_counts(self, true, false, n_positive, n_negative):
    ...         return 0.5 * (1.0 - true / n_positive + false / n_negative)
    >>> BalancedAccuracy().score([1, 1, -1, -1, -1], [0.3, -0.1, -2.0, -1.0, 4.0])
    0.5833333333333334
    >>> X, y = np.random.default_rng(0).standard_normal((60, 20)), np.arange(60) % 4 == 0
    >>> X[:, 7] += 3 * y
    >>> FGMClassifier(1, loss=BalancedAccuracy()).fit(X, y).selection_.features
    array([7])
    """

    @abstractmethod
    def loss_of_counts(self, true: Any, false: Any, n_positive: int, n_negative: int) -> Any:
        """One less the measure, of given numbers of true and false positives.

        Parameters
        ----------
        true, false : ndarray of float64
            Numbers of samples that are predicted positive, rightly and wrongly; arrays whose shapes broadcast.
        n_positive, n_negative : int
            How many samples are positive and negative.

        Returns
        -------
        ndarray
            In [0, 1] for all numbers from 0 to ``n_positive`` and ``n_negative``; 0 where all is right.
        """

    def loss_of(self, y: np.ndarray, labels: np.ndarray) -> float:
        """See Measure: that of the counts."""
        labels = signs("labels", labels)
        positive, chosen = y > 0, labels > 0
        n_positive, n_chosen = int(positive.sum()), int(chosen.sum())
        expected = self.n_predicted(n_positive, y.size)
        if expected is not None and n_chosen != expected:
            raise InvalidDataError(f"{self!r} is for exactly {expected} positive labels here; got {n_chosen}")
        true = np.float64((positive & chosen).sum())
        with np.errstate(divide="ignore", invalid="ignore"):
            loss = float(self.loss_of_counts(true, n_chosen - true, n_positive, y.size - n_positive))
        if not -LOSS_ROUNDING <= loss <= 1.0 + LOSS_ROUNDING:
            raise InvalidDataError(
                f"{self!r} is undefined for {n_positive} positive and {y.size - n_positive} negative samples: its loss "
                f"of {true:.0f} true and {n_chosen - true:.0f} false positives is {loss}"
            )
        return loss

    def score_of(self, y: np.ndarray, scores: np.ndarray) -> float:
        """See Measure: one less the loss of the labels that the scores give."""
        return 1.0 - self.loss_of(y, self.label(scores, int((y > 0).sum())))

    def oracle(self, rows: LabelledRows) -> Oracle:
        """See Measure: an exact search."""
        k = self.n_predicted(rows.n_positive, rows.n)
        return CountsOracle(rows, self.loss_of_counts) if k is None else FixedCountOracle(rows, self.loss_of_counts, k)
