"""Products of columns: FGMClassifier(feature_map="polynomial")."""

import pickle
import time
import warnings

import numpy as np
import pandas as pd
import pytest
import sklearn
from scipy import sparse
from sklearn.base import clone
from sklearn.model_selection import cross_val_score
from sklearn.utils.estimator_checks import parametrize_with_checks

import thresher
from tests.laws.designs import MappedDesign
from tests.oracles import products as oracle
from tests.problems import fold_scores, folds_of, many_classes
from tests.rule import fgm_by_rule
from thresher import FewerFeaturesWarning, FGMClassifier, InvalidDataError, Polynomial
from thresher.data.blocks.scaled import Scaling
from thresher.data.designs.base import Design
from thresher.data.designs.scaled import ScaledDesign
from thresher.data.input.validation import as_design
from thresher.features.polynomial.products import ProductDesign
from thresher.features.polynomial.terms import MOST_INPUTS, numbers_of, terms_of
from thresher.features.polynomial.tiles import TilePiece
from thresher.features.polynomial.walks import WalkPiece
from thresher.report.path_display import path_scores
from thresher.results import StopReason

RNG = np.random.default_rng(0)
X = np.round(RNG.standard_normal((90, 14)) * 64) / 64  # exact in float32
FEW = np.where(RNG.random(X.shape) < 0.5, X, 0.0)
FEW[:, 6] = FEW[:, 6] != 0.0
FEW[:, 9] = 0.0
y = np.where(X[:, 2] * X[:, 5] + 0.5 * X[:, 7] ** 2 - X[:, 1] + 0.4 * RNG.standard_normal(90) > 0.3, 1, -1)
y_few = np.where(FEW[:, 2] * FEW[:, 5] - FEW[:, 1] + 0.3 * RNG.standard_normal(90) > 0.0, 1, -1)
STORAGES = {
    "dense_C": np.asarray,
    "dense_F": np.asfortranarray,
    "dense_float32": lambda A: A.astype(np.float32),
    "csr": sparse.csr_array,
    "csc": sparse.csc_array,
    "csr_float32": lambda A: sparse.csr_array(A.astype(np.float32)),
    "design": lambda A: as_design(np.array(A)),
    "sparse_design": lambda A: as_design(sparse.csc_array(A)),
}
PARTS = ("objective", "lower_bound", "pick_objective", "pick_bound")


def scaled(A, scale, weights=None):
    """The columns on the scale of a fit with an intercept."""
    weights = np.ones(len(A)) if weights is None else weights
    mean = weights @ A / weights.sum() if scale == "std" else np.zeros(A.shape[1])
    size = {
        None: np.ones(A.shape[1]),
        "std": np.sqrt(weights @ (A - mean) ** 2 / weights.sum()),
        "max": np.abs(A[weights > 0]).max(axis=0),
        "unit": np.sqrt(weights @ A**2),
    }[scale]
    return (A - mean) / np.where(size > 0.0, size, 1.0)


def assert_as_written_out(short, long, A, M):
    """The same picks, path, certificate and scores; A are the columns, M all terms of the scaled ones."""
    np.testing.assert_array_equal(short.selection_.features, long.selection_.features)
    for part in PARTS:
        expected = getattr(long.selection_.certificate, part)
        assert getattr(short.selection_.certificate, part) == pytest.approx(expected, rel=1e-5)
    np.testing.assert_array_equal(short.path_.numbers, long.path_.numbers)
    for number in short.path_.numbers:
        np.testing.assert_array_equal(short.path_.at(number).features, long.path_.at(number).features)
    np.testing.assert_allclose(short.decision_function(A), long.decision_function(M), atol=1e-5)


@pytest.mark.parametrize("scale", ["std", "max", "unit", None])
@pytest.mark.parametrize("loss", ["squared_hinge", "logistic"])
@pytest.mark.parametrize("elimination", [True, False])
def test_everything_is_as_on_the_matrix_written_out(loss, elimination, scale):
    options = {"loss": loss, "elimination": elimination}
    M = oracle.written_out(Polynomial(), scaled(X, scale), X)
    short = fgm_by_rule(5, feature_map="polynomial", scale=scale, **options).fit(X, y)
    assert_as_written_out(short, fgm_by_rule(5, scale=None, **options).fit(M, y), X, M)


@pytest.mark.parametrize("storage", STORAGES)
@pytest.mark.parametrize("loss", ["squared_hinge", "logistic"])
def test_every_storage_is_as_the_matrix_written_out(storage, loss):
    M = oracle.written_out(Polynomial(), scaled(FEW, "max"), FEW)
    short = fgm_by_rule(4, feature_map="polynomial", scale="max", loss=loss).fit(STORAGES[storage](FEW), y_few)
    assert_as_written_out(short, fgm_by_rule(4, scale=None, loss=loss).fit(M, y_few), FEW, M)
    scores = short.decision_function(FEW)
    for form in STORAGES.values():
        np.testing.assert_allclose(short.decision_function(form(FEW)), scores, rtol=1e-12, atol=1e-12)
        np.testing.assert_array_equal(short.predict(form(FEW)), short.predict(FEW))


@pytest.mark.parametrize(
    "polynomial",
    [Polynomial(0.5, 3.0), Polynomial(interaction_only=True), Polynomial(2.0, 0.0), Polynomial(1.0, 0.0, True)],
    ids=str,
)
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_the_parameters_of_the_kernel(polynomial, form):
    M = oracle.written_out(polynomial, scaled(FEW, "max"), FEW)
    short = fgm_by_rule(4, feature_map=polynomial, scale="max").fit(form(FEW), y_few)
    assert_as_written_out(short, fgm_by_rule(4, scale=None).fit(M, y_few), FEW, M)
    assert short.fitted_features_.n_candidates == oracle.existing(polynomial, FEW).sum()
    i, j = short.selection_.pairs.T
    assert polynomial.coef0 > 0.0 or (j >= 0).all()
    assert not (polynomial.interaction_only and (i == j).any())


@pytest.mark.parametrize("form", [np.asarray, sparse.csc_array])
def test_choice_of_C_is_as_on_the_matrix_written_out(form):
    M = oracle.written_out(Polynomial(), scaled(FEW, "max"), FEW)
    folds = folds_of(3, FEW, y_few)  # those of M are others
    short = fgm_by_rule(4, feature_map="polynomial", scale="max", C="auto", cv=folds).fit(form(FEW), y_few)
    long = fgm_by_rule(4, scale=None, C="auto", cv=folds).fit(M, y_few)
    assert short.C_ == long.C_
    np.testing.assert_array_equal(fold_scores(short), fold_scores(long))
    assert_as_written_out(short, long, FEW, M)


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("class_weight", [None, {-1: 2.0, 1: 0.5}])
def test_weights_are_as_on_the_matrix_written_out(form, class_weight):
    """Rows without weight have no say in what is constant, two-valued, or large."""
    A = FEW.copy()
    weights = np.random.default_rng(1).integers(0, 3, 90).astype(float)
    A[weights == 0.0, 3] = 50.0
    A[:, 4] = np.where(weights > 0.0, 1.5, A[:, 4])
    A[:, 8] = np.where(weights > 0.0, A[:, 8] > 0.0, A[:, 8])
    both = weights * (1.0 if class_weight is None else np.where(y_few > 0, 0.5, 2.0))
    M = oracle.written_out(Polynomial(), scaled(A, "max", both), A[weights > 0.0])
    options = {"class_weight": class_weight, "n_candidates": 4.0}
    short = fgm_by_rule(4, feature_map="polynomial", scale="max", **options).fit(form(A), y_few, weights)
    long = fgm_by_rule(4, scale=None, **options).fit(M, y_few, weights)
    assert_as_written_out(short, long, A, M)


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_weights_are_repetitions(form):
    weights = np.random.default_rng(1).integers(0, 3, 90)
    weighted = fgm_by_rule(4, feature_map="polynomial", n_candidates=4.0).fit(form(FEW), y_few, weights)
    repeated = clone(weighted).fit(form(np.repeat(FEW, weights, axis=0)), np.repeat(y_few, weights))
    np.testing.assert_array_equal(weighted.selection_.features, repeated.selection_.features)
    np.testing.assert_allclose(weighted.decision_function(FEW), repeated.decision_function(FEW), atol=1e-4)
    np.testing.assert_allclose(weighted.selection_.importance, repeated.selection_.importance, atol=1e-4)


@pytest.mark.parametrize("per_class", [False, True])
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_many_classes_are_as_on_the_matrix_written_out(per_class, form):
    Z, codes, *_ = many_classes(90, 10, seed=3)
    codes = np.where(Z[:, 7] * Z[:, 8] > 0.8, 2, codes)
    M = oracle.written_out(Polynomial(), scaled(Z, "max"), Z)
    options = {"per_class": per_class, "n_candidates": 4.0}
    short = fgm_by_rule(4, feature_map="polynomial", scale="max", **options).fit(form(Z), codes)
    long = fgm_by_rule(4, scale=None, **options).fit(M, codes)
    assert_as_written_out(short, long, Z, M)
    assert short.decision_function(Z).shape == (90, 3)
    np.testing.assert_allclose(
        short.transform(Z) @ short.selection_.weights + short.intercept_, short.decision_function(Z), atol=1e-10
    )


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("elimination", [True, False])
def test_columns_always_included_are_linear_terms_and_excluded_ones_in_no_product(form, elimination):
    M = oracle.written_out(Polynomial(), scaled(FEW, "max"), FEW, exclude=[2, 10])
    forced = numbers_of(np.array([11, 0]), np.array([-1, -1]))
    short = fgm_by_rule(
        5, feature_map="polynomial", scale="max", always_include=[11, 0], exclude=[2, 10], elimination=elimination
    ).fit(form(FEW), y_few)
    long = fgm_by_rule(5, scale=None, always_include=forced.tolist(), elimination=elimination).fit(M, y_few)
    assert_as_written_out(short, long, FEW, M)
    pairs = short.selection_.pairs
    assert {(11, -1), (0, -1)} <= set(map(tuple, pairs.tolist()))
    assert not np.isin(pairs, [2, 10]).any()
    of = oracle.existing(Polynomial(), FEW, exclude=[2, 10]).sum()
    assert f"no 5 of the {of} terms (2 always included)" in short.proof()


def test_a_constant_column_may_be_included():
    A = FEW.copy()
    A[:, 9] = 2.5
    clf = fgm_by_rule(4, feature_map="polynomial", always_include=[9], n_candidates=3.0)
    clf.set_params(scale="max").fit(A, y_few)
    assert [9, -1] in clf.selection_.pairs.tolist()
    with pytest.warns(FewerFeaturesWarning, match=r"columns \[9\] of always_include have weight zero"):  # once centred
        clf.set_params(scale="auto").fit(A, y_few)
    assert np.isfinite(clf.decision_function(A)).all()


# what a model says


@pytest.mark.parametrize("storage", STORAGES)
@pytest.mark.parametrize("scale", ["auto", "max", "unit", None])
def test_scores_are_products_times_weights(storage, scale):
    clf = fgm_by_rule(5, feature_map="polynomial", scale=scale, n_candidates=3.0).fit(STORAGES[storage](FEW), y_few)
    Z = scaled(FEW, clf.selection_.scale)
    i, j = clf.selection_.pairs.T
    products = Z[:, i] * np.where(j < 0, 1.0, Z[:, j])
    transformed = clf.transform(STORAGES[storage](FEW))
    assert sparse.issparse(transformed) == (storage in ("csr", "csc", "csr_float32", "sparse_design"))
    np.testing.assert_allclose(
        transformed.toarray() if sparse.issparse(transformed) else transformed, products, atol=1e-6
    )
    scores = transformed @ clf.selection_.weights + clf.intercept_
    np.testing.assert_allclose(scores, clf.decision_function(FEW), atol=1e-6)
    np.testing.assert_allclose(
        clf.selection_.importance, np.abs(clf.selection_.weights) * products.std(axis=0), rtol=1e-6
    )
    np.testing.assert_array_equal(clf.coef_.indices, clf.selection_.features)
    np.testing.assert_array_equal(clf.coef_.data, clf.selection_.weights)


@pytest.mark.parametrize("form", STORAGES.values(), ids=STORAGES)
def test_rows_are_scored_some_at_a_time(form, monkeypatch):
    clf = fgm_by_rule(3, feature_map="polynomial", n_candidates=2.0).fit(FEW, y_few)
    expected = clf.decision_function(FEW)
    monkeypatch.setattr("thresher.features.polynomial.products.WRITTEN_ENTRIES", 20)
    np.testing.assert_allclose(clf.decision_function(form(FEW)), expected, rtol=1e-12, atol=1e-12)


def test_single_precision_stays_single_precision():
    clf = fgm_by_rule(3, feature_map="polynomial", n_candidates=2.0).fit(FEW, y_few)
    expected = clf.transform(FEW)
    assert expected.dtype == np.float64
    for form in (np.asarray, sparse.csr_array, lambda A: as_design(np.array(A))):
        found = clf.transform(form(FEW.astype(np.float32)))
        assert found.dtype == np.float32
        np.testing.assert_allclose(found.toarray() if sparse.issparse(found) else found, expected, rtol=1e-6, atol=1e-6)
    assert clf.transform(np.ones((2, 14), dtype=int)).dtype == np.float64


def test_names_pairs_and_support():
    frame = pd.DataFrame(X, columns=[f"gene {j}" for j in range(14)])
    clf = fgm_by_rule(6, feature_map="polynomial", n_candidates=3.0).fit(frame, y)
    pairs = clf.selection_.pairs.tolist()
    assert [2, 5] in pairs
    assert any(i == j for i, j in pairs)
    assert any(j < 0 for _, j in pairs)
    expected = [f"gene {i}" + ("" if j < 0 else "^2" if i == j else f"*gene {j}") for i, j in pairs]
    assert clf.get_feature_names_out().tolist() == expected
    other = clone(clf).fit(X, y)
    assert other.get_feature_names_out().tolist() == [name.replace("gene ", "x") for name in expected]
    letters = list("abcdefghijklmn")
    assert other.get_feature_names_out(letters)[pairs.index([2, 5])] == "c*f"
    columns = sorted({column for pair in pairs for column in pair if column >= 0})
    assert clf.get_support(indices=True).tolist() == columns
    assert np.flatnonzero(clf.get_support()).tolist() == columns
    assert clf.get_support().shape == (14,)
    for number in clf.path_.numbers:
        chosen = clf.at(number)
        assert chosen.transform(frame).shape == (90, number)
        np.testing.assert_array_equal(chosen.selection_.pairs, clf.path_.at(number).pairs)
        assert len(chosen.get_feature_names_out()) == number
    assert fgm_by_rule(3).fit(X, y).selection_.pairs is None
    assert "6 features selected, as requested" in clf.selection_.stop_reason
    assert "no 6 of the 119 terms" in clf.proof()


def test_output_as_data_frames():
    frame = pd.DataFrame(X, columns=[f"gene {j}" for j in range(14)], index=[f"row {i}" for i in range(90)])
    clf = fgm_by_rule(3, feature_map="polynomial", n_candidates=3.0).set_output(transform="pandas").fit(frame, y)
    out = clf.transform(frame)
    assert out.columns.tolist() == clf.get_feature_names_out().tolist()
    assert out.index.tolist() == frame.index.tolist()
    np.testing.assert_array_equal(out.to_numpy(), clf.set_output(transform="default").transform(frame))


def test_only_selected_columns_must_be_valid():
    frame = pd.DataFrame(X, columns=[f"gene {j}" for j in range(14)])
    clf = fgm_by_rule(3, feature_map="polynomial", n_candidates=2.0).fit(frame, y)
    chosen = clf.get_support(indices=True)
    other = frame.copy()
    other.iloc[:, np.setdiff1d(np.arange(14), chosen)] = np.nan
    np.testing.assert_array_equal(clf.predict(other), clf.predict(frame))
    np.testing.assert_array_equal(clf.transform(other), clf.transform(frame))
    nameless = clone(clf).fit(X, y)
    for value in (np.nan, np.inf):
        bad = frame.copy()
        bad.iloc[5, chosen[1]] = value
        for ask in (clf.predict, clf.transform):
            with pytest.raises(InvalidDataError, match=f"NaN or infinity.*'gene {chosen[1]}'"):
                ask(bad)
        with pytest.raises(InvalidDataError, match=f"NaN or infinity.*column {chosen[1]}"):
            nameless.predict(sparse.csr_array(bad.to_numpy()))
    with pytest.raises(InvalidDataError, match="NaN or infinity"):
        clf.fit(other, y)


def test_there_is_no_way_back_from_products():
    clf = fgm_by_rule(3, feature_map="polynomial", n_candidates=2.0).fit(X, y)
    with pytest.raises(ValueError, match=r"inverse_transform is not possible.*get_support\(indices=True\)"):
        clf.inverse_transform(clf.transform(X))


# refusals


@pytest.mark.parametrize(
    ("options", "match"),
    [
        ({"groups": np.arange(14) // 2}, 'groups and feature_map="polynomial" cannot be combined'),
        ({"feature_map": Polynomial(coef0=0), "always_include": [3]}, r"always_include needs linear terms.*coef0=0"),
        ({"feature_map": "polynomials"}, "feature_map must be one of .*'polynomial'.*got 'polynomials'"),
        ({"exclude": range(14)}, "exclude names all 14 columns"),
        ({"always_include": [3], "exclude": [3]}, "column 3 is in always_include and in exclude"),
        ({"n_features_to_select": 120}, "n_features_to_select=120"),
        ({"n_features_to_select": 105, "exclude": [3]}, "n_features_to_select=105, but exclude leaves only 104 of the"),
    ],
)
def test_options_that_do_not_go_together(options, match):
    with pytest.raises(ValueError, match=match):
        fgm_by_rule(**{"n_features_to_select": 3, "feature_map": "polynomial"} | options).fit(X, y)


def test_centring_a_sparse_matrix_is_refused_with_the_way_on():
    for form in (sparse.csr_array, sparse.csc_array, lambda A: as_design(sparse.csr_array(A))):
        clf = fgm_by_rule(3, feature_map="polynomial", scale="std", n_candidates=2.0)
        with pytest.raises(InvalidDataError, match=r'products of centred sparse columns.*"max".*fit_intercept=False'):
            clf.fit(form(FEW), y_few)
        M = oracle.written_out(Polynomial(), FEW / np.where(FEW.std(axis=0) > 0.0, FEW.std(axis=0), 1.0), FEW)
        clf.set_params(fit_intercept=False).fit(form(FEW), y_few)
        long = fgm_by_rule(3, scale=None, fit_intercept=False, n_candidates=2.0).fit(M, y_few)
        assert_as_written_out(clf, long, FEW, M)
    dense = fgm_by_rule(3, feature_map="polynomial", n_candidates=2.0)
    assert dense.fit(X, y).selection_.scale == "std"
    assert dense.fit(sparse.csr_array(X), y).selection_.scale == "max"


def test_a_single_column_and_too_many_are_refused():
    with pytest.raises(InvalidDataError, match=r"X has 1 feature\(s\): products need at least two"):
        fgm_by_rule(1, feature_map="polynomial").fit(X[:, :1], y)
    wide = sparse.csr_array((np.ones(3), np.array([0, 5, 2**40]), np.array([0, 1, 3])), shape=(2, 2**41))
    with pytest.raises(ValueError, match=f"products are possible for at most {MOST_INPUTS:,} columns"):
        fgm_by_rule(1, feature_map="polynomial").fit(wide, [0, 1])


@pytest.mark.parametrize(("size", "word"), [(1e35, "large"), (1e-35, "small")])
def test_values_whose_products_leave_the_range_are_refused_with_the_way_on(size, word):
    A = size * X
    most = np.unravel_index(np.abs(A).argmax(), A.shape)[1]
    frame = pd.DataFrame(A, columns=[f"gene {j}" for j in range(14)])
    clf = fgm_by_rule(3, feature_map="polynomial", scale=None, n_candidates=2.0)
    with pytest.raises(InvalidDataError, match=f"column 'gene {most}' of X .* too {word} .*use scale='max'"):
        clf.fit(frame, y)
    reference = clone(clf).set_params(scale="max").fit(X, y)
    np.testing.assert_array_equal(
        clf.set_params(scale="max").fit(frame, y).selection_.pairs, reference.selection_.pairs
    )


# starts, copies, time


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_a_warm_start_from_the_answer_is_short_and_from_other_features_none(form):
    options = {"feature_map": "polynomial", "warm_start": True, "scale": "max"}
    clf = fgm_by_rule(4, features_per_turn=1, **options).fit(form(FEW), y_few)
    before, turns = clf.selection_.features, clf.n_iter_
    again = clf.fit(form(FEW), y_few)
    np.testing.assert_array_equal(again.selection_.features, before)
    assert again.n_iter_ < turns
    clf.set_params(feature_map="columns").fit(form(FEW), y_few)
    assert clf.selection_.pairs is None
    fresh = fgm_by_rule(4, features_per_turn=1, scale="max").fit(form(FEW), y_few)
    np.testing.assert_array_equal(clf.selection_.features, fresh.selection_.features)
    clf.set_params(feature_map="polynomial").fit(form(FEW), y_few)
    np.testing.assert_array_equal(clf.selection_.features, before)
    dropped = int(clf.selection_.pairs[0, 0])
    clf.set_params(exclude=[dropped]).fit(form(FEW), y_few)
    assert not any((station.pairs == dropped).any() for station in clf.path_)
    other = clf.set_params(exclude=None, feature_map=Polynomial(3.0, 0.0)).fit(form(FEW), y_few)
    assert (other.selection_.pairs[:, 1] >= 0).all()


def test_copies_pickles_and_model_files(tmp_path):
    for polynomial in (Polynomial(0.5, 2.0), "polynomial"):
        clf = fgm_by_rule(3, feature_map=polynomial, n_candidates=2.0).fit(X, y)
        assert clone(clf).feature_map == polynomial
        assert "polynomial" in repr(clf).lower()
        thresher.save(clf, tmp_path / "model.json")
        for other in (pickle.loads(pickle.dumps(clf)), thresher.load(tmp_path / "model.json")):
            assert other.feature_map == polynomial
            np.testing.assert_array_equal(other.selection_.pairs, clf.selection_.pairs)
            for number in clf.path_.numbers:
                scores = (each.at(number).decision_function(X) for each in (clf, other))
                np.testing.assert_array_equal(*scores)


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_threads_do_not_change_the_model(form, monkeypatch):
    monkeypatch.setattr("thresher.data.workers.SMALL", 0)
    one, three = (fgm_by_rule(4, feature_map="polynomial", n_jobs=jobs).fit(form(FEW), y_few) for jobs in (1, 3))
    np.testing.assert_array_equal(one.selection_.features, three.selection_.features)
    np.testing.assert_array_equal(one.selection_.weights, three.selection_.weights)


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_max_time_is_heard_inside_a_scan(form, monkeypatch):
    """The third scan of products never ends: the model of the turn before is returned."""
    scans, original = [], Design.scan

    def scan(self, score, reducer, deadline=None):
        if isinstance(self, ProductDesign):
            scans.append(deadline)
        return original(self, score, reducer, time.perf_counter() if len(scans) == 3 else deadline)

    monkeypatch.setattr(Design, "scan", scan)
    clf = fgm_by_rule(8, feature_map="polynomial", elimination=False, features_per_turn=2, max_time=1000.0)
    with pytest.warns(FewerFeaturesWarning, match="stopped early: max_time reached"):
        clf.fit(form(FEW), y_few)
    assert clf.selection_.stop is StopReason.MAX_TIME
    assert clf.selection_.features.size == 4
    clf.selection_.check()
    assert clf.predict(FEW).shape == (90,)


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_there_is_a_model_however_short_the_time(form):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FewerFeaturesWarning)
        clf = fgm_by_rule(5, feature_map="polynomial", max_time=1e-9).fit(form(FEW), y_few)
    assert clf.selection_.stop is StopReason.MAX_TIME
    assert clf.selection_.features.size >= 1
    assert clf.predict(FEW).shape == (90,)


@pytest.mark.parametrize(("form", "piece"), [(np.asarray, TilePiece), (sparse.csr_array, WalkPiece)])
def test_an_interrupt_inside_a_scan_leaves_the_model_so_far(form, piece, monkeypatch):
    calls, original = [], piece.reduced

    def reduced(self, *args):
        calls.append(self)
        if len(calls) == 4:
            raise KeyboardInterrupt
        return original(self, *args)

    monkeypatch.setattr(piece, "reduced", reduced)
    clf = fgm_by_rule(8, feature_map="polynomial", features_per_turn=1)
    with pytest.raises(KeyboardInterrupt):
        clf.fit(form(FEW), y_few)
    assert clf.selection_.stop_reason == "interrupted"
    assert clf.selection_.pairs.shape[0] >= 1
    assert clf.predict(FEW).shape == (90,)


# designs


def test_designs_with_a_scale_of_their_own():
    factor, shift = np.linspace(0.5, 2.0, 14), np.linspace(-1.0, 1.0, 14)
    design = ScaledDesign(as_design(X), Scaling(factor, shift))
    M = oracle.written_out(Polynomial(), (X - shift) * factor, X)
    clf = fgm_by_rule(4, feature_map="polynomial", scale=None).fit(design, y)
    assert_as_written_out(clf, fgm_by_rule(4, scale=None).fit(M, y), X, M)
    np.testing.assert_allclose(clf.decision_function(design), clf.decision_function(X), atol=1e-12)


def test_columns_in_files(tmp_path):
    design = MappedDesign(X, tmp_path)
    expected = fgm_by_rule(4, feature_map="polynomial").fit(X, y)
    clf = fgm_by_rule(4, feature_map="polynomial").fit(design, y)
    np.testing.assert_array_equal(clf.selection_.pairs, expected.selection_.pairs)
    np.testing.assert_allclose(clf.decision_function(design), expected.decision_function(X), atol=1e-9)


def test_columns_of_zeros_that_a_design_omits():
    step = 10**6
    S = sparse.csr_array(FEW)
    wide = sparse.csr_array((S.data, S.indices.astype(np.int64) * step, S.indptr), shape=(90, 14 * step))
    options = {"feature_map": "polynomial", "scale": "max", "n_candidates": 3.0, "warm_start": True}
    narrow = fgm_by_rule(4, always_include=[3], exclude=[1], **options).fit(FEW, y_few)
    for form in (lambda A: A, as_design):
        clf = fgm_by_rule(4, always_include=[3 * step], exclude=[step, 7], **options).fit(form(wide), y_few)
        pairs = np.where(narrow.selection_.pairs < 0, -1, step * narrow.selection_.pairs)
        np.testing.assert_array_equal(clf.selection_.pairs, pairs)
        np.testing.assert_array_equal(clf.get_support(indices=True), step * narrow.get_support(indices=True))
        scores = narrow.decision_function(FEW)
        for other in (wide, as_design(wide)):
            np.testing.assert_allclose(clf.decision_function(other), scores, atol=1e-9)
            np.testing.assert_allclose(clf.transform(other).toarray(), narrow.transform(FEW), atol=1e-12)
        for number in clf.path_.numbers:
            at = narrow.path_.at(number).pairs
            np.testing.assert_array_equal(clf.path_.at(number).pairs, np.where(at < 0, -1, step * at))
        np.testing.assert_array_equal(clf.fit(form(wide), y_few).selection_.pairs, pairs)


def test_the_path_is_scored():
    clf = fgm_by_rule(3, feature_map="polynomial", n_candidates=2.0).fit(X, y)
    expected = [clf.at(number).score(X, y) for number in clf.path_.numbers]
    for A in (X, sparse.csc_array(X), as_design(X)):
        np.testing.assert_allclose(path_scores(clf, A, y), expected)
    assert cross_val_score(clf, X, y, cv=3).shape == (3,)


def test_fewer_terms_than_asked_for_are_told():
    A = np.zeros((90, 3))
    A[:, 0], A[:, 1] = FEW[:, 6], X[:, 2] > 0.0
    with pytest.warns(FewerFeaturesWarning, match="selected 3 features instead of the requested 5"):
        clf = fgm_by_rule(5, feature_map="polynomial").fit(A, y)
    assert sorted(clf.selection_.pairs.tolist()) == [[0, -1], [0, 1], [1, -1]]


@parametrize_with_checks(
    [
        FGMClassifier(feature_map="polynomial"),
        FGMClassifier(feature_map=Polynomial(interaction_only=True), loss="logistic", elimination=False, scale="max"),
    ]
)
def test_scikit_learn_checks(estimator, check):
    if sklearn.__version__.startswith("1.6.") and "sample_weight_equivalence" in check.func.__name__:
        pytest.skip("scikit-learn 1.6 makes the labels two-class after shuffling, so its two fits differ in labels")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FewerFeaturesWarning)
        check(estimator)


def test_a_design_of_products_is_not_X():
    design = as_design(X)
    made = ProductDesign(design, terms_of(design, Polynomial(), np.ones(len(X))))
    with pytest.raises(thresher.UnsupportedDesignError, match='feature_map="polynomial"'):
        fgm_by_rule(2, scale=None).fit(made, y)
