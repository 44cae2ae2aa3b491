"""A point of an elastic-net SVM's grid by an interior point method, on a working set of columns that grows."""

from dataclasses import replace

import numpy as np

from thresher.families.sparse_svm.newton import Effort, newton_point
from thresher.families.sparse_svm.rules import NO_TESTS, Screened, ScreeningRules
from thresher.families.sparse_svm.svm import Svm, SvmPoint, gap_at
from thresher.optim.elastic.interior import ElasticInterior, InteriorSolution
from thresher.optim.elastic.objective import column_terms

FIRST_COLUMNS, LEAST_COLUMNS = 2.0, 200  # columns to begin with: this multiple of the samples, but at least so many
FEW_ENTRIES = 1 << 19
SPARSE_ENTRIES = 8  # the copy is dense: it may have this many times the stored entries of X, or FEW_ENTRIES
FIRST_GAP, NEXT_GAP = 1e-2, 1e-2  # gap of the first round, and of each further one as a share of the one before
WORKING_SET_ROUNDS = 30
RESTART_ABOVE = 1.0  # terms of missing columns, as a share of the objective at zero, from which the method begins anew
FARTHER = (1e3, 1e6)  # of starts after one from which it did not converge
INNER_GAP = 1e-9  # from which Newton's method goes on
FINAL_STEPS = 12  # of Newton's method


AT_ONCE, AT_LAST = (2500, 1 << 23), (8000, 1 << 26)  # size of the systems, and of the part of X that is copied, at most


def suits(svm: Svm, limits: tuple[int, int] = AT_ONCE) -> bool:
    """Whether the method can be used: its systems, of the size of the smaller side, are dense."""
    n, p = int(np.count_nonzero(svm.rows)), svm.sides.shape[1]
    copied = min(limits[1], max(FEW_ENTRIES, SPARSE_ENTRIES * svm.sides.entries))
    return min(n, p) <= limits[0] and n * _first_width(n, p) <= copied


def _first_width(n, p):
    """Number of columns to begin with."""
    return min(p, int(max(FIRST_COLUMNS * n, LEAST_COLUMNS)))


def interior_point(
    svm: Svm, start: SvmPoint, alpha: float, beta: float, tol: float, rules: ScreeningRules = NO_TESTS
) -> SvmPoint:
    """The point at (alpha, beta) by the interior point method, and a few steps of Newton's method from there."""
    begun = svm.monitor.steps
    ids, weights, b, theta = KnownColumns(svm, start, alpha, beta).solved(INNER_GAP * svm.at_zero)
    steps = svm.monitor.steps - begun
    z = svm.y * (svm.sides.combine(ids, weights) + b)
    v = svm.sides.correlate(svm.signed * theta)
    point = SvmPoint(alpha, beta, ids, weights, b, z, theta, v, np.inf, Screened.nothing(svm))
    point = replace(point, gap=gap_at(svm, point, alpha, beta))
    point = newton_point(svm, point, alpha, beta, Effort(tol, FINAL_STEPS), rules)
    return replace(point, steps=point.steps + steps)


class KnownColumns:
    """The columns that the method knows of, those with the largest |v| at ``start`` first."""

    def __init__(self, svm: Svm, start: SvmPoint, alpha: float, beta: float):
        self.svm, self.start = svm, start
        self.objective = svm.at(alpha, beta)
        self.rows = np.flatnonzero(svm.rows)
        width = _first_width(self.rows.size, svm.sides.shape[1])
        self.columns = np.sort(np.argsort(-np.abs(start.v), kind="stable")[:width])

    def solved(self, tol: float):
        """(ids, weights, b, theta of all samples): a solution with a gap of at most ``tol``, if it gets there."""
        svm, far = self.svm, iter(FARTHER)
        theta = self.start.theta.copy()
        bar = max(FIRST_GAP * svm.at_zero, 0.5 * tol)
        solver = self._solver()
        for _ in range(WORKING_SET_ROUNDS):
            best = solver.solve(bar, svm.monitor)
            theta[self.rows] = best.theta
            v = svm.sides.correlate(svm.signed * theta)
            terms = self._missing_terms(v)
            outside = float(terms.sum())
            if best.gap + outside <= tol or svm.monitor.late:
                break
            if best.gap > bar:
                factor = next(far, None)
                if factor is None:
                    break
                solver = self._solver(factor)
                continue
            if outside > 0.0:
                joined = self._grow(terms)
                if outside > RESTART_ABOVE * svm.at_zero:
                    solver = self._solver()
                    continue
                solver.join(svm.sides.dense(self.rows, joined), v[joined])
            bar = max(NEXT_GAP * bar, 0.5 * tol)
        return self._sorted(best, theta)

    def _solver(self, far=1.0):
        """A solver in the middle of its bounds."""
        objective = self.objective.of_rows(self.rows)
        return ElasticInterior(self.svm.sides.dense(self.rows, self.columns), objective, far)

    def _missing_terms(self, v):
        """The terms of the gap of columns that are not in the set, whose weight is zero."""
        terms = column_terms(np.zeros(v.size), v, self.objective.alpha, self.objective.beta)
        terms[self.columns] = 0.0
        return terms

    def _grow(self, terms):
        """Add the missing columns with the largest terms, at most as many as there are; returns them."""
        missing = np.flatnonzero(terms)
        joined = np.sort(missing[np.argsort(-terms[missing], kind="stable")[: self.columns.size]])
        self.columns = np.concatenate([self.columns, joined])
        return joined

    def _sorted(self, best: InteriorSolution, theta):
        """The solution with its columns in order, those with a weight alone."""
        columns = self.columns[: best.w.size]  # the last round may have added some
        order = np.argsort(columns)
        ids, w = columns[order], best.w[order]
        return ids[w != 0.0], w[w != 0.0], best.b, theta
