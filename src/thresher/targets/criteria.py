"""What a fit minimises of class labels: a smooth loss of margins, or a measure; its problems, and how it judges."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from thresher.errors import InvalidDataError
from thresher.optim.measures.base import Measure
from thresher.optim.measures.values import ErrorRate
from thresher.optim.problems.cuts import CutProblem
from thresher.optim.problems.loss import Loss
from thresher.optim.problems.margins import MarginProblem, Problem
from thresher.optim.problems.named import as_loss

DEFAULT_C = 1.0
DEFAULT_TOTAL = 1e6  # C times the number of samples, of a measure
OVERSHOOT_OF_MEASURES = 1.2  # times the number of features wanted; from hundreds, with a large C, picks fit noise


class Criterion(ABC):
    """A loss, as class labels need it; ``overshoot`` is as in Target."""

    overshoot: ClassVar[float | None] = None

    @property
    @abstractmethod
    def score_name(self) -> str:
        """What ``score`` is, in words."""

    @abstractmethod
    def default_C(self, weights: np.ndarray) -> float:
        """The C that None stands for."""

    def check_weights(self, weights: np.ndarray) -> None:  # noqa: B027 (a loss of margins takes all)
        """Raise InvalidDataError for weights that the loss does not take, and for too few samples that have one."""

    def check_folds(self, folds: Any, codes: np.ndarray, weights: np.ndarray) -> None:  # noqa: B027 (accuracy is known)
        """Raise InvalidDataError if a fold cannot be judged: before anything is solved on it."""

    @abstractmethod
    def problem(self, y: np.ndarray, cost: np.ndarray, *, shift: bool, classes: int = 1, share: float = 1.0) -> Problem:
        """The problem of labels and costs, class after class; those samples are a ``share`` of all there are."""

    def score(self, scores: np.ndarray, test: np.ndarray, codes: np.ndarray, weights: np.ndarray) -> float:
        """How well the samples ``test`` are predicted by scores (samples, outputs): accuracy."""
        predicted = (scores[test, 0] > 0).astype(int) if scores.shape[1] == 1 else scores[test].argmax(axis=1)
        return float(np.average(predicted == codes[test], weights=weights[test]))


@dataclass(frozen=True)
class MarginCriterion(Criterion):
    """A smooth loss, judged by accuracy."""

    loss: Loss
    score_name: ClassVar[str] = "accuracy"

    def default_C(self, weights: np.ndarray) -> float:
        """See Criterion."""
        return DEFAULT_C

    def problem(
        self, y: np.ndarray, cost: np.ndarray, *, shift: bool, classes: int = 1, share: float = 1.0
    ) -> MarginProblem:
        """See Criterion."""
        return MarginProblem(y, cost, self.loss, shift, classes)


@dataclass(frozen=True)
class MeasureCriterion(Criterion):
    """A measure, which also judges; the mean over the classes, each against all others."""

    overshoot: ClassVar[float | None] = OVERSHOOT_OF_MEASURES
    measure: Measure

    @property
    def score_name(self) -> str:
        """See Criterion."""
        return "accuracy" if isinstance(self.measure, ErrorRate) else self.measure.name

    def default_C(self, weights: np.ndarray) -> float:
        """See Criterion."""
        return DEFAULT_TOTAL / float(weights.sum())

    def check_weights(self, weights: np.ndarray) -> None:
        """See Criterion."""
        if not self.measure.is_weighted and not np.isin(weights, (0.0, 1.0)).all():
            raise InvalidDataError(
                f"loss={self.measure.name!r} takes sample weights 0 and 1 only, and no class_weight: with others, the "
                "most violated labelling would be the solution of a knapsack problem. Use loss='error' or 'auc', "
                "'squared_hinge' or 'logistic', or repeat samples"
            )
        self.measure.n_predicted(1, int(np.count_nonzero(weights)))  # raises if these are too few

    def check_folds(self, folds: Any, codes: np.ndarray, weights: np.ndarray) -> None:
        """See Criterion."""
        columns = 1 if np.unique(codes).size == 2 else int(codes.max()) + 1
        for fold, test in enumerate(folds):
            try:
                self.score(np.zeros((codes.size, columns)), test, codes, weights)
            except ValueError as error:
                raise InvalidDataError(f"fold {fold} of cv cannot be judged by {self.measure!r}: {error}") from None

    def problem(
        self, y: np.ndarray, cost: np.ndarray, *, shift: bool, classes: int = 1, share: float = 1.0
    ) -> CutProblem:
        """See Criterion."""
        return CutProblem(y, cost, self.measure.of_share(share), shift, classes)

    def score(self, scores: np.ndarray, test: np.ndarray, codes: np.ndarray, weights: np.ndarray) -> float:
        """See Criterion: the measure, the mean over the classes that occur among these samples."""
        if isinstance(self.measure, ErrorRate):  # every fold has an accuracy
            return super().score(scores, test, codes, weights)
        measure = self.measure.of_share(test.size / np.count_nonzero(weights))
        labels = codes[test]
        # column 0 is about class 1 of two
        columns = {1: 0} if scores.shape[1] == 1 else {int(c): int(c) for c in np.unique(labels)}
        of_classes = [
            measure.score(np.where(labels == c, 1.0, -1.0), scores[test, column], weights[test])
            for c, column in columns.items()
        ]
        return float(np.mean(of_classes))


def criterion_of(loss: Any) -> Criterion:
    """The Criterion of the parameter ``loss``: a name, a Loss or a Measure; ValueError for anything else."""
    value = as_loss(loss)
    return MeasureCriterion(value) if isinstance(value, Measure) else MarginCriterion(value)
