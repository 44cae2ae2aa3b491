"""Proximal maps and norms: pure functions of arrays."""

import numpy as np

from thresher.loops import support


def k_support_scaling(u, k, step):
    """The scaling d of  argmin_w 1/2 ||w - u||^2 + step/2 ||w||_k^2,  where w = u d / (d + step).

    ||w||_k^2 = min { sum w_j^2 / d_j : 0 <= d_j <= 1, sum d_j <= k } is the squared k-support norm. Optimal d is
    clip(t |u_j| - step, 0, 1) with t such that the sum is k. O(m log m).
    """
    size = np.abs(u)
    if np.count_nonzero(size) <= k:
        return (size > 0).astype(float)
    out = np.empty_like(size)
    support.scaling(np.sort(size), size, k, step, np.empty(size.size + 1), out)
    return out


def k_support_norm_squared(w, k):
    """||w||_k^2; k >= len(w) gives the plain squared length."""
    if np.count_nonzero(w) <= k:
        return float(w @ w)
    return support.norm_squared(np.sort(np.abs(w)), k)


def top_squares(c, k):
    """Sum of the k largest c_j^2: twice the conjugate of 1/2 ||.||_k^2."""
    squares = c * c
    if k < squares.size:
        squares = np.partition(squares, squares.size - k)[squares.size - k :] if k > 0 else squares[:0]
    return float(squares.sum())


def prox_squared_group_sum(u, starts, step):
    """argmin_w 1/2 ||w - u||^2 + step/2 (sum_h ||w_h||)^2; group h is u[starts[h]:starts[h+1]].

    The lengths of the groups are soft-thresholded by step / (1 + rho step) * (sum of the rho largest), where rho is the
    largest number of groups that stay above it.
    """
    lengths = group_lengths(u, starts)
    down = np.sort(lengths)[::-1]
    count = np.arange(1, down.size + 1)
    threshold = step / (1.0 + count * step) * np.cumsum(down)
    above = np.flatnonzero(down > threshold)
    if above.size == 0:
        return np.zeros_like(u)
    cut = threshold[above[-1]]
    shrink = np.divide(np.maximum(lengths - cut, 0.0), lengths, out=np.zeros_like(lengths), where=lengths > 0)
    return u * np.repeat(shrink, np.diff(np.append(starts, u.size)))


def group_lengths(u, starts):
    """||u_h|| for each group."""
    return np.sqrt(np.add.reduceat(u * u, starts)) if len(starts) else np.zeros(0)


def soft_threshold(u, bar):
    """argmin_w 1/2 ||w - u||^2 + bar ||w||_1: every entry moved towards zero by ``bar``."""
    return u - np.clip(u, -bar, bar)
