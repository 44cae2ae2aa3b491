"""GridDisplay: what is drawn is what the grid holds, and it behaves as scikit-learn's displays do."""

import copy
import subprocess
import sys
import warnings
from dataclasses import replace

import matplotlib as mpl
import numpy as np
import pytest
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import make_scorer, recall_score

mpl.use("Agg")

from matplotlib import pyplot as plt
from matplotlib.colors import LogNorm

from tests.rule import fgm_by_rule
from thresher import GridDisplay, SparseSVCPath
from thresher.datasets import make_wide
from thresher.report import grid_display
from thresher.results.grid import SAFE_TESTS, TEST

DATA = make_wide(80, 200, n_relevant=6, random_state=3)
THREE = np.array(["ash", "beech", "cedar"])[
    np.argmax(DATA.X[:, :9] @ np.random.default_rng(7).standard_normal((9, 3)), axis=1)
]
SHAPE = 4, 6
MAPS = [what for what in grid_display.MAPS if what != "rejections"]
FITTED = {}


@pytest.fixture(autouse=True)
def _close_figures():
    yield
    plt.close("all")


def fit(y=DATA.y, **options):
    path = SparseSVCPath(
        *SHAPE, **{"alpha_ratio": 0.6, "beta_ratio": 0.1, "scale": None, "fit_intercept": False, **options}
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return path.fit(DATA.X, y)


def fitted(kind="cv"):
    """Fitted once for all tests."""
    if kind not in FITTED:
        FITTED[kind] = {
            "cv": lambda: fit(cv=3, screening="sifs+gap"),
            "auto": fit,
            "sifs": lambda: fit(screening="sifs"),
            "gap": lambda: fit(screening="gap"),
            "iss": lambda: fit(screening="iss"),
            "three": lambda: fit(THREE, cv=2),
            "ended": ended,
        }[kind]()
    return FITTED[kind]


def ended(points=15, **options):
    """A fit that was ended after so many points."""

    def end(turn, total):
        if turn.taken == points:
            raise KeyboardInterrupt

    path = SparseSVCPath(
        *SHAPE,
        alpha_ratio=0.6,
        beta_ratio=0.1,
        screening="sifs",
        verbose=end,
        scale=None,
        fit_intercept=False,
        **options,
    )
    with pytest.raises(KeyboardInterrupt):
        path.fit(DATA.X, DATA.y)
    assert 0 < path.path_.solved.sum() < path.path_.alphas.size
    return path


def values_of(path, what):
    grid = path.path_
    return {
        "scaling": lambda: grid.scaling_ratio,
        "selected": lambda: grid.n_features,
        "gap": lambda: np.log10(np.maximum(grid.gap, np.finfo(float).eps)),
        "score": lambda: path.scores_.mean(axis=0),
        "features_removed": lambda: grid.features_removed / DATA.X.shape[1],
        "samples_removed": lambda: grid.samples_removed / DATA.X.shape[0],
    }[what]()


def drawn(image):
    return np.ma.asarray(image.get_array()).reshape(SHAPE)


def colours(display, points):
    """Colours of the points of the first map."""
    return display.image_.to_rgba(drawn(display.image_))[points]


@pytest.mark.parametrize(
    ("kind", "what"), [("cv", what) for what in MAPS] + [("three", "selected"), ("three", "score")]
)
def test_every_cell_has_the_value_of_its_point(what, kind):
    path = fitted(kind)
    display = GridDisplay.from_estimator(path, what)
    assert not np.ma.is_masked(drawn(display.image_))
    assert np.array_equal(drawn(display.image_), values_of(path, what))
    assert np.ptp(drawn(display.image_)) > 0


def test_cells_lie_around_their_points():
    path = fitted()
    display = GridDisplay.from_estimator(path)
    edges = display.image_.get_coordinates()
    x = path.path_.alphas[2] / path.path_.alphas[2, 0]
    y = path.path_.betas / path.path_.betas[0]
    assert edges.shape == (SHAPE[0] + 1, SHAPE[1] + 1, 2)
    assert np.allclose(np.sqrt(edges[0, 1:, 0] * edges[0, :-1, 0]), x)
    assert np.allclose(np.sqrt(edges[1:, 0, 1] * edges[:-1, 0, 1]), y)
    assert (display.ax_.get_xscale(), display.ax_.get_yscale()) == ("log", "log")
    assert display.ax_.get_xlim() == pytest.approx((edges[..., 0].min(), edges[..., 0].max()))


@pytest.mark.parametrize("what", [what for what in MAPS if what != "score"])
def test_points_not_reached_are_white(what):
    path = fitted("ended")
    display = GridDisplay.from_estimator(path, what)
    solved = path.path_.solved
    assert np.array_equal(np.ma.getmaskarray(drawn(display.image_)), ~solved)
    assert np.array_equal(drawn(display.image_)[solved], values_of(path, what)[solved])
    assert np.all(colours(display, ~solved)[:, 3] == 0.0)
    assert np.all(colours(display, solved)[:, 3] == 1.0)
    assert display.ax_.get_facecolor()[:3] == (1.0, 1.0, 1.0)


@pytest.mark.parametrize("kind", ["cv", "sifs", "ended", "iss"])
def test_rejection_ratios_have_a_row_for_each_test_and_a_panel_for_each_run(kind):
    grid = fitted(kind).path_
    display = GridDisplay.from_estimator(fitted(kind), "rejections", runs=99)
    rules = [rule for rule in ("ifs", "iss") if len(grid.rejections(rule))]
    assert rules == (["iss"] if kind == "iss" else ["ifs", "iss"])
    assert display.images_.shape == (len(rules), max(len(grid.rejections(rule)) for rule in rules))
    tested = 0
    for row, rule in enumerate(rules):
        ratios = grid.rejections(rule)
        for run, image in enumerate(display.images_[row]):
            if run >= len(ratios):
                assert image is display.axes_[row, run] is None
                continue
            own = drawn(image)
            shown = ~np.ma.getmaskarray(own)
            assert np.array_equal(own[shown], ratios[run][shown])
            assert not np.any(ratios[run][~shown])
            assert not np.any(shown & ~grid.solved)
            assert image.get_clim() == (0.0, 1.0)
            assert display.axes_[row, run].get_title() == f"{rule.upper()}, run {run + 1}"
            tested += own[shown].sum()
    assert tested > 0


def test_rejection_ratios_are_white_where_the_test_was_not_run():
    grid = fitted("sifs").path_
    display = GridDisplay.from_estimator(fitted("sifs"), "rejections")
    for row, rule in enumerate(("ifs", "iss")):
        ran = [
            SAFE_TESTS.index(rule) in grid.tests[begin:end, TEST]
            for begin, end in zip(grid.test_begins, grid.test_begins[1:], strict=False)
        ]
        shown = ~np.ma.getmaskarray(drawn(display.images_[row, 0]))
        assert shown.ravel().tolist() == ran
        assert not shown[0].any()  # no features at the largest beta: nothing to test
        assert shown[1:, 2:].all()
    display.figure_.canvas.draw()


@pytest.mark.parametrize(("features", "samples"), [(2, 1), (1, 2), (1, 1)])
def test_the_lowest_panel_of_each_column_has_the_label(features, samples):
    values = {"ifs": np.ma.zeros((features, 2, 3)), "iss": np.ma.zeros((samples, 2, 3))}
    display = GridDisplay(what="rejections", values=values).plot()
    for column in display.axes_.T:
        labels = [ax.get_xlabel() for ax in column if ax is not None]
        assert labels == [""] * (len(labels) - 1) + ["alpha"]


def test_only_the_first_runs_are_drawn_and_it_is_said():
    path = fitted("sifs")
    most = max(len(path.path_.rejections(rule)) for rule in ("ifs", "iss"))
    assert most > 2
    display = GridDisplay.from_estimator(path, "rejections", runs=2)
    assert display.images_.shape == (2, 2)
    assert display.figure_.get_suptitle() == f"Rejection ratios, runs 1 to 2 of {most}"
    assert display.plot(runs=most).figure_.get_suptitle() == "Rejection ratios"
    assert len(display.values["iss"]) == len(path.path_.rejections("iss"))
    with pytest.raises(ValueError, match="runs must be >= 1"):
        display.plot(runs=0)


@pytest.mark.parametrize("what", list(grid_display.MAPS))
def test_best_point_has_a_ring(what):
    path = copy.copy(fitted())
    path.best_index_ = i, j = 2, 4  # whichever it is, but not on the diagonal
    display = GridDisplay.from_estimator(path, what)
    x, y = path.path_.alphas[i, j] / path.path_.alphas[i, 0], path.path_.betas[i] / path.path_.betas[0]
    rings = [ring for ring in display.bests_.flat if ring is not None]
    assert len(rings) == sum(image is not None for image in display.images_.flat)
    for ring in rings:
        assert (ring.get_xdata()[0], ring.get_ydata()[0]) == pytest.approx((x, y))
        assert ring.get_marker() == "o"
        assert ring.get_markerfacecolor() == "none"
    title = display.figure_.get_suptitle() if what == "rejections" else display.ax_.get_title()
    count = path.path_.n_features[i, j]
    assert title.endswith(f"best mean score: {path.best_score_:.3g}, {count} features")


def test_without_folds_there_is_no_ring():
    display = GridDisplay.from_estimator(fitted("sifs"))
    assert display.best_ is None
    assert len(display.ax_.get_lines()) == 0
    assert display.ax_.get_title() == "Size of the models"


@pytest.mark.parametrize("what", ["scaling", "features_removed", "samples_removed"])
def test_points_where_nothing_was_tested_are_white(what):
    """By default only closed forms are known: the largest beta, and the largest alpha of the others."""
    known = np.zeros(SHAPE, dtype=bool)
    known[0], known[:, 0] = True, True
    assert np.array_equal(~np.ma.getmaskarray(drawn(GridDisplay.from_estimator(fitted("auto"), what).image_)), known)
    assert not np.ma.is_masked(drawn(GridDisplay.from_estimator(fitted("auto"), "selected").image_))


def test_what_is_written():
    for what, label in [
        ("scaling", "Scaling ratio"),
        ("selected", "Number of features"),
        ("score", "Mean accuracy of 3 folds"),
        ("features_removed", "Share of all features"),
        ("samples_removed", "Share of all samples"),
    ]:
        display = GridDisplay.from_estimator(fitted(), what)
        assert display.colorbar_.ax.get_ylabel() == label
        assert r"\alpha_{\max}" in display.ax_.get_xlabel()
        assert r"\beta_{\max}" in display.ax_.get_ylabel()
    own = copy.copy(fitted()).set_params(scoring=make_scorer(recall_score))
    assert GridDisplay.from_estimator(own, "score").colorbar_.ax.get_ylabel() == "Mean score of 3 folds"


def test_numbers_of_features_have_logarithmic_colours_and_none_has_one_too():
    display = GridDisplay.from_estimator(fitted(), "selected")
    norm, most = display.image_.norm, fitted().path_.n_features.max()
    places = norm(np.array([0.0, 1.0, 2.0, 4.0, 8.0, most]))
    assert (places[0], places[-1]) == pytest.approx((0.0, 1.0))
    steps = np.diff(places[1:5])
    assert np.allclose(steps, steps[0], rtol=0.2)
    assert fitted().path_.n_features[0, 0] == 0
    assert colours(display, (0, 0))[3] == 1.0
    texts = [text.get_text() for text in display.colorbar_.ax.get_yticklabels()]
    assert {"0", "1", "10"} <= set(texts)
    assert GridDisplay.from_estimator(fitted(), "selected", vmax=1000).image_.norm.vmax == 1000


def test_colours_of_scores_are_not_spent_on_models_without_features():
    path = fitted()
    display = GridDisplay.from_estimator(path, "score")
    mean, some = path.scores_.mean(axis=0), path.path_.n_features > 0
    assert mean[~some].min() < mean[some].min()
    assert display.image_.get_clim() == (mean[some].min(), mean.max())
    assert display.colorbar_.extend == "min"
    assert display.plot(vmin=0.0).image_.get_clim()[0] == 0.0
    assert display.colorbar_.extend == "neither"


def test_display_convention():
    figure, ax = plt.subplots()
    display = GridDisplay.from_estimator(fitted(), "scaling", ax, cmap="cividis", vmin=0.5)
    assert isinstance(display, GridDisplay)
    assert display.ax_ is display.axes_[0, 0] is ax
    assert display.figure_ is figure
    assert display.image_ in ax.collections
    assert display.image_.get_cmap().name == "cividis"
    assert display.image_.get_clim()[0] == 0.5
    again = display.plot(norm=LogNorm(0.1, 1.0))
    assert again is display
    assert display.ax_ is not ax
    assert display.figure_ is display.ax_.figure
    assert display.image_.get_cmap().name == "viridis"
    assert isinstance(display.image_.norm, LogNorm)


def test_panels_may_be_given():
    figure, axes = plt.subplots(2, 2)
    display = GridDisplay.from_estimator(fitted("sifs"), "rejections", axes, runs=2)
    assert display.axes_.tolist() == axes.tolist()
    assert display.figure_ is figure
    with pytest.raises(ValueError, match=r"2 x 2 Axes, one for each map; got 1"):
        display.plot(axes[0, 0], runs=2)
    with pytest.raises(ValueError, match=r"1 x 1 Axes, one for each map; got 4"):
        GridDisplay.from_estimator(fitted(), "gap", axes)


def test_axes_of_given_alphas_and_betas():
    alphas, betas = np.geomspace(0.5, 0.005, 3), np.array([0.05, 0.02])
    path = fit(alphas=alphas, betas=betas)
    display = GridDisplay.from_estimator(path)
    assert (display.ax_.get_xlabel(), display.ax_.get_ylabel()) == (r"$\alpha$", r"$\beta$")
    assert np.array_equal(display.x, alphas)
    assert np.array_equal(display.y, betas)
    path = fit(alphas=np.array([alphas, 2.0 * alphas]), betas=betas)
    display = GridDisplay.from_estimator(path)
    assert np.allclose(display.x, alphas / alphas[0])
    assert "given for each" in display.ax_.get_xlabel()


def test_axes_are_numbers_where_rows_share_no_alphas_or_have_no_order():
    path = fit(alphas=[[0.5, 0.1, 0.05], [0.5, 0.3, 0.01]], betas=[0.05, 0.02])
    display = GridDisplay.from_estimator(path)
    assert display.x is None
    assert display.ax_.get_xlabel() == r"Index of $\alpha$ in the grid"
    assert display.image_.get_coordinates()[0, :, 0].tolist() == [-0.5, 0.5, 1.5, 2.5]
    assert (display.ax_.get_xscale(), display.ax_.get_yscale()) == ("linear", "log")
    path = fit(alphas=[0.5, 0.1], betas=[0.02, 0.05, 0.02])
    display = GridDisplay.from_estimator(path, "selected")
    assert display.y is None
    assert np.array_equal(display.image_.get_array().reshape(3, 2), path.path_.n_features)


@pytest.mark.parametrize("what", ["scaling", "selected"])
def test_a_single_point(what):
    path = fit(alphas=[0.1], betas=[0.02])
    display = GridDisplay.from_estimator(path, what)
    assert display.image_.get_array().size == 1
    display.figure_.canvas.draw()


def test_a_gap_of_nothing_is_drawn_as_the_least_gap():
    path = copy.copy(fitted("sifs"))
    path.path_ = replace(path.path_, gap=np.zeros(SHAPE))
    image = drawn(GridDisplay.from_estimator(path, "gap").image_)
    assert np.all(image == np.log10(np.finfo(float).eps))


def test_estimator_is_left_as_it_was():
    path = fitted()
    before = {name: id(value) for name, value in vars(path).items()}
    selected = path.path_.n_features.copy()
    display = GridDisplay.from_estimator(path, "features_removed")
    display.values[:] = -1.0
    assert {name: id(value) for name, value in vars(path).items()} == before
    assert np.array_equal(path.path_.n_features, selected)
    assert path.path_.features_removed.min() >= 0


def test_bad_use_is_told():
    options = "'scaling', 'selected', 'gap', 'score', 'features_removed', 'samples_removed', 'rejections'"
    for what in ("speed", None, ["gap"], np.array(["gap", "score"])):
        with pytest.raises(ValueError, match=f"what must be one of {options}; got"):
            GridDisplay.from_estimator(fitted(), what)
    with pytest.raises(NotFittedError):
        GridDisplay.from_estimator(SparseSVCPath(scale=None, fit_intercept=False))
    for other in (LogisticRegression(), fgm_by_rule(3)):
        with pytest.raises(ValueError, match=f"{type(other).__name__} has no grid: .* SparseSVCPath"):
            GridDisplay.from_estimator(other.fit(DATA.X, DATA.y))
    with pytest.raises(ValueError, match=r"what='score' needs .* fit with cv"):
        GridDisplay.from_estimator(fitted("sifs"), "score")
    with pytest.raises(ValueError, match=r"what='score' needs .* the fit stopped before"):
        GridDisplay.from_estimator(ended(cv=3), "score")
    with pytest.raises(ValueError, match=r"needs two classes, got 3: use one of 'scaling', .*'samples_removed'"):
        GridDisplay.from_estimator(fitted("three"), "rejections")
    with pytest.raises(ValueError, match=r"needs runs of ISS or IFS, .* screening='sifs'"):
        GridDisplay.from_estimator(fitted("gap"), "rejections")
    assert plt.get_fignums() == []


def test_without_matplotlib(monkeypatch):
    path = fitted()
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    with pytest.raises(ImportError, match=r"GridDisplay needs matplotlib to draw: pip install matplotlib"):
        GridDisplay.from_estimator(path)


def test_importing_does_not_load_matplotlib():
    code = "import sys, thresher; thresher.GridDisplay; assert 'matplotlib' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)
