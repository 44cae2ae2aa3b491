"""Files of models without the other models of their fits: as small as what predicts, and they predict the same."""

import os

import numpy as np
import pytest

import thresher
from tests.models.zoo import MAKERS, data_for, fitted
from tests.rule import fgm_by_rule
from thresher.datasets import make_wide
from thresher.state import arrays


def size(folder):
    return sum(os.path.getsize(folder / name) for name in os.listdir(folder))


@pytest.mark.filterwarnings("ignore::thresher.MissingBagsWarning")
@pytest.mark.parametrize("limit", [arrays.INLINE, 0], ids=["lists", "npz"])
@pytest.mark.parametrize("kind", MAKERS)
def test_every_kind_of_model_can_be_saved_alone(kind, limit, tmp_path, monkeypatch):
    monkeypatch.setattr(arrays, "INLINE", limit)
    clf, data = fitted(kind), data_for(kind)
    thresher.save(clf, tmp_path / "model.json", path=False)
    loaded = thresher.load(tmp_path / "model.json")
    assert loaded.selection_.features.tolist() == clf.selection_.features.tolist()
    methods = [name for name in ("predict", "decision_function", "transform") if hasattr(clf, name)]
    for method in methods:
        one, other = (getattr(model, method)(data) for model in (clf, loaded))
        one, other = (values.toarray() if hasattr(values, "toarray") else values for values in (one, other))
        np.testing.assert_array_equal(one, other)
    if hasattr(loaded, "path_"):
        assert len(loaded.path_) == (1 if kind.startswith("kernels") else 0)
    assert str(loaded.describe())
    thresher.save(loaded, tmp_path / "model.json", path=True)
    assert thresher.load(tmp_path / "model.json").selection_.features.tolist() == clf.selection_.features.tolist()


def test_a_model_of_the_path_is_alone_unless_its_path_is_asked_for(tmp_path):
    data = make_wide(300, 3000, n_relevant=20, random_state=0)
    clf = fgm_by_rule(200, n_candidates=2.0).fit(data.X, data.y)
    for name, model, options in (
        ("whole", clf, {}), ("without", clf, {"path": False}), ("alone", clf.at(200), {}),
        ("asked", clf.at(200), {"path": True}), ("small", clf.at(20), {}),
    ):  # fmt: skip
        folder = tmp_path / name
        folder.mkdir()
        thresher.save(model, folder / "model.json", **options)
    kilobytes = {name: size(tmp_path / name) / 1000 for name in os.listdir(tmp_path)}
    assert kilobytes["whole"] > 500
    assert kilobytes["asked"] > 500
    assert max(kilobytes["alone"], kilobytes["without"]) < 30
    assert kilobytes["small"] < 12
    assert thresher.load(tmp_path / "whole" / "model.json").at(7).selection_.features.size == 7
    assert thresher.load(tmp_path / "asked" / "model.json").at(7).selection_.features.size == 7
    with pytest.raises(ValueError, match=r"no path to take a model with 7 features from.* save with path=True"):
        thresher.load(tmp_path / "alone" / "model.json").at(7)
    assert clf.at(200).at(7).selection_.features.size == 7


def test_the_name_of_the_file_is_no_path(tmp_path):
    clf = fitted("two")
    with pytest.raises(TypeError, match=r"path must be True, False or None, got 'model\.json'"):
        thresher.save(clf, tmp_path / "model.json", path="model.json")
    assert not os.listdir(tmp_path)
