"""Safe screening: balls that contain the optimum, and tests on them.

The optimum at (alpha, beta) lies in a ball around a multiple of an earlier one, ||w* - centre|| <= r_w, and
sum c_i (theta*_i - centre_i)^2 <= r_theta^2. A column whose score cannot reach beta inside the ball has weight zero; a
sample whose margin cannot reach the kinks of the loss has theta 0 or 1. All radii include rounding errors.
"""

from typing import NamedTuple

import numpy as np

RADIUS_ROUNDING = 1e-10  # share of the natural length, sqrt(2 / alpha) of w and 1 of theta, added to every radius
SCORE_ROUNDING = 1e-12  # share of beta by which a score must stay below it


class Balls(NamedTuple):
    """Radii around ``multiple`` * w and around ``multiple`` * theta + (1 - multiple) / gamma."""

    multiple: float
    primal: float
    dual: float


def from_reference(old, new, length, distance, gap, gamma):
    """Balls at alpha = ``new`` from a solution at alpha = ``old`` and the same beta, whose gap is ``gap``.

    ``length`` is ||w||, ``distance`` the length of theta - 1/gamma weighted with the costs. Of an exact solution these
    are the balls of the paper's lemmas 2 and 3; the distance between the solution and the optimum, at most
    sqrt(2 gap / old) and sqrt(2 gap / gamma), widens them.
    """
    half, stretch = abs(old - new) / (2.0 * new), max(old, new) / new
    off_primal = np.sqrt(2.0 * gap / old) + RADIUS_ROUNDING * np.sqrt(2.0 / old)
    off_dual = np.sqrt(2.0 * gap / gamma) + RADIUS_ROUNDING
    return Balls((old + new) / (2.0 * new), half * length + stretch * off_primal, half * distance + stretch * off_dual)


def from_gap(gap, alpha, gamma):
    """Balls around any w and feasible theta with duality gap ``gap`` at ``alpha``, by strong convexity."""
    primal = np.sqrt(2.0 * gap / alpha) + RADIUS_ROUNDING * np.sqrt(2.0 / alpha)
    return Balls(1.0, primal, np.sqrt(2.0 * gap / gamma) + RADIUS_ROUNDING)


def smaller(radius, *squares):
    """The remaining radius if coordinates at the squared distances ``squares`` are known."""
    return np.sqrt(max(0.0, radius**2 * (1.0 + 1e-12) - sum(squares)))


def idle_columns(scores, norms, radius, beta):
    """Columns with |score| <= beta over a ball of theta; ``norms`` are those of the columns, weighted with costs."""
    return np.abs(scores) + radius * norms <= beta * (1.0 - SCORE_ROUNDING)


def settled_samples(margins, norms, radius, gamma):
    """(theta is 0, theta is 1): samples with margin > 1 or margin < 1 - gamma over a ball of w."""
    off = radius * norms
    return margins - off > 1.0 + SCORE_ROUNDING, margins + off < 1.0 - gamma - SCORE_ROUNDING
