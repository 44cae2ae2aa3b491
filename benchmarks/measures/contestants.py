"""The contestants: each takes training rows and gives linear models on k columns, for every k asked for.

Where there is a C, it is chosen by the same folds of the training rows: by the loss's own measure (``C="auto"``), by F1
for all others. Nobody sees the test rows.
"""

import functools
import warnings
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from sklearn.svm import LinearSVC

from benchmarks.linear import pickers
from benchmarks.linear.cuts import columns
from benchmarks.measures.judge import Model, folds_of, held_out_scores, threshold_for_f1
from benchmarks.measures.l1_f1 import l1_f1
from benchmarks.rule import fgm_by_rule

ALL = "all"
CS = (0.1, 1.0, 10.0, 100.0)  # of squared hinge, to choose from
TUNED = "threshold tuned"


class Contestant(NamedTuple):
    """``fit(X, y, ks)`` gives {k: {name: Model}}: a fit may have two models, such as one with another threshold."""

    fit: Callable
    names: tuple[str, ...]
    once: bool = False  # one run for every k
    limit: float = 300.0  # seconds for a run


def quiet(clf, X, y):
    """The fitted classifier; that there are fewer features, or that LIBLINEAR has not converged, is no news here."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return clf.fit(X, y)


def model_of(clf):
    """The Model of a fitted FGMClassifier of two classes."""
    coef = clf.coef_.tocsr()
    return Model(coef.indices.copy(), coef.data.astype(float), float(clf.intercept_[0]))


def by_measure(X, y, ks, loss, name):
    """Ours: the loss is a measure, C by folds as the estimator does it."""
    fits = {k: quiet(fgm_by_rule(k, loss=loss, C="auto", cv=folds_of(y), n_jobs=1), X, y) for k in ks}
    return {k: {name: model_of(clf)} for k, clf in fits.items()}


def tuned(fit, X, y, name):
    """{name: Model at its own threshold, name and "threshold tuned": Model}: C, and the threshold, by F1 over folds.

    ``fit(X, y, C)`` gives a Model.
    """
    plain, shifted = (-1.0, 0.0), (-1.0, 0.0, 0.0)
    for C in CS:
        scores = held_out_scores(lambda X, y, C=C: fit(X, y, C), X, y)
        threshold, value = threshold_for_f1(y, scores)
        hits = np.count_nonzero((scores > 0.0) & (y > 0))
        own = 2.0 * hits / (np.count_nonzero(scores > 0.0) + np.count_nonzero(y > 0))
        plain, shifted = max(plain, (own, C)), max(shifted, (value, C, threshold))
    models = {C: fit(X, y, C) for C in {plain[1], shifted[1]}}
    best = models[shifted[1]]
    return {name: models[plain[1]], f"{name}, {TUNED}": best._replace(shift=best.shift - shifted[2])}


def sceptic(X, y, ks, name):
    """Squared hinge, the default loss; columns are picked anew in every fold."""

    def fit(X, y, C, k):
        return model_of(quiet(fgm_by_rule(k, C=C, n_jobs=1), X, y))

    return {k: tuned(functools.partial(fit, k=k), X, y, name) for k in ks}


def picked(X, y, ks, pick, name):
    """Columns by ``pick`` from all training rows; then an SVM on them, C and threshold by folds."""
    out = {}
    for k, ids in pick(X, y, ks).items():

        def fit(X, y, C, ids=ids):
            svm = quiet(LinearSVC(C=C, dual=False), X, y)
            return Model(np.arange(ids.size), svm.coef_.ravel(), float(svm.intercept_[0]))

        models = tuned(fit, columns(X, ids), y, name)
        out[k] = {each: model._replace(features=ids) for each, model in models.items()}
    return out


def with_l1(X, y, ks, name):
    """F1 with an l1 penalty, on a candidate set."""
    return {k: {name: model} for k, model in l1_f1(X, y, ks).items()}


def on_all(X, y, ks, name):
    """SVM-perf style: the F1 loss on all columns, with an intercept."""
    return dict.fromkeys(ks, by_measure(X, y, (ALL,), "f1", name)[ALL])


F1_LOSS, ERROR, HINGE, PERF = "F1 loss", "error loss", "squared hinge", "F1 loss, all features"
L1_SVM, RFE, L1_F1 = "l1-SVM", "SVM-RFE", "l1-regularised F1"


def _entry(fit, name, other=None, **options):
    names = (name,) if other is None else (name, f"{name}, {other}")
    return Contestant(functools.partial(fit, name=name), names, **options)


CONTESTANTS = (
    _entry(functools.partial(by_measure, loss="f1"), F1_LOSS),
    _entry(functools.partial(by_measure, loss="error"), ERROR),
    _entry(sceptic, HINGE, TUNED),
    _entry(functools.partial(picked, pick=pickers.l1_svm), L1_SVM, TUNED, once=True),
    _entry(functools.partial(picked, pick=pickers.rfe), RFE, TUNED, once=True),
    _entry(with_l1, L1_F1, once=True),
    _entry(on_all, PERF, once=True),
)
