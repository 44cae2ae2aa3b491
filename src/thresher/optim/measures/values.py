"""Measures of performance that are no sums over samples: as values, as losses Delta in [0, 1], and as scorers.

A measure of the contingency table is a function of a true positives, b false positives and the P positives there are;
``labellings`` has the searches for labellings. Measures of rankings are in ``rankings``.
"""

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, fields
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np

from thresher.errors import InvalidDataError
from thresher.optim.measures import rankings
from thresher.optim.measures.base import Measure
from thresher.optim.measures.cuts import Oracle, Rows, signs
from thresher.optim.measures.labellings import ErrorOracle, FBetaOracle, FixedCountOracle
from thresher.state import register


class _OfTable(Measure):
    """A measure of the contingency table."""

    def _loss(self, y: np.ndarray, labels: np.ndarray) -> float:
        labels = signs("labels", labels)
        n_positive, k = int((y > 0).sum()), int((labels > 0).sum())
        expected = self._count(n_positive, y.size)
        if expected is not None and k != expected:
            raise InvalidDataError(f"{self!r} is for exactly {expected} positive labels here; got {k}")
        return self._table_loss(int(((y > 0) & (labels > 0)).sum()), k, n_positive, y.size)

    def _score(self, y: np.ndarray, scores: np.ndarray) -> float:
        return 1.0 - self._loss(y, self.label(scores, int((y > 0).sum())))

    @abstractmethod
    def _table_loss(self, true: int, k: int, n_positive: int, n: int) -> float:
        """The loss where ``true`` of the k rows that are predicted positive are positive."""


@dataclass(frozen=True)
class ErrorRate(_OfTable):
    """The error rate: with C, ``loss="error"`` is the support vector machine (hinge loss) with the same C.

    Examples
    --------
    >>> from thresher import ErrorRate
    >>> ErrorRate().loss([1, 1, -1, -1], [1, -1, -1, -1])
    0.25
    >>> ErrorRate().score([1, 1, -1, -1], [0.3, -0.1, -2.0, -1.0])   # the accuracy
    0.75
    """

    name: ClassVar[str] = "error"
    free: ClassVar[bool] = True
    is_weighted: ClassVar[bool] = True

    def _table_loss(self, true: int, k: int, n_positive: int, n: int) -> float:
        return (n_positive + k - 2 * true) / n

    def _oracle(self, rows: Rows) -> Oracle:
        return ErrorOracle(rows)


class _OfPrecisionAndRecall(_OfTable):
    """F-beta, whatever says which beta; without true positives it is 0."""

    free: ClassVar[bool] = True

    @property
    @abstractmethod
    def _beta(self) -> float: ...

    def _table_loss(self, true: int, k: int, n_positive: int, n: int) -> float:
        wrong = k - true + self._beta**2 * (n_positive - true)
        return wrong / (wrong + (1.0 + self._beta**2) * true) if true > 0 else 1.0

    def _oracle(self, rows: Rows) -> Oracle:
        return FBetaOracle(rows, self._beta)


@dataclass(frozen=True)
class F1(_OfPrecisionAndRecall):
    """The harmonic mean of precision and recall; 0 without true positives.

    Examples
    --------
    >>> from thresher import F1
    >>> F1().score([1, 1, -1, -1], [0.3, -0.1, 2.0, -1.0])
    0.5
    >>> F1().most_violated([1, 1, -1, -1], [2.0, -0.1, 0.5, -3.0])
    array([-1., -1.,  1., -1.])
    """

    name: ClassVar[str] = "f1"

    @property
    def _beta(self) -> float:
        return 1.0


@dataclass(frozen=True)
class FBeta(_OfPrecisionAndRecall):
    """The weighted harmonic mean of precision and recall, (1 + beta^2) a / (a + b + beta^2 P); 0 if a is.

    a and b are the numbers of true and false positives, P is that of positives.

    Parameters
    ----------
    beta : float
        From 1e-6 to 1e6; recall counts beta times as much as precision.

    Examples
    --------
    >>> from thresher import FBeta
    >>> FBeta(2.0).score([1, 1, -1, -1], [0.3, 0.1, 2.0, -1.0])
    0.9090909090909091
    """

    beta: float
    name: ClassVar[str] = "fbeta"

    def __post_init__(self) -> None:
        if not _is_positive(self.beta) or not 1e-6 <= self.beta <= 1e6:
            raise ValueError(f"beta must be a number from 1e-6 to 1e6, got {self.beta!r}")
        object.__setattr__(self, "beta", float(self.beta))

    @property
    def _beta(self) -> float:
        return self.beta


@dataclass(frozen=True)
class PRBEP(_OfTable):
    """Precision where it equals recall: of as many samples with the largest scores as there are positives.

    Examples
    --------
    >>> from thresher import PRBEP
    >>> PRBEP().score([1, 1, -1, -1], [0.3, 0.1, 2.0, -1.0])
    0.5
    """

    name: ClassVar[str] = "prbep"

    def _table_loss(self, true: int, k: int, n_positive: int, n: int) -> float:
        return 1.0 - true / n_positive

    def _count(self, n_positive: int | None, n: int) -> int | None:
        if n_positive is None:
            raise ValueError("PRBEP() labels as many samples as are positive: pass n_positive")
        if not 1 <= n_positive <= n:
            raise ValueError(f"PRBEP() needs from 1 to {n} positives among {n} samples, got {n_positive}")
        return int(n_positive)

    def _oracle(self, rows: Rows) -> Oracle:
        return FixedCountOracle(rows, rows.n_positive, rows.n_positive)


class _AtK(_OfTable):
    """A measure of the k samples with the largest scores."""

    k: float

    def __post_init__(self) -> None:
        if not _is_positive(self.k):
            raise ValueError(
                f"k must be an integer of at least 1, or a float above 0 (a multiple of the number of positives); "
                f"got {self.k!r}"
            )
        object.__setattr__(self, "k", int(self.k) if isinstance(self.k, Integral) else float(self.k))

    def __eq__(self, other: object) -> bool:  # k = 2 and k = 2.0 are different measures
        return type(other) is type(self) and repr(other) == repr(self)

    def __hash__(self) -> int:
        return hash(repr(self))

    def _count(self, n_positive: int | None, n: int) -> int:
        if isinstance(self.k, int):
            if self.k > n:
                raise ValueError(
                    f"{self!r} needs at least {self.k} samples, got {n}; use a smaller k, or a float such as k=2.0 for "
                    "twice the number of positives"
                )
            return self.k
        if n_positive is None:
            raise ValueError(f"{self!r} is a multiple of the number of positives: pass n_positive")
        return min(max(1, int(self.k * n_positive)), n)


@dataclass(frozen=True, eq=False)
class PrecisionAtK(_AtK):
    """The share of positives among the k samples with the largest scores.

    Parameters
    ----------
    k : int or float
        An integer is a number of samples; a larger one than there are samples is refused. A float is a multiple of the
        number P of positives, max(1, int(k P)), or all samples if there are fewer.

    Examples
    --------
    >>> from thresher import PrecisionAtK
    >>> PrecisionAtK(3).score([1, 1, -1, -1], [0.3, 0.1, 2.0, -1.0])
    0.6666666666666666
    """

    k: float
    name: ClassVar[str] = "precision_at_k"

    def _table_loss(self, true: int, k: int, n_positive: int, n: int) -> float:
        return 1.0 - true / k

    def _oracle(self, rows: Rows) -> Oracle:
        k = self._count(rows.n_positive, rows.n)
        return FixedCountOracle(rows, k, k)


@dataclass(frozen=True, eq=False)
class RecallAtK(_AtK):
    """The share of all positives that are among the k samples with the largest scores.

    Parameters
    ----------
    k : int or float
        An integer is a number of samples; a larger one than there are samples is refused. A float is a multiple of the
        number P of positives, max(1, int(k P)), or all samples if there are fewer.

    Examples
    --------
    >>> from thresher import RecallAtK
    >>> RecallAtK(1.0).score([1, 1, -1, -1], [0.3, 0.1, 2.0, -1.0])      # as many as there are positives
    0.5
    """

    k: float
    name: ClassVar[str] = "recall_at_k"

    def _table_loss(self, true: int, k: int, n_positive: int, n: int) -> float:
        if n_positive == 0:
            raise ValueError(f"{self!r} is undefined: there are no positives in y")
        return 1.0 - true / n_positive

    def _oracle(self, rows: Rows) -> Oracle:
        return FixedCountOracle(rows, self._count(rows.n_positive, rows.n), rows.n_positive)


@dataclass(frozen=True)
class RocArea(Measure):
    """The area under the ROC curve: the share of pairs of a positive and a negative sample in right order.

    Pairs with equal scores count half. Its risk is the mean of max(0, 1 - (s_i - s_j)) over those pairs.

    Examples
    --------
    >>> from thresher import RocArea
    >>> RocArea().score([1, 1, -1, -1], [0.3, 0.1, 0.3, -1.0])
    0.625
    >>> RocArea().most_violated([1, 1, -1, -1], [3.0, 0.1, 0.5, -3.0])     # ranks
    array([1., 3., 2., 4.])
    """

    name: ClassVar[str] = "auc"
    is_weighted: ClassVar[bool] = True

    def _loss(self, y: np.ndarray, labels: np.ndarray) -> float:
        return rankings.swapped_share(y, labels)

    def _score(self, y: np.ndarray, scores: np.ndarray) -> float:
        return rankings.roc_area(y, scores, np.ones(y.size))

    def _oracle(self, rows: Rows) -> Oracle:
        return rankings.RocOracle(rows)


@dataclass(frozen=True)
class AveragePrecision(Measure):
    """The mean over the positives of the precision among the samples that are ranked no worse.

    Samples with equal scores are taken together, as scikit-learn does.

    Examples
    --------
    >>> from thresher import AveragePrecision
    >>> AveragePrecision().score([1, 1, -1, -1], [3.0, 0.1, 0.5, -1.0])
    0.8333333333333333
    >>> AveragePrecision().most_violated([1, 1, -1, -1], [1.0, 0.1, 0.5, -3.0])     # ranks
    array([2., 3., 1., 4.])
    """

    name: ClassVar[str] = "average_precision"

    def _loss(self, y: np.ndarray, labels: np.ndarray) -> float:
        return 1.0 - rankings.precision_of_ranks(y, labels)

    def _score(self, y: np.ndarray, scores: np.ndarray) -> float:
        return rankings.average_precision(y, scores)

    def _oracle(self, rows: Rows) -> Oracle:
        return rankings.PrecisionOracle(rows)


MEASURES: dict[str, Callable[..., Measure]] = {
    measure.name: measure
    for measure in map(register, (ErrorRate, F1, FBeta, PRBEP, PrecisionAtK, RecallAtK, RocArea, AveragePrecision))
}


def check_size(measure: Measure, n_samples: int) -> None:
    """Raise ValueError if the measure counts more samples than there are."""
    if isinstance(measure, (PrecisionAtK, RecallAtK)):
        measure._count(1, n_samples)


def of_share(measure: Measure, share: float) -> Measure:
    """The measure for a share of the samples, such as a fold: a number of samples is that share of it."""
    if isinstance(measure, (PrecisionAtK, RecallAtK)) and isinstance(measure.k, int) and share < 1.0:
        return type(measure)(max(1, round(share * measure.k)))
    return measure


def weighted_score(measure: Measure, y: np.ndarray, scores: np.ndarray, weights: np.ndarray) -> float:
    """``measure.score`` of samples with weights: a pair of the ROC area weighs as much as the product of its two.

    Elsewhere weights are 0 and 1, and samples of weight 0 are left out. The error rate is not for this.
    """
    if isinstance(measure, RocArea):
        return rankings.roc_area(y, scores, weights)
    there = weights > 0.0
    return measure.score(y[there], scores[there])


def plain_names() -> tuple[str, ...]:
    """The names of the measures that have no parameter."""
    return tuple(name for name, kind in MEASURES.items() if not fields(kind))  # type: ignore[arg-type]


def as_measure(measure: Any) -> Measure:
    """The measure of a name, or the measure itself. ValueError for anything else."""
    if isinstance(measure, Measure):
        return measure
    kind: Any = MEASURES.get(measure) if isinstance(measure, str) else None
    if kind is None:
        raise ValueError(
            f"unknown measure {measure!r}: use one of {', '.join(map(repr, MEASURES))}, or for example F1()"
        )
    if fields(kind):
        (parameter,) = (each.name for each in fields(kind))
        raise ValueError(f"{measure!r} has a parameter: pass {kind.__name__}({parameter}=...) instead of the name")
    return kind()


def _is_positive(value: Any) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool) and 0.0 < float(value) < np.inf
