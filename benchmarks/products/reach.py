"""Products of columns at scale: a fit on a set like kddb, scans against all pairs, and pairs of genotypes.

kddb itself is not at hand: a script makes a set with as many rows, columns and entries, and plants pairs of columns
that say something together and nothing apart.
"""

import warnings
from typing import NamedTuple

import numpy as np

from benchmarks import alone
from benchmarks.book import table
from benchmarks.children import in_child
from benchmarks.products import genotypes, scans
from benchmarks.products.made import EACH, made
from benchmarks.rule import fgm_by_rule
from benchmarks.timing import peak_growth
from thresher import Polynomial
from thresher.errors import FewerFeaturesWarning

LIMIT = 600  # seconds for a fit
SECONDS, GIGABYTES, PAPER = 60, 8, 1000  # wanted, and what the paper needed
FEATURES, A_TURN = 100, 10
STEPS = ("arrange", "validate", "scan", "take", "solve", "thresh")
HEAD = (
    "", "taken", "in the model", "products", "planted found", "turns", "s", *(f"{step} s" for step in STEPS),
    "GB beside X", "columns visited",
)  # fmt: skip


class Sizes(NamedTuple):
    """Rows, columns, planted pairs, numbers of products that a scan keeps, and rows and columns of genotypes."""

    n: int
    p: int
    planted: int
    kept: tuple[int, ...]
    genotypes: tuple[int, int]


FULL = Sizes(1_000_000, 4_590_807, 10, (100, 232), (2_000, 10_000))
QUICK = Sizes(20_000, 50_000, 10, (100, 232), (1_000, 600))

# As many turns as the paper's, whether or not more features are needed: the penalty gives few of them weights
GROWTH = {"features_per_turn": A_TURN, "max_iter": FEATURES // A_TURN, "elimination": False, "tol": 1e-12}
FITS = {
    "growth alone, products": {"feature_map": Polynomial(coef0=0.0, interaction_only=True), **GROWTH},
    "growth alone, linear terms too": {"feature_map": "polynomial", **GROWTH},
    "default": {"feature_map": "polynomial"},
}


class Fitted(NamedTuple):
    """What is told of a fit."""

    pairs: np.ndarray
    taken: int
    turns: int
    seconds: float
    steps: dict
    visited: list
    grew: int


def fit(data, number, options):
    """A classifier; that growth alone gives fewer features weights is no surprise."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FewerFeaturesWarning)
        return fgm_by_rule(number, **options).fit(data.X, data.y)


def fitted(data, number, options):
    """The Fitted of one fit, in a process of its own; a small one before it loads the compiled loops."""
    visited, told, small = [], [], made(2_000, 3_000, 2)
    fit(small, number, options)
    scans.watch(lambda design, score, reducer: visited.append(round(design.visited_share * design.base.width)))

    grew = peak_growth(lambda: told.append(scans.timed(lambda: fit(data, number, options))), pause=0.01)
    clf, seconds = told[0]
    trace = clf.selection_.trace
    taken = max(turn.taken for turn in trace.turns)
    return Fitted(clf.selection_.pairs, taken, clf.n_iter_, seconds, trace.seconds, visited, grew)


def row(name, data, number, options):
    """A row of the table of fits."""
    answer, why = in_child(lambda: fitted(data, number, options), LIMIT)
    if answer is None:
        return [name, why, *[""] * (len(HEAD) - 2)]
    chosen = {tuple(pair) for pair in answer.pairs.tolist()}
    found = sum(tuple(pair) in chosen for pair in data.pairs.tolist())
    products = int((answer.pairs[:, 1] >= 0).sum())
    least, most = min(answer.visited, default=0), max(answer.visited, default=0)
    print(name, answer.steps, answer.visited, flush=True)
    return [
        name, answer.taken, len(answer.pairs), products, f"{found} of {len(data.pairs)}", answer.turns,
        f"{answer.seconds:.1f}", *(f"{answer.steps.get(step, 0.0):.1f}" for step in STEPS),
        f"{answer.grew / 1e9:.2f}", f"{least:,} to {most:,}",
    ]  # fmt: skip


def fits(sizes):
    """The section on fits."""
    data = made(sizes.n, sizes.p, sizes.planted)
    rows = [row(name, data, FEATURES, options) for name, options in FITS.items()]
    size = sum(part.nbytes for part in (data.X.data, data.X.indices, data.X.indptr)) / 1e9
    return (
        f"### Products: {sizes.n:,} x {sizes.p:,}, {EACH} entries a row, {sizes.planted} planted pairs\n\n"
        f"{table(HEAD, rows)}\n\nA set like kddb, which is not at hand: the frequencies of its columns are "
        f"log-uniform, and there are {sizes.p * (sizes.p - 1) / 2:.2g} products. Rows with both columns of a planted "
        "pair are positive, rows with one of them negative, all others random: no column says anything by itself. "
        f"Growth alone: {A_TURN} turns of {A_TURN} features each (elimination=False), of products and, told beside it, "
        "with linear terms among the candidates; the penalty gives only some of those taken a weight. Default: the "
        f"default fit of {FEATURES} features, linear terms among them, with elimination. Wanted of growth: at most "
        f"{SECONDS} s and {GIGABYTES} GB on two cores; the paper needed about {PAPER} s on kddb. Seconds by step: "
        "arrange is the copy of X by columns, validate the checks, "
        "statistics and X by rows, thresh the elimination. Memory beside X is the growth of the process during the "
        f"fit; X itself has {size:.2f} GB. Columns visited: the fewest and the most of a scan, of {sizes.p:,}."
    )


def report(quick=False):
    """Fits, scans and genotypes."""
    sizes = QUICK if quick else FULL
    parts = [fits(sizes), scans.report(sizes.n, sizes.p, sizes.planted, sizes.kept), genotypes.report(*sizes.genotypes)]
    return "\n\n".join(parts)


if __name__ == "__main__":
    alone.run(report, __doc__)
