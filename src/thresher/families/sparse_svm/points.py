"""Where a path in alpha of the elastic-net SVM begins, and its points, each solved from its neighbour."""

from dataclasses import replace

import numpy as np

from thresher.families.sparse_svm.newton import Effort, newton_point
from thresher.families.sparse_svm.rules import NO_TESTS
from thresher.families.sparse_svm.solver import solve_point
from thresher.families.sparse_svm.svm import Svm, closed_form, gap_at, largest_alpha, largest_beta, zero_point

FIRST_ALPHA_ACCURACY = 0.02  # of a first alpha that is found by bisection
FIRST_ALPHA_RANGE = 1e-6  # of the bisection, as a share of its start
FIRST_ALPHA_GAP = 1e-6  # to which its points are solved
KINK_ROUNDING = 1e-9  # how far a margin may exceed a kink of the loss in the bisection
POLISH = Effort(1e-25, 8)  # gap to which a single point is polished, as a share of the objective at zero, and steps


def problems(sides, signs, costs, gamma, shift):
    """One Svm for each row of ``signs`` (one row: two classes)."""
    return [Svm(sides, y, costs, gamma, shift=shift) for y in signs]


def first_alpha(svm, beta):
    """Where a path in alpha begins: above, no sample leaves the part of the loss it has at w = 0. Zero where w = 0.

    Without intercept this is theorem 3; with one it is found by bisection.
    """
    if beta >= largest_beta(svm):
        return 0.0
    if not svm.shift:
        return largest_alpha(svm, beta)
    start = zero_point(svm, 1.0, beta)
    low_kink, high_kink = 1.0 - svm.gamma, 1.0
    # the part of the loss that each sample is on, up to rounding, as bounds of its margin
    least = np.where(start.z > high_kink, high_kink, np.where(start.z >= low_kink, low_kink, -np.inf)) - KINK_ROUNDING
    most = np.where(start.z < low_kink, low_kink, np.where(start.z <= high_kink, high_kink, np.inf)) + KINK_ROUNDING

    def parts_stay(alpha):
        near = replace(start, alpha=alpha, gap=gap_at(svm, start, alpha, beta))
        z = newton_point(svm, near, alpha, beta, Effort(FIRST_ALPHA_GAP * svm.at_zero)).z
        return bool(np.all((z >= least) & (z <= most) | ~svm.rows))

    begin = high = flat_alpha(svm)
    while not parts_stay(high) and high < begin / FIRST_ALPHA_RANGE:
        high *= 4.0
    low = high / 4.0
    while low > FIRST_ALPHA_RANGE * begin and parts_stay(low):
        low, high = low / 4.0, low
    while high > (1.0 + FIRST_ALPHA_ACCURACY) * low:
        middle = np.sqrt(low) * np.sqrt(high)
        low, high = (low, middle) if parts_stay(middle) else (middle, high)
    return high


def flat_alpha(svm):
    """An alpha at which w hardly changes the margins: the largest |v| times the longest row."""
    return max(float(np.abs(svm.v_at_one).max(initial=0.0) * svm.row_norms[svm.rows].max()), np.finfo(float).tiny)


class AlphaPath:
    """The points of one problem at one beta, alpha by alpha; ``near`` is a point at the beta before."""

    def __init__(self, svm, beta, near=None):
        self.svm, self.beta = svm, beta
        self.near, self.last = near, None
        self.first = None  # the first point that was not known in closed form
        self.without_columns = beta >= largest_beta(svm)
        self.closed_from = np.inf  # the alpha from which on there is a closed form
        if not (svm.shift or self.without_columns):
            self.closed_from = largest_alpha(svm, beta)

    def point(self, alpha, tol, rules=NO_TESTS):
        """The point at ``alpha``: in closed form where there is one, else solved from the nearest known point."""
        if self.without_columns:
            return zero_point(self.svm, alpha, self.beta)
        if alpha >= self.closed_from:
            return closed_form(self.svm, alpha, self.beta)
        self.last = self._solved(alpha, tol, rules)
        self.first = self.first or self.last
        return self.last

    def _solved(self, alpha, tol, rules):
        """Solved from the last point; the first one from a neighbour or from ``_begin``."""
        svm, beta = self.svm, self.beta
        if self.last is not None:
            return solve_point(svm, self.last, alpha, beta, tol, rules)
        begin = self._begin(alpha)
        if self.near is not None and gap_at(svm, self.near, alpha, beta) < gap_at(svm, begin, alpha, beta):
            point = solve_point(svm, self.near, alpha, beta, tol, rules)
            if point.gap <= tol:
                return point
        return solve_point(svm, begin, alpha, beta, tol, rules)

    def _begin(self, alpha):
        """A point above ``alpha`` that needs no solve."""
        if self.svm.shift:
            return zero_point(self.svm, max(alpha, flat_alpha(self.svm)), self.beta)
        return closed_form(self.svm, max(self.closed_from, alpha), self.beta)


def polished(svm, point, rules=NO_TESTS):
    """The point after a few more steps, up to rounding, so that it hardly depends on the order of summation."""
    if svm.monitor.late:
        return point
    effort = POLISH._replace(tol=POLISH.tol * svm.at_zero)
    better = newton_point(svm, point, point.alpha, point.beta, effort, rules)
    if better.gap >= point.gap:
        return point
    return replace(better, steps=point.steps + better.steps)


def walk(svms, betas, alphas, tol, rules=NO_TESTS):
    """Yield (i, j, [a point for each problem]) over the grid, beta by beta."""
    near = [None] * len(svms)
    for i, beta in enumerate(betas):
        paths = [AlphaPath(svm, beta, before) for svm, before in zip(svms, near, strict=True)]
        for j, alpha in enumerate(alphas[i]):
            yield i, j, [path.point(alpha, tol, rules) for path in paths]
        near = [path.first for path in paths]
