"""Where a grid of the elastic-net SVM begins, and its points, each solved from its neighbour."""

from dataclasses import replace

import numpy as np

from thresher.families.sparse_svm.rules import RULES
from thresher.families.sparse_svm.solver import (
    Svm,
    closed_form,
    empty,
    gap_at,
    largest_alpha,
    largest_beta,
    reach,
    solve,
)

ENDS = 0.02  # accuracy of a largest alpha that is found by bisection
LEAST_END = 1e-6  # range of the bisection, as a share of its start
POLISH, POLISH_STEPS = 1e-25, 8  # gap to which a single point is polished, and the steps for it
SAME = 1e-9  # how far a margin may exceed a kink of the loss in the bisection


def problems(sides, signs, costs, gamma, shift, like=None):
    """One Svm for each row of ``signs`` (one row: two classes); they, and ``like``, share the norms of the rows."""
    first = Svm(sides, signs[0], costs, gamma, shift=shift, like=like)
    return [first] + [Svm(sides, y, costs, gamma, shift=shift, like=first) for y in signs[1:]]


def grid_of(svms, n_betas, n_alphas, beta_ratio, alpha_ratio, betas=None, alphas=None):
    """(betas, alphas of shape (n_betas, n_alphas)): those given, or logarithmic ones from the largest with a model.

    The largest beta has w = 0 for every alpha: its alphas are those of the next beta, or 1 where there is none.
    """
    if betas is None:
        most = max(largest_beta(svm) for svm in svms) or 1.0  # zero: w = 0 for every beta
        betas = most * (np.geomspace(1.0, beta_ratio, n_betas) if n_betas > 1 else np.array([beta_ratio]))
    if alphas is None:
        tops = [max(highest_alpha(svm, beta) for svm in svms) for beta in betas]
        later = [next((top for top in tops[i:] if top > 0.0), 1.0) for i in range(len(tops))]
        ratios = np.geomspace(1.0, alpha_ratio, n_alphas)
        alphas = np.multiply.outer(later, ratios)
    return np.asarray(betas, dtype=np.float64), np.broadcast_to(alphas, (len(betas), np.shape(alphas)[-1])).copy()


def highest_alpha(svm, beta):
    """Where a path in alpha begins: above, no sample leaves the part of the loss it has at w = 0. Zero where w = 0.

    Without intercept this is theorem 3; with one it is found by bisection.
    """
    if beta >= largest_beta(svm):
        return 0.0
    if not svm.shift:
        return largest_alpha(svm, beta)
    start = empty(svm, 1.0, beta)
    low_kink, high_kink = 1.0 - svm.gamma, 1.0
    # the part of the loss that each sample is on, up to rounding, as bounds of its margin
    least = np.where(start.z > high_kink, high_kink, np.where(start.z >= low_kink, low_kink, -np.inf)) - SAME
    most = np.where(start.z < low_kink, low_kink, np.where(start.z <= high_kink, high_kink, np.inf)) + SAME

    def quiet(alpha):
        near = replace(start, alpha=alpha, gap=gap_at(svm, start, alpha, beta))
        z = solve(svm, near, alpha, beta, 1e-6 * svm.at_zero).z
        return bool(np.all((z >= least) & (z <= most) | ~svm.rows))

    first = high = quiet_alpha(svm)
    while not quiet(high) and high < first / LEAST_END:
        high *= 4.0
    low = high / 4.0
    while low > LEAST_END * first and quiet(low):
        low, high = low / 4.0, low
    while high > (1.0 + ENDS) * low:
        middle = np.sqrt(low) * np.sqrt(high)
        low, high = (low, middle) if quiet(middle) else (middle, high)
    return high


def quiet_alpha(svm):
    """An alpha at which w hardly changes the margins: the largest score times the longest row."""
    return max(float(np.abs(svm.ones).max(initial=0.0) * svm.row_norms[svm.rows].max()), np.finfo(float).tiny)


class Row:
    """The points of one problem at one beta, alpha by alpha; ``near`` is a point of the row before."""

    def __init__(self, svm, beta, near=None):
        self.svm, self.beta, self.near, self.last, self.first = svm, beta, near, None, None
        self.idle = beta >= largest_beta(svm)
        self.top = 0.0 if self.idle or svm.shift else largest_alpha(svm, beta)

    def point(self, alpha, tol, rules=RULES["auto"]):
        """The Point at ``alpha``: in closed form where there is one, else solved from the nearest known point."""
        if self.idle:
            return empty(self.svm, alpha, self.beta)
        if alpha >= self.top and not self.svm.shift:
            return closed_form(self.svm, alpha, self.beta)
        self.last = self._reached(alpha, tol, rules)
        self.first = self.first or self.last
        return self.last

    def _reached(self, alpha, tol, rules):
        """Solved from the last point of the row; the first one from a neighbour or from ``_begin``."""
        svm, beta = self.svm, self.beta
        if self.last is not None:
            return reach(svm, self.last, alpha, beta, tol, rules)
        begin = self._begin(alpha)
        if self.near is not None and gap_at(svm, self.near, alpha, beta) < gap_at(svm, begin, alpha, beta):
            point = reach(svm, self.near, alpha, beta, tol, rules)
            if point.gap <= tol:
                return point
        return reach(svm, begin, alpha, beta, tol, rules)

    def _begin(self, alpha):
        """A point above ``alpha`` that needs no solve."""
        if self.svm.shift:
            return empty(self.svm, max(alpha, quiet_alpha(self.svm)), self.beta)
        return closed_form(self.svm, max(self.top, alpha), self.beta)


def polished(svm, point, rules=RULES["auto"]):
    """The point after a few more steps, up to rounding, so that it hardly depends on the order of summation."""
    if svm.watch.late:
        return point
    better = solve(svm, point, point.alpha, point.beta, POLISH * svm.at_zero, rules, POLISH_STEPS)
    if better.gap >= point.gap:
        return point
    return replace(better, steps=point.steps + better.steps)


def walk(svms, betas, alphas, tol, rules=RULES["auto"]):
    """Yield (i, j, [a Point for each problem]) over the grid, beta by beta."""
    near = [None] * len(svms)
    for i, beta in enumerate(betas):
        rows = [Row(svm, beta, before) for svm, before in zip(svms, near, strict=True)]
        for j, alpha in enumerate(alphas[i]):
            yield i, j, [row.point(alpha, tol, rules) for row in rows]
        near = [row.first for row in rows]
