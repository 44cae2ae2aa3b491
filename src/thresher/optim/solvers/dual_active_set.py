"""The dual problem of the squared hinge for a given matrix of products of the samples, up to rounding.

    minimise over v:   1/2 v'Kv + sum_i v_i^2 / (2 c_i) - y'v      with  y_i v_i >= 0  and, with an intercept, sum v = 0

An active set method: samples enter and leave one after the other, the objective decreases, and each set of samples is
solved exactly. From a start close to the solution, few samples change. First, whole sets of samples are exchanged,
which are steps of Newton's method in the primal: where they settle, a set is found in a few of them (1500 samples and
2000 columns of an expanded kernel: 3 steps instead of 60). But with more columns than samples these steps can be long,
and bring ever other samples over the kink of the loss.
"""

import numpy as np
from scipy.linalg.lapack import dpotrf, dpotrs

MARGIN_ROUNDING = 1e-12  # margins below 1 by no more than this are rounding errors
MOST_EXCHANGES = 12  # of whole sets of samples, before they change one after the other
MOST_CHANGES = 10  # changes for each sample, after which rounding errors must be the reason


def dual_solution(K: np.ndarray, y: np.ndarray, cost: np.ndarray, v: np.ndarray, *, shifted: bool) -> np.ndarray:
    """The minimiser, from the feasible v.

    Only approximate in hard cases, and if there are not both classes among the non-zeros of v.
    """
    v, root, inside = v.copy(), np.sqrt(cost), v != 0.0
    found = _by_exchange(K, y, root, inside, shifted)
    if found is not None:
        return found
    everyone = True
    for _ in range(MOST_CHANGES * y.size):
        rows = np.flatnonzero(inside)
        target, b = _solved_on(K, y, root, rows, shifted)
        if target is None:
            return v
        old, wrong = v[rows], target * y[rows] <= 0.0
        if wrong.any():  # go as far as possible, and let go what ends at zero
            share = old[wrong] / (old[wrong] - target[wrong])
            least = share.min()
            v[rows] = old + least * (target - old)
            leaving = rows[wrong][share <= least]
            v[leaving], inside[leaving] = 0.0, False
            continue
        v[rows] = target
        slack = np.where(inside | (cost == 0.0), 0.0, 1.0 - y * (K[:, rows] @ target + b))
        entering = slack > MARGIN_ROUNDING
        if not entering.any():
            return v
        inside[entering if everyone else np.argmax(slack)] = True
        everyone = False
    return v


def _by_exchange(K, y, root, inside, shifted):
    """The minimiser by exchanging whole sets of samples, which mostly takes a few steps; None if it takes more."""
    for _ in range(MOST_EXCHANGES):
        rows = np.flatnonzero(inside)
        target, b = _solved_on(K, y, root, rows, shifted)
        if target is None:
            return None
        after = (root > 0.0) & (1.0 - y * (K[:, rows] @ target + b) > MARGIN_ROUNDING)
        after[rows] = target * y[rows] > 0.0
        if np.array_equal(after, inside):
            v = np.zeros(y.size)
            v[rows] = target
            return v
        inside = after
    return None


def scaled_gram(K: np.ndarray, rows: np.ndarray, root: np.ndarray) -> np.ndarray:
    """1 + R K R on ``rows``, for the diagonal R with ``root``."""
    B = K[np.ix_(rows, rows)]
    B *= root
    B *= root[:, None]
    B[np.diag_indices_from(B)] += 1.0
    return B


def _solved_on(K, y, root, rows, shifted):
    """(v, b) that solve the problem on ``rows`` if signs are ignored; (None, 0) if rounding errors forbid it."""
    if not rows.size:
        return None, 0.0
    s = root[rows]
    B = scaled_gram(K, rows, s)
    factor, failed = dpotrf(B.T, lower=1, overwrite_a=1)  # symmetric, and in the order that is not copied
    if failed:
        return None, 0.0
    if not shifted:
        return s * dpotrs(factor, s * y[rows], lower=1)[0], 0.0
    both, _ = dpotrs(factor, np.column_stack([s * y[rows], s]), lower=1)
    b = float(s @ both[:, 0]) / float(s @ both[:, 1])
    return s * (both[:, 0] - b * both[:, 1]), b
