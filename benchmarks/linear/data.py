"""The data of the benchmarks: made here, or read from the data folder beside the repository."""

from pathlib import Path

import numba
import numpy as np
from scipy import sparse

from thresher.data.input.scaling import scaled
from thresher.data.input.validation import as_design, checked_sparse
from thresher.data.scan.reducers import TopK
from thresher.data.scan.scores import Correlation
from thresher.datasets import make_wide

SETS = Path(__file__).resolve().parents[3] / "shared" / "data"


def dense_matrix(n, p, dtype, order, seed=0):
    """Gaussian numbers in C or Fortran order."""
    rng = np.random.default_rng(seed)
    if order == "C":
        return rng.standard_normal((n, p), dtype=dtype)
    return rng.standard_normal((p, n), dtype=dtype).T


def text_like(n, p, entries, dtype, seed=0):
    """CSC with about ``entries`` numbers: the j-th most frequent column has one in a share c / j of the rows.

    No column has more than half of its rows filled. Columns stand in random order, as words in dictionaries.
    """
    popularity = np.random.default_rng(seed).permutation(zipf_shares(p, entries / n))
    counts = np.zeros(p + 1, dtype=np.int32)
    _count_entries(popularity, n, np.random.default_rng(seed + 1), counts)
    indptr = np.cumsum(counts, dtype=np.int32)
    indices = np.empty(indptr[-1], dtype=np.int32)
    _place_entries(popularity, n, np.random.default_rng(seed + 1), indptr, indices)  # the same draws again
    values = np.random.default_rng(seed + 2).random(indices.size, dtype=dtype) + dtype(0.5)
    return sparse.csc_array((values, indices, indptr), shape=(n, p))


def zipf_shares(p, mean_row):
    """min(1/2, c / j) for j = 1..p, with c such that a row has ``mean_row`` entries on average."""
    low, high = 0.0, float(p)
    for _ in range(60):
        c = 0.5 * (low + high)
        shares = np.minimum(0.5, c / np.arange(1, p + 1))
        low, high = (c, high) if shares.sum() < mean_row else (low, c)
    return shares


@numba.njit
def _next_row(row, share, rng):
    """The next row that has an entry: gaps between the successes of a coin are geometric."""
    return row + 1 + int(np.log(1.0 - rng.random()) / np.log1p(-share))


@numba.njit
def _count_entries(shares, n, rng, counts):
    for j in range(shares.size):
        row = _next_row(-1, shares[j], rng)
        while row < n:
            counts[j + 1] += 1
            row = _next_row(row, shares[j], rng)


@numba.njit
def _place_entries(shares, n, rng, indptr, indices):
    for j in range(shares.size):
        at, row = indptr[j], _next_row(-1, shares[j], rng)
        while row < n:
            indices[at] = row
            at += 1
            row = _next_row(row, shares[j], rng)


def noisy_gaussian(n, m, seed=0):
    """make_wide with a third of the columns relevant and every tenth label turned over: (design, labels)."""
    data = make_wide(n, m, n_relevant=m // 3, random_state=seed)
    turned = np.random.default_rng(seed + 1).random(n) < 0.1
    return as_design(np.asfortranarray(data.X)), np.where(turned, -data.y, data.y).astype(float)


def real_set(name):
    """(X, y) of a two-class set in the data folder, or None when it is not there."""
    folder = SETS / name
    if (folder / "X.npz").exists():
        return sparse.load_npz(folder / "X.npz"), np.load(folder / "y.npy").astype(float)
    if (folder / "data.npz").exists():
        with np.load(folder / "data.npz") as arrays:
            return arrays["X"].astype(np.float64), arrays["y"].astype(float)
    return None


def real_design(name):
    """(design, labels) of a set in the data folder, dense ones standardised; None if it is missing."""
    found = real_set(name)
    if found is None:
        return None
    X, y = found
    if sparse.issparse(X):
        return as_design(checked_sparse(X)), y
    ones = np.ones(y.size)
    design = as_design(X)
    return scaled(design, *design.statistics(ones), ones.sum(), "std", centre=True)[0], y


def best_columns(design, y, m, workers):
    """The ``m`` columns that go best with the labels, as a block whose products run on ``workers``."""
    ((ids, _),) = design.scan(Correlation(y - y.mean()), TopK(m))
    block = design.take(np.sort(ids))
    for part in (block, getattr(block, "base", None)):
        if part is not None:
            part.workers = workers
    return block
