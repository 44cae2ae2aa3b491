"""Single points of the elastic-net SVM where it is hard: dense data, small penalties; against three peers."""

import time
import warnings
from functools import partial

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import LinearSVC

from benchmarks import alone
from benchmarks.book import table
from benchmarks.sifs.data import Set
from benchmarks.sifs.real import objective, processor_seconds, sgd
from benchmarks.sifs.runner import SMOOTHING, pinned
from thresher import SparseSVC
from thresher.datasets import make_wide

SHAPES = ((500, 5000), (500, 500), (5000, 500), (1000, 10_000), (2000, 20_000))
POINTS = ((1.0, 1e-2), (1e-1, 1e-2), (1e-2, 1e-2), (1e-3, 1e-4), (1e-5, 1e-3))  # (alpha, beta)
LARGE = 1 << 24  # numbers in X from which on only the third point is solved
QUICK = ((60, 600), (60, 60), (600, 60))
CONIC = 3_000_000  # numbers in X up to which the conic solver is asked
HEADER = (
    "n x p", "alpha", "beta", "SparseSVC s", "features", "gap", "conic s", "its objective / ours - 1", "LinearSVC l1 s",
    "features", "SGD s", "its objective / ours - 1",
)  # fmt: skip


def conic(data, alpha, beta):
    """The same objective given to CLARABEL, an interior point method for cones, with its default tolerances."""
    import cvxpy as cp

    n, p = data.X.shape
    w, over, part = cp.Variable(p), cp.Variable(n, nonneg=True), cp.Variable(n, nonneg=True)
    lack = 1.0 - cp.multiply(data.y, data.X @ w)
    loss = (cp.sum(over) + cp.sum_squares(part) / (2.0 * SMOOTHING)) / n
    penalty = 0.5 * alpha * cp.sum_squares(w) + beta * cp.norm1(w)
    cp.Problem(cp.Minimize(loss + penalty), [over + part >= lack, part <= SMOOTHING]).solve(solver=cp.CLARABEL)
    return w.value


def l1_svm(data, beta):
    """LIBLINEAR's l1-SVM with the same beta: another loss and no alpha, a yardstick for the cost."""
    model = LinearSVC(penalty="l1", dual=False, C=1.0 / (beta * data.y.size), fit_intercept=False, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return model.fit(data.X, data.y).coef_.ravel()


def ours(data, alpha, beta):
    return SparseSVC(alpha, beta, smoothing=SMOOTHING, scale=None, fit_intercept=False, n_jobs=1).fit(data.X, data.y)


def row(data, alpha, beta, repeats):
    """One point: seconds, gap, and the peers."""
    fitted, seconds = processor_seconds(partial(ours, data, alpha, beta), repeats)
    best = fitted.selection_.certificate.objective
    cells = [f"{seconds:.2f}", fitted.selection_.features.size, f"{fitted.selection_.certificate.gap:.0e}"]
    if data.X.size <= CONIC:
        begun = time.process_time()
        w = conic(data, alpha, beta)
        cells += [f"{time.process_time() - begun:.1f}", f"{objective(data, w, alpha, beta) / best - 1.0:.0e}"]
    else:
        cells += ["-", "-"]
    w, seconds = processor_seconds(partial(l1_svm, data, beta), 1)
    cells += [f"{seconds:.2f}", np.count_nonzero(w)]
    w, seconds = processor_seconds(partial(sgd, "hinge", alpha, beta, data), 1)
    off = objective(data, w, alpha, beta) / best - 1.0
    cells += [f"{seconds:.2f}", f"{off:.0e}" if off < 100.0 else "diverged"]
    return (f"{data.X.shape[0]} x {data.X.shape[1]}", f"{alpha:g}", f"{beta:g}", *cells)


def report(quick=False):
    """The section of docs/benchmarks.md."""
    rows = []
    with pinned():
        for n, p in QUICK if quick else SHAPES:
            made = make_wide(n, p, 50 if p > 100 else 10, random_state=0)
            data = Set(f"{n} x {p}", np.ascontiguousarray(made.X), np.where(made.y == made.y.max(), 1.0, -1.0))
            for alpha, beta in POINTS[2:3] if n * p > LARGE else POINTS:
                rows.append(row(data, alpha, beta, 1 if quick or n * p > CONIC else 3))
                print(*rows[-1], sep="  ", flush=True)
    about = (
        "One point from nothing, on dense data of `make_wide`, no intercept and no scaling, tol = 1e-6; gap: the "
        "duality gap that the fit ended with, relative to the objective at w = 0. CLARABEL (by cvxpy) is given the "
        f"same problem up to {CONIC:,} numbers in X. LinearSVC has the squared hinge and no alpha, SGD the hinge and a "
        "stopping rule of its own: yardsticks for the cost, not the same problem. Processor seconds on one core, ours "
        "the median of 3 below the same size."
    )
    return f"### Hard points: dense data, small penalties\n\n{about}\n\n{table(HEADER, rows)}"


if __name__ == "__main__":
    alone.run(report, __doc__)
