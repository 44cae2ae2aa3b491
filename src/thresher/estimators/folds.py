"""Cross-validation inside a fit: which samples are held out, and how well they are told apart."""

import numpy as np
from sklearn.model_selection import check_cv

from thresher.estimators.parameters import whole

CS = (0.01, 0.1, 1.0, 10.0, 100.0)  # values of C that "auto" tries


def held_out_parts(cv, codes, weights):
    """Sample numbers of each fold's test part. Samples without weight are in none, so they cannot matter."""
    rows = np.flatnonzero(weights > 0)
    if hasattr(cv, "__iter__") and not hasattr(cv, "split"):
        pairs = [(np.arange(codes.size)[train], np.arange(codes.size)[test]) for train, test in cv]
    else:
        if not hasattr(cv, "split"):
            _check_number(cv, np.bincount(codes[rows]))
        splits = check_cv(cv, codes[rows], classifier=True).split(rows, codes[rows])
        pairs = [(rows[train], rows[test]) for train, test in splits]
    folds = [_test_part(number, *pair, rows, codes) for number, pair in enumerate(pairs)]
    if not folds:
        raise ValueError("cv gives no folds: it is empty or used up; give a number, a splitter or a list")
    return folds


def _check_number(cv, counts):
    if whole("cv", cv, least=2) > counts.min():
        raise ValueError(
            f"cv={cv} folds need as many samples of each class, but the smallest class has {counts.min()}: "
            "choose fewer folds"
        )


def _test_part(number, train, test, rows, codes):
    train, test = np.intersect1d(train, rows), np.intersect1d(test, rows)
    if test.size == 0:
        raise ValueError(f"fold {number} of cv holds out no sample with weight")
    if not np.array_equal(np.union1d(train, test), rows) or np.intersect1d(train, test).size:
        raise ValueError(f"fold {number} of cv must split all samples into training and test part")
    if np.unique(codes[train]).size < np.unique(codes[rows]).size:
        raise ValueError(f"the training part of fold {number} of cv lacks a class: choose other folds")
    return test


def accuracy(scores, folds, codes, weights):
    """Weighted share of held-out samples told right, (folds, values); ``scores`` run over values within folds."""
    out = np.zeros((len(folds), len(scores) // len(folds)))
    for number, found in enumerate(scores):
        fold, value = divmod(number, out.shape[1])
        test = folds[fold]
        guess = (found[test, 0] > 0).astype(int) if found.shape[1] == 1 else found[test].argmax(axis=1)
        out[fold, value] = np.average(guess == codes[test], weights=weights[test])
    return out
