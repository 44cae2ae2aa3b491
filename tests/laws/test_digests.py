"""Laws of digests of rows: the same in any storage, by any threads, and for any order of rows and of columns read."""

import struct

import numpy as np
import pytest
from scipy import sparse

from tests.laws.designs import DESIGNS, written_out
from tests.laws.storages import BLOCKS, STORED, matrix
from thresher.data.designs.memory import MemoryDesign
from thresher.data.input import digests
from thresher.data.input.digests import combined, digested_columns
from thresher.data.input.validation import as_design
from thresher.data.workers import Workers
from thresher.features.samples import Content
from thresher.loops.digests import column_keys
from thresher.loops.moments import NONZERO
from thresher.results import Trace

X = matrix(60, 150, seed=3)
ALL, SOME = np.arange(150), np.array([0, 3, 4, 5, 40, 41, 149])
MASK = (1 << 64) - 1


def mixed(z):
    """The finalizer of SplitMix64, in integers of Python."""
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & MASK
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & MASK
    return z ^ (z >> 31)


def written(A, columns):
    """The digests of the rows of A by some columns: entry by entry."""
    rows = A[:, columns].tolist()
    keys = [mixed(column + 1) | 1 for column in columns.tolist()]
    hashes = [
        [mixed(struct.unpack("<Q", struct.pack("<d", x))[0] ^ key) for x, key in zip(row, keys, strict=True) if x]
        for row in rows
    ]
    return np.array([sum(row) & MASK for row in hashes], dtype=np.uint64)


def digest(X, ids=None, n_jobs=1):
    with Workers(n_jobs) as workers:
        design = as_design(X, workers)
        return design.row_digests(np.arange(design.width) if ids is None else ids)


@pytest.mark.parametrize("ids", [ALL, SOME, SOME[:0]], ids=["all", "some", "none"])
@pytest.mark.parametrize("name", BLOCKS)
def test_blocks_have_the_digest_that_is_written_out(name, ids):
    out = np.zeros(60, dtype=np.uint64)
    BLOCKS[name](X).add_digests(ids, column_keys(ids), out)
    np.testing.assert_array_equal(out, written(X, ids))


@pytest.mark.parametrize("name", STORED)
def test_the_number_of_threads_does_not_matter(name, monkeypatch):
    monkeypatch.setattr("thresher.data.workers.SMALL", 1)
    with Workers(3) as workers:
        block = STORED[name](X, workers)
        assert block._threads(block.work(1)) == 3
        np.testing.assert_array_equal(MemoryDesign(block).row_digests(SOME), written(X, SOME))


@pytest.mark.parametrize("values", [1, 50, 1 << 20])
@pytest.mark.parametrize("name", DESIGNS)
def test_designs_have_the_digest_of_their_columns_as_given(name, values, tmp_path, monkeypatch):
    """However many columns they take at a time, and whether they are in memory or not."""
    monkeypatch.setattr("thresher.data.designs.base.DIGESTED_VALUES", values)
    A = matrix(40, 17, seed=4)
    design, whole = DESIGNS[name](A, Workers(1), tmp_path), written_out(name, A)
    ids = np.unique(np.linspace(0, design.width - 1, 12).astype(np.int64))
    found = design.row_digests(ids)
    if name.startswith("scaled"):  # before scaling
        factor = 2.0 ** np.arange(-3, 14).clip(-3, 3)
        whole = A / factor + (np.round(A.mean(axis=0) * 16) / 16 if name == "scaled" else 0.0)
    if name.startswith(("expanded", "products", "bags")):  # by their own rounding
        whole = design.take(np.arange(design.width)).toarray()
    full = np.zeros((len(whole), 1 + design.ids_in_X([design.width - 1])[0]))
    full[:, design.ids_in_X(np.arange(design.width))] = whole
    np.testing.assert_array_equal(found, written(full, design.ids_in_X(ids)))


def zeros_stored(A):
    """CSR with entries that are zeros of both signs."""
    full = sparse.csr_array(np.where(A == 0.0, 99.0, A))
    zero = full.data == 99.0
    full.data[zero] = np.resize([0.0, -0.0], np.count_nonzero(zero))
    return full


def mapped(A, folder):
    np.save(folder / "X.npy", A)
    return np.load(folder / "X.npy", mmap_mode="r")


@pytest.mark.parametrize(
    "stored",
    [
        zeros_stored,
        lambda A: zeros_stored(A).tocsc(),
        lambda A: np.where(A == 0.0, -0.0, A),
        lambda A: A.astype(np.float32),
        lambda A: sparse.csr_array(A.astype(np.float32)),
        lambda A: A[:, ::-1][:, ::-1],
    ],
    ids=["zeros in CSR", "zeros in CSC", "-0", "float32", "CSR float32", "strides"],
)
def test_the_same_values_have_the_same_digest(stored, tmp_path):
    np.testing.assert_array_equal(digest(stored(X)), digest(X))
    np.testing.assert_array_equal(digest(mapped(X, tmp_path)), digest(X))


def test_equal_rows_have_equal_digests_and_others_have_others():
    order = np.random.default_rng(0).permutation(60)
    np.testing.assert_array_equal(digest(X[order]), digest(X)[order])
    assert np.unique(digest(X)).size == 60
    ones = np.eye(200) + np.tri(200)  # of few different values, in different places
    assert np.unique(np.r_[digest(ones), digest(ones[:, ::-1].copy())]).size == 400


def table_of(A, weights):
    return as_design(A).statistics(weights).table


def test_all_columns_count_unless_there_are_too_many_entries(monkeypatch):
    """Then those with the most non-zero entries, spread over X, whatever the storage, the rows and the weights are."""
    A = np.where(np.random.default_rng(1).random((40, 300)) < np.r_[np.full(100, 0.2), np.full(200, 0.7)], X[3, 4], 0.0)
    A[:, 100:] = 1.0
    ones = np.ones(40)
    assert digested_columns(as_design(A), table_of(A, ones), 40.0, 40) is None
    monkeypatch.setattr(digests, "MOST_ENTRIES", 40 * 90 + 30)
    ids = digested_columns(as_design(A), table_of(A, ones), 40.0, 40)
    assert ids.size == 90
    assert ids.min() >= 100
    assert 15 < np.count_nonzero(ids < 150) < 30
    for stored in (sparse.csr_array(A), sparse.csc_array(A), np.asfortranarray(A[::-1]), A.astype(np.float32)):
        np.testing.assert_array_equal(digested_columns(as_design(stored), table_of(stored, ones), 40.0, 40), ids)
    np.testing.assert_array_equal(digested_columns(as_design(A), table_of(A, ones / 3), 40 / 3, 40), ids)
    monkeypatch.setattr(digests, "MOST_ENTRIES", 40 * 200 + 100)
    more = digested_columns(as_design(A), table_of(A, ones), 40.0, 40)
    counts = np.count_nonzero(A, axis=0)
    assert np.isin(np.arange(100, 300), more).all()
    assert counts[more].sum() <= 40 * 200 + 100
    assert counts[np.setdiff1d(np.arange(100), more)].max() <= counts[more].min()
    monkeypatch.setattr(digests, "MOST_ENTRIES", 1)
    assert digested_columns(as_design(A), table_of(A, ones), 40.0, 40).size == 1
    assert table_of(A, ones)[NONZERO, ids].min() == 40.0


def test_a_bag_has_a_digest_of_its_rows_in_any_order():
    owner, order = np.arange(60) % 7, np.random.default_rng(2).permutation(60)
    whole = Content.of(as_design(X), lambda: None, owner, 7, Trace()).digests
    mixed_up = Content.of(as_design(X[order]), lambda: None, owner[order], 7, Trace()).digests
    np.testing.assert_array_equal(whole, mixed_up)
    assert np.unique(whole).size == 7
    one = combined(np.zeros(3, dtype=np.uint64), np.array([0, 0, 1]), 3)
    assert np.unique(one).size == 3  # bags of rows of zeros are told apart by their number


def test_what_was_read_is_in_the_trace():
    trace = Trace()
    content = Content.of(as_design(X), lambda: SOME, None, 60, trace)
    np.testing.assert_array_equal(content.digests, written(X, SOME))
    assert content.digests is content.digests
    assert [(step.kind, step.passes) for step in trace.steps] == [("digest", SOME.size / 150)]
