"""What C="auto" costs: next to one fit, and next to a search that fits every fold and value apart."""

import time
import warnings

import numpy as np
from sklearn.model_selection import GridSearchCV

from benchmarks import alone
from benchmarks.book import table
from benchmarks.linear.data import real_set
from benchmarks.rule import fgm_by_rule
from thresher.datasets import make_wide
from thresher.estimators.fgm.base import CS

HEAD = ("data", "features", "one fit, s", 'C="auto", s', "search of 20 fits and one, s", "auto / one fit",
        "auto / search", "passes: one fit, auto", "C: auto, search")  # fmt: skip


def sets(quick):
    """(name, X, y, features asked for)."""
    rows, columns = (200, 2000) if quick else (500, 20_000)
    made = make_wide(rows, columns, n_relevant=20, dtype=np.float32)
    yield f"made, {rows} x {columns}", made.X, made.y, 20
    for name in () if quick else ("colon", "dexter"):
        found = real_set(name)
        if found is not None:
            yield name, *found, 20


def timed(model, X, y):
    """Seconds of a fit."""
    start = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(X, y)
    return time.perf_counter() - start


def line(name, X, y, wanted):
    """A line of the table."""
    timed(fgm_by_rule(wanted), X, y)  # compiles
    one, auto = fgm_by_rule(wanted), fgm_by_rule(wanted, C="auto")
    search = GridSearchCV(fgm_by_rule(wanted), {"C": list(CS)}, cv=5)
    seconds = [timed(model, X, y) for model in (one, auto, search)]
    passes = ", ".join(f"{model.selection_.trace.passes:.0f}" for model in (one, auto))
    return (
        name,
        wanted,
        *(f"{each:.2f}" for each in seconds),
        f"{seconds[1] / seconds[0]:.1f}",
        f"{seconds[1] / seconds[2]:.2f}",
        passes,
        f"{auto.C_:g}, {search.best_params_['C']:g}",
    )


def report(quick=False):
    """The section of docs/benchmarks.md."""
    text = (
        'Five folds, four values of C. `C="auto"` gathers columns twice for each fold, all folds in the same scans, '
        "fits the 20 candidates on them in memory, then fits once; `GridSearchCV` fits each apart. One run each."
    )
    return f"## C by cross-validation\n\n{text}\n\n{table(HEAD, [line(*each) for each in sets(quick)])}"


if __name__ == "__main__":
    alone.run(report, __doc__)
