"""Features of a class from outside in model files: found by their kind, once the class is defined."""

import copy
import json
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest
from scipy import sparse

import thresher
from tests.models.damage import refused, saved, with_features, write
from tests.models.zoo import X, fitted, same
from thresher.features.fitted import FittedFeatures
from thresher.features.fitted_columns import ColumnFeatures
from thresher.state import values as registry
from thresher.targets.base import Labels


@dataclass(frozen=True, eq=False)
class Shifted(ColumnFeatures):
    """Columns less a number of each."""

    shift: np.ndarray
    notes: Any = None

    def check_parts(self):
        if self.shift.shape != (self.n_columns,):
            raise ValueError("there must be a shift for each column")

    def covers(self, ids):
        return bool((ids < 39).all())

    def columns(self, X, ids):
        return super().columns(X, ids) - self.shift[ids]

    def scores(self, X, ids, weights, intercept):
        return self.columns(X, ids) @ weights + intercept


@dataclass(frozen=True)
class Note:
    """A value that may be in a file once its class is registered."""

    text: str


@pytest.fixture
def registered():
    before = dict(registry.VALUE_TYPES)
    thresher.features.register(Note)
    yield
    registry.VALUE_TYPES.clear()
    registry.VALUE_TYPES.update(before)


def with_shift(notes=None):
    """A model of shifted columns."""
    clf = copy.copy(fitted("two"))
    known = clf.fitted_features_
    features = Shifted(40, np.linspace(0.0, 1.0, 40), notes, n_candidates=40, spread=known.spread)
    path = thresher.results.Path(replace(station, fitted_features=features) for station in clf.path_)
    clf.selection_ = replace(clf.selection_, fitted_features=features, path=path)
    return clf


@pytest.mark.parametrize("notes", [
    None, 3, {"a": (1, [2.5])}, [np.arange(3), sparse.csr_array(np.eye(3))], Note("größe"),
])  # fmt: skip
def test_features_of_a_user_come_back(notes, tmp_path, registered):
    """Every field, without a line of code for it."""
    clf = with_shift(notes)
    thresher.save(clf, tmp_path / "model.json")
    loaded = thresher.load(tmp_path / "model.json")
    assert type(loaded.fitted_features_) is Shifted
    assert same(vars(loaded.fitted_features_), vars(clf.fitted_features_))
    assert same(loaded.decision_function(X), clf.decision_function(X))
    assert same(loaded.at(2).decision_function(X), clf.at(2).decision_function(X))
    assert loaded.proof() == clf.proof()


def shifted(tmp_path, **parts):
    """A file of such a model with other parts of its features."""
    path = tmp_path / "model.json"
    thresher.save(with_shift(), path)
    write(path, with_features(json.loads(path.read_text(encoding="utf-8")), **parts))
    return path


def test_a_kind_that_is_not_known_says_what_to_import(tmp_path, monkeypatch):
    path = shifted(tmp_path)
    assert json.loads(path.read_text())["fitted_features"]["kind"] == "tests.models.test_kinds.Shifted"
    monkeypatch.delitem(FittedFeatures.kinds, "tests.models.test_kinds.Shifted")
    refused(
        path, "unknown kind 'tests.models.test_kinds.Shifted' of fitted_features; if it is a class of your own, import"
    )


@pytest.mark.parametrize(("parts", "why"), [
    ({"shift": {"array": {"dtype": "<f8", "values": [1.0]}}}, "invalid .there must be a shift for each column"),
    ({"shift": "x"}, "fitted_features are invalid .*'str' object has no attribute 'shape'"),
    ({"shift": {"set": []}}, "shift of fitted_features is .* of unknown kind"),
    ({"more": 1}, "fitted_features has an unknown field, 'more'"),
    ({"kind": "columns"}, "fitted_features has an unknown field, 'notes'"),
    ({"kind": "thresher.features.fitted_columns.MadeFeatures"}, "fitted_features has an unknown field, 'notes'"),
])  # fmt: skip
def test_what_is_wrong_with_them_is_said(parts, why, tmp_path):
    refused(shifted(tmp_path, **parts), why)


def test_an_abstract_kind_is_refused(tmp_path):
    path, document, _ = saved(tmp_path, "two")
    write(path, document | {"fitted_features": {"kind": "thresher.features.fitted_columns.MadeFeatures"}})
    refused(path, "fitted_features are invalid .Can't instantiate abstract class MadeFeatures")


def test_what_does_not_cover_the_path_is_refused(tmp_path, monkeypatch):
    path = shifted(tmp_path)
    monkeypatch.setattr(Shifted, "covers", lambda self, ids: False)
    refused(path, "the fitted features lack a feature of the model or its path")


def test_a_value_that_is_not_registered_is_refused_when_it_is_saved(tmp_path):
    with pytest.raises(TypeError, match=r"type Note cannot be written .* thresher\.features\.register\(Note\)"):
        thresher.save(with_shift(Note("a")), tmp_path / "model.json")
    assert list(tmp_path.iterdir()) == []


def test_a_class_that_is_defined_again_takes_the_place_of_the_first(monkeypatch):
    """As in a notebook; classes of other modules have other kinds."""
    monkeypatch.setattr(FittedFeatures, "kinds", dict(FittedFeatures.kinds))
    again = type("Shifted", (ColumnFeatures,), {"__module__": "tests.models.test_kinds"})
    assert FittedFeatures.kinds["tests.models.test_kinds.Shifted"] is again
    other = type("Shifted", (ColumnFeatures,), {"__module__": "elsewhere"})
    assert (other.kind, FittedFeatures.kinds["elsewhere.Shifted"]) == ("elsewhere.Shifted", other)
    assert not set(FittedFeatures.kinds) & set(Labels.kinds)
