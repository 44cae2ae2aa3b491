"""Feature ids without end, and what a learner sees of a matrix."""

import tracemalloc

import numpy as np
import pytest
from scipy import sparse

from thresher.data.rows.entries import entries_of
from thresher.data.rows.slots import FIRST_SIZE, Slots, hashed


def dictionary(ids):
    """Slots by the book: numbers in the order in which ids are first met."""
    met = {}
    return [met.setdefault(each, len(met)) for each in ids.tolist()], met


@pytest.mark.parametrize("top", [50, 2**31, 2**62])
def test_slots_are_numbered_in_the_order_of_first_meeting(top):
    rng = np.random.default_rng(0)
    ids, slots = rng.integers(0, top, 30_000), Slots()
    found = np.concatenate([slots.find(part, insert=True) for part in np.array_split(ids, 17)])
    expected, met = dictionary(ids)
    assert found.dtype == np.int32
    np.testing.assert_array_equal(found, expected)
    np.testing.assert_array_equal(slots.ids, list(met))
    assert slots.count == len(met) > 49


def test_ids_at_the_ends_of_their_range():
    ids, slots = np.array([2**62, 0, 2**62 - 1, 1, 2**63 - 1, 2**62]), Slots()
    assert slots.find(ids, insert=True).tolist() == [0, 1, 2, 3, 4, 0]
    assert slots.ids.tolist() == [2**62, 0, 2**62 - 1, 1, 2**63 - 1]


def test_slots_are_the_same_however_many_are_looked_up_at_a_time(monkeypatch):
    ids = np.random.default_rng(5).integers(0, 3000, 5000).astype(np.int32)
    whole = Slots().find(ids, insert=True)
    monkeypatch.setattr("thresher.data.rows.slots.AT_ONCE", 7)
    assert np.array_equal(Slots().find(ids, insert=True), whole)


def test_looking_up_copies_few_ids():
    ids, slots = np.random.default_rng(6).integers(0, 100, 1 << 20).astype(np.int32), Slots()
    slots.find(ids[:10], insert=True)
    tracemalloc.start()
    try:
        slots.find(ids, insert=True)
        assert tracemalloc.get_traced_memory()[1] < ids.nbytes + (2 << 20)  # the slots, and a little
    finally:
        tracemalloc.stop()


def test_looking_up_without_insertion_changes_nothing():
    slots = Slots()
    known = np.arange(0, 6000, 2)
    slots.find(known, insert=True)
    cells, count = slots._cells.copy(), slots.count
    found = slots.find(np.arange(6000))
    np.testing.assert_array_equal(found, np.where(np.arange(6000) % 2, -1, np.arange(6000) // 2))
    np.testing.assert_array_equal(slots._cells, cells)
    assert slots.count == count == 3000
    assert slots.find(np.array([2**62])).tolist() == [-1]
    assert slots.find(np.zeros(0, dtype=np.int64), insert=True).size == 0


@pytest.mark.parametrize("count", [1, FIRST_SIZE - 1, FIRST_SIZE, FIRST_SIZE + 1, 5 * FIRST_SIZE])
def test_slots_made_from_ids_are_those_that_grew(count):
    ids = np.random.default_rng(1).permutation(10**6)[:count] * 10**9
    grown, made = Slots(), Slots(ids)
    grown.find(ids, insert=True)
    np.testing.assert_array_equal(made.ids, grown.ids)
    more = np.concatenate([ids[::-1], ids + 1])
    np.testing.assert_array_equal(made.find(more, insert=True), grown.find(more, insert=True))
    assert made.count == grown.count == 2 * count


def test_memory_follows_the_ids_met_and_not_their_size():
    small, large = Slots(), Slots()
    small.find(np.arange(20_000), insert=True)
    large.find(np.arange(20_000) * 2**48, insert=True)
    for slots in (small, large):
        assert slots._ids.size == 1 << 15
        assert slots._cells.size == 1 << 16
    before = large._cells
    for _ in range(5):
        large.find(np.arange(20_000) * 2**48, insert=True)
    assert large._cells is before


@pytest.mark.parametrize("dtype", [np.int32, np.int64])
def test_ids_of_any_width_may_be_read_only(dtype):
    ids = np.array([5, 3, 5, 9], dtype=dtype)
    ids.flags.writeable = False
    assert Slots().find(ids, insert=True).tolist() == [0, 1, 0, 2]


def test_hashed_ids_are_spread_evenly_and_always_the_same():
    for step in (1, 2**20, 2**40):
        found = hashed(np.arange(64_000) * step, 6)
        counts = np.bincount(found, minlength=64)
        assert counts.size == 64
        assert np.abs(counts - 1000).max() < 200
        np.testing.assert_array_equal(found, hashed(np.arange(64_000) * step, 6))
    np.testing.assert_array_equal(hashed(np.arange(99), 10) & 63, hashed(np.arange(99), 6))


def dense_of(found, shape):
    """The matrix that entries stand for; every entry is another."""
    A, seen = np.zeros(shape), set()
    for i in range(shape[0]):
        for e in range(found.begins[i], found.begins[i + 1]):
            assert (i, found.ids[e]) not in seen
            seen.add((i, found.ids[e]))
            A[i, found.ids[e]] = found.values[e]
    assert found.begins[-1] == found.values.size == found.ids.size == np.count_nonzero(A)
    return A


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_entries_are_the_non_zeros_of_every_storage(dtype, monkeypatch):
    monkeypatch.setattr("thresher.data.rows.entries.CHUNK_ENTRIES", 30)  # dense matrices come in several pieces
    rng = np.random.default_rng(2)
    A = (rng.normal(size=(23, 9)) * (rng.random((23, 9)) < 0.4)).astype(dtype)
    A[4] = 0.0
    explicit = sparse.csr_array(A)
    explicit.data[::3] = 0.0
    for X in (A, np.asfortranarray(A), sparse.csr_array(A), sparse.csc_array(A), explicit, A[:0], A[:, :0]):
        found = entries_of(X)
        np.testing.assert_array_equal(dense_of(found, X.shape), X.toarray() if sparse.issparse(X) else X)
        assert found.values.dtype == dtype or found.values.size == 0


def test_values_that_meet_in_a_hash_are_added_up():
    rng = np.random.default_rng(3)
    A = rng.integers(-2, 3, (20, 50)).astype(float)
    expected = np.zeros((20, 8))
    np.add.at(expected.T, hashed(np.arange(50), 3), A.T)
    np.testing.assert_array_equal(dense_of(entries_of(A, 3), (20, 8)), expected)
