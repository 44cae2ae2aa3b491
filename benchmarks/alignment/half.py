"""Table 3 of paper 3: half of the data to train, at most 200 features, every method with the same SVM."""

import functools
import warnings

import numpy as np
from scipy import sparse
from sklearn.feature_selection import chi2, f_classif, mutual_info_classif

from benchmarks import alone
from benchmarks.alignment.judge import NAMES, along_the_path, by_ranking, data, halves, l1_svm
from benchmarks.alignment.path import shown
from benchmarks.book import table
from benchmarks.children import in_child
from thresher import alignments

LIMIT, STEP, MOST, TIMES = 600, 0.02, 200, 3
COUNTS = np.array([5, 10, 20, 50, 100, 150, 200])
PAPER = {"arcene": 76.80, "madelon": 64.50, "relathe": 89.40, "basehock_asu": 95.46, "dorothea": 93.75}


def mutual_information(X, y):
    """Of counts and other discrete columns as they are, of continuous ones in ten bins of equal share."""
    if not sparse.issparse(X):
        cuts = np.quantile(X, np.linspace(0.1, 0.9, 9), axis=0)
        X = np.stack([np.searchsorted(cut, column) for cut, column in zip(cuts.T, X.T, strict=True)], axis=1)
    return mutual_info_classif(X, y, discrete_features=True)


def fisher(X, y):
    """F values; constant columns have none."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return f_classif(X, y)[0]


FILTERS = {
    "alignment": lambda X, y: alignments(X, y),
    "mutual information": mutual_information,
    "chi-squared": lambda X, y: chi2(X - X.min(axis=0) if not sparse.issparse(X) else X, y)[0],
    "Fisher score": fisher,
}
HEAD = ("set", "path, rbf", "path, linear", *FILTERS, "l1-SVM", "paper, rbf")


def row(name, X, y, step, times):
    """A row of the table."""
    folds = halves(y, times)
    calls = [
        lambda: along_the_path(X, y, folds, "rbf", step, MOST),
        lambda: along_the_path(X, y, folds, "linear", step, MOST),
        *(functools.partial(by_ranking, X, y, folds, rank, COUNTS, "rbf") for rank in FILTERS.values()),
        lambda: l1_svm(X, y, folds, most=MOST),
    ]
    return [name, *(shown(*in_child(call, LIMIT)) for call in calls), f"{PAPER[name]:.1f}"]


def report(quick):
    """The table."""
    sets = {name: data(name, quick) for name in (("relathe",) if quick else NAMES)}
    step, times = (0.2, 1) if quick else (STEP, TIMES)
    rows = [row(name, *found, step, times) for name, found in sets.items() if found is not None]
    text = (
        f"Accuracy in percent, and in brackets the number of features, at most {MOST}: the best mean over {TIMES} "
        "random halves. Filters choose columns, whose RBF kernels get equal weights; the SVM is the same, C = 1, 10, "
        "100."
    )
    return f"## Half of the data, at most 200 features (paper 3)\n\n{text}\n\n{table(HEAD, rows)}"


if __name__ == "__main__":
    alone.run(report, __doc__)
