"""A walk over the grid with all samples, and for each fold."""

from typing import NamedTuple

import numpy as np

from thresher.engine.reading import reading
from thresher.families.sparse_svm.grid import GridMaker, ends, in_units_of_X, relative_gap
from thresher.families.sparse_svm.points import walk


class FoldScores(NamedTuple):
    """``scores`` of shape (n_folds, n_betas, n_alphas); ``supports`` has (begins, ids) of each fold, as a Grid."""

    scores: np.ndarray
    supports: list


class GridWalk:
    """Solves the points of a grid with all samples and for each fold, until max_time or Ctrl-C.

    Parameters
    ----------
    training : SvmTraining
        The training data.
    betas, alphas : ndarray of shape (n_betas,) and (n_betas, n_alphas)
        The grid.
    tol : float
        Gap to reach at each point, as a share of the objective at w = 0.
    rules : ScreeningRules
        Which screening tests are run.
    trace : Trace
        Where each point is recorded.
    deadline : float
        When to stop, on the clock of ``time.perf_counter``; not before the first point.
    progress : callable
        Called after each point with (beta, alpha, features, gap, points done, trace); ``progress.total`` is the
        total number of points.

    Attributes
    ----------
    ended, interrupted : bool
        Whether a walk was stopped before its last point, and whether that was by Ctrl-C.
    """

    def __init__(self, training, betas, alphas, *, tol, rules, trace, deadline, progress):
        self.training = training
        self.betas, self.alphas = betas, alphas
        self.tol, self.rules = tol, rules
        self.trace, self.progress = trace, progress
        self.deadline = deadline
        self.interrupted = self.ended = False
        self.done = 0

    def _points(self, svms):
        """As ``walk``, with a record of each point; stops at the deadline, but not before the first point."""
        training, trace = self.training, self.trace
        points = walk(svms, self.betas, self.alphas, self.tol * svms[0].at_zero, self.rules)
        for _ in range(self.alphas.size):
            with reading(training.sides, training.design.nbytes, trace):
                i, j, solved = next(points)
            yield i, j, solved
            self.done += 1
            features = max(point.ids.size for point in solved)
            self.progress(self.betas[i], self.alphas[i, j], features, relative_gap(svms, solved), self.done, trace)
            if self.done < self.progress.total and trace.begun + trace.elapsed > self.deadline:
                self.ended = True
                return

    def whole(self):
        """(Grid, Selection of the last point solved)."""
        maker, last = GridMaker(self.training, self.betas, self.alphas), None
        try:
            for i, j, points in self._points(self.training.svms):
                maker.add(i, j, points)
                last = points
        except KeyboardInterrupt:
            if last is None:
                raise
            self.interrupted = self.ended = True
        return maker.grid(), self.training.selection(last, self.tol, self.trace)

    def folds(self, folds, score):
        """The FoldScores of models fitted without each of the ``folds``; None if a walk was stopped early.

        Parameters
        ----------
        folds : list of ndarray
            Indices of the samples that are held out.
        score : callable
            ``score(decisions of all samples, held-out samples)``.
        """
        scores, supports = np.zeros((len(folds), *self.alphas.shape)), []
        try:
            for fold, test in enumerate(folds):
                svms, ids = self.training.without(test), []
                for i, j, points in self._points(svms):
                    decisions = np.column_stack([svm.y * point.z for svm, point in zip(svms, points, strict=True)])
                    scores[fold, i, j] = score(decisions[:, 0] if len(svms) == 1 else decisions, test)
                    ids.append(in_units_of_X(self.training.design, points).features)
                supports.append((ends(ids), np.concatenate(ids)))
        except KeyboardInterrupt:
            self.interrupted = self.ended = True
        return None if self.ended else FoldScores(scores, supports)
