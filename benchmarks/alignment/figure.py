"""Figure 1 of paper 3: number of features against p, and accuracy against the number of features."""

import numpy as np

from benchmarks.book import PAGE
from thresher import alignments
from thresher.families.alignment.divergences import SquaredEuclidean
from thresher.families.alignment.formulation import Formulation, auto_lambda2
from thresher.families.alignment.path import follow

PLOT = PAGE.parent / "benchmarks-alignment.svg"


def numbers(X, y, step):
    """(p, number of features) along the default path on all samples."""
    a = alignments(X, y) / y.size
    strength = auto_lambda2(a)
    path = follow(Formulation(strength, strength, SquaredEuclidean(), step=step), a)
    return path.p, path.n_features


def draw(lines, path=PLOT):
    """Write two panels as SVG; ``lines`` has for each set (p, number of features) and (number, accuracy) of points."""
    import matplotlib

    matplotlib.use("Agg")
    matplotlib.rcParams.update({"svg.hashsalt": "thresher", "svg.fonttype": "none", "font.size": 8})
    import matplotlib.pyplot as plt

    figure, (left, right) = plt.subplots(1, 2, figsize=(8.4, 3.0), constrained_layout=True)
    for name, ((p, counts), accuracy) in lines.items():
        left.plot(p, np.maximum(counts, 0.5), label=name)
        if accuracy is not None:
            known = ~np.isnan(accuracy[1]) & (accuracy[0] > 0.0)
            right.plot(accuracy[0][known], accuracy[1][known], marker=".", label=name)
    left.set(xlabel="p", ylabel="features", yscale="log")
    left.invert_xaxis()
    right.set(xlabel="features", ylabel="accuracy, five folds, %", xscale="log")
    right.legend(frameon=False)
    figure.savefig(path, metadata={"Date": None})
    plt.close(figure)
