"""A path of kernel weights, what its SVMs are trained on and the SVM in use: parts of a model document, and back."""

import re

import numpy as np

from thresher.errors import InconsistentResultError
from thresher.estimators.alignment.kernel_machine import Machine, Training
from thresher.estimators.shared.saved import INTEGER, REAL, Attribute
from thresher.features.kernels.explicit import TrainingColumns
from thresher.results import AlignmentPath
from thresher.state import Damaged, fields, increasing, integer, need, real, required

ARRAYS = {"p": "<f8", "begins": "<i8", "ids": "<i8", "values": "<f8", "objective": "<f8", "deviation_bound": "<f8",
          "alignments": "<f8"}  # fmt: skip
NUMBERS = ("lambda1", "lambda2", "eps", "zero_objective")
PATH = required(*ARRAYS, *NUMBERS) | {"cv_score": None}
PER_FEATURE, PER_ROW = ("gammas", "traces"), ("codes", "weights")
TRAINING = required("ids", "n_rows", "indptr", "rows", "values", *PER_FEATURE, *PER_ROW)
COLUMNS = ("indptr", "rows", "values")
MACHINE = required("dual", "intercept") | dict.fromkeys(("gammas", "shares", "n_rows", *COLUMNS))
RESULT = re.compile(r"n_features|p|lambda2|C|(mean|std|split\d{1,4})_test_score")


def put_path(writer, path):
    """All arrays and numbers of an AlignmentPath."""
    arrays = {name: writer.put(f"path.{name}", getattr(path, name), dtype) for name, dtype in ARRAYS.items()}
    scores = None if path.cv_score is None else writer.put("path.cv_score", path.cv_score, "<f8")
    return arrays | {name: float(getattr(path, name)) for name in NUMBERS} | {"cv_score": scores}


def get_path(reader, value, n_features):
    """The AlignmentPath that ``put_path`` was given, checked."""
    value = fields(value, PATH, "path_")
    parts = {name: reader.get(value[name], dtype, (None,), f"{name} of path_") for name, dtype in ARRAYS.items()}
    parts |= {name: real(value[name], f"{name} of path_") for name in NUMBERS}
    if value["cv_score"] is not None:
        parts["cv_score"] = reader.get(value["cv_score"], "<f8", (None,), "cv_score of path_", finite=False)
    need(parts["alignments"].size == n_features, "path_ and n_features_in do not agree")
    path = AlignmentPath(**parts)
    try:
        path.check()
    except InconsistentResultError as error:
        raise Damaged(f"its parts are inconsistent ({error})") from error
    return path


def put_training(writer, training):
    """The columns and labels that SVMs are trained on; the kernel follows from the parameters."""
    out = {"ids": writer.put("training.ids", training.ids, "<i8")} | _put_columns(writer, "training", training.columns)
    out["gammas"] = writer.put("training.gammas", training.kernels.gammas, "<f8")
    for name in ("traces", *PER_ROW):
        out[name] = writer.put(f"training.{name}", getattr(training, name), "<i8" if name == "codes" else "<f8")
    return out


def _put_columns(writer, owner, columns):
    parts = {"n_rows": int(columns.n_rows)}
    for name in COLUMNS:
        parts[name] = writer.put(f"{owner}.{name}", getattr(columns, name), "<f8" if name == "values" else "<i8")
    return parts


def get_training(reader, value, estimator):
    """The Training that ``put_training`` was given, checked."""
    value = fields(value, TRAINING, "training_")
    ids = increasing(reader.get(value["ids"], "<i8", (None,), "features of training_"), "features of training_")
    inside = ids.size == 0 or (ids[0] >= 0 and ids[-1] < estimator.fitted_features_.width)
    need(inside, "a feature of training_ is out of range")
    n_rows = integer(value["n_rows"], "n_rows of training_", 1)
    per_feature = {name: reader.get(value[name], "<f8", ids.shape, f"{name} of training_") for name in PER_FEATURE}
    need(all(bool((part > 0.0).all()) for part in per_feature.values()), "gammas and traces must be positive")
    codes = reader.get(value["codes"], "<i8", (n_rows,), "codes of training_")
    need(bool(((codes >= 0) & (codes < estimator.classes_.size)).all()), "training_ has a class that there is not")
    weights = reader.get(value["weights"], "<f8", (n_rows,), "weights of training_")
    totals = np.bincount(codes, weights, minlength=estimator.classes_.size)
    need(bool((weights >= 0.0).all() and (totals > 0.0).all()), "a class of training_ has no weight")
    kernels = estimator._kernels(ids, per_feature["gammas"])
    columns = _columns(reader, value, kernels, n_rows, "training_")
    return Training(ids, columns, kernels, per_feature["traces"], codes, weights, int(estimator.classes_.size))


def _columns(reader, value, kernels, n_rows, owner):
    """The columns of some kernels, laid out kernel by kernel, checked."""
    count = len(kernels) if kernels.begins is None else int(kernels.begins[-1])
    indptr = reader.get(value["indptr"], "<i8", (count + 1,), f"indptr of {owner}")
    rows = reader.get(value["rows"], "<i8", (None,), f"rows of {owner}")
    values = reader.get(value["values"], "<f8", rows.shape, f"values of {owner}")
    whole = indptr[0] == 0 and indptr[-1] == rows.size and bool((np.diff(indptr) >= 0).all())
    need(whole, f"the columns of {owner} do not cover their entries")
    need(bool(((rows >= 0) & (rows < n_rows)).all()), f"a row of {owner} is out of range")
    inside = np.ones(max(rows.size - 1, 0), dtype=bool)
    cuts = indptr[1:-1] - 1
    inside[cuts[(cuts >= 0) & (cuts < inside.size)]] = False
    need(bool((np.diff(values) >= 0.0)[inside].all()), f"values of {owner} are not sorted")
    return TrainingColumns(n_rows, indptr, rows, values)


def put_machine(writer, machine):
    """Dual coefficients, intercepts, and the rows and kernels that they belong to."""
    floats = {"gammas": machine.kernels.gammas, "shares": machine.shares, "dual": machine.dual}
    floats["intercept"] = machine.intercept
    parts = {name: writer.put(f"machine.{name}", array, "<f8") for name, array in floats.items()}
    return parts | _put_columns(writer, "machine", machine.columns)


def get_machine(reader, value, estimator):
    """The Machine that ``put_machine`` was given; the estimator has its path, and its training_ if there is one.

    Earlier files of this version have dual coefficients of all rows of training_, and nothing else.
    """
    value = fields(value, MACHINE, "machine_")
    outputs = 1 if estimator.classes_.size == 2 else estimator.classes_.size
    intercept = reader.get(value["intercept"], "<f8", (outputs,), "intercept of machine_")
    features = estimator.selection_.features
    if value["n_rows"] is None:
        need(hasattr(estimator, "training_"), "machine_ needs training_")
        need(bool(np.isin(features, estimator.training_.ids).all()), "a column of the selection is missing")
        training = estimator.training_.take(features)
        dual = reader.get(value["dual"], "<f8", (training.columns.n_rows, outputs), "dual of machine_")
        point = estimator.path_.point(estimator.point_)
        need(np.array_equal(point.features, features), "the selection differs from that of its point of the path")
        return Machine(training.kernels, training.shares(point), training.columns, dual, intercept)
    n_rows = integer(value["n_rows"], "n_rows of machine_", 0)
    gammas, shares = (
        reader.get(value[name], "<f8", features.shape, f"{name} of machine_") for name in ("gammas", "shares")
    )
    need(bool((gammas > 0.0).all() and (shares > 0.0).all()), "gammas and shares must be positive")
    kernels = estimator._kernels(features, gammas)
    columns = _columns(reader, value, kernels, n_rows, "machine_")
    dual = reader.get(value["dual"], "<f8", (n_rows, outputs), "dual of machine_")
    return Machine(kernels, shares, columns, dual, intercept)


def put_results(writer, results):
    """The arrays of ``cv_results_``."""
    return {
        name: writer.put(f"cv_results.{name}", array, "<i8" if name == "n_features" else "<f8")
        for name, array in results.items()
    }


def get_results(reader, value):
    """The arrays that ``put_results`` was given."""
    need(isinstance(value, dict) and all(RESULT.fullmatch(name) for name in value), "cv_results_ has an unknown field")
    need("mean_test_score" in value and "n_features" in value, "cv_results_ is incomplete")
    out, count = {}, None
    for name, array in value.items():
        dtype = "<i8" if name == "n_features" else "<f8"
        out[name] = reader.get(array, dtype, (count,), f"{name} of cv_results_", finite=False)
        count = out[name].size
    return out


SAVED = {
    "C_": REAL,
    "point_": INTEGER,
    "path_": Attribute(
        lambda writer, name, path: put_path(writer, path),
        lambda reader, part, name, clf: get_path(reader, part, clf.fitted_features_.width),
    ),
    "training_": Attribute(
        lambda writer, name, training: put_training(writer, training),
        lambda reader, part, name, clf: get_training(reader, part, clf),
        optional=True,
    ),
    "machine_": Attribute(
        lambda writer, name, machine: put_machine(writer, machine),
        lambda reader, part, name, clf: get_machine(reader, part, clf),
        optional=True,
    ),
    "cv_results_": Attribute(
        lambda writer, name, results: put_results(writer, results),
        lambda reader, part, name, clf: get_results(reader, part),
        optional=True,
    ),
    "best_index_": INTEGER._replace(optional=True),
    "best_score_": REAL._replace(optional=True),
}
