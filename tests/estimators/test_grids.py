"""Grids of SparseSVCPath as users meet them: defaults that see weak signals, extension, data far from zero."""

import warnings

import numpy as np
import pytest
from sklearn.datasets import make_classification
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import make_scorer

from thresher import SparseSVC, SparseSVCPath
from thresher.datasets import make_wide
from thresher.losses import SmoothedHinge
from thresher.models import load, save

DATA = make_wide(60, 40, n_relevant=4, random_state=0)
X, y = DATA.X, DATA.y
LARGER = make_scorer(lambda labels, scores: scores.std(), response_method="decision_function")  # the weaker, the better


def factors(n=60, p=400, seed=0):
    """(X, y): genes that follow a few factors, as standardised and as measured: far from zero."""
    rng = np.random.default_rng(seed)
    F = rng.standard_normal((n, 20))
    A = F @ rng.standard_normal((20, p)) / np.sqrt(20) + 0.3 * rng.standard_normal((n, p))
    return A, np.exp(0.5 * A) + 5.0, F[:, :3].sum(axis=1) + rng.standard_normal(n) > 0.0


def weak(seed):
    """(X, y, X, y): 500 rows to train and 300 to test, where 15 of 400 columns hardly differ between the classes."""
    A, labels = make_classification(800, 400, n_informative=15, n_redundant=0, class_sep=0.6, random_state=seed)
    return A[:500], labels[:500], A[500:], labels[500:]


@pytest.mark.slow
@pytest.mark.parametrize(("seed", "least"), [(3, 0.66), (4, 0.61), (5, 0.70)])
def test_the_defaults_see_weak_signals(seed, least):
    """The paper's grid has .573, .547 and .667, an l1 logistic regression .717, .643 and .723."""
    A, labels, B, truth = weak(seed)
    assert SparseSVCPath(cv=3).fit(A, labels).score(B, truth) >= least


def test_a_small_grid_sees_a_weak_signal():
    """The same on 4 x 12 points."""
    A, labels, B, truth = weak(3)
    assert SparseSVCPath(4, 12, cv=2).fit(A, labels).score(B, truth) >= 0.66


def test_a_grid_whose_best_point_is_at_its_end_is_extended():
    path = SparseSVCPath(3, 4, cv=2, scoring=LARGER).fit(X, y)
    begun = SparseSVCPath(3, 4, cv=2, scoring=LARGER, beta_ratio=0.05, alpha_ratio=1e-3).fit(X, y)
    grid, first = path.path_, begun.path_
    n_betas, n_alphas = grid.shape
    assert n_betas > 3
    assert n_alphas > 4
    np.testing.assert_array_equal(grid.alphas[:3, :4], first.alphas)
    np.testing.assert_array_equal(path.scores_[:, :3, :4], begun.scores_)
    np.testing.assert_allclose(grid.alphas[:, 1:] / grid.alphas[:, :-1], 0.1, rtol=1e-9)
    np.testing.assert_allclose(grid.betas[1:] / grid.betas[:-1], np.sqrt(0.05), rtol=1e-9)
    assert grid.solved.all()
    assert grid.gap.max() <= path.tol
    assert path.best_index_ == (n_betas - 1, n_alphas - 1)  # as far as extensions go
    assert grid.alphas[1, -1] <= 1e-6 * grid.alphas[1, 0] * (1.0 + 1e-9)
    assert len(path.cv_results_["params"]) == grid.alphas.size
    assert path.fold_support(1, n_betas - 1, n_alphas - 1).size > 0
    for i, j in ((1, 5), (3, 0), (3, 5)):
        alone = SparseSVC(grid.alphas[i, j], grid.betas[i]).fit(X, y)
        assert grid.objective[i, j] == pytest.approx(alone.selection_.certificate.objective, abs=2e-6)
    for i, j in np.ndindex(first.shape):
        np.testing.assert_array_equal(grid.at(i, j).weights, first.at(i, j).weights)


def test_an_extended_grid_is_saved_and_loaded(tmp_path):
    A, labels, *_ = weak(3)
    path = SparseSVCPath(2, 2, cv=2).fit(A[:200, :100], labels[:200])
    save(path, tmp_path / "grid.json")
    loaded = load(tmp_path / "grid.json")
    assert loaded.path_.shape == path.path_.shape != (2, 2)
    assert loaded.get_params()["alpha_ratio"] == "auto"
    np.testing.assert_array_equal(loaded.decision_function(A[:, :100]), path.decision_function(A[:, :100]))


@pytest.mark.parametrize(
    "fixed",
    [
        {"beta_ratio": 0.1, "alpha_ratio": 0.1},
        {"betas": [0.1, 0.05, 0.02]},
        {"alphas": [0.5, 0.2, 0.1, 0.05]},
        {"cv": None, "scoring": "accuracy"},
    ],
    ids=lambda fixed: " ".join(fixed),
)
def test_a_grid_that_was_given_is_not_extended(fixed):
    path = SparseSVCPath(3, 4, **{"cv": 2, "scoring": LARGER} | fixed).fit(X, y)
    assert path.path_.shape == (3, 4)


def test_only_what_is_left_to_the_fit_is_extended():
    options = {"cv": 2, "scoring": LARGER}
    assert SparseSVCPath(3, 4, beta_ratio=0.1, **options).fit(X, y).path_.shape[0] == 3
    assert SparseSVCPath(3, 4, alpha_ratio=0.1, **options).fit(X, y).path_.shape[1] == 4


def test_a_best_point_inside_leaves_the_grid_as_it_is():
    inside = make_scorer(lambda labels, scores: -abs(scores.std() - 0.3), response_method="decision_function")
    path = SparseSVCPath(4, 6, cv=2, scoring=inside).fit(X, y)
    assert path.best_index_[0] < 3
    assert path.best_index_[1] < 5
    assert path.path_.shape == (4, 6)


def test_progress_knows_of_an_extension():
    seen = []
    path = SparseSVCPath(3, 4, cv=2, scoring=LARGER, verbose=lambda turn, total: seen.append((turn.taken, total)))
    path.fit(X, y)
    assert [taken for taken, _ in seen] == list(range(1, 1 + 3 * path.path_.alphas.size))
    assert seen[0][1] == 3 * 12
    assert all(taken <= total for taken, total in seen)
    assert seen[-1][0] == seen[-1][1]


@pytest.mark.parametrize("at", [40, 60], ids=["all samples", "a fold"])
def test_an_extension_that_is_cut_short_leaves_the_grid_before_it(at):
    def stop(turn, total):
        if turn.taken == at:
            raise KeyboardInterrupt

    path = SparseSVCPath(3, 8, cv=2, scoring=LARGER, verbose=stop)
    at += 3 * 2 * 8
    with pytest.raises(KeyboardInterrupt):
        path.fit(X, y)
    assert path.path_.solved.all()
    assert path.path_.shape[1] >= 8
    assert path.best_index_ == tuple(size - 1 for size in path.path_.shape)
    assert "the best one is at the end of the grid" in path.selection_.stop_reason
    assert path.selection_.interrupted


@pytest.mark.parametrize("scale", ["auto", "std", "max", "unit", None])
def test_data_far_from_zero_takes_no_more_steps(scale):
    """Uncentred, columns that all have the same mean were ten times as many steps."""
    near, far, labels = factors()
    grids = [SparseSVCPath(4, 20, scale=scale).fit(A, labels).path_ for A in (near, far)]
    assert all(grid.gap.max() <= 1e-6 for grid in grids)
    assert grids[1].steps.sum() <= 2.0 * grids[0].steps.sum()


@pytest.mark.parametrize("screening", [None, "gap", "ifs"])
def test_an_offset_of_the_columns_changes_the_intercept_only(screening):
    near, _, labels = factors()
    options = {"alpha": 0.05, "beta": 0.05, "scale": None, "screening": screening}
    offset = np.random.default_rng(1).uniform(-100.0, 100.0, near.shape[1])
    fits = [SparseSVC(**options).fit(A, labels) for A in (near, near + offset)]
    np.testing.assert_array_equal(fits[0].selection_.features, fits[1].selection_.features)
    np.testing.assert_allclose(fits[1].selection_.weights, fits[0].selection_.weights, rtol=1e-6, atol=1e-9)
    moved = fits[1].intercept_[0] + offset[fits[1].selection_.features] @ fits[1].selection_.weights
    assert moved == pytest.approx(fits[0].intercept_[0], abs=1e-6)


@pytest.mark.parametrize("balanced", [False, True])
def test_the_intercept_is_the_best_one_for_the_scores(balanced):
    """At every point, also where penalties are so large that all samples are on the linear part of the loss."""
    labels = np.where(np.arange(60) < (30 if balanced else 36), 1.0, -1.0)
    A = X + 0.3 * labels[:, None]
    grid = SparseSVCPath(4, 8).fit(A, labels).path_
    loss = SmoothedHinge(0.5)
    for i, j in np.ndindex(grid.shape):
        point = grid.at(i, j)
        scores = A[:, point.features] @ point.weights
        values = [loss.value(labels * (scores + b)).mean() for b in np.linspace(-3.0, 3.0, 241) - np.median(scores)]
        assert loss.value(labels * (scores + point.intercept)).mean() <= min(values) + 2e-6


def test_columns_that_do_not_vary_have_no_weight():
    A = np.column_stack([X, np.full(60, 7.0)])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        grid = SparseSVCPath(3, 4, scale=None).fit(A, y).path_
    assert 40 not in grid.ids


def test_a_best_point_at_the_end_of_a_given_grid_is_told():
    """A ratio that is given is kept; what describes the model says that the best point is the last one."""
    A, labels = make_classification(800, 400, n_informative=15, n_redundant=0, class_sep=0.6, random_state=3)
    path = SparseSVCPath(3, 12, alpha_ratio=0.01, cv=3).fit(A[:500], labels[:500])
    assert path.best_index_[1] == 11
    assert "at the end of the grid: " in str(path.describe())
    assert "a smaller alpha_ratio may be better" in str(path.describe())
    assert "at the end" not in str(SparseSVCPath(3, 12, cv=3).fit(X, y).describe())
