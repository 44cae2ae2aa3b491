"""Small problems shared by the tests."""

from dataclasses import replace

import numpy as np

from thresher.data.input.validation import as_design
from thresher.estimators.shared.folds import held_out_parts
from thresher.features.samples import Content
from thresher.optim import dispatch as solvers
from thresher.optim.solvers import newton
from thresher.results import Trace


def problem(n=40, p=25, seed=0, *, noise=1.0, weighted=False, C=2.0):
    """(X, y, cost): a noisy linear problem with a shift."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, p))
    y = np.where(X[:, : max(1, p // 5)].sum(axis=1) + noise * rng.standard_normal(n) > 0.5, 1.0, -1.0)
    y[:2] = [1.0, -1.0]
    weights = rng.integers(0, 4, n).astype(float) if weighted else np.ones(n)
    weights[:2] = 1.0
    return X, y, C * weights


def many_classes(n=60, p=20, classes=3, seed=0, *, C=2.0):
    """(X, labels 0..classes-1, Y (n, classes) of +-1, cost): each class leans on columns of its own."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, p))
    pull = X[:, : 2 * classes].reshape(n, classes, 2).sum(axis=2) + rng.standard_normal((n, classes))
    labels = pull.argmax(axis=1)
    labels[:classes] = np.arange(classes)
    return X, labels, np.where(labels[:, None] == np.arange(classes), 1.0, -1.0), np.full(n, C)


def watch_solves(monkeypatch, solve):
    """Let ``solve`` stand in for Newton's method, wherever it is called from."""
    monkeypatch.setattr(newton, "solve", solve)
    monkeypatch.setattr(solvers, "SOLVERS", (replace(solvers.SOLVERS[0], solve=solve), *solvers.SOLVERS[1:]))


def fold_scores(clf):
    """The scores in ``cv_results_``, (folds, candidates)."""
    results, folds = clf.cv_results_, []
    while f"split{len(folds)}_test_score" in results:
        folds.append(results[f"split{len(folds)}_test_score"])
    return np.array(folds)


def tried(clf, name="C"):
    """The different values of a parameter in ``cv_results_``, ascending."""
    return np.unique(np.asarray(clf.cv_results_[f"param_{name}"], dtype=float))


def content_of(X):
    """What the rows of X hold, as a fit has it."""
    return Content.of(as_design(X), lambda: None, None, X.shape[0], Trace())


def folds_of(count, X, labels, weights=None):
    """(train, test) of each fold that ``cv=count`` stands for."""
    codes, weights = np.unique(labels, return_inverse=True)[1], np.ones(len(labels)) if weights is None else weights
    tests = held_out_parts(count, codes, weights, content_of(X))
    return [(np.setdiff1d(np.flatnonzero(weights), test), test) for test in tests]
