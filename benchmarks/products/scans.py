"""One scan for the best products of a sparse X: thresher's, which prunes, against all pairs that have a row in common.

Both get the same vector, skip the rows where it is zero, use two threads and find the same products. What both
make of X once, its two orders, is told apart; bounds, ordering and picking of rows belong to thresher's scan.
"""

import time
import warnings
from typing import NamedTuple

import numpy as np

from benchmarks.book import table
from benchmarks.children import in_child
from benchmarks.features import features_of
from benchmarks.products.exhaustive import ordered, search
from benchmarks.products.made import made
from benchmarks.rule import fgm_by_rule
from benchmarks.timing import interleaved
from thresher.data.scan.reducers import TopK
from thresher.data.scan.scores import Correlation
from thresher.data.workers import Workers
from thresher.errors import FewerFeaturesWarning
from thresher.features.polynomial.products import ProductDesign
from thresher.features.polynomial.spec import Polynomial

PRODUCTS = Polynomial(coef0=0.0, interaction_only=True)  # linear terms would raise the bar: there are none
THREADS, ROUNDS, LIMIT = 2, 3, 300
TURNS, ACTIVE = 3, 0.3  # of a fit before the vector of a later turn, and the share of the rows that is left
ON_NOISE, PLANTED = 3.0, 10.0  # how many times as fast the pruned scan should be
HEAD = (
    "vector", "active rows", "kept", "columns visited", "pruned s", "exhaustive s", "ratio", "wanted", "same products",
)  # fmt: skip


class Case(NamedTuple):
    """A vector, features that are taken already, as sorted numbers, and the ratio that is wanted."""

    name: str
    v: np.ndarray
    taken: np.ndarray
    wanted: float


def watch(note):
    """Have ``note(design, score, reducer)`` called after each scan of products in this process."""
    stages = ProductDesign.stages

    def noting(self, score, reducer, *given):
        yield from stages(self, score, reducer, *given)
        note(self, score, reducer.reducers[0] if hasattr(reducer, "reducers") else reducer)

    ProductDesign.stages = noting


def later(data, turns=TURNS):
    """(vector, features taken) of the scan after some turns of growth."""
    last = {}
    watch(lambda design, score, reducer: last.update(v=score.V[0].copy(), taken=reducer.exclude))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FewerFeaturesWarning)
        options = {"features_per_turn": 10, "elimination": False, "tol": 1e-12, "max_iter": turns}
        fgm_by_rule(100, feature_map=PRODUCTS, **options).fit(data.X, data.y)
    return last["v"], last["taken"]


def cases_of(data):
    """The Cases of a data set: the first turn where nothing is planted, else a later one."""
    none = np.zeros(0, dtype=np.int64)
    if not len(data.pairs):
        return [Case("noise, first turn", data.y - data.y.mean(), none, ON_NOISE)]
    answer, why = in_child(lambda: later(data), LIMIT)
    if answer is None:
        raise RuntimeError(f"the fit of a few turns: {why}")
    v, taken = answer
    few = np.where(np.random.default_rng(1).random(v.size) < ACTIVE, v, 0.0)
    return [
        Case(f"planted pairs, after {TURNS} turns", v, taken, PLANTED),
        Case(f"the same, {ACTIVE:.0%} of the rows", few, taken, PLANTED),
    ]


def product_design(X, y, workers, kernel=PRODUCTS, scale=None):
    """The products of the columns of X, as a fit makes them."""
    return features_of(X, y, kernel, workers, scale).design


def timed(call):
    """(what it returns, seconds)."""
    begun = time.perf_counter()
    answer = call()
    return answer, time.perf_counter() - begun


def compared(case, design, everything, kept):
    """A row of the table: medians of interleaved rounds, the first of which does not count."""
    found, factor = {}, PRODUCTS.product_factor

    def pruned():
        found["pruned"] = design.scan(Correlation(case.v), TopK(kept, case.taken))[0]

    def exhaustive():
        ids, squares = search(everything, case.v, factor, kept + case.taken.size, THREADS)
        new = np.flatnonzero(~np.isin(ids, case.taken))[:kept]
        found["all"] = ids[new], squares[new]

    times = interleaved({"pruned": pruned, "all": exhaustive}, ROUNDS)
    (ids, squares), (others, theirs) = found["pruned"], found["all"]
    if not np.allclose(squares, theirs, rtol=1e-9, atol=0.0):
        raise AssertionError("the scores of both scans differ")
    ours, all_pairs = times["pruned"].median, times["all"].median
    visited = round(design.visited_share * design.base.width)
    return [
        case.name, f"{np.count_nonzero(case.v):,}", kept, f"{visited:,} of {design.base.n_columns:,}",
        f"{ours:.2f}", f"{all_pairs:.2f}", f"{all_pairs / ours:.1f}", f"{case.wanted:g}",
        "yes" if np.array_equal(ids, others) else f"{np.isin(ids, others).sum()} of {ids.size}",
    ]  # fmt: skip


def rows_of(planted, n, p, sizes):
    """(rows of the table, seconds that thresher and the exhaustive scan take to arrange X)."""
    data = made(n, p, planted)
    cases = cases_of(data)
    with Workers(THREADS) as workers:
        design, first = timed(lambda: product_design(data.X, data.y, workers))
        everything, second = timed(lambda: ordered(data.X))
        rows = [compared(case, design, everything, kept) for case in cases for kept in sizes]
    print(*rows, sep="\n", flush=True)
    return rows, (first, second)


def report(n, p, planted, sizes):
    """The section on scans: rows and columns, pairs that are planted, and numbers of products that are kept."""
    rows, arranging = [], []
    for count in (0, planted):
        more, seconds = rows_of(count, n, p, sizes)
        rows += more
        arranging.append(seconds)
    told = "; ".join(f"{first:.1f} s and {second:.1f} s" for first, second in arranging)
    return (
        f"### One scan for the best products: {n:,} x {p:,}, sparse\n\n{table(HEAD, rows)}\n\nBoth scans look for the "
        "largest |sum of v x x'| over all pairs of columns (squares and linear terms are left out, which would help "
        "the pruned scan). On noise v is y less its mean, as in the first turn of a fit. With planted pairs it is the "
        f"vector of a fit after {TURNS} turns of ten products, which are not looked for again; on labels that are "
        f"mostly random nearly all rows still have a loss, so a random {1 - ACTIVE:.0%} of its entries are then set to "
        "zero, as where many samples have none. Both scans skip these rows. The "
        "exhaustive scan is a loop compiled by Numba, on two threads as the other: for each column, the sums with all "
        "more frequent columns in its rows, and a heap of the best. Kept: how many products a scan must return; "
        f"{sizes[0]} as asked for, {sizes[-1]} as many as growth keeps in the last turns of a default fit. Seconds are "
        f"medians of {ROUNDS} rounds in turn. What each makes of X once is not in them (of thresher with the checks "
        f"of a fit): {told}."
    )
