"""A measure from outside the package goes through everything that thresher's own measures go through."""

import pickle
from dataclasses import dataclass

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import cross_val_score

import thresher
from tests.rule import fgm_by_rule
from thresher.cli import start
from thresher.datasets import make_wide
from thresher.features import register
from thresher.measures import ConfusionMeasure
from thresher.testing import check_measure


# --- begin of the guest
@register
@dataclass(frozen=True)
class GeometricMean(ConfusionMeasure):
    """The geometric mean of the recalls of both classes: nothing is won by giving up a rare class."""

    def loss_of_counts(self, true, false, n_positive, n_negative):
        return 1.0 - np.sqrt(true / n_positive * (1.0 - false / n_negative))


def test_laws():
    check_measure(GeometricMean())


# --- end of the guest

DATA = make_wide(140, 60, n_relevant=3, random_state=3)
DECIDING = DATA.X[:, DATA.relevant] @ np.sign(DATA.weights)
RARE = np.where(DECIDING > 1.8, "yes", "no")
THREE = np.digitize(DECIDING, [-1.0, 1.0])


@pytest.fixture(scope="module")
def fitted():
    return fgm_by_rule(3, loss=GeometricMean(), C=1.0).fit(DATA.X, RARE)


def of_labels(y, predicted):
    """The measure, written out."""
    return np.sqrt(np.mean(predicted[y == "yes"] == "yes") * np.mean(predicted[y == "no"] == "no"))


def test_fit_path_and_certificate(fitted):
    np.testing.assert_array_equal(fitted.selection_.features, DATA.relevant)
    assert set(fitted.path_.numbers) >= {1, 2, 3}
    certificate = fitted.selection_.certificate
    assert 0.0 < certificate.pick_bound <= certificate.pick_objective
    assert "no 3 of the 60 columns" in fitted.proof()
    grown = fgm_by_rule(loss=GeometricMean(), C=0.1, elimination=False, tol=1e-4).fit(DATA.X, RARE)
    assert 0.0 <= grown.selection_.certificate.gap <= 1e-4


def test_the_intercept_is_the_best_threshold_and_the_scorer_is_the_measure(fitted):
    scores = fitted.decision_function(DATA.X)
    best = max(of_labels(RARE, np.where(scores + b > 0, "yes", "no")) for b in np.append(-scores + 1e-9, 0.0))
    assert of_labels(RARE, fitted.predict(DATA.X)) == pytest.approx(best)
    assert GeometricMean().scorer()(fitted, DATA.X, RARE) == pytest.approx(best)
    found = cross_val_score(clone(fitted), DATA.X, RARE, cv=2, scoring=GeometricMean().scorer(), error_score="raise")
    assert np.all((found > 0.5) & (found <= 1.0))


def test_C_is_chosen_by_the_measure():
    clf = fgm_by_rule(3, loss=GeometricMean(), C="auto", cv=2, elimination=False).fit(DATA.X, RARE)
    assert {"split0_test_score", "split1_test_score"} <= set(clf.cv_results_)
    assert 0.6 < clf.cv_results_["mean_test_score"].max() <= 1.0


@pytest.mark.parametrize("per_class", [False, True])
def test_classes(per_class):
    clf = fgm_by_rule(3, loss=GeometricMean(), C=1.0, per_class=per_class).fit(DATA.X, THREE)
    assert clf.coef_.shape == (3, 60)
    assert GeometricMean().scorer()(clf, DATA.X, THREE) > 0.7


def test_weights_of_zero_leave_samples_out_and_others_are_refused():
    kept = np.arange(RARE.size) % 5 > 0
    clf = fgm_by_rule(3, loss=GeometricMean(), C=1.0, scale=None)
    weighted, part = clone(clf).fit(DATA.X, RARE, sample_weight=kept), clone(clf).fit(DATA.X[kept], RARE[kept])
    np.testing.assert_array_equal(weighted.selection_.features, part.selection_.features)
    np.testing.assert_allclose(weighted.selection_.weights, part.selection_.weights, rtol=1e-6)
    with pytest.raises(ValueError, match="loss='GeometricMean' takes sample weights 0 and 1 only"):
        clf.fit(DATA.X, RARE, sample_weight=1.0 + kept)


def test_clone_pickle_and_parameters(fitted):
    assert clone(fitted).get_params()["loss"] == GeometricMean()
    again = pickle.loads(pickle.dumps(fitted))
    assert again.loss == GeometricMean()
    np.testing.assert_array_equal(again.decision_function(DATA.X), fitted.decision_function(DATA.X))
    assert "loss=GeometricMean()" in repr(fitted)


def test_model_files(fitted, tmp_path):
    thresher.save(fitted, tmp_path / "model.json")
    loaded = thresher.load(tmp_path / "model.json")
    assert loaded.loss == GeometricMean()
    np.testing.assert_array_equal(loaded.decision_function(DATA.X), fitted.decision_function(DATA.X))
    np.testing.assert_array_equal(clone(loaded).fit(DATA.X, RARE).coef_.data, fitted.coef_.data)


def test_inspect(fitted, tmp_path, capsys):
    thresher.save(fitted, tmp_path / "model.json")
    assert start.main(["inspect", str(tmp_path / "model.json")]) in (0, None)
    shown = capsys.readouterr().out
    assert f"loss: {fitted.loss.name.replace('_', ' ')}" in shown
    assert "".join(fitted.proof().split()) in "".join(shown.split())
