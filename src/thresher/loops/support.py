"""The k-support norm: what its proximal map and its value need, after one sort."""

import numpy as np

from thresher.loops.jit import compiled


@compiled
def scaling(up, size, k, step, tails, out):
    """The scaling clip(t size - step, 0, 1) with t such that its sum is k; more than k entries are above zero.

    ``up`` has the sizes in ascending order, ``tails`` room for one number more. The sum is piecewise linear in t, with
    kinks at step / size, from where on an entry counts, and at (1 + step) / size, from where on it counts in full: walk
    along them until the sum reaches k.
    """
    last = up.size - 1
    tails[0] = 0.0
    for j in range(up.size):  # tails[j]: the sum of the j largest
        tails[j + 1] = tails[j] + up[last - j]
    counted, full, t = 0, 0, 0.0
    while True:
        enters = step / up[last - counted] if counted <= last and up[last - counted] > 0.0 else np.inf
        fills = (1.0 + step) / up[last - full] if full < counted else np.inf
        ahead = min(enters, fills)
        between = tails[counted] - tails[full]
        if between > 0.0:
            reached = (k - full + step * (counted - full)) / between
            if reached <= ahead or ahead == np.inf:
                between = 0.0  # a difference of long sums is not exact enough
                for j in range(full, counted):
                    between += up[last - j]
                t = (k - full + step * (counted - full)) / between
                break
        elif ahead == np.inf:
            break
        t = ahead
        if enters <= fills:
            counted += 1
        else:
            full += 1
    for j in range(size.size):
        out[j] = min(max(t * size[j] - step, 0.0), 1.0)


@compiled
def norm_squared(up, k):
    """||w||_k^2 out of the sizes |w_j| in ascending order, k < len(w).

    It is sum_{i <= r} |w|_(i)^2 + (sum_{i > r} |w|_(i))^2 / (k - r), with r in 0..k-1 such that
    |w|_(r) > (sum_{i > r} |w|_(i)) / (k - r) >= |w|_(r+1).
    """
    rest = 0.0
    for j in range(up.size - k + 1):  # all but the k - 1 largest
        rest += up[j]
    r = k - 1
    # r falls while a larger part would not stand out of the mean of the rest
    while r > 0 and up[up.size - r] <= rest / (k - r):
        rest += up[up.size - r]
        r -= 1
    total = rest * rest / (k - r)
    for j in range(up.size - r, up.size):
        total += up[j] * up[j]
    return total
