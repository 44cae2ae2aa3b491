"""Cross-validation inside a fit: which samples are held out, and how well they are classified."""

import importlib

import numpy as np

from thresher.estimators.shared.parameters import integer


def held_out_parts(cv, codes, weights):
    """Sample numbers of each fold's test set. Samples of weight zero are in none, so they have no influence."""
    rows = np.flatnonzero(weights > 0)
    if hasattr(cv, "__iter__") and not hasattr(cv, "split"):
        pairs = [(np.arange(codes.size)[train], np.arange(codes.size)[test]) for train, test in cv]
    else:
        if not hasattr(cv, "split"):
            _check_n_folds(cv, np.bincount(codes[rows]))
        # loaded on demand: it takes a tenth of a second, and most fits hold nothing out
        check_cv = importlib.import_module("sklearn.model_selection").check_cv
        splits = check_cv(cv, codes[rows], classifier=True).split(rows, codes[rows])
        pairs = [(rows[train], rows[test]) for train, test in splits]
    folds = [_test_part(fold, *pair, rows, codes) for fold, pair in enumerate(pairs)]
    if not folds:
        raise ValueError("cv yields no folds: it is empty or exhausted; pass an integer, a splitter or a list")
    return folds


def _check_n_folds(cv, counts):
    if integer("cv", cv, least=2) > counts.min():
        raise ValueError(
            f"cv={cv} cannot be greater than the number of samples in each class, but the smallest has "
            f"{counts.min()}: use fewer folds"
        )


def _test_part(fold, train, test, rows, codes):
    train, test = np.intersect1d(train, rows), np.intersect1d(test, rows)
    if test.size == 0:
        raise ValueError(f"fold {fold} of cv has no test sample with a weight above zero")
    if not np.array_equal(np.union1d(train, test), rows) or np.intersect1d(train, test).size:
        raise ValueError(f"fold {fold} of cv must split all samples into a training set and a test set")
    if np.unique(codes[train]).size < np.unique(codes[rows]).size:
        raise ValueError(f"the training set of fold {fold} of cv is missing a class: use other folds")
    return test
