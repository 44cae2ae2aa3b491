"""Cutting planes of a measure: what is known of its risk from one labelling or ranking of the rows.

The risk of scores s is the maximum over labellings (or rankings) y' of loss(y') - v(y').s. Each y' gives the constraint
v.s >= loss - xi, which holds whatever columns the scores are made of: so a cut keeps y', in few bytes, and no
gradient.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from thresher.errors import InvalidDataError

WEIGHT_ROUNDING = 1e-12  # of a sum of weights


@dataclass(frozen=True, eq=False, repr=False)
class LabelledRows:
    """The labels and weights that all cuts of a problem share. Rows of weight zero do not count.

    Attributes
    ----------
    y : ndarray of shape (n_rows,)
        Labels -1.0 and +1.0.
    weights : ndarray of shape (n_rows,)
        Not negative.
    positives, negatives : ndarray of int
        The rows of each class that count, in order.
    steps : ndarray of shape (n_rows,)
        y times the share of a row in the sum of all weights.
    """

    y: np.ndarray
    weights: np.ndarray
    positives: np.ndarray
    negatives: np.ndarray
    steps: np.ndarray

    @classmethod
    def of(cls, y: np.ndarray, weights: np.ndarray | None = None) -> "LabelledRows":
        """The rows of labels and weights, checked."""
        y = signs("y", y)
        weights = np.ones(y.size) if weights is None else checked_weights(weights, y.size)
        steps = y * weights
        positives, negatives = np.flatnonzero(steps > 0.0), np.flatnonzero(steps < 0.0)
        for rows, sign in ((positives, "positive"), (negatives, "negative")):
            if rows.size == 0:
                raise InvalidDataError(f"y has no {sign} rows of weight above 0: a measure needs both classes")
        return cls(y, weights, positives, negatives, steps / weights.sum())

    @property
    def n_positive(self) -> int:
        """Number of positive rows that count."""
        return self.positives.size

    @property
    def n_negative(self) -> int:
        """Number of negative rows that count."""
        return self.negatives.size

    @property
    def n(self) -> int:
        """Number of rows that count."""
        return self.positives.size + self.negatives.size

    @cached_property
    def total(self) -> float:
        """Sum of the weights: what C is multiplied with, so that total times the risk is a sum over rows."""
        return float(self.weights.sum())

    @cached_property
    def counted(self) -> bool:
        """Whether every weight is 0 or 1."""
        return bool(np.all((self.weights == 0.0) | (self.weights == 1.0)))


@dataclass(frozen=True, eq=False)
class Cut(ABC):
    """The constraint v.s >= loss - xi of one labelling or ranking; cuts with equal ``key`` are equal.

    Attributes
    ----------
    loss : float
        Delta(y, y').
    key : bytes
        The labelling or ranking, packed.
    rows : LabelledRows
        What all cuts of an oracle share.
    """

    loss: float
    key: bytes = field(repr=False)
    rows: LabelledRows = field(repr=False)

    @abstractmethod
    def vector(self) -> np.ndarray:
        """The direction v, float64 of shape (n_rows,); rows that do not count have 0."""

    @property
    def vector_sum(self) -> float:
        """The sum of the direction; 0 where a shift of all scores changes nothing."""
        return 0.0

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and self.key == other.key

    def __hash__(self) -> int:
        return hash(self.key)


@dataclass(frozen=True, eq=False)
class LabelCut(Cut):
    """A labelling, one bit a row: whether it differs from y. v_i = w_i (y_i - y'_i) / (2 sum w) less ``mean``."""

    mean: float = 0.0

    @classmethod
    def of(cls, rows: LabelledRows, loss: float, flips: np.ndarray, mean: float = 0.0) -> "LabelCut":
        """The cut of the labelling that differs from y where ``flips`` is true."""
        return cls(float(loss), np.packbits(flips).tobytes(), rows, float(mean))

    @cached_property
    def vector_sum(self) -> float:
        """See Cut."""
        return float(self.rows.steps[self.flips()].sum()) if self.mean == 0.0 else 0.0

    def flips(self) -> np.ndarray:
        """Where the labelling differs from y: bool of shape (n_rows,)."""
        return np.unpackbits(np.frombuffer(self.key, dtype=np.uint8), count=self.rows.y.size).view(bool)

    def labels(self) -> np.ndarray:
        """The labelling y'; rows that do not count keep their label."""
        return np.where(self.flips(), -self.rows.y, self.rows.y)

    def vector(self) -> np.ndarray:
        """See Cut."""
        v = np.where(self.flips(), self.rows.steps, 0.0)
        if self.mean != 0.0:
            v -= self.mean * self.rows.weights  # weights are 0 or 1 where the mean is taken off
        return v


class Violation(NamedTuple):
    """The most violated labelling at some shift: what it is violated by, the sum of its vector, and its counts."""

    value: float
    vector_sum: float
    counts: Any


class ShiftSearch(ABC):
    """Most violated labellings of scores s + b for any shift b of all of them: s is sorted once."""

    @abstractmethod
    def at(self, b: float) -> Violation:
        """The most violated labelling at s + b."""

    @abstractmethod
    def cut(self, violation: Violation) -> Cut:
        """Its cut."""


class Oracle(ABC):
    """The search for the most violated labelling or ranking of given rows.

    Attributes
    ----------
    rows : LabelledRows
        Labels and weights.
    shift : bool
        Whether a shift of all scores changes the risk: where the number of predicted positives is free.
    """

    shift: bool = False

    def __init__(self, rows: LabelledRows):
        self.rows = rows

    @abstractmethod
    def cut(self, scores: np.ndarray) -> Any:
        """The Cut of the most violated labelling or ranking at ``scores`` of shape (n_rows,)."""

    @abstractmethod
    def most_violated(self, scores: np.ndarray) -> np.ndarray:
        """The labelling or the ranks themselves."""

    def risk(self, scores: np.ndarray) -> float:
        """Max over all labellings or rankings of loss - v.s, at least 0."""
        cut = self.cut(scores)
        return max(0.0, cut.loss - float(cut.vector() @ scores))

    def shift_search(self, scores: np.ndarray) -> ShiftSearch:
        """The search at ``scores`` plus any shift; where that changes the risk."""
        raise ValueError("a shift of all scores does not change the risk")

    @property
    def n_predicted(self) -> float:
        """How many rows, by their weights, are to be predicted positive, where that is known before."""
        return float(self.rows.weights[self.rows.positives].sum())

    def threshold(self, scores: np.ndarray, shift: float) -> float:
        """What is added to ``scores`` to predict by their sign; ``shift`` is the best one for the risk.

        Here as many rows are above as are counted; a row counts as often as its weight says.
        """
        order = np.argsort(-scores, kind="stable")
        order = order[self.rows.weights[order] > 0.0]
        upto, falling = np.cumsum(self.rows.weights[order]), scores[order]
        slack = WEIGHT_ROUNDING * upto[-1]
        last, next_one = np.searchsorted(upto, [self.n_predicted - slack, self.n_predicted + slack], side="right")
        if next_one >= falling.size:
            return 1.0 - float(falling[-1])
        return -0.5 * float(falling[last] + falling[next_one])

    def uniform_cut(self, positive: bool) -> Cut:
        """The cut of the labelling that is all positive, or all negative; where the number of positives is free."""
        raise ValueError("the number of predicted positives is fixed: not all rows can have one label")


def signs(name: str, y: np.ndarray) -> np.ndarray:
    """``y`` as float64, if it is a vector of -1 and +1."""
    values = np.asarray(y)
    if values.ndim != 1:
        raise InvalidDataError(f"{name} must be a vector of -1 and +1; got an array of shape {values.shape}")
    if not np.all((values == 1) | (values == -1)):
        found = list(dict.fromkeys(values.tolist()))
        shown = ", ".join(map(repr, found[:3])) + (", ..." if len(found) > 3 else "")
        advice = f"; for other labels use scorer(), a callable of (estimator, X, {name})" if name == "y" else ""
        raise InvalidDataError(f"{name} must be a vector of -1 and +1; got the values {shown}{advice}")
    if values.size == 0:
        raise InvalidDataError(f"{name} is empty: a measure needs at least one sample")
    return values.astype(np.float64)


def checked_scores(scores: np.ndarray, n_rows: int) -> np.ndarray:
    """``scores`` as float64, if it is a vector of n_rows finite numbers."""
    values = np.asarray(scores, dtype=np.float64)
    if values.shape != (n_rows,):
        raise InvalidDataError(f"scores must be a vector, one for each row: expected {(n_rows,)}, got {values.shape}")
    if not np.isfinite(values).all():
        raise InvalidDataError("scores contain NaN or infinity; a measure needs finite scores")
    return values


def checked_weights(weights: np.ndarray, n_rows: int) -> np.ndarray:
    """``weights`` as float64, if it is a vector of n_rows finite numbers that are not negative."""
    values = np.array(weights, dtype=np.float64)
    if values.shape != (n_rows,):
        raise InvalidDataError(f"weights must be a vector, one for each row: expected {(n_rows,)}, got {values.shape}")
    if not np.isfinite(values).all() or values.min(initial=0.0) < 0.0:
        raise InvalidDataError("weights must be finite and not negative")
    return values
