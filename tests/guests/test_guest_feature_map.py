"""A feature map from outside goes through everything that the ones inside do, with no change in the library."""

import json

import numpy as np
import pytest
from sklearn.base import clone

import thresher
from tests.guests.sign_log import SignLog, pairs
from tests.rule import fgm_by_rule
from thresher.testing import check_feature_map

rng = np.random.default_rng(0)
X = rng.standard_normal((120, 14)) * 10.0 ** rng.integers(-1, 3, 14)
Y = np.where(np.sign(X[:, 3]) + np.log1p(np.abs(X[:, 8])) - np.log1p(np.abs(X[:, 8])).mean() > 0.0, "yes", "no")
THREE = np.argmax(np.stack([np.sign(X[:, 1]), np.log1p(np.abs(X[:, 6])) - 1.0, rng.standard_normal(120)]), axis=0)


@pytest.fixture(scope="module")
def fitted():
    return fgm_by_rule(2, feature_map=SignLog()).fit(X, Y)


def test_the_laws_hold():
    check_feature_map(SignLog())


def test_it_finds_what_the_same_groups_of_the_written_matrix_give(fitted):
    """Fit, path and certificate equal those of groups of two columns."""
    peer = fgm_by_rule(2, groups=np.repeat(np.arange(14), 2), scale=None)
    peer.set_params(groups=thresher.Groups(np.repeat(np.arange(14), 2), weights="none")).fit(pairs(X), Y)
    assert fitted.selection_.groups.tolist() == [3, 8]
    np.testing.assert_array_equal(fitted.selection_.features, peer.selection_.features)
    np.testing.assert_allclose(fitted.selection_.weights, peer.selection_.weights, rtol=1e-6)
    assert fitted.path_.numbers.tolist() == peer.path_.numbers.tolist()
    assert fitted.selection_.certificate.pick_gap == pytest.approx(peer.selection_.certificate.pick_gap)
    np.testing.assert_allclose(fitted.decision_function(X), peer.decision_function(pairs(X)), rtol=1e-6)


def test_names_transform_support_and_path(fitted):
    assert fitted.get_feature_names_out().tolist() == ["x3", "x8"]
    np.testing.assert_array_equal(fitted.transform(X), X[:, [3, 8]])
    assert np.flatnonzero(fitted.get_support()).tolist() == [3, 8]
    assert fitted.at(1).selection_.groups.size == 1
    assert fitted.score(X, Y) > 0.9
    assert "no 2 of the 14 inputs" in fitted.proof()


def test_importance_is_that_of_the_written_matrix(fitted):
    """|weight| times the standard deviation of the sign, or of the logarithm; the commands rank by it."""
    selection = fitted.selection_
    written = pairs(X)[:, selection.features]
    np.testing.assert_allclose(selection.importance, np.abs(selection.weights) * written.std(axis=0), rtol=1e-9)
    np.testing.assert_allclose(fitted.describe().listing.importance, selection.importance[selection.ranking])


@pytest.mark.parametrize(
    "options", [{"C": "auto", "cv": 3}, {"elimination": False}, {"loss": "f1"}, {"loss": "logistic"}]
)
def test_ways_to_fit(options):
    clf = fgm_by_rule(2, feature_map=SignLog(), **options).fit(X, Y)
    assert clf.selection_.groups.size == 2
    assert ("cv_results_" in vars(clf)) == ("cv" in options)


@pytest.mark.parametrize("per_class", [False, True])
def test_classes_restrictions_weights_and_warm_start(per_class):
    how = {"per_class": per_class, "always_include": [5], "exclude": [1]}
    clf = fgm_by_rule(3, feature_map=SignLog(), warm_start=True, **how)
    clf.fit(X, THREE, sample_weight=1.0 + np.arange(120) % 2)
    chosen = clf.selection_.groups.tolist()
    assert 5 in chosen
    assert 1 not in chosen
    assert clf.fit(X, THREE).selection_.groups.size >= 3
    assert clone(clf).get_params()["feature_map"] == SignLog()


def test_it_is_saved_loaded_and_inspected(fitted, tmp_path, capsys):
    from thresher.cli import start

    file = tmp_path / "guest.json"
    thresher.save(fitted, file)
    loaded = thresher.load(file)
    np.testing.assert_array_equal(loaded.decision_function(X), fitted.decision_function(X))
    assert loaded.feature_map == SignLog()
    assert loaded.describe().listing.names == fitted.describe().listing.names
    assert json.loads(file.read_text())["fitted_features"]["kind"] == "sign_log"
    assert start.main(["inspect", str(file)]) in (0, None)
    assert "log(" in capsys.readouterr().out
