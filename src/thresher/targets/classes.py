"""Class labels as a target: two classes, or one against the rest with shared features or features of their own."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from thresher.errors import InvalidDataError
from thresher.optim.named_values import LossOrMeasure
from thresher.optim.problems.margins import Problem
from thresher.state import ArrayReader, ArrayWriter, fields, get_typed, increasing, need, put_typed, required
from thresher.targets.base import Labels, Target


@dataclass(frozen=True, eq=False)
class ClassLabels(Labels, kind="classes"):
    """Class labels.

    Parameters
    ----------
    classes : ndarray of shape (n_classes,)
        The labels, sorted. Of two, positive scores mean the second.
    """

    classes: np.ndarray

    def __str__(self) -> str:
        return f"{self.classes.size} classes"

    @property
    def n_outputs(self) -> int:
        """See Labels."""
        return 1 if self.classes.size == 2 else self.classes.size

    def predict(self, scores: np.ndarray) -> np.ndarray:
        """See Labels."""
        return self.classes[(scores > 0).astype(int) if scores.ndim == 1 else scores.argmax(axis=1)]

    def to_state(self, writer: ArrayWriter) -> dict[str, Any]:
        """See Labels."""
        return {"kind": self.kind, "classes": put_typed(writer, "classes", self.classes)}

    @classmethod
    def from_state(cls, reader: ArrayReader, state: Any) -> "ClassLabels":
        """See Labels."""
        return cls(get_classes(reader, fields(state, required("kind", "classes"), "target")["classes"]))


@dataclass(frozen=True, eq=False)
class ClassTarget(Target):
    """Class labels, with a smooth loss of margins or a measure.

    Parameters
    ----------
    classes : ndarray of shape (n_classes,)
        The class labels, sorted.
    codes : ndarray of int64 of shape (n_samples,)
        The class of each sample, as a position in ``classes``.
    weights : ndarray of shape (n_samples,)
        Weights of the samples.
    loss : Loss or Measure
        What is minimised.
    shift : bool
        Whether the model has an intercept.
    per_class : bool, default=False
        Whether each of more than two classes has features of its own.
    """

    classes: np.ndarray
    codes: np.ndarray
    weights: np.ndarray
    loss: LossOrMeasure
    shift: bool
    per_class: bool = False

    @property
    def labels(self) -> ClassLabels:
        """See Target."""
        return ClassLabels(self.classes)

    @property
    def n_models(self) -> int:
        """See Target."""
        return self.labels.n_outputs if self.per_class else 1

    @property
    def digested(self) -> np.ndarray:
        """See Target."""
        return self.codes

    @property
    def strata(self) -> np.ndarray:
        """See Target."""
        return self.codes

    def problems(self, C: float, held_out: np.ndarray | None = None) -> list[Problem]:
        """See Target.

        Samples of weight zero do not count among those that there are; held out are those with a weight and no cost.
        """
        cost = self.costs(C, held_out)
        share = np.count_nonzero(cost) / np.count_nonzero(self.weights)
        signs = signs_of(self.codes, self.classes.size)
        if signs.ndim == 1 or self.per_class:
            return [self.loss.problem(y, cost, self.shift, share=share) for y in np.atleast_2d(signs)]
        return [self.loss.problem(signs.ravel(), np.tile(cost, len(signs)), self.shift, len(signs), share)]

    def of_samples(self, samples: np.ndarray, weights: np.ndarray) -> "ClassTarget":
        """See Target."""
        loss = self.loss.of_share(np.count_nonzero(weights) / np.count_nonzero(self.weights))
        return replace(self, codes=self.codes[samples], weights=weights, loss=loss)

    def check_folds(self, folds: Sequence[np.ndarray]) -> None:
        """See Target."""
        for fold, test in enumerate(folds if self.loss.judges else []):  # accuracy is always known
            try:
                self.score(np.zeros((self.codes.size, self.labels.n_outputs)), test)
            except ValueError as error:
                raise InvalidDataError(f"fold {fold} of cv cannot be judged by {self.loss!r}: {error}") from None

    def score(self, scores: np.ndarray, test: np.ndarray) -> float:
        """See Target: accuracy, or a measure, the mean over the classes that occur, each against all others."""
        scores, codes, weights = scores[test], self.codes[test], self.weights[test]
        two = scores.shape[1] == 1
        if not self.loss.judges:
            predicted = (scores[:, 0] > 0).astype(int) if two else scores.argmax(axis=1)
            return float(np.average(predicted == codes, weights=weights))
        measure: Any = self.loss.of_share(test.size / np.count_nonzero(self.weights))
        columns = {1: 0} if two else {c: c for c in np.unique(codes).tolist()}  # of two, column 0 is about class 1
        signs = {c: np.where(codes == c, 1.0, -1.0) for c in columns}
        return float(np.mean([measure.score(signs[c], scores[:, column], weights) for c, column in columns.items()]))


def get_classes(reader: ArrayReader, value: Any) -> np.ndarray:
    """Labels from a document, sorted and unique, at least two."""
    classes = get_typed(reader, value, "classes")
    need(classes.ndim == 1, "classes must be a 1D array")
    need(classes.size >= 2, "there must be at least two classes")
    return increasing(classes, "classes")


def signs_of(codes: np.ndarray, n_classes: int) -> np.ndarray:
    """Labels +-1 for each problem, one after the other: (samples,) for two classes, else (classes, samples)."""
    if n_classes == 2:
        return np.where(codes == 1, 1.0, -1.0)
    return np.where(codes == np.arange(n_classes)[:, None], 1.0, -1.0)
