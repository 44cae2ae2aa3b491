"""SVMs on a learnt kernel: the sum of the kernels of selected units, as one matrix or as explicit columns."""

import importlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from thresher.features.kernels.alignment import UnitKernels
from thresher.features.kernels.anchors import AnchoredColumns
from thresher.features.kernels.explicit import KernelColumns, TrainingColumns, additive_scores
from thresher.results import AlignmentPath, AlignmentPoint

SVM_TOLERANCE = 1e-4


@dataclass(frozen=True, eq=False)
class Machine:
    """Decision values sum_k shares_k sum_i dual_i K_k(x, x_i) + intercept, over the units k of a point.

    K_k is the kernel of unit k, zero at zero. ``columns``, laid out unit by unit, are those of the rows i that matter:
    support rows, or the anchors of a linear SVM.
    """

    kernels: UnitKernels
    shares: np.ndarray
    columns: TrainingColumns
    dual: np.ndarray
    intercept: np.ndarray

    def scores(self, new: TrainingColumns) -> np.ndarray:
        """Decision values of new rows, whose columns are laid out alike: (rows,) if there are two classes."""
        products = additive_scores(new, self.columns, self.kernels, self.shares, self.dual)
        return flat(products + self.intercept)


@dataclass(frozen=True, eq=False)
class Training:
    """What a machine can be trained from at every point of a path: columns of the units ``ids``, labels and weights.

    ``traces`` are those of the units' kernels.
    """

    ids: np.ndarray
    columns: TrainingColumns
    kernels: UnitKernels
    traces: np.ndarray
    codes: np.ndarray
    weights: np.ndarray
    n_classes: int

    @property
    def n_outputs(self) -> int:
        """Number of SVMs."""
        return 1 if self.n_classes == 2 else self.n_classes

    def shares(self, point: AlignmentPoint) -> np.ndarray:
        """What each kernel is multiplied with, such that the trace of the learnt kernel is the sum of the weights."""
        out = np.zeros(self.ids.size)
        places = np.searchsorted(self.ids, point.features)
        out[places] = point.weights / self.traces[places]
        return out * (self.weights.sum() / point.weights.sum()) if places.size else out

    def take(self, ids: np.ndarray) -> "Training":
        """The same with some of the units."""
        places = np.searchsorted(self.ids, ids)
        columns = self.columns.take(self.kernels.columns(places))
        kernels = self.kernels.take(places)
        return Training(ids, columns, kernels, self.traces[places], self.codes, self.weights, self.n_classes)

    def weighted(self) -> "Training":
        """The same without the rows of weight zero."""
        rows = np.flatnonzero(self.weights > 0.0)
        columns = self.columns.take_rows(rows)
        codes, weights = self.codes[rows], self.weights[rows]
        return Training(self.ids, columns, self.kernels, self.traces, codes, weights, self.n_classes)


class Solution(NamedTuple):
    """SVMs on some rows: decision values are K(x, rows) @ dual + intercept, whatever the centre of K."""

    dual: np.ndarray
    intercept: np.ndarray


class LinearSolution(NamedTuple):
    """Linear SVMs: decision values are (scaled explicit columns) @ coef + intercept."""

    coef: np.ndarray
    intercept: np.ndarray


def flat(scores: np.ndarray) -> np.ndarray:
    """Scores (rows, outputs) as (rows,) if there are two classes."""
    return scores[:, 0] if scores.shape[1] == 1 else scores


def solved(gram: np.ndarray, training: Training, rows: np.ndarray, C: float) -> Solution:
    """SVMs on some rows; ``gram`` is the learnt kernel of all rows, not centred."""
    n, outputs = len(gram), training.n_outputs
    w, codes = training.weights[rows], training.codes[rows]
    K = gram[np.ix_(rows, rows)]
    mean = K @ w / w.sum()
    dual, intercept = np.zeros((n, outputs)), np.zeros(outputs)
    K -= mean
    K -= mean[:, None]
    K += w @ mean / w.sum()
    svm = importlib.import_module("sklearn.svm")  # on demand: it takes a tenth of a second to load
    for output in range(outputs):
        positive = codes == (1 if outputs == 1 else output)
        machine = svm.SVC(kernel="precomputed", C=C, tol=SVM_TOLERANCE)
        machine.fit(K, positive.astype(int), sample_weight=w)
        alpha = np.zeros(rows.size)
        alpha[machine.support_] = machine.dual_coef_[0]
        alpha[machine.support_] -= alpha.sum() / max(1, machine.support_.size)  # zero but for rounding
        dual[rows, output] = alpha
        intercept[output] = machine.intercept_[0] - alpha @ mean
    return Solution(dual, intercept)


def linear_solved(columns: Any, training: Training, rows: np.ndarray, C: float) -> LinearSolution:
    """Linear SVMs on some rows of explicit columns."""
    svm = importlib.import_module("sklearn.svm")  # on demand, as in ``solved``
    A, outputs = columns[rows], training.n_outputs
    w, codes = training.weights[rows], training.codes[rows]
    coef, intercept = np.zeros((columns.shape[1], outputs)), np.zeros(outputs)
    for output in range(outputs):
        positive = codes == (1 if outputs == 1 else output)
        machine = svm.LinearSVC(C=C, tol=SVM_TOLERANCE, dual=False)
        machine.fit(A, positive.astype(int), sample_weight=w)
        coef[:, output], intercept[output] = machine.coef_[0], machine.intercept_[0]
    return LinearSolution(coef, intercept)


def machine_of(
    training: Training, point: AlignmentPoint, C: float, svm: str, ended: Callable[[], bool] = lambda: False
) -> Machine:
    """The machine of a point, trained on the rows with weight; it keeps support rows or anchors alone."""
    part = training.take(point.features)
    rows, shares = np.flatnonzero(part.weights > 0.0), part.shares(point)
    if not point.features.size:
        nothing = np.zeros((0, part.n_outputs))
        return Machine(part.kernels, shares, part.columns.take_rows(rows[:0]), nothing, constant(training, rows))
    if svm == "linear":
        explicit = AnchoredColumns(part.columns, part.kernels, ended)
        columns, used = explicit.scaled(shares)
        coef, intercept = linear_solved(columns, part, rows, C)
        anchors, dual = explicit.expansion(coef, used, shares)
        return Machine(part.kernels, shares, anchors, dual, intercept)
    gram = KernelColumns(part.columns, part.kernels, ended).gram(shares)
    dual, intercept = solved(gram, part, rows, C)
    support = np.flatnonzero(dual.any(axis=1))
    return Machine(part.kernels, shares, part.columns.take_rows(support), dual[support], intercept)


def constant(training: Training, rows: np.ndarray) -> np.ndarray:
    """Intercepts of the machine without any kernel: the most frequent class."""
    share = np.bincount(training.codes[rows], training.weights[rows], minlength=training.n_classes)
    share = share / share.sum() - 0.5
    return share[1:] if training.n_classes == 2 else share


class FoldMachine:
    """Machines along paths on the samples outside of a fold, and the decision values of those in it."""

    def __init__(
        self, paths: list[AlignmentPath], training: Training, test: np.ndarray, svm: str = "kernel",
        ended: Callable[[], bool] = lambda: False,
    ):  # fmt: skip
        self.paths, self.training, self.test, self.svm = paths, training, test, svm
        self.train = np.flatnonzero(training.weights > 0.0)
        explicit = AnchoredColumns if svm == "linear" else KernelColumns
        self.columns: Any = explicit(training.columns, training.kernels, ended)

    def decisions(self, which: int, index: int, Cs: list[float]) -> list[np.ndarray]:
        """Decision values at a point of a path, for each C: of all rows, but only those of the fold are set."""
        outputs, n = self.training.n_outputs, self.training.columns.n_rows
        out = [np.zeros(n if outputs == 1 else (n, outputs)) for _ in Cs]
        for each, values in zip(out, self._values(self.paths[which].point(index), Cs), strict=True):
            each[self.test] = flat(values)
        return out

    def _values(self, point: AlignmentPoint, Cs: list[float]) -> list[np.ndarray]:
        """Decision values (rows of the fold, outputs), for each C."""
        training, train, test = self.training, self.train, self.test
        if not point.features.size:
            return [np.tile(constant(training, train), (test.size, 1))] * len(Cs)
        shares = training.shares(point)
        if self.svm == "linear":
            columns = self.columns.scaled(shares)[0]
            lines = [linear_solved(columns, training, train, C) for C in Cs]
            return [columns[test] @ line.coef + line.intercept for line in lines]
        gram = self.columns.gram(shares)
        solutions = [solved(gram, training, train, C) for C in Cs]
        return [gram[test] @ each.dual + each.intercept for each in solutions]
