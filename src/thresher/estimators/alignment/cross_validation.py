"""Cross-validation along paths of kernel weights: the data of a fit, scores of points, and which point is the best."""

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from thresher.data.scan.pieces import Cost, OutOfTime
from thresher.data.workers import Workers
from thresher.errors import FewerFeaturesWarning, FewerFoldsWarning, InvalidDataError, warn
from thresher.estimators.alignment.kernel_path import BeginsWith, KernelPath, formulation_of
from thresher.estimators.alignment.svm import FoldSVMs, TrainingSet, targets_of
from thresher.estimators.shared import FoldScore, JudgeProgress, check, cv_results, held_out_parts, rarest_class
from thresher.families.alignment.path import follow
from thresher.features.kernels.sources import Alignments, KernelSource
from thresher.features.samples import Content
from thresher.results import AlignmentPath, Selection, StopReason, Trace

GRACE = 0.7  # seconds that the last step has when the time is over
LARGER = 2.0  # times that an SVM on all samples takes longer than on those outside of a fold, at most
MOST_SAMPLES = 20_000  # a kernel matrix of 3.2 GB


@dataclass
class Clock:
    """Says when a fit is to end: after its time limit, less what is reserved for the last step, or after Ctrl-C."""

    deadline: float
    reserved: float = 0.0
    late: bool = False
    interrupted: bool = False

    def reserve(self, seconds: float) -> None:
        """Keep at least so many seconds for the last step."""
        self.reserved = max(self.reserved, seconds)

    def ended(self) -> bool:
        """Whether to stop now."""
        self.late = self.late or time.perf_counter() >= self.deadline - self.reserved
        return self.late or self.interrupted

    def end_of_last_step(self) -> Callable[[], bool]:
        """Whether to give the last step up: it has until the time limit, and a little more in any case."""
        least = time.perf_counter() + GRACE
        end = least if self.interrupted else max(self.deadline, least)
        return lambda: time.perf_counter() >= end


@dataclass(frozen=True, eq=False)
class KernelData:
    """Kernels of X, what a scan of them costs, the class of each row and its weight."""

    source: KernelSource
    scan_cost: Cost
    codes: np.ndarray
    weights: np.ndarray

    def without(self, rows: np.ndarray) -> "KernelData":
        """The same with weight zero for some rows."""
        weights = self.weights.copy()
        weights[rows] = 0.0
        return replace(self, weights=weights)

    def alignments(self, trace: Trace, deadline: float) -> Alignments:
        """Alignments of all kernels, divided by the sum of the weights, and the mean over classes."""
        targets = targets_of(self.codes)
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
        ended = (lambda: False) if clock is None else clock.ended
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
        )

    def final_training_set(
        self, path: AlignmentPath, alignments: Alignments, most: int | None, clock: Clock
    ) -> TrainingSet:
        """``training_set`` of the points of one path with at most so many features, on the rows with weight.

        After Ctrl-C the columns are taken once more before the fit ends, so that the scores of points are not lost.
        """
        first = first_usable(path, most)
        try:
            return self.training_set([path], alignments, [first]).with_positive_weights()
        except KeyboardInterrupt:
            clock.interrupted = True
            return self.training_set([path], alignments, [first]).with_positive_weights()


def check_n_samples(n_samples: int, svm: str | None) -> None:
    """Raise InvalidDataError if a kernel matrix would be too large."""
    if svm == "kernel" and n_samples > MOST_SAMPLES:
        raise InvalidDataError(
            f"X has {n_samples:,} samples, so that a kernel matrix takes {8e-9 * n_samples**2:.1f} GB; at most "
            f"{MOST_SAMPLES:,} are supported. Use svm='linear' for a linear SVM on explicit columns of the kernels, "
            "svm=None for the path alone, or fit on a sample of the rows"
        )


def held_out_rows(
    cv: Any, svm: str | None, codes: np.ndarray, weights: np.ndarray, content: Content
) -> list[np.ndarray]:
    """Test rows of each fold; none if no choice is to be made.

    An integer is lowered, with a warning, to the number of different samples of the smallest class.
    """
    if cv is None or svm is None:
        return []
    if check.is_integer(cv):
        check.as_integer("cv", cv, least=2)
        _, fewest = rarest_class(codes, weights, content)
        if fewest < 2:
            message = "a class has only one sample, or equal ones, so nothing can be held out: no point is chosen by cv"
            warn(message, ConvergenceWarning)
            return []
        if cv > fewest:
            message = f"cv={cv} is reduced to {fewest} folds: the smallest class has {fewest} different samples"
            warn(message, FewerFoldsWarning)
            cv = fewest
    return held_out_parts(cv, codes, weights, content)


class ChosenPoint(NamedTuple):
    """A point: of which path, with which C, its place, and its mean score, if it was judged."""

    which: int
    which_C: int
    place: int
    score: float | None


def results_of(scores: np.ndarray, paths: list[AlignmentPath], Cs: list[float]) -> dict[str, Any]:
    """``cv_results_`` of scores (folds, paths, values of C, points): all points, one after the other."""
    candidates = [(path, C, k) for path in paths for C in Cs for k in range(len(path))]
    params = [{"lambda2": path.lambda2, "C": C, "p": float(path.p[k])} for path, C, k in candidates]
    n_features = np.concatenate([np.tile(path.n_features, len(Cs)) for path in paths])
    return {"n_features": n_features} | cv_results(params, scores.reshape(len(scores), -1))


def usable_points(path: AlignmentPath, most: int | None) -> np.ndarray:
    """The points that have features, and not more than ``most``."""
    n_features = path.n_features
    return np.flatnonzero((n_features > 0) & (n_features <= (path.alignments.size if most is None else most)))


def first_usable(path: AlignmentPath, most: int | None) -> int:
    """The first of ``usable_points``; the last point if there is none."""
    usable = usable_points(path, most)
    return int(usable[0]) if usable.size else len(path) - 1


@dataclass(frozen=True, eq=False)
class CrossValidation:
    """Scores along the paths: alignments, paths and SVMs of every fold see its training rows alone."""

    data: KernelData
    paths: list[AlignmentPath]
    folds: list[np.ndarray]
    score: FoldScore
    options: Any  # the checked parameters

    def run(self, workers: Workers, clock: Clock, trace: Trace) -> np.ndarray:
        """Scores (folds, paths, values of C, points); NaN where a point was not judged in time.

        Points with few features are judged first.
        """
        usable = [usable_points(path, self.options.max_features) for path in self.paths]
        shape = (len(self.folds), len(self.paths), len(self.options.Cs), len(self.paths[0]))
        scores = np.full(shape, np.nan)
        progress = JudgeProgress(self.options.verbose, sum(points.size for points in usable), trace)
        order = sorted(((k, which) for which, points in enumerate(usable) for k in points.tolist()), reverse=True)
        try:
            svms = self._svms_of_folds(clock, trace, progress)
            for index, which in order if svms else []:
                if clock.ended():
                    break
                with trace.step("solve"):
                    tasks = [(of_fold, which, index) for of_fold in svms]
                    of_folds = workers.map(self._score, tasks, entries=np.inf)
                clock.reserve(LARGER * max(seconds for _, seconds in of_folds) / len(self.options.Cs))
                scores[:, which, :, index] = [of_fold for of_fold, _ in of_folds]
                path, best = self.paths[which], float(scores[:, which, :, index].mean(axis=0).max())
                progress(float(path.p[index]), int(path.n_features[index]), best)
        except OutOfTime:
            clock.late = True
        except KeyboardInterrupt:
            clock.interrupted = True
        progress.close()
        return scores

    def _svms_of_folds(self, clock: Clock, trace: Trace, progress: JudgeProgress) -> list[FoldSVMs]:
        """One for each fold; none if there is no time for all of them."""
        first = [first_usable(path, self.options.max_features) for path in self.paths]
        svms: list[FoldSVMs] = []
        for test in self.folds:
            if clock.ended():
                return []
            data = self.data.without(test)
            alignments = data.alignments(trace, clock.deadline)
            paths = [data.path(self.options.path, lambda2, alignments) for lambda2 in self.options.lambda2s]
            training = data.training_set(paths, alignments, first)
            svms.append(FoldSVMs(paths, training, test, self.options.svm, clock.ended))
            progress.fold(len(svms), len(self.folds))
        return svms

    def _score(self, svms: FoldSVMs, which: int, index: int) -> tuple[list[float], float]:
        """(the score for each C, seconds)."""
        begun = time.perf_counter()
        decisions = svms.decisions(which, index, self.options.Cs)
        return [self.score(values, svms.test) for values in decisions], time.perf_counter() - begun


def choose_point(paths: list[AlignmentPath], scores: np.ndarray | None, most: int | None) -> ChosenPoint:
    """The point with the best mean score, of ties that with the fewest features; else the last that has features."""
    mean = np.array(np.nan) if scores is None else scores.mean(axis=0)
    if not np.isnan(mean).all():
        best = float(np.nanmax(mean))
        ties = [ChosenPoint(which, which_C, k, best) for which, which_C, k in np.argwhere(mean == best).tolist()]
        return min(ties, key=lambda tie: (paths[tie.which].n_features[tie.place], tie[:2], -tie.place))
    path = paths[0]
    with_features = np.flatnonzero(path.n_features > 0)
    if most is not None and with_features.size:
        path.place(most)  # a ValueError says that no point has so few
    return ChosenPoint(0, 0, int(with_features[-1]) if with_features.size else 0, None)


def stop_reason(path: AlignmentPath, chosen: ChosenPoint, clock: Clock) -> tuple[StopReason, str]:
    """Why the fit ended, and a sentence for it."""
    text = f"p = {path.p[chosen.place]:g}, the last point that has features"
    if not path.numbers.size:
        text = "no feature was selected"
    elif path.cv_score is not None:
        n_judged = int(np.count_nonzero(~np.isnan(path.cv_score)))
        text += ", none was judged"
        if chosen.score is not None:
            text = f"p = {path.p[chosen.place]:g}, the best of {n_judged} points by cross-validation"
    stop = StopReason.INTERRUPTED if clock.interrupted else StopReason.MAX_TIME if clock.late else StopReason.CONVERGED
    return stop, text if stop is StopReason.CONVERGED else f"{stop.value}; {text}"


def warn_of_outcome(selection: Selection, path: AlignmentPath) -> None:
    """Warn the caller of ``fit`` if the time was over, or nothing was selected."""
    if selection.stop is StopReason.MAX_TIME:
        warn(selection.stop_reason, ConvergenceWarning)
    elif not selection.features.size:
        reason = "no column agrees with the labels"
        if path.alignments.any():
            reason = f"no weight is above eps={path.eps:g}. Use a smaller lambda1, lambda2 or eps"
        message = f"no feature was selected, so every prediction is the same class: {reason}"
        warn(message, FewerFeaturesWarning)
