"""Real two-class problems, cut at random into training and test rows, on one scale for all who see them."""

from typing import NamedTuple

import numpy as np
from scipy import sparse
from sklearn.model_selection import StratifiedShuffleSplit
from sklearn.preprocessing import normalize

from benchmarks.linear.data import real_set

MOST_ROWS = 3000  # of the training part


class Cut(NamedTuple):
    """Training rows and test rows."""

    X: object
    y: np.ndarray
    X_test: object
    y_test: np.ndarray


def problem(name):
    """(X, y) of a set, or of one class of it against the rest if the name is "set:class"; None if it is not there."""
    stem, _, label = name.partition(":")
    found = real_set(stem)
    if found is None:
        return None
    X, y = found
    X = sparse.csr_matrix(X, dtype=np.float64) if sparse.issparse(X) else X
    return X, np.where(y == float(label), 1.0, -1.0) if label else y


def shares(n):
    """(number of cuts, share of test rows): small sets are noisy and cheap, so they are cut more often."""
    if n <= 200:
        return 10, 0.33
    return (5, 0.4) if n <= 1000 else (3, 0.4)


def cuts(X, y, most=None):
    """Every Cut of a problem, or the first ``most``; always the same ones, with the classes in proportion."""
    number, test = shares(y.size)
    size = min(MOST_ROWS, y.size - int(np.ceil(test * y.size)))
    yield from parted(X, y, number, test, size, most)


def parted(X, y, number, test, size=None, most=None, seed=0):
    """``number`` Cuts, or the first ``most``, with a share ``test`` of test rows and ``size`` (all other) to train."""
    splitter = StratifiedShuffleSplit(number, train_size=size, test_size=test, random_state=seed)
    for at, (train, rest) in enumerate(splitter.split(np.zeros((y.size, 1)), y)):
        if at == most:
            break
        X_train, X_test = on_scale(X[train], X[rest])
        yield Cut(X_train, y[train], X_test, y[rest])


def on_scale(train, test):
    """Sparse rows at length one; dense columns at mean 0 and spread 1 by the training rows."""
    if sparse.issparse(train):
        return normalize(train), normalize(test)
    mean, spread = train.mean(axis=0), train.std(axis=0)
    spread[spread <= 1e-12 * np.maximum(1.0, np.abs(mean))] = np.inf  # a column without spread says nothing
    return (train - mean) / spread, (test - mean) / spread


def columns(X, ids):
    """Some columns as a dense array."""
    return X[:, ids].toarray() if sparse.issparse(X) else X[:, ids]
