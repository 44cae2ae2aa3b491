"""Cross-validation along a path of kernel weights: which point is the best."""

import functools
import time
import warnings
from typing import Any, NamedTuple

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from thresher.data.scan.pieces import Cost, OutOfTime
from thresher.data.workers import Workers
from thresher.errors import FewerFeaturesWarning
from thresher.estimators.alignment.deadline import Clock, awaited
from thresher.estimators.alignment.functions import formulation_of, targets_of
from thresher.estimators.alignment.kernel_machine import FoldMachine, Training
from thresher.estimators.shared.progress import JudgeProgress
from thresher.estimators.shared.scoring import FoldScorer
from thresher.families.alignment.path import follow
from thresher.features.kernels.alignment import Alignments
from thresher.features.kernels.units import KernelSource
from thresher.results import AlignmentPath, Selection, StopReason, Trace

LARGER = 2.0  # times that an SVM on all samples takes longer than on those outside of a fold, at most


class Options(NamedTuple):
    """Checked parameters: options of the path for each lambda2, values of C, which SVM, the most features."""

    formulations: list[dict[str, Any]]
    Cs: list[float]
    svm: str | None
    max_features: int | None


class Chosen(NamedTuple):
    """A point: of which path, with which C, its place, and its score, if it was judged."""

    which: int
    which_C: int
    place: int
    score: float | None


class Source:
    """X and y of a fit: alignments, paths and training columns for any weights of the rows."""

    def __init__(self, kernels: KernelSource, cost: Cost, codes: np.ndarray, n_classes: int):
        self.kernels, self.cost, self.codes, self.n_classes = kernels, cost, codes, n_classes
        self.targets = targets_of(codes, n_classes)

    def aligned(self, weights: np.ndarray, trace: Trace, deadline: float) -> Alignments:
        """Alignments of all features, divided by the sum of the weights, and the mean over classes."""
        with trace.step("scan", *self.cost):
            found = self.kernels.aligned(self.targets, weights, deadline if deadline < np.inf else None)
        return found._replace(values=found.values.mean(axis=0) / weights.sum())

    def first_aligned(self, weights: np.ndarray, trace: Trace, clock: Clock, width: int) -> Alignments:
        """``aligned``; if the time is over before, no kernel of the ``width`` has a trace: nothing is selected then."""
        try:
            return self.aligned(weights, trace, clock.deadline)
        except OutOfTime:
            clock.late, nothing = True, np.zeros(width)
            return Alignments(nothing, nothing, nothing)

    def path(self, options: dict[str, Any], aligned: Alignments, clock: Clock | None = None) -> AlignmentPath:
        """The path of some alignments; it ends early when the clock says so."""
        formulation = formulation_of(options, aligned.values)
        ended = clock.ended if clock is not None else (lambda: False)
        return follow(formulation, aligned.values, ended, aligned.trace > 0.0)

    def training(
        self, paths: list[AlignmentPath], aligned: Alignments, weights: np.ndarray, first: list[int]
    ) -> Training:
        """The columns of all features of the paths, of each from its point ``first`` on."""
        ids = np.unique(np.concatenate([path.point(k).features for path, k in zip(paths, first, strict=True)]))
        kernels = self.kernels.kernels(ids, aligned.gamma[ids])
        columns = self.kernels.columns(ids)
        return Training(ids, columns, kernels, aligned.trace[ids], self.codes, weights, self.n_classes)

    def last_training(
        self, path: AlignmentPath, aligned: Alignments, weights: np.ndarray, first: int, clock: Clock
    ) -> Training:
        """``training`` of one path, on the rows with weight.

        Ctrl-C ends the fit, but not before the columns are taken, once more: what was judged would be lost.
        """
        make = functools.partial(self.training, [path], aligned, weights, [first])
        try:
            return make().weighted()
        except KeyboardInterrupt:
            clock.interrupted = True
            return make().weighted()


class Judged(NamedTuple):
    """Scores of folds, (paths, Cs, points, folds); NaN where a point was not judged."""

    scores: np.ndarray

    @property
    def mean(self) -> np.ndarray:
        """Mean over the folds."""
        return self.scores.mean(axis=3)

    def results(self, paths: list[AlignmentPath], options: Options) -> dict[str, np.ndarray]:
        """As ``cv_results_`` of scikit-learn's RFECV: all points of all paths and values of C, one after the other."""
        n_paths, n_Cs, n_points, n_folds = self.scores.shape
        flat = self.scores.reshape(-1, n_folds)
        repeated = np.ones((n_paths, n_Cs, n_points))
        out = {
            "n_features": np.repeat(np.stack([path.n_features for path in paths])[:, None], n_Cs, axis=1).ravel(),
            "mean_test_score": flat.mean(axis=1),
            "std_test_score": flat.std(axis=1),
        }
        out |= {f"split{fold}_test_score": flat[:, fold].copy() for fold in range(n_folds)}
        lambdas = np.array([path.lambda2 for path in paths])
        return out | {
            "p": (repeated * paths[0].p).ravel(),
            "lambda2": (repeated * lambdas[:, None, None]).ravel(),
            "C": (repeated * np.array(options.Cs)[None, :, None]).ravel(),
        }


class Judge:
    """Cross-validation along the paths: alignments, paths and machines of every fold see its training rows alone."""

    def __init__(
        self, source: Source, paths: list[AlignmentPath], folds: list[np.ndarray], weights: np.ndarray,
        scorer: FoldScorer, options: Options,
    ):  # fmt: skip
        self.source, self.paths, self.folds = source, paths, folds
        self.weights, self.scorer, self.options = weights, scorer, options
        self.usable = [self._usable(path) for path in paths]
        self.first = [
            int(each[0]) if each.size else len(path) - 1 for path, each in zip(paths, self.usable, strict=True)
        ]

    def _usable(self, path: AlignmentPath) -> np.ndarray:
        most = self.options.max_features
        fits = path.n_features > 0 if most is None else (path.n_features > 0) & (path.n_features <= most)
        return np.flatnonzero(fits)

    def judged(self, workers: Workers, clock: Clock, verbose: Any, trace: Trace) -> Judged:
        """Scores of the points, those with the fewest features first; those not judged in time are NaN."""
        n_points = len(self.paths[0])
        scores = np.full((len(self.paths), len(self.options.Cs), n_points, len(self.folds)), np.nan)
        total = sum(each.size for each in self.usable)
        progress = JudgeProgress(verbose, total, trace)
        try:
            machines = self._machines(clock, trace, progress)
            points = sorted(((k, i) for i, each in enumerate(self.usable) for k in each.tolist()), reverse=True)
            for index, which in points if machines else []:
                if clock.ended():
                    break
                with trace.step("solve"):
                    tasks = [functools.partial(self._score, machine, which, index) for machine in machines]
                    found = awaited(tasks, workers.count, clock.ended)
                clock.reserve(LARGER * max(seconds for _, seconds in found) / len(self.options.Cs))
                scores[which, :, index] = np.array([each for each, _ in found]).T
                best = float(scores[which, :, index].mean(axis=1).max())
                progress(float(self.paths[which].p[index]), int(self.paths[which].n_features[index]), best)
        except OutOfTime:
            clock.late = True
        except KeyboardInterrupt:
            clock.interrupted = True
        progress.close()
        return Judged(scores)

    def _machines(self, clock: Clock, trace: Trace, progress: JudgeProgress) -> list[FoldMachine]:
        """One for each fold; none if there is no time for all of them."""
        machines = []
        for test in self.folds:
            if clock.ended():
                return []
            weights = self.weights.copy()
            weights[test] = 0.0
            aligned = self.source.aligned(weights, trace, clock.deadline)
            paths = [self.source.path(each, aligned) for each in self.options.formulations]
            training = self.source.training(paths, aligned, weights, self.first)
            make = functools.partial(FoldMachine, paths, training, test, self.options.svm or "kernel", clock.ended)
            machines += awaited([make], 1, clock.ended)
            progress.fold(len(machines), len(self.folds))
        return machines

    def _score(self, machine: FoldMachine, which: int, index: int) -> tuple[list[float], float]:
        """(the score for each C, seconds)."""
        begun = time.perf_counter()
        decisions = machine.decisions(which, index, self.options.Cs)
        return [self.scorer(scores, machine.test) for scores in decisions], time.perf_counter() - begun


def chosen_point(paths: list[AlignmentPath], judged: Judged | None, most: int | None) -> Chosen:
    """The point with the best mean score, of ties that with the fewest features; else the last that has features."""
    if judged is not None:
        mean = judged.mean
        if not np.isnan(mean).all():
            best = np.nanmax(mean)
            ties = [
                Chosen(which, which_C, place, float(best))
                for which, which_C, place in np.argwhere(mean == best).tolist()
            ]
            return min(ties, key=lambda tie: (paths[tie.which].n_features[tie.place], tie[:2], -tie.place))
    path = paths[0]
    some = np.flatnonzero(path.n_features > 0)
    if most is not None and some.size:
        path.place(int(most))  # a ValueError says that no point has so few
    return Chosen(0, 0, int(some[-1]) if some.size else 0, None)


def reason_of(path: AlignmentPath, chosen: Chosen, clock: Clock, folds: bool) -> tuple[StopReason, str]:
    """Why the fit ended, and a sentence for it."""
    where = f"p = {path.p[chosen.place]:g}"
    if chosen.score is not None:
        n_judged = int(np.count_nonzero(~np.isnan(path.cv_score))) if path.cv_score is not None else 0
        text = f"{where}, the best of {n_judged} points by cross-validation"
    elif path.numbers.size:
        text = f"{where}, the last point that has features" + (", none was judged" if folds else "")
    else:
        text = "no feature was selected"
    stop = StopReason.INTERRUPTED if clock.interrupted else StopReason.MAX_TIME if clock.late else StopReason.CONVERGED
    return stop, text if stop is StopReason.CONVERGED else f"{stop.value}; {text}"


def tell(selection: Selection, path: AlignmentPath, clock: Clock) -> None:
    """Warn the caller of ``fit`` of what did not go as asked for; raise KeyboardInterrupt after Ctrl-C."""
    if clock.interrupted:
        raise KeyboardInterrupt
    if selection.stop is StopReason.MAX_TIME:
        warnings.warn(selection.stop_reason, ConvergenceWarning, stacklevel=3)
    elif not selection.features.size:
        reason = "no column agrees with the labels"
        if path.alignments.any():
            reason = f"no weight is above eps={path.eps:g}. Use a smaller lambda1, lambda2 or eps"
        message = f"no feature was selected, so every prediction is the same class: {reason}"
        warnings.warn(message, FewerFeaturesWarning, stacklevel=3)
