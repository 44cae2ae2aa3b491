"""Pairs of genotypes: all products of dense columns, ten of which made the labels, and no column by itself.

A scan is compared with the matrix products of single precision that it cannot do without: the same tiles, in the same
run, on as many threads, each with one thread of BLAS.
"""

import itertools
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

import numpy as np

from benchmarks.book import table
from benchmarks.children import in_child
from benchmarks.products.scans import THREADS, product_design, timed
from benchmarks.rule import fgm_by_rule
from benchmarks.timing import interleaved
from thresher.data.scan.reducers import TopK
from thresher.data.scan.scores import Correlation
from thresher.data.workers import ONE_BLAS_THREAD, Workers
from thresher.features.polynomial.spec import Polynomial
from thresher.features.polynomial.terms import pairs_of
from thresher.features.polynomial.tiles import LARGEST, WIDEST

PLANTED, ROUNDS, LIMIT = 10, 3, 300
RARE, COMMON = 0.05, 0.5  # minor allele frequencies
NOISE = 1.0  # of the score that makes the labels, in which each planted pair has variance 1
FITS = (  # name, features, options
    ('10 features, scale="std"', PLANTED, {"scale": "std"}),
    ('20 features, scale="std"', 2 * PLANTED, {"scale": "std"}),
    ('10 features, scale="std", growth alone', PLANTED, {"scale": "std", "elimination": False}),
    ("20 features, all as it is by default", 2 * PLANTED, {}),
)


class Genotypes(NamedTuple):
    """X with 0, 1 and 2, float32; labels; planted pairs; the largest |correlation| of one of their columns with y."""

    X: np.ndarray
    y: np.ndarray
    pairs: np.ndarray
    alone: float


def made(n, p, seed=0):
    """The Genotypes: y is the sign of a sum of products of standardised columns, and of noise."""
    rng = np.random.default_rng(seed)
    shares = rng.uniform(RARE, COMMON, p)
    X = np.asfortranarray(rng.binomial(2, shares, (n, p)).astype(np.float32))
    pairs = np.sort(rng.choice(p, (PLANTED, 2), replace=False), axis=1)
    Z = (X[:, pairs.ravel()] - X[:, pairs.ravel()].mean(axis=0)) / X[:, pairs.ravel()].std(axis=0)
    total = (Z[:, ::2] * Z[:, 1::2]).sum(axis=1) + NOISE * rng.standard_normal(n)
    y = np.where(total > np.median(total), 1.0, -1.0)
    return Genotypes(X, y, pairs, float(np.abs(Z.T @ y).max() / n))


def found_in(pairs, planted):
    """How many planted pairs are among ``pairs``."""
    chosen = {tuple(pair) for pair in pairs.tolist()}
    return sum(tuple(pair) in chosen for pair in planted.tolist())


def tile_products(n, p, threads, seed=0):
    """A function that multiplies all tiles of a matrix of single precision with each other, once."""
    width = max(1, min(WIDEST, LARGEST // n))
    A = np.random.default_rng(seed).standard_normal((p, n), dtype=np.float32)
    tiles = [A[lo : lo + width] for lo in range(0, p, width)]
    pairs = list(itertools.combinations_with_replacement(tiles, 2))

    def run():
        with ONE_BLAS_THREAD, ThreadPoolExecutor(threads) as pool:
            for _ in pool.map(lambda pair: (pair[0] @ pair[1].T).shape, pairs):
                pass

    return run, 2.0 * n * sum(len(a) * len(b) for a, b in pairs)


def scanned(data):
    """(seconds of the first scan, of later ones, of the tiles alone, operations, planted among the best 10 and 20)."""
    v, found = data.y - data.y.mean(), []
    tiles, operations = tile_products(*data.X.shape, THREADS)
    with Workers(THREADS) as workers, ONE_BLAS_THREAD:
        design = product_design(data.X, data.y, workers, Polynomial(), "std")

        def scan():
            found.append(design.scan(Correlation(v), TopK(100))[0][0])

        first = timed(scan)[1]
        times = interleaved({"scan": scan, "tiles": tiles}, ROUNDS)
    best = [found_in(pairs_of(found[0][:count]), data.pairs) for count in (10, 20)]
    return first, times["scan"].median, times["tiles"].median, operations, best


def fits(data):
    """Rows of the table."""
    for name, number, options in FITS:
        clf = fgm_by_rule(number, feature_map="polynomial", **options)
        _, seconds = timed(lambda clf=clf: clf.fit(data.X, data.y))
        steps = clf.selection_.trace.steps
        each = [step.seconds for step in steps if step.kind == "scan"]
        yield [
            name, f"{found_in(clf.selection_.pairs, data.pairs)} of {PLANTED}",
            f"{seconds:.1f}", len(each), f"{np.median(each):.2f}",
        ]  # fmt: skip


def report(n, p):
    """The section on genotypes."""
    data = made(n, p)
    answer, why = in_child(lambda: (scanned(data), list(fits(data))), LIMIT)
    title = f"### Pairs of genotypes: {n:,} x {p:,}, dense, {p * (p - 1) / 2:.2g} pairs, {PLANTED} planted"
    if answer is None:
        return f"{title}\n\n{why}"
    (first, later, tiles, operations, best), rows = answer
    head = ("", "planted found", "s", "scans", "s a scan")
    size = n * p * (p + 3) / 2 / 1e9
    return (
        f"{title}\n\n{table(head, rows)}\n\nValues 0, 1 and 2, minor allele frequencies uniform from {RARE:g} to "
        f"{COMMON:g}; y is the sign of the sum of ten products of standardised columns and of noise: no planted "
        f"column has a correlation with y above {data.alone:.3f}. The best products of one scan, before any fit: "
        f"{best[0]} of the ten planted among the first ten, {best[1]} among the first twenty. A scan for the best "
        f"hundred takes {later:.2f} s (the first one, which makes the columns of single precision, {first:.2f} s). The "
        f"same tiles by BLAS alone, in single precision and in the same run on {THREADS} threads, take {tiles:.2f} s, "
        f"{operations / tiles / 1e9:,.0f} GFLOPS: a scan runs at {tiles / later:.0%} of that. Medians of {ROUNDS} "
        f"rounds. Written out by scikit-learn's PolynomialFeatures, products, squares and columns would have "
        f"{4 * size:,.0f} GB in single and {8 * size:,.0f} GB in double precision."
    )
