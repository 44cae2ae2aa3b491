"""A walk over the whole grid, and over that of each fold."""

import numpy as np

from thresher.families.sparse_svm.grid import GridMaker, ends, in_units_of_X
from thresher.families.sparse_svm.points import walk
from thresher.results import Step


class Walker:
    """Walks over the grid with the problems of the whole and of the folds, until the time is over or Ctrl-C."""

    def __init__(self, data, betas, alphas, tol, rules, trace, deadline, watch):
        self.data, self.betas, self.alphas, self.trace, self.watch = data, betas, alphas, trace, watch
        self.deadline, self.rules, self.tol = deadline, rules, tol
        self.interrupted = self.ended = False
        self.done = 0

    def _points(self, svms):
        """As ``walk``, with a record of each point; ends early when it must, but not before the first point."""
        data, trace = self.data, self.trace
        points = walk(svms, self.betas, self.alphas, self.tol * svms[0].at_zero, self.rules)
        begun, before = trace.elapsed, data.sides.passes
        for i, j, found in points:
            passes = data.sides.passes - before
            trace.steps.append(Step("solve", trace.elapsed - begun, passes, int(passes * data.design.nbytes)))
            yield i, j, found
            self.done += 1
            gap = max(point.gap for point in found) / svms[0].at_zero
            features = max(point.ids.size for point in found)
            self.watch(self.betas[i], self.alphas[i, j], features, gap, self.done, trace)
            if self.done < self.watch.total and trace.begun + trace.elapsed > self.deadline:
                self.ended = True
                return
            begun, before = trace.elapsed, data.sides.passes

    def whole(self):
        """(Grid, Selection of the last point reached)."""
        data = self.data
        maker = GridMaker(self.betas, self.alphas, data.svms, data.design, data.n_features)
        last = None
        try:
            for i, j, points in self._points(data.svms):
                maker.add(i, j, points)
                last = points
        except KeyboardInterrupt:
            if last is None:
                raise
            self.interrupted = self.ended = True
        return maker.grid(), data.selection(last, self.tol, self.trace)

    def folds(self, folds, scorer):
        """(scores, supports) of all folds, or (None, None) where there are none or they could not be ended."""
        if not folds:
            return None, None
        data = self.data
        scores, supports = np.zeros((len(folds), *self.alphas.shape)), []
        try:
            for fold, test in enumerate(folds):
                weights = data.weights.copy()
                weights[test] = 0.0
                svms, ids = data.problems(weights, data.svms[0].row_squares), []
                for i, j, points in self._points(svms):
                    found = np.column_stack([svm.y * point.z for svm, point in zip(svms, points, strict=True)])
                    scores[fold, i, j] = scorer(found[:, 0] if len(svms) == 1 else found, test)
                    ids.append(in_units_of_X(data.design, points)[0])
                supports.append((ends(ids), np.concatenate(ids)))
        except KeyboardInterrupt:
            self.interrupted = self.ended = True
        return (None, None) if self.ended else (scores, supports)
