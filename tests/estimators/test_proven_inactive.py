"""What screening proves, as sets of ids: F, R and L of the paper, safe by an oracle, and as many as are counted."""

import functools
import pickle
import warnings

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone

import thresher
from tests.oracles import sparse_svm as oracle
from tests.problems import many_classes
from thresher import ProvenInactive, SparseSVC, SparseSVCPath
from thresher.datasets import make_wide
from thresher.errors import FewerFeaturesWarning
from thresher.families.sparse_svm.rules import SCREENING_RULES

DATA = make_wide(60, 90, n_relevant=6, random_state=0)
X, Y = DATA.X, np.where(DATA.y == DATA.y.max(), 1.0, -1.0)
Z, CODES, _, _ = many_classes(70, 20, seed=8)
NEAR = {
    "alpha_ratio": 0.8,
    "beta_ratio": 0.3,
    "scale": None,
    "tol": 1e-13,
}  # alphas so near that static tests find something
SHIFT = pytest.mark.parametrize("shift", [False, True], ids=["plain", "shift"])
TESTED = [name for name, rules in SCREENING_RULES.items() if any(rules)]
WEIGHTS = np.random.default_rng(1).integers(0, 4, Y.size).astype(float)
SIGN = 1e-9  # weights and thetas below this share are not told from zero


CLF = SparseSVC(1e-2, 0.05, smoothing=0.2, screening="gap", scale=None, fit_intercept=False)


def fitted(estimator, A, labels, weights=None):
    """The estimator, fitted; no feature is selected at the first beta."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FewerFeaturesWarning)
        return estimator.fit(A, labels, sample_weight=weights)


def contradictions(proven, optimum):
    """(features, samples) of the sets that the optimum has with a weight, or on another part of the loss."""
    w, theta = np.abs(optimum.w), optimum.theta
    features = w[proven.features] > SIGN * w.max() + optimum.w_off
    zero, linear = proven.zero_loss, proven.linear_loss
    zeros = theta[zero] > SIGN + optimum.theta_off[zero]
    ones = theta[linear] < 1.0 - SIGN - optimum.theta_off[linear]
    return int(features.sum()), int(zeros.sum() + ones.sum())


@functools.cache
def optimum_at(alpha, beta, *, shift, weighted=False, smoothing=0.5):
    """The Optimum of X and Y, with WEIGHTS or without."""
    weights = WEIGHTS if weighted else np.ones(Y.size)
    return oracle.exact(X, Y, weights / weights.sum(), smoothing, alpha, beta, shift=shift)


@pytest.mark.parametrize(
    ("screening", "shift"),
    [(name, shift) for name in [*TESTED, "auto"] for shift in (False, True) if not (shift and name == "iss")],
)
def test_no_set_of_a_grid_contradicts_the_optimum(screening, shift):
    path = SparseSVCPath(3, 10, screening=screening, fit_intercept=shift, **NEAR)
    grid = fitted(path, X, Y, WEIGHTS).path_
    found = np.zeros((2, 3, 10), dtype=int)
    for i, j in np.ndindex(3, 10):
        point = grid.at(i, j)
        optimum = optimum_at(point.alpha, point.beta, shift=shift, weighted=True)
        assert contradictions(point.proven_inactive, optimum) == (0, 0), (i, j)
        found[:, i, j] = point.proven_inactive.features.size, point.proven_inactive.samples.size
        assert (WEIGHTS[point.proven_inactive.samples] > 0.0).all()
    np.testing.assert_array_equal(found[0], grid.features_removed)
    np.testing.assert_array_equal(found[1], grid.samples_removed)
    solved = found[:, 1:, 1:].sum(axis=(1, 2))  # points that are not known in closed form
    assert (solved[0] > 0) == (screening not in ("iss", "auto"))
    assert (solved[1] > 0) == (screening not in ("ifs", "auto") and not shift)


def test_a_set_with_one_more_feature_or_sample_contradicts_it():
    """The test above can fail."""
    optimum, proven = optimum_at(1e-2, 0.05, shift=False, smoothing=0.2), CLF.fit(X, Y).proven_inactive_
    assert contradictions(proven, optimum) == (0, 0)
    every = np.ones(Y.size, dtype=bool)
    more = ProvenInactive(
        90, 90, 60, None, np.packbits(np.ones(90, dtype=bool)), np.packbits(every), np.packbits([every], axis=1)
    )
    assert contradictions(more, optimum)[0] == np.count_nonzero(optimum.w) > 0
    assert contradictions(more, optimum)[1] > 0


@SHIFT
@pytest.mark.parametrize("seed", [0, 1, 3, 4, 5])
def test_one_fit_proves_nothing_that_is_wrong(seed, shift):
    drawn = oracle.drawn(oracle.KINDS[3 * seed % len(oracle.KINDS)], seed)
    alpha = 0.1 * drawn.top
    clf = SparseSVC(
        alpha, drawn.beta, smoothing=drawn.gamma, screening="gap" if shift else "sifs+gap", scale=None,
        fit_intercept=shift,
    )  # fmt: skip
    proven = fitted(clf, drawn.X, drawn.y, drawn.cost).proven_inactive_
    optimum = oracle.exact(*drawn[:4], alpha, drawn.beta, shift=shift)
    assert contradictions(proven, optimum) == (0, 0)
    assert proven.features.size == proven.n_features == clf.features_removed_
    assert proven.samples.size == proven.n_samples == clf.samples_removed_
    assert clf.features_removed_ > 0 or clf.samples_removed_ > 0


def test_the_sets_are_sorted_and_apart_and_the_others_are_the_rest():
    proven = CLF.fit(X, Y).proven_inactive_
    for ids in (proven.features, proven.other_features, proven.samples, proven.zero_loss, proven.linear_loss):
        assert ids.dtype == np.int64
        assert ids.size > 0
        assert (np.diff(ids) > 0).all()
    both = np.sort(np.concatenate([proven.features, proven.other_features]))
    np.testing.assert_array_equal(both, np.arange(90))
    np.testing.assert_array_equal(np.sort(np.concatenate([proven.zero_loss, proven.linear_loss])), proven.samples)
    assert np.isin(CLF.selection_.features, proven.other_features).all()
    margins = Y * CLF.decision_function(X)
    assert (margins[proven.zero_loss] > 1.0).all()
    assert (margins[proven.linear_loss] < 0.8).all()
    assert repr(proven) == f"ProvenInactive({proven.features.size} of 90 features, {proven.samples.size} samples)"


@SHIFT
@pytest.mark.parametrize("store", [np.asarray, sparse.csr_array, sparse.csc_array])
def test_empty_columns_are_among_the_features(store, shift):
    A = np.zeros((60, 150))
    A[:, 30:120] = X
    clf = SparseSVC(1e-2, 0.05, screening="gap", scale=None, fit_intercept=shift)
    padded, plain = (clone(clf).fit(M, Y).proven_inactive_ for M in (store(A), X))
    np.testing.assert_array_equal(padded.other_features, plain.other_features + 30)
    assert np.isin(np.r_[:30, 120:150], padded.features).all()
    assert padded.features.size == padded.n_features == plain.n_features + 60


@SHIFT
def test_of_many_classes_the_sets_are_those_of_every_class(shift):
    """Features and samples that are out in all of them; of each class, on which part of the loss the samples are."""
    options = {"screening": "gap", "scale": None, "fit_intercept": shift}
    alpha, beta = (3e-2, 0.1)
    together = SparseSVC(alpha, beta, **options).fit(Z, CODES).proven_inactive_
    alone = [SparseSVC(alpha, beta, **options).fit(Z, c == CODES).proven_inactive_ for c in range(3)]
    shared = set.intersection(*(set(each.features.tolist()) for each in alone))
    assert together.features.tolist() == sorted(shared)
    assert shared
    samples = set.intersection(*(set(each.samples.tolist()) for each in alone))
    assert together.samples.tolist() == sorted(samples)
    assert bool(samples) == (not shift)
    for c in range(3):
        for name in ("zero_loss", "linear_loss"):
            expected = samples & set(getattr(alone[c], name).tolist())
            assert getattr(together, name)[c].tolist() == sorted(expected)


def test_a_point_of_a_grid_has_the_sets_of_its_point():
    path = fitted(SparseSVCPath(3, 4, screening="gap", cv=2, fit_intercept=False, **NEAR), X, Y)
    for i, j in ((0, 1), (1, 2), (-1, -1)):
        proven = path.at(i, j).proven_inactive_
        assert proven is path.path_.at(i, j).proven_inactive
        assert (proven.n_features, proven.n_samples) == (
            path.at(i, j).features_removed_,
            path.at(i, j).samples_removed_,
        )
    again = pickle.loads(pickle.dumps(path)).path_.at(1, 2).proven_inactive
    np.testing.assert_array_equal(again.features, path.path_.at(1, 2).proven_inactive.features)


def test_points_without_tests_share_one_value():
    """Nothing is kept for each of them."""
    grid = fitted(SparseSVCPath(3, 30, scale=None), X, Y).path_
    beyond = {id(proven) for proven in grid.proven_inactive[60:]}
    assert len(beyond) == 1


def test_a_fit_that_ends_early_has_no_sets_of_other_points():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        grid = SparseSVCPath(3, 4, max_time=1e-9, scale=None).fit(X, Y).path_
    assert grid.proven_inactive[0] is not None
    assert set(grid.proven_inactive[1:]) == {None}


def test_of_a_billion_columns_the_others_are_few():
    rng = np.random.default_rng(0)
    columns, rows, labels = rng.integers(0, 10**9, 100), np.repeat(np.arange(20), 5), np.arange(20) % 2
    A = sparse.csr_array((rng.standard_normal(100), (rows, columns)), shape=(20, 10**9))
    proven = SparseSVC(beta=0.05, screening="gap", scale=None).fit(A, labels).proven_inactive_
    assert proven.n_features == 10**9 - proven.other_features.size > 10**9 - 100
    assert len(pickle.dumps(proven)) < 5000


def test_model_files_keep_the_counts_alone(tmp_path):
    path = fitted(SparseSVCPath(3, 4, screening="gap", fit_intercept=False, **NEAR), X, Y)
    thresher.save(path, tmp_path / "grid.json")
    thresher.save(path.at(1, 2), tmp_path / "point.json")
    grid, point = thresher.load(tmp_path / "grid.json"), thresher.load(tmp_path / "point.json")
    assert grid.path_.at(1, 2).proven_inactive is None
    for loaded in (grid.at(1, 2), point):
        assert loaded.features_removed_ == path.path_.features_removed[1, 2] > 0
        assert not hasattr(loaded, "proven_inactive_")


@pytest.mark.parametrize("estimator", [SparseSVC(screening="iss"), SparseSVCPath(2, 2, screening="iss")])
def test_samples_cannot_be_tested_with_an_intercept(estimator):
    with pytest.raises(ValueError, match=r"screening='iss' tests samples, and none can .*: use fit_intercept=False"):
        estimator.fit(X, Y)
    fitted(estimator.set_params(fit_intercept=False), X, Y)
