"""Streams to write and read, and what is asked of files that are none."""

import re

import numpy as np
import pytest
from scipy import sparse

import thresher
from thresher import StreamClassifier
from thresher.errors import ModelFileError
from thresher.models import read_checkpoint

METHODS = ("b-arda", "b-amd", "ofs", "sofs", "l1-arda", "ada-fobos")

DIGITS = 64

SPREAD = 1  # column of a table: what steps are divided by


def side_by_side(method):
    """Two settings of a method."""
    if method == "sofs":
        return {"gamma": [1.0, 10.0]}
    return {"step_size": [0.1, 1.0]} if method in ("l1-arda", "ada-fobos") else {"l2": [1e-4, 1e-2]}


def stream_of(n_classes, rows=200, width=60, seed=0):
    """(X, y, weights): sparse rows, labels that can be learnt, and weights of which some are zero."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(rows, width)) * (rng.random((rows, width)) < 0.2)
    y = (X @ (rng.normal(size=(width, n_classes)) * (np.arange(width) < 12)[:, None])).argmax(axis=1)
    return X, y, rng.integers(0, 4, rows) / 2.0


VARIANTS = {
    "plain": {},
    "hashed": {"hash_bits": 4},
    "open-ended": {"open_ended": True},
    "weights": {},
    "balanced": {"class_weight": "balanced"},
}


def learnt(clf, X, y, weights, rows, variant):
    """Go on with some rows, in the form that the variant asks for."""
    part, given = X[rows], weights[rows] if variant == "weights" else None
    if variant in ("open-ended", "hashed"):
        part = sparse.csr_array(part)
        ids = (part.indices.astype(np.int64) * 10**15 + 7) if variant == "open-ended" else part.indices
        part = sparse.csr_array((part.data, ids, part.indptr), shape=(part.shape[0], int(ids.max(initial=0)) + 1))
    return clf.partial_fit(part, y[rows], classes=np.arange(int(y.max()) + 1), sample_weight=given)


def content(clf, path, **options):
    """The bytes of its checkpoint."""
    thresher.save_checkpoint(clf, path, **options)
    return path.read_bytes()


def small(method="b-arda", **options):
    """Forty examples of six features."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 6))
    return StreamClassifier(3, method, **options).partial_fit(X, np.where(X[:, 0] > 0, 1, -1), classes=[-1, 1])


def saved(folder, clf=None, **options):
    """The path of a small checkpoint."""
    thresher.save_checkpoint(clf or small(), folder / "state.npz", **options)
    return folder / "state.npz"


def refused(path, why=""):
    """The error's text, one line, which says ``why``."""
    with pytest.raises(ModelFileError) as told:
        read_checkpoint(path)
    assert str(told.value).isprintable()
    assert str(told.value).startswith(str(path))
    assert len(str(told.value)) < len(str(path)) + 400
    assert re.search(why, str(told.value).removeprefix(str(path))), told.value
