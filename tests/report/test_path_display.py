"""PathDisplay: the values drawn are those of the models, and it behaves as scikit-learn's displays do."""

import subprocess
import sys

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import balanced_accuracy_score, get_scorer

mpl.use("Agg")

from matplotlib import pyplot as plt

from tests.rule import fgm_by_rule
from thresher import AlignmentPathClassifier, FGMClassifier, KernelPath, PathDisplay, SparseSVCPath
from thresher.datasets import make_wide
from thresher.report import path_display

RNG = np.random.default_rng(7)
DATA = make_wide(260, 300, n_relevant=8, random_state=3)
WEIGHTS = RNG.uniform(0.0, 2.0, 100)
THREE = np.array(["ash", "beech", "cedar"])[np.argmax(DATA.X[:, :12] @ RNG.standard_normal((12, 3)), axis=1)]
FITTED = {}


@pytest.fixture(autouse=True)
def _close_figures():
    yield
    plt.close("all")


def fitted(labels="two"):
    """(estimator, X, y to score on), fitted once for all tests."""
    y = {"two": DATA.y, "three": THREE}[labels]
    if labels not in FITTED:
        FITTED[labels] = fgm_by_rule(8).fit(DATA.X[:160], y[:160])
    return FITTED[labels], DATA.X[160:], y[160:]


def drawn(display):
    return dict(zip(display.line_.get_xdata().tolist(), display.line_.get_ydata().tolist(), strict=True))


@pytest.mark.parametrize("labels", ["two", "three"])
@pytest.mark.parametrize("storage", [np.asarray, sparse.csr_array, sparse.csc_matrix, np.float32])
@pytest.mark.parametrize("weight", [None, WEIGHTS])
def test_every_value_is_the_score_of_that_model(labels, storage, weight):
    clf, X, y = fitted(labels)
    X = storage(X)
    values = drawn(PathDisplay.from_estimator(clf, X, y, sample_weight=weight))
    assert len(values) > 5
    assert list(values) == clf.path_.numbers.tolist()
    for number, value in values.items():
        assert value == pytest.approx(clf.at(number).score(X, y, weight), abs=1e-12)


@pytest.mark.parametrize("scoring", [None, "balanced_accuracy"])
def test_wide_data_is_looked_at_once(monkeypatch, scoring):
    clf, X, y = fitted()
    check, widths = FGMClassifier._checked, []

    def counted(self, X, **options):
        widths.append(X.shape[1])
        return check(self, X, **options)

    monkeypatch.setattr(FGMClassifier, "_checked", counted)
    PathDisplay.from_estimator(clf, X, y, scoring=scoring)
    on_path = np.unique(np.concatenate([clf.path_.at(number).features for number in clf.path_.numbers])).size
    assert widths[0] == X.shape[1]
    assert set(widths[1:]) <= {on_path}


def test_the_work_may_be_cut_into_parts(monkeypatch):
    clf, X, y = fitted("three")
    whole = drawn(PathDisplay.from_estimator(clf, X, y))
    monkeypatch.setattr(path_display, "ROWS_AT_ONCE", 7)
    monkeypatch.setattr(path_display, "STATIONS_AT_ONCE", 3)
    assert drawn(PathDisplay.from_estimator(clf, X, y)) == pytest.approx(whole)


@pytest.mark.parametrize("per_class", [False, True])
def test_own_number_of_features_is_marked(per_class):
    X, y = DATA.X[:160], THREE[:160]
    clf = fgm_by_rule(4, per_class=per_class).fit(X, y)
    display = PathDisplay.from_estimator(clf, X, y)
    assert display.chosen == 4
    assert ("per class" in display.ax_.get_xlabel()) == per_class


@pytest.mark.parametrize(
    ("labels", "scoring"),
    [
        ("two", "roc_auc"),
        ("two", "accuracy"),
        ("two", "f1_macro"),
        ("two", get_scorer("f1_macro")),
        ("three", "balanced_accuracy"),
        ("three", get_scorer("balanced_accuracy")),
    ],
)
def test_scoring_by_name_and_by_callable(labels, scoring):
    clf, X, y = fitted(labels)
    scorer = get_scorer(scoring) if isinstance(scoring, str) else scoring
    for weighted in ({}, {"sample_weight": WEIGHTS}):
        values = drawn(PathDisplay.from_estimator(clf, sparse.csr_array(X), y, scoring=scoring, **weighted))
        for number, value in values.items():
            assert value == pytest.approx(scorer(clf.at(number), X, y, **weighted), abs=1e-12)


def test_scoring_by_probabilities():
    _, X, y = fitted()
    clf = fgm_by_rule(4, loss="logistic").fit(X, y)
    values = drawn(PathDisplay.from_estimator(clf, X, y, scoring="neg_log_loss"))
    assert values[4] == pytest.approx(get_scorer("neg_log_loss")(clf, X, y))


@pytest.mark.parametrize(
    "options", [{"elimination": False}, {"elimination": False, "debias": True}, {"n_candidates": 1.5}], ids=str
)
def test_growth_alone_and_other_numbers_of_candidates(options):
    _, X, y = fitted()
    clf = fgm_by_rule(6, **options).fit(X, y)
    display = PathDisplay.from_estimator(clf, X, y)
    assert display.chosen == 6
    assert drawn(display)[6] == clf.at(6).score(X, y)


def test_a_callable_sees_the_model_and_the_data_as_they_are():
    clf, X, y = fitted()

    def features_and_columns(model, data, labels):
        assert model.n_features_in_ == data.shape[1] == X.shape[1]
        return model.selection_.features.size + balanced_accuracy_score(labels, model.predict(data))

    display = PathDisplay.from_estimator(clf, X, y, scoring=features_and_columns)
    assert np.array_equal(np.floor(display.scores), clf.path_.numbers)
    assert display.ax_.get_ylabel() == "features_and_columns"


def test_data_frames_keep_their_names_out_of_the_way():
    _, X, y = fitted()
    frame = pd.DataFrame(X[:, :40], columns=[f"gene {j}" for j in range(40)])
    clf = fgm_by_rule(4).fit(frame, y)
    assert drawn(PathDisplay.from_estimator(clf, frame, y))[4] == clf.score(frame, y)
    by_name = PathDisplay.from_estimator(clf, frame, y, scoring="balanced_accuracy")
    assert by_name.chosen == 4
    assert list(clf.feature_names_in_) == list(frame.columns)


def test_estimator_is_left_as_it_was():
    clf, X, y = fitted()
    before = {name: id(value) for name, value in vars(clf).items()}
    features = clf.selection_.features.copy()
    PathDisplay.from_estimator(clf, X, y, scoring="f1")
    assert {name: id(value) for name, value in vars(clf).items()} == before
    assert np.array_equal(clf.selection_.features, features)


def test_display_convention():
    clf, X, y = fitted()
    figure, ax = plt.subplots()
    display = PathDisplay.from_estimator(clf, X, y, ax=ax, color="red", linewidth=3)
    assert isinstance(display, PathDisplay)
    assert display.ax_ is ax
    assert display.figure_ is figure
    assert display.line_ in ax.get_lines()
    assert (display.line_.get_color(), display.line_.get_linewidth()) == ("red", 3)
    again = display.plot()
    assert again is display
    assert display.ax_ is not ax
    assert display.figure_ is display.ax_.figure


def test_what_is_written():
    clf, X, y = fitted()
    display = PathDisplay.from_estimator(clf, X, y)
    best, score = display.best
    assert score == max(display.scores)
    texts = [text.get_text() for text in display.ax_.get_legend().get_texts()]
    assert texts[0] == f"FGMClassifier: best {score:.3g} with {best} {'feature' if best == 1 else 'features'}"
    assert texts[1] == f"chosen: {clf.score(X, y):.3g} with 8 features"
    assert display.chosen_.get_xdata() == [8]
    assert (display.ax_.get_xlabel(), display.ax_.get_ylabel()) == ("Number of features", "Accuracy")
    named = display.plot(name="short").ax_.get_legend().get_texts()[0].get_text()
    assert named.startswith("short: best")
    mine = display.plot(label="mine").ax_.get_legend().get_texts()[0].get_text()
    assert mine == "mine"


@pytest.mark.parametrize(
    ("numbers", "scale"), [([3, 4, 9], "linear"), ([1, 5, 200], "log"), ([10, 199], "linear"), ([0, 1, 40], "symlog")]
)
def test_axis_is_logarithmic_where_numbers_range_far(numbers, scale):
    display = PathDisplay(numbers=np.array(numbers), scores=np.linspace(0.5, 0.9, len(numbers))).plot()
    assert display.ax_.get_xscale() == scale
    assert display.chosen_ is None
    display.figure_.canvas.draw()


def test_one_feature_is_not_plural():
    display = PathDisplay(numbers=np.array([1, 2]), scores=np.array([0.9, 0.8]), number_name="features per class")
    label = display.plot().line_.get_label()
    assert label == "best 0.9 with 1 feature per class"


def test_labels_not_seen_in_fit_count_as_wrong():
    clf, X, y = fitted("three")
    other = np.where(y == "ash", "yew", y)
    values = drawn(PathDisplay.from_estimator(clf, X, other))
    for number, value in values.items():
        assert value == pytest.approx(clf.at(number).score(X, other))


def test_bad_use_is_told():
    clf, X, y = fitted()
    with pytest.raises(NotFittedError):
        PathDisplay.from_estimator(fgm_by_rule(), X, y)
    with pytest.raises(TypeError, match="LogisticRegression has no path_"):
        PathDisplay.from_estimator(LogisticRegression().fit(X, y), X, y)
    with pytest.raises(TypeError, match="path_ of SparseSVCPath is a Grid, not a Path: use GridDisplay for a grid"):
        PathDisplay.from_estimator(SparseSVCPath(2, 3, scale=None, fit_intercept=False).fit(X, y), X, y)
    with pytest.raises(ValueError, match="99 features"):
        PathDisplay.from_estimator(clf, X[:, :99], y)
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        PathDisplay.from_estimator(clf, X, y[:-1])
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        PathDisplay.from_estimator(clf, X, y, sample_weight=WEIGHTS[:-1])
    with pytest.raises(ValueError, match="have a positive sum"):
        PathDisplay.from_estimator(clf, X, y, sample_weight=np.zeros(y.size))
    with pytest.raises(ValueError, match="scoring must be"):
        PathDisplay.from_estimator(clf, X, y, scoring=["accuracy", "f1"])
    with pytest.raises(ValueError, match="none of the classes"):
        PathDisplay.from_estimator(clf, X, y + 5)
    with pytest.raises(ValueError, match="Mix of label input types"):
        PathDisplay.from_estimator(clf, X, y.astype(str))
    with pytest.raises(ValueError, match="NaN"):
        PathDisplay.from_estimator(clf, np.where(X > 2, np.nan, X), y)
    assert plt.get_fignums() == []


def test_without_matplotlib(monkeypatch):
    clf, X, y = fitted()
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    with pytest.raises(ImportError, match=r"pip install matplotlib"):
        PathDisplay.from_estimator(clf, X, y)


def test_importing_does_not_load_matplotlib():
    code = "import sys, thresher.report, thresher; thresher.PathDisplay; assert 'matplotlib' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)


@pytest.fixture(scope="module")
def kernel_path():
    """An AlignmentPathClassifier that has judged its points."""
    rng = np.random.default_rng(0)
    Z = rng.standard_normal((90, 12))
    labels = Z[:, 3] ** 2 + 0.2 * rng.standard_normal(90) > 0.8
    return AlignmentPathClassifier(path=KernelPath(step=0.1), cv=3, C=[0.1, 1.0]).fit(Z, labels), Z, labels


def test_without_data_the_scores_of_the_fit_are_drawn(kernel_path):
    clf = kernel_path[0]
    display = PathDisplay.from_estimator(clf)
    results = clf.cv_results_
    mine = results["param_C"] == clf.C_
    for number, score, deviation in zip(display.numbers, display.scores, display.deviations, strict=True):
        there = mine & (results["n_features"] == number)
        assert score == results["mean_test_score"][there].max()
        assert deviation in results["std_test_score"][there]
    assert np.all(np.diff(display.numbers) > 0)
    assert display.band_ is not None
    assert display.chosen_ is not None
    assert display.best[1] == clf.best_score_
    assert display.ax_.get_ylabel() == "Accuracy"


def test_paths_of_kernels_are_scored_on_data(kernel_path):
    clf, Z, labels = kernel_path
    display = PathDisplay.from_estimator(clf, Z, labels)
    assert np.array_equal(display.numbers, clf.path_.numbers)
    assert display.scores[2] == clf.at(int(display.numbers[2])).score(Z, labels)
    assert display.deviations is None


def test_without_data_and_without_scores(kernel_path):
    clf, A, labels = fitted()
    chosen = clone(clf).set_params(C="auto", cv=2).fit(A, labels)
    for each in (clf, chosen):  # what was scored are values of C
        with pytest.raises(ValueError, match=r"X and y are needed: PathDisplay.from_estimator\(clf, X_test, y_test\)$"):
            PathDisplay.from_estimator(each)
    with pytest.raises(ValueError, match="y, sample_weight and scoring need X"):
        PathDisplay.from_estimator(kernel_path[0], scoring="f1")
    with pytest.raises(ValueError, match="y is missing"):
        PathDisplay.from_estimator(kernel_path[0], kernel_path[1])
