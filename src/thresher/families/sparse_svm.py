"""The elastic-net SVM with a smoothed hinge, over a grid of (alpha, beta) (paper 5).

    min over w, b of   sum_i c_i l(1 - y_i (x_i'w + b)) + alpha/2 ||w||^2 + beta ||w||_1,     sum_i c_i = 1

For each beta the points are solved with alpha falling, each from its neighbour; see docs/theory/sifs.md.
"""

from dataclasses import replace

import numpy as np

from thresher.engine.rules import RULES
from thresher.engine.shrinking import Svm, closed_form, empty, gap_at, largest_alpha, largest_beta, reach, solve
from thresher.optim.losses import SmoothedHinge

ENDS = 0.02  # accuracy of a largest alpha that has to be searched for


def problems(sides, signs, costs, gamma, shift, row_squares=None):
    """One Svm for each row of ``signs`` (one row: two classes); they share the data and its norms."""
    first = Svm(sides, signs[0], costs, gamma, shift=shift, row_squares=row_squares)
    return [first] + [Svm(sides, y, costs, gamma, shift=shift, row_squares=first.row_squares) for y in signs[1:]]


def grid_of(svms, n_betas, n_alphas, beta_ratio, alpha_ratio, betas=None, alphas=None):
    """(betas, alphas of shape (n_betas, n_alphas)): those given, or logarithmic ones from where models begin.

    The largest beta has w = 0 for every alpha: its alphas are those of the next beta, or 1 where there is none.
    """
    if betas is None:
        most = max(largest_beta(svm) for svm in svms)
        betas = most * np.geomspace(1.0, beta_ratio, n_betas) if n_betas > 1 else np.array([most])
    if alphas is None:
        tops = [max(highest_alpha(svm, beta) for svm in svms) for beta in betas]
        later = [next((top for top in tops[i:] if top > 0.0), 1.0) for i in range(len(tops))]
        ratios = np.geomspace(1.0, alpha_ratio, n_alphas)
        alphas = np.multiply.outer(later, ratios)
    return np.asarray(betas, dtype=np.float64), np.broadcast_to(alphas, (len(betas), np.shape(alphas)[-1])).copy()


def highest_alpha(svm, beta):
    """Where a path in alpha begins: above, no sample leaves the part of the loss it has at w = 0. Zero where w = 0.

    Without intercept this is theorem 3; with one it is searched for.
    """
    if beta >= largest_beta(svm):
        return 0.0
    if not svm.shift:
        return largest_alpha(svm, beta)
    start = empty(svm, 1.0, beta)
    loose = 1e-6 * svm.at_zero
    before = SmoothedHinge(svm.gamma).curvature(svm.y, svm.y * start.z, svm.cost) > 0.0

    def quiet(alpha):
        point = solve(svm, replace(start, alpha=alpha, gap=gap_at(svm, start, alpha, beta)), alpha, beta, loose)
        inside = SmoothedHinge(svm.gamma).curvature(svm.y, svm.y * point.z, svm.cost) > 0.0
        return bool(np.array_equal(inside, before) and np.array_equal(point.z > 1.0, start.z > 1.0))

    high = max(float(np.abs(start.v).max()) * float(svm.row_norms[svm.rows].max()), np.finfo(float).tiny)
    while not quiet(high):
        high *= 4.0
    low = high / 4.0
    while quiet(low) and low > 1e-12 * high:
        low, high = low / 4.0, low
    while high > (1.0 + ENDS) * low:
        middle = np.sqrt(low * high)
        low, high = (low, middle) if quiet(middle) else (middle, high)
    return high


class Row:
    """The points of one problem at one beta, alpha by alpha; ``near`` is a point of the row before."""

    def __init__(self, svm, beta, near=None):
        self.svm, self.beta, self.near, self.last, self.first = svm, beta, near, None, None
        self.idle = beta >= largest_beta(svm)
        self.top = 0.0 if self.idle or svm.shift else largest_alpha(svm, beta)

    def point(self, alpha, tol, rules=RULES["auto"]):
        """The Point at ``alpha``: in closed form where there is one, else solved from the nearest point known."""
        if self.idle:
            return empty(self.svm, alpha, self.beta)
        if alpha >= self.top and not self.svm.shift:
            return closed_form(self.svm, alpha, self.beta)
        self.last = reach(self.svm, self._start(alpha), alpha, self.beta, tol, rules)
        self.first = self.first or self.last
        return self.last

    def _start(self, alpha):
        """The last point of the row; at its beginning that with the smaller gap of a closed form and a neighbour."""
        if self.last is not None:
            return self.last
        svm, beta = self.svm, self.beta
        starts = [empty(svm, alpha, beta) if svm.shift or self.top <= 0.0 else closed_form(svm, self.top, beta)]
        if self.near is not None:
            starts.append(self.near)
        return min(starts, key=lambda point: gap_at(svm, point, alpha, beta))


def walk(svms, betas, alphas, tol, rules=RULES["auto"]):
    """Yield (i, j, [a Point for each problem]) over the grid, beta by beta."""
    near = [None] * len(svms)
    for i, beta in enumerate(betas):
        rows = [Row(svm, beta, before) for svm, before in zip(svms, near, strict=True)]
        for j, alpha in enumerate(alphas[i]):
            yield i, j, [row.point(alpha, tol, rules) for row in rows]
        near = [row.first for row in rows]
