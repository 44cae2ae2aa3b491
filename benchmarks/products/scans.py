"""One scan for the best products of a sparse X: thresher's, which prunes, against all pairs that have a row in common.

Both get the same vector, skip the rows where it is zero, use two threads and find the same products. What both
make of X once, its two orders, is told apart; bounds, ordering and picking of rows belong to thresher's scan.
"""

import time
from typing import NamedTuple

import numpy as np

from benchmarks.book import table
from benchmarks.products.exhaustive import ordered, search
from benchmarks.products.made import made
from benchmarks.timing import interleaved
from thresher.data.pairs import Polynomial
from thresher.data.reducers import TopK
from thresher.data.scores import Correlation
from thresher.data.space import ColumnSpace
from thresher.data.workers import Workers
from thresher.estimators.arrange import arranged
from thresher.results import Trace

PRODUCTS = Polynomial(coef0=0.0, interaction_only=True)  # linear terms would raise the bar: there are none
THREADS, ROUNDS = 2, 3
HEAD = ("vector", "rows", "kept", "columns visited", "pruned s", "exhaustive s", "ratio", "wanted", "same products")


class Case(NamedTuple):
    """How many pairs are planted, which share of the rows is active, and the ratio that is wanted."""

    name: str
    planted: int
    active: float
    wanted: float


CASES = (Case("noise", 0, 1.0, 3.0), Case("ten planted pairs", 10, 0.3, 10.0))


def vector(y, active, seed=1):
    """y less its mean; a random share of the rows, as large as that of a later turn, is left, others are zero."""
    v = y - y.mean()
    v[np.random.default_rng(seed).random(y.size) >= active] = 0.0
    return v


def product_design(X, y, workers, kernel=PRODUCTS, scale=None):
    """The products of the columns of X, as a fit makes them."""
    codes, ones = (y > 0).astype(int), np.ones(y.size)
    space = ColumnSpace(X.shape[1])
    made_of = arranged(space, X, codes, ones, scale, workers, Trace(), centre=True, to_csc=True, kernel=kernel)
    return made_of.design


def timed(call):
    """(what it returns, seconds)."""
    begun = time.perf_counter()
    answer = call()
    return answer, time.perf_counter() - begun


def compared(case, design, everything, v, kept):
    """A row of the table: medians of interleaved rounds, the first of which does not count."""
    found = {}

    def pruned():
        found["pruned"] = design.scan(Correlation(v), TopK(kept))[0]

    def exhaustive():
        found["all"] = search(everything, v, PRODUCTS.product_factor, kept, THREADS)

    times = interleaved({"pruned": pruned, "all": exhaustive}, ROUNDS)
    (ids, squares), (others, theirs) = found["pruned"], found["all"]
    if not np.allclose(squares, theirs, rtol=1e-9, atol=0.0):
        raise AssertionError("the scores of both scans differ")
    ours, all_pairs = times["pruned"].median, times["all"].median
    return [
        case.name, f"{np.count_nonzero(v):,}", kept, f"{design.visited:,} of {design.base.n_columns:,}",
        f"{ours:.2f}", f"{all_pairs:.2f}", f"{all_pairs / ours:.1f}", f"{case.wanted:g}",
        "yes" if np.array_equal(ids, others) else f"{np.isin(ids, others).sum()} of {ids.size}",
    ]  # fmt: skip


def rows_of(case, n, p, sizes):
    """(rows of the table, seconds that thresher and the exhaustive scan take to arrange X)."""
    data = made(n, p, case.planted)
    v = vector(data.y, case.active)
    with Workers(THREADS) as workers:
        design, first = timed(lambda: product_design(data.X, data.y, workers))
        everything, second = timed(lambda: ordered(data.X))
        rows = [compared(case, design, everything, v, kept) for kept in sizes]
    print(*rows, sep="\n", flush=True)
    return rows, (first, second)


def report(n, p, sizes):
    """The section on scans: so many rows and columns, and numbers of products that are kept."""
    rows, arranging = [], []
    for case in CASES:
        more, seconds = rows_of(case, n, p, sizes)
        rows += more
        arranging.append(seconds)
    told = "; ".join(f"{first:.1f} s and {second:.1f} s" for first, second in arranging)
    return (
        f"### One scan for the best products: {n:,} x {p:,}, sparse\n\n{table(HEAD, rows)}\n\nBoth scans look for the "
        "largest |sum of v x x'| over all pairs of columns (squares and linear terms are left out, which would help "
        "the pruned scan); the vector v is y less its mean. With planted pairs a random 70 % of its entries are set "
        "to zero, as in a later turn of a fit, when many samples have no loss; both scans skip these rows. The "
        "exhaustive scan is a loop compiled by Numba, on two threads as the other: for each column, the sums with all "
        "more frequent columns in its rows, and a heap of the best. Kept: how many products a scan must return; "
        f"{sizes[0]} as asked for, {sizes[-1]} as many as growth keeps in the last turns of a default fit. Seconds are "
        f"medians of {ROUNDS} rounds in turn. What each makes of X once is not in them (of thresher with the checks "
        f"of a fit): {told}."
    )
