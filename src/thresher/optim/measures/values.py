"""Measures of performance that are no sums over samples: as values, as losses Delta in [0, 1], and as scorers.

Measures of the confusion matrix are in terms of a true positives, b false positives and the P positives there are;
``labellings`` has the searches for labellings. Measures of rankings are in ``rankings``.
"""

from collections.abc import Callable
from dataclasses import dataclass, fields
from numbers import Integral
from typing import Any, ClassVar, Self

import numpy as np

from thresher.optim.measures.base import ConfusionMeasure, Measure
from thresher.optim.measures.cuts import LabelledRows, Oracle
from thresher.optim.measures.labellings import ErrorOracle, FBetaOracle
from thresher.optim.measures.rankings import AveragePrecision, RocArea
from thresher.optim.named_values import is_positive
from thresher.state import register


@register
@dataclass(frozen=True)
class ErrorRate(ConfusionMeasure):
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
    title = "error rate"
    judges: ClassVar[bool] = False  # accuracy is one less
    is_weighted: ClassVar[bool] = True

    def loss_of_counts(self, true: Any, false: Any, n_positive: int, n_negative: int) -> Any:
        """See ConfusionMeasure."""
        return (n_positive - true + false) / (n_positive + n_negative)

    def weighted_score_of(self, y: np.ndarray, scores: np.ndarray, weights: np.ndarray) -> float:
        """See Measure."""
        return float(np.average(self.label(scores) == y, weights=weights))

    def oracle(self, rows: LabelledRows) -> Oracle:
        """See Measure."""
        return ErrorOracle(rows)


class _OfPrecisionAndRecall(ConfusionMeasure):
    """F-beta; without true positives it is 0."""

    beta: float

    def loss_of_counts(self, true: Any, false: Any, n_positive: int, n_negative: int) -> Any:
        """See ConfusionMeasure."""
        square = self.beta * self.beta
        wrong = false + square * (n_positive - true)
        scale = wrong + (1.0 + square) * true
        return np.divide(wrong, scale, out=np.ones(np.shape(scale)), where=true > 0.0)

    def oracle(self, rows: LabelledRows) -> Oracle:
        """See Measure."""
        return FBetaOracle(rows, self.loss_of_counts, self.beta)


@register
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
    title = "F1"
    beta = 1.0


@register
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
        if not is_positive(self.beta) or not 1e-6 <= self.beta <= 1e6:
            raise ValueError(f"beta must be a number from 1e-6 to 1e6, got {self.beta!r}")
        object.__setattr__(self, "beta", float(self.beta))

    @property
    def title(self) -> str:
        """The measure in words."""
        return f"F-beta (beta = {self.beta:g})"


@register
@dataclass(frozen=True)
class PRBEP(ConfusionMeasure):
    """Precision where it equals recall: of as many samples with the largest scores as there are positives.

    Examples
    --------
    >>> from thresher import PRBEP
    >>> PRBEP().score([1, 1, -1, -1], [0.3, 0.1, 2.0, -1.0])
    0.5
    """

    name: ClassVar[str] = "prbep"
    title = "PRBEP"
    explained_title = "PRBEP (precision where it equals recall)"

    def loss_of_counts(self, true: Any, false: Any, n_positive: int, n_negative: int) -> Any:
        """See ConfusionMeasure."""
        return 1.0 - true / n_positive

    def n_predicted(self, n_positive: int | None, n_samples: int) -> int:
        """See Measure: as many as are positive."""
        if n_positive is None:
            raise ValueError("PRBEP() labels as many samples as are positive: pass n_positive")
        if not 1 <= n_positive <= n_samples:
            raise ValueError(
                f"PRBEP() needs from 1 to {n_samples} positives among {n_samples} samples, got {n_positive}"
            )
        return int(n_positive)


@dataclass(frozen=True, eq=False)
class _AtK(ConfusionMeasure):
    """A measure of the k samples with the largest scores."""

    k: float

    def __post_init__(self) -> None:
        if not is_positive(self.k):
            raise ValueError(
                f"k must be an integer of at least 1, or a float above 0 (a multiple of the number of positives); "
                f"got {self.k!r}"
            )
        object.__setattr__(self, "k", int(self.k) if isinstance(self.k, Integral) else float(self.k))

    def __eq__(self, other: object) -> bool:  # k = 2 and k = 2.0 are different measures
        return type(other) is type(self) and repr(other) == repr(self)

    def __hash__(self) -> int:
        return hash(repr(self))

    @property
    def title(self) -> str:
        """The measure in words."""
        return f"{self.name.split('_')[0]} at {self.k if isinstance(self.k, int) else f'{self.k:g}p'}"

    @property
    def explained_title(self) -> str:
        """The measure in words, with what p is."""
        return self.title + " (p: the number of positives)" * isinstance(self.k, float)

    def n_predicted(self, n_positive: int | None, n_samples: int) -> int:
        """See Measure: k, or k times as many as are positive."""
        if isinstance(self.k, int):
            if self.k > n_samples:
                raise ValueError(
                    f"{self!r} needs at least {self.k} samples, got {n_samples}; use a smaller k, or a float such as "
                    "k=2.0 for twice the number of positives"
                )
            return self.k
        if n_positive is None:
            raise ValueError(f"{self!r} is a multiple of the number of positives: pass n_positive")
        return min(max(1, int(self.k * n_positive)), n_samples)

    def of_share(self, share: float) -> Self:
        """See Measure: a number of samples is that share of it."""
        if isinstance(self.k, int) and share < 1.0:
            return type(self)(max(1, round(share * self.k)))
        return self


@register
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

    name: ClassVar[str] = "precision_at_k"

    def loss_of_counts(self, true: Any, false: Any, n_positive: int, n_negative: int) -> Any:
        """See ConfusionMeasure."""
        return 1.0 - true / (true + false)


@register
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

    name: ClassVar[str] = "recall_at_k"

    def loss_of_counts(self, true: Any, false: Any, n_positive: int, n_negative: int) -> Any:
        """See ConfusionMeasure."""
        return 1.0 - true / n_positive


MEASURES: dict[str, Callable[..., Measure]] = {
    measure.name: measure
    for measure in (ErrorRate, F1, FBeta, PRBEP, PrecisionAtK, RecallAtK, RocArea, AveragePrecision)
}


def plain_names() -> tuple[str, ...]:
    """The names of the measures that have no parameter."""
    return tuple(name for name, kind in MEASURES.items() if not fields(kind))  # type: ignore[arg-type]
