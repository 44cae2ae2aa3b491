"""Cross-validation along a path of kernel weights: which point is the best."""

import time
from typing import Any, NamedTuple

import numpy as np

from thresher.data.alignment import Alignments, ColumnKernel
from thresher.data.design import Design
from thresher.data.explicit import columns_of
from thresher.data.pieces import OutOfTime
from thresher.data.workers import Workers
from thresher.estimators.alignments import formulation_of, scored, targets_of
from thresher.estimators.kernel_machine import FoldMachine, Training, training_of
from thresher.estimators.progress import JudgeProgress
from thresher.estimators.scoring import FoldScorer
from thresher.families.alignment import follow
from thresher.results import AlignmentPath, StopReason, Trace


class Options(NamedTuple):
    """Checked parameters: the kernel of each column, one set of options of the path for each lambda2, values of C."""

    kernel: ColumnKernel
    formulations: list[dict[str, Any]]
    Cs: list[float]
    max_features: int | None


class Clock:
    """Says when a fit is to end: after its time limit, or after Ctrl-C."""

    def __init__(self, deadline: float):
        self.deadline, self.interrupted, self.late = deadline, False, False

    def ended(self) -> bool:
        """Whether to stop now."""
        self.late = self.late or time.perf_counter() >= self.deadline
        return self.late or self.interrupted


class Chosen(NamedTuple):
    """A point: of which path, with which C, its place, and its score, if it was judged."""

    which: int
    which_C: int
    place: int
    score: float | None


class Source:
    """X and y of a fit: alignments, paths and training columns for any weights of the rows."""

    def __init__(
        self, design: Design, gammas: np.ndarray | None, kernel: ColumnKernel, codes: np.ndarray, n_classes: int
    ):
        self.design, self.gammas, self.kernel, self.codes, self.n_classes = design, gammas, kernel, codes, n_classes
        self.targets = targets_of(codes, n_classes)

    def aligned(self, weights: np.ndarray, trace: Trace, deadline: float | None = None) -> Alignments:
        """Alignments of all columns of X, divided by the sum of the weights, and the mean over classes."""
        with trace.step("scan", *self.design.scan_cost()):
            found = scored(self.design, self.targets, self.kernel, self.gammas, weights, deadline)
        values = found.values.mean(axis=0) / weights.sum()
        if self.design.ids is None:
            return Alignments(values, found.trace, found.gamma)
        parts = []
        for part in (values, found.trace, found.gamma):
            whole = np.zeros(self.design.n_columns)
            whole[self.design.ids] = part
            parts.append(whole)
        return Alignments(*parts)

    def path(self, options: dict[str, Any], aligned: Alignments, clock: Clock | None = None) -> AlignmentPath:
        """The path of some alignments; it ends early when the clock says so."""
        formulation = formulation_of(options, aligned.values)
        ended = clock.ended if clock is not None else (lambda: False)
        return follow(formulation, aligned.values, ended)

    def training(self, paths: list[AlignmentPath], aligned: Alignments, weights: np.ndarray, first: int) -> Training:
        """The columns of all features from point ``first`` of the paths on."""
        ids = np.unique(np.concatenate([path.point(first).features for path in paths]))
        columns = columns_of(self.design.take(self.design.ids_here(ids)))
        return training_of(ids, columns, aligned, self.codes, weights, self.n_classes, self.kernel)


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
        self.first = min((int(each[0]) for each in self.usable if each.size), default=0)

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
            machines = self._machines(clock, trace)
            points = sorted(((k, i) for i, each in enumerate(self.usable) for k in each.tolist()), reverse=True)
            for index, which in points if machines else []:
                if clock.ended():
                    break
                with trace.step("solve"):
                    found = workers.map(self._score, [(machine, which, index) for machine in machines], entries=np.inf)
                scores[which, :, index] = np.array(found).T
                best = float(scores[which, :, index].mean(axis=1).max())
                progress(float(self.paths[which].p[index]), int(self.paths[which].n_features[index]), best)
        except KeyboardInterrupt:
            clock.interrupted = True
        progress.close()
        return Judged(scores)

    def _machines(self, clock: Clock, trace: Trace) -> list[FoldMachine]:
        """One for each fold; none if there is no time for all of them."""
        machines = []
        for test in self.folds:
            if clock.ended():
                return []
            weights = self.weights.copy()
            weights[test] = 0.0
            try:
                aligned = self.source.aligned(weights, trace, clock.deadline if clock.deadline < np.inf else None)
            except OutOfTime:
                clock.late = True
                return []
            paths = [self.source.path(each, aligned) for each in self.options.formulations]
            training = self.source.training(paths, aligned, weights, self.first)
            machines.append(FoldMachine(paths, training, test))
        return machines

    def _score(self, machine: FoldMachine, which: int, index: int) -> list[float]:
        return [self.scorer(scores, machine.test) for scores in machine.decisions(which, index, self.options.Cs)]


def chosen_point(paths: list[AlignmentPath], judged: Judged | None, most: int | None) -> Chosen:
    """The point with the best mean score, of ties that with the fewest features; else the last that has features."""
    if judged is not None:
        mean = judged.mean
        if not np.isnan(mean).all():
            best = np.nanmax(mean)
            which, which_C, index = (int(each) for each in np.argwhere(mean == best)[0])
            index = int(np.flatnonzero(mean[which, which_C] == best)[-1])
            return Chosen(which, which_C, index, float(best))
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
    else:
        text = f"{where}, the last point that has features" + (", none was judged" if folds else "")
    stop = StopReason.INTERRUPTED if clock.interrupted else StopReason.MAX_TIME if clock.late else StopReason.CONVERGED
    return stop, text if stop is StopReason.CONVERGED else f"{stop.value}; {text}"
