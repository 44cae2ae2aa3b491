"""Files to damage, and what must become of them."""

import hashlib
import json
import re
import warnings

import numpy as np
import pytest

import thresher
from tests.models.zoo import data_for, fitted
from thresher.errors import ModelFileError
from thresher.models import files, storage
from thresher.results.grid import SAFE_TESTS
from thresher.state import arrays
from thresher.state.checks import Damaged


def saved(folder, kind="two", limit=arrays.INLINE):
    """(path, document, path of the .npz or None) of a model written to ``folder``."""
    path, keep = folder / "model.json", arrays.INLINE
    arrays.INLINE = limit
    try:
        thresher.save(fitted(kind), path)
    finally:
        arrays.INLINE = keep
    document = json.loads(path.read_text(encoding="utf-8"))
    return path, document, document["arrays"] and folder / document["arrays"]["file"]


def write(path, document):
    """Write ``document`` with a checksum that fits, if it is one."""
    path.write_text(json.dumps(sealed(document)))


def sealed(document):
    return document | {"checksum": files.checksum(document)} if isinstance(document, dict) else document


def with_features(document, **parts):
    """The document with other parts of its fitted features."""
    return document | {"fitted_features": document["fitted_features"] | parts}


def array(entries):
    """An array in the form of a parameter."""
    entries = np.asarray(entries)
    values = [entry if np.isfinite(entry) else str(entry) for entry in entries.ravel().tolist()]
    return {"array": {"dtype": entries.dtype.str, "shape": list(entries.shape), "values": values}}


def sound_or_refused(path, kind="two"):
    """Whether the file is loaded; a model that is must work, one that is not must say why in one line."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        told, clf = "", None
        try:
            clf = thresher.load(path)
        except ModelFileError as error:
            told = str(error)
        if clf is None:
            assert told.startswith(str(path))
            assert told.isprintable()
            assert len(told) < len(str(path)) + 400
            return False
        clf.selection_.check()
        assert clf.selection_.ranking.size == clf.selection_.features.size
        A = np.asarray(data_for(kind))
        if clf.n_features_in_ == A.shape[1]:
            assert clf.predict(A).shape == (90,)
            assert clf.transform(A).shape == (90, clf.get_feature_names_out().size)
        for point in points_of(clf):
            clf.at(*point).get_feature_names_out()
            assert clf.at(*point).selection_.ranking.size == clf.at(*point).selection_.features.size
        ask_grid(clf)
        repr(clf), repr(clf.selection_), repr(clf.selection_.trace), hasattr(clf, "predict_proba"), str(clf.describe())
        repr(getattr(clf, "path_", None))
    return True


def points_of(clf):
    """What ``at`` of a model can be asked for."""
    if isinstance(clf, thresher.FGMClassifier):
        return [(number,) for number in clf.path_.numbers.tolist()]
    return np.argwhere(clf.path_.solved).tolist() if isinstance(clf, thresher.SparseSVCPath) else []


def ask_grid(clf):
    """Ask a SparseSVCPath for what its grid and its folds tell."""
    if not isinstance(clf, thresher.SparseSVCPath):
        return
    grid = clf.path_
    assert grid.scaling_ratio.shape == grid.n_features.shape == grid.shape
    assert grid.solved.any()
    for i, j in points_of(clf):
        assert grid.coef(i, j).shape == clf.coef_.shape
    if clf.classes_.size == 2:
        assert all(grid.rejections(rule).shape[1:] == grid.shape for rule in SAFE_TESTS)
    if hasattr(clf, "scores_"):
        assert clf.best_estimator_.alpha == grid.alphas[clf.best_index_]
        assert clf.scores_.shape[1:] == grid.shape
        assert len(clf.supports_) == len(clf.scores_)
        assert clf.cv is None or clf.stability(0, 0)[1].max(initial=0.0) <= 1.0


def refused(path, why):
    """The error's text, which says ``why``."""
    with pytest.raises(ModelFileError) as told:
        thresher.load(path)
    assert str(told.value).isprintable()
    assert str(told.value).startswith(str(path))
    assert re.search(why, str(told.value).removeprefix(str(path))), told.value
    return str(told.value)


def parsed(data):
    """The JSON that a text still is after a change, or None; its checksum can be mended."""
    try:
        return storage.parse_json(bytes(data))
    except Damaged:
        return None


def resealed(path, document, data):
    """Write ``data`` as the .npz of the document, with a digest that fits."""
    digest = hashlib.sha256(data).hexdigest()
    name = f"model.{digest[:12]}.npz"
    (path.parent / name).write_bytes(data)
    write(path, document | {"arrays": {"file": name, "sha256": digest}})
