"""A Selection with its path and trace as parts of a model document, and back."""

import dataclasses
import time

import numpy as np

from thresher.data.input.scaling import SCALES
from thresher.errors import InconsistentResultError
from thresher.models.checks import (
    Damaged,
    boolean,
    fields,
    increasing,
    integer,
    need,
    real,
    required,
    shown,
    string,
)
from thresher.models.parameters import get_parameter, put_parameter
from thresher.models.values import get_strings, put_strings
from thresher.results import Certificate, GroupLabels, Path, Selection, Spread, Station, Step, StopReason, Trace, Turn

PHASES = ("grow", "thresh")
BOUNDS = tuple(field.name for field in dataclasses.fields(Certificate))
LATER = ("visited", "planes", "inner_gap")  # of turns: files of before lack them
FIELD_OF = {"planes": "cuts"}  # fields of turns that have another name in files
TURN = {"features": "<i8", "taken": "<i8", "planes": "<i8"} | dict.fromkeys(
    ("objective", "lower_bound", "gap", "passes", "seconds", "visited", "inner_gap"), "<f8"
)
STEP = {"seconds": "<f8", "passes": "<f8", "bytes": "<i8"}
PATH = required("phase", "number", "begins", "features", "weights", "intercept", "objective", "bound") | {
    "unit_begins": None,
    "units": None,
}
CERTIFICATE, TRACE = required(*BOUNDS), required("steps", "turns")
SPREAD, LABELS = required("columns", "std"), required("units", "labels", "n_candidates") | {"noun": "group"}
STEPS, TURNS = required("kind", *STEP), required(*TURN) | dict.fromkeys(LATER)
SELECTION = required(
    "features", "weights", "intercept", "stop_reason", "certificate", "scale", "budget", "forced", "interrupted",
    "path", "trace",
) | {"stop": None, "spread": None, "units": None, "labels": None}  # fmt: skip


def put_selection(writer, selection):
    """The selection as parts of a document: ``SELECTION``."""
    intercept = np.asarray(selection.intercept, dtype=np.float64)
    return {
        "features": writer.put("features", selection.features, "<i8"),
        "weights": writer.put("weights", selection.weights, "<f8"),
        "intercept": intercept.item() if intercept.ndim == 0 else writer.put("intercept", intercept, "<f8"),
        "stop_reason": selection.stop_reason,
        "stop": None if selection.stop is None else selection.stop.name,
        "certificate": _put_certificate(selection.certificate),
        "scale": selection.scale,
        "budget": int(selection.budget),
        "forced": writer.put("forced", selection.forced, "<i8"),
        "interrupted": bool(selection.interrupted),
        "spread": put_spread(writer, "spread", selection.spread),
        "units": None if selection.units is None else writer.put("units", selection.units, "<i8"),
        "labels": _put_labels(writer, selection.labels),
        "path": _put_path(writer, selection.path, selection.weights.shape[1:]),
        "trace": _put_trace(writer, selection.trace),
    }


def get_selection(reader, document, n_features, n_classes, products=None):
    """The selection in a document, validated against the numbers of features and of classes.

    ``products`` says what the features are made of, if they are products.
    """
    across = () if n_classes == 2 else (n_classes,)
    features = _ids(reader, document["features"], n_features, "features")
    scale = document["scale"]
    known = scale is None or (isinstance(scale, str) and scale in SCALES and scale != "auto")
    need(known, f"unknown scale {shown(scale)}")
    spread, labels = get_spread(reader, document["spread"], n_features, "spread"), _labels(reader, document["labels"])
    units = None if document["units"] is None else _units(reader, document["units"], "units")
    need((units is None) == (labels is None), "units and labels of groups do not agree")
    selection = Selection(
        features,
        reader.get(document["weights"], "<f8", (features.size, *across), "weights"),
        _intercept(reader, document["intercept"], across),
        string(document["stop_reason"], "stop_reason"),
        _certificate(document["certificate"]),
        _trace(reader, document["trace"]),
        _path(reader, document["path"], n_features, across, spread, labels, products),
        scale,
        integer(document["budget"], "budget"),
        _ids(reader, document["forced"], n_features, "forced"),
        boolean(document["interrupted"], "interrupted"),
        _stop(document["stop"]),
        units=units,
        spread=spread,
        labels=labels,
        products=products,
    )
    try:
        selection.check()
    except InconsistentResultError as error:
        raise Damaged(f"its parts are inconsistent ({error})") from error
    return selection


def put_spread(writer, name, spread):
    """Standard deviations of columns as a part of a document; None if they are not known."""
    if spread is None:
        return None
    return {
        "columns": writer.put(f"{name}.columns", spread.columns, "<i8"),
        "std": writer.put(f"{name}.std", spread.std, "<f8"),
    }


def get_spread(reader, value, n_features, what):
    """The Spread that ``put_spread`` was given; None if there is none, as in files of earlier versions."""
    if value is None:
        return None
    value = fields(value, SPREAD, what)
    columns = _ids(reader, value["columns"], n_features, f"columns of the {what}")
    std = reader.get(value["std"], "<f8", columns.shape, f"std of the {what}")
    need(bool((std >= 0.0).all()), f"the {what} contains a negative standard deviation")
    return Spread(columns, std)


def _put_labels(writer, labels):
    if labels is None:
        return None
    return {
        "units": writer.put("labels.units", labels.units, "<i8"),
        "labels": put_parameter(writer, "labels", labels.labels.tolist()),
        "n_candidates": int(labels.n_candidates),
        "noun": labels.noun,
    }


def _labels(reader, value):
    if value is None:
        return None
    value = fields(value, LABELS, "labels")
    units, labels = _units(reader, value["units"], "units of labels"), get_parameter(reader, value["labels"], "labels")
    valid = isinstance(labels, list) and all(type(label) in (int, str) for label in labels)
    need(valid and len(labels) == units.size, "labels of groups must be integers or strings, one for each unit")
    array = np.empty(len(labels), dtype=np.int64 if all(type(label) is int for label in labels) else object)
    array[:] = labels
    need(value["noun"] in ("group", "input"), f"unknown noun {shown(value['noun'])}")
    return GroupLabels(units, array, integer(value["n_candidates"], "n_candidates", 1), value["noun"])


def _units(reader, value, what):
    units = increasing(reader.get(value, "<i8", (None,), what), what)
    need(units.size == 0 or units[0] >= 0, f"{what} must not be negative")
    return units


def _stop(value):
    """The reason to stop by its name; None if the file is of a version without it."""
    if value is None:
        return None
    name = string(value, "stop", 40)
    need(name in StopReason.__members__, f"unknown reason to stop, {shown(name)}")
    return StopReason[name]


def _ids(reader, value, n_features, what):
    ids = increasing(reader.get(value, "<i8", (None,), what), what)
    need(ids.size == 0 or (ids[0] >= 0 and ids[-1] < n_features), f"{what} must be between 0 and {n_features - 1}")
    return ids


def _intercept(reader, value, across):
    return reader.get(value, "<f8", across, "intercept") if across else real(value, "intercept")


def _put_certificate(certificate):
    return None if certificate is None else {name: float(getattr(certificate, name)) for name in BOUNDS}


def _certificate(value):
    if value is None:
        return None
    value = fields(value, CERTIFICATE, "certificate")
    return Certificate(*(real(value[name], f"{name} of the certificate") for name in BOUNDS))


def _put_path(writer, path, across):
    """The stations laid end to end; station s has the features begins[s] to begins[s + 1]."""
    begins = np.concatenate([[0], np.cumsum([station.features.size for station in path], dtype=np.int64)])
    flat = np.concatenate([np.zeros((0, *across))] + [station.weights for station in path])
    ids = np.concatenate([np.zeros(0, dtype=np.int64)] + [station.features for station in path])
    intercepts = np.array([station.intercept for station in path], dtype=np.float64).reshape(len(path), *across)
    return {
        "phase": put_strings(writer, "path.phase", [station.phase for station in path]),
        "number": writer.put("path.number", [station.number for station in path], "<i8"),
        "begins": writer.put("path.begins", begins, "<i8"),
        "features": writer.put("path.features", ids, "<i8"),
        "weights": writer.put("path.weights", flat, "<f8"),
        "intercept": writer.put("path.intercept", intercepts, "<f8"),
        "objective": writer.put("path.objective", [station.objective for station in path], "<f8"),
        "bound": writer.put("path.bound", [station.bound for station in path], "<f8"),
        **_put_path_units(writer, path),
    }


def _put_path_units(writer, path):
    """The units of the stations laid end to end, where groups were selected."""
    units = [station.units for station in path if station.units is not None]
    if not units:
        return {"unit_begins": None, "units": None}
    begins = np.concatenate([[0], np.cumsum([part.size for part in units], dtype=np.int64)])
    return {
        "unit_begins": writer.put("path.unit_begins", begins, "<i8"),
        "units": writer.put("path.units", np.concatenate(units), "<i8"),
    }


def _path(reader, value, n_features, across, spread, labels, products):
    value = fields(value, PATH, "path")
    sizes = reader.get(value["number"], "<i8", (None,), "numbers of the path")
    count = sizes.size
    phases = get_strings(reader, value["phase"], count, "phases of the path")
    need(set(phases) <= set(PHASES), "the path contains an unknown phase")
    begins = reader.get(value["begins"], "<i8", (count + 1,), "begins of the path")
    ids = reader.get(value["features"], "<i8", (None,), "features of the path")
    units = _path_units(reader, value, count, labels)
    _check_stations(begins, ids, sizes if units is None else np.ones_like(sizes), n_features)
    fits = units is None or all(1 <= number <= part.size for number, part in zip(sizes.tolist(), units, strict=True))
    need(fits, "a number of the path does not match its units")
    need(spread is None or spread.covers(ids), "the spread lacks a column of the path")
    weights = reader.get(value["weights"], "<f8", (ids.size, *across), "weights of the path")
    intercepts = reader.get(value["intercept"], "<f8", (count, *across), "intercepts of the path")
    objectives = reader.get(value["objective"], "<f8", (count,), "objectives of the path", finite=False).tolist()
    bounds = reader.get(value["bound"], "<f8", (count,), "bounds of the path", finite=False).tolist()
    return Path(
        Station(
            phases[s],
            int(sizes[s]),
            ids[begins[s] : begins[s + 1]],
            weights[begins[s] : begins[s + 1]],
            intercepts[s].copy() if across else float(intercepts[s]),
            objectives[s],
            bounds[s],
            None if units is None else units[s],
            spread,
            labels,
            products,
        )
        for s in range(count)
    )


def _path_units(reader, value, count, labels):
    """The units of each station; None where features were selected one by one."""
    need((value["units"] is None) == (value["unit_begins"] is None), "units and unit_begins of the path do not agree")
    if value["units"] is None:
        need(labels is None or count == 0, "the path lacks the units of its stations")
        return None
    need(labels is not None, "the path has units, but the model has no labels of groups")
    begins = reader.get(value["unit_begins"], "<i8", (count + 1,), "unit_begins of the path")
    flat = reader.get(value["units"], "<i8", (None,), "units of the path")
    covered = begins[0] == 0 and begins[-1] == flat.size and bool((begins[1:] > begins[:-1]).all())
    need(covered, "unit_begins of the path do not cover its units")
    need(bool(np.isin(flat, labels.units).all()), "the label of a group on the path is missing")
    return [increasing(flat[begins[s] : begins[s + 1]], "units of a station") for s in range(count)]


def _check_stations(begins, ids, sizes, n_features):
    need(begins[0] == 0 and begins[-1] == ids.size, "the path does not use all of its features")
    need(bool((begins[1:] > begins[:-1]).all()), "a station of the path has no features")
    lengths = begins[1:] - begins[:-1]
    need(bool(((sizes >= 1) & (sizes <= lengths)).all()), "a number of the path does not match its features")
    need(bool(((ids >= 0) & (ids < n_features)).all()), "the path contains a feature out of range")
    inside = np.ones(max(ids.size - 1, 0), dtype=bool)
    inside[begins[1:-1] - 1] = False
    need(bool((ids[1:] > ids[:-1])[inside].all()), "features of the path are not sorted and unique")


def _put_trace(writer, trace):
    steps = {name: writer.put(f"steps.{name}", [getattr(s, name) for s in trace.steps], STEP[name]) for name in STEP}
    turns = {}
    for name, dtype in TURN.items():
        column = [getattr(turn, FIELD_OF.get(name, name)) for turn in trace.turns]
        turns[name] = writer.put(f"turns.{name}", column, dtype)
    kinds = put_strings(writer, "steps.kind", [step.kind for step in trace.steps])
    return {"steps": {"kind": kinds} | steps, "turns": turns}


def _trace(reader, value):
    value = fields(value, TRACE, "trace")
    steps, turns = fields(value["steps"], STEPS, "steps"), fields(value["turns"], TURNS, "turns")
    kinds = get_strings(reader, steps["kind"], None, "kinds of the steps")
    steps = _columns(reader, steps, STEP, len(kinds), "of the steps")
    known = {name: dtype for name, dtype in TURN.items() if turns[name] is not None}
    turns = _columns(reader, turns, known, None, "of the turns")
    steps = [Step(*row) for row in zip(kinds, *steps, strict=True)]
    names = [FIELD_OF.get(name, name) for name in known]
    turns = [Turn(**dict(zip(names, row, strict=True))) for row in zip(*turns, strict=True)]
    return Trace(steps, turns, begun=time.perf_counter() - (turns[-1].seconds if turns else 0.0))


def _columns(reader, value, dtypes, count, what):
    columns = []
    for name, dtype in dtypes.items():
        columns.append(reader.get(value[name], dtype, (count,), f"{name} {what}", finite=False).tolist())
        count = len(columns[-1])
    return columns
