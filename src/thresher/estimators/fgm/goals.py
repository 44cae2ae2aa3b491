"""What a fit by FGM minimises: a smooth loss, or that of a measure; its problems, its C, and how folds are judged."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from thresher.errors import InvalidDataError
from thresher.estimators.shared.folds import accuracy
from thresher.optim.measures.base import Measure
from thresher.optim.measures.values import ErrorRate
from thresher.optim.problems.cuts import PlaneProblem
from thresher.optim.problems.loss import Loss
from thresher.optim.problems.margins import MarginProblem, Problem
from thresher.optim.problems.named import as_loss

DEFAULT_C = 1.0
DEFAULT_TOTAL = 1e6  # C times the number of samples, of a measure
POOL_OF_MEASURES = 1.2  # times the number of features wanted; from hundreds, with a large C, picks fit noise


class Goal(ABC):
    """A loss of ``FGMClassifier``; ``overshoot`` is what "auto" stands for."""

    overshoot: ClassVar[float | str] = "auto"

    @abstractmethod
    def default_C(self, weights: np.ndarray) -> float:
        """The C that None stands for."""

    def check_weights(self, weights: np.ndarray) -> None:  # noqa: B027 (a loss of margins takes all)
        """Raise InvalidDataError for weights that the loss does not take, and for too few samples that have one."""

    def check_folds(self, folds: list[np.ndarray], codes: np.ndarray, weights: np.ndarray) -> None:  # noqa: B027
        """Raise InvalidDataError if a fold cannot be judged: before anything is solved on it."""

    @abstractmethod
    def problem(self, y: np.ndarray, cost: np.ndarray, *, shift: bool, classes: int = 1, share: float = 1.0) -> Problem:
        """The problem of labels and costs, class after class; those samples are a ``share`` of all there are."""

    @abstractmethod
    def judge(
        self, scores: Sequence[np.ndarray], folds: list[np.ndarray], codes: np.ndarray, weights: np.ndarray
    ) -> np.ndarray:
        """Scores of the held-out samples, (folds, values); ``scores`` run over values within folds."""

    def problems(
        self, signs: np.ndarray, *, shared: bool, shift: bool, weights: np.ndarray, cost: np.ndarray
    ) -> list[Problem]:
        """The problems to solve: one for two classes or a shared support, else one for each class.

        Samples whose weight is zero are not there at all; those that have one and no cost are held out.
        """
        share = np.count_nonzero(cost) / np.count_nonzero(weights)
        if signs.ndim == 1:
            return [self.problem(signs, cost, shift=shift, share=share)]
        if shared:
            tiled = np.tile(cost, len(signs))
            return [self.problem(signs.ravel(), tiled, shift=shift, classes=len(signs), share=share)]
        return [self.problem(y, cost, shift=shift, share=share) for y in signs]


@dataclass(frozen=True)
class OfMargins(Goal):
    """A smooth loss, judged by accuracy."""

    loss: Loss

    def default_C(self, weights: np.ndarray) -> float:
        """See Goal."""
        return DEFAULT_C

    def problem(
        self, y: np.ndarray, cost: np.ndarray, *, shift: bool, classes: int = 1, share: float = 1.0
    ) -> MarginProblem:
        """See Goal."""
        return MarginProblem(y, cost, self.loss, shift, classes)

    def judge(
        self, scores: Sequence[np.ndarray], folds: list[np.ndarray], codes: np.ndarray, weights: np.ndarray
    ) -> np.ndarray:
        """See Goal."""
        return accuracy(scores, folds, codes, weights)


@dataclass(frozen=True)
class OfMeasure(Goal):
    """A measure, which also judges; the mean over the classes, each against all others."""

    overshoot: ClassVar[float | str] = POOL_OF_MEASURES
    measure: Measure

    def default_C(self, weights: np.ndarray) -> float:
        """See Goal."""
        return DEFAULT_TOTAL / float(weights.sum())

    def check_weights(self, weights: np.ndarray) -> None:
        """See Goal."""
        if not self.measure.is_weighted and not np.isin(weights, (0.0, 1.0)).all():
            raise InvalidDataError(
                f"loss={self.measure.name!r} takes sample weights 0 and 1 only, and no class_weight: with others, the "
                "most violated labelling would be the solution of a knapsack problem. Use loss='error' or 'auc', "
                "'squared_hinge' or 'logistic', or repeat samples"
            )
        self.measure.n_predicted(1, int(np.count_nonzero(weights)))  # raises if these are too few

    def check_folds(self, folds: list[np.ndarray], codes: np.ndarray, weights: np.ndarray) -> None:
        """See Goal."""
        if isinstance(self.measure, ErrorRate):  # every fold has an accuracy
            return
        columns = 1 if np.unique(codes).size == 2 else int(codes.max()) + 1
        for fold, test in enumerate(folds):
            try:
                self._fold_score(np.zeros((codes.size, columns)), test, codes, weights)
            except ValueError as error:
                raise InvalidDataError(f"fold {fold} of cv cannot be judged by {self.measure!r}: {error}") from None

    def problem(
        self, y: np.ndarray, cost: np.ndarray, *, shift: bool, classes: int = 1, share: float = 1.0
    ) -> PlaneProblem:
        """See Goal."""
        return PlaneProblem(y, cost, self.measure.of_share(share), shift, classes)

    def judge(
        self, scores: Sequence[np.ndarray], folds: list[np.ndarray], codes: np.ndarray, weights: np.ndarray
    ) -> np.ndarray:
        """See Goal."""
        if isinstance(self.measure, ErrorRate):
            return accuracy(scores, folds, codes, weights)
        out = np.zeros((len(folds), len(scores) // len(folds)))
        for position, decision in enumerate(scores):
            fold, value = divmod(position, out.shape[1])
            out[fold, value] = self._fold_score(decision, folds[fold], codes, weights)
        return out

    def _fold_score(self, decision: np.ndarray, test: np.ndarray, codes: np.ndarray, weights: np.ndarray) -> float:
        """The measure of the samples ``test``, the mean over the classes that occur there."""
        measure, labels = self.measure.of_share(test.size / np.count_nonzero(weights)), codes[test]
        # column 0 is about class 1 of two
        columns = {1: 0} if decision.shape[1] == 1 else {int(c): int(c) for c in np.unique(labels)}
        return float(np.mean([
            measure.score(np.where(labels == c, 1.0, -1.0), decision[test, column], weights[test])
            for c, column in columns.items()
        ]))  # fmt: skip


def goal_of(loss: Any) -> Goal:
    """The goal of the parameter ``loss``; ValueError if it is none."""
    value = as_loss(loss)
    return OfMeasure(value) if isinstance(value, Measure) else OfMargins(value)


def is_all(clf: Any) -> bool:
    """Whether all features are asked for."""
    wanted = getattr(clf, "n_features_to_select", None)
    return isinstance(wanted, str) and wanted == "all"


def check_all(clf: Any) -> None:
    """Raise ValueError if all features are asked for together with what they do not go with."""
    if not is_all(clf):
        return
    if isinstance(goal_of(clf.loss), OfMargins):
        raise ValueError(
            f'n_features_to_select="all" is for measures; with loss={clf.loss!r} use scikit-learn\'s LinearSVC or '
            "LogisticRegression, which solve that problem"
        )
    for name in ("groups", "always_include"):
        if getattr(clf, name) is not None:
            raise ValueError(f'{name} has no meaning with n_features_to_select="all": all features are in the model')
    if clf.features != "linear":
        raise ValueError(f'n_features_to_select="all" needs features="linear", got {clf.features!r}')
