"""The contestants of the synthetic benchmark, and the judge that runs each in a child process under a time limit."""

import warnings
from functools import partial
from typing import NamedTuple

import numpy as np
import psutil
from scipy import sparse
from sklearn.linear_model import LogisticRegression, SGDClassifier
from sklearn.svm import LinearSVC

from benchmarks.children import in_child
from benchmarks.rule import fgm_by_rule
from benchmarks.timing import interleaved, peak_growth, seconds_of

MEMORY = 24 * 2**30  # the machine of the paper; less where less is free
FAST = 5.0  # seconds up to which a fit is repeated


class Rival(NamedTuple):
    """A model to fit, and the bytes that it needs for every entry of X beyond X itself."""

    model: object
    per_entry: float = 0.0


class Strengths(NamedTuple):
    """C of the l1 models (None: not looked for), and by what it is multiplied where SGD ends far from the optimum."""

    svm: float | None
    lr: float | None
    sgd: float = 1.0


class Refitted:
    """An l1 model without its bias: ``refit`` on the columns that ``base`` gives weight."""

    def __init__(self, base, refit):
        self.base, self.refit = base, refit

    def fit(self, X, y):
        self.chosen = features_of(self.base.fit(X, y))
        self.refit.fit(X[:, self.chosen], y)
        self.coef_ = np.zeros((1, X.shape[1]))
        self.coef_[0, self.chosen] = self.refit.coef_[0]
        return self

    def predict(self, X):
        return self.refit.predict(X[:, self.chosen])


class InFloat64:
    """celer (0.7.4) fits logistic models to float64 alone: other numbers are copied, on its clock."""

    def __init__(self, base):
        self.base = base

    def fit(self, X, y):
        self.base.fit(X.astype(np.float64), y)
        self.coef_ = self.base.coef_
        return self

    def predict(self, X):
        return self.base.predict(X)


def l1_svm(C=1.0, fit_intercept=True):
    return LinearSVC(penalty="l1", dual=False, C=C, fit_intercept=fit_intercept)


def l1_lr(C=1.0):
    return LogisticRegression(l1_ratio=1.0, solver="liblinear", C=C)


def fgms(wanted):
    """FGM with both losses, by rule and as growth alone, and on one thread as most rivals are."""
    models = {}
    for shown, loss in (("squared hinge", "squared_hinge"), ("logistic", "logistic")):
        models[f"FGM, {shown}"] = fgm_by_rule(wanted, loss=loss)
        models[f"FGM, {shown}, growth alone"] = fgm_by_rule(wanted, loss=loss, elimination=False)
    models["FGM, squared hinge, growth alone, 1 thread"] = fgm_by_rule(wanted, elimination=False, n_jobs=1)
    return {name: Rival(model) for name, model in models.items()}


def l1_models(strengths, train, epochs):
    """The l1 models of five packages; those with the logistic loss solve one problem, at one C.

    LIBLINEAR keeps 16 bytes for every entry, once by rows and once by columns, beside a copy in float64.
    """
    rows, width = train.X.shape[0], train.X.dtype.itemsize
    copy = 0 if width == 8 else 8
    nodes = copy + 16 + 16
    models = {}
    if strengths.svm is not None:
        models["l1-SVM, LIBLINEAR"] = Rival(l1_svm(strengths.svm), nodes)
        debiased = Refitted(l1_svm(strengths.svm), LinearSVC(C=20.0, dual=False))
        models["l1-SVM, LIBLINEAR, de-biased"] = Rival(debiased, nodes)
    models["l1-LR, LIBLINEAR"] = Rival(l1_lr(strengths.lr), nodes)
    debiased = Refitted(l1_lr(strengths.lr), LogisticRegression(C=20.0, solver="liblinear"))
    models["l1-LR, LIBLINEAR, de-biased"] = Rival(debiased, nodes)
    celer = celer_lr(strengths.lr)
    models["l1-LR, celer"] = Rival(celer if width == 8 else InFloat64(celer), copy + 8)
    models["l1-LR, skglm"] = Rival(skglm_lr(strengths.lr, rows), 8)
    models["l1-LR, SAGA"] = Rival(LogisticRegression(l1_ratio=1.0, solver="saga", C=strengths.lr))
    models["l1-LR, SGD"] = Rival(sgd_lr(strengths.sgd * strengths.lr, train.X, epochs))
    return models


def celer_lr(C=1.0):
    from celer import LogisticRegression as Celer

    return Celer(C=C)


def skglm_lr(C, rows):
    from skglm import SparseLogisticRegression

    return SparseLogisticRegression(alpha=1.0 / (C * rows))


def sgd_lr(C, X, epochs):
    """Constant steps, tuned to end near the optimum after so few epochs: the default ones never settle here."""
    head = X[:1000].toarray() if sparse.issparse(X) else X[:1000]
    length = float(np.sum(np.square(head), dtype=np.float64)) / head.shape[0]
    step = min(16.0, 40.0 * X.shape[1] / (X.shape[0] * epochs)) / length
    return SGDClassifier(
        loss="log_loss",
        penalty="l1",
        alpha=1.0 / (C * X.shape[0]),
        learning_rate="constant",
        eta0=step,
        max_iter=epochs,
        tol=None,
        random_state=0,
    )


def other_models(wanted, train):
    """Best subsets by splicing, and LIBLINEAR on all columns."""
    from abess import LogisticRegression as Abess

    copy = 0 if train.X.dtype == np.float64 else 8
    return {
        "best subset, abess": Rival(Abess(support_size=wanted), 8),
        "SVM on all, LIBLINEAR": Rival(LinearSVC(dual=train.X.shape[0] <= train.X.shape[1]), copy + 16),
        "LR on all, LIBLINEAR": Rival(LogisticRegression(solver="liblinear"), copy + 16),
    }


def features_of(model):
    """Numbers of the columns with weight."""
    coef = model.coef_.toarray() if sparse.issparse(model.coef_) else np.asarray(model.coef_)
    return np.flatnonzero(coef.ravel())


def with_about(wanted, model, train, near):
    """A C at which ``model`` ends within 3 % of ``wanted`` features, looked for from ``near``; off the clock."""
    low = high = None
    C = near
    for _ in range(20):
        found = features_of(quiet_fit(model.set_params(C=C), train)).size
        if abs(found - wanted) <= max(1, 0.03 * wanted):
            break
        low, high = (C, high) if found < wanted else (low, C)
        C = 1.3 * C if high is None else C / 1.3 if low is None else (low * high) ** 0.5
    return C


def quiet_fit(model, train):
    """Fit without the warnings of rivals that end at their number of iterations."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return model.fit(train.X, train.y)


def warm_up(train, skglm=True):
    """Compile what is compiled, so that no fit pays for it."""
    columns = min(200, train.X.shape[1])
    small = train._replace(X=train.X[:200][:, :columns].copy(), y=train.y[:200])
    for loss in ("squared_hinge", "logistic"):
        quiet_fit(fgm_by_rule(3, loss=loss), small)
    if skglm:
        quiet_fit(skglm_lr(0.1, 200), small)


class Outcome(NamedTuple):
    """One fit: the columns, accuracy on the test set, seconds, passes over X, bytes; or why there is none."""

    features: np.ndarray | None = None
    accuracy: float = np.nan
    seconds: float = np.nan
    passes: float | None = None
    memory: int = 0
    verdict: str = ""


def attempt(rival, train, test, limit):
    """The Outcome of one fit in a forked child, which shares X and is ended after ``limit`` seconds."""
    room = min(MEMORY - bytes_of(train.X) - bytes_of(test.X), psutil.virtual_memory().available)
    if rival.per_entry * train.X.size > room:
        return Outcome(verdict="no memory")
    outcome, verdict = in_child(partial(_outcome, rival.model, train, test), limit)
    return outcome or Outcome(verdict=verdict)


def bytes_of(X):
    """Bytes of an array or of the three arrays of a CSR matrix."""
    return X.data.nbytes + X.indices.nbytes + X.indptr.nbytes if sparse.issparse(X) else X.nbytes


def _outcome(model, train, test):
    """In the child: fit and score."""
    seconds = []
    memory = peak_growth(lambda: seconds.append(seconds_of(partial(quiet_fit, model, train))), pause=0.005)
    accuracy = float(np.mean(model.predict(test.X) == test.y))
    return Outcome(features_of(model), accuracy, seconds[0], passes_of(model), memory)


def passes_of(model):
    """Passes over X that FGM counts, and the epochs of stochastic models."""
    if hasattr(model, "selection_"):
        return model.selection_.trace.passes
    stochastic = isinstance(model, SGDClassifier) or getattr(model, "solver", "") == "saga"
    return float(np.max(model.n_iter_)) if stochastic else None


def outcomes(rivals, train, test, limit, repeats):
    """Outcome by name: first of a child; fits of few seconds are then timed here, by the median of ``repeats`` rounds.

    A child pays for its first touch of many pages, a tenth of a second; where a fit is long, that is nothing.
    """
    warm_up(train, skglm="l1-LR, skglm" in rivals)
    found = {}
    for name, rival in rivals.items():
        found[name] = attempt(rival, train, test, limit)
        print(name, found[name].verdict or f"{found[name].seconds:.2f} s", sep=": ", flush=True)
    fast = {name: rivals[name].model for name, one in found.items() if one.seconds <= FAST}
    calls = {name: partial(quiet_fit, model, train) for name, model in fast.items()}
    times = interleaved(calls, repeats, warm_up=False)
    return {name: one._replace(seconds=times[name].median) if name in times else one for name, one in found.items()}
