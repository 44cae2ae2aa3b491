"""Odd but legal input, and moments at which a fit may be cut short."""

import re
import time
import warnings

import numpy as np
import polars as pl
import pytest
from scipy import sparse

from tests.problems import watch_solves
from tests.rule import fgm_by_rule
from thresher.data.input import validation
from thresher.errors import FewerFeaturesWarning, InvalidDataError, InvalidDataTypeError
from thresher.optim.solvers import newton
from thresher.results import StopReason, reached_text

rng = np.random.default_rng(0)
X = rng.standard_normal((60, 30))
y = np.where(X[:, :4].sum(axis=1) + 0.5 * rng.standard_normal(60) > 0, 1, -1)


@pytest.mark.parametrize("value", [0.0, 3.0])
@pytest.mark.parametrize("k", [1, 2, 5])
@pytest.mark.parametrize("storage", [np.asarray, np.asfortranarray, sparse.csr_array, sparse.csc_array])
def test_a_forced_column_without_content_stays_with_weight_zero(value, k, storage):
    flat = X.copy()
    flat[:, 7] = value
    with pytest.warns(FewerFeaturesWarning, match=r"columns \[7\] of always_include have weight zero"):
        clf = fgm_by_rule(k, always_include=[7], scale="std").fit(storage(flat), y)
    assert clf.selection_.features.size == k
    assert clf.coef_.toarray()[0, 7] == 0.0
    assert clf.transform(flat).shape == (60, k)
    clf.selection_.check()


def test_forced_columns_survive_a_warm_start_without_time():
    clf = fgm_by_rule(5, warm_start=True).fit(X, y)
    clf.set_params(always_include=[29], max_time=1e-6).fit(X, y)
    assert 29 in clf.selection_.features
    assert clf.selection_.features.size == 5
    clf.selection_.check()


@pytest.mark.parametrize(
    "A", [np.ones((60, 5)), sparse.csr_array((60, 5)), sparse.csc_array((60, 5)), sparse.csr_array((60, 10**9))]
)
def test_data_without_content(A):
    message = "selected 0 features instead of the requested 3: .*no other feature has"
    with pytest.warns(FewerFeaturesWarning, match=message):
        clf = fgm_by_rule(3).fit(A, y)
    assert len(set(clf.predict(A).tolist())) == 1
    assert clf.transform(A).shape == (60, 0)


@pytest.mark.parametrize(
    ("A", "k", "C"),
    [
        (X, 10, 1e-6),
        (X, 30, 1e-6),
        (np.repeat(X[:, :1], 30, axis=1), 10, 10.0),
        (X, 10, 1e4),
        (X[:, :1], 1, 10.0),
        (X[:3], 3, 1.0),
    ],
)
def test_exactly_k_whatever_tol_says(A, k, C):
    clf = fgm_by_rule(k, C=C).fit(A, y[: len(A)] if len(A) == 60 else [0, 1, 1])
    assert clf.selection_.features.size == k
    assert clf.selection_.stop_reason == reached_text(k)


@pytest.mark.parametrize("scale", ["std", "unit", "max", "auto"])
@pytest.mark.parametrize("storage", [np.asarray, np.asfortranarray, sparse.csr_array, sparse.csc_array])
@pytest.mark.parametrize("outlier", [1e5, 1e9])
def test_rows_without_weight_change_nothing(scale, storage, outlier):
    spoilt, weights = X.copy(), np.ones(60)
    spoilt[0], weights[0] = outlier, 0.0
    found = fgm_by_rule(6, scale=scale).fit(storage(spoilt), y, sample_weight=weights).selection_
    expected = fgm_by_rule(6, scale=scale).fit(storage(X[1:]), y[1:]).selection_
    assert np.array_equal(found.features, expected.features)
    np.testing.assert_allclose(found.weights, expected.weights, rtol=1e-8)


def test_auto_scale_looks_at_all_columns_of_every_storage():
    wide = np.zeros((40, 20_000))
    wide[:, :20] = rng.standard_normal((40, 20))
    labels = wide[:, 0] + wide[:, 1] > 0
    fits = [fgm_by_rule(5).fit(storage(wide), labels) for storage in (np.asarray, sparse.csr_array, sparse.csc_array)]
    assert [fit.selection_.scale for fit in fits] == [None] * 3
    for fit in fits[1:]:
        np.testing.assert_allclose(fit.selection_.weights, fits[0].selection_.weights, rtol=1e-8)


@pytest.mark.parametrize("options", [{}, {"n_features_to_select": 5}, {"n_features_to_select": 5, "debias": True}])
def test_ctrl_c_at_any_solve_keeps_a_model(options, monkeypatch):
    """Whichever solve is interrupted, a sound model is set before the interrupt goes on."""
    original, calls = newton.solve, [0]
    fgm_by_rule(**options).fit(X, y)

    def counting(*args, **kwargs):
        calls[0] += 1
        if calls[0] == stop_at:
            raise KeyboardInterrupt
        return original(*args, **kwargs)

    watch_solves(monkeypatch, counting)
    for stop_at in range(1, 100):  # noqa: B007 (read by ``counting``)
        calls[0], clf = 0, fgm_by_rule(**options)
        try:
            clf.fit(X, y)
            break
        except KeyboardInterrupt:
            assert clf.selection_.interrupted
            assert clf.selection_.stop_reason == "interrupted"
            clf.selection_.check()
            assert clf.predict(X).shape == (60,)
    assert stop_at > 3


def test_max_time_covers_every_step(monkeypatch):
    seen = []
    original = newton.solve

    def noting(*args, deadline=None, **kwargs):
        seen.append(deadline)
        return original(*args, deadline=deadline, **kwargs)

    watch_solves(monkeypatch, noting)
    fgm_by_rule(5, debias=True, max_time=100.0).fit(X, y)
    assert len(seen) > 3
    assert all(deadline > time.perf_counter() for deadline in seen)


@pytest.mark.parametrize("storage", [np.asarray, sparse.csr_array, sparse.csc_array])
@pytest.mark.parametrize("scale", ["auto", "std", "unit", None])
def test_values_too_small_to_be_squared_are_refused(scale, storage):
    with pytest.raises(InvalidDataError, match=r"the largest magnitude in X is .*e-300, .* use scale='max'"):
        fgm_by_rule(5, scale=scale).fit(storage(X * 1e-300), y)


def test_values_too_small_to_be_squared_under_max():
    reference = fgm_by_rule(5, scale="max").fit(X, y).selection_
    found = fgm_by_rule(5, scale="max").fit(X * 1e-300, y).selection_
    np.testing.assert_array_equal(found.features, reference.features)
    mixed = np.where(np.arange(X.shape[1]) == 3, X * 1e-300, X)  # a single column of this kind is no error
    assert 3 not in fgm_by_rule(5, scale="std").fit(mixed, y).selection_.features


@pytest.mark.parametrize("per_class", [False, True])
@pytest.mark.parametrize("elimination", [True, False])
def test_the_reason_is_the_tolerance_where_it_was_reached(elimination, per_class):
    """All columns are taken, so none is left with a score; but the fit has converged."""
    few = X[:, :4]
    clf = fgm_by_rule(elimination=elimination, per_class=per_class).fit(few, y)
    assert clf.selection_.certificate.gap <= clf.tol
    assert clf.selection_.stop is StopReason.CONVERGED
    assert re.fullmatch(r"converged: duality gap \S+ <= tol=0.001", clf.selection_.stop_reason)
    with pytest.warns(FewerFeaturesWarning, match=r"converged: .* <= tol=0.001; no other feature has a non-zero"):
        clf = fgm_by_rule(4, elimination=elimination).fit(np.where(np.arange(4) == 2, 0.0, few), y)
    assert clf.selection_.stop is StopReason.CONVERGED


def test_warm_start_on_other_sparse_data():
    first, second = (sparse.random(50, 200_000, density=1e-4, random_state=seed, format="csr") for seed in (0, 1))
    labels = np.arange(50) % 2
    clf = fgm_by_rule(5, warm_start=True).fit(first, labels).fit(second, labels)
    assert clf.selection_.features.size == 5


@pytest.mark.parametrize("options", [{"C": 1e300}, {"C": 1e-300}])
def test_costs_beyond_float64_are_refused(options):
    with pytest.raises(ValueError, match="the sum of C times the sample weights is"):
        fgm_by_rule(**options).fit(X, y)
    with pytest.raises(ValueError, match="C times the sample weights"):
        fgm_by_rule().fit(X, y, sample_weight=np.full(60, options["C"]))


@pytest.mark.parametrize("factor", [1e-150, 1e-30, 1e30, 1e58])
@pytest.mark.parametrize("scale", ["std", "max", "unit", None])
def test_extreme_units_leak_no_numpy_warning(factor, scale):
    """Warnings are errors here; an unscaled problem in absurd units may find few features, but says so."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FewerFeaturesWarning)
        clf = fgm_by_rule(5, scale=scale, max_iter=10).fit(X * factor, y)
    clf.selection_.check()
    assert np.isfinite(clf.selection_.certificate.gap)


@pytest.mark.parametrize("kind", [np.float16, np.int64, bool, np.uint8])
def test_other_number_types(kind):
    A = (X * 3).astype(kind) if kind is not bool else X > 0
    clf = fgm_by_rule(5).fit(A, y)
    assert clf.selection_.features.size == 5
    np.testing.assert_allclose(clf.decision_function(A), clf.decision_function(A.astype(np.float64)))


def test_types_that_cannot_be_used_say_so():
    S = sparse.csr_array(X)
    S.indices = S.indices.astype(">i4")
    with pytest.raises(InvalidDataTypeError, match="native byte order"):
        fgm_by_rule().fit(S, y)
    with pytest.raises(InvalidDataTypeError, match="call its collect"):
        fgm_by_rule().fit(pl.DataFrame(X).lazy(), y)
    with pytest.raises(ValueError, match="features_per_turn must be 'auto' or an integer"):
        fgm_by_rule(features_per_turn=np.array([1, 2])).fit(X, y)
    clf = fgm_by_rule(3, n_jobs=np.int64(1)).fit(X, y)
    with pytest.raises(ValueError, match=r"could not convert|numeric"):
        clf.inverse_transform([["a", "b", "c"]])
    with pytest.raises(InvalidDataError, match="X must have 3 columns"):
        clf.inverse_transform(X)


def test_one_row_and_other_storage_at_prediction():
    clf = fgm_by_rule(5).fit(sparse.csc_array(X), y)
    expected = clf.decision_function(X)
    for stored in (sparse.csr_array(X), X.astype(np.float32), np.asfortranarray(X), sparse.coo_array(X)):
        np.testing.assert_allclose(clf.decision_function(stored), expected, rtol=1e-5, atol=1e-6)
    assert clf.predict(X[:1]).shape == (1,)
    assert clf.decision_function(sparse.csr_array(X[:1])).shape == (1,)


def test_both_shortcomings_are_told():
    """A forced column without content, and too few others: two warnings."""
    few = np.where(np.arange(30) < 2, X, 0.0)
    with pytest.warns(FewerFeaturesWarning) as told:
        fgm_by_rule(5, always_include=[7]).fit(few, y)
    messages = [str(warning.message) for warning in told]
    assert any("columns [7] of always_include" in message for message in messages)
    assert any("selected 3 features instead of the requested 5" in message for message in messages)


def test_passes_of_validation_count_the_look_at_the_indices_and_the_copy_by_columns(monkeypatch):
    def passes(S):
        return [s.passes for s in fgm_by_rule(3).fit(S, y).selection_.trace.steps if s.kind == "validate"]

    def share(S):
        return S.indices.nbytes / (S.indices.nbytes + S.indptr.nbytes + S.data.nbytes)

    rows, columns = sparse.csr_array(X), sparse.csc_array(X)
    assert passes(X) == [1.0]
    assert passes(columns) == pytest.approx([1 + share(columns)])
    assert passes(rows) == pytest.approx([2 + share(columns)])
    monkeypatch.setattr(validation, "REORDER_LIMIT", 0)
    assert passes(rows) == pytest.approx([1 + share(rows)])


@pytest.mark.parametrize("width", [30, 10**9])
def test_large_matrices_by_rows_are_not_copied_and_give_the_same(width, monkeypatch):
    S = sparse.csr_array(
        (X.ravel(), np.tile(np.arange(30, dtype=np.int64) * (width // 30), 60), np.arange(0, 1801, 30))
    )
    S.resize(60, width)
    turned = fgm_by_rule(3, scale="unit").fit(S, y)
    monkeypatch.setattr(validation, "REORDER_LIMIT", 0)
    monkeypatch.setattr(sparse.csr_array, "tocsc", None)
    plain = fgm_by_rule(3, scale="unit").fit(S, y)
    assert np.array_equal(plain.selection_.features, turned.selection_.features)
    assert np.allclose(plain.selection_.weights, turned.selection_.weights, rtol=1e-8, atol=0.0)
    assert plain.selection_.trace.passes > turned.selection_.trace.passes
