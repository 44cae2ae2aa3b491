"""Features that could stand in for selected ones: against np.corrcoef, for every storage."""

import warnings

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from tests.laws.designs import COLUMNS_OF_X, DESIGNS, written_out
from tests.rule import fgm_by_rule
from thresher import SparseSVC, StreamClassifier
from thresher.data.workers import Workers
from thresher.errors import FewerFeaturesWarning

rng = np.random.default_rng(3)
BASE = rng.standard_normal((70, 25))
NOISY = BASE[:, :10] * np.where(np.arange(10) % 2, -2.0, 0.5) + 0.3 * rng.standard_normal((70, 10)) + 5.0
X = np.concatenate([BASE, NOISY, -3.0 * BASE[:, :5] + 1.0, np.full((70, 2), 7.0)], axis=1)
Y = np.where(BASE[:, :6].sum(axis=1) + 0.3 * rng.standard_normal(70) > 0, "b", "a")
STORAGES = {"C": np.asarray, "F": np.asfortranarray, "csr": sparse.csr_array, "csc": sparse.csc_array}


def fitted(k=6, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FewerFeaturesWarning)
        return fgm_by_rule(k, **options).fit(X, Y)


def expected(A, features, bound, weights=None):
    """{feature: {other: correlation}} by the covariance matrix."""
    C = np.cov(A, rowvar=False, aweights=weights)
    length = np.sqrt(np.diag(C))
    with np.errstate(invalid="ignore", divide="ignore"):
        R = np.nan_to_num(C / np.multiply.outer(length, length))
    others = np.setdiff1d(np.arange(A.shape[1]), features)
    return {int(j): {int(k): R[j, k] for k in others if abs(R[j, k]) >= bound} for j in features}


def same(found, wanted):
    """Whether an Interchangeable has these correlations, best first."""
    assert found.features.tolist() == sorted(wanted)
    for feature, others in wanted.items():
        ids, correlations = found.of(feature)
        assert dict(zip(ids.tolist(), correlations, strict=True)) == pytest.approx(others, abs=1e-10)
        assert (np.diff(np.abs(correlations)) <= 1e-15).all()


@pytest.mark.parametrize("bound", [0.2, 0.9, 0.99])
@pytest.mark.parametrize("storage", STORAGES)
def test_correlations_are_those_of_numpy(storage, bound):
    clf = fitted()
    found = clf.interchangeable(STORAGES[storage](X), bound)
    assert found.min_correlation == bound
    same(found, expected(X, clf.selection_.features, bound))
    assert sum(ids.size for ids in found.others) > 2


def test_equal_columns_have_correlation_one():
    clf = fitted(k=8)
    found = clf.interchangeable(X, min_correlation=1.0)
    for feature, ids, correlations in zip(found.features, found.others, found.correlations, strict=True):
        if feature < 5:
            assert ids.tolist() == [feature + 35]
            assert correlations.tolist() == pytest.approx([-1.0])


def test_weights_and_threads():
    weights = rng.integers(0, 4, 70).astype(float)
    clf = fitted()
    same(clf.interchangeable(X, 0.5, sample_weight=weights), expected(X, clf.selection_.features, 0.5, weights))
    several = clf.set_params(n_jobs=3).interchangeable(X, 0.5, sample_weight=weights)
    alone = clf.set_params(n_jobs=1).interchangeable(X, 0.5, sample_weight=weights)
    for mine, theirs in zip(several.correlations, alone.correlations, strict=True):
        np.testing.assert_array_equal(mine, theirs)


@pytest.mark.parametrize("name", [name for name in COLUMNS_OF_X if not name.startswith("products")])  # these are not X
def test_every_design(name, tmp_path):
    """Scaled ones, those that compute their columns, and those that are read in other processes."""
    small = np.round(8.0 * X[:, :12]) / 8.0
    A, step = written_out(name, small), 3 if name == "very_wide" else 1
    with Workers(2) as workers:
        design = DESIGNS[name](small, workers, tmp_path)
        clf = fgm_by_rule(3, scale=None).fit(design, np.where(small[:, 0] + small[:, 1] > 0, 1, 0))
        found = clf.interchangeable(design, 0.2)
    wanted = expected(A, clf.selection_.features // step, 0.2)
    same(found, {j * step: {k * step: value for k, value in others.items()} for j, others in wanted.items()})


def test_more_selected_features_than_a_scan_takes(monkeypatch):
    clf = fitted(k=7)
    whole = clf.interchangeable(X, 0.3)
    monkeypatch.setattr("thresher.estimators.shared.selector.COLUMNS_PER_SCAN", 2)
    parts = clf.interchangeable(X, 0.3)
    for mine, theirs in zip(whole.others, parts.others, strict=True):
        np.testing.assert_array_equal(mine, theirs)


def test_selected_columns_of_zeros_and_absurd_widths():
    S = sparse.csr_array(X)
    wide = sparse.csr_array((S.data, S.indices.astype(np.int64) * 10**7, S.indptr), shape=(70, 4 * 10**9))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FewerFeaturesWarning)
        clf = fgm_by_rule(4, scale="std", always_include=[5]).fit(wide, Y)
    found = clf.interchangeable(wide, 0.95)
    assert found.of(5)[0].size == 0
    small = {int(j) // 10**7: ids // 10**7 for j, ids in zip(found.features, found.others, strict=True) if j != 5}
    reference = expected(X, sorted(small), 0.95)
    assert {j: set(ids.tolist()) for j, ids in small.items()} == {j: set(others) for j, others in reference.items()}


def test_other_selectors_and_refusals():
    found = SparseSVC(1e-2, 0.1).fit(X, Y).interchangeable(X, 0.95)
    assert found.features.size == len(found.others)
    with pytest.raises(ValueError, match="min_correlation must be at most 1, got 2"):
        fitted().interchangeable(X, 2)
    with pytest.raises(ValueError, match="feature 999 was not selected; ``features`` has those"):
        found.of(999)
    with pytest.raises(ValueError, match="X has 3 features"):
        fitted().interchangeable(X[:, :3])
    stream = StreamClassifier(3, hash_bits=5, random_state=0).fit(sparse.csr_array(X), Y)
    with pytest.raises(ValueError, match="not available for hashed"):
        stream.interchangeable(sparse.csr_array(X))


def named():
    """A data frame with near copies of the two columns that decide, and labels."""
    gen = np.random.default_rng(0)
    A = gen.standard_normal((200, 8))
    A[:, 4] = -2.0 * A[:, 0] + 1.0
    A[:, 5] = A[:, 0] + 0.001 * A[:, 5]
    A[:, 6] = A[:, 1] + 0.05 * A[:, 6]
    frame = pd.DataFrame(A, columns=[f"GENE{j:05d}" for j in range(200, 208)])
    return frame, A[:, 0] + A[:, 1] > 0


def test_by_name():
    frame, y = named()
    found = fgm_by_rule(2, exclude=[4, 5, 6]).fit(frame, y).interchangeable(frame)
    names, correlations = found.of("GENE00200")
    assert names.tolist() == ["GENE00204", "GENE00205"]
    assert correlations.tolist() == pytest.approx([-1.0, 1.0], abs=1e-5)
    ids, same_correlations = found.of(0)
    assert ids.tolist() == [4, 5]
    assert same_correlations is correlations
    assert [part.tolist() for part in found.modules] == [
        ["GENE00200", "GENE00204", "GENE00205"],
        ["GENE00201", "GENE00206"],
    ]
    assert repr(found) == (
        "Interchangeable(2 of 2 selected features have others with |correlation| >= 0.99, in 2 modules)"
    )
    with pytest.raises(ValueError, match=r"feature 'gene00200' was not selected; did you mean 'GENE00200'"):
        found.of("gene00200")
    assert found.closest is None


def test_selected_features_may_share_a_module():
    frame, y = named()
    clf = fgm_by_rule(3, always_include=["GENE00200", "GENE00205"]).fit(frame, y)
    found = clf.interchangeable(frame)
    assert found.modules[0].tolist() == ["GENE00200", "GENE00204", "GENE00205"]
    assert found.of("GENE00205")[0].tolist() == ["GENE00204"]  # only features that were not selected


@pytest.mark.parametrize("storage", STORAGES)
def test_the_largest_correlation_is_told_where_none_reaches_the_bound(storage):
    A = STORAGES[storage](BASE)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FewerFeaturesWarning)
        clf = fgm_by_rule(5).fit(A, Y)
    found = clf.interchangeable(A)
    assert found.modules == ()
    C = np.abs(np.corrcoef(BASE, rowvar=False))
    selected = clf.selection_.features
    others = np.setdiff1d(np.arange(25), selected)
    i, j = np.unravel_index(C[np.ix_(selected, others)].argmax(), (selected.size, others.size))
    one, other, correlation = found.closest
    assert (one, other) == (selected[i], others[j])
    assert correlation == pytest.approx(C[one, other])
    assert repr(found) == (
        "Interchangeable(no other feature has a |correlation| >= 0.99 with a selected one; the largest is "
        f"{correlation:.3g}, of {one} with {other})"
    )
    with pytest.raises(ValueError, match="no names: pass the number of a feature, not 'GENE'"):
        found.of("GENE")


def test_without_any_other_column_that_varies():
    A = np.column_stack([BASE[:, :1], np.ones(70)])
    found = fgm_by_rule(1).fit(A, BASE[:, 0] > 0).interchangeable(A)
    assert found.closest is None
    assert repr(found) == "Interchangeable(no other feature has a |correlation| >= 0.99 with a selected one)"
