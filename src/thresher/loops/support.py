"""The k-support norm: what its proximal map needs, after one sort."""

import numpy as np

from thresher.loops.jit import compiled


@compiled
def slope(down, heads, k, step):
    """The t for which clip(t size - step, 0, 1) sums to k; more than k entries are above zero.

    ``down`` has the sizes in descending order, ``heads`` the sums of the first 0, 1, ... of them. The sum is piecewise
    linear in t, with kinks at step / size, from where on an entry counts, and at (1 + step) / size, from where on it
    counts in full: walk along them until the sum reaches k.
    """
    counted, full, t = 0, 0, 0.0
    while True:
        enters = step / down[counted] if counted < down.size and down[counted] > 0.0 else np.inf
        fills = (1.0 + step) / down[full] if full < counted else np.inf
        ahead = min(enters, fills)
        between = heads[counted] - heads[full]
        if between > 0.0:
            reached = (k - full + step * (counted - full)) / between
            if reached <= ahead or ahead == np.inf:
                between = 0.0  # a difference of long sums is not exact enough
                for j in range(full, counted):
                    between += down[j]
                return (k - full + step * (counted - full)) / between
        elif ahead == np.inf:
            return t
        t = ahead
        if enters <= fills:
            counted += 1
        else:
            full += 1
