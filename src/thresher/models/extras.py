"""What a fit sets beside the selection, as parts of a model document, and back."""

import dataclasses

import numpy as np

from thresher.models.checks import fields, need, number, required, text, whole
from thresher.results import Milestone
from thresher.results.grid import PER_POINT, RULES, Grid

FLOATS = ("gap", "objective")
GRID = required(
    "betas", "alphas", *PER_POINT, "intercepts", "begins", "ids", "weights", "test_begins", "tests", "n_samples",
)  # fmt: skip
SUPPORT = required("begins", "ids")


def put_extra(writer, name, what, estimator):
    """The attribute ``name`` of a fitted estimator, in the form ``what``; None where it is missing."""
    value = getattr(estimator, name, None)
    if value is None:
        return None
    if what in ("number", "whole"):
        return float(value) if what == "number" else int(value)
    if what == "places":
        return [int(each) for each in value]
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
            {key: float(each) for key, each in value.items()} if what == "setting" else [dict(each) for each in value]
        )
    if what == "milestones":
        return put_milestones(writer, name, value)
    if what == "cube":
        value = value.reshape(value.shape[0], -1)
    return writer.put(name, value, "<f8")


def get_extra(reader, value, what, name, estimator):
    """What ``put_extra`` was given; the estimator has its parameters, classes, features and selection."""
    if what in ("number", "whole"):
        return number(value, name) if what == "number" else whole(value, name)
    if what == "places":
        need(isinstance(value, list) and len(value) == 2, f"{name} is not a pair")
        return tuple(whole(each, name) for each in value)
    if what == "grid":
        return _grid(reader, value, estimator)
    if what == "supports":
        need(isinstance(value, list), f"{name} is not a list")
        return [_support(reader, part, estimator) for part in value]
    if what == "setting":
        return _setting(value, name)
    if what == "settings":
        need(isinstance(value, list), f"{name} is not a list")
        return [_setting(each, name) for each in value]
    if what == "milestones":
        return get_milestones(reader, value, name)
    if what == "cube":  # a layer for each fold over the grid
        found = reader.get(value, "<f8", (None, estimator.path_.alphas.size), name, finite=False)
        return found.reshape(-1, *estimator.path_.shape)
    return reader.get(value, "<f8", (None,) if what == "vector" else (None, None), name)


def _put_grid(writer, grid):
    """All arrays of the grid."""
    names = [name for name in GRID if name not in ("intercepts", "n_samples")]
    parts = {name: writer.put(f"grid.{name}", getattr(grid, name), _dtype(name)) for name in names}
    flat = grid.intercepts.reshape(-1, *grid.across)
    return parts | {"n_samples": int(grid.n_samples), "intercepts": writer.put("grid.intercepts", flat, "<f8")}


def _dtype(name):
    floats = ("betas", "alphas", "intercepts", "weights", *FLOATS)
    return "<f8" if name in floats else "<i8"


def _grid(reader, value, estimator):
    value = fields(value, GRID, "grid")
    across = () if estimator.classes_.size == 2 else (estimator.classes_.size,)
    n_features = estimator.n_features_in_
    betas = reader.get(value["betas"], "<f8", (None,), "betas")
    alphas = reader.get(value["alphas"], "<f8", (betas.size, None), "alphas")
    need(betas.size > 0 and alphas.size > 0 and (betas > 0).all() and (alphas > 0).all(), "the grid is not one")
    per_point = {
        name: reader.get(value[name], _dtype(name), alphas.shape, f"{name} of the grid", finite=name not in FLOATS)
        for name in PER_POINT
    }
    intercepts = reader.get(value["intercepts"], "<f8", (alphas.size, *across), "intercepts of the grid")
    begins, ids = _laid_out(reader, value["begins"], value["ids"], alphas.size, n_features)
    weights = reader.get(value["weights"], "<f8", (ids.size, *across), "weights of the grid")
    tests = reader.get(value["tests"], "<i8", (None, 3), "tests of the grid")
    test_begins = reader.get(value["test_begins"], "<i8", (alphas.size + 1,), "beginnings of the tests")
    _check_begins(test_begins, tests.shape[0], "tests")
    need(bool(((tests >= 0) & (tests[:, :1] < len(RULES))).all()), "a test of the grid is not known")
    n_samples = whole(value["n_samples"], "n_samples of the grid", 1)
    counts = [per_point[name] for name in PER_POINT if name not in FLOATS]
    need(all(bool((each >= 0).all()) for each in counts), "a count of the grid is negative")
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
    )


def _support(reader, value, estimator):
    value = fields(value, SUPPORT, "supports")
    return _laid_out(reader, value["begins"], value["ids"], estimator.path_.alphas.size, estimator.n_features_in_)


def _laid_out(reader, begins, ids, size, n_features):
    """(begins, ids) of features laid end to end, sorted within each part."""
    begins = reader.get(begins, "<i8", (size + 1,), "beginnings of the grid")
    ids = reader.get(ids, "<i8", (None,), "features of the grid")
    _check_begins(begins, ids.size, "features")
    need(bool(((ids >= 0) & (ids < n_features)).all()), "a feature of the grid is out of range")
    inside = np.ones(max(ids.size - 1, 0), dtype=bool)
    cuts = begins[1:-1] - 1
    inside[cuts[(cuts >= 0) & (cuts < inside.size)]] = False
    need(bool((ids[1:] > ids[:-1])[inside].all()), "features of the grid are not sorted and unique")
    return begins, ids


def _check_begins(begins, size, what):
    need(begins[0] == 0 and begins[-1] == size, f"the grid does not use all of its {what}")
    need(bool((begins[1:] >= begins[:-1]).all()), f"the {what} of the grid are not in order")


def _setting(value, name):
    need(isinstance(value, dict), f"{name} is not an object")
    return {text(key, name, 40): number(each, name) for key, each in value.items()}


MILESTONE = tuple(field.name for field in dataclasses.fields(Milestone))
MILESTONES, WHOLE = required(*MILESTONE), ("examples", "features")


def put_milestones(writer, name, milestones):
    """Milestones, a list for each of their numbers."""
    columns = list(zip(*map(dataclasses.astuple, milestones), strict=True)) or [()] * len(MILESTONE)
    return {
        key: writer.put(f"{name}.{key}", list(column), "<i8" if key in WHOLE else "<f8")
        for key, column in zip(MILESTONE, columns, strict=True)
    }


def get_milestones(reader, value, name):
    """What ``put_milestones`` was given."""
    value = fields(value, MILESTONES, name)
    columns, count = [], None
    for key in MILESTONE:
        columns.append(reader.get(value[key], "<i8" if key in WHOLE else "<f8", (count,), f"{key} of {name}").tolist())
        count = len(columns[-1])
    need(all(each >= 0 for each in columns[0] + columns[3]), f"a count of {name} is negative")
    return [Milestone(*row) for row in zip(*columns, strict=True)]
