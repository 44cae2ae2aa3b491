"""The squared hinge along a shift of all scores."""

from thresher.loops.jit import compiled


@compiled
def slope(y, z, cost, b):
    """(sum, sum of sizes, sum of derivatives) of the loss's slopes -y c max(0, 1 - y (z + b))."""
    total = size = curvature = 0.0
    for i in range(y.size):
        slack = 1.0 - y[i] * (z[i] + b)
        if slack > 0.0:
            each = cost[i] * slack
            total -= y[i] * each
            size += each
            curvature += cost[i]
    return total, size, curvature
