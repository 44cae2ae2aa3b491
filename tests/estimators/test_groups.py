"""Groups of columns: FGMClassifier(groups=...)."""

import pickle
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone

import thresher
from tests.oracles import convex
from tests.problems import fold_scores, many_classes, problem
from tests.rule import fgm_by_rule
from thresher import Groups, Tree, group_by_prefix
from thresher.data.designs.memory import MemoryDesign
from thresher.data.designs.units import Members
from thresher.data.input.validation import as_design
from thresher.errors import FewerFeaturesWarning, InvalidDataError
from thresher.estimators.fgm.sentences import counts_of_classes, shortfalls

X, y, COST = problem(80, 40, 4)
LABELS = np.arange(40) // 4
LISTS = [list(range(j, min(j + 5, 40))) for j in range(0, 40, 4)]  # neighbours share a column
PARENT = np.concatenate([40 + LABELS, 50 + np.arange(10) // 5, [-1, -1]])  # columns, groups of four, two halves
STORAGES = [np.asarray, np.asfortranarray, sparse.csr_array, sparse.csc_array, lambda A: as_design(np.asarray(A))]
STRUCTURES = {"labels": LABELS, "lists": LISTS, "tree": Tree(PARENT)}


def columns_of(groups):
    """The columns of groups of LABELS."""
    return np.flatnonzero(np.isin(LABELS, groups))


@pytest.mark.parametrize("loss", ["squared_hinge", "logistic"])
@pytest.mark.parametrize("weights", ["size", "none", "random"])
@pytest.mark.parametrize("groups", [LABELS, LISTS], ids=["labels", "lists"])
def test_growth_reaches_the_optimum_of_the_weighted_problem(groups, weights, loss):
    """Against a general convex solver, with groups of different sizes."""
    lists = groups if groups is LISTS else [np.flatnonzero(g == LABELS) for g in range(10)]
    lists = [list(lists[0][:2]), *lists[1:]] if groups is LISTS else lists
    omega = np.random.default_rng(0).uniform(0.5, 2.0, 10) if weights == "random" else weights
    given = Groups(lists if groups is LISTS else groups, omega, ungrouped="drop")
    clf = fgm_by_rule(groups=given, features_per_turn=2, elimination=False, tol=1e-7, scale=None, C=2.0, loss=loss)
    certificate = clf.fit(X, y).selection_.certificate
    used = {"size": np.array([len(g) for g in lists], dtype=float), "none": np.ones(10), "random": omega}[weights]
    optimum = convex.group_optimum(X, y[:, None], COST, lists, used, 2, loss)
    assert certificate.objective == pytest.approx(optimum, abs=2e-6 * certificate.at_zero)
    assert certificate.lower_bound <= optimum + 1e-7 * certificate.at_zero


@pytest.mark.parametrize("loss", ["squared_hinge", "logistic"])
def test_overlaps_are_those_of_a_matrix_with_the_columns_written_out(loss):
    """Held by reference: the same picks, path, certificate and scores as on copies of the shared columns."""
    entries, label = np.concatenate(LISTS), np.repeat(np.arange(10), [len(g) for g in LISTS])
    short = fgm_by_rule(3, groups=LISTS, scale=None, loss=loss).fit(X, y)
    long = fgm_by_rule(3, groups=label, scale=None, loss=loss).fit(X[:, entries], y)
    np.testing.assert_array_equal(short.selection_.groups, long.selection_.groups)
    for name in ("objective", "lower_bound", "pick_objective", "pick_bound"):
        expected = getattr(long.selection_.certificate, name)
        assert getattr(short.selection_.certificate, name) == pytest.approx(expected, rel=1e-6)
    np.testing.assert_array_equal(short.path_.numbers, long.path_.numbers)
    for number in short.path_.numbers:
        np.testing.assert_array_equal(short.path_.at(number).groups, long.path_.at(number).groups)
    np.testing.assert_allclose(short.decision_function(X), long.decision_function(X[:, entries]), atol=1e-7)


@pytest.mark.parametrize("name", STRUCTURES)
def test_exactly_as_many_groups_as_asked_for(name):
    clf = fgm_by_rule(4, groups=STRUCTURES[name]).fit(X, y)
    for number in range(1, 9):
        selection = clf.at(number).selection_
        assert selection.groups.size == number
        assert np.isfinite(clf.at(number).decision_function(X)).all()
    if name == "labels":
        np.testing.assert_array_equal(clf.selection_.features, columns_of(clf.selection_.groups))
    np.testing.assert_array_equal(np.flatnonzero(clf.get_support()), clf.selection_.features)
    assert clf.transform(X).shape == (80, clf.selection_.features.size)
    assert clf.get_feature_names_out().size == clf.selection_.features.size
    assert "4 groups selected" in clf.selection_.stop_reason
    of = {"labels": 10, "lists": 10, "tree": 52}[name]
    assert f"no 4 of the {of} groups" in clf.proof()


@pytest.mark.parametrize("name", STRUCTURES)
def test_a_pool_of_many_columns_leaves_the_path_for_later(name, monkeypatch):
    """A tenth of the groups leaves at a time; all other numbers are there when they are asked for."""
    monkeypatch.setattr("thresher.families.fgm.fitted_problem.MOST_COLUMNS", 8)
    clf = fgm_by_rule(4, groups=STRUCTURES[name]).fit(X, y)
    assert clf.selection_.groups.size == 4
    for number in range(1, 6):  # the pool has five
        assert clf.at(number).selection_.groups.size == number
    monkeypatch.setattr("thresher.families.fgm.fitted_problem.MOST_COLUMNS", 1)
    wide = fgm_by_rule(4, groups=STRUCTURES[name], n_candidates=2.0).fit(X, y)
    assert [wide.at(number).selection_.groups.size for number in range(1, 9)] == list(range(1, 9))
    assert wide.selection_.groups.size == 4


@pytest.mark.parametrize("name", STRUCTURES)
@pytest.mark.parametrize("storage", STORAGES)
def test_every_storage_and_number_of_threads_gives_the_same_pick(name, storage):
    expected = fgm_by_rule(3, groups=STRUCTURES[name]).fit(X, y).selection_
    for n_jobs in (1, 3):
        found = fgm_by_rule(3, groups=STRUCTURES[name], n_jobs=n_jobs).fit(storage(X), y).selection_
        np.testing.assert_array_equal(found.groups, expected.groups)
        np.testing.assert_allclose(found.weights, expected.weights, rtol=1e-7, atol=1e-12)


def test_columns_of_zeros_stay_in_their_groups():
    """However wide and empty X is, the selected groups have all of their columns."""
    wide = sparse.lil_array((80, 4000))
    wide[:, 0:4000:100] = X
    labels = np.arange(4000) // 400
    sparse_fit = fgm_by_rule(3, groups=labels, scale=None).fit(sparse.csr_array(wide), y)
    dense_fit = fgm_by_rule(3, groups=labels, scale=None).fit(wide.toarray(), y)
    np.testing.assert_array_equal(sparse_fit.selection_.features, dense_fit.selection_.features)
    assert sparse_fit.selection_.features.size == 1200
    np.testing.assert_allclose(*(clf.decision_function(wide.toarray()) for clf in (sparse_fit, dense_fit)))


def test_groups_always_included_and_excluded_are_named_by_label():
    best = fgm_by_rule(2, groups=LABELS).fit(X, y).selection_.groups
    worst = np.setdiff1d(np.arange(10), best)[-1]
    clf = fgm_by_rule(3, groups=LABELS, always_include=[worst], exclude=[best[0], best[0]]).fit(X, y)
    assert worst in clf.selection_.groups
    assert best[0] not in clf.selection_.groups
    np.testing.assert_array_equal(clf.selection_.forced, columns_of([worst]))
    assert "no 3 of the 9 groups (1 always included)" in clf.proof()
    named = fgm_by_rule(3, groups=np.array([f"g{g}" for g in LABELS]), always_include=[f"g{worst}"]).fit(X, y)
    assert f"g{worst}" in named.selection_.groups


@pytest.mark.parametrize("per_class", [False, True])
@pytest.mark.parametrize("name", STRUCTURES)
def test_many_classes(name, per_class):
    Z, codes, *_ = many_classes(90, 40, seed=3)
    clf = fgm_by_rule(3, groups=STRUCTURES[name], per_class=per_class).fit(Z, codes)
    assert clf.selection_.groups.size == 3 if not per_class else 3 <= clf.selection_.groups.size <= 9
    assert clf.score(Z, codes) > 0.5
    assert ("for each class" in clf.proof()) == per_class


def test_weights_are_repeats():
    times = np.random.default_rng(1).integers(1, 4, 80)
    weighted = fgm_by_rule(3, groups=LISTS, scale=None).fit(X, y, sample_weight=times).selection_
    rows = np.repeat(np.arange(80), times)
    repeated = fgm_by_rule(3, groups=LISTS, scale=None).fit(X[rows], y[rows]).selection_
    np.testing.assert_array_equal(weighted.groups, repeated.groups)
    np.testing.assert_allclose(weighted.weights, repeated.weights, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("name", STRUCTURES)
def test_choice_of_C_warm_start_and_copies_of_the_estimator(name):
    clf = fgm_by_rule(3, groups=STRUCTURES[name], C="auto", cv=3).fit(X, y)
    assert fold_scores(clf).shape[0] == 3
    plain = fgm_by_rule(3, groups=STRUCTURES[name]).fit(X, y)
    again = clone(plain).set_params(warm_start=True).fit(X, y)
    first = again.selection_
    again.fit(X, y)
    np.testing.assert_array_equal(again.selection_.groups, first.groups)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(plain)).selection_.groups, plain.selection_.groups)
    renamed = Groups({f"g{g}": group for g, group in enumerate(LISTS)}, ungrouped="drop")
    other = again.set_params(groups=renamed).fit(X, y)  # no group is called as before: a start from nothing
    fresh = fgm_by_rule(3, groups=renamed).fit(X, y)
    np.testing.assert_array_equal(other.selection_.groups, fresh.selection_.groups)


def test_names_of_columns_and_of_groups(tmp_path):
    frame = pd.DataFrame(X, columns=[f"c{j}" for j in range(40)])
    groups = {f"pathway {g}": [f"c{j}" for j in group] for g, group in enumerate(LISTS)}
    clf = fgm_by_rule(3, groups=groups).fit(frame, y)
    expected = fgm_by_rule(3, groups=LISTS).fit(X, y).selection_
    assert sorted(clf.selection_.groups) == sorted(f"pathway {g}" for g in expected.groups)
    assert clf.get_feature_names_out().tolist() == [f"c{j}" for j in expected.features]
    thresher.save(clf, tmp_path / "model.json")
    loaded = thresher.load(tmp_path / "model.json")
    np.testing.assert_array_equal(loaded.selection_.groups, clf.selection_.groups)
    np.testing.assert_array_equal(loaded.at(2).selection_.groups, clf.at(2).selection_.groups)
    assert loaded.proof() == clf.proof()
    assert loaded.groups == groups


def test_a_series_with_gaps_is_labels():
    labels = pd.Series(LABELS.astype(float)).where(LABELS != 3)
    with pytest.raises(ValueError, match=r"4 of the 40 columns are in no group, the first is column 12"):
        fgm_by_rule(2, groups=labels).fit(X, y)
    dropped = fgm_by_rule(4, groups=Groups(labels, ungrouped="drop")).fit(X, y)
    assert 3 not in dropped.selection_.groups
    single = fgm_by_rule(13, groups=Groups(labels, ungrouped="single")).fit(X, y)
    assert {"column 12", "column 13", "column 14", "column 15"} <= set(single.selection_.groups)
    np.testing.assert_array_equal(single.selection_.features, np.arange(40))


def test_na_of_pandas_is_a_gap_and_one_column_is_a_group():
    labels = pd.Series([f"g{g}" for g in LABELS], dtype="string").where(LABELS != 3)
    clf = fgm_by_rule(4, groups=Groups(labels, ungrouped="drop"), always_include="g7").fit(X, y)
    assert "g7" in clf.selection_.groups
    assert "g3" not in clf.selection_.groups
    assert "no 4 of the 9 groups (1 always included)" in clf.proof()
    frame = pd.DataFrame(X, columns=[f"c{j}" for j in range(40)])
    one = fgm_by_rule(1, groups=Groups({"one": "c3", "other": 7}, ungrouped="drop")).fit(frame, y)
    assert one.selection_.features.tolist() in ([3], [7])


def test_reasons_to_stop_speak_of_groups():
    few = np.where(np.arange(40) < 8, X, 0.0)  # of two groups alone
    with pytest.warns(FewerFeaturesWarning, match="selected 2 groups instead of the requested 3: .*no other group has"):
        fgm_by_rule(3, groups=LABELS, scale=None).fit(few, y)


def test_a_group_of_columns_that_a_design_omits_cannot_be_forced():
    design = MemoryDesign(as_design(X[:, :36]).block, ids=np.arange(36), n_columns=40)
    assert fgm_by_rule(2, groups=LABELS).fit(design, y).selection_.groups.size == 2
    with pytest.raises(InvalidDataError, match="a group that has only columns of zeros"):
        fgm_by_rule(2, groups=LABELS, always_include=[9]).fit(design, y)


def test_one_hot_blocks_by_their_prefix():
    names = ["colour_red", "colour_blue", "age", "hair_type_dark", "hair_type_fair", "_odd"]
    assert group_by_prefix(names).tolist() == ["colour", "colour", "age", "hair_type", "hair_type", "_odd"]
    assert group_by_prefix(["a=1", "a=2"], "=").tolist() == ["a", "a"]
    with pytest.raises(TypeError, match="names must be strings, got 3"):
        group_by_prefix(["a", 3])
    with pytest.raises(ValueError, match="separator must not be empty"):
        group_by_prefix(["a"], "")


@pytest.mark.parametrize(
    ("groups", "message"),
    [
        (LABELS[:39], r"one label for each of the 40 columns, or be a list of .* got an array of shape \(39,\)"),
        ([[0, 1], [], [2]], r"groups\[1\] has no columns"),
        ({"a": [0], "b": []}, r"groups\['b'\] has no columns"),
        ([[0, 1], [2, 40]], r"groups\[1\] must contain column numbers from 0 to 39"),
        ([[0, 1], ["x"]], r"groups\[1\] contains names, but X has no column names"),
        ([[0, 1]], r"38 of the 40 columns are in no group, the first is column 2: .*ungrouped"),
        (LABELS + 0.5, "labels of groups must be integers or strings"),
        (Groups(LABELS, weights=np.ones(9)), r"one entry for each of the 10 groups, got shape \(9,\)"),
        (Groups(LABELS, weights=-np.ones(10)), "must be positive and finite; group 0 is not"),
        (Tree(np.array([1, 2, 0, *[-1] * 40])), "the tree has a cycle: node [012] is above itself"),
        (
            Tree(np.array([99, *[-1] * 40])),
            r"parent\[0\] is 99, but the nodes of the tree are 0 to 40 .-1: a root",
        ),
        (Tree(np.full(30, -1)), "the tree has 30 nodes, but X has 40 columns"),
        (Tree(np.full(50, -1), node=np.arange(39)), "node must have one entry for each of the 40 columns, got 39"),
        (
            Tree(np.full(50, -1), node=np.arange(11, 51)),
            r"node\[39\] is 50, but the nodes of the tree are 0 to 49$",
        ),
        (Tree(np.full(50, -1.5)), "parent must be a 1D array of integers"),
        (Tree(np.full(50, -1), names=["a"] * 50), "names must be 50 different names"),
    ],
)
def test_bad_groups_are_refused(groups, message):
    with pytest.raises(ValueError, match=message):
        fgm_by_rule(2, groups=groups).fit(X, y)


def test_bad_words_are_refused():
    with pytest.raises(ValueError, match=r"weights must be one of \('size', 'none'\) or an array, got 'length'"):
        Groups(LABELS, weights="length")
    with pytest.raises(ValueError, match="ungrouped must be one of"):
        Groups(LABELS, ungrouped="ignore")
    with pytest.raises(ValueError, match="always_include contains 77, which is not the label of a group"):
        fgm_by_rule(2, groups=LABELS, always_include=[77]).fit(X, y)
    with pytest.raises(ValueError, match="n_features_to_select=11 must be between 1 and the 10 groups of X"):
        fgm_by_rule(11, groups=LABELS).fit(X, y)
    with pytest.raises(ValueError, match="exclude names all 10 groups"):
        fgm_by_rule(2, groups=LABELS, exclude=np.arange(10)).fit(X, y)
    with pytest.raises(ValueError, match="group 3 is in always_include and in exclude"):
        fgm_by_rule(2, groups=LABELS, exclude=[3], always_include=[3]).fit(X, y)


def test_a_class_with_fewer_groups_is_told():
    """Class "b" has weights in one group of two; a column that both have counts for both."""
    weights = np.array([[1.0, 0.0], [0.0, 0.0], [2.0, 3.0]])
    features = np.array([2, 3, 7])
    selection = SimpleNamespace(
        features=features, weights=weights, units=np.array([0, 4]), noun="group", stop_reason="why",
        weighted=weights.any(axis=1),
    )  # fmt: skip

    def features(columns, sizes):
        members = Members(np.array(columns), np.array(sizes))
        units = SimpleNamespace(members=lambda units: members, noun="group")
        return SimpleNamespace(units=units, design=SimpleNamespace(ids_in_X=np.asarray))

    found, plan = features([2, 3, 7], [2, 1]), SimpleNamespace(wanted=2)
    assert counts_of_classes(selection, found).tolist() == [2, 1]
    assert counts_of_classes(selection, features([2, 7, 3, 7], [2, 2])).tolist() == [2, 2]
    told = shortfalls(selection, found, plan, ["a", "b"])
    assert told == ["class 'b' has 1 group instead of the requested 2: why"]
    assert shortfalls(selection, found, plan, [None]) == []
