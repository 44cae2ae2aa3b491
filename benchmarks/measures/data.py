"""The data: training and test rows of length one, of sets as they are and with few positives left."""

from typing import NamedTuple

import numpy as np
from scipy import sparse
from sklearn.model_selection import StratifiedShuffleSplit
from sklearn.preprocessing import normalize

from benchmarks.linear.data import SETS, real_set
from benchmarks.online.data import test_rows

NAMES = ("dorothea", "yahoo_health", "farm_ads", "rcv1_subsets", "news20_bigram")
RARE = ("dorothea",)  # few positives as it is
SHARE, SEED = 0.05, 0  # of positives where they are thinned, and the seed that says which stay
HELD_OUT = 0.25  # of the rows of sets without a test part
QUICK_ROWS, QUICK_COLUMNS = 400, 1500


class Split(NamedTuple):
    """Training rows and test rows, CSR of float64; labels are -1 and +1, or numbers of classes."""

    name: str
    X: sparse.csr_matrix
    y: np.ndarray
    X_test: sparse.csr_matrix
    y_test: np.ndarray

    @property
    def size(self):
        """Rows, columns and share of positives of the training part, in words."""
        n, p = self.X.shape
        return f"{n:,} x {p:,}, {100.0 * np.mean(self.y > 0):.1f} % positive"


def problems(quick=False, names=NAMES):
    """The Splits of sets with two classes, as they are and thinned, one by one; a small one if in a hurry."""
    for name in names[:1] if quick else names:
        for thinned in (False,) if name in RARE else (False, True):
            split = two_classes(name, thinned)
            if split is not None:
                yield small(split) if quick else split


def two_classes(name, thinned=False):
    """The Split of a set, None if it is missing: its own test part, or a quarter of its rows."""
    found = real_set(name)
    if found is None:
        return None
    X, y = prepared(found[0]), np.where(found[1] > 0, 1.0, -1.0)
    own = (SETS / name / "split.npy").exists()
    test = test_rows(name) if own else quarter(y)
    if thinned:
        keep = kept(y, test)
        X, y, test = X[keep], y[keep], test[keep]
    return Split(f"{name}, {SHARE:.0%} positive" if thinned else name, X[~test], y[~test], X[test], y[test])


def fewer(rows, y, most):
    """At most ``most`` of the rows, always the same, classes in proportion."""
    if rows.size <= most:
        return rows
    some, _ = next(StratifiedShuffleSplit(1, train_size=most, random_state=SEED).split(rows, y[rows]))
    return np.sort(rows[some])


def many_classes(name="news20", quick=False):
    """The Split of a set with many classes, whose numbers are the labels; None if it is missing."""
    found = real_set(name)
    if found is None:
        return None
    X, y = prepared(found[0]), found[1]
    if quick:
        rows = fewer(np.flatnonzero(np.isin(y, np.unique(y)[:3])), y, QUICK_ROWS)
        X, y = X[rows], y[rows]
    test = quarter(y)
    return Split(name, X[~test], y[~test], X[test], y[test])


def prepared(X):
    """Rows of length one: C then means the same for all sets."""
    X = normalize(sparse.csr_matrix(X, dtype=np.float64))
    X.indices, X.indptr = X.indices.astype(np.int32), X.indptr.astype(np.int32)  # LIBLINEAR takes no others
    return X


def quarter(y):
    """Which rows are held out: always the same, classes in proportion."""
    _, rest = next(StratifiedShuffleSplit(1, test_size=HELD_OUT, random_state=SEED).split(y, y))
    test = np.zeros(y.size, dtype=bool)
    test[rest] = True
    return test


def kept(y, test):
    """Rows that stay so that SHARE of the training rows, and of the test rows, are positive."""
    rng, stay = np.random.default_rng(SEED), y < 0
    for part in (test, ~test):
        positives, negatives = np.flatnonzero(part & (y > 0)), np.count_nonzero(part & (y < 0))
        wanted = min(positives.size, round(negatives * SHARE / (1.0 - SHARE)))
        stay[rng.choice(positives, wanted, replace=False)] = True
    return np.flatnonzero(stay)


def small(split):
    """Some rows, classes in proportion, and the columns with most entries, of a Split."""
    counts = np.bincount(split.X.indices, minlength=split.X.shape[1])
    columns = np.sort(np.argsort(-counts, kind="stable")[:QUICK_COLUMNS])
    rows = fewer(np.arange(split.y.size), split.y, QUICK_ROWS)
    rest = fewer(np.arange(split.y_test.size), split.y_test, QUICK_ROWS)
    X, X_test = split.X[rows][:, columns], split.X_test[rest][:, columns]
    return split._replace(X=X, y=split.y[rows], X_test=X_test, y_test=split.y_test[rest])
