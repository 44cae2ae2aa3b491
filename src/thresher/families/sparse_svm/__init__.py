"""The elastic-net SVM with a smoothed hinge, over a grid of (alpha, beta) (paper 5).

    min over w, b of   sum_i c_i l(1 - y_i (x_i'w + b)) + alpha/2 ||w||^2 + beta ||w||_1,     sum_i c_i = 1

For each beta the points are solved with decreasing alpha, each from its neighbour; see docs/theory/sifs.md.
"""

from thresher.families.sparse_svm.grid_walk import GridWalk, best_point
from thresher.families.sparse_svm.penalties import Penalties, grid_of
from thresher.families.sparse_svm.points import AlphaPath, first_alpha, polished, problems, walk
from thresher.families.sparse_svm.training import SvmTraining, certified, fit_point, stop

__all__ = [
    "AlphaPath",
    "GridWalk",
    "Penalties",
    "SvmTraining",
    "best_point",
    "certified",
    "first_alpha",
    "fit_point",
    "grid_of",
    "polished",
    "problems",
    "stop",
    "walk",
]
