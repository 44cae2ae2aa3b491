"""SVMs on a learnt kernel: the sum of the kernels of selected columns, as one matrix."""

import importlib
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from thresher.data.alignment import Alignments, ColumnKernel
from thresher.data.explicit import KernelColumns, TrainingColumns, additive_scores
from thresher.results import AlignmentPath, AlignmentPoint

SVM_TOLERANCE = 1e-4


class Machine(NamedTuple):
    """Decision values are K(x, training rows) @ dual + intercept: (rows, outputs) and (outputs,).

    The columns of ``dual`` sum to zero, so K need not be centred.
    """

    dual: np.ndarray
    intercept: np.ndarray

    def scores(self, products: np.ndarray) -> np.ndarray:
        """Decision values from K @ dual: (rows,) if there are two classes."""
        out = products + self.intercept
        return out[:, 0] if out.shape[1] == 1 else out


@dataclass(frozen=True, eq=False)
class Training:
    """What a machine can be trained from at every point of a path: the columns of ``ids``, labels and weights.

    ``gammas`` and ``traces`` are those of their kernels.
    """

    ids: np.ndarray
    columns: TrainingColumns
    gammas: np.ndarray
    traces: np.ndarray
    codes: np.ndarray
    weights: np.ndarray
    n_classes: int
    kernel: ColumnKernel = field(default_factory=ColumnKernel)

    def shares(self, point: AlignmentPoint) -> np.ndarray:
        """What each kernel is multiplied with, such that the trace of the learnt kernel is the sum of the weights."""
        out = np.zeros(self.ids.size)
        places = np.searchsorted(self.ids, point.features)
        out[places] = point.weights / self.traces[places]
        return out * (self.weights.sum() / point.weights.sum()) if places.size else out

    def gram(self, point: AlignmentPoint) -> np.ndarray:
        """The learnt kernel of all rows, not centred; only the columns of the point are looked at."""
        places = np.searchsorted(self.ids, point.features)
        columns = KernelColumns(self.columns.take(places), self.kernel, self.gammas[places])
        return columns.gram(self.shares(point)[places])

    def scores(self, new: TrainingColumns, point: AlignmentPoint, machine: Machine) -> np.ndarray:
        """Decision values of new rows, whose columns are those of the point."""
        places = np.searchsorted(self.ids, point.features)
        products = additive_scores(
            new, self.columns.take(places), self.kernel, self.gammas[places], self.shares(point)[places], machine.dual
        )
        return machine.scores(products)


def training_of(
    ids: np.ndarray,
    columns: TrainingColumns,
    aligned: Alignments,
    codes: np.ndarray,
    weights: np.ndarray,
    n_classes: int,
    kernel: ColumnKernel,
) -> Training:
    """The Training on some columns, of which ``ids`` are the numbers in ``aligned``."""
    return Training(ids, columns, aligned.gamma[ids], aligned.trace[ids], codes, weights, n_classes, kernel)


def trained(gram: np.ndarray, training: Training, rows: np.ndarray, C: float) -> Machine:
    """The machine on some rows; ``gram`` is the learnt kernel of all rows, not centred."""
    n = len(gram)
    outputs = 1 if training.n_classes == 2 else training.n_classes
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
    return Machine(dual, intercept)


def constant(training: Training, rows: np.ndarray) -> Machine:
    """The machine without any kernel: the most frequent class."""
    share = np.bincount(training.codes[rows], training.weights[rows], minlength=training.n_classes)
    share = share / share.sum() - 0.5
    intercept = share[1:] if training.n_classes == 2 else share
    return Machine(np.zeros((training.columns.n_rows, intercept.size)), intercept)


class FoldMachine:
    """Machines along paths on the samples outside of a fold, and the decision values of those in it."""

    def __init__(self, paths: list[AlignmentPath], training: Training, test: np.ndarray):
        self.paths, self.training, self.test = paths, training, test
        self.train = np.flatnonzero(training.weights > 0.0)
        self.columns = KernelColumns(training.columns, training.kernel, training.gammas)

    def decisions(self, which: int, index: int, Cs: list[float]) -> list[np.ndarray]:
        """Decision values at a point of a path, for each C: of all rows, but only those of the fold are set."""
        outputs = 1 if self.training.n_classes == 2 else self.training.n_classes
        n = self.training.columns.n_rows
        out = [np.zeros(n if outputs == 1 else (n, outputs)) for _ in Cs]
        point = self.paths[which].point(index)
        if not point.features.size:
            for each in out:
                each[self.test] = constant(self.training, self.train).scores(np.zeros((self.test.size, outputs)))
            return out
        gram = self.columns.gram(self.training.shares(point))
        for each, C in zip(out, Cs, strict=True):
            machine = trained(gram, self.training, self.train, C)
            each[self.test] = machine.scores(gram[self.test] @ machine.dual)
        return out
