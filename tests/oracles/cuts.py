"""Problems that are a maximum over cuts, by a general conic solver that is given all of them.

Imports nothing from thresher.
"""

import cvxpy as cp
import numpy as np

from tests.oracles import measures
from tests.oracles.convex import solved


def optimum(classes, k, *, sizes=None, forced=0, shifted=False):
    """min 1/2 sum_g ||w_g||^2 / d_g + sum_c total_c xi_c  with  G w + sums b >= losses - xi; (value, W, b).

    ``classes`` are (G, losses, sums, total) of each class; ``sizes`` the numbers of columns of the units, of which the
    first ``forced`` have d = 1 and the others 0 <= d <= 1, sum d <= k.
    """
    width = classes[0][0].shape[1]
    sizes = np.ones(width, dtype=int) if sizes is None else np.asarray(sizes)
    ends = np.cumsum(sizes)
    W, b, d = cp.Variable((width, len(classes))), cp.Variable(len(classes)), cp.Variable(sizes.size)
    rules = [d >= 0, d <= 1, *[d[u] == 1 for u in range(forced)]]
    if forced < sizes.size:
        rules.append(cp.sum(d[forced:]) <= k)
    value = 0.5 * sum(cp.quad_over_lin(W[e - s : e], d[u]) for u, (e, s) in enumerate(zip(ends, sizes, strict=True)))
    for c, (G, losses, sums, total) in enumerate(classes):
        xi = cp.Variable(nonneg=True)
        rules.append(G @ W[:, c] + (sums * b[c] if shifted else 0.0) + xi >= losses)
        value = value + total * xi
    found = solved(cp.Problem(cp.Minimize(value), rules))
    return found, W.value, b.value if shifted else np.zeros(len(classes))


def squared_l1(cuts, *, shifted=False):
    """(20) of the paper: min 1/2 ||w||_1^2 + total xi over the cuts (G, losses, sums, total) of one class."""
    G, losses, sums, total = cuts
    w, b, xi = cp.Variable(G.shape[1]), cp.Variable(), cp.Variable(nonneg=True)
    rules = [G @ w + (sums * b if shifted else 0.0) + xi >= losses]
    return solved(cp.Problem(cp.Minimize(0.5 * cp.square(cp.norm1(w)) + total * xi), rules))


def group_sum(cuts, groups, *, forced=0, shifted=False):
    """(15): min 1/2 ||w_forced||^2 + 1/2 (sum_h ||w_h||)^2 + total xi; ``groups`` are lists of columns."""
    G, losses, sums, total = cuts
    w, b, xi = cp.Variable(G.shape[1]), cp.Variable(), cp.Variable(nonneg=True)
    rules = [G @ w + (sums * b if shifted else 0.0) + xi >= losses]
    size = cp.square(sum(cp.norm(w[h]) for h in groups)) + (cp.sum_squares(w[:forced]) if forced else 0.0)
    return solved(cp.Problem(cp.Minimize(0.5 * size + total * xi), rules))


def group_sum_dual(cuts, groups, *, shifted=False):
    """(16), its dual: max losses'a - 1/2 max_h ||G_h'a||^2 over a >= 0, sum a <= total, sums'a = 0."""
    G, losses, sums, total = cuts
    a, longest = cp.Variable(losses.size, nonneg=True), cp.Variable()
    rules = [cp.sum(a) <= total, *[cp.norm(G[:, h].T @ a) <= longest for h in groups]]
    if shifted:
        rules.append(sums @ a == 0)
    return solved(cp.Problem(cp.Maximize(losses @ a - 0.5 * cp.square(longest)), rules))


def every_cut(name, y, weights=None, **parameters):
    """(losses, vectors) of all labellings or rankings of the rows of weight 1; the others have 0."""
    there = np.ones(y.size, dtype=bool) if weights is None else weights > 0
    own = y[there]
    losses, vectors = (
        _of_rankings(name, own) if name in ("auc", "average_precision") else _of_labellings(name, own, **parameters)
    )
    V = np.zeros((losses.size, y.size))
    V[:, there] = vectors
    return losses, V


def _of_labellings(name, y, beta=None, k=None):
    k = measures.count_of(name, k, y)
    labels = list(measures.labellings(y.size, k))
    losses = [measures.loss_of_table(name, y, each, beta, k) for each in labels]
    return np.array(losses), np.array([measures.direction(y, each, k) for each in labels])


def _of_rankings(name, y):
    ranks, pairs = measures.rankings(y.size), measures.pairs(y)
    V = np.zeros((len(ranks), y.size))
    for i, j in pairs:
        swapped = (ranks[:, i] > ranks[:, j]) / len(pairs)
        V[:, i] += swapped
        V[:, j] -= swapped
    each = np.unique(np.column_stack([measures.loss_of_ranks(name, y, ranks), V]).round(12), axis=0)
    return each[:, 0], each[:, 1:]
