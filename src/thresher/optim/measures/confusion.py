"""Measures of the confusion matrix: functions of the numbers of true and of false positives."""

from abc import abstractmethod
from typing import Any

import numpy as np

from thresher.errors import InvalidDataError
from thresher.optim.measures.base import Measure
from thresher.optim.measures.cuts import Oracle, Rows, signs
from thresher.optim.measures.labellings import CountsOracle, FixedCountOracle

ROUNDING = 1e-12  # what a loss may be below 0 or above 1 by


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
        if not -ROUNDING <= loss <= 1.0 + ROUNDING:
            raise InvalidDataError(
                f"{self!r} is undefined for {n_positive} positive and {y.size - n_positive} negative samples: its loss "
                f"of {true:.0f} true and {n_chosen - true:.0f} false positives is {loss}"
            )
        return loss

    def score_of(self, y: np.ndarray, scores: np.ndarray) -> float:
        """See Measure: one less the loss of the labels that the scores give."""
        return 1.0 - self.loss_of(y, self.label(scores, int((y > 0).sum())))

    def oracle(self, rows: Rows) -> Oracle:
        """See Measure: an exact search."""
        k = self.n_predicted(rows.n_positive, rows.n)
        return CountsOracle(rows, self.loss_of_counts) if k is None else FixedCountOracle(rows, self.loss_of_counts, k)
