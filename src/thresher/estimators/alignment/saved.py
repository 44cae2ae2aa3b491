"""A path of kernel weights, what its SVMs are trained on and the SVM in use: parts of a model document, and back."""

import numpy as np

from thresher.errors import InconsistentResultError
from thresher.estimators.alignment.svm import KernelSVM, TrainingSet
from thresher.estimators.shared.base import INTEGER, REAL, Attribute
from thresher.estimators.shared.cross_validation import cv_results
from thresher.features.kernels.sorted_columns import SortedColumns
from thresher.results import AlignmentPath
from thresher.state import Damaged, fields, increasing, integer, need, real, required

ARRAYS = {"p": "<f8", "begins": "<i8", "ids": "<i8", "values": "<f8", "objective": "<f8", "deviation_bound": "<f8",
          "alignments": "<f8"}  # fmt: skip
NUMBERS = ("lambda1", "lambda2", "eps", "zero_objective")
PATH = required(*ARRAYS, *NUMBERS) | {"cv_score": None}
COLUMNS = {"indptr": "<i8", "rows": "<i8", "values": "<f8"}
ROWS = {"codes": "<i8", "weights": "<f8"}
TRAINING = required("ids", "n_rows", *COLUMNS, "gammas", "traces", *ROWS)
SVM = required("dual", "intercept") | dict.fromkeys(("gammas", "shares", "n_rows", *COLUMNS))
PARAMS = ("lambda2", "C", "p")
CANDIDATES = {"n_features": "<i8"} | dict.fromkeys(PARAMS, "<f8")


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
    return {
        "ids": writer.put("training.ids", training.ids, "<i8"),
        "gammas": writer.put("training.gammas", training.kernels.gammas, "<f8"),
        "traces": writer.put("training.traces", training.traces, "<f8"),
        **{name: writer.put(f"training.{name}", getattr(training, name), dtype) for name, dtype in ROWS.items()},
        **_put_columns(writer, "training", training.columns),
    }


def get_training(reader, value, estimator):
    """The TrainingSet that ``put_training`` was given, checked."""
    value = fields(value, TRAINING, "training_")
    ids = increasing(reader.get(value["ids"], "<i8", (None,), "features of training_"), "features of training_")
    inside = ids.size == 0 or (ids[0] >= 0 and ids[-1] < estimator.fitted_features_.width)
    need(inside, "a feature of training_ is out of range")
    gammas, traces = _positive(reader, value, ("gammas", "traces"), ids.shape, "training_")
    n_rows = integer(value["n_rows"], "n_rows of training_", 1)
    codes, weights = (reader.get(value[name], ROWS[name], (n_rows,), f"{name} of training_") for name in ROWS)
    n_classes = int(estimator.classes_.size)
    need(bool(((codes >= 0) & (codes < n_classes)).all()), "training_ has an unknown class")
    totals = np.bincount(codes, weights, minlength=n_classes)
    need(bool((weights >= 0.0).all() and (totals > 0.0).all()), "a class of training_ has no weight")
    kernels = estimator._layout.fitted(ids, gammas)
    columns = _columns(reader, value, kernels.n_columns, n_rows, "training_")
    return TrainingSet(ids, columns, kernels, traces, codes, weights)


def _positive(reader, value, names, shape, owner):
    """Arrays of positive numbers."""
    arrays = [reader.get(value[name], "<f8", shape, f"{name} of {owner}") for name in names]
    need(all(bool((array > 0.0).all()) for array in arrays), f"{' and '.join(names)} must be positive")
    return arrays


def _put_columns(writer, owner, columns):
    parts = {name: writer.put(f"{owner}.{name}", getattr(columns, name), dtype) for name, dtype in COLUMNS.items()}
    return parts | {"n_rows": int(columns.n_rows)}


def _columns(reader, value, count, n_rows, owner):
    """The columns of some kernels, laid out kernel by kernel, checked."""
    indptr = reader.get(value["indptr"], "<i8", (count + 1,), f"indptr of {owner}")
    rows = reader.get(value["rows"], "<i8", (None,), f"rows of {owner}")
    values = reader.get(value["values"], "<f8", rows.shape, f"values of {owner}")
    covered = indptr[0] == 0 and indptr[-1] == rows.size and bool((np.diff(indptr) >= 0).all())
    need(covered, f"the columns of {owner} do not cover their entries")
    need(bool(((rows >= 0) & (rows < n_rows)).all()), f"a row of {owner} is out of range")
    within_column = np.ones(max(rows.size - 1, 0), dtype=bool)
    cuts = indptr[1:-1] - 1
    within_column[cuts[(cuts >= 0) & (cuts < within_column.size)]] = False
    need(bool((np.diff(values) >= 0.0)[within_column].all()), f"values of {owner} are not sorted")
    return SortedColumns(n_rows, indptr, rows, values)


def put_svm(writer, svm):
    """Dual coefficients, intercepts, and the rows and kernels that they belong to."""
    floats = {"gammas": svm.kernels.gammas, "shares": svm.shares, "dual": svm.dual, "intercept": svm.intercept}
    parts = {name: writer.put(f"svm.{name}", array, "<f8") for name, array in floats.items()}
    return parts | _put_columns(writer, "svm", svm.columns)


def get_svm(reader, value, estimator):
    """The KernelSVM that ``put_svm`` was given; the estimator has its path, and its training_ if there is one.

    The first files of version 2 have dual coefficients of all rows of training_, and nothing else.
    """
    value = fields(value, SVM, "svm_")
    outputs = 1 if estimator.classes_.size == 2 else estimator.classes_.size
    intercept = reader.get(value["intercept"], "<f8", (outputs,), "intercept of svm_")
    features = estimator.selection_.features
    if value["n_rows"] is None:
        need(hasattr(estimator, "training_"), "svm_ needs training_")
        need(bool(np.isin(features, estimator.training_.ids).all()), "a column of the selection is missing")
        training = estimator.training_.take(features)
        dual = reader.get(value["dual"], "<f8", (training.columns.n_rows, outputs), "dual of svm_")
        point = estimator.path_.point(estimator.point_)
        need(np.array_equal(point.features, features), "the selection differs from that of its point of the path")
        return KernelSVM(training.kernels, training.shares(point), training.columns, dual, intercept)
    n_rows = integer(value["n_rows"], "n_rows of svm_", 0)
    gammas, shares = _positive(reader, value, ("gammas", "shares"), features.shape, "svm_")
    kernels = estimator._layout.fitted(features, gammas)
    columns = _columns(reader, value, kernels.n_columns, n_rows, "svm_")
    dual = reader.get(value["dual"], "<f8", (n_rows, outputs), "dual of svm_")
    return KernelSVM(kernels, shares, columns, dual, intercept)


def put_results(writer, results):
    """What ``cv_results_`` follows from: its candidates, and their scores on each fold."""
    arrays = {name: results[f"param_{name}" if name in PARAMS else name] for name in CANDIDATES}
    arrays |= {name: array for name, array in results.items() if name.startswith("split")}
    return {name: writer.put(f"cv_results.{name}", part, CANDIDATES.get(name, "<f8")) for name, part in arrays.items()}


def get_results(reader, value):
    """``cv_results_``; files of version 2 also have means and standard deviations."""
    need(isinstance(value, dict) and set(CANDIDATES) <= set(value), "cv_results_ is incomplete")
    splits = [f"split{fold}_test_score" for fold in range(sum(name.startswith("split") for name in value))]
    known = {*CANDIDATES, *splits, "mean_test_score", "std_test_score"}
    need(splits and set(value) <= known, "cv_results_ has an unknown field")
    arrays, count = {}, None
    for name, part in value.items():
        dtype, finite = CANDIDATES.get(name, "<f8"), name in CANDIDATES
        arrays[name] = reader.get(part, dtype, (count,), f"{name} of cv_results_", finite=finite)
        count = arrays[name].size
    need(set(splits) <= set(arrays), "cv_results_ lacks the scores of a fold")
    values = zip(*(arrays[name].tolist() for name in PARAMS), strict=True)
    params = [dict(zip(PARAMS, candidate, strict=True)) for candidate in values]
    return {"n_features": arrays["n_features"]} | cv_results(params, [arrays[name] for name in splits])


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
    "svm_": Attribute(
        lambda writer, name, svm: put_svm(writer, svm),
        lambda reader, part, name, clf: get_svm(reader, part, clf),
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
