"""The elastic-net SVM with a smoothed hinge, over a grid of (alpha, beta) (paper 5).

    min over w, b of   sum_i c_i l(1 - y_i (x_i'w + b)) + alpha/2 ||w||^2 + beta ||w||_1,     sum_i c_i = 1

For each beta the points are solved with decreasing alpha, each from its neighbour; see docs/theory/sifs.md.
"""

from thresher.families.sparse_svm.points import Row, grid_of, highest_alpha, polished, problems, walk
from thresher.families.sparse_svm.training import Training, certified, fit_point, stop
from thresher.families.sparse_svm.walker import Walker

__all__ = [
    "Row",
    "Training",
    "Walker",
    "certified",
    "fit_point",
    "grid_of",
    "highest_alpha",
    "polished",
    "problems",
    "stop",
    "walk",
]
