"""The loss of a problem as a function of the scores z = Xw, and the dual points that give its bounds.

    minimise over w and b:   penalty(w) + loss(Xw + b)

The intercept b is not penalised and not a variable of the solvers: for every w that they evaluate, b is the exact
minimiser, so they minimise a convex function of w alone plus the penalty.

Several problems on the same columns, such as one-vs-rest, are one problem whose vectors are concatenated: scores class
after class, weights too. Only the penalty couples them.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, Self, runtime_checkable

import numpy as np

if TYPE_CHECKING:
    from thresher.optim.problems.loss import Loss


class DualPoint(ABC):
    """A feasible point of the dual problem: a vector to multiply the columns with, and the bound that follows.

    ``vector`` has one entry per sample (of each class, class after class). With c = X'vector and a penalty whose
    conjugate at c is square / 2, the problem's optimum is at least ``value(square)`` and, since every multiple of the
    point is feasible as far as the loss allows, at least ``bound(square)``.
    """

    @property
    @abstractmethod
    def vector(self) -> np.ndarray:
        """The vector that the columns are multiplied with."""

    @abstractmethod
    def value(self, square: float) -> float:
        """The dual function at this point."""

    @abstractmethod
    def bound(self, square: float) -> float:
        """The dual function at its best multiple: a lower bound of the objective."""

    @abstractmethod
    def joined(self, others: Sequence[Self]) -> Self:
        """The dual point of this and other classes, concatenated."""

    @property
    def is_zero(self) -> bool:
        """Whether the loss cannot decrease any further: every column then has score zero."""
        return not self.vector.any()


class Evaluation(NamedTuple):
    """A problem at given scores: the best intercept (one for each class), the loss there, and a feasible dual point."""

    shift: float | np.ndarray
    loss: float
    dual: DualPoint


class Problem(ABC):
    """Everything but the columns and the penalty. ``size`` scores belong to ``classes`` classes, class after class."""

    classes: int = 1
    fit_intercept: bool = True
    accuracy: float = 0.0  # of the objective without units: smaller gaps are worth their price in the final model only

    @property
    @abstractmethod
    def size(self) -> int:
        """Number of scores, of all classes together."""

    @abstractmethod
    def at(self, z: np.ndarray, start: float | np.ndarray = 0.0) -> Evaluation:
        """The problem at the scores z = Xw; ``start`` is an initial guess of the intercept."""

    @abstractmethod
    def per_class(self) -> "Sequence[Problem]":
        """The problem of each class."""

    def by_class(self, z: np.ndarray) -> np.ndarray:
        """A vector over all scores as (classes, samples)."""
        return z.reshape(self.classes, -1)

    def samples_that_count(self) -> np.ndarray | None:
        """Mask of the samples that the objective depends on; None: all of them."""
        return None

    def dual_weights(self) -> np.ndarray | None:
        """The weights c of a dual function 1'alpha - sum alpha_i^2 / (2 c_i); None if it has another form."""
        return None

    def at_zero(self) -> float:
        """The objective at w = 0 with the best intercept: every gap is a share of it."""
        return self.at(np.zeros(self.size)).loss


@runtime_checkable
class Smooth(Protocol):
    """A problem whose loss has a gradient that changes no faster than ``curvature_bound`` says."""

    def curvature_bound(self) -> np.ndarray:
        """An upper bound of the second derivative of the loss, for each score."""


@runtime_checkable
class Curved(Smooth, Protocol):
    """A smooth problem whose loss has a (generalised) second derivative, one value per score."""

    def curvature(self, z: np.ndarray, b: float | np.ndarray) -> np.ndarray:
        """The second derivative at the scores z + b."""

    def guarded_curvature(self, z: np.ndarray, b: float, more: float, least: float) -> np.ndarray:
        """A second derivative with which longer steps are safe: see ``MarginProblem.guarded_curvature``."""


@dataclass(frozen=True)
class MarginDual(DualPoint):
    """alpha >= 0 of a loss of margins; ``vector`` is alpha y."""

    alpha: np.ndarray
    y: np.ndarray
    cost: np.ndarray
    loss: "Loss"

    @cached_property
    def vector(self) -> np.ndarray:
        """See DualPoint."""
        return self.alpha * self.y

    def value(self, square: float) -> float:
        """See DualPoint."""
        return self.loss.dual_total(self.alpha, self.cost) - 0.5 * square

    def bound(self, square: float) -> float:
        """See DualPoint."""
        return self.loss.best_bound(self.alpha, self.cost, square)

    def joined(self, others: "Sequence[MarginDual]") -> "MarginDual":
        """See DualPoint."""
        points = [self, *others]
        alpha, y, cost = (np.concatenate([getattr(point, name) for point in points]) for name in ("alpha", "y", "cost"))
        return MarginDual(alpha, y, cost, self.loss)


@dataclass(frozen=True)
class LabelledProblem(Problem):
    """A problem of labels +-1 and costs, those of the first class, then those of the second, and so on."""

    y: np.ndarray
    cost: np.ndarray

    @property
    def size(self) -> int:
        """Number of scores."""
        return self.y.size

    def per_class(self) -> "list[Self]":
        """See Problem."""
        whole: Any = self  # with the fields of its class
        parts = zip(self.by_class(self.y), self.by_class(self.cost), strict=True)
        return [replace(whole, y=y, cost=cost, classes=1) for y, cost in parts]

    def samples_that_count(self) -> np.ndarray:
        """See Problem: those with a cost."""
        return np.any(self.by_class(self.cost) > 0.0, axis=0)


@dataclass(frozen=True)
class MarginProblem(LabelledProblem):
    """sum_i c_i l(y_i (z_i + b)): labels y = +-1, costs c (C times weight), a loss, and whether there is an intercept.

    With several ``classes``, y and cost contain those of the first class, then those of the second, and so on.
    """

    loss: "Loss"
    fit_intercept: bool = True
    classes: int = 1

    def at(self, z: np.ndarray, start: float | np.ndarray = 0.0) -> Evaluation:
        """See Problem."""
        if self.classes == 1:
            return self._at(z, start)
        starts, scores = np.broadcast_to(start, self.classes), self.by_class(z)
        per_class = zip(self.per_class(), scores, starts, strict=True)
        parts = [problem._at(class_scores, float(b)) for problem, class_scores, b in per_class]
        shifts, losses, duals = zip(*parts, strict=True)
        return Evaluation(np.array(shifts), sum(losses), duals[0].joined(duals[1:]))

    def _at(self, z: np.ndarray, start: float | np.ndarray) -> Evaluation:
        y, cost = self.y, self.cost
        b = self.loss.best_shift(y, z, cost, float(start)) if self.fit_intercept else 0.0
        margins = y * (z + b)
        alpha = self.loss.dual_point(margins, cost)
        if self.fit_intercept:
            alpha = feasible(alpha, y)
        return Evaluation(b, self.loss.total(margins, cost), self.dual_at(alpha))

    def dual_at(self, alpha: np.ndarray) -> MarginDual:
        """The dual point alpha."""
        return MarginDual(alpha, self.y, self.cost, self.loss)

    def dual_weights(self) -> np.ndarray | None:
        """See Problem."""
        return self.loss.dual_weights(self.cost)

    def curvature_bound(self) -> np.ndarray:
        """See Smooth."""
        return self.loss.largest_curvature * self.cost

    def curvature(self, z: np.ndarray, b: float | np.ndarray) -> np.ndarray:
        """See Curved."""
        if self.classes > 1:
            z = (self.by_class(z) + np.reshape(b, (-1, 1))).ravel()
            b = 0.0
        return self.loss.curvatures(self.y * (z + b), self.cost)

    def guarded_curvature(self, z: np.ndarray, b: float, more: float, least: float) -> np.ndarray:
        """See Curved: samples whose loss is zero have curvature, too, if a step may change that. For a single class.

        Those nearest to the others count: with ``more`` times the cost of these, and with the cost of ``least`` samples
        in all. Costs and not samples are counted, so that equal samples may be merged.
        """
        margins, cost = self.y * (z + b), self.cost
        curvature = self.loss.curvatures(margins, cost)
        has_loss = margins < self.loss.zero_from
        if has_loss.all():
            return curvature
        total = cost.sum()
        least_cost = least * cost[cost > 0].min(initial=total)
        enough = min(max((1.0 + more) * cost[has_loss].sum(), least_cost), total)
        order = np.argsort(margins, kind="stable")
        last = np.searchsorted(np.cumsum(cost[order]), enough * (1.0 - 1e-9))
        furthest = margins[order[min(last, margins.size - 1)]]
        near = ~has_loss & (margins <= max(self.loss.zero_from, furthest))
        return np.where(near, self.curvature_bound(), curvature)


def feasible(alpha: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Alpha with sum_i alpha_i y_i = 0, by shrinking the heavier class: corrects an inexact shift."""
    positive = y > 0
    up, down = alpha[positive].sum(), alpha[~positive].sum()
    if up <= 0 or down <= 0:
        return np.zeros_like(alpha)
    return np.where(positive, alpha * min(1.0, down / up), alpha * min(1.0, up / down))
