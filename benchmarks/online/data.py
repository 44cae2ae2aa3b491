"""The data of paper 4's experiments, with their own test parts, and streams made here, a batch at a time."""

import math
from typing import NamedTuple

import numba
import numpy as np
from scipy import sparse

from benchmarks.linear.data import SETS, real_set

BUDGETS = {
    "arcene": (50, 100, 200, 500, 1000),
    "dexter": (100, 200, 300, 500, 1000),
    "basehock": (50, 100, 200, 500, 1000),
    "farm_ads": (100, 200, 500, 1000, 2000),
}
PASSES = {"farm_ads": 10}  # others: ceil(2 columns / rows), as the paper has it
ENTRIES, RELEVANT, SHARE, NOISE = 100, 200, 0.05, 0.5


class Set(NamedTuple):
    """A data set of two classes: float32 CSR by rows, labels -1 and +1, and a part of its own for tests."""

    name: str
    X: sparse.csr_array
    y: np.ndarray
    X_test: sparse.csr_array
    y_test: np.ndarray
    passes: int

    @property
    def budgets(self):
        return BUDGETS[self.name]

    @property
    def rounds(self):
        return self.passes * self.y.size

    @property
    def size(self):
        n, d = self.X.shape
        return f"{n:,} x {d:,}, {self.X.nnz / n:,.0f} non-zeros a row"


def sets(quick=False, names=tuple(BUDGETS)):
    """The Sets that are in the data folder, one by one; one pass when in a hurry."""
    for name in names:
        found = real_set(name)
        if found is None:
            print(f"{name} is left out: there is no {SETS / name}", flush=True)
            continue
        X, y = sparse.csr_array(found[0]).astype(np.float32), found[1]
        test = test_rows(name)
        train = Set(name, X[~test], y[~test], X[test], y[test], 1)
        n, d = train.X.shape
        yield train if quick else train._replace(passes=PASSES.get(name, math.ceil(2 * d / n)))


def test_rows(name):
    """Which rows are for tests."""
    folder = SETS / name
    if (folder / "split.npy").exists():
        return np.load(folder / "split.npy") == 1
    with np.load(folder / "data.npz") as arrays:
        return arrays["split"] == 1


class Stream:
    """Batches of a made stream: rows of 100 different features, a share of 0.05 of them from 200 that matter.

    The others are uniform over all d features or, ``skewed``, log-uniform in their rank: the j-th has a share of about
    1 / (j log d). Values lie in [0.5, 1.5]. A label is the sign of the sum of values of the features that matter, half
    of them counted as negative, with Gaussian noise of deviation 0.5.
    """

    def __init__(self, d, skewed, seed=0):
        self.d, self.skewed, self.rng = d, skewed, np.random.default_rng(seed)
        self.names = self.rng.permutation(d).astype(np.int32)  # by rank
        self.relevant = self.rng.choice(d, RELEVANT, replace=False).astype(np.int32)
        self.signs = np.zeros(d)
        self.signs[self.relevant] = np.where(np.arange(RELEVANT) % 2 == 0, 1.0, -1.0)
        self.stamp = np.full(d, -1, dtype=np.int64)
        self.rows = 0

    def batch(self, n):
        """(X, y): the next ``n`` examples."""
        ids = np.empty(n * ENTRIES, dtype=np.int32)
        draw(self.rng, ids, self.rows, self.names, self.relevant, self.stamp, self.skewed)
        self.rows += n
        values = self.rng.random(ids.size) + 0.5
        total = (values * self.signs[ids]).reshape(n, ENTRIES).sum(axis=1)
        y = np.where(total + NOISE * self.rng.standard_normal(n) > 0.0, 1, -1)
        begins = np.arange(0, ids.size + 1, ENTRIES, dtype=np.int32)
        return sparse.csr_array((values, ids, begins), shape=(n, self.d)), y


@numba.njit
def draw(rng, ids, first, names, relevant, stamp, skewed):
    """Features of rows, ENTRIES each, without repeats within a row; sorted."""
    top = math.log(names.size)
    for row in range(ids.size // ENTRIES):
        found = 0
        while found < ENTRIES:
            if rng.random() < SHARE:
                name = relevant[int(rng.random() * relevant.size)]
            elif skewed:
                name = names[min(int(math.exp(top * rng.random())) - 1, names.size - 1)]
            else:
                name = names[int(rng.random() * names.size)]
            if stamp[name] != first + row:
                stamp[name] = first + row
                ids[row * ENTRIES + found] = name
                found += 1
        ids[row * ENTRIES : (row + 1) * ENTRIES].sort()
