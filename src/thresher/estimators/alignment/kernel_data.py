"""X and y of a fit of AlignmentPathClassifier, for any weights of the rows."""

from dataclasses import dataclass, replace

import numpy as np

from thresher.data.scan.pieces import Cost, OutOfTime
from thresher.estimators.alignment.deadline import Clock
from thresher.estimators.alignment.functions import targets_of
from thresher.estimators.alignment.kernel_path import BeginsWith, KernelPath, formulation_of
from thresher.estimators.alignment.svm import TrainingSet
from thresher.families.alignment.path import follow
from thresher.features.kernels.sources import Alignments, KernelSource
from thresher.results import AlignmentPath, Trace


@dataclass(frozen=True, eq=False)
class KernelData:
    """Kernels of X, what a scan of them costs, the class of each row and its weight."""

    source: KernelSource
    scan_cost: Cost
    codes: np.ndarray
    weights: np.ndarray
    n_classes: int

    def without(self, rows: np.ndarray) -> "KernelData":
        """The same with weight zero for some rows."""
        weights = self.weights.copy()
        weights[rows] = 0.0
        return replace(self, weights=weights)

    def alignments(self, trace: Trace, deadline: float) -> Alignments:
        """Alignments of all kernels, divided by the sum of the weights, and the mean over classes."""
        targets = targets_of(self.codes, self.n_classes)
        with trace.step("scan", *self.scan_cost):
            alignments = self.source.aligned(targets, self.weights, deadline if deadline < np.inf else None)
        return alignments._replace(values=alignments.values.mean(axis=0) / self.weights.sum())

    def alignments_in_time(self, trace: Trace, clock: Clock, n_kernels: int) -> Alignments:
        """``alignments``; if the time is over before, those of constant kernels, of which nothing is selected."""
        try:
            return self.alignments(trace, clock.deadline)
        except OutOfTime:
            clock.late = True
            zeros = np.zeros(n_kernels)
            return Alignments(zeros, zeros, zeros)

    def path(
        self, path: KernelPath, lambda2: float | str | BeginsWith, alignments: Alignments, clock: Clock | None = None
    ) -> AlignmentPath:
        """The path of some alignments; it ends early when the clock says so."""
        formulation = formulation_of(path, lambda2, alignments.values)
        ended = clock.ended if clock is not None else (lambda: False)
        return follow(formulation, alignments.values, ended, alignments.trace > 0.0)

    def training_set(self, paths: list[AlignmentPath], alignments: Alignments, first: list[int]) -> TrainingSet:
        """The columns of all features of the paths, of each from its point ``first`` on."""
        ids = np.unique(np.concatenate([path.point(k).features for path, k in zip(paths, first, strict=True)]))
        return TrainingSet(
            ids=ids,
            columns=self.source.columns(ids),
            kernels=self.source.layout.fitted(ids, alignments.gamma[ids]),
            traces=alignments.trace[ids],
            codes=self.codes,
            weights=self.weights,
            n_classes=self.n_classes,
        )

    def final_training_set(self, path: AlignmentPath, alignments: Alignments, first: int, clock: Clock) -> TrainingSet:
        """``training_set`` of one path, on the rows with weight.

        After Ctrl-C the columns are taken once more before the fit ends, so that the scores of points are not lost.
        """
        try:
            return self.training_set([path], alignments, [first]).without_weightless_rows()
        except KeyboardInterrupt:
            clock.interrupted = True
            return self.training_set([path], alignments, [first]).without_weightless_rows()
