"""SVMs on a learnt kernel: the sum of the kernels of selected features, as one matrix or as explicit columns."""

import importlib
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from thresher.features.kernels.columns import FittedKernels, SortedColumns, take_ranges
from thresher.features.kernels.explicit import AnchoredColumns, ExplicitColumns, additive_scores
from thresher.results import AlignmentPath, AlignmentPoint
from thresher.targets.classes import signs_of

SVM_TOLERANCE = 1e-4

Coefficients = tuple[np.ndarray, np.ndarray]  # of A, a kernel matrix or explicit columns, in A @ weights + intercept


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
        """Decision values of new rows, with the columns of the same kernels: (rows,) if there are two classes."""
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

    @property
    def targets(self) -> np.ndarray:
        """Labels +-1, (rows, SVMs)."""
        return targets_of(self.codes)

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

    def with_positive_weights(self) -> "TrainingSet":
        """The same on the rows with a positive weight."""
        rows = np.flatnonzero(self.weights > 0.0)
        columns = self.columns.take_rows(rows)
        return replace(self, columns=columns, codes=self.codes[rows], weights=self.weights[rows])

    def constant_decision(self, rows: np.ndarray) -> np.ndarray:
        """Decision values without any kernel, (outputs,): those of the most frequent class."""
        totals = np.bincount(self.codes[rows], self.weights[rows])
        decision = totals / totals.sum() - 0.5
        return decision[1:] if decision.size == 2 else decision


def targets_of(codes: np.ndarray) -> np.ndarray:
    """Labels +-1, (samples, 1) for two classes, else (samples, classes): each class against all others."""
    return np.atleast_2d(signs_of(codes, int(codes.max()) + 1)).T


def one_column_flat(decisions: np.ndarray) -> np.ndarray:
    """Decision values (rows, outputs) as (rows,) if there are two classes."""
    return decisions[:, 0] if decisions.shape[1] == 1 else decisions


def solve_kernel_svms(gram: np.ndarray, training: TrainingSet, rows: np.ndarray, C: float) -> Coefficients:
    """SVMs on some rows; ``gram`` is the learnt kernel of all rows, which need not be centred."""
    targets = training.targets[rows]
    w = training.weights[rows]
    K = gram[np.ix_(rows, rows)]
    mean = K @ w / w.sum()
    K -= mean
    K -= mean[:, None]
    K += w @ mean / w.sum()
    dual = np.zeros((len(gram), targets.shape[1]))
    intercept = np.zeros(targets.shape[1])
    SVC = importlib.import_module("sklearn.svm").SVC  # on demand: it takes a tenth of a second to load
    for output, y in enumerate(targets.T):
        svc = SVC(kernel="precomputed", C=C, tol=SVM_TOLERANCE)
        svc.fit(K, (y > 0).astype(int), sample_weight=w)
        alpha = np.zeros(rows.size)
        alpha[svc.support_] = svc.dual_coef_[0]
        alpha[svc.support_] -= alpha.sum() / max(1, svc.support_.size)  # zero but for rounding
        dual[rows, output] = alpha
        intercept[output] = svc.intercept_[0] - alpha @ mean
    return dual, intercept


def solve_linear_svms(columns: Any, training: TrainingSet, rows: np.ndarray, C: float) -> Coefficients:
    """Linear SVMs on some rows of explicit columns."""
    LinearSVC = importlib.import_module("sklearn.svm").LinearSVC  # on demand, as in ``solve_kernel_svms``
    A, targets = columns[rows], training.targets[rows]
    coef = np.zeros((columns.shape[1], targets.shape[1]))
    intercept = np.zeros(targets.shape[1])
    for output, y in enumerate(targets.T):
        svc = LinearSVC(C=C, tol=SVM_TOLERANCE, dual=False)
        svc.fit(A, (y > 0).astype(int), sample_weight=training.weights[rows])
        coef[:, output], intercept[output] = svc.coef_[0], svc.intercept_[0]
    return coef, intercept


def fit_svm(
    training: TrainingSet, point: AlignmentPoint, C: float, svm: str, ended: Callable[[], bool] = lambda: False
) -> KernelSVM:
    """The SVM of a point, trained on the rows with weight; it keeps support rows or anchors alone."""
    part = training.take(point.features)
    shares = part.shares(point)
    rows = np.flatnonzero(part.weights > 0.0)
    if not point.features.size:
        intercept = part.constant_decision(rows)
        no_dual = np.zeros((0, intercept.size))
        return KernelSVM(part.kernels, shares, part.columns.take_rows(rows[:0]), no_dual, intercept)
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
        self, paths: list[AlignmentPath], training: TrainingSet, test: np.ndarray, svm: str | None = "kernel",
        ended: Callable[[], bool] = lambda: False,
    ):  # fmt: skip
        self.paths = paths
        self.training = training
        self.test = test
        self.train = np.flatnonzero(training.weights > 0.0)
        explicit: Any = AnchoredColumns if svm == "linear" else ExplicitColumns
        self.columns = explicit(training.columns, training.kernels, ended)
        self._solve = solve_linear_svms if svm == "linear" else solve_kernel_svms

    def decisions(self, which: int, index: int, Cs: list[float]) -> list[np.ndarray]:
        """Decision values at a point of a path, for each C: of all rows, but only those of the fold are set."""
        training, point = self.training, self.paths[which].point(index)
        decisions = np.zeros((len(Cs), *training.targets.shape))
        if point.features.size:
            A = self.columns.for_svm(training.shares(point))
            for place, C in enumerate(Cs):
                coefficients, intercept = self._solve(A, training, self.train, C)
                decisions[place, self.test] = A[self.test] @ coefficients + intercept
        else:
            decisions[:, self.test] = training.constant_decision(self.train)
        return list(map(one_column_flat, decisions))
