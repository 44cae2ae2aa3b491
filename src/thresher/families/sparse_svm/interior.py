"""A point of an elastic-net SVM's grid by an interior point method, on a working set of columns that grows."""

import numpy as np

from thresher.optim.elastic.interior import ElasticInterior
from thresher.optim.elastic.newton import column_terms

EARLY, LATE = (2500, 1 << 23), (8000, 1 << 26)  # size of the systems, and of the part of X that is copied, at most
SPARSE = 8  # the copy is dense: it may have this many times the stored entries of X, or FEW
FEW = 1 << 19
WIDE, LEAST = 2.0, 200  # columns to begin with: this multiple of the samples, but at least so many
LOOSE, TIGHTER = 1e-2, 1e-2  # gap of the first round, and of each further one as a share of the one before
MOST_ROUNDS = 30
NEAR = 1.0  # terms of missing columns above which, as a share of the objective at zero, the method begins anew
FARTHER = (1e3, 1e6)  # of starts after one from which it did not arrive


def suits(svm, limits=EARLY):
    """Whether the method can be used: its systems, of the size of the smaller side, are dense."""
    n, p = int(np.count_nonzero(svm.rows)), svm.sides.shape[1]
    copied = n * _width(n, p)
    return min(n, p) <= limits[0] and copied <= min(limits[1], max(FEW, SPARSE * svm.sides.entries))


def _width(n, p):
    """Number of columns to begin with."""
    return min(p, int(max(WIDE * n, LEAST)))


def solved(svm, start, alpha, beta, tol):
    """(ids, weights, b, theta of all samples, steps): a solution with a gap of at most ``tol``, if it gets there."""
    rows, p = np.flatnonzero(svm.rows), svm.sides.shape[1]
    columns = np.sort(np.argsort(-np.abs(start.v), kind="stable")[: _width(rows.size, p)])
    solver, far, begun = _fresh(svm, rows, columns, alpha, beta), iter(FARTHER), svm.watch.steps
    theta, bar = start.theta.copy(), max(LOOSE * svm.at_zero, 0.5 * tol)
    for _ in range(MOST_ROUNDS):
        best = solver.solve(bar, svm.watch)
        theta[rows] = best.theta
        v = svm.sides.correlate(svm.signed * theta)
        terms = column_terms(np.zeros(p), v, alpha, beta)
        terms[columns] = 0.0
        outside = float(terms.sum())
        if best.gap + outside <= tol or svm.watch.late:
            break
        if best.gap > bar:
            factor = next(far, None)
            if factor is None:
                break
            solver = _fresh(svm, rows, columns, alpha, beta, factor)
            continue
        if outside > 0.0:
            missing = np.flatnonzero(terms)
            missing = np.sort(missing[np.argsort(-terms[missing], kind="stable")[: columns.size]])
            columns = np.concatenate([columns, missing])
            if outside > NEAR * svm.at_zero:
                solver = _fresh(svm, rows, columns, alpha, beta)
                continue
            solver.join(svm.sides.dense(rows, missing), v[missing])
        bar = max(TIGHTER * bar, 0.5 * tol)
    columns = columns[: best.w.size]  # the last round may have added some
    order = np.argsort(columns)
    ids, w = columns[order], best.w[order]
    return ids[w != 0.0], w[w != 0.0], best.b, theta, svm.watch.steps - begun


def _fresh(svm, rows, columns, alpha, beta, far=1.0):
    """A solver in the middle of its bounds."""
    X = svm.sides.dense(rows, columns)
    return ElasticInterior(
        X, svm.y[rows], svm.cost[rows], alpha=alpha, beta=beta, gamma=svm.gamma, shift=svm.shift, far=far
    )
