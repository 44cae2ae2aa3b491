"""The data of paper 5's experiments: made as in its section 5.1, and real sets in place of those of its table 2."""

from typing import NamedTuple

import numpy as np
from scipy import sparse

from benchmarks.linear.data import SETS, real_set

SYNTHETIC = {"syn1": (10_000, 1_000), "syn2": (10_000, 10_000), "syn3": (1_000, 10_000)}
REAL = ("rcv1_subsets", "dexter", "farm_ads", "news20_bigram", "dorothea")
LARGE = 5_000_000  # stored numbers from which on a set is large
INFORMATIVE, CENTRE, VARIANCE, DENSITY = 0.02, 1.5, 0.75, 0.02


class Set(NamedTuple):
    """A data set of two classes: X by rows, labels -1 and +1."""

    name: str
    X: sparse.csr_array
    y: np.ndarray

    @property
    def size(self):
        n, p = self.X.shape
        return f"{n:,} x {p:,}, {self.X.nnz:,} entries"


def synthetic(n, p, seed=0):
    """(X, y): the first 2 % of the columns are N(+-1.5, 0.75), the others N(0, 1) in a share of 0.02, else zero."""
    rng = np.random.default_rng(seed)
    y = rng.permutation(np.where(np.arange(n) < n // 2, 1.0, -1.0))
    told = round(INFORMATIVE * p)
    dense = CENTRE * y[:, None] + np.sqrt(VARIANCE) * rng.standard_normal((n, told))
    columns = [_coins(rng, p - told) for _ in range(n)]
    ends = np.concatenate([[0], np.cumsum([ids.size for ids in columns])])
    numbers = rng.standard_normal(ends[-1])
    thin = sparse.csr_array((numbers, np.concatenate(columns), ends), shape=(n, p - told))
    return sparse.csr_array(sparse.hstack([sparse.csr_array(dense), thin], format="csr")), y


def _coins(rng, count):
    """Places of the heads among ``count`` coins, each with probability DENSITY."""
    return np.flatnonzero(rng.random(count) < DENSITY).astype(np.int32)


def made_sets(quick):
    """The Sets syn1 to syn3, one by one; a hundredth of their size when in a hurry."""
    for name, (n, p) in SYNTHETIC.items():
        yield Set(name, *(synthetic(n // 10, p // 10) if quick else synthetic(n, p)))


def real_sets(quick, names=REAL):
    """The Sets that are in the data folder, one by one; few rows of the smaller ones when in a hurry."""
    for name in names:
        found = real_set(name)
        if found is None:
            print(f"{name} is left out: there is no {SETS / name}", flush=True)
            continue
        X, y = found
        data = Set(name, sparse.csr_array(X), y)
        if not quick:
            yield data
        elif X.nnz < LARGE:
            yield thinned(data, 20)


def thinned(data, step):
    """Every ``step``-th row, and the columns that then hold something, of a Set."""
    X = data.X[::step]
    return Set(data.name, sparse.csr_array(X[:, np.flatnonzero(np.diff(X.tocsc().indptr))]), data.y[::step])
