"""A Selection with its path and trace as parts of a model document, and back."""

import dataclasses
from typing import Any

import numpy as np

from thresher.data.input.scaling import SCALES
from thresher.results import Certificate, Path, Selection, Station, StopReason, Trace
from thresher.state import (
    boolean,
    fields,
    get_ids,
    get_parts,
    get_strings,
    integer,
    need,
    put_parts,
    put_strings,
    real,
    required,
    shown,
    string,
)

PHASES = ("grow", "thresh")
CERTIFICATE_FIELDS = required(*(field.name for field in dataclasses.fields(Certificate)))
STATION_FIELDS = required("phase", "number", "begins", "features", "weights", "intercept", "objective", "bound") | {
    "unit_begins": None,
    "units": None,
}
SELECTION_FIELDS = required(
    "features", "weights", "intercept", "stop_reason", "certificate", "scale", "budget", "forced", "interrupted",
    "path", "trace",
) | {"stop": None, "units": None}  # fmt: skip


def put_selection(writer, selection):
    """The selection as parts of a document: ``SELECTION_FIELDS``."""
    intercept = np.asarray(selection.intercept, dtype=np.float64)
    certificate = {} if selection.certificate is None else vars(selection.certificate)
    bounds = {name: float(bound) for name, bound in certificate.items()} or None
    return {
        "features": writer.put("features", selection.features, "<i8"),
        "weights": writer.put("weights", selection.weights, "<f8"),
        "intercept": intercept.item() if intercept.ndim == 0 else writer.put("intercept", intercept, "<f8"),
        "stop_reason": selection.stop_reason,
        "stop": None if selection.stop is None else selection.stop.name,
        "certificate": bounds,
        "scale": selection.scale,
        "budget": int(selection.budget),
        "forced": writer.put("forced", selection.forced, "<i8"),
        "interrupted": bool(selection.interrupted),
        "units": None if selection.units is None else writer.put("units", selection.units, "<i8"),
        "trace": selection.trace.to_state(writer),
        "path": _put_path(writer, selection.path, selection.weights.shape[1:]),
    }


def get_selection(reader, document, fitted, width, across):
    """The selection in a document, with ids below ``width``; ValueError for parts that are inconsistent.

    ``fitted`` are its FittedFeatures or None; weights have the shape (features, *across).
    """
    features = get_ids(reader, document["features"], "features", width)
    scale, certificate = document["scale"], document["certificate"]
    units = None if document["units"] is None else get_ids(reader, document["units"], "units")
    need(scale is None or (scale in SCALES and scale != "auto"), f"unknown scale {shown(scale)}")
    weights = reader.get(document["weights"], "<f8", (features.size, *across), "weights")
    intercept: Any = document["intercept"]
    intercept = reader.get(intercept, "<f8", across, "intercept") if across else real(intercept, "intercept")
    if certificate is not None:
        certificate = fields(certificate, CERTIFICATE_FIELDS, "certificate")
        bounds = {name: real(value, f"{name} of the certificate") for name, value in certificate.items()}
        certificate = Certificate(**bounds)
    selection = Selection(
        features,
        weights,
        intercept,
        string(document["stop_reason"], "stop_reason"),
        certificate,
        Trace.from_state(reader, document["trace"]),
        _path(reader, document["path"], fitted, width, across),
        scale,
        integer(document["budget"], "budget"),
        get_ids(reader, document["forced"], "forced", width),
        boolean(document["interrupted"], "interrupted"),
        _stop(document["stop"]),
        units=units,
        fitted_features=fitted,
    )
    _check_covered(selection)
    selection.check()
    return selection


def _check_covered(selection):
    """Raise Damaged unless all that is known of features covers the selection and its path."""
    fitted, units, labels = selection.fitted_features, selection.units, selection.labels
    need((units is None) == (labels is None), "units and labels of groups do not agree")
    models = [selection, *selection.path]
    same = all((model.units is None) == (units is None) for model in models)
    need(same, "units of the path and of the selection do not agree")
    if fitted is None:
        return
    ids = np.unique(np.concatenate([model.features for model in models]))
    need(fitted.covers(ids), "the fitted features lack a feature of the model or its path")
    most = fitted.n_candidates
    need(fitted.spread is None or fitted.spread.covers(ids), "the spread lacks a column of the path")
    if labels is not None:
        need(all(np.isin(model.units, labels.units).all() for model in models), "the label of a group is missing")
    counts = [model.features.size if units is None else model.units.size for model in models]
    need(most is None or max(counts) <= most, "n_candidates is smaller than the number of features")


def _stop(value):
    """The reason to stop by its name; None if the file is of a version without it."""
    if value is None:
        return None
    need(string(value, "stop", 40) in StopReason.__members__, f"unknown reason to stop, {shown(value)}")
    return StopReason[value]


def _put_path(writer, path, across):
    """The stations laid end to end; station s has the features begins[s] to begins[s + 1]."""
    begins, ids = put_parts([station.features for station in path])
    flat = np.concatenate([np.zeros((0, *across)), *(station.weights for station in path)])
    intercepts = np.array([station.intercept for station in path], dtype=np.float64).reshape(len(path), *across)
    units = [station.units for station in path if station.units is not None]
    unit_begins, unit_ids = put_parts(units)
    return {
        "phase": put_strings(writer, "path.phase", [station.phase for station in path]),
        "number": writer.put("path.number", [station.number for station in path], "<i8"),
        "begins": writer.put("path.begins", begins, "<i8"),
        "features": writer.put("path.features", ids, "<i8"),
        "weights": writer.put("path.weights", flat, "<f8"),
        "intercept": writer.put("path.intercept", intercepts, "<f8"),
        "objective": writer.put("path.objective", [station.objective for station in path], "<f8"),
        "bound": writer.put("path.bound", [station.bound for station in path], "<f8"),
        "unit_begins": writer.put("path.unit_begins", unit_begins, "<i8") if units else None,
        "units": writer.put("path.units", unit_ids, "<i8") if units else None,
    }


def _path(reader, value, fitted, width, across):
    value = fields(value, STATION_FIELDS, "path")
    numbers = reader.get(value["number"], "<i8", (None,), "numbers of the path")
    count = numbers.size
    phases = get_strings(reader, value["phase"], count, "phases of the path")
    need(set(phases) <= set(PHASES), "the path contains an unknown phase")
    what = "the features of the path"
    begins, ids = get_parts(reader, value["begins"], value["features"], count, what, count=width, filled=True)
    most = np.diff(begins)
    units: list[Any] = [None] * count
    need((value["units"] is None) == (value["unit_begins"] is None), "units and unit_begins of the path do not agree")
    if value["units"] is not None:
        what = "the units of the path"
        unit_begins, unit_ids = get_parts(reader, value["unit_begins"], value["units"], count, what, filled=True)
        most = np.diff(unit_begins)
        units = np.split(unit_ids, unit_begins[1:-1])
    need(bool(((numbers >= 1) & (numbers <= most)).all()), "a number of the path does not match its features")
    weights = reader.get(value["weights"], "<f8", (ids.size, *across), "weights of the path")
    intercepts = reader.get(value["intercept"], "<f8", (count, *across), "intercepts of the path")
    objectives = reader.get(value["objective"], "<f8", (count,), "objectives of the path", finite=False).tolist()
    bounds = reader.get(value["bound"], "<f8", (count,), "bounds of the path", finite=False).tolist()
    return Path(
        Station(
            phases[s],
            int(numbers[s]),
            ids[begins[s] : begins[s + 1]],
            weights[begins[s] : begins[s + 1]],
            intercepts[s].copy() if across else float(intercepts[s]),
            objectives[s],
            bounds[s],
            units[s],
            fitted,
        )
        for s in range(count)
    )
