"""Columns equal or opposite after scaling: that with the lowest number is selected, while others have a score."""

import itertools

import numpy as np
import pytest
from scipy import sparse

from tests.problems import many_classes
from tests.rule import fgm_by_rule
from thresher.data.input.validation import as_design
from thresher.engine.copies import Copies, are_equal

rng = np.random.default_rng(0)
BASE = rng.standard_normal((80, 30))
Y = np.where(BASE[:, [3, 7, 11]] @ [1.0, 0.8, 0.6] + 0.3 * rng.standard_normal(80) > 0, 1, -1)
COPIES = {30: 3, 31: 7, 32: 3, 33: 11}
X = np.concatenate([BASE, BASE[:, [3]], -2.0 * BASE[:, [7]], 0.5 * BASE[:, [3]] + 4.0, BASE[:, [11]] / 3.0], axis=1)
STORAGES = {
    "C": np.asarray, "F": np.asfortranarray, "csr": sparse.csr_array, "csc": sparse.csc_array,
    "design": lambda A: as_design(np.asarray(A)),
}  # fmt: skip
WAYS = [
    {}, {"n_candidates": 2.0}, {"elimination": False}, {"loss": "logistic"},
    {"elimination": False, "features_per_turn": 1},
]  # fmt: skip


def first_ones(features):
    """Whether there is no copy among the features."""
    return not set(COPIES) & set(np.asarray(features).tolist())


@pytest.mark.parametrize("options", WAYS)
@pytest.mark.parametrize("k", [3, 6])
def test_no_copy_is_selected_from_any_storage(options, k):
    fits = {name: fgm_by_rule(k, scale="std", **options).fit(make(X), Y) for name, make in STORAGES.items()}
    fits["threads"] = fgm_by_rule(k, scale="std", n_jobs=2, **options).fit(X, Y)
    for clf in fits.values():
        assert clf.selection_.features.size == k
        assert first_ones(clf.selection_.features)
        assert all(first_ones(station.features) for station in clf.path_)
        np.testing.assert_array_equal(clf.selection_.features, fits["C"].selection_.features)
        clf.selection_.check()


@pytest.mark.parametrize("order", ["copies last", "copies first"])
def test_the_lowest_number_is_taken_however_rounding_ranks_them(order):
    """Multiples by odd factors have equal scores up to rounding only."""
    factors = rng.uniform(0.1, 9.0, 30)
    A = np.concatenate([BASE, BASE * factors] if order == "copies last" else [BASE * factors, BASE], axis=1)
    for options in WAYS:
        clf = fgm_by_rule(4, scale="std", **options).fit(A, Y)
        assert (clf.selection_.features < 30).all()


def test_without_a_number_there_are_no_copies_and_the_gap_closes():
    clf = fgm_by_rule(scale="std").fit(X, Y)
    assert first_ones(clf.selection_.features)
    assert clf.selection_.certificate.gap <= clf.tol


def objective(A, C=1.0):
    """1/2 ||w||^2 + loss on the columns of A, standardised, by a fit with all of them."""
    clf = fgm_by_rule(A.shape[1], C=C, scale="std", n_candidates=1.0).fit(A, Y)
    return clf.selection_.certificate.pick_objective


@pytest.mark.parametrize("elimination", [True, False])
def test_bounds_hold_for_every_subset_with_copies(elimination):
    A = X[:, [3, 7, 11, 0, 30, 31, 33]]
    certificate = fgm_by_rule(3, scale="std", elimination=elimination).fit(A, Y).selection_.certificate
    best = min(objective(A[:, list(some)]) for some in itertools.combinations(range(7), 3))
    assert certificate.pick_bound <= best * (1.0 + 1e-9)
    assert best <= certificate.pick_objective * (1.0 + 1e-9)


@pytest.mark.parametrize("options", WAYS[:4])
def test_copies_fill_the_rest_where_too_few_others_have_a_score(options):
    A = np.concatenate([X[:, [3, 30, 7, 31, 32]], np.ones((80, 2))], axis=1)
    clf = fgm_by_rule(4, scale="std", **options).fit(A, Y)
    assert clf.selection_.features.size == 4
    assert {0, 2} <= set(clf.selection_.features.tolist())
    clf.selection_.check()
    for station in clf.path_:
        if 0 < station.features.size <= 2:
            assert set(station.features.tolist()) <= {0, 2}, "copies leave first"


def test_hundreds_of_copies_cost_a_few_scans():
    """As many candidates are looked at as seem needed; none of the copies is selected."""
    A = np.concatenate([np.repeat(BASE[:, [3]], 600, axis=1), BASE], axis=1)
    clf = fgm_by_rule(5, scale="std").fit(A, Y)
    assert clf.selection_.features[0] == 0
    assert (clf.selection_.features[1:] >= 600).all()
    assert 603 not in clf.selection_.features
    assert clf.selection_.features.size == 5
    assert len(clf.selection_.trace.turns) < 30


@pytest.mark.parametrize("per_class", [False, True])
def test_many_classes(per_class):
    A, labels = many_classes()[:2]
    doubled = np.concatenate([A, -A], axis=1)
    clf = fgm_by_rule(5, per_class=per_class).fit(doubled, labels)
    assert (clf.selection_.features < A.shape[1]).all()
    reference = fgm_by_rule(5, per_class=per_class, n_candidates=2.0).fit(A, labels).selection_.features
    found = fgm_by_rule(5, per_class=per_class, n_candidates=2.0).fit(doubled, labels).selection_.features
    np.testing.assert_array_equal(found, reference)


def test_only_samples_that_count_are_compared():
    """A sample without weight is as good as none."""
    A = X.copy()
    A[:5, 30:] = rng.standard_normal((5, 4))
    weights = np.where(np.arange(80) < 5, 0.0, 1.0)
    weighted = fgm_by_rule(4, scale="std").fit(A, Y, sample_weight=weights).selection_.features
    without = fgm_by_rule(4, scale="std").fit(A[5:], Y[5:]).selection_.features
    np.testing.assert_array_equal(weighted, without)
    assert first_ones(weighted)


def test_forced_copies_stay_and_others_do_not_join_them():
    clf = fgm_by_rule(4, scale="std", always_include=[30, 32]).fit(X, Y)
    assert {30, 32} <= set(clf.selection_.features.tolist())
    assert 3 not in clf.selection_.features


def test_a_warm_start_from_a_selection_with_copies():
    few = X[:, [3, 30, 7, 31, 32]]
    clf = fgm_by_rule(5, scale="std", warm_start=True).fit(few, Y)
    assert clf.selection_.features.size == 5
    clf.set_params(n_features_to_select=3).fit(np.where(np.arange(5) == 4, BASE[:, [11]], few), Y)
    np.testing.assert_array_equal(clf.selection_.features, [0, 2, 4])


def test_which_columns_are_equal():
    x = rng.standard_normal(50)
    assert are_equal(x, -x * (1.0 + 1e-15))
    assert not are_equal(x, x * (1.0 + 1e-9))
    assert not are_equal(x, np.roll(x, 1))


def test_the_window_reaches_for_a_tie_with_a_lower_number():
    copies, squares = Copies(None), np.array([9.0, 4.0, 4.0 * (1 - 1e-14), 4.0 * (1 - 1e-14), 1.0])
    assert copies.window(np.array([5, 9, 2, 7, 0]), squares, 2) == 4
    assert copies.window(np.array([5, 1, 2, 7, 0]), squares, 2) == 2
    assert copies.window(np.array([5, 9, 2, 7, 0]), squares, 9) == 5
