"""``support_`` and ``ranking_`` of every selector of columns: what users of scikit-learn's RFE look for."""

import itertools

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.feature_selection import RFE
from sklearn.svm import LinearSVC

from tests.problems import many_classes, problem
from tests.rule import fgm_by_rule, miles_by_rule
from thresher import (
    AlignmentPathClassifier,
    Intersection,
    KernelPath,
    SparseSVC,
    SparseSVCPath,
    StreamClassifier,
)

X, y, _ = problem(90, 40, 8)
Z, CODES, _, _ = many_classes(90, 30, seed=8)
FITTED = {}
CASES = {
    "elimination": lambda: fgm_by_rule(6).fit(X, y),
    "growth": lambda: fgm_by_rule(6, elimination=False, features_per_turn=2).fit(X, y),
    "per class": lambda: fgm_by_rule(4, per_class=True).fit(Z, CODES),
    "groups": lambda: fgm_by_rule(2, groups=np.arange(40) // 4).fit(X, y),
    "kernel": lambda: fgm_by_rule(3, feature_map=Intersection(8)).fit(np.abs(X), y),
    "products": lambda: fgm_by_rule(3, feature_map="polynomial").fit(X, y),
    "alignment": lambda: AlignmentPathClassifier(path=KernelPath(step=0.1), cv=3).fit(X, y),
    "grid": lambda: SparseSVCPath(4, 5, cv=3, beta_ratio=0.05, alpha_ratio=0.01, scale=None, fit_intercept=False).fit(
        X, y
    ),
    "point": lambda: SparseSVC(alpha=0.1, beta=0.05).fit(X, y),
    "stream": lambda: StreamClassifier(5).fit(X, y),
}


def fitted(case):
    """An estimator, fitted once for all tests."""
    if case not in FITTED:
        FITTED[case] = CASES[case]()
    return FITTED[case]


@pytest.mark.parametrize("case", CASES)
def test_they_have_the_shapes_and_types_of_those_of_RFE(case):
    """Law: the mask is that of ``get_support``, rank 1 is what is selected, and no rank is left out."""
    clf, peer = fitted(case), RFE(LinearSVC(), n_features_to_select=3).fit(X, y)
    n_columns = 30 if case == "per class" else 40
    assert clf.support_.dtype == peer.support_.dtype
    assert clf.ranking_.dtype == peer.ranking_.dtype
    assert clf.support_.shape == clf.ranking_.shape == (n_columns,)
    np.testing.assert_array_equal(clf.support_, clf.get_support())
    np.testing.assert_array_equal(np.flatnonzero(clf.support_), clf.get_support(indices=True))
    np.testing.assert_array_equal(clf.ranking_ == 1, clf.support_)
    np.testing.assert_array_equal(np.unique(clf.ranking_), np.arange(1, clf.ranking_.max() + 1))


@pytest.mark.parametrize("number", [1, 4, 6])
def test_ranks_are_those_of_elimination(number):
    """Law: of the k + 1, k + 2, ... features that elimination left, those that left last have rank 2, 3, ..."""
    clf = fitted("elimination").at(number)
    for more in range(13 - number):
        left = clf.path_.at(number + more).features
        np.testing.assert_array_equal(np.flatnonzero(clf.ranking_ <= 1 + more), left)


def test_features_that_were_only_grown_come_after_those_eliminated():
    """Law: of what elimination did not start from, the turn of growth counts; what was never taken is last."""
    clf = fgm_by_rule(3, n_candidates=5, features_per_turn=5).fit(X, y)
    stations = clf.path_.stations
    most = max(station.number for station in stations if station.phase == "thresh")
    pool = clf.path_.at(most).features
    ranks = clf.ranking_
    assert ranks[pool].max() == 1 + most - 3
    seen = set(pool.tolist())
    rank = ranks[pool].max()
    for station in stations:
        new = set(station.features.tolist()) - seen
        if new:
            rank += 1
            assert set(ranks[list(new)].tolist()) == {rank}
        seen |= new
    rest = np.setdiff1d(np.arange(40), list(seen))
    assert rest.size
    assert set(ranks[rest].tolist()) == {rank + 1}


def test_ranks_of_growth_follow_its_turns():
    clf = fitted("growth")
    ranks = clf.ranking_
    grown = [set(station.features.tolist()) for station in clf.path_]
    for before, after in itertools.pairwise(grown):
        others = [ranks[j] for j in after - before if ranks[j] > 1]
        earlier = [ranks[j] for j in before if ranks[j] > 1]
        assert not others or not earlier or min(others) > max(earlier)
    never = np.setdiff1d(np.arange(40), list(set.union(*grown)))
    assert (ranks[never] == ranks.max()).all()


@pytest.mark.parametrize("case", ["groups", "kernel", "products"])
def test_ranks_are_those_of_the_columns_that_features_are_made_of(case):
    clf = fitted(case)
    fewest, next_fewest = clf.path_.numbers[:2].tolist()
    smaller, station = clf.at(fewest), clf.path_.at(next_fewest)
    inputs = clf.fitted_features_.inputs(station.features)
    assert station.phase == "thresh"
    np.testing.assert_array_equal(np.flatnonzero(smaller.ranking_ <= 2), np.union1d(inputs, smaller.get_support(True)))


@pytest.mark.parametrize("case", ["alignment", "grid"])
def test_ranks_of_other_paths_are_by_the_size_of_their_models(case):
    """Law: a feature of a smaller model has no larger rank than one that only larger models have."""
    clf = fitted(case)
    sets = [set(features.tolist()) for features in clf.path_.feature_sets()]
    assert [len(each) for each in sets] == sorted(clf.path_.n_features.ravel().tolist())
    first = {j: min(k for k, each in enumerate(sets) if j in each) for j in set.union(*sets)}
    others = sorted((j for j in first if not clf.support_[j]), key=first.__getitem__)
    ranks = clf.ranking_[others]
    assert ranks.size
    assert (np.diff(ranks) >= 0).all()
    assert [ranks[k] == ranks[k + 1] for k in range(ranks.size - 1)] == [
        first[a] == first[b] for a, b in itertools.pairwise(others)
    ]


@pytest.mark.parametrize("case", ["point", "stream"])
def test_without_a_path_all_others_are_second(case):
    clf = fitted(case)
    assert np.unique(clf.ranking_).tolist() == [1, 2]


def test_they_need_a_fit_and_a_width_that_fits_in_memory():
    for name in ("support_", "ranking_"):
        with pytest.raises(NotFittedError):
            getattr(fgm_by_rule(3), name)
        assert not hasattr(fgm_by_rule(3), name)
    wide = sparse.csr_array((X.ravel(), np.tile(np.arange(40) * 2**34, 90), np.arange(91) * 40), shape=(90, 2**40))
    clf = clone(fitted("elimination")).fit(wide, y)
    for name, what in (("support_", "a mask over"), ("ranking_", "a ranking of")):
        with pytest.raises(ValueError, match=rf"{what} 1,099,511,627,776 features .*get_support\(indices=True\)"):
            getattr(clf, name)


def test_of_bags_they_are_about_training_rows():
    """As ``coef_`` is; rank 1 is what is selected, and models on the path come to have the others in their order."""
    clf = miles_by_rule(3, sigma=2.0).fit(X[:, :5], np.repeat(y[::3], 3), bags=np.arange(90) // 3)
    assert clf.support_.shape == clf.ranking_.shape == clf.coef_.shape[1:] == (90,)
    np.testing.assert_array_equal(np.flatnonzero(clf.support_), clf.selection_.features)
    np.testing.assert_array_equal(clf.ranking_ == 1, clf.support_)
    np.testing.assert_array_equal(
        np.flatnonzero(clf.ranking_ <= 2), np.union1d(*(clf.at(k).selection_.features for k in (3, 4)))
    )
    np.testing.assert_array_equal(np.unique(clf.ranking_), np.arange(1, clf.ranking_.max() + 1))
