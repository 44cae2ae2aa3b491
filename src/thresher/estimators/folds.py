"""Cross-validation inside a fit: which samples are held out, and how well they are told apart."""

import numpy as np
from sklearn.model_selection import check_cv

from thresher.estimators.parameters import whole

CS = (0.01, 0.1, 1.0, 10.0, 100.0)  # values of C that "auto" tries


def held_out_parts(cv, codes, weights):
    """Sample numbers of each fold's test part. Samples without weight are in none, so they cannot matter."""
    rows = np.flatnonzero(weights > 0)
    if not (hasattr(cv, "split") or hasattr(cv, "__iter__")):
        counts = np.bincount(codes[rows])
        if whole("cv", cv, least=2) > counts.min():
            raise ValueError(
                f"cv={cv} folds need as many samples of each class, but the smallest class has {counts.min()}: "
                "choose fewer folds or give C a number"
            )
    folds = []
    for number, (train, test) in enumerate(check_cv(cv, codes[rows], classifier=True).split(rows, codes[rows])):
        if np.unique(codes[rows[train]]).size < np.unique(codes[rows]).size:
            raise ValueError(f"the training part of fold {number} of cv lacks a class: choose other folds")
        folds.append(np.setdiff1d(rows, rows[train]))
        if not np.array_equal(folds[-1], np.sort(rows[test])):
            raise ValueError(f"fold {number} of cv must split all samples into training and test part")
    return folds


def accuracy(scores, folds, codes, weights):
    """Weighted share of held-out samples told right, (folds, values); ``scores`` run over values within folds."""
    out = np.zeros((len(folds), len(scores) // len(folds)))
    for number, found in enumerate(scores):
        fold, value = divmod(number, out.shape[1])
        test = folds[fold]
        guess = (found[test, 0] > 0).astype(int) if found.shape[1] == 1 else found[test].argmax(axis=1)
        out[fold, value] = np.average(guess == codes[test], weights=weights[test])
    return out
