"""Steps of the dual problem of a support vector machine whose kernel matrix is given."""

import numpy as np

from thresher.loops.jit import LIGHT, compiled

FLAT = 1e-12  # least curvature of a step between two samples


@compiled(config=LIGHT)
def pair_steps(K, diagonal, lowest, highest, dual, slack, tol, steps):
    """Change two entries of ``dual`` at a time, at most ``steps`` times; returns (the steps taken, the violation).

    Maximises y'dual - 1/2 dual'K dual between the bounds ``lowest`` and ``highest``, while the sum of ``dual`` stays;
    ``slack`` is y - K dual, and ``diagonal`` that of K. The sample that gains most by a larger entry meets the one
    with which the objective gains most. It ends when no pair gains more than ``tol`` per unit, which is the violation;
    it is infinite if steps remain.
    """
    n = dual.size
    for step in range(steps):
        first = -1
        top = -np.inf
        for t in range(n):
            if slack[t] > top and dual[t] < highest[t]:
                top = slack[t]
                first = t
        second = -1
        bottom = np.inf
        most = -1.0
        if first >= 0:
            row = K[first]
            for t in range(n):
                if dual[t] > lowest[t]:
                    value = slack[t]
                    if value < bottom:
                        bottom = value
                    gain = top - value
                    if gain > 0.0:
                        curvature = diagonal[first] + diagonal[t] - 2.0 * row[t]
                        if curvature <= FLAT:
                            curvature = FLAT
                        if gain * gain > most * curvature:
                            most = gain * gain / curvature
                            second = t
        if second < 0:
            return step, 0.0
        if top - bottom <= tol:
            return step, top - bottom
        other = K[second]
        curvature = diagonal[first] + diagonal[second] - 2.0 * row[second]
        if curvature <= FLAT:
            curvature = FLAT
        length = (top - slack[second]) / curvature
        above = highest[first] - dual[first]
        below = dual[second] - lowest[second]
        if above < length:
            length = above
        if below < length:
            length = below
        dual[first] = highest[first] if length == above else dual[first] + length
        dual[second] = lowest[second] if length == below else dual[second] - length
        for t in range(n):
            slack[t] -= length * (row[t] - other[t])
    return steps, np.inf
