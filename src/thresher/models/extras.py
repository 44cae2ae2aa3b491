"""Fitted attributes other than the selection, as parts of a model document, and back."""

import dataclasses

import numpy as np

from thresher.models import alignments
from thresher.models.checks import fields, integer, need, real, required, string
from thresher.models.selections import get_spread, put_spread
from thresher.results import Milestone
from thresher.results.grid import PER_POINT, RULES, Grid

FLOATS = ("gap", "objective")
GRID = required(
    "betas", "alphas", *PER_POINT, "intercepts", "begins", "ids", "weights", "test_begins", "tests", "n_samples",
) | {"spread": None}  # fmt: skip
SUPPORT = required("begins", "ids")
WRITERS = {
    "alignment_path": alignments.put_path, "training": alignments.put_training,
    "kernel_svm": alignments.put_svm, "results": alignments.put_results,
}  # fmt: skip
READERS = {
    "alignment_path": lambda reader, value, estimator: alignments.get_path(reader, value, estimator.space_.width),
    "training": alignments.get_training,
    "kernel_svm": alignments.get_svm,
    "results": lambda reader, value, estimator: alignments.get_results(reader, value),
}


def put_extra(writer, name, what, estimator):
    """The attribute ``name`` of a fitted estimator, in the form ``what``; None if it is missing."""
    value = getattr(estimator, name, None)
    if value is None:
        return None
    if what in ("real", "integer"):
        return float(value) if what == "real" else int(value)
    if what == "indices":
        return [int(index) for index in value]
    if what in WRITERS:
        return WRITERS[what](writer, value)
    if what == "grid":
        return _put_grid(writer, value)
    if what == "supports":
        parts = [(f"supports.{fold}", begins, ids) for fold, (begins, ids) in enumerate(value)]
        return [
            {"begins": writer.put(f"{key}.begins", begins, "<i8"), "ids": writer.put(f"{key}.ids", ids, "<i8")}
            for key, begins, ids in parts
        ]
    if what in ("setting", "settings"):
        return (
            {key: float(part) for key, part in value.items()} if what == "setting" else [dict(part) for part in value]
        )
    if what == "milestones":
        return put_milestones(writer, name, value)
    if what in ("cube", "choices"):
        value = value.reshape(value.shape[0], -1)
    return writer.put(name, value, "<f8")


def get_extra(reader, value, what, name, estimator):
    """The value that ``put_extra`` was given; the estimator has its parameters, classes, features and selection."""
    if what in ("real", "integer"):
        return real(value, name) if what == "real" else integer(value, name)
    if what == "indices":
        need(isinstance(value, list) and len(value) == 2, f"{name} must be a pair")
        return tuple(integer(index, name) for index in value)
    if what in READERS:
        return READERS[what](reader, value, estimator)
    if what == "grid":
        return _grid(reader, value, estimator)
    if what == "supports":
        need(isinstance(value, list), f"{name} must be a list")
        return [_support(reader, part, estimator) for part in value]
    if what == "setting":
        return _setting(value, name)
    if what == "settings":
        need(isinstance(value, list), f"{name} must be a list")
        return [_setting(part, name) for part in value]
    if what == "milestones":
        return get_milestones(reader, value, name)
    if what == "cube":  # a layer for each fold over the grid
        flat = reader.get(value, "<f8", (None, estimator.path_.alphas.size), name, finite=False)
        return flat.reshape(-1, *estimator.path_.shape)
    if what == "choices":  # a layer for each fold over sigma and C
        tried = [getattr(estimator, each, np.zeros(0)) for each in ("sigmas_", "Cs_")]
        across = tuple(each.size for each in tried)
        need(min(across) > 0, f"{name} is there, but not what was tried")
        return reader.get(value, "<f8", (None, across[0] * across[1]), name).reshape(-1, *across)
    return reader.get(value, "<f8", (None,) if what == "vector" else (None, None), name)


def _put_grid(writer, grid):
    """All arrays of the grid."""
    names = [name for name in GRID if name not in ("intercepts", "n_samples", "spread")]
    parts = {name: writer.put(f"grid.{name}", getattr(grid, name), _dtype(name)) for name in names}
    flat = grid.intercepts.reshape(-1, *grid.across)
    parts |= {"n_samples": int(grid.n_samples), "intercepts": writer.put("grid.intercepts", flat, "<f8")}
    return parts | {"spread": put_spread(writer, "grid.spread", grid.spread)}


def _dtype(name):
    floats = ("betas", "alphas", "intercepts", "weights", *FLOATS)
    return "<f8" if name in floats else "<i8"


def _grid(reader, value, estimator):
    value = fields(value, GRID, "grid")
    across = () if estimator.classes_.size == 2 else (estimator.classes_.size,)
    n_features = estimator.n_features_in_
    betas = reader.get(value["betas"], "<f8", (None,), "betas")
    alphas = reader.get(value["alphas"], "<f8", (betas.size, None), "alphas")
    valid = betas.size > 0 and alphas.size > 0 and (betas > 0).all() and (alphas > 0).all()
    need(valid, "betas and alphas of the grid must be positive and not empty")
    per_point = {
        name: reader.get(value[name], _dtype(name), alphas.shape, f"{name} of the grid", finite=name not in FLOATS)
        for name in PER_POINT
    }
    intercepts = reader.get(value["intercepts"], "<f8", (alphas.size, *across), "intercepts of the grid")
    begins, ids = _laid_out(reader, value["begins"], value["ids"], alphas.size, n_features)
    weights = reader.get(value["weights"], "<f8", (ids.size, *across), "weights of the grid")
    spread = get_spread(reader, value["spread"], n_features, "spread of the grid")
    need(spread is None or spread.covers(ids), "the spread of the grid lacks a feature")
    tests = reader.get(value["tests"], "<i8", (None, 3), "tests of the grid")
    test_begins = reader.get(value["test_begins"], "<i8", (alphas.size + 1,), "test_begins of the grid")
    _check_begins(test_begins, tests.shape[0], "tests")
    need(bool(((tests >= 0) & (tests[:, :1] < len(RULES))).all()), "the grid contains an unknown test")
    n_samples = integer(value["n_samples"], "n_samples of the grid", 1)
    counts = [per_point[name] for name in PER_POINT if name not in FLOATS]
    need(all(bool((count >= 0).all()) for count in counts), "the grid contains a negative count")
    return Grid(
        betas,
        alphas,
        **per_point,
        intercepts=intercepts.reshape(*alphas.shape, *across),
        begins=begins,
        ids=ids,
        weights=weights,
        test_begins=test_begins,
        tests=tests,
        n_samples=n_samples,
        n_features_in=n_features,
        spread=spread,
    )


def _support(reader, value, estimator):
    value = fields(value, SUPPORT, "supports")
    return _laid_out(reader, value["begins"], value["ids"], estimator.path_.alphas.size, estimator.n_features_in_)


def _laid_out(reader, begins, ids, size, n_features):
    """(begins, ids) of features laid end to end, sorted within each part."""
    begins = reader.get(begins, "<i8", (size + 1,), "begins of the grid")
    ids = reader.get(ids, "<i8", (None,), "features of the grid")
    _check_begins(begins, ids.size, "features")
    need(bool(((ids >= 0) & (ids < n_features)).all()), "the grid contains a feature out of range")
    inside = np.ones(max(ids.size - 1, 0), dtype=bool)
    cuts = begins[1:-1] - 1
    inside[cuts[(cuts >= 0) & (cuts < inside.size)]] = False
    need(bool((ids[1:] > ids[:-1])[inside].all()), "features of the grid are not sorted and unique")
    return begins, ids


def _check_begins(begins, size, what):
    need(begins[0] == 0 and begins[-1] == size, f"the grid does not use all of its {what}")
    need(bool((begins[1:] >= begins[:-1]).all()), f"the begins of the {what} of the grid decrease")


def _setting(value, name):
    need(isinstance(value, dict), f"{name} must be an object")
    return {string(key, name, 40): real(part, name) for key, part in value.items()}


MILESTONE = tuple(field.name for field in dataclasses.fields(Milestone))
MILESTONES, INTEGERS = required(*MILESTONE), ("examples", "features")


def put_milestones(writer, name, milestones):
    """Milestones, one list for each of their fields."""
    columns = list(zip(*map(dataclasses.astuple, milestones), strict=True)) or [()] * len(MILESTONE)
    return {
        key: writer.put(f"{name}.{key}", list(column), "<i8" if key in INTEGERS else "<f8")
        for key, column in zip(MILESTONE, columns, strict=True)
    }


def get_milestones(reader, value, name):
    """The milestones that ``put_milestones`` was given."""
    value = fields(value, MILESTONES, name)
    columns, count = [], None
    for key in MILESTONE:
        dtype = "<i8" if key in INTEGERS else "<f8"
        columns.append(reader.get(value[key], dtype, (count,), f"{key} of {name}").tolist())
        count = len(columns[-1])
    need(all(count >= 0 for count in columns[0] + columns[3]), f"{name} contain a negative count")
    return [Milestone(*row) for row in zip(*columns, strict=True)]
