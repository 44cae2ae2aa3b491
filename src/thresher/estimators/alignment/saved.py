"""A path of kernel weights, what its SVMs are trained on and the SVM in use: parts of a model document, and back."""

import numpy as np

from thresher.errors import InconsistentResultError
from thresher.estimators.alignment.svm import KernelSVM, TrainingSet
from thresher.estimators.shared import INTEGER, REAL, Attribute, cv_results
from thresher.features.kernels.columns import SortedColumns
from thresher.results import AlignmentPath
from thresher.state import fields, get_begins, get_ids, integer, need, real, reported, required, steps_inside

PATH_ARRAYS = {"p": "<f8", "begins": "<i8", "ids": "<i8", "values": "<f8", "objective": "<f8",
               "deviation_bound": "<f8", "alignments": "<f8"}  # fmt: skip
PATH_NUMBERS = ("lambda1", "lambda2", "eps", "zero_objective")
PATH_FIELDS = required(*PATH_ARRAYS, *PATH_NUMBERS) | {"cv_score": None}
COLUMN_ARRAYS = {"indptr": "<i8", "rows": "<i8", "values": "<f8"}
LABEL_ARRAYS = {"codes": "<i8", "weights": "<f8"}
TRAINING_FIELDS = required("ids", "n_rows", *COLUMN_ARRAYS, "gammas", "traces", *LABEL_ARRAYS)
SVM_FIELDS = required("dual", "intercept") | dict.fromkeys(("gammas", "shares", "n_rows", *COLUMN_ARRAYS))
PARAMS = ("lambda2", "C", "p")
SUMMARIES = ("mean_test_score", "std_test_score")  # which files of version 2 have


def put_arrays(writer, owner, value, dtypes):
    """The attributes of ``value`` that are arrays of these types."""
    return {name: writer.put(f"{owner}.{name}", getattr(value, name), dtype) for name, dtype in dtypes.items()}


def put_path(writer, path):
    """All arrays and numbers of an AlignmentPath."""
    numbers = {name: float(getattr(path, name)) for name in PATH_NUMBERS}
    scores = None if path.cv_score is None else writer.put("path.cv_score", path.cv_score, "<f8")
    return put_arrays(writer, "path", path, PATH_ARRAYS) | numbers | {"cv_score": scores}


def get_path(reader, value, n_features):
    """The AlignmentPath that ``put_path`` was given, checked."""
    value = fields(value, PATH_FIELDS, "path_")
    parts = {name: reader.get(value[name], dtype, (None,), f"{name} of path_") for name, dtype in PATH_ARRAYS.items()}
    parts |= {name: real(value[name], f"{name} of path_") for name in PATH_NUMBERS}
    if value["cv_score"] is not None:
        parts["cv_score"] = reader.get(value["cv_score"], "<f8", (None,), "cv_score of path_", finite=False)
    need(parts["alignments"].size == n_features, "path_ and n_features_in_ do not agree")
    path = AlignmentPath(**parts)
    with reported("its parts are inconsistent", InconsistentResultError):
        path.check()
    return path


def put_training(writer, training):
    """The columns and labels that SVMs are trained on; the kernel follows from the parameters."""
    return {
        "ids": writer.put("training.ids", training.ids, "<i8"),
        "gammas": writer.put("training.gammas", training.kernels.gammas, "<f8"),
        "traces": writer.put("training.traces", training.traces, "<f8"),
        **put_arrays(writer, "training", training, LABEL_ARRAYS),
        **put_kernel_columns(writer, "training", training.columns),
    }


def get_training(reader, value, estimator):
    """The TrainingSet that ``put_training`` was given, checked."""
    value = fields(value, TRAINING_FIELDS, "training_")
    ids = get_ids(reader, value["ids"], "features of training_", estimator.fitted_features_.width)
    gammas, traces = get_positive(reader, value, ("gammas", "traces"), ids.shape, "training_")
    n_rows = integer(value["n_rows"], "n_rows of training_", 1)
    codes, weights = (
        reader.get(value[name], dtype, (n_rows,), f"{name} of training_") for name, dtype in LABEL_ARRAYS.items()
    )
    n_classes = int(estimator.classes_.size)
    need(bool(((codes >= 0) & (codes < n_classes)).all()), "training_ has an unknown class")
    totals = np.bincount(codes, weights, minlength=n_classes)
    need(bool((weights >= 0.0).all() and (totals > 0.0).all()), "a class of training_ has no weight")
    kernels = estimator._layout.fitted(ids, gammas)
    columns = get_kernel_columns(reader, value, kernels.n_columns, n_rows, "training_")
    return TrainingSet(ids, columns, kernels, traces, codes, weights)


def get_positive(reader, value, names, shape, owner):
    """Arrays of positive numbers."""
    arrays = [reader.get(value[name], "<f8", shape, f"{name} of {owner}") for name in names]
    need(all(bool((array > 0.0).all()) for array in arrays), f"{' and '.join(names)} must be positive")
    return arrays


def put_kernel_columns(writer, owner, columns):
    """SortedColumns, laid out kernel by kernel."""
    return put_arrays(writer, owner, columns, COLUMN_ARRAYS) | {"n_rows": int(columns.n_rows)}


def get_kernel_columns(reader, value, count, n_rows, owner):
    """The SortedColumns that ``put_kernel_columns`` was given, checked."""
    rows = reader.get(value["rows"], "<i8", (None,), f"rows of {owner}")
    values = reader.get(value["values"], "<f8", rows.shape, f"values of {owner}")
    indptr = get_begins(reader, value["indptr"], count, rows.size, f"the columns of {owner}")
    need(bool(((rows >= 0) & (rows < n_rows)).all()), f"a row of {owner} is out of range")
    need(bool((np.diff(values) >= 0.0)[steps_inside(indptr)].all()), f"values of {owner} are not sorted")
    return SortedColumns(n_rows, indptr, rows, values)


def put_svm(writer, svm):
    """Dual coefficients, intercepts, and the rows and kernels that they belong to."""
    floats = {"gammas": svm.kernels.gammas, "shares": svm.shares, "dual": svm.dual, "intercept": svm.intercept}
    parts = {name: writer.put(f"svm.{name}", array, "<f8") for name, array in floats.items()}
    return parts | put_kernel_columns(writer, "svm", svm.columns)


def get_svm(reader, value, estimator):
    """The KernelSVM that ``put_svm`` was given; the estimator has its path, and its training_ if there is one.

    The first files of version 2 have dual coefficients of all rows of training_, and nothing else.
    """
    value = fields(value, SVM_FIELDS, "svm_")
    outputs = 1 if estimator.classes_.size == 2 else estimator.classes_.size
    intercept = reader.get(value["intercept"], "<f8", (outputs,), "intercept of svm_")
    features = estimator.selection_.features
    if value["n_rows"] is None:
        need(hasattr(estimator, "training_"), "svm_ needs training_")
        need(bool(np.isin(features, estimator.training_.ids).all()), "a column of the selection is missing")
        training = estimator.training_.take(features)
        point = estimator.path_.point(estimator.point_)
        need(np.array_equal(point.features, features), "the selection differs from that of its point of the path")
        kernels, shares, columns = training.kernels, training.shares(point), training.columns
    else:
        n_rows = integer(value["n_rows"], "n_rows of svm_", 0)
        gammas, shares = get_positive(reader, value, ("gammas", "shares"), features.shape, "svm_")
        kernels = estimator._layout.fitted(features, gammas)
        columns = get_kernel_columns(reader, value, kernels.n_columns, n_rows, "svm_")
    dual = reader.get(value["dual"], "<f8", (columns.n_rows, outputs), "dual of svm_")
    return KernelSVM(kernels, shares, columns, dual, intercept)


def put_results(writer, results):
    """What ``cv_results_`` follows from: its candidates, and their scores on each fold."""
    arrays = {name: results[f"param_{name}"] for name in PARAMS}
    arrays |= {name: array for name, array in results.items() if name.startswith("split")}
    parts = {name: writer.put(f"cv_results.{name}", array, "<f8") for name, array in arrays.items()}
    return {"n_features": writer.put("cv_results.n_features", results["n_features"], "<i8")} | parts


def get_results(reader, value):
    """``cv_results_`` as ``put_results`` was given it."""
    n_folds = sum(name.startswith("split") for name in value) if isinstance(value, dict) else 0
    splits = [f"split{fold}_test_score" for fold in range(n_folds)]
    value = fields(value, required("n_features", *PARAMS, *splits) | dict.fromkeys(SUMMARIES), "cv_results_")
    need(splits, "cv_results_ has no scores")
    n_features = reader.get(value["n_features"], "<i8", (None,), "n_features of cv_results_")
    columns = [reader.get(value[name], "<f8", n_features.shape, f"{name} of cv_results_").tolist() for name in PARAMS]
    known = [name for name in (*splits, *SUMMARIES) if value[name] is not None]
    scores = [
        reader.get(value[name], "<f8", n_features.shape, f"{name} of cv_results_", finite=False) for name in known
    ]
    params = [dict(zip(PARAMS, candidate, strict=True)) for candidate in zip(*columns, strict=True)]
    return {"n_features": n_features} | cv_results(params, scores[:n_folds])


ALIGNMENT_ATTRIBUTES = {
    "C_": REAL,
    "point_": INTEGER,
    "max_features_": INTEGER._replace(optional=True),
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
