"""A Design may be given for X: fit, predict, transform and score on it; what cannot work says so and names the way."""

import time

import numpy as np
import pytest
from scipy import sparse
from sklearn.model_selection import cross_val_score

from tests.laws.designs import ComputedDesign, CountingDesign, MappedDesign, all_pairs, processes, products
from tests.problems import many_classes, problem
from tests.rule import fgm_by_rule
from thresher import (
    AdditiveChi2,
    AdditiveGaussian,
    Intersection,
    Polynomial,
    SparseSVC,
    SparseSVCPath,
    StreamClassifier,
    Tree,
)
from thresher.data.blocks.scaled import Scaling
from thresher.data.designs.base import Design
from thresher.data.designs.scaled import ScaledDesign
from thresher.data.input.validation import as_design
from thresher.errors import InvalidDataError, UnsupportedDesignError
from thresher.report.path_display import path_scores
from thresher.results import StopReason

X, Y, _ = problem(60, 30, 2)
S = sparse.csr_array(np.where(np.abs(X) > 1.0, X, 0.0))


def same_model(one, other, rtol=1e-9):
    np.testing.assert_array_equal(one.selection_.features, other.selection_.features)
    np.testing.assert_allclose(one.selection_.weights, other.selection_.weights, rtol=rtol, atol=1e-12)
    np.testing.assert_allclose(one.selection_.intercept, other.selection_.intercept, rtol=rtol, atol=1e-12)
    assert one.selection_.certificate.pick_objective == pytest.approx(other.selection_.certificate.pick_objective)


CLASSIFIERS = [
    fgm_by_rule(4),
    fgm_by_rule(4, scale="std", loss="logistic"),
    SparseSVC(0.1, 0.05, scale=None, fit_intercept=False),
]


@pytest.mark.parametrize("clf", CLASSIFIERS)
@pytest.mark.parametrize("data", [X, np.asfortranarray(X, dtype=np.float32), S, S.tocsc()])
def test_a_design_gives_the_model_of_its_matrix(clf, data):
    design = as_design(data)
    reference = type(clf)(**clf.get_params()).fit(data, Y)
    clf.fit(design, Y)
    same_model(reference, clf, 1e-5 if data.dtype == np.float32 else 1e-9)
    assert clf.n_features_in_ == 30
    assert clf.fingerprint_ == reference.fingerprint_
    np.testing.assert_allclose(clf.decision_function(design), reference.decision_function(data), rtol=1e-4, atol=1e-6)
    assert clf.score(design, Y) == reference.score(data, Y)
    mine, theirs = clf.transform(design), reference.transform(data)
    assert mine.dtype == theirs.dtype
    assert sparse.issparse(mine) == sparse.issparse(theirs)
    difference = mine - theirs
    assert abs(difference).max() == 0.0


def test_fits_on_products_that_nobody_wrote_down_equal_those_on_the_matrix():
    """With threads and without, the same pick, weights, certificate and path as on all products written out."""
    base = X[:, :9]
    noise = 0.1 * np.random.default_rng(0).standard_normal(60)
    y = np.where(base[:, 2] * base[:, 5] + 0.3 * base[:, 7] ** 2 + noise > 0.2, 1, 0)
    whole = products(base, all_pairs(9))
    for options in ({}, {"elimination": False}, {"C": "auto", "cv": 3}, {"loss": "logistic"}):
        reference = fgm_by_rule(3, scale="std", **options).fit(whole, y)
        lazy = fgm_by_rule(3, scale="std", **options).fit(ComputedDesign(base), y)
        same_model(reference, lazy)
        assert reference.path_.numbers.tolist() == lazy.path_.numbers.tolist()
        np.testing.assert_allclose(lazy.decision_function(ComputedDesign(base)), reference.decision_function(whole))
        assert reference.selection_.trace.passes == pytest.approx(lazy.selection_.trace.passes)


def test_the_trace_says_what_was_read():
    """Passes are counted by the block that is read, not by the code that reads it."""
    for options in ({}, {"elimination": False}, {"always_include": [3, 5]}, {"C": "auto", "cv": 3}):
        design = CountingDesign(X)
        clf = fgm_by_rule(4, **options).fit(design, Y)
        trace = clf.selection_.trace
        assert trace.passes == pytest.approx(design.passes())
        for kind, steps in {"scan": ["scan"], "take": ["take", "digest"], "validate": ["validate"]}.items():
            told = sum(step.passes for step in trace.steps if step.kind in steps)
            assert told == pytest.approx(design.passes(kind)), kind


def test_a_design_in_files_serves_many_classes(tmp_path):
    Z, codes, _, _ = many_classes(50, 20, 3, seed=1)
    design = MappedDesign(Z, tmp_path)
    same_model(fgm_by_rule(4).fit(Z, codes), fgm_by_rule(4).fit(design, codes))
    weights = np.arange(50) % 3
    reference = fgm_by_rule(4, per_class=True).fit(Z, codes, weights)
    clf = fgm_by_rule(4, per_class=True).fit(design, codes, sample_weight=weights)
    same_model(reference, clf)
    assert clf.decision_function(design).shape == (50, 3)


KINDS = {
    "columns": {},
    "groups": {"groups": np.arange(30) // 3},
    "tree": {"groups": Tree(np.concatenate([30 + np.arange(30) // 5, np.full(6, -1)]))},
    "polynomial": {"feature_map": Polynomial()},
    "heredity": {"feature_map": Polynomial(heredity="weak")},
    "intersection": {"feature_map": Intersection(levels=7)},
    "levels that are learnt": {"feature_map": Intersection(levels=100)},
    "chi-squared": {"feature_map": AdditiveChi2(order=2)},
    "gaussian groups": {"feature_map": AdditiveGaussian(frequencies=3), "groups": np.arange(30) // 3},
}


WAYS = {"growth": {"elimination": False}, "C": {"C": "auto", "cv": 2}}


@pytest.mark.parametrize(
    ("kind", "options"),
    [(kind, {}) for kind in KINDS] + [(kind, how) for kind in ("columns", "polynomial") for how in WAYS.values()],
)
def test_pieces_that_run_in_other_processes_give_the_picks_of_memory(kind, options, tmp_path):
    """Whatever is made of the columns: those processes have the files, and get vectors and references alone."""
    made_of = KINDS[kind]
    positive_only = getattr(made_of.get("feature_map"), "positive_only", False)
    A = np.abs(X) if positive_only else X
    clf = fgm_by_rule(4, **made_of, **options)
    reference = fgm_by_rule(4, **made_of, **options).fit(A, Y)
    clf.fit(MappedDesign(A, tmp_path, processes()), Y)
    same_model(reference, clf, rtol=1e-8)  # the law for two storages
    if kind in ("polynomial", "heredity"):
        np.testing.assert_array_equal(reference.selection_.pairs, clf.selection_.pairs)
    assert reference.path_.numbers.tolist() == clf.path_.numbers.tolist()


def test_a_scaled_design_has_weights_in_the_units_of_its_base():
    factor, shift = np.linspace(0.5, 2.0, 30), np.linspace(-1.0, 1.0, 30)
    design = ScaledDesign(as_design(X), Scaling(factor, shift))
    reference = fgm_by_rule(4, scale=None).fit((X - shift) * factor, Y)
    clf = fgm_by_rule(4, scale=None).fit(design, Y)
    np.testing.assert_array_equal(clf.selection_.features, reference.selection_.features)
    expected = reference.decision_function((X - shift) * factor)
    np.testing.assert_allclose(clf.decision_function(design), expected, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(clf.decision_function(X), expected, rtol=1e-9, atol=1e-9)
    with pytest.raises(InvalidDataError, match="the Design is already scaled: set scale=None, got 'auto'"):
        fgm_by_rule(4).fit(design, Y)


def test_columns_that_a_design_leaves_out_are_zero():
    wide = sparse.csr_array((S.data, S.indices.astype(np.int64) * 10**6, S.indptr), shape=(60, 3 * 10**7))
    design = as_design(wide)
    assert design.width < design.n_columns == 3 * 10**7
    clf = fgm_by_rule(3, scale=None).fit(wide, Y)
    other = as_design(wide[:5])
    np.testing.assert_allclose(clf.decision_function(other), clf.decision_function(wide[:5]), atol=1e-12)
    np.testing.assert_array_equal(clf.transform(other).toarray(), clf.transform(wide[:5]).toarray())


def test_a_design_without_its_empty_columns_is_a_start_for_another_fit():
    wide = sparse.csr_array((S.data, S.indices.astype(np.int64) * 10**6, S.indptr), shape=(60, 3 * 10**7))
    clf = fgm_by_rule(3, scale=None, warm_start=True).fit(as_design(wide), Y)
    same_model(fgm_by_rule(3, scale=None).fit(wide, Y), clf.fit(as_design(wide), Y))
    first = int(clf.selection_.features[0])
    without = wide.copy()
    without.data[without.indices == first] = 0.0
    without.eliminate_zeros()
    assert first not in clf.fit(as_design(without), Y).selection_.features, "a column that is gone is no start"
    with pytest.raises(InvalidDataError, match=f"always_include contains column {first}, which has only zeros"):
        fgm_by_rule(3, scale=None, always_include=[first]).fit(as_design(without), Y)


def test_displays_score_a_design():
    clf = fgm_by_rule(4).fit(X, Y)
    np.testing.assert_allclose(path_scores(clf, as_design(X), Y), path_scores(clf, X, Y))
    areas = [path_scores(clf, data, Y, scoring="roc_auc") for data in (as_design(S), S)]
    np.testing.assert_allclose(*areas)


@pytest.mark.parametrize(
    "clf", [SparseSVC(scale=None, fit_intercept=False), SparseSVCPath(2, 2, scale=None, fit_intercept=False)]
)
def test_sparse_svm_needs_rows_and_says_so(clf, tmp_path):
    with pytest.raises(UnsupportedDesignError, match=r"MappedDesign can be read by columns only.*use FGMClassifier"):
        clf.fit(MappedDesign(X, tmp_path), Y)


def test_streams_need_rows_and_say_so():
    with pytest.raises(UnsupportedDesignError, match="StreamClassifier learns row by row"):
        StreamClassifier().fit(as_design(X), Y)
    with pytest.raises(UnsupportedDesignError, match="StreamClassifier learns row by row"):
        StreamClassifier().partial_fit(as_design(X), Y, classes=[-1, 1])
    with pytest.raises(UnsupportedDesignError, match="StreamClassifier learns row by row"):
        StreamClassifier(open_ended=True).fit(as_design(X), Y)
    with pytest.raises(UnsupportedDesignError, match="StreamClassifier learns row by row"):
        StreamClassifier(hash_bits=4).fit(X, Y).predict(as_design(X))


def test_splitters_of_scikit_learn_are_told_the_way():
    with pytest.raises(UnsupportedDesignError, match=r"rows of a Design cannot be indexed.*sample_weight=0"):
        cross_val_score(fgm_by_rule(3), as_design(X), Y, error_score="raise")


def test_wrong_designs_and_labels_are_refused():
    clf = fgm_by_rule(3).fit(as_design(X), Y)
    with pytest.raises(InvalidDataError, match="X has 10 features, but the model was fitted with 30"):
        clf.predict(as_design(X[:, :10]))
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        clf.fit(as_design(X), Y[:-1])
    with pytest.raises(ValueError, match="NaN"):
        clf.fit(as_design(X), np.where(np.arange(60) == 3, np.nan, Y))
    with pytest.raises(InvalidDataError, match="NaN or infinity, first in column 4"):
        clf.fit(as_design(np.where(np.arange(30) == 4, np.nan, X)), Y)


def test_max_time_is_heard_inside_a_scan_and_the_model_before_it_is_returned(monkeypatch):
    """The third scan never ends; the fit returns the model of the turn before, with bounds of the scans before."""
    scans, original = [], Design.scan

    def scan(self, score, reducer, deadline=None):
        scans.append(deadline)
        if len(scans) == 4:  # statistics, and three scans: this one is late from its first piece on
            deadline = time.perf_counter()
        return original(self, score, reducer, deadline)

    monkeypatch.setattr(Design, "scan", scan)
    clf = fgm_by_rule(8, elimination=False, features_per_turn=2, max_time=1000.0)
    with pytest.warns(UserWarning, match="stopped early: max_time reached"):
        clf.fit(X, Y)
    assert len(scans) == 4
    assert scans[:2] == [None, None], "one turn is always done"
    assert scans[2] is not None
    assert clf.selection_.stop is StopReason.MAX_TIME
    assert clf.selection_.features.size == 4
    assert 0.0 < clf.selection_.certificate.lower_bound <= clf.selection_.certificate.objective
    clf.selection_.check()


@pytest.mark.parametrize("cut_at", [3, 4, 6])
def test_a_scan_that_is_cut_short_still_gives_as_many_features_as_asked_for(cut_at, monkeypatch):
    """Gathering tops up from the scan before, less what was taken since; the trace knows of the part that was read."""
    scans, original = [], Design.scan

    def scan(self, score, reducer, deadline=None):
        scans.append(deadline)
        late = time.perf_counter() if len(scans) == cut_at and deadline is not None else deadline
        return original(self, score, reducer, late)

    monkeypatch.setattr(Design, "scan", scan)
    design = CountingDesign(X)
    clf = fgm_by_rule(8, n_candidates=2.0, features_per_turn=2, max_time=1000.0).fit(design, Y)
    assert len(scans) == cut_at
    assert clf.selection_.features.size == 8
    assert clf.selection_.trace.steps[-1].kind == "thresh"
    assert clf.selection_.trace.passes == pytest.approx(design.passes(), abs=0.5)
    clf.selection_.check()
