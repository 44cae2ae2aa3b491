"""Class labels as a target: two classes, or one against the rest with shared features or features of their own."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from thresher.optim.problems.margins import Problem
from thresher.state import ArrayReader, ArrayWriter, fields, get_typed, increasing, need, put_typed, required
from thresher.targets.base import Labels, Target
from thresher.targets.criteria import Criterion


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
    """Class labels with a criterion.

    Parameters
    ----------
    classes : ndarray of shape (n_classes,)
        The class labels, sorted.
    codes : ndarray of int64 of shape (n_samples,)
        The class of each sample, as a position in ``classes``.
    weights : ndarray of shape (n_samples,)
        Weights of the samples.
    criterion : Criterion
        What is minimised.
    shift : bool
        Whether the model has an intercept.
    per_class : bool, default=False
        Whether each of more than two classes has features of its own.
    """

    classes: np.ndarray
    codes: np.ndarray
    weights: np.ndarray
    criterion: Criterion
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

    @property
    def default_C(self) -> float:
        """See Target."""
        return self.criterion.default_C(self.weights)

    @property
    def overshoot(self) -> float | None:
        """See Target."""
        return self.criterion.overshoot

    @property
    def score_name(self) -> str:
        """See Target."""
        return self.criterion.score_name

    def problems(self, C: float, held_out: np.ndarray | None = None) -> list[Problem]:
        """See Target.

        Samples whose weight is zero are not there at all; those that have one and no cost are held out.
        """
        cost = self.costs(C, held_out)
        share = np.count_nonzero(cost) / np.count_nonzero(self.weights)
        signs = signs_of(self.codes, self.classes.size)
        make, shift = self.criterion.problem, self.shift
        if signs.ndim == 1:
            return [make(signs, cost, shift=shift, share=share)]
        if self.per_class:
            return [make(y, cost, shift=shift, share=share) for y in signs]
        return [make(signs.ravel(), np.tile(cost, len(signs)), shift=shift, classes=len(signs), share=share)]

    def check_folds(self, folds: Sequence[np.ndarray]) -> None:
        """See Target."""
        self.criterion.check_folds(folds, self.codes, self.weights)

    def score(self, scores: np.ndarray, test: np.ndarray) -> float:
        """See Target."""
        return self.criterion.score(scores, test, self.codes, self.weights)


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
