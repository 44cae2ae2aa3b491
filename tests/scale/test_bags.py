"""Memory and time of bags: what the README says, measured in a process of its own."""

import subprocess
import sys

import numpy as np
import pytest
from scipy import sparse

from tests.rule import miles_by_rule
from thresher.features.instances import design as bags_module

FIT = """
import tracemalloc, warnings
import numpy as np
from thresher import MILESClassifier
from thresher.features.instances import design as bags

bags.CACHE = {cache}
rng = np.random.default_rng(0)
X, own = rng.standard_normal((6_000, 20)), np.arange(6_000) // 8
y = rng.random(750) < 0.5
X[8 * np.flatnonzero(y)] += 2.0
warnings.simplefilter("ignore")
MILESClassifier(2, C=1, elimination=True, n_jobs={threads}).fit(X[:80], y[own[:80]], bags=own[:80])
tracemalloc.start()
clf = MILESClassifier(10, C=1, n_jobs={threads}, elimination=False).fit(X, y[own], bags=own)
print(tracemalloc.get_traced_memory()[1], clf.fitted_features_.prototypes.rows.size)
"""


@pytest.mark.parametrize(("cache", "threads"), [(0, 1), (0, 2), (1 << 30, 1)])
def test_a_fit_holds_a_copy_of_X_pieces_and_columns_taken(cache, threads):
    """All similarities together take 36 MB; a piece has 256 instances, and a few are alive for each thread."""
    n_rows, n_bags = 6_000, 750
    code = FIT.format(cache=cache, threads=threads)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=300)
    peak, taken = map(int, done.stdout.split())
    piece, column = 8 * 256 * n_bags, 8 * n_bags
    kept = 8 * n_rows * n_bags if cache else 0
    tile = 8 * 256 * 1024  # products of a tile with some rows
    bound = 8 * n_rows * 20 * 2 + kept + (4 * piece + 2 * tile) * threads + 8 * column * taken + 400 * n_rows
    assert peak < bound
    assert bound - kept < 0.8 * 8 * n_rows * n_bags, "the bound says something"


def test_sparse_rows_are_never_made_dense(monkeypatch):
    """A matrix of 2^30 numbers with few entries: products of sparse rows alone."""
    rng = np.random.default_rng(0)
    width = 1 << 22
    shared = rng.integers(0, width, 30)  # columns that several rows have
    rows = np.repeat(np.arange(240), 6)
    columns = np.concatenate([rng.choice(shared, 4, replace=False).tolist() + rng.integers(0, width, 2).tolist()
                              for _ in range(240)])  # fmt: skip
    X = sparse.csr_array((rng.standard_normal(rows.size), (rows, columns)), shape=(240, width))
    own = np.arange(240) // 4
    y = (np.arange(60) % 2)[own]
    monkeypatch.setattr(bags_module, "WIDEST_TILE", 64)
    clf = miles_by_rule(5, sigma=3.0, scale=None).fit(X, y, bags=own)
    assert sparse.issparse(clf.prototypes_)
    assert clf.predict(X, bags=own).shape == (60,)
    assert clf.predict_instances(X, bags=own).shape == (240,)
