"""A walk over the grid with all samples, and for each fold."""

from typing import Any, NamedTuple

import numpy as np

from thresher.engine.reading import reading
from thresher.families.sparse_svm.grid import GridMaker, ends, in_units_of_X, relative_gap
from thresher.families.sparse_svm.points import walk


class FoldScores(NamedTuple):
    """``scores`` of shape (n_folds, n_betas, n_alphas); ``supports`` has (begins, ids) of each fold, as a Grid."""

    scores: np.ndarray
    supports: list


class GridFold(NamedTuple):
    """Samples that are held out (their indices), and of each point the score on them and the features."""

    test: np.ndarray
    scores: dict[tuple[int, int], float]
    features: dict[tuple[int, int], np.ndarray]


class GridWalk:
    """Solves the points of a grid with all samples and for each fold, until max_time or Ctrl-C.

    Parameters
    ----------
    training : SvmTraining
        The training data.
    folds : list of ndarray
        Indices of the samples that each fold holds out.
    score : callable
        ``score(decisions of all samples, held-out samples)``; not needed without folds.
    tol : float
        Gap to reach at each point, as a share of the objective at w = 0.
    rules : ScreeningRules
        Which screening tests are run.
    trace : Trace
        Where each point is recorded.
    deadline : float
        When to stop, on the clock of ``time.perf_counter``; not before the first point.
    progress : callable
        Called after each point with (beta, alpha, features, gap, points done, trace); ``progress.total`` becomes the
        number of all points.

    Attributes
    ----------
    ended, interrupted : bool
        Whether a walk was stopped before its last point, and whether that was by Ctrl-C.
    """

    def __init__(self, training, folds, score, *, tol, rules, trace, deadline, progress):
        self.training = training
        self._folds, self.score = [GridFold(test, {}, {}) for test in folds], score
        self.tol, self.rules = tol, rules
        self.trace, self.progress = trace, progress
        self.deadline = deadline
        self.interrupted = self.ended = False
        self.done = 0
        self._maker, self._last = GridMaker(training), None

    def run(self, penalties):
        """Solve all points and, as long as the best one is at the end of the grid, those of a larger one.

        Returns
        -------
        penalties : Penalties
            The last grid that was not cut short, or the first.
        scored : FoldScores or None
            Its scores, as ``fold_scores`` gives them.
        """
        self.solve(penalties)
        while (scored := self.fold_scores(penalties)) is not None:
            larger = penalties.extended(best_point(scored.scores), self.training.svms)
            if larger is None or self.ended:
                break
            self.solve(larger, penalties)
            if self.ended:
                break
            penalties = larger
        return penalties, scored

    def solve(self, penalties, begun=None):
        """Solve all points of a grid, or those that it has besides the grid ``begun``, whose points were solved."""
        first = (0, 0)
        if begun is not None:
            n_betas, n_alphas = begun.shape
            first = (n_betas, 0) if n_betas < penalties.shape[0] else (0, n_alphas)
        self.progress.total += penalties.alphas[first[0] :, first[1] :].size * (1 + len(self._folds))
        try:
            for i, j, points in self._points(self.training.svms, penalties, first):
                self._maker.add(i, j, points)
                self._last = points
            for fold in self._folds:
                if not self.ended:
                    self._solve_fold(fold, penalties, first)
        except KeyboardInterrupt:
            if self._last is None:
                raise
            self.interrupted = self.ended = True

    def _points(self, svms, penalties, first):
        """As ``walk`` from the indices ``first`` on, with a record of each point; stops at the deadline."""
        training, trace = self.training, self.trace
        betas, alphas = penalties.betas[first[0] :], penalties.alphas[first[0] :, first[1] :]
        points = walk(svms, betas, alphas, self.tol * svms[0].at_zero, self.rules)
        for _ in range(alphas.size):
            with reading(training.sides, training.design.nbytes, trace):
                i, j, solved = next(points)
            yield first[0] + i, first[1] + j, solved
            self.done += 1
            features = max(point.ids.size for point in solved)
            self.progress(betas[i], alphas[i, j], features, relative_gap(svms, solved), self.done, trace)
            if self.done < self.progress.total and trace.begun + trace.elapsed > self.deadline:
                self.ended = True
                return

    def _solve_fold(self, fold, penalties, first):
        """Solve and score the points of a fold."""
        svms = self.training.without(fold.test)
        for i, j, points in self._points(svms, penalties, first):
            decisions = np.column_stack([svm.y * point.z for svm, point in zip(svms, points, strict=True)])
            fold.scores[i, j] = self.score(decisions[:, 0] if len(svms) == 1 else decisions, fold.test)
            fold.features[i, j] = in_units_of_X(self.training.design, points).features

    def grid(self, penalties):
        """The Grid of the points that were solved with all samples."""
        return self._maker.grid(penalties.betas, penalties.alphas)

    def selection(self):
        """The Selection of the last point that was solved with all samples."""
        return self.training.selection(self._last, self.tol, self.trace)

    def fold_scores(self, penalties) -> FoldScores | None:
        """The FoldScores of a grid; None if there are no folds, or points of it were not scored."""
        points = list(np.ndindex(penalties.shape))
        if not self._folds or any(len(fold.features) < len(points) for fold in self._folds):
            return None
        scores = [[fold.scores[at] for at in points] for fold in self._folds]
        supports: list[Any] = [[fold.features[at] for at in points] for fold in self._folds]
        supports = [(ends(ids), np.concatenate(ids)) for ids in supports]
        return FoldScores(np.array(scores).reshape(-1, *penalties.shape), supports)


def best_point(scores: np.ndarray) -> tuple[int, int]:
    """The point with the best mean of ``scores`` (n_folds, n_betas, n_alphas), of ties the first."""
    means = scores.mean(axis=0)
    i, j = np.unravel_index(np.argmax(np.where(np.isnan(means), -np.inf, means)), means.shape)
    return int(i), int(j)
