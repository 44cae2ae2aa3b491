"""Cross-validation along paths of kernel weights: which point is the best, and how the fit ended."""

import functools
import time
import warnings
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from thresher.data.scan.pieces import OutOfTime
from thresher.data.workers import Workers
from thresher.errors import FewerFeaturesWarning
from thresher.estimators.alignment.deadline import Clock, run_tasks
from thresher.estimators.alignment.kernel_data import KernelData
from thresher.estimators.alignment.options import PathOptions
from thresher.estimators.alignment.svm import FoldSVMs
from thresher.estimators.shared.cv_results import cv_results
from thresher.estimators.shared.progress import JudgeProgress
from thresher.estimators.shared.scoring import FoldScorer
from thresher.results import AlignmentPath, Selection, StopReason, Trace

LARGER = 2.0  # times that an SVM on all samples takes longer than on those outside of a fold, at most


class ChosenPoint(NamedTuple):
    """A point: of which path, with which C, its place, and its mean score, if it was judged."""

    which: int
    which_C: int
    place: int
    score: float | None


class PointScores(NamedTuple):
    """Scores of points on held-out folds, (folds, paths, values of C, points); NaN where a point was not judged."""

    scores: np.ndarray

    @property
    def mean(self) -> np.ndarray:
        """Mean over the folds."""
        return self.scores.mean(axis=0)

    def results(self, paths: list[AlignmentPath], Cs: list[float]) -> dict[str, Any]:
        """``cv_results_``: all points of all paths and values of C, one after the other."""
        candidates = [(path, C, k) for path in paths for C in Cs for k in range(len(path))]
        params = [{"lambda2": path.lambda2, "C": C, "p": float(path.p[k])} for path, C, k in candidates]
        n_features = np.concatenate([np.tile(path.n_features, len(Cs)) for path in paths])
        return {"n_features": n_features} | cv_results(params, self.scores.reshape(len(self.scores), -1))


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
    scorer: FoldScorer
    options: PathOptions

    def run(self, workers: Workers, clock: Clock, verbose: Any, trace: Trace) -> PointScores:
        """Scores of the points, those with the fewest features first; those not judged in time are NaN."""
        usable = [usable_points(path, self.options.max_features) for path in self.paths]
        shape = (len(self.folds), len(self.paths), len(self.options.Cs), len(self.paths[0]))
        scores = np.full(shape, np.nan)
        progress = JudgeProgress(verbose, sum(points.size for points in usable), trace)
        order = sorted(((k, which) for which, points in enumerate(usable) for k in points.tolist()), reverse=True)
        try:
            svms = self._svms_of_folds(clock, trace, progress)
            for index, which in order if svms else []:
                if clock.ended():
                    break
                with trace.step("solve"):
                    tasks = [functools.partial(self._score, of_fold, which, index) for of_fold in svms]
                    of_folds = run_tasks(tasks, workers.parallelism, clock.ended)
                clock.reserve(LARGER * max(seconds for _, seconds in of_folds) / len(self.options.Cs))
                scores[:, which, :, index] = [of_fold for of_fold, _ in of_folds]
                path, best = self.paths[which], float(scores[:, which, :, index].mean(axis=0).max())
                progress(float(path.p[index]), int(path.n_features[index]), best)
        except OutOfTime:
            clock.late = True
        except KeyboardInterrupt:
            clock.interrupted = True
        progress.close()
        return PointScores(scores)

    def _svms_of_folds(self, clock: Clock, trace: Trace, progress: JudgeProgress) -> list[FoldSVMs]:
        """One for each fold; none if there is no time for all of them."""
        first = [first_usable(path, self.options.max_features) for path in self.paths]
        svm = self.options.svm or "kernel"
        svms: list[FoldSVMs] = []
        for test in self.folds:
            if clock.ended():
                return []
            data = self.data.without(test)
            alignments = data.alignments(trace, clock.deadline)
            paths = [data.path(self.options.path, lambda2, alignments) for lambda2 in self.options.lambda2s]
            training = data.training_set(paths, alignments, first)
            svms += run_tasks([functools.partial(FoldSVMs, paths, training, test, svm, clock.ended)], 1, clock.ended)
            progress.fold(len(svms), len(self.folds))
        return svms

    def _score(self, svms: FoldSVMs, which: int, index: int) -> tuple[list[float], float]:
        """(the score for each C, seconds)."""
        begun = time.perf_counter()
        decisions = svms.decisions(which, index, self.options.Cs)
        return [self.scorer(values, svms.test) for values in decisions], time.perf_counter() - begun


def choose_point(paths: list[AlignmentPath], scores: PointScores | None, most: int | None) -> ChosenPoint:
    """The point with the best mean score, of ties that with the fewest features; else the last that has features."""
    mean = np.array(np.nan) if scores is None else scores.mean
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
        warnings.warn(selection.stop_reason, ConvergenceWarning, stacklevel=3)
    elif not selection.features.size:
        reason = "no column agrees with the labels"
        if path.alignments.any():
            reason = f"no weight is above eps={path.eps:g}. Use a smaller lambda1, lambda2 or eps"
        message = f"no feature was selected, so every prediction is the same class: {reason}"
        warnings.warn(message, FewerFeaturesWarning, stacklevel=3)
