"""More threads: seconds of each step of a fit, and of its parts, with 1, 2, 4, ... of them."""

import statistics
from typing import NamedTuple

import numpy as np

from benchmarks import alone
from benchmarks.book import table
from benchmarks.linear.data import text_like
from benchmarks.rule import fgm_by_rule
from benchmarks.timing import seconds_of
from thresher.data.input.validation import as_design, checked_sparse
from thresher.data.scan.reducers import TopK
from thresher.data.scan.scores import Correlation
from thresher.data.workers import Workers, granted_cores
from thresher.datasets import make_wide

COUNTS = (1, 2, 4, 8, 16)
STEPS = {  # of the trace: what they are called in the table
    "arrange": "arrange",
    "validate": "statistics",
    "scan": "scan",
    "certify": "certify",
    "take": "take",
    "solve": "solve",
    "thresh": "thresh",
}
LOOK, TURN, FIT, VECTORS = "look at the indices", "turn CSR into CSC", "whole fit", "scan, 16 vectors"
KEPT = 300  # columns of a scan measured alone
SIGNAL = 50  # columns that the labels of the sparse data depend on


class Sizes(NamedTuple):
    """How large the matrices are, how many features are asked for, and how often each fit is repeated."""

    dense: tuple[int, int]
    sparse: tuple[int, int]
    entries: int
    wanted: tuple[int, int]
    repeats: int


FULL = Sizes((8192, 65536), (100_000, 5_000_000), 60_000_000, (300, 100), 3)
QUICK = Sizes((512, 4096), (2_000, 50_000), 500_000, (20, 20), 1)


def counts():
    """The numbers of threads to try: as many as the machine has."""
    return [count for count in COUNTS if count <= granted_cores()]


def dense(sizes):
    """(name, X, y): Gaussian columns, float32, in C order."""
    data = make_wide(*sizes.dense, n_relevant=sizes.wanted[0], dtype=np.float32, random_state=0)
    return "dense {:,} x {:,}, float32".format(*sizes.dense), data.X, data.y


def sparse(sizes):
    """(name, X, y): as frequent as words are, float32, CSR; labels by some frequent columns."""
    X = text_like(*sizes.sparse, sizes.entries, np.float32)
    rng = np.random.default_rng(1)
    frequent = np.argsort(-np.diff(X.indptr), kind="stable")[: 4 * SIGNAL]
    score = X[:, rng.choice(frequent, SIGNAL, replace=False)] @ rng.standard_normal(SIGNAL)
    y = np.where(score + rng.standard_normal(score.size) > np.median(score), 1, -1)
    return "CSR {:,} x {:,}, {:,} entries, float32".format(*sizes.sparse, X.nnz), X.tocsr(), y


def fit_steps(X, y, wanted, count):
    """Seconds of each step of a fit, by the names of the table."""
    fits = []
    whole = seconds_of(lambda: fits.append(fgm_by_rule(wanted, n_jobs=count).fit(X, y)))
    found = fits[0].selection_.trace.seconds
    return {name: found.get(step, 0.0) for step, name in STEPS.items()} | {FIT: whole}


def other_steps(X, V, count):
    """Seconds of what the trace of a fit does not tell apart."""
    with Workers(count) as workers:
        workers.map(lambda: None, [()] * count, entries=np.inf)  # the threads exist
        found = {}
        if hasattr(X, "indptr"):
            found[LOOK] = seconds_of(lambda: checked_sparse(X, workers))
            found[TURN] = seconds_of(lambda: as_design(X, workers, to_csc=True))
        design = as_design(X, workers, to_csc=True)
        found[VECTORS] = seconds_of(lambda: design.scan(Correlation(V), TopK(KEPT)))
    return found


def measured(X, y, wanted, repeats):
    """Median seconds by (step, number of threads), over interleaved rounds; a first fit compiles and does not count."""
    V = np.random.default_rng(2).standard_normal((X.shape[0], 16))
    fit_steps(X, y, wanted, 1)
    rounds = {count: [] for count in counts()}
    for _ in range(repeats):
        for count, found in rounds.items():
            found.append(fit_steps(X, y, wanted, count) | other_steps(X, V, count))
            print(count, {step: round(seconds, 3) for step, seconds in found[-1].items()}, flush=True)
    steps = list(rounds[1][0])
    return {step: [statistics.median(one[step] for one in found) for found in rounds.values()] for step in steps}


def rows_of(found):
    """A row for each step: seconds by number of threads, and the gain."""
    for step, seconds in found.items():
        if seconds[0] >= 0.001:
            yield step, *(f"{s:.3f}" for s in seconds), f"{seconds[0] / min(seconds):.1f}"


def report(quick=False):
    """The section of docs/benchmarks.md."""
    sizes = QUICK if quick else FULL
    parts = [
        "## Threads",
        "Seconds of the steps of `FGMClassifier(k, n_jobs=threads)` by rule (C = 1), as its trace has them; the last "
        f"rows are parts measured alone. Medians of {sizes.repeats} interleaved rounds. The gain is that of the best "
        "number of threads over one. Steps under a millisecond are left out.",
    ]
    for make, wanted in zip((dense, sparse), sizes.wanted, strict=True):
        name, X, y = make(sizes)
        found = measured(X, y, wanted, sizes.repeats)
        header = ("step", *(f"{count} threads" for count in counts()), "gain")
        parts += [f"### {name}, {wanted} features", table(header, rows_of(found))]
        del X
    return "\n\n".join(parts)


if __name__ == "__main__":
    alone.run(report, __doc__)
