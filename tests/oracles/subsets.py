"""The best model on any k columns, by trying them all. Imports nothing from thresher."""

from itertools import combinations

import numpy as np
from scipy.optimize import minimize


def _objective(params, X, y, cost, loss, shift):
    w, b = params[: X.shape[1]], (params[-1] if shift else 0.0)
    m = y * (X @ w + b)
    if loss == "squared_hinge":
        slack = np.maximum(0.0, 1.0 - m)
        value, slope = 0.5 * cost @ slack**2, -cost * slack * y
    else:
        value, slope = cost @ np.logaddexp(0.0, -m), -cost * y / (1.0 + np.exp(m))
    gradient = np.append(w + X.T @ slope, slope.sum()) if shift else w + X.T @ slope
    return 0.5 * w @ w + value, gradient


def ridge(X, y, cost, loss, *, shift=True):
    """min 1/2 ||w||^2 + loss over all w, b: (optimum, w, b)."""
    start = np.zeros(X.shape[1] + shift)
    found = minimize(
        _objective, start, (X, y, cost, loss, shift), jac=True, method="L-BFGS-B",
        options={"maxiter": 20000, "ftol": 1e-15, "gtol": 1e-10},
    )  # fmt: skip
    return found.fun, found.x[: X.shape[1]], found.x[-1] if shift else 0.0


def best_subset(X, y, cost, k, loss, *, shift=True, forced=()):
    """The lowest ridge optimum over all sets of k columns that contain ``forced``: (optimum, columns)."""
    rest = [j for j in range(X.shape[1]) if j not in forced]
    tries = [(*forced, *more) for more in combinations(rest, k - len(forced))]
    values = [ridge(X[:, list(columns)], y, cost, loss, shift=shift)[0] for columns in tries]
    best = int(np.argmin(values))
    return values[best], sorted(tries[best])
