"""save, then load: the same model to the last bit."""

import copy
import json
import os
import warnings
from dataclasses import replace

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import KFold
from sklearn.pipeline import make_pipeline

import thresher
from tests.models.zoo import FRAME, MAKERS, WORDS, X, Y, assert_same_model, data_for, fitted
from tests.rule import fgm_by_rule
from thresher import Source, models
from thresher.results import Path, Trace, Turn
from thresher.state import arrays


@pytest.fixture
def path(tmp_path):
    return tmp_path / "model.json"


@pytest.mark.filterwarnings("ignore::thresher.MissingBagsWarning")  # rows are as good as bags here
@pytest.mark.parametrize("limit", [arrays.INLINE, 0], ids=["lists", "npz"])
@pytest.mark.parametrize("kind", MAKERS)
def test_a_loaded_model_is_the_saved_one(kind, limit, path, monkeypatch):
    """Every kind of model, with its arrays in the document and with all of them in the .npz."""
    monkeypatch.setattr(arrays, "INLINE", limit)
    thresher.save(fitted(kind), path, path=True)
    assert len(os.listdir(path.parent)) == (1 if limit else 2)
    assert_same_model(fitted(kind), thresher.load(path), data_for(kind))


def test_a_long_path_goes_beside_the_document_by_itself(path):
    """Arrays over 1 MB lie in model.<hash>.npz, and what lies there comes back."""
    clf = fgm_by_rule(260, n_candidates=2.0, max_iter=20)
    rng = np.random.default_rng(0)
    A = rng.standard_normal((60, 900))
    clf.fit(A, A[:, :20].sum(axis=1) > 0)
    thresher.save(clf, path)
    document = json.loads(path.read_text())
    assert document["path"]["weights"].keys() == {"npz", "dtype", "shape"}
    entry = document["arrays"]
    assert sorted(os.listdir(path.parent)) == sorted(["model.json", entry["file"]])
    assert entry["file"] == f"model.{entry['sha256'][:12]}.npz"
    with np.load(path.parent / entry["file"], allow_pickle=False) as members:
        assert members["path.features"].shape == tuple(document["path"]["features"]["shape"])
    assert_same_model(clf, thresher.load(path), A)


def test_a_person_can_read_the_document(path):
    """What a reader looks for first is at the top level, in plain values."""
    thresher.save(fitted("frame"), path)
    document = json.loads(path.read_text(encoding="utf-8"))
    clf = fitted("frame")
    assert (document["format"], document["format_version"], document["type"]) == ("thresher-model", 3, "FGMClassifier")
    assert document["names"] == clf.get_feature_names_out().tolist()
    assert document["features"] == clf.selection_.features.tolist()
    assert document["weights"] == clf.selection_.weights.tolist()
    assert document["data"] == clf.fingerprint_
    assert "µg" in path.read_text(encoding="utf-8")
    head = path.read_text(encoding="utf-8").partition('"trace"')[0]
    assert max(len(line) for line in head.splitlines()) < 120


@pytest.mark.parametrize("limit", [arrays.INLINE, 0])
def test_names_and_source_come_back_from_read(limit, path, monkeypatch):
    """Names without a data frame are kept beside the estimator, which is the one that was saved."""
    monkeypatch.setattr(arrays, "INLINE", limit)
    names = [f"n{j}" for j in range(38)] + ["", "naïve \ud800 \n"]
    source = Source("train.svm", "svmlight", np.int64(1), notes={"rows": np.int64(90), "parts": [1.5, None, "ß"]})
    thresher.save(fitted("two"), path, names=names, source=source)
    model = models.read(path)
    assert model.names == tuple(names)
    assert model.source == source
    assert type(model.source.index_base) is int
    assert model.document["source"] == vars(source)
    assert model.document["type"] == "FGMClassifier"
    assert_same_model(fitted("two"), model.estimator, X)
    thresher.save(fitted("two"), path)
    assert (models.read(path).names, models.read(path).source) == (None, Source())


def test_a_data_frames_names_are_the_models_names(path):
    """They need not be given; others are refused."""
    thresher.save(fitted("frame"), path)
    assert models.read(path).names == tuple(FRAME.columns)
    thresher.save(fitted("frame"), path, names=list(FRAME.columns))
    with pytest.raises(ValueError, match="names must be equal to feature_names_in_"):
        thresher.save(fitted("frame"), path, names=[f"x{j}" for j in range(40)])
    assert "gene" in thresher.load(path).get_feature_names_out()[0]


@pytest.mark.parametrize(("options", "error"), [
    ({"names": ["a"]}, "1 names, but 40 features"),
    ({"names": range(40)}, "names must be strings"),
    ({"source": {"file": "train.svm"}}, r"source must be a thresher\.Source, got dict; .* notes"),
    ({"source": Source(notes={"a": {1, 2}})}, "notes of source must be JSON-serializable"),
    ({"source": Source(notes={"a": float("nan")})}, "notes of source must be JSON-serializable"),
])  # fmt: skip
def test_wrong_arguments_are_refused_before_anything_is_written(options, error, path):
    """One clear error, and no file."""
    with pytest.raises((TypeError, ValueError), match=error):
        thresher.save(fitted("two"), path, **options)
    assert os.listdir(path.parent) == []


def test_what_cannot_be_saved_says_so(path):
    """Unknown types and estimators that are not fitted."""
    with pytest.raises(TypeError, match=r"only FGMClassifier, .* can be saved, got Pipeline"):
        thresher.save(make_pipeline(fgm_by_rule()).fit(X, Y), path)
    with pytest.raises(NotFittedError):
        thresher.save(fgm_by_rule(), path)
    odd = copy.copy(fitted("two"))
    odd.classes_ = odd.classes_.astype(object)
    with pytest.raises(TypeError, match="contains float"):
        thresher.save(odd, path)
    assert os.listdir(path.parent) == []


def test_parameters_without_a_form_are_left_out_and_told(path):
    """A splitter becomes the default, with a warning when the model is loaded and none when it is saved."""
    clf = fgm_by_rule(3, C="auto", cv=KFold(3)).fit(X, Y)
    thresher.save(clf, path)
    with pytest.warns(UserWarning, match=r"parameter cv was not saved, it was 'KFold\(") as told:
        loaded = thresher.load(path)
    assert told[0].filename == __file__
    assert loaded.cv is None
    assert loaded.C_ == clf.C_


@pytest.mark.parametrize("value", [
    None, True, 3, -(2**62), 0.1, float("inf"), "nan", [1, [2.5, "a"]], (1, "b"), {1: 2.0, "x": None, 2.5: True},
    {True: 1.0, "tuple": 3}, np.arange(3, dtype=np.int8), np.array(["a", "bc"]), [(np.arange(2), np.arange(2, 4))],
])  # fmt: skip
def test_parameters_keep_value_and_type(value, path):
    """cv is not looked at unless C is "auto", so that it can be anything."""
    clf = clone(fitted("two")).fit(X, Y).set_params(cv=value)
    thresher.save(clf, path)
    assert_same_model(clf, thresher.load(path), X)


@pytest.mark.parametrize("labels", [
    Y.astype(np.int8), Y.astype(">i4"), (Y > 0).astype(np.uint64) + np.uint64(2**63), Y.astype(np.float16),
    WORDS.astype("<U40"), np.where(Y > 0, "ß", "\u2028"),
])  # fmt: skip
def test_labels_keep_value_and_dtype(labels, path):
    """Predictions have the dtype that they had."""
    clf = fgm_by_rule(2).fit(X, labels)
    thresher.save(clf, path)
    assert_same_model(clf, thresher.load(path), X)


def test_a_model_without_features_comes_back(path):
    """Nothing in the data tells the classes apart."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        clf = fgm_by_rule(2).fit(np.zeros((6, 3)), [0, 1, 2, 0, 1, 2])
    thresher.save(clf, path)
    assert_same_model(clf, thresher.load(path), np.zeros((6, 3)))


def test_absurd_width_costs_nothing(path):
    """p = 2^40 with names of no column: nothing of size p is written or read."""
    from scipy import sparse

    A = sparse.csr_array(X)
    wide = sparse.csr_array((A.data, A.indices.astype(np.int64) * 2**30, A.indptr), shape=(90, 2**40))
    clf = fgm_by_rule(3).fit(wide, Y)
    thresher.save(clf, path)
    loaded = thresher.load(path)
    assert loaded.coef_.shape == (1, 2**40)
    np.testing.assert_array_equal(loaded.decision_function(wide), clf.decision_function(wide))


def test_saving_is_public_and_lazy():
    """thresher.save and thresher.load, found where the others are."""
    assert {"save", "load"} <= set(dir(thresher))
    assert thresher.load is models.load


@pytest.mark.parametrize("limit", [arrays.INLINE, 0])
def test_numbers_that_json_does_not_know_come_back(limit, path, monkeypatch):
    """Bounds on the way may be infinite or not known."""
    monkeypatch.setattr(arrays, "INLINE", limit)
    clf = copy.copy(fitted("two"))
    turns = [Turn(1, 2, float("inf"), float("-inf"), float("nan"), -0.0, 0.1)]
    stations = [replace(station, bound=float("-inf"), objective=float("nan")) for station in clf.path_]
    clf.selection_ = replace(clf.selection_, trace=Trace([], turns), path=Path(stations))
    thresher.save(clf, path)
    loaded = thresher.load(path)
    assert repr(loaded.selection_.trace.turns) == repr(turns)
    assert repr(loaded.path_.stations) == repr(clf.path_.stations)
