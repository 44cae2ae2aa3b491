"""SVMs on kernels in model files: what does not fit together is refused, and earlier files are still read."""

import json

import numpy as np
import pytest

import thresher
from tests.models.damage import saved, write
from tests.models.make_fixtures import HERE
from tests.models.zoo import X, Y, data_for, fitted
from thresher.errors import ModelFileError
from thresher.models.migration import CHANGES


def changed(document, part, **values):
    return document | {"fitted": document["fitted"] | {part: document["fitted"][part] | values}}


@pytest.mark.parametrize(("part", "values", "match"), [
    ("svm_", {"n_rows": -1}, "n_rows of svm_"),
    ("svm_", {"n_rows": 2}, "a row of svm_ is out of range"),
    ("svm_", {"shares": [1.0]}, "shares of svm_"),
    ("svm_", {"gammas": None}, "gammas of svm_"),
    ("svm_", {"indptr": [0]}, "begins of the columns of svm_"),
    ("svm_", {"rows": []}, "values of svm_|do not cover"),
    ("svm_", {"intercept": [0.0, 1.0]}, "intercept of svm_"),
    ("svm_", {"dual": [[1.0]]}, "dual of svm_"),
    ("training_", {"ids": [0]}, "gammas of training_|traces of training_"),
    ("training_", {"codes": [7] * 90}, "training_ has an unknown class"),
])  # fmt: skip
def test_parts_that_do_not_fit(part, values, match, tmp_path):
    path, document, _ = saved(tmp_path, "kernels_units", 10**9)
    write(path, changed(document, part, **values))
    with pytest.raises(ModelFileError, match=match):
        thresher.load(path)


def test_signs_and_orders(tmp_path):
    path, document, _ = saved(tmp_path, "kernels_support", 10**9)
    svm = document["fitted"]["svm_"]
    for name in ("shares", "gammas"):
        write(path, changed(document, "svm_", **{name: [-each for each in svm[name]]}))
        with pytest.raises(ModelFileError, match="gammas and shares must be positive"):
            thresher.load(path)
    write(path, changed(document, "svm_", values=svm["values"][::-1]))
    with pytest.raises(ModelFileError, match="values of svm_ are not sorted"):
        thresher.load(path)


def test_parts_that_are_missing_or_too_many(tmp_path):
    path, document, _ = saved(tmp_path, "kernels_units", 10**9)
    for name, match in (("training_", "store_training_columns and the"), ("svm_", "svm and the SVM in the file")):
        write(path, document | {"fitted": document["fitted"] | {name: None}})
        with pytest.raises(ModelFileError, match=match):
            thresher.load(path)
    write(path, document | {"parameters": document["parameters"] | {"store_training_columns": False}})
    with pytest.raises(ModelFileError, match="store_training_columns and the columns"):
        thresher.load(path)


def test_kernels_of_columns_that_there_are_not(tmp_path):
    path, document, _ = saved(tmp_path, "kernels_units", 10**9)
    kernel = [{"tuple": ["rbf", 1000 + k]} for k in range(4)]
    write(path, document | {"parameters": document["parameters"] | {"kernel": kernel}})
    with pytest.raises(ModelFileError, match="has the column 1000, which does not exist"):
        thresher.load(path)


def test_dual_coefficients_of_all_rows(tmp_path):
    """As files of this version had them at first: columns and kernels are those of training_."""
    clf = fitted("kernels")
    path, document, _ = saved(tmp_path, "kernels", 10**9)
    training, features = clf.training_, clf.selection_.features
    columns = training.take(features).columns.array(range(features.size))
    support = clf.svm_.columns.array(range(features.size))
    dual = np.zeros((training.columns.n_rows, 1))
    dual[[int(np.flatnonzero((columns == row).all(axis=1))[0]) for row in support]] = clf.svm_.dual
    old = {"dual": dual.tolist(), "intercept": clf.svm_.intercept.tolist()}
    write(path, document | {"fitted": document["fitted"] | {"svm_": old}})
    again, A = thresher.load(path), data_for("kernels")
    np.testing.assert_allclose(again.decision_function(A), clf.decision_function(A), rtol=1e-10, atol=1e-10)


def earlier(name, path, **parameters):
    """A file of version 2 at ``path``, with other parameters."""
    document = json.loads((HERE / f"{name}.json").read_text(encoding="utf-8"))
    write(path, document | {"parameters": document["parameters"] | parameters})
    return path


def test_eight_parameters_of_version_2_are_a_kernel_path(tmp_path):
    path = earlier("v2_kernels", tmp_path / "model.json", lambda2=[0.5, "auto"], divergence="kl", keep="path")
    clf = thresher.load(path)
    assert clf.path == thresher.KernelPath(step=0.25, lambda2=(0.5, "auto"), divergence="kl")
    assert clf.store_training_columns is True
    assert hasattr(clf, "svm_")
    assert not {"step", "lambda2", "keep"} & set(clf.get_params())
    thresher.save(clf, path)
    assert thresher.load(path).get_params() == clf.get_params()


def test_results_of_version_2_have_the_keys_of_scikit_learn(tmp_path):
    old = json.loads((HERE / "v2_kernels.json").read_text(encoding="utf-8"))["fitted"]["cv_results_"]
    results = thresher.load(HERE / "v2_kernels.json").cv_results_
    assert results["param_p"].tolist() == old["p"]
    assert [candidate["C"] for candidate in results["params"]] == old["C"]
    for name in ("n_features", "mean_test_score", "split2_test_score"):
        np.testing.assert_allclose(results[name], old[name])


def test_what_version_2_kept_of_X():
    rename = CHANGES["AlignmentPathClassifier"]
    assert rename({"kernel": "rbf", "keep": "support"}) == {"kernel": "rbf", "store_training_columns": False}
    assert rename({"kernel": "rbf", "keep": "path"}) == {"kernel": "rbf", "store_training_columns": True}


def test_a_divergence_that_was_left_out_of_a_file_of_version_2(tmp_path):
    path = earlier("v2_kernels", tmp_path / "model.json", divergence={"left_out": "<Cubic object>"})
    with pytest.warns(UserWarning, match=r"parameter path was not saved, it was .KernelPath\("):
        assert thresher.load(path).path is None


@pytest.mark.parametrize("changed", [{"step": "x"}, {"step": {}}, {"eps": 3.0}, {"keep": "all"}, {"keep": {}}])
def test_parameters_of_version_2_that_are_damaged(changed, tmp_path):
    with pytest.raises(ModelFileError, match="not a valid model file"):
        thresher.load(earlier("v2_kernels", tmp_path / "model.json", **changed))


class Cubic:
    """F = x^3 + x^2."""

    start = 0.0

    def slope(self, eta):
        return 3.0 * eta**2 + 2.0 * eta

    def curvature(self, eta):
        return 6.0 * eta + 2.0


def test_a_divergence_of_the_users_own_is_left_out(tmp_path):
    path = thresher.KernelPath(step=0.25, divergence=Cubic())
    clf = thresher.AlignmentPathClassifier(path=path, cv=None).fit(data_for("kernels_alone"), Y)
    thresher.save(clf, tmp_path / "model.json")
    with pytest.warns(UserWarning, match=r"parameter path was not saved, it was .KernelPath\("):
        again = thresher.load(tmp_path / "model.json")
    assert np.array_equal(again.decision_function(X), clf.decision_function(X))
