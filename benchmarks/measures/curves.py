"""Figures 1 to 4 of paper 2 on news20_bigram: C and the number of features, time, accuracy, and nested picks."""

import functools
import itertools
import time
from typing import NamedTuple

import numpy as np
from sklearn.svm import LinearSVC

from benchmarks import alone
from benchmarks.book import table
from benchmarks.children import in_child
from benchmarks.linear import pickers
from benchmarks.linear.cuts import columns
from benchmarks.measures.contestants import ERROR, F1_LOSS, HINGE, L1_SVM, RFE, model_of, quiet
from benchmarks.measures.data import small, two_classes
from benchmarks.measures.judge import Model, f1
from benchmarks.rule import fgm_by_rule

SET = "news20_bigram"
KS, QUICK_KS = (10, 50, 100, 250), (5, 10)
TOTALS, QUICK_TOTALS = (1e4, 1e5, 1e6, 1e7), (1e5,)  # C n
DEFAULT = 1e6  # the default one
LIMIT = 300  # seconds for a run


class Told(NamedTuple):
    """Accuracy and F1 in per cent on test rows, seconds, and the features."""

    accuracy: float
    f1: float
    seconds: float
    features: np.ndarray


def by_fgm(split, k, loss, total):
    """FGMClassifier with a loss; ``total`` is C n, None for the default C."""
    clf = fgm_by_rule(k, loss=loss, C=None if total is None else total / split.y.size, n_jobs=1)
    return model_of(quiet(clf, split.X, split.y))


def by_picker(split, k, pick):
    """The columns of a picker, and an SVM on them."""
    ids = pick(split.X, split.y, (k,))[k]
    svm = quiet(LinearSVC(C=1.0, dual=False), columns(split.X, ids), split.y)
    return Model(ids, svm.coef_.ravel(), float(svm.intercept_[0]))


def run(fit, split, k):
    """The Told of one model."""
    begun = time.process_time()
    model = fit(split, k)
    seconds = time.process_time() - begun
    scores = model.scores(split.X_test)
    right = 100.0 * float(np.mean((scores > 0.0) == (split.y_test > 0.0)))
    return Told(right, 100.0 * f1(split.y_test, scores > 0.0), seconds, np.asarray(model.features))


def results(split, fits, ks):
    """{(name, k): Told, or why there is none}, each in a child."""
    out = {}
    for name, fit in fits.items():
        for k in ks:
            found, why = in_child(functools.partial(run, fit, split, k), LIMIT)
            out[name, k] = why if found is None else found
            print(name, k, out[name, k] if found is None else found[:3], flush=True)
    return out


def cell(told):
    """Accuracy, F1 and seconds."""
    return told if isinstance(told, str) else f"{told.accuracy:.1f} / {told.f1:.1f}, {told.seconds:.1f} s"


def nested(found, name, ks):
    """The share of the features of each number that the next larger number has, too."""
    shares = []
    for fewer, more in itertools.pairwise(ks):
        pair = found[name, fewer], found[name, more]
        shares.append("-" if any(isinstance(each, str) for each in pair)
                      else f"{np.isin(pair[0].features, pair[1].features).mean():.0%}")  # fmt: skip
    return shares


def report(quick=False):
    """A table of contestants, one of C, and one of nested picks."""
    head, split = "## Curves on news20_bigram (paper 2, figures 1 to 4)", two_classes(SET)
    if split is None:
        return f"{head}\n\n{SET} is not here."
    split, ks, totals = (small(split), QUICK_KS, QUICK_TOTALS) if quick else (split, KS, TOTALS)
    fits = {
        F1_LOSS: functools.partial(by_fgm, loss="f1", total=DEFAULT),
        ERROR: functools.partial(by_fgm, loss="error", total=DEFAULT),
        HINGE: functools.partial(by_fgm, loss="squared_hinge", total=None),
        L1_SVM: functools.partial(by_picker, pick=pickers.l1_svm),
        RFE: functools.partial(by_picker, pick=pickers.rfe),
    }
    found = results(split, fits, ks)
    others = {
        (loss, total): functools.partial(by_fgm, loss=word, total=total)
        for loss, word in ((F1_LOSS, "f1"), (ERROR, "error")) for total in totals if total != DEFAULT
    }  # fmt: skip
    by_C = results(split, others, ks) | {((n, DEFAULT), k): told for (n, k), told in found.items()}
    numbers = [f"{k} features" for k in ks]
    rows = [[name, *(cell(found[name, k]) for k in ks)] for name in fits]
    rows_of_C = [
        [f"{loss}, C n = {total:.0e}", *(cell(by_C[(loss, total), k]) for k in ks)]
        for loss in (F1_LOSS, ERROR) for total in totals
    ]  # fmt: skip
    steps = [f"{fewer} in {more}" for fewer, more in itertools.pairwise(ks)]
    tables = (
        table(("accuracy / F1", *numbers), rows),
        table(("accuracy / F1", *numbers), rows_of_C),
        table(("features kept", *steps), [[name, *nested(found, name, ks)] for name in fits]),
    )
    text = (
        f"Per cent on the set's own test rows; {split.size} to train, rows of length one. Losses by FGMClassifier with "
        f"its defaults (C n = {DEFAULT:.0e} for measures, C = 1 for squared hinge); on the columns of l1-SVM and "
        f"SVM-RFE an SVM with C = 1. Seconds of the processor; over {LIMIT} s: left out. The second table has other "
        "values of C, the third which share of the features of a number the next larger number has, too."
    )
    return "\n\n".join([head, text, *tables])


if __name__ == "__main__":
    alone.run(report, __doc__)
