"""One point of an elastic-net SVM's grid from a point that may be far: the solvers, in the order of their speed."""

from dataclasses import replace

import numpy as np

from thresher.families.sparse_svm import interior
from thresher.families.sparse_svm.newton import NEWTON_STEPS, Effort, newton_point
from thresher.families.sparse_svm.rules import NO_TESTS, ScreeningRules
from thresher.families.sparse_svm.svm import Svm, SvmPoint

STRIDE_STEPS = 12  # of a solve, if a shorter stride may help
INTERIOR_AFTER = 24  # steps for a point, after which the interior point method takes over on larger problems too
FAR = 10.0  # ratio of alphas from which on, with more active columns than samples, it is used at once
STEPS_IN_ALL = 2000  # for a point, after which the current solution is returned
STRIDE, SHORTEST_STRIDE = 30.0, 1.05  # factors by which alpha decreases at a time
STRIDE_GAP = 1e-3  # gap of intermediate solutions


def solve_point(
    svm: Svm, start: SvmPoint, alpha: float, beta: float, tol: float, rules: ScreeningRules = NO_TESTS
) -> SvmPoint:
    """The point at (alpha, beta), solved from ``start`` until its gap is at most ``tol``, or time is over.

    If ``start`` is far, or the solve takes too long, points in between are solved first: from a close start a solve
    takes a step or two. Where that is slow too, the interior point method takes over.
    """
    return _PointSolve(svm, alpha, beta, tol, rules).run(start)


class _PointSolve:
    """The solve of a point; ``steps`` are those of all solvers, ``interior_tried`` if it has been used."""

    def __init__(self, svm, alpha, beta, tol, rules):
        self.svm, self.rules = svm, rules
        self.alpha, self.beta = alpha, beta
        self.tol = tol
        self.steps = 0
        self.interior_at_once, self.interior_tried = interior.suits(svm), False

    def run(self, start):
        """The point, solved from ``start``."""
        point = self._by_interior(start) if self.interior_at_once and self._is_far(start) else None
        if point is None:
            point = self._in_strides(start)
        return replace(point, steps=self.steps)

    def _is_far(self, start):
        """Whether alpha is far below, and more columns than samples are active."""
        active = np.count_nonzero(np.abs(start.v) > self.beta)
        return start.alpha > FAR * self.alpha and active > np.count_nonzero(self.svm.rows)

    def _in_strides(self, start):
        """By Newton's method, with points in between; strides become shorter where it is slow, and longer again."""
        stride, stride_gap = STRIDE, max(self.tol, STRIDE_GAP * self.svm.at_zero)
        while True:
            ratio = start.alpha / self.alpha
            stride = min(stride, max(ratio, SHORTEST_STRIDE))
            last = ratio <= stride
            alpha, gap = (self.alpha, self.tol) if last else (start.alpha / stride, stride_gap)
            point = self._by_newton(start, alpha, gap, STRIDE_STEPS if stride > SHORTEST_STRIDE else NEWTON_STEPS)
            if self.steps >= STEPS_IN_ALL or self.svm.monitor.late:  # no further progress in floating point, or in time
                return point if last else self._by_newton(point, self.alpha, self.tol, STRIDE_STEPS)
            if point.gap > gap:
                better = self._by_interior(point) if self._interior_is_due() else None
                if better is not None:
                    return better
                if stride > SHORTEST_STRIDE:
                    stride = np.sqrt(stride)
                    continue
            if last:
                return point
            start, stride = point, stride**1.5

    def _by_newton(self, start, alpha, gap, most):
        """A solve that ends early if the interior point method may follow at once."""
        impatient = self.interior_at_once and not self.interior_tried
        point = newton_point(self.svm, start, alpha, self.beta, Effort(gap, most, impatient), self.rules)
        self.steps += point.steps
        return point

    def _interior_is_due(self):
        late = self.steps >= INTERIOR_AFTER and interior.suits(self.svm, interior.AT_LAST)
        return not self.interior_tried and (self.interior_at_once or late)

    def _by_interior(self, start):
        """The point by the interior point method; None if it does not converge in time."""
        self.interior_tried = True
        point = interior.interior_point(self.svm, start, self.alpha, self.beta, self.tol, self.rules)
        self.steps += point.steps
        return point if point.gap <= self.tol or self.svm.monitor.late else None
