"""Memory and width: nothing of size n x p is copied or made dense, nothing of size p where p is absurd."""

import tracemalloc
import warnings

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone

from tests.laws.storages import BLOCKS
from tests.rule import fgm_by_rule
from thresher import SparseSVC, SparseSVCPath, StreamClassifier
from thresher.data.blocks.base import Block
from thresher.datasets import make_wide
from thresher.errors import FewerFeaturesWarning

SMALL_GRID = {"n_betas": 2, "n_alphas": 3, "beta_ratio": 0.3, "alpha_ratio": 0.1, "cv": 2, "fit_intercept": False}


def peak_bytes(function):
    """Largest memory that Python and numpy held during ``function()``, beyond what they held before."""
    tracemalloc.start()
    try:
        result = function()
        return tracemalloc.get_traced_memory()[1], result
    finally:
        tracemalloc.stop()


def peak_of_fit(clf, X, y):
    """(peak of a fit, fitted clone). A fit on a few columns goes before, so that no compilation is measured."""
    few = X[:, :40] if sparse.issparse(X) else np.array(X[:, :40], order="C" if X.flags.c_contiguous else "F")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FewerFeaturesWarning)
        clone(clf).fit(few, y)
    return peak_bytes(lambda: clone(clf).fit(X, y))


def text_like(n=4000, p=20_000, relevant=20):
    """(CSR matrix, y): 52 entries a row, two of them in the first ``relevant`` columns, which alone make y."""
    rng = np.random.default_rng(0)
    rows = np.repeat(np.arange(n), 52)
    columns = np.concatenate([rng.integers(relevant, p, (n, 50)), rng.integers(0, relevant, (n, 2))], axis=1).ravel()
    X = sparse.csr_array((rng.standard_normal(rows.size), (rows, columns)), shape=(n, p))
    return X, np.where(X[:, :relevant].sum(axis=1) > 0, 1, -1)


def all_subclasses(kind):
    """Every class under ``kind``."""
    return {kind}.union(*(all_subclasses(each) for each in kind.__subclasses__()))


@pytest.fixture
def dense_limit(monkeypatch):
    """A function that sets how many numbers a Block or a scipy matrix may have to be made dense from then on."""

    def set_limit(most):
        def guarded(original):
            def make_dense(self, *args, **options):
                assert self.shape[0] * self.shape[1] <= most, f"{type(self).__name__} {self.shape} is made dense"
                return original(self, *args, **options)

            return make_dense

        kinds = all_subclasses(Block) | all_subclasses(sparse.sparray) | all_subclasses(sparse.spmatrix)
        for owner in {base for kind in kinds for base in kind.__mro__}:  # scipy has both methods in private bases
            for name in {"toarray", "todense"} & set(vars(owner)):
                monkeypatch.setattr(owner, name, guarded(vars(owner)[name]))

    return set_limit


SPARSE_FITS = {
    "FGMClassifier": fgm_by_rule(20, features_per_turn=10),
    "FGMClassifier centred": fgm_by_rule(20, features_per_turn=10, scale="std", elimination=False),
    "SparseSVC": SparseSVC(1e-2, 0.02, scale=None, fit_intercept=False),
    "SparseSVC scaled": SparseSVC(1e-2, 0.02, scale="std", fit_intercept=True),
    "SparseSVCPath": SparseSVCPath(**SMALL_GRID, scale=None),
    "StreamClassifier": StreamClassifier(20, random_state=0),
}


@pytest.mark.parametrize("kind", [sparse.csr_array, sparse.csc_array])
@pytest.mark.parametrize("clf", SPARSE_FITS.values(), ids=SPARSE_FITS)
def test_sparse_fit_never_makes_X_dense(clf, kind, dense_limit):
    """Not even a quarter of a byte for each entry is held; blocks made dense are of 200 columns at most."""
    X, y = text_like()
    X, size = kind(X), X.shape[0] * X.shape[1]
    dense_limit(size // 100)
    peak, fitted = peak_of_fit(clf, X, y)
    assert fitted.selection_.features.size >= 20
    assert fitted.score(X, y) > 0.9
    assert peak < 0.25 * size, f"{peak / size:.2f} bytes for each entry of X"


def test_the_dense_limit_sees_every_way_to_a_dense_array(dense_limit):
    """What the test above relies on: blocks of every storage and scipy's own matrices are watched."""
    X = sparse.csr_array(np.eye(4))
    dense_limit(15)
    assert X[:, :3].toarray().shape == (4, 3)
    for way in (lambda: X.toarray(), lambda: X.tocsc().todense(), lambda: sparse.coo_matrix(X).toarray()):
        with pytest.raises(AssertionError, match=r"\(4, 4\) is made dense"):
            way()
    for make in BLOCKS.values():
        with pytest.raises(AssertionError, match=r"Block \(4, 4\) is made dense"):
            make(np.eye(4)).toarray()


DENSE_FITS = [  # estimator, shape of X, share of X that a fit may hold
    pytest.param(fgm_by_rule(20, n_candidates=3.0), (1000, 20_000), 0.1, id="FGMClassifier few columns"),
    pytest.param(fgm_by_rule(20), (1000, 20_000), 0.4, id="FGMClassifier 360 columns", marks=pytest.mark.slow),
    pytest.param(
        SparseSVC(1e-2, 0.2, scale=None, fit_intercept=False), (200, 100_000), 0.6, id="SparseSVC few rows"
    ),  # what screening leaves is copied
    pytest.param(SparseSVC(1e-2, 0.1, scale=None, fit_intercept=False), (4000, 5000), 0.4, id="SparseSVC many rows"),
    pytest.param(SparseSVCPath(**SMALL_GRID, scale=None), (4000, 5000), 0.4, id="SparseSVCPath"),
]


@pytest.mark.parametrize("stored", ["C", "F", "mapped"])
@pytest.mark.parametrize(("clf", "shape", "share"), DENSE_FITS)
def test_dense_fit_holds_a_small_share_of_X(clf, shape, share, stored, tmp_path):
    data = make_wide(*shape, n_relevant=20, dtype=np.float32)
    if stored == "mapped":
        np.save(tmp_path / "X.npy", data.X)
        X = np.load(tmp_path / "X.npy", mmap_mode="r")
    else:
        X = np.array(data.X, order=stored)
    peak, fitted = peak_of_fit(clf, X, data.y)
    assert fitted.score(X, data.y) > 0.85
    assert peak < share * X.nbytes, f"{peak / X.nbytes:.2f} of X"


@pytest.mark.slow
def test_ten_million_columns_of_density_one_in_a_million():
    rng = np.random.default_rng(0)
    n, p, nnz = 100_000, 10_000_000, 1_000_000
    S = sparse.csr_array((rng.standard_normal(nnz), (rng.integers(0, n, nnz), rng.integers(0, p, nnz))), shape=(n, p))
    peak, clf = peak_bytes(lambda: fgm_by_rule(20, features_per_turn=10).fit(S, np.arange(n) % 2))
    assert clf.selection_.features.size == 20
    assert peak < 500e6


def narrow_and_wide(width):
    """(small, wide, ids, y): column j of the small matrix is column ids[j] of the wide one.

    The last half of ids are neighbours, which float64 cannot tell apart from 2^53 on.
    """
    small, y = text_like(200, 1000)
    ids = np.concatenate([np.random.default_rng(0).integers(0, width - 500, 500), np.arange(width - 500, width)])
    ids.sort()
    assert np.unique(ids).size == 1000
    wide = sparse.csr_array((small.data, ids[small.indices], small.indptr), shape=(200, width))
    return small, wide, ids, y


WIDE_FITS = {
    "FGMClassifier": fgm_by_rule(10, scale=None, n_candidates=3.0),
    "FGMClassifier scaled": fgm_by_rule(10, scale="max"),
    "SparseSVC": SparseSVC(1e-3, 1e-2, scale=None, fit_intercept=False),
    "SparseSVC scaled": SparseSVC(1e-3, 1e-2, scale="unit", fit_intercept=True),
    "SparseSVCPath": SparseSVCPath(**SMALL_GRID, scale=None),
    "StreamClassifier": StreamClassifier(200, random_state=0),
    "StreamClassifier open-ended": StreamClassifier(200, open_ended=True, random_state=0),
}


@pytest.mark.parametrize("width", [5_000_000_000, 2**62])
@pytest.mark.parametrize("clf", WIDE_FITS.values(), ids=WIDE_FITS)
def test_absurd_widths_give_the_answer_of_the_small_problem(clf, width):
    small, wide, ids, y = narrow_and_wide(width)
    reference = clone(clf).fit(small, y)
    clone(clf).fit(wide, y)  # compiles what ids of 64 bits need
    peak, fitted = peak_bytes(lambda: clone(clf).fit(wide, y))
    assert peak < 20e6
    assert reference.selection_.features.size >= 5
    assert np.array_equal(fitted.selection_.features, ids[reference.selection_.features])
    assert np.array_equal(fitted.selection_.weights, reference.selection_.weights)
    peak, scores = peak_bytes(lambda: fitted.decision_function(wide))
    assert peak < 20e6
    np.testing.assert_allclose(scores, reference.decision_function(small), rtol=1e-12)
    peak, chosen = peak_bytes(lambda: fitted.transform(wide))
    assert peak < 20e6
    assert (chosen != reference.transform(small)).nnz == 0
    assert fitted.coef_.shape == (1, width)


def test_a_stream_of_batches_may_have_ids_up_to_the_largest():
    """Batch after batch ever wider, up to 2^63 - 1 columns: the answer of the small problem, in no more memory."""
    small, wide, ids, y = narrow_and_wide(2**63 - 1)
    clf, reference = StreamClassifier(10, open_ended=True), StreamClassifier(10)
    clone(clf).partial_fit(wide, y, classes=[-1, 1])  # compiles what ids of 64 bits need
    peaks = []
    for first in range(0, 200, 50):
        rows = slice(first, first + 50)
        width = int(wide[rows].indices.max()) + 1
        batch = sparse.csr_array((wide[rows].data, wide[rows].indices, wide[rows].indptr), shape=(50, width))
        peak, _ = peak_bytes(lambda batch=batch, rows=rows: clf.partial_fit(batch, y[rows], classes=[-1, 1]))
        peaks.append(peak)
        reference.partial_fit(small[rows], y[rows], classes=[-1, 1])
    assert max(peaks) < 20e6
    assert clf.n_features_in_ == 2**63 - 1
    assert np.array_equal(clf.selection_.features, ids[reference.selection_.features])
    assert np.array_equal(clf.selection_.weights, reference.selection_.weights)


def test_a_forced_column_keeps_its_number_at_any_width():
    small, wide, ids, y = narrow_and_wide(5_000_000_000)
    reference = fgm_by_rule(10, scale=None, always_include=[7]).fit(small, y)
    clf = fgm_by_rule(10, scale=None, always_include=[int(ids[7])]).fit(wide, y)
    assert ids[7] in clf.selection_.features
    assert np.array_equal(clf.selection_.features, ids[reference.selection_.features])
    assert np.array_equal(clf.selection_.weights, reference.selection_.weights)


def test_a_forced_column_that_holds_nothing_is_reported():
    S = sparse.csr_array((np.ones(50), (np.arange(50), np.zeros(50, dtype=int))), shape=(50, 10**9))
    clf = fgm_by_rule(2, always_include=[12345], scale=None, fit_intercept=False)
    with pytest.warns(UserWarning, match=r"columns \[12345\] of always_include have weight zero"):
        clf.fit(S, np.arange(50) % 3 > 0)
    assert clf.selection_.features.tolist() == [0, 12345]
    assert clf.selection_.weights[1] == 0.0
