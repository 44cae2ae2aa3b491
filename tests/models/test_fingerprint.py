"""fingerprint_: the same data in any storage has one digest, other data another."""

import warnings

import numpy as np
import pytest
from scipy import sparse

from tests.rule import fgm_by_rule
from thresher.data.input.fingerprint import fingerprint
from thresher.data.input.validation import as_design

RNG = np.random.default_rng(3)
X = np.where(RNG.random((60, 50)) < 0.3, np.round(RNG.standard_normal((60, 50)) * 64) / 64, 0.0)
X[:, 7] = 0.0
y = (X[:, :5].sum(axis=1) > 0).astype(int)


def of(A, labels=y, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return fgm_by_rule(2, elimination=False, max_iter=1, **options).fit(A, labels).fingerprint_


def wide(A):
    """The same numbers in columns far apart: CSR of absurd width, whose columns get numbers of their own."""
    A = sparse.csr_array(A)
    return sparse.csr_array((A.data, A.indices.astype(np.int64) * 10**9, A.indptr), shape=(60, 50 * 10**9))


def test_it_says_what_it_is_of():
    """Rows, columns, 64 hexadecimal digits."""
    found = of(X)
    assert (found["rows"], found["columns"], len(found["digest"])) == (60, 50, 64)


@pytest.mark.parametrize("store", [
    np.asfortranarray, sparse.csr_array, sparse.csc_array, sparse.coo_array, lambda A: A.astype(np.float32),
    lambda A: sparse.csc_array(A, dtype=np.float32), lambda A: A[:, ::-1][:, ::-1], lambda A: -0.0 + A,
])  # fmt: skip
def test_storage_does_not_matter(store):
    """Nor does precision where the numbers are the same, nor what the model is."""
    assert of(store(X)) == of(X)
    assert of(store(X), scale="max", loss="logistic", class_weight="balanced", n_jobs=1) == of(X)


def test_names_of_labels_do_not_matter_but_labels_do():
    """The digest has the codes of the classes."""
    assert of(X, np.where(y, "b", "a")) == of(X)
    assert of(X, 1 - y) != of(X)
    assert of(X, np.r_[1 - y[:1], y[1:]]) != of(X)


def test_other_data_has_another_digest():
    """A larger entry, a column at another place, a row or an empty column more."""
    more = X.copy()
    more[3, 7] = 5.0
    found = [of(A) for A in (X, more, np.roll(X, 1, axis=1), np.c_[X, np.zeros(60)], 2 * X)]
    found.append(of(np.r_[X, X[:1]], np.r_[y, y[:1]]))
    assert len({each["digest"] for each in found}) == len(found)


def test_columns_without_entries_do_not_matter_where_they_are_left_out():
    """A matrix with column numbers of its own; empty columns that are forced to stay change nothing."""
    assert of(wide(X)) == of(wide(X), always_include=[7 * 10**9])
    assert of(wide(X))["columns"] == 50 * 10**9
    assert of(wide(X)) != of(wide(np.roll(X, 1, axis=1)))
    tall = sparse.csr_array((wide(X).data, wide(X).indices // 10**9, wide(X).indptr), shape=(60, 50_000))
    assert of(tall) == of(tall.tocsc())


def test_real_labels_are_not_cut_to_integers():
    """For targets of real values: labels that differ behind the point are other data."""
    design = as_design(X)
    table = design.statistics(np.ones(60))[1]
    first, second = (fingerprint(design, table, labels, 50)["digest"] for labels in (y + 0.25, y + 0.75))
    assert first != second
    assert fingerprint(design, table, y, 50)["digest"] == fingerprint(design, table, y.astype(np.int64), 50)["digest"]
