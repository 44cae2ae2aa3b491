"""SVMs on a learnt kernel: the sum of the kernels of selected features, as one matrix or as explicit columns."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from thresher.data.input.validation import stored_block
from thresher.data.scan.pieces import OutOfTime
from thresher.features.kernels.columns import FittedKernels, SortedColumns, take_ranges
from thresher.features.kernels.explicit import AnchoredColumns, ExplicitColumns, additive_scores
from thresher.optim.penalties.norms import KSupport
from thresher.optim.problems.losses import SquaredHinge
from thresher.optim.problems.margins import MarginProblem
from thresher.optim.solvers import newton
from thresher.optim.solvers.kernel_svm import solve_kernel_svm
from thresher.results import AlignmentPath, AlignmentPoint
from thresher.targets.classes import signs_of

SVM_TOLERANCE = 1e-6  # largest violation of the optimality conditions of kernel SVMs
LINEAR_TOLERANCE = 1e-6  # duality gap of linear ones, as a share of the objective at zero

Ended = Callable[[], bool]  # whether to stop now
Coefficients = tuple[np.ndarray, np.ndarray]  # of A, a kernel matrix or explicit columns, in A @ weights + intercept


def never() -> bool:
    """No."""
    return False


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


def solve_kernel_svms(
    gram: np.ndarray, training: TrainingSet, rows: np.ndarray, C: float, ended: Ended = never
) -> Coefficients:
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
    for output, y in enumerate(targets.T):
        svm = solve_kernel_svm(K, y, C * w, SVM_TOLERANCE, ended)
        if svm.ended:
            raise OutOfTime(output / targets.shape[1])
        dual[rows, output] = svm.dual
        intercept[output] = svm.intercept - svm.dual @ mean
    return dual, intercept


def solve_linear_svms(
    columns: Any, training: TrainingSet, rows: np.ndarray, C: float, ended: Ended = never
) -> Coefficients:
    """Linear SVMs with squared hinge loss on some rows of explicit columns."""
    block, targets = stored_block(columns[rows]), training.targets[rows]
    coef = np.zeros((columns.shape[1], targets.shape[1]))
    intercept = np.zeros(targets.shape[1])
    for output, y in enumerate(targets.T):
        problem = MarginProblem(y, 2.0 * C * training.weights[rows], SquaredHinge())
        tol = LINEAR_TOLERANCE * problem.at_zero()
        svm = newton.solve(block, problem, KSupport(columns.shape[1]), tol=tol, deadline=ended)
        if svm.gap > tol and ended():
            raise OutOfTime(output / targets.shape[1])
        coef[:, output], intercept[output] = svm.w, svm.b
    return coef, intercept


def fit_svm(training: TrainingSet, point: AlignmentPoint, C: float, svm: str, ended: Ended = never) -> KernelSVM:
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
        coef, intercept = solve_linear_svms(explicit.for_svm(shares), part, rows, C, ended)
        anchors, dual = explicit.expansion(coef, shares)
        return KernelSVM(part.kernels, shares, anchors, dual, intercept)
    gram = ExplicitColumns(part.columns, part.kernels, ended).for_svm(shares)
    dual, intercept = solve_kernel_svms(gram, part, rows, C, ended)
    support = np.flatnonzero(dual.any(axis=1))
    return KernelSVM(part.kernels, shares, part.columns.take_rows(support), dual[support], intercept)


def explicit_columns(svm: str | None) -> type[AnchoredColumns] | type[ExplicitColumns]:
    """How kernels are written down for this kind of SVM."""
    return AnchoredColumns if svm == "linear" else ExplicitColumns


class FoldSVMs:
    """SVMs along paths on the samples outside of a fold, and the decision values of those in it."""

    def __init__(
        self, paths: list[AlignmentPath], training: TrainingSet, test: np.ndarray, svm: str | None = "kernel",
        ended: Ended = never,
    ):  # fmt: skip
        self.paths = paths
        self.training = training
        self.test = test
        self.ended = ended
        self.train = np.flatnonzero(training.weights > 0.0)
        self.columns: Any = explicit_columns(svm)(training.columns, training.kernels, ended)
        self._solve = solve_linear_svms if svm == "linear" else solve_kernel_svms

    def decisions(self, which: int, index: int, Cs: list[float]) -> list[np.ndarray]:
        """Decision values at a point of a path, for each C: of all rows, but only those of the fold are set."""
        training, point = self.training, self.paths[which].point(index)
        decisions = np.zeros((len(Cs), *training.targets.shape))
        if point.features.size:
            A = self.columns.for_svm(training.shares(point))
            for place, C in enumerate(Cs):
                coefficients, intercept = self._solve(A, training, self.train, C, self.ended)
                decisions[place, self.test] = A[self.test] @ coefficients + intercept
        else:
            decisions[:, self.test] = training.constant_decision(self.train)
        return list(map(one_column_flat, decisions))
