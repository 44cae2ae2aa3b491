"""The contestants on real data: linear models on few columns, each fitted with as little ado as it allows."""

import warnings
from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import numpy as np
from scipy import sparse
from sklearn.svm import LinearSVC

from benchmarks.linear import pickers
from benchmarks.linear.cuts import Cut, columns
from benchmarks.linear.rivals import features_of, l1_lr, l1_svm, quiet_fit, skglm_lr
from benchmarks.rule import fgm_by_rule

CS = (1.0, 0.1, 10.0)  # to choose from; the first is tried first
ALL = 0  # the "number of columns" of a model on all of them
LOOSE = {"tol": 1e-3, "max_iter": 300}  # of LIBLINEAR's l1 models


class Model(NamedTuple):
    """A linear model: columns, their weights, and a shift."""

    features: np.ndarray
    weights: np.ndarray
    shift: float

    def accuracy(self, X, y):
        """Share of rows told right, in per cent."""
        w = np.zeros(X.shape[1])
        w[self.features] = self.weights
        return 100.0 * float(np.mean(np.where(X @ w + self.shift > 0.0, 1.0, -1.0) == y))

    def heaviest(self, k):
        """The same with its k heaviest columns alone."""
        places = pickers.heaviest(self.weights, k)
        return Model(self.features[places], self.weights[places], self.shift)


class Contestant(NamedTuple):
    """How a model is fitted: ``fit(X, y, ks, C)`` gives {k: Model}."""

    name: str
    fit: Callable
    way: str  # "each": a fit for each k; "once": one for all; "searched": C decides on the number of columns
    Cs: tuple = CS

    @property
    def ranked(self):
        """Whether it picks columns."""
        return self.fit is not svm_on_all


def model_of(fitted):
    """The Model of something fitted: the columns with weight."""
    features = features_of(fitted)
    coef = fitted.coef_.toarray() if hasattr(fitted.coef_, "toarray") else np.asarray(fitted.coef_)
    shift = np.ravel(fitted.intercept_)
    return Model(features, coef.ravel()[features].astype(float), float(shift[0]) if shift.size else 0.0)


def fitted(estimator, X, y):
    return model_of(quiet_fit(estimator, Cut(X, y, None, None)))


def fgm(X, y, ks, C, **options):
    """FGM by rule but for ``options``, on one thread unless told otherwise."""
    return {k: fitted(fgm_by_rule(k, C=C, **{"n_jobs": 1} | options), X, y) for k in ks}


def rfe(X, y, ks, C):
    """SVM-RFE, and its own SVM on what is left at each k."""
    models = {}
    for k, ids in pickers.rfe(X, y, ks, C).items():
        w, b = pickers.ridge_svm(columns(X, ids), y, C=C)
        models[k] = Model(ids, w, float(b))
    return models


def k_best(X, y, ks, C):
    """SelectKBest, and a linear SVM on the picked columns."""
    models = {}
    for k, ids in pickers.k_best(X, y, ks).items():
        svm = quiet_fit(LinearSVC(C=C, dual=False), Cut(columns(X, ids), y, None, None))
        models[k] = Model(ids, svm.coef_.ravel(), float(svm.intercept_[0]))
    return models


def abess(X, y, ks, C):
    """Best subset of size k; there is no C. It refuses columns without spread, so they are left out for it."""
    from abess import LogisticRegression as Abess

    ids = np.flatnonzero(spreads(X) > 1e-9)
    models = {k: fitted(Abess(support_size=min(k, ids.size)), X[:, ids], y) for k in ks}
    return {k: model._replace(features=ids[model.features]) for k, model in models.items()}


def spreads(X):
    """Standard deviation of every column."""
    if not sparse.issparse(X):
        return X.std(axis=0)
    mean, squares = np.asarray(X.mean(axis=0)).ravel(), np.asarray(X.multiply(X).mean(axis=0)).ravel()
    return np.sqrt(np.maximum(squares - mean**2, 0.0))


def liblinear_svm(X, y, ks, C, options=LOOSE):
    """The l1-SVM at C, however many columns that gives."""
    return dict.fromkeys(ks, fitted(l1_svm(C).set_params(random_state=0, **options), X, y))


def liblinear_lr(X, y, ks, C):
    """The l1 logistic regression at C, however many columns that gives."""
    return dict.fromkeys(ks, fitted(l1_lr(C).set_params(random_state=0, **LOOSE), X, y))


def skglm(X, y, ks, C):
    """The same problem, but for the shift, which skglm does not penalise."""
    return dict.fromkeys(ks, fitted(skglm_lr(C, y.size), X, y))


def svm_on_all(X, y, ks, C):
    """LIBLINEAR on all columns."""
    return dict.fromkeys(ks, fitted(LinearSVC(C=C, random_state=0), X, y))


FGM, RFE, ON_ALL = "FGM", "SVM-RFE", "SVM on all columns"
CONTESTANTS = (
    Contestant(FGM, partial(fgm, loss="squared_hinge"), "each"),
    Contestant("FGM, grown", partial(fgm, loss="squared_hinge", elimination=False), "each"),
    Contestant("FGM logistic", partial(fgm, loss="logistic"), "each"),
    Contestant("FGM logistic, grown", partial(fgm, loss="logistic", elimination=False), "each"),
    Contestant("l1-SVM", liblinear_svm, "searched", ()),
    Contestant("l1-LR", liblinear_lr, "searched", ()),
    Contestant("skglm", skglm, "searched", ()),
    Contestant(RFE, rfe, "once"),
    Contestant("SelectKBest", k_best, "once"),
    Contestant(ON_ALL, svm_on_all, "once"),
    Contestant("abess", abess, "each", (None,)),
)
RANKED = tuple(one.name for one in CONTESTANTS if one.ranked)


def warm_up(cut):
    """Compile what is compiled, so that no fit pays for it."""
    some = np.r_[np.flatnonzero(cut.y > 0)[:20], np.flatnonzero(cut.y < 0)[:20]]
    X = cut.X[some]
    X = X[:, np.flatnonzero(np.asarray(abs(X).sum(axis=0)).ravel())[:300]]
    if not sparse.issparse(X):
        X = np.array(X, order="C" if cut.X.flags.c_contiguous else "F")  # loops are compiled for one order
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for one in CONTESTANTS:
            if one.way != "once":
                one.fit(X, cut.y[some], (3,), 100.0)  # large, so that columns have weight
