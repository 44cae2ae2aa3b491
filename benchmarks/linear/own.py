"""The model that a user gets, on small tables that are noisy, correlated, or have many columns of noise."""

import sys
import warnings
from functools import partial
from typing import NamedTuple

import numpy as np
from sklearn.datasets import load_breast_cancer, make_classification
from sklearn.linear_model import LogisticRegressionCV
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

from benchmarks.book import table
from benchmarks.rule import fgm_by_rule
from thresher import FGMClassifier, SparseSVCPath
from thresher.datasets import make_wide

FOLDS = 4  # outside, whose mean is told
CHOSEN_BY = 3  # folds inside
L1_CS = np.logspace(-3, 2, 11)


class Table(NamedTuple):
    """Data made of a seed, and the number of features that the estimators which take one select."""

    make: object
    k: int


def with_noise(seed):
    """Breast cancer beside 1,000 columns of noise."""
    X, y = load_breast_cancer(return_X_y=True)
    return np.hstack([X, np.random.default_rng(seed).standard_normal((len(y), 1000))]), y


def correlated_blocks(seed):
    """60 blocks of 15 correlated columns, in random order; eight of the blocks matter."""
    rng = np.random.default_rng(seed)
    common = rng.standard_normal((600, 60))
    X = 0.8 * np.repeat(common, 15, axis=1) + 0.6 * rng.standard_normal((600, 900))
    weights = np.append(rng.choice([-1.0, 1.0], 8) * rng.uniform(0.4, 1.0, 8), np.zeros(52))
    y = common @ weights + 1.5 * rng.standard_normal(600) > 0.0
    return X[:, rng.permutation(900)], y.astype(int)


def weak_signals(seed):
    """Fifteen informative columns of 400, whose classes are hardly apart."""
    return make_classification(800, 400, n_informative=15, n_redundant=0, class_sep=0.6, random_state=seed)


def few_rows(seed):
    """120 rows of 4,000 columns, ten of which matter."""
    data = make_wide(120, 4000, n_relevant=10, random_state=seed)
    return data.X, data.y


TABLES = {
    "breast cancer": Table(lambda seed: load_breast_cancer(return_X_y=True), 8),
    "breast cancer, 1,000 columns of noise": Table(with_noise, 8),
    "correlated blocks, 600 x 900": Table(correlated_blocks, 20),
    "weak signals, 800 x 400": Table(weak_signals, 20),
    "few rows, 120 x 4,000": Table(few_rows, 10),
}


def l1_svm():
    """LIBLINEAR's l1-SVM on standardised columns, its C chosen by folds."""
    svm = LinearSVC(penalty="l1", dual=False, max_iter=5000, random_state=0)
    return GridSearchCV(make_pipeline(StandardScaler(), svm), {"linearsvc__C": L1_CS}, cv=CHOSEN_BY)


def l1_logistic():
    """LIBLINEAR's l1 logistic regression on standardised columns, its C chosen by folds."""
    return make_pipeline(
        StandardScaler(), LogisticRegressionCV(Cs=L1_CS, penalty="l1", solver="liblinear", cv=CHOSEN_BY)
    )


CONTESTANTS = {
    "FGM": FGMClassifier,
    "FGM, by rule": fgm_by_rule,
    "FGM, growth alone": partial(fgm_by_rule, elimination=False),
    "FGM, logistic": partial(FGMClassifier, loss="logistic"),
    "SparseSVCPath": lambda k: SparseSVCPath(cv=CHOSEN_BY),
    "l1-SVM": lambda k: l1_svm(),
    "l1-LR": lambda k: l1_logistic(),
}


def accuracy(estimator, X, y):
    """The mean over FOLDS folds."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        folds = StratifiedKFold(FOLDS, shuffle=True, random_state=0).split(X, y)
        return float(np.mean([estimator.fit(X[train], y[train]).score(X[test], y[test]) for train, test in folds]))


def report(quick=False):
    """The section of docs/benchmarks.md."""
    return f"### Small tables: the model that a user gets\n\n{section((0,), TABLES if not quick else list(TABLES)[:2])}"


def section(seeds, names):
    """Text and table: rows are some of TABLES, means over seeds."""
    rows = []
    for name in names:
        make, k = TABLES[name]
        data = [make(seed) for seed in seeds]
        means = [100.0 * np.mean([accuracy(of(k), X, y) for X, y in data]) for of in CONTESTANTS.values()]
        print(name, *(f"{mean:.1f}" for mean in means), file=sys.stderr, flush=True)
        rows.append((name, k, *(f"{mean:.1f}" for mean in means)))
    return (
        f"The model that a user gets, without a judge: accuracy in per cent, mean of {FOLDS} folds and {len(seeds)} "
        "seeds of the data. `FGMClassifier(k)`, which chooses C and elimination; by rule and by growth alone (C = 1); "
        f"`SparseSVCPath(cv={CHOSEN_BY})` and LIBLINEAR's l1 models, whose penalties {CHOSEN_BY} folds choose, have "
        f"any number of features:\n\n{table(('table', 'k', *CONTESTANTS), rows)}"
    )
