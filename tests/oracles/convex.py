"""The convex problems solved by a general conic solver. Imports nothing from thresher."""

import contextlib

import cvxpy as cp
import numpy as np

ACCURACIES = (1e-10, 1e-8, 1e-7, 1e-6)  # the next where the solver cannot reach the one before


def _loss(name, margins, cost):
    if name == "squared_hinge":
        return 0.5 * cp.sum_squares(cp.multiply(np.sqrt(cost), cp.pos(1 - margins)))
    return cp.sum(cp.multiply(cost, cp.logistic(-margins)))


def solved(problem):
    """The optimum, as accurately as the solver can."""
    for tol in ACCURACIES:
        with contextlib.suppress(cp.SolverError):
            problem.solve(solver=cp.CLARABEL, tol_gap_abs=tol, tol_gap_rel=tol, tol_feas=tol)
            break
    assert problem.status in ("optimal", "optimal_inaccurate"), problem.status
    return problem.value


def adaptive_scaling(X, y, cost, budget, loss, *, shift=True, forced=()):
    """Problem (46): min over d in [0,1]^p, sum d <= budget, w, b of 1/2 sum w_j^2/d_j + loss. (optimum, w, b, d)."""
    optimum, W, b, d = shared_scaling(X, y[:, None], cost, budget, loss, shift=shift, forced=forced)
    return optimum, W[:, 0], float(b[0]), d


def shared_scaling(X, Y, cost, budget, loss, *, shift=True, forced=()):
    """One scaling d for all columns of Y (n, classes): 1/2 sum_j ||W_j||^2/d_j + all losses. (optimum, W, b, d)."""
    p, classes = X.shape[1], Y.shape[1]
    free = [j for j in range(p) if j not in forced]
    W, d, b = cp.Variable((p, classes)), cp.Variable(p), cp.Variable(classes)
    size = sum(cp.quad_over_lin(W[j], d[j]) for j in range(p))
    rules = [d >= 0, d <= 1, sum(d[j] for j in free) <= budget] + [d[j] == 1 for j in forced]
    scores = X @ W + (np.ones((X.shape[0], 1)) @ cp.reshape(b, (1, classes), order="C") if shift else 0.0)
    losses = _loss(loss, cp.multiply(Y, scores), np.repeat(cost[:, None], classes, axis=1))
    value = solved(cp.Problem(cp.Minimize(0.5 * size + losses), rules))
    return value, W.value, (b.value if shift else np.zeros(classes)), d.value


def group_sum(X, y, cost, groups, loss, *, shift=True):
    """Problem (30): 1/2 (sum_h ||w_h||)^2 + loss, groups given as lists of columns. (optimum, w, b)."""
    w, b = cp.Variable(X.shape[1]), cp.Variable()
    scores = X @ w + (b if shift else 0.0)
    lengths = sum(cp.norm(w[g]) for g in groups)
    problem = cp.Problem(cp.Minimize(0.5 * cp.square(lengths) + _loss(loss, cp.multiply(y, scores), cost)))
    return solved(problem), w.value, (float(b.value) if shift else 0.0)


def kernel_dual(X, y, cost, groups, *, shift=True):
    """The dual of (30) for the squared hinge: max 1'a - sum a^2/(2c) - 1/2 max ||c_h||^2. (optimum, alpha)."""
    a, longest = cp.Variable(y.size, nonneg=True), cp.Variable()
    rules = [cp.norm(X[:, g].T @ cp.multiply(y, a)) <= longest for g in groups]
    if shift:
        rules.append(y @ a == 0)
    value = cp.sum(a) - 0.5 * cp.sum(cp.multiply(1 / cost, cp.square(a))) - 0.5 * cp.square(longest)
    problem = cp.Problem(cp.Maximize(value), rules)
    return solved(problem), a.value


def prox_k_support(u, k, step):
    """argmin_w 1/2 ||w - u||^2 + step/2 ||w||_k^2 through the variational form."""
    w, d = cp.Variable(u.size), cp.Variable(u.size)
    size = sum(cp.quad_over_lin(w[j], d[j]) for j in range(u.size))
    rules = [d >= 0, d <= 1, cp.sum(d) <= k]
    solved(cp.Problem(cp.Minimize(0.5 * cp.sum_squares(w - u) + 0.5 * step * size), rules))
    return w.value


def prox_group_sum(u, groups, step):
    """argmin_w 1/2 ||w - u||^2 + step/2 (sum_h ||w_h||)^2."""
    w = cp.Variable(u.size)
    lengths = sum(cp.norm(w[g]) for g in groups)
    solved(cp.Problem(cp.Minimize(0.5 * cp.sum_squares(w - u) + 0.5 * step * cp.square(lengths))))
    return w.value


def k_support_squared(w, k):
    """min sum w_j^2 / d_j over 0 <= d <= 1, sum d <= k."""
    used = np.flatnonzero(w)
    if used.size == 0:
        return 0.0
    d = cp.Variable(used.size)
    size = sum(cp.quad_over_lin(float(w[j]), d[i]) for i, j in enumerate(used))
    return solved(cp.Problem(cp.Minimize(size), [d >= 0, d <= 1, cp.sum(d) <= k]))


def group_optimum(X, Y, cost, groups, omega, k, loss="squared_hinge", chosen=None, *, forced=()):
    """min over latent w_g of 1/2 sum omega_g ||w_g||^2 / d_g + loss; of ``chosen`` groups alone with d = 1."""
    picked = range(len(groups)) if chosen is None else chosen
    W = [cp.Variable((len(groups[g]), Y.shape[1])) for g in picked]
    d, b = cp.Variable(len(W)), cp.Variable((1, Y.shape[1]))
    scores = sum(X[:, groups[g]] @ w for g, w in zip(picked, W, strict=True)) + np.ones((len(X), 1)) @ b
    size = sum(omega[g] * cp.quad_over_lin(w, d[i]) for i, (g, w) in enumerate(zip(picked, W, strict=True)))
    free = [i for i, g in enumerate(picked) if g not in forced]
    rules = [d == 1] if chosen is not None else [d >= 0, d <= 1, sum(d[i] for i in free) <= k]
    losses = sum(_loss(loss, cp.multiply(Y[:, c], scores[:, c]), cost) for c in range(Y.shape[1]))
    return solved(cp.Problem(cp.Minimize(0.5 * size + losses), rules))


def prox_groups(u, groups, omega, k, step):
    """argmin_w 1/2 ||w - u||^2 + step/2 min over d of sum omega_g ||w_g||^2 / d_g, 0 <= d <= 1, sum d <= k."""
    w, d = cp.Variable(u.size), cp.Variable(len(groups))
    size = sum(omega[g] * cp.quad_over_lin(w[group], d[g]) for g, group in enumerate(groups))
    rules = [d >= 0, d <= 1, cp.sum(d) <= k]
    solved(cp.Problem(cp.Minimize(0.5 * cp.sum_squares(w - u) + 0.5 * step * size), rules))
    return w.value
