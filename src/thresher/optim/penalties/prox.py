"""Proximal maps and norms: pure functions of arrays."""

import numpy as np


def k_support_scaling(u, k, step):
    """The scaling d of  argmin_w 1/2 ||w - u||^2 + step/2 ||w||_k^2,  where w = u d / (d + step).

    ||w||_k^2 = min { sum w_j^2 / d_j : 0 <= d_j <= 1, sum d_j <= k } is the squared k-support norm. Optimal d is
    clip(t |u_j| - step, 0, 1) with t such that the sum is k. O(m log m).
    """
    size = np.abs(u)
    count = np.count_nonzero(size)
    if count <= k:
        return (size > 0).astype(float)
    down = np.sort(size)[: -count - 1 : -1]
    with np.errstate(over="ignore", invalid="ignore"):  # kinks of denormal sizes
        enters, fills = step / down, (1.0 + step) / down  # the sum is piecewise linear in t: from where on an entry
        kinks = np.sort(np.concatenate([enters, fills]))  # counts, and from where on it counts in full
        counted, full = np.searchsorted(enters, kinks, "right"), np.searchsorted(fills, kinks, "right")
        tails = np.concatenate([[0.0], np.cumsum(down)])
        sums = full + kinks * (tails[counted] - tails[full]) - step * (counted - full)
    before = int(np.argmax(sums >= k)) - 1
    first, last = full[before], counted[before]
    t = (k - first + step * (last - first)) / down[first:last].sum()  # a difference of long sums is not exact enough
    return np.clip(t * size - step, 0.0, 1.0)


def k_support_norm_squared(w, k):
    """||w||_k^2; k >= len(w) gives the plain squared length.

    It is sum_{i <= r} |w|_(i)^2 + (sum_{i > r} |w|_(i))^2 / (k - r), with the largest r in 0..k-1 such that
    |w|_(r) > (sum_{i > r} |w|_(i)) / (k - r): the r largest stand out of the mean of the rest.
    """
    if np.count_nonzero(w) <= k:
        return float(w @ w)
    up = np.sort(np.abs(w))
    r = np.arange(k - 1, -1, -1)
    rest = np.cumsum(up)[up.size - r - 1]
    stands_out = up[up.size - np.maximum(r, 1)] > rest / (k - r)
    stands_out[-1] = True
    chosen = int(np.argmax(stands_out))
    top = up[up.size - r[chosen] :]
    return float(rest[chosen] ** 2 / (k - r[chosen]) + top @ top)


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
