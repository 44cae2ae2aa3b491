"""SVMs on a learnt kernel: the sum of the kernels of selected features, as one matrix or as explicit columns."""

import importlib
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from thresher.features.kernels.columns import FittedKernels, SortedColumns, take_ranges
from thresher.features.kernels.explicit import AnchoredColumns, ExplicitColumns, additive_scores
from thresher.results import AlignmentPath, AlignmentPoint

SVM_TOLERANCE = 1e-4


@dataclass(frozen=True, eq=False)
class KernelSVM:
    """Decision values sum_k shares_k sum_i dual_i K_k(x, x_i) + intercept, over the kernels k of a point.

    K_k is zero at zero. ``columns``, laid out kernel by kernel, are those of the rows i that matter: support rows, or
    the anchors of a linear SVM.
    """

    kernels: FittedKernels
    shares: np.ndarray
    columns: SortedColumns
    dual: np.ndarray
    intercept: np.ndarray

    def decisions(self, new: SortedColumns) -> np.ndarray:
        """Decision values of new rows, whose columns are laid out alike: (rows,) if there are two classes."""
        products = additive_scores(new, self.columns, self.kernels, self.shares, self.dual)
        return one_column_flat(products + self.intercept)


@dataclass(frozen=True, eq=False)
class TrainingSet:
    """What SVMs can be trained on at every point of a path: columns of the kernels ``ids``, labels and weights.

    ``traces`` are those of the kernels.
    """

    ids: np.ndarray
    columns: SortedColumns
    kernels: FittedKernels
    traces: np.ndarray
    codes: np.ndarray
    weights: np.ndarray
    n_classes: int

    @property
    def n_outputs(self) -> int:
        """Number of SVMs."""
        return 1 if self.n_classes == 2 else self.n_classes

    def binary_labels(self, rows: np.ndarray) -> list[np.ndarray]:
        """For each SVM, which of the rows are positive."""
        codes = self.codes[rows]
        return [codes == 1] if self.n_outputs == 1 else [codes == label for label in range(self.n_classes)]

    def shares(self, point: AlignmentPoint) -> np.ndarray:
        """What each kernel is multiplied by, such that the trace of the learnt kernel is the sum of the weights."""
        shares = np.zeros(self.ids.size)
        places = np.searchsorted(self.ids, point.features)
        shares[places] = point.weights / self.traces[places]
        return shares * (self.weights.sum() / point.weights.sum()) if places.size else shares

    def take(self, ids: np.ndarray) -> "TrainingSet":
        """The same with some of the kernels."""
        places = np.searchsorted(self.ids, ids)
        columns = self.columns.take(take_ranges(self.kernels.begins, places)[1])
        return replace(self, ids=ids, columns=columns, kernels=self.kernels.take(places), traces=self.traces[places])

    def without_weightless_rows(self) -> "TrainingSet":
        """The same without the rows of weight zero."""
        rows = np.flatnonzero(self.weights > 0.0)
        columns = self.columns.take_rows(rows)
        return replace(self, columns=columns, codes=self.codes[rows], weights=self.weights[rows])

    def constant_decision(self, rows: np.ndarray) -> np.ndarray:
        """Decision values without any kernel, (outputs,): those of the most frequent class."""
        totals = np.bincount(self.codes[rows], self.weights[rows], minlength=self.n_classes)
        decision = totals / totals.sum() - 0.5
        return decision[1:] if self.n_classes == 2 else decision


class Coefficients(NamedTuple):
    """SVMs, as decision values A @ weights + intercept: A is a kernel matrix, or has explicit columns."""

    weights: np.ndarray
    intercept: np.ndarray


def one_column_flat(decisions: np.ndarray) -> np.ndarray:
    """Decision values (rows, outputs) as (rows,) if there are two classes."""
    return decisions[:, 0] if decisions.shape[1] == 1 else decisions


def solve_kernel_svms(gram: np.ndarray, training: TrainingSet, rows: np.ndarray, C: float) -> Coefficients:
    """SVMs on some rows; ``gram`` is the learnt kernel of all rows, which need not be centred."""
    w = training.weights[rows]
    K = gram[np.ix_(rows, rows)]
    mean = K @ w / w.sum()
    K -= mean
    K -= mean[:, None]
    K += w @ mean / w.sum()
    dual, intercept = np.zeros((len(gram), training.n_outputs)), np.zeros(training.n_outputs)
    SVC = importlib.import_module("sklearn.svm").SVC  # on demand: it takes a tenth of a second to load
    for output, positive in enumerate(training.binary_labels(rows)):
        svc = SVC(kernel="precomputed", C=C, tol=SVM_TOLERANCE)
        svc.fit(K, positive.astype(int), sample_weight=w)
        alpha = np.zeros(rows.size)
        alpha[svc.support_] = svc.dual_coef_[0]
        alpha[svc.support_] -= alpha.sum() / max(1, svc.support_.size)  # zero but for rounding
        dual[rows, output] = alpha
        intercept[output] = svc.intercept_[0] - alpha @ mean
    return Coefficients(dual, intercept)


def solve_linear_svms(columns: Any, training: TrainingSet, rows: np.ndarray, C: float) -> Coefficients:
    """Linear SVMs on some rows of explicit columns."""
    LinearSVC = importlib.import_module("sklearn.svm").LinearSVC  # on demand, as in ``solve_kernel_svms``
    coef, intercept = np.zeros((columns.shape[1], training.n_outputs)), np.zeros(training.n_outputs)
    A = columns[rows]
    for output, positive in enumerate(training.binary_labels(rows)):
        svc = LinearSVC(C=C, tol=SVM_TOLERANCE, dual=False)
        svc.fit(A, positive.astype(int), sample_weight=training.weights[rows])
        coef[:, output], intercept[output] = svc.coef_[0], svc.intercept_[0]
    return Coefficients(coef, intercept)


def fit_svm(
    training: TrainingSet, point: AlignmentPoint, C: float, svm: str, ended: Callable[[], bool] = lambda: False
) -> KernelSVM:
    """The SVM of a point, trained on the rows with weight; it keeps support rows or anchors alone."""
    part = training.take(point.features)
    shares = part.shares(point)
    rows = np.flatnonzero(part.weights > 0.0)
    if not point.features.size:
        no_dual = np.zeros((0, part.n_outputs))
        return KernelSVM(part.kernels, shares, part.columns.take_rows(rows[:0]), no_dual, part.constant_decision(rows))
    if svm == "linear":
        explicit = AnchoredColumns(part.columns, part.kernels, ended)
        coef, intercept = solve_linear_svms(explicit.for_svm(shares), part, rows, C)
        anchors, dual = explicit.expansion(coef, shares)
        return KernelSVM(part.kernels, shares, anchors, dual, intercept)
    gram = ExplicitColumns(part.columns, part.kernels, ended).for_svm(shares)
    dual, intercept = solve_kernel_svms(gram, part, rows, C)
    support = np.flatnonzero(dual.any(axis=1))
    return KernelSVM(part.kernels, shares, part.columns.take_rows(support), dual[support], intercept)


class FoldSVMs:
    """SVMs along paths on the samples outside of a fold, and the decision values of those in it."""

    def __init__(
        self, paths: list[AlignmentPath], training: TrainingSet, test: np.ndarray, svm: str = "kernel",
        ended: Callable[[], bool] = lambda: False,
    ):  # fmt: skip
        self.paths, self.training, self.test = paths, training, test
        self.train = np.flatnonzero(training.weights > 0.0)
        explicit: Any = AnchoredColumns if svm == "linear" else ExplicitColumns
        self.columns = explicit(training.columns, training.kernels, ended)
        self._solve = solve_linear_svms if svm == "linear" else solve_kernel_svms

    def decisions(self, which: int, index: int, Cs: list[float]) -> list[np.ndarray]:
        """Decision values at a point of a path, for each C: of all rows, but only those of the fold are set."""
        decisions = []
        for of_fold in self._of_fold(self.paths[which].point(index), Cs):
            of_all = np.zeros((self.training.columns.n_rows, self.training.n_outputs))
            of_all[self.test] = of_fold
            decisions.append(one_column_flat(of_all))
        return decisions

    def _of_fold(self, point: AlignmentPoint, Cs: list[float]) -> list[np.ndarray]:
        """Decision values (rows of the fold, outputs), for each C."""
        training, train, test = self.training, self.train, self.test
        if not point.features.size:
            return [np.tile(training.constant_decision(train), (test.size, 1))] * len(Cs)
        A = self.columns.for_svm(training.shares(point))
        solutions = [self._solve(A, training, train, C) for C in Cs]
        return [A[test] @ svm.weights + svm.intercept for svm in solutions]
