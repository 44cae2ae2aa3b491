"""A loss from outside the package goes through everything that thresher's own losses go through."""

import pickle
from dataclasses import dataclass

import numpy as np
import pytest
from sklearn.base import clone

import thresher
from tests.rule import fgm_by_rule
from thresher.cli import start
from thresher.datasets import make_wide
from thresher.features import register
from thresher.losses import Loss
from thresher.testing import check_loss


# --- begin of the guest
@register
@dataclass(frozen=True)
class ModifiedHuber(Loss):
    """max(0, 1 - m)^2 for margins m >= -reach, and its tangent below: an outlier costs no more than its distance."""

    reach: float = 1.0
    largest_curvature = 2.0
    zero_from = 1.0

    @property
    def steepest(self):
        return 2.0 * (1.0 + self.reach)

    def value(self, margins):
        quadratic = np.maximum(0.0, 1.0 - np.maximum(margins, -self.reach)) ** 2
        return quadratic + self.steepest * np.maximum(0.0, -self.reach - margins)

    def slope(self, margins):
        return -2.0 * np.maximum(0.0, 1.0 - np.maximum(margins, -self.reach))

    def curvature(self, margins):
        return np.where((margins >= -self.reach) & (margins < 1.0), 2.0, 0.0)

    def dual(self, shares):
        return shares - 0.25 * shares**2


def test_laws():
    check_loss(ModifiedHuber())
    check_loss(ModifiedHuber(reach=0.3))


# --- end of the guest

DATA = make_wide(120, 40, n_relevant=3, random_state=5)
DECIDING = DATA.X[:, DATA.relevant] @ DATA.weights
THREE = np.digitize(DECIDING, np.quantile(DECIDING, [0.3, 0.7]))


@pytest.fixture(scope="module")
def fitted():
    return fgm_by_rule(3, loss=ModifiedHuber()).fit(DATA.X, DATA.y)


def test_fit_and_path(fitted):
    np.testing.assert_array_equal(fitted.selection_.features, DATA.relevant)
    assert fitted.score(DATA.X, DATA.y) > 0.85
    assert {1, 2, 3} <= set(fitted.path_.numbers)
    objectives = [station.objective for station in fitted.path_ if station.phase == "thresh"]
    assert np.all(np.diff(objectives) > 0.0), "fewer features cannot do better"
    assert fitted.at(2).selection_.features.size == 2


def test_certificate():
    """The objective is that of the formula, the bound is below it, and in growth the gap closes."""
    clf = fgm_by_rule(3, loss=ModifiedHuber(), scale=None, C=0.1).fit(DATA.X, DATA.y)
    certificate, weights = clf.selection_.certificate, clf.selection_.weights
    margins = np.where(DATA.y == clf.classes_[1], 1.0, -1.0) * clf.decision_function(DATA.X)
    objective = 0.5 * weights @ weights + 0.1 * clf.loss.value(margins).sum()
    assert objective == pytest.approx(certificate.pick_objective, rel=1e-6)
    assert 0.0 < certificate.pick_bound <= certificate.pick_objective
    assert "no 3 of the 40 columns could lower it further than that" in clf.proof()
    grown = fgm_by_rule(loss=ModifiedHuber(), scale=None, C=0.1, elimination=False, tol=1e-6)
    grown._inner_tol = 1e-9
    certificate = grown.fit(DATA.X, DATA.y).selection_.certificate
    assert 0.0 <= certificate.gap <= 1e-6
    assert certificate.lower_bound <= certificate.objective


def test_C_is_chosen(fitted):
    clf = fgm_by_rule(3, loss=ModifiedHuber(), C="auto", cv=2, n_candidates=1.5).fit(DATA.X, DATA.y)
    assert clf.C_ in clf.cv_results_["param_C"]
    assert clf.cv_results_["mean_test_score"].max() > 0.8


@pytest.mark.parametrize("per_class", [False, True])
def test_classes(per_class):
    clf = fgm_by_rule(3, loss=ModifiedHuber(), per_class=per_class).fit(DATA.X, THREE)
    assert clf.coef_.shape == (3, 40)
    assert clf.score(DATA.X, THREE) > 0.7


def test_weights_are_repetitions():
    times = np.random.default_rng(0).integers(0, 3, DATA.y.size)
    clf = fgm_by_rule(3, loss=ModifiedHuber(), scale=None)
    weighted = clone(clf).fit(DATA.X, DATA.y, sample_weight=times)
    repeated = clone(clf).fit(np.repeat(DATA.X, times, axis=0), np.repeat(DATA.y, times))
    np.testing.assert_array_equal(weighted.selection_.features, repeated.selection_.features)
    np.testing.assert_allclose(weighted.selection_.weights, repeated.selection_.weights, rtol=1e-4)


def test_clone_pickle_and_parameters(fitted):
    assert clone(fitted).get_params()["loss"] == ModifiedHuber(1.0)
    assert clone(fitted).set_params(loss=ModifiedHuber(2.0)).loss.reach == 2.0
    again = pickle.loads(pickle.dumps(fitted))
    assert again.loss == ModifiedHuber()
    np.testing.assert_array_equal(again.decision_function(DATA.X), fitted.decision_function(DATA.X))
    assert "loss=ModifiedHuber(reach=1.0)" in repr(fitted)


def test_model_files(fitted, tmp_path):
    thresher.save(fitted, tmp_path / "model.json")
    loaded = thresher.load(tmp_path / "model.json")
    assert loaded.loss == fitted.loss
    np.testing.assert_array_equal(loaded.decision_function(DATA.X), fitted.decision_function(DATA.X))
    np.testing.assert_array_equal(clone(loaded).fit(DATA.X, DATA.y).coef_.data, fitted.coef_.data)


def test_inspect(fitted, tmp_path, capsys):
    thresher.save(fitted, tmp_path / "model.json")
    assert start.main(["inspect", str(tmp_path / "model.json")]) in (0, None)
    shown = capsys.readouterr().out
    assert f"loss: {fitted.loss.name.replace('_', ' ')}" in shown
    assert "".join(fitted.proof().split()) in "".join(shown.split())
