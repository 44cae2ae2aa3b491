"""Proximal maps and norms: pure functions of arrays."""

import numpy as np


def k_support_scaling(u, k, step):
    """The scaling d of  argmin_w 1/2 ||w - u||^2 + step/2 ||w||_k^2,  where w = u d / (d + step).

    ||w||_k^2 = min { sum w_j^2 / d_j : 0 <= d_j <= 1, sum d_j <= k } is the squared k-support norm. Optimal d is
    clip(t |u_j| - step, 0, 1) with t such that the sum is k: the sum is piecewise linear in t, and its kinks lie
    at step / |u_j| and (1 + step) / |u_j|. O(m log m).
    """
    size = np.abs(u)
    if np.count_nonzero(size) <= k:
        return (size > 0).astype(float)
    size_down = np.sort(size[size > 0])[::-1]
    kinks = np.sort(np.concatenate([step / size_down, (1.0 + step) / size_down]))
    kinks = kinks[np.isfinite(kinks)]
    tails = np.concatenate([[0.0], np.cumsum(size_down)])

    def total(t):  # sum of clip(t |u_j| - step, 0, 1)
        ones = np.searchsorted(-size_down, -(1.0 + step) / t, side="right")
        some = np.maximum(np.searchsorted(-size_down, -step / t, side="right"), ones)
        return ones + t * (tails[some] - tails[ones]) - step * (some - ones), ones, some

    low, high = 0, kinks.size - 1  # the sum rises with t: find the last kink where it is still <= k
    while low < high:
        middle = (low + high + 1) // 2
        if total(kinks[middle])[0] <= k:
            low = middle
        else:
            high = middle - 1
    after = kinks[low + 1] if low + 1 < kinks.size else 2.0 * kinks[low]
    _, ones, some = total(0.5 * (kinks[low] + after))  # which entries are 1 and which in between does not change here
    between = tails[some] - tails[ones]
    t = (k - ones + step * (some - ones)) / between if between > 0 else kinks[low]
    return np.clip(t * size - step, 0.0, 1.0)


def k_support_parts(w, k):
    """(order, r): |w| in falling order, and how many of the largest count in full in ||w||_k.

    ||w||_k^2 = sum_{i <= r} w_(i)^2 + (sum_{i > r} |w|_(i))^2 / (k - r), with r in 0..k-1 such that
    |w|_(r) > (sum_{i > r} |w|_(i)) / (k - r) >= |w|_(r+1).
    """
    order = np.argsort(-np.abs(w), kind="stable")
    size = np.abs(w)[order]
    k = min(k, size.size)
    tails = np.cumsum(size[::-1])[::-1]
    r = np.arange(k)
    level = tails[:k] / (k - r)
    fits = level >= size[:k]
    return order, int(np.argmax(fits)) if fits.any() else k - 1


def k_support_norm_squared(w, k):
    """||w||_k^2; k >= len(w) gives the plain squared length."""
    if np.count_nonzero(w) <= k:
        return float(w @ w)
    order, r = k_support_parts(w, k)
    size = np.abs(w)[order]
    return float(size[:r] @ size[:r] + size[r:].sum() ** 2 / (k - r))


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
