"""Kernel machines in model files: what does not fit together is refused, and earlier files are still read."""

import numpy as np
import pytest

import thresher
from tests.models.damage import saved, write
from tests.models.zoo import data_for, fitted
from thresher.errors import ModelFileError


def changed(document, part, **values):
    return document | {"fitted": document["fitted"] | {part: document["fitted"][part] | values}}


@pytest.mark.parametrize(("part", "values", "match"), [
    ("machine_", {"n_rows": -1}, "n_rows of machine_"),
    ("machine_", {"n_rows": 2}, "a row of machine_ is out of range"),
    ("machine_", {"shares": [1.0]}, "shares of machine_"),
    ("machine_", {"gammas": None}, "gammas of machine_"),
    ("machine_", {"indptr": [0]}, "indptr of machine_"),
    ("machine_", {"rows": []}, "values of machine_|do not cover"),
    ("machine_", {"intercept": [0.0, 1.0]}, "intercept of machine_"),
    ("machine_", {"dual": [[1.0]]}, "dual of machine_"),
    ("training_", {"ids": [0]}, "gammas of training_|traces of training_"),
    ("training_", {"codes": [7] * 90}, "training_ has a class that there is not"),
])  # fmt: skip
def test_parts_that_do_not_fit(part, values, match, tmp_path):
    path, document, _ = saved(tmp_path, "kernels_units", 10**9)
    write(path, changed(document, part, **values))
    with pytest.raises(ModelFileError, match=match):
        thresher.load(path)


def test_signs_and_orders(tmp_path):
    path, document, _ = saved(tmp_path, "kernels_support", 10**9)
    machine = document["fitted"]["machine_"]
    for name in ("shares", "gammas"):
        write(path, changed(document, "machine_", **{name: [-each for each in machine[name]]}))
        with pytest.raises(ModelFileError, match="gammas and shares must be positive"):
            thresher.load(path)
    write(path, changed(document, "machine_", values=machine["values"][::-1]))
    with pytest.raises(ModelFileError, match="values of machine_ are not sorted"):
        thresher.load(path)


def test_parts_that_are_missing_or_too_many(tmp_path):
    path, document, _ = saved(tmp_path, "kernels_units", 10**9)
    for name, match in (("training_", "keep and the columns"), ("machine_", "svm and the SVM in the file")):
        write(path, document | {"fitted": document["fitted"] | {name: None}})
        with pytest.raises(ModelFileError, match=match):
            thresher.load(path)
    write(path, document | {"parameters": document["parameters"] | {"keep": "support"}})
    with pytest.raises(ModelFileError, match="keep and the columns"):
        thresher.load(path)


def test_kernels_of_columns_that_there_are_not(tmp_path):
    path, document, _ = saved(tmp_path, "kernels_units", 10**9)
    kernel = [{"tuple": ["rbf", 1000 + k]} for k in range(4)]
    write(path, document | {"parameters": document["parameters"] | {"kernel": kernel}})
    with pytest.raises(ModelFileError, match="has the column 1000, which there is not"):
        thresher.load(path)


def test_dual_coefficients_of_all_rows(tmp_path):
    """As files of this version had them at first: columns and kernels are those of training_."""
    clf = fitted("kernels")
    path, document, _ = saved(tmp_path, "kernels", 10**9)
    training, features = clf.training_, clf.selection_.features
    columns = training.take(features).columns.array(range(features.size))
    support = clf.machine_.columns.array(range(features.size))
    dual = np.zeros((training.columns.n_rows, 1))
    dual[[int(np.flatnonzero((columns == row).all(axis=1))[0]) for row in support]] = clf.machine_.dual
    old = {"dual": dual.tolist(), "intercept": clf.machine_.intercept.tolist()}
    write(path, document | {"fitted": document["fitted"] | {"machine_": old}})
    again, A = thresher.load(path), data_for("kernels")
    np.testing.assert_allclose(again.decision_function(A), clf.decision_function(A), rtol=1e-10, atol=1e-10)
