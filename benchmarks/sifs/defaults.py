"""Accuracy of SparseSVCPath with its defaults against scikit-learn's cross-validated l1 logistic regression.

On made tables with weak signals, and on classic ones; both choose their penalties by the same folds.
"""

import sys
import time
import warnings
from typing import NamedTuple

import numpy as np
from sklearn import datasets
from sklearn.linear_model import LogisticRegressionCV
from sklearn.model_selection import StratifiedKFold, StratifiedShuffleSplit
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from benchmarks.book import table
from benchmarks.linear.data import real_set
from thresher import SparseSVCPath
from thresher.data.workers import ONE_BLAS_THREAD

FOLDS = 3
SIZES = (
    (200, 100),
    (300, 200),
    (500, 400),
    (500, 400),
    (300, 800),
)  # rows to train, columns; in turn
SIGNALS = ((15, 0.6), (10, 0.8), (25, 0.6))  # informative columns, and class_sep of make_classification, in turn
TESTED = 1000  # rows of weak tables to test
REAL = ("colon", "leukemia", "prostate")


class Plan(NamedTuple):
    """How many weak tables, and how many splits of each classic one; ``real`` sets among them."""

    weak: int = 30
    splits: int = 2
    real: tuple[str, ...] = REAL


QUICK = Plan(2, 1, ())


class Outcome(NamedTuple):
    """On one table: accuracy of both, the number of features and the seconds of the grid."""

    ours: float
    theirs: float
    features: int
    seconds: float


def weak_tables(count):
    """(rows and columns, X and y to train, X and y to test) of each table."""
    for number in range(count):
        (rows, columns), (informative, apart) = SIZES[number % len(SIZES)], SIGNALS[number % len(SIGNALS)]
        X, y = datasets.make_classification(
            rows + TESTED, columns, n_informative=informative, n_redundant=0, class_sep=apart, random_state=number
        )
        yield f"{rows} x {columns}", X[:rows], y[:rows], X[rows:], y[rows:]


def classic_sets(real):
    """(name, X, y) of each set that is there."""
    for name, load in (
        ("breast cancer", datasets.load_breast_cancer), ("wine", datasets.load_wine), ("iris", datasets.load_iris)
    ):  # fmt: skip
        yield name, *load(return_X_y=True)
    X, y = datasets.load_digits(return_X_y=True)
    rows = np.isin(y, (3, 8))
    yield "digits 3, 8", X[rows], y[rows]
    for name in real:
        found = real_set(name)
        if found is not None:
            yield name, *found


def classic_tables(plan):
    """As ``weak_tables``: splits of the classic sets, 70 % to train."""
    for name, X, y in classic_sets(plan.real):
        splits = StratifiedShuffleSplit(plan.splits, test_size=0.3, random_state=0)
        for train, test in splits.split(X, y):
            yield name, X[train], y[train], X[test], y[test]


def outcome(X, y, A, b):
    """The Outcome of both on a table."""
    folds = list(StratifiedKFold(FOLDS).split(X, y))
    begun = time.process_time()
    path = SparseSVCPath(cv=folds, n_jobs=1).fit(X, y)
    seconds = time.process_time() - begun
    logistic = LogisticRegressionCV(penalty="l1", solver="liblinear", cv=FOLDS)
    judge = make_pipeline(StandardScaler(), logistic if np.unique(y).size == 2 else OneVsRestClassifier(logistic))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        theirs = judge.fit(X, y).score(A, b)
    return Outcome(path.score(A, b), theirs, path.selection_.features.size, seconds)


def outcomes(tables):
    """{name: Outcomes} of tables with names."""
    result = {}
    for name, *data in tables:
        result.setdefault(name, []).append(outcome(*data))
        print(name, *(f"{value:.3f}" for value in result[name][-1]), file=sys.stderr, flush=True)
    return result


def rows_of(result):
    """Lines of the table: means for each name, and over all of them."""
    every = [*result.items(), ("mean", [one for several in result.values() for one in several])]
    for name, several in every:
        ours, theirs, features, seconds = np.mean(several, axis=0)
        yield (
            name,
            len(several),
            *(f"{100 * x:.1f}" for x in (ours, theirs, ours - theirs)),
            f"{features:.0f}",
            f"{seconds:.1f}",
        )


def report(quick=False):
    """The section of docs/benchmarks.md."""
    plan = QUICK if quick else Plan()
    head = ("table", "fits", "SparseSVCPath", "l1 logistic", "difference", "features", "s")
    with ONE_BLAS_THREAD:
        weak, classic = outcomes(weak_tables(plan.weak)), outcomes(classic_tables(plan))
    return (
        "### Defaults of SparseSVCPath, beside an l1 logistic regression\n\n"
        "Accuracy on rows that no fit has seen, in per cent: `SparseSVCPath(cv=3)`, otherwise with its defaults, and "
        '`LogisticRegressionCV(penalty="l1", solver="liblinear", cv=3)` of scikit-learn on standardised columns (one '
        f"for each of several classes), on {plan.weak} tables of `make_classification` with 10 to 25 informative "
        "columns and class_sep 0.6 or 0.8, of rows to train x columns, and on classic sets, 70 % of whose rows train. "
        "Seconds of the processor are those of the grid and its folds.\n\n"
        f"{table(head, rows_of(weak))}\n\n{table(head, rows_of(classic))}"
    )
