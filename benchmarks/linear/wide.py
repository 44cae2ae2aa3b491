"""Section 8.2 of paper 1 at two sizes: 300 of many Gaussian columns, next to LIBLINEAR's l1 models."""

import statistics
import time
import warnings
from typing import NamedTuple

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.svm import LinearSVC

from benchmarks import alone
from benchmarks.book import table
from benchmarks.timing import peak_growth
from thresher import FGMClassifier
from thresher.datasets import make_wide


class Size(NamedTuple):
    """Rows, columns, features asked for, number type, and whether LIBLINEAR can hold its copy in 24 GiB."""

    rows: int
    columns: int
    wanted: int
    dtype: type
    liblinear: bool


FULL = (Size(4096, 4096, 300, np.float64, True), Size(8192, 65536, 300, np.float32, False))
QUICK = (Size(512, 1024, 40, np.float64, True),)


def contestants(size, train):
    """Models to fit on the same data in the same process; C of the l1 models is found beforehand, off the clock."""
    models = {
        "FGM, squared hinge": FGMClassifier(size.wanted),
        "FGM, logistic": FGMClassifier(size.wanted, loss="logistic"),
    }
    if size.liblinear:
        svm, lr = LinearSVC(penalty="l1", dual=False), LogisticRegression(l1_ratio=1.0, solver="liblinear")
        models["LIBLINEAR l1-SVM"] = with_about(size.wanted, svm, train)
        models["LIBLINEAR l1-LR"] = with_about(size.wanted, lr, train)
    return models


def with_about(wanted, model, train):
    """``model`` with a C at which it ends within 3 % of ``wanted`` features."""
    low, high = 1e-4, 1.0
    for _ in range(20):
        C = (low * high) ** 0.5
        found = features_of(model.set_params(C=C).fit(train.X, train.y)).size
        if abs(found - wanted) <= 0.03 * wanted:
            break
        low, high = (C, high) if found < wanted else (low, C)
    return model


def features_of(model):
    """Numbers of the columns with weight."""
    coef = model.coef_.toarray() if hasattr(model.coef_, "toarray") else model.coef_
    return np.flatnonzero(coef[0])


def rows_of(size, repeats):
    train = make_wide(size.rows, size.columns, size.wanted, dtype=size.dtype, random_state=0)
    test = make_wide(
        4096, size.columns, relevant=train.relevant, weights=train.weights, dtype=size.dtype, random_state=1
    )
    small = train.X[:200, :200]
    for loss in ("squared_hinge", "logistic"):
        FGMClassifier(3, loss=loss).fit(small, train.y[:200])  # compiles
    for name, model in contestants(size, train).items():
        seconds = []
        for _ in range(repeats if name.startswith("FGM") else 1):
            start = time.perf_counter()
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", ConvergenceWarning)
                model.fit(train.X, train.y)
            seconds.append(time.perf_counter() - start)
        memory = peak_growth(lambda model=model: model.fit(train.X, train.y)) if name.startswith("FGM") else None
        features = features_of(model)
        passes = f"{model.selection_.trace.passes:.1f}" if hasattr(model, "selection_") else "-"
        yield (
            f"{size.rows} x {size.columns} {np.dtype(size.dtype).name}",
            name,
            features.size,
            np.isin(features, train.relevant).sum(),
            f"{model.score(test.X, test.y):.3f}",
            f"{statistics.median(seconds):.2f}",
            passes,
            "-" if memory is None else f"{memory / 2**20:.0f} ({memory / train.X.nbytes:.2f} of X)",
        )


HEAD = ("data", "model", "features", "true ones", "test accuracy", "seconds", "passes", "peak memory beyond X, MiB")


def report(quick=False):
    """The table."""
    rows = [row for size in (QUICK if quick else FULL) for row in rows_of(size, 1 if quick else 3)]
    return (
        "## 300 of many columns (paper 1, section 8.2)\n\n"
        "Gaussian X, 300 relevant columns, 4096 test rows. C of the l1 models is chosen, off the clock, so that\n"
        "they end within 3 % of 300 features; FGM has its defaults. Medians of 3 fits\n"
        "for FGM, one fit for the others.\n\n" + table(HEAD, rows)
    )


if __name__ == "__main__":
    alone.run(report, __doc__)
