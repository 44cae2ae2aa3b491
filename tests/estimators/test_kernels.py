"""Additive kernels: FGMClassifier(feature_map=...)."""

import pickle
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.metrics import accuracy_score, make_scorer
from sklearn.model_selection import cross_val_score
from sklearn.utils import get_tags

import thresher
from tests.oracles import kernels as oracle
from tests.problems import fold_scores, many_classes, problem
from tests.rule import fgm_by_rule
from thresher import AdditiveChi2, AdditiveGaussian, Groups, Intersection, InvalidDataError, Tree
from thresher.data.blocks.scaled import Scaling
from thresher.data.designs.scaled import ScaledDesign
from thresher.data.input.validation import as_design
from thresher.families.fgm.spec import FitSpec, is_too_much_work
from thresher.features.fitted_columns import ColumnFeatures
from thresher.report.path_display import path_scores

X, y, _ = problem(80, 24, 4)
X = np.round(np.abs(X) * (np.random.default_rng(0).random(X.shape) < 0.8), 3)
KERNELS = {
    "intersection": Intersection(12),
    "exact": Intersection(power=0.5),
    "chi2": AdditiveChi2(),
    "gaussian": AdditiveGaussian(),
}
STORAGES = [np.asarray, np.asfortranarray, sparse.csr_array, sparse.csc_array, lambda A: as_design(np.asarray(A))]
EACH = pytest.mark.parametrize("name", KERNELS)


def written_out(kernel, A):
    """The numbers of all columns, for the scale that the kernel means by "auto", and how many a column has."""
    largest, std = A.max(axis=0), A.std(axis=0)
    factor = 1.0 / std if not kernel.positive_only else 1.0 / np.where(largest > 0.0, largest, 1.0)
    made = oracle.written_out(kernel, A, factor, A.mean(axis=0), largest)
    return made, made.shape[1] // A.shape[1]


@EACH
@pytest.mark.parametrize("loss", ["squared_hinge", "logistic"])
def test_everything_is_as_on_the_matrix_written_out(name, loss):
    kernel = KERNELS[name]
    Z, size = written_out(kernel, X)
    groups = Groups(np.repeat(np.arange(24), size), weights="none")
    short = fgm_by_rule(3, feature_map=kernel, loss=loss).fit(X, y)
    long = fgm_by_rule(3, groups=groups, scale=None, loss=loss).fit(Z, y)
    assert short.fitted_features_.size == size
    np.testing.assert_array_equal(short.selection_.groups, long.selection_.groups)
    np.testing.assert_array_equal(short.selection_.features, long.selection_.features)
    for part in ("objective", "lower_bound", "pick_objective", "pick_bound"):
        expected = getattr(long.selection_.certificate, part)
        assert getattr(short.selection_.certificate, part) == pytest.approx(expected, rel=1e-5)
    np.testing.assert_array_equal(short.path_.numbers, long.path_.numbers)
    for number in short.path_.numbers:
        np.testing.assert_array_equal(short.path_.at(number).groups, long.path_.at(number).groups)
    np.testing.assert_allclose(short.decision_function(X), long.decision_function(Z), atol=1e-5)


@EACH
def test_groups_of_inputs_are_units(name):
    kernel, labels = KERNELS[name], np.arange(24) // 3
    Z, size = written_out(kernel, X)
    short = fgm_by_rule(2, feature_map=kernel, groups=labels, n_candidates=3.0).fit(X, y)
    weights = np.full(8, 3.0)  # inputs of a group
    long = fgm_by_rule(2, groups=Groups(np.repeat(labels, size), weights), scale=None, n_candidates=3.0).fit(Z, y)
    np.testing.assert_array_equal(short.selection_.groups, long.selection_.groups)
    np.testing.assert_allclose(short.decision_function(X), long.decision_function(Z), atol=1e-5)
    np.testing.assert_array_equal(short.get_support(), np.isin(labels, short.selection_.groups))
    assert "2 groups selected" in short.selection_.stop_reason
    tree = Tree(np.concatenate([24 + labels, np.full(8, -1)]))
    assert fgm_by_rule(2, feature_map=kernel, groups=tree, elimination=False).fit(X, y).selection_.groups.size == 2


@EACH
def test_exactly_as_many_inputs_as_asked_for(name):
    clf = fgm_by_rule(4, feature_map=KERNELS[name]).fit(X, y)
    for number in range(1, 9):
        chosen = clf.at(number)
        inputs = chosen.selection_.groups
        assert inputs.size == number
        np.testing.assert_array_equal(chosen.get_support(indices=True), inputs)
        np.testing.assert_array_equal(chosen.transform(X), X[:, inputs])
        assert chosen.get_feature_names_out().tolist() == [f"x{j}" for j in inputs]
        assert np.isfinite(chosen.decision_function(X)).all()
    assert "4 inputs selected, as requested" in clf.selection_.stop_reason
    assert "no 4 of the 24 inputs" in clf.proof()
    assert "2 inputs, from the path" in clf.at(2).selection_.stop_reason
    assert clf.get_support().shape == (24,)
    back = clf.inverse_transform(clf.transform(X))
    assert back.shape == X.shape
    size = clf.fitted_features_.size
    assert clf.coef_.shape == (1, 24 * size)
    assert clf.fitted_features_.names([size + 1], "c{}".format) == ["c1[1]"]
    assert clf.interchangeable(X, 0.9).features.tolist() == clf.selection_.groups.tolist()


@EACH
@pytest.mark.parametrize("storage", STORAGES)
def test_every_storage_and_number_of_threads_gives_the_same_model(name, storage):
    expected = fgm_by_rule(3, feature_map=KERNELS[name]).fit(X, y)
    scores = expected.decision_function(X)
    for n_jobs in (1, 3):
        found = fgm_by_rule(3, feature_map=KERNELS[name], n_jobs=n_jobs).fit(storage(X), y)
        np.testing.assert_array_equal(found.selection_.features, expected.selection_.features)
        np.testing.assert_allclose(found.decision_function(storage(X)), scores, atol=1e-7)


def test_columns_of_zeros_and_very_wide_data():
    wide = sparse.lil_array((80, 120_000))
    wide[:, 0:120_000:5000] = X
    wide = sparse.csr_array(wide)
    narrow = fgm_by_rule(3, feature_map=AdditiveChi2(2), always_include=[2]).fit(X, y)
    found = fgm_by_rule(3, feature_map=AdditiveChi2(2), always_include=[10_000], exclude=[7]).fit(wide, y)
    np.testing.assert_array_equal(found.selection_.groups, 5000 * narrow.selection_.groups)
    np.testing.assert_allclose(found.decision_function(wide), narrow.decision_function(X), atol=1e-7)
    assert "no 3 of the 119,999 inputs (1 always included)" in found.proof()
    again = fgm_by_rule(3, feature_map=AdditiveChi2(2), warm_start=True).fit(wide, y)
    turns = again.n_iter_
    assert again.fit(wide, y).n_iter_ <= turns


@EACH
@pytest.mark.parametrize("per_class", [False, True])
def test_many_classes(name, per_class):
    Z, codes, *_ = many_classes(90, 20, seed=3)
    clf = fgm_by_rule(3, feature_map=KERNELS[name], per_class=per_class, n_candidates=2.0).fit(np.abs(Z), codes)
    assert clf.selection_.groups.size == 3 if not per_class else 3 <= clf.selection_.groups.size <= 9
    assert clf.decision_function(np.abs(Z)).shape == (90, clf.classes_.size)


def test_weights_are_repetitions():
    weights = np.random.default_rng(1).integers(0, 3, 80)
    kernel = Intersection(12)
    weighted = fgm_by_rule(3, feature_map=kernel, n_candidates=2.0).fit(X, y, sample_weight=weights)
    repeated = clone(weighted).fit(np.repeat(X, weights, axis=0), np.repeat(y, weights))
    np.testing.assert_array_equal(weighted.selection_.groups, repeated.selection_.groups)
    np.testing.assert_allclose(weighted.decision_function(X), repeated.decision_function(X), atol=1e-4)


def test_choice_of_C_and_warm_start():
    clf = fgm_by_rule(3, feature_map="additive_chi2", C="auto", cv=3, warm_start=True).fit(X, y)
    assert fold_scores(clf).shape == (3, 4)
    before, turns = clf.selection_.groups, clf.n_iter_
    clf.set_params(C=clf.C_).fit(X, y)
    np.testing.assert_array_equal(clf.selection_.groups, before)
    assert clf.n_iter_ <= turns
    fresh = fgm_by_rule(3).fit(X, y)
    clf.set_params(feature_map="columns", C=None).fit(X, y)  # other features: it starts anew
    assert type(clf.fitted_features_) is ColumnFeatures
    np.testing.assert_array_equal(clf.selection_.features, fresh.selection_.features)
    clf.set_params(feature_map="intersection").fit(X, y)
    with pytest.raises(ValueError, match="X has 23 features and the last fit saw 24"):
        clf.fit(X[:, :23], y)


def test_new_values_above_the_training_maximum_are_clipped():
    for kernel in (Intersection(12), Intersection(), AdditiveChi2()):
        clf = fgm_by_rule(3, feature_map=kernel, n_candidates=2.0).fit(X, y)
        top = np.tile(X.max(axis=0), (2, 1))
        np.testing.assert_array_equal(clf.decision_function(top), clf.decision_function(3.0 * top))


def test_only_selected_inputs_must_be_valid():
    frame = pd.DataFrame(X, columns=[f"gene {j}" for j in range(24)])
    clf = fgm_by_rule(3, feature_map="intersection", n_candidates=2.0).fit(frame, y)
    assert clf.get_feature_names_out().tolist() == [f"gene {j}" for j in clf.selection_.groups]
    chosen = clf.selection_.groups
    other = frame.copy()
    other.iloc[:, np.setdiff1d(np.arange(24), chosen)] = np.nan
    np.testing.assert_array_equal(clf.predict(other), clf.predict(frame))
    for value, match in ((np.nan, "NaN or infinity"), (np.inf, "NaN or infinity"), (-3.0, "the value -3 in row 5")):
        bad = frame.copy()
        bad.iloc[5, chosen[1]] = value
        for form in (lambda A: A, lambda A: sparse.csr_array(A.to_numpy())):
            with pytest.raises(InvalidDataError, match=match) as error:
                clf_for(clf, form).predict(form(bad))
            assert f"{chosen[1]}" in str(error.value)


def clf_for(clf, form):
    """The model without names where X has none."""
    if isinstance(form(pd.DataFrame(X[:1])), pd.DataFrame):
        return clf
    nameless = clone(clf).fit(X, y)
    np.testing.assert_array_equal(nameless.selection_.groups, clf.selection_.groups)
    return nameless


@pytest.mark.parametrize("word", ["intersection", "additive_chi2"])
def test_negative_values_and_wrong_scales_are_refused(word):
    B = X.copy()
    B[9, 4] = -1.5
    with pytest.raises(InvalidDataError, match=f'column 4 of X has the value -1.5 in row 9, but feature_map="{word}"'):
        fgm_by_rule(3, feature_map=word).fit(B, y)
    with pytest.raises(InvalidDataError, match="column 'gene 4' of X"):
        fgm_by_rule(3, feature_map=word).fit(pd.DataFrame(B, columns=[f"gene {j}" for j in range(24)]), y)
    with pytest.raises(ValueError, match=f'feature_map="{word}" needs values that are not negative, but scale="std"'):
        fgm_by_rule(3, feature_map=word, scale="std").fit(X, y)
    assert fgm_by_rule(3, feature_map=word, n_candidates=2.0).fit(X, y).selection_.scale == "max"
    assert fgm_by_rule(3, feature_map="additive_gaussian", n_candidates=2.0).fit(B, y).selection_.scale == "std"


def test_a_design_that_shifts_its_columns_is_refused():
    scaling = Scaling(np.full(24, 2.0), np.full(24, 0.5))
    with pytest.raises(InvalidDataError, match="the Design given as X shifts its columns"):
        fgm_by_rule(3, feature_map="intersection", scale=None).fit(ScaledDesign(as_design(X), scaling), y)
    halved = ScaledDesign(as_design(X), Scaling(np.full(24, 0.5), None))
    one = fgm_by_rule(3, feature_map="intersection", scale=None).fit(halved, y)
    other = fgm_by_rule(3, feature_map="intersection", scale=None).fit(0.5 * X, y)
    np.testing.assert_array_equal(one.selection_.groups, other.selection_.groups)


def test_unknown_features_are_refused():
    with pytest.raises(ValueError, match=r"feature_map must be one of .*got 'rbf'"):
        fgm_by_rule(3, feature_map="rbf").fit(X, y)


@EACH
def test_copies_pickles_and_model_files(name, tmp_path):
    clf = fgm_by_rule(3, feature_map=KERNELS[name], n_candidates=2.0).fit(X, y)
    assert clone(clf).feature_map == KERNELS[name]
    thresher.save(clf, tmp_path / "model.json")
    for other in (pickle.loads(pickle.dumps(clf)), thresher.load(tmp_path / "model.json")):
        assert other.feature_map == KERNELS[name]
        for number in clf.path_.numbers:
            scores = (each.at(number).decision_function(X) for each in (clf, other))
            np.testing.assert_array_equal(*scores)


def test_few_inputs_are_told():
    with pytest.warns(thresher.FewerFeaturesWarning, match="selected 1 input instead of the requested 2"):
        fgm_by_rule(2, feature_map="additive_chi2").fit(np.c_[X[:, :1], np.zeros((80, 2))], y)


def test_the_rule_of_pools():
    """Growth alone where one factorisation of the smaller pool would take more than 5 x 10^9 products."""

    def features(mean_size, n_rows):
        return SimpleNamespace(units=SimpleNamespace(mean_size=mean_size), design=SimpleNamespace(shape=(n_rows, 9)))

    assert not is_too_much_work(33, features(100.0, 1100))  # 40 inputs of 100 numbers: 4.8 x 10^9
    assert is_too_much_work(33, features(100.0, 1200))
    assert not is_too_much_work(83, features(10.0, 5000))  # 100 inputs of 10: 5 x 10^9
    assert is_too_much_work(84, features(10.0, 5000))
    assert not is_too_much_work(300, features(1.0, 10**9))  # single columns: always
    large, plain = features(100.0, 10**6), SimpleNamespace(candidate_factor=None)
    assert FitSpec(number=34).pools(34, large, plain) == [None]
    assert FitSpec(number=34, n_candidates=1.5).pools(34, large, plain) == [51]
    assert FitSpec(number=34, n_candidates=51).pools(34, large, plain) == [51]
    assert FitSpec(number=34, elimination=False).pools(34, features(1.0, 10), plain) == [None]
    assert FitSpec(number=None).pools(None, features(1.0, 10), plain) == [None]
    assert FitSpec(number=34).pools(34, features(1.0, 10), SimpleNamespace(candidate_factor=1.2)) == [41]
    rng = np.random.default_rng(0)
    A, label = rng.random((4001, 6)), rng.random(4001) < 0.5
    clf = fgm_by_rule(2, feature_map=Intersection(2000), features_per_turn=2).fit(A, label)
    assert {station.phase for station in clf.path_} == {"grow"}


def test_the_path_is_scored_by_any_scoring():
    clf = fgm_by_rule(3, feature_map="intersection", n_candidates=2.0).fit(X, y)
    expected = [clf.at(number).score(X, y) for number in clf.path_.numbers]
    for A in (X, sparse.csc_array(X), as_design(X)):
        np.testing.assert_allclose(path_scores(clf, A, y), expected)
    for scoring in ("accuracy", make_scorer(accuracy_score)):
        np.testing.assert_allclose(path_scores(clf, X, y, scoring=scoring), expected)
    assert path_scores(clf, X, y, scoring="roc_auc").size == len(expected)


def test_kernels_and_scikit_learn():
    assert get_tags(fgm_by_rule(feature_map=Intersection())).input_tags.positive_only
    assert get_tags(fgm_by_rule(feature_map="additive_chi2")).input_tags.positive_only
    assert not get_tags(fgm_by_rule(feature_map="additive_gaussian")).input_tags.positive_only
    assert not get_tags(fgm_by_rule()).input_tags.positive_only
    assert cross_val_score(fgm_by_rule(3, feature_map="additive_gaussian"), X, y, cv=3).shape == (3,)
