"""Columns that must not be selected: ``exclude``."""

import warnings

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.model_selection import StratifiedKFold

import thresher
from tests.problems import many_classes, problem
from tests.rule import fgm_by_rule
from thresher.data.input.validation import as_design

X, y, _ = problem(60, 40, 4)
STORAGES = [np.asarray, np.asfortranarray, sparse.csr_array, sparse.csc_array, lambda A: as_design(np.asarray(A))]
WAYS = [
    {}, {"elimination": False}, {"n_candidates": 2.0}, {"C": "auto", "cv": StratifiedKFold(3)},
    {"loss": "logistic", "n_candidates": 3.0},
]  # fmt: skip


def without(columns, **options):
    """A fit on the other columns alone, its features in the numbers of X."""
    rest = np.setdiff1d(np.arange(X.shape[1]), columns)
    clf = fgm_by_rule(5, **options).fit(X[:, rest], y)
    return clf, rest


@pytest.mark.parametrize("options", WAYS)
def test_a_fit_that_excludes_columns_is_that_on_the_others(options):
    best = fgm_by_rule(5, **options).fit(X, y).selection_.features[:3]
    clf = fgm_by_rule(5, exclude=best[::-1].tolist(), **options).fit(X, y)
    other, rest = without(best, **options)
    np.testing.assert_array_equal(clf.selection_.features, rest[other.selection_.features])
    for name in ("objective", "lower_bound", "pick_objective", "pick_bound"):
        expected = getattr(other.selection_.certificate, name)
        assert getattr(clf.selection_.certificate, name) == pytest.approx(expected, rel=1e-6)
    assert not any(np.isin(best, station.features).any() for station in clf.path_)
    np.testing.assert_array_equal(clf.path_.numbers, other.path_.numbers)


@pytest.mark.parametrize("storage", STORAGES)
def test_every_storage(storage):
    expected = fgm_by_rule(5, exclude=[0, 2]).fit(X, y).selection_.features
    np.testing.assert_array_equal(fgm_by_rule(5, exclude=[2, 0, 2]).fit(storage(X), y).selection_.features, expected)


@pytest.mark.parametrize("per_class", [False, True])
def test_many_classes(per_class):
    A, labels = many_classes()[:2]
    taken = fgm_by_rule(4, per_class=per_class).fit(A, labels).selection_.features[:2]
    clf = fgm_by_rule(4, per_class=per_class, exclude=taken).fit(A, labels)
    assert not np.isin(taken, clf.selection_.features).any()


def test_by_name_with_always_include_and_no_number():
    frame = pd.DataFrame(X, columns=[f"g{j}" for j in range(40)])
    clf = fgm_by_rule(5, exclude=["g0", "g1"], always_include=["g9"]).fit(frame, y)
    assert not np.isin([0, 1], clf.selection_.features).any()
    assert 9 in clf.selection_.features
    assert not np.isin([0, 1], fgm_by_rule(exclude=["g0", "g1"]).fit(frame, y).selection_.features).any()


def test_a_warm_start_leaves_out_what_is_excluded_now():
    clf = fgm_by_rule(5, warm_start=True).fit(X, y)
    first = clf.selection_.features[:2].tolist()
    clf.set_params(exclude=first).fit(X, y)
    assert not np.isin(first, clf.selection_.features).any()
    assert clf.selection_.features.size == 5


def test_columns_of_zeros_that_a_design_omits():
    A = sparse.csr_array(np.where(np.arange(4000) < 40, np.pad(X, ((0, 0), (0, 3960))), 0.0))
    clf = fgm_by_rule(5, exclude=[1, 3999]).fit(A, y)
    assert 1 not in clf.selection_.features
    assert clf.selection_.features.size == 5


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"exclude": [40]}, "exclude must contain column numbers from 0 to 39"),
        ({"exclude": ["a"]}, "exclude contains names, but X has no column names"),
        ({"exclude": [3, 4], "always_include": [4]}, "column 4 is in always_include and in exclude: remove it"),
        ({"exclude": range(40)}, "exclude names all 40 columns of X: at least one must be left"),
        ({"exclude": range(38)}, "n_features_to_select=5, but exclude leaves only 2 of the 40 features"),
    ],
)
def test_wrong_values_are_refused(options, message):
    with pytest.raises(ValueError, match=message):
        fgm_by_rule(5, **options).fit(X, y)


def test_a_fraction_is_one_of_all_columns_as_far_as_there_are_so_many():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        clf = fgm_by_rule(0.5, exclude=range(30)).fit(X, y)
    assert clf.selection_.features.size == 10


def test_model_files_keep_it(tmp_path):
    clf = fgm_by_rule(5, exclude=[0, 2]).fit(X, y)
    thresher.save(clf, tmp_path / "model.json")
    assert thresher.load(tmp_path / "model.json").exclude == [0, 2]


def test_a_column_excluded_twice_counts_once():
    clf = fgm_by_rule(39, exclude=[2, 2]).fit(X, y)
    np.testing.assert_array_equal(clf.selection_.features, np.delete(np.arange(40), 2))
    assert "no 39 of the 39 columns" in clf.proof()
