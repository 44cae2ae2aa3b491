"""What earlier versions called otherwise is read under the names, in the places and with the values it has now."""

import copy
import json

import numpy as np
import pytest

import thresher
from tests.models import damage
from tests.models.make_fixtures import HERE
from thresher.models.migration import CHANGES, FITTED, renamed, with_features_and_target


def changed(path, file, **parameters):
    """A copy of a fixture at ``path``, with other parameters."""
    document = json.loads((HERE / f"{file}.json").read_text(encoding="utf-8"))
    damage.write(path, document | {"parameters": document["parameters"] | parameters})
    return path


@pytest.mark.parametrize("file", ["v1_svc", "v1_grid", "v2_svc", "v2_grid_three"])
def test_gamma_of_a_sparse_svm_is_smoothing(file, tmp_path):
    clf = thresher.load(changed(tmp_path / "model.json", file, gamma=0.25))
    assert clf.smoothing == 0.25
    assert "gamma" not in clf.get_params()
    thresher.save(clf, tmp_path / "again.json")
    assert thresher.load(tmp_path / "again.json").smoothing == 0.25


@pytest.mark.parametrize(
    ("given", "screening"),
    [
        ({"screening": "iss", "fit_intercept": True}, None),
        ({"screening": "iss", "fit_intercept": False}, "iss"),
        ({"screening": "sifs", "fit_intercept": True}, "sifs"),
    ],
)
def test_samples_were_never_tested_with_an_intercept(given, screening, tmp_path):
    """``screening="iss"`` did nothing then, and would be refused now."""
    assert thresher.load(changed(tmp_path / "model.json", "v2_svc", **given)).screening == screening


def test_this_version_has_no_old_names(tmp_path):
    thresher.save(thresher.load(HERE / "v2_svc.json"), tmp_path / "model.json")
    document = json.loads((tmp_path / "model.json").read_text(encoding="utf-8"))
    document["parameters"]["gamma"] = document["parameters"].pop("smoothing")
    damage.write(tmp_path / "model.json", document)
    damage.refused(tmp_path / "model.json", "SparseSVC has no parameter 'gamma'")


def test_renamed_keeps_the_order_and_does_not_change_what_it_is_given():
    given = {"a": 1, "b": 2, "c": 3}
    assert list(renamed(given, b="d").items()) == [("a", 1), ("d", 2), ("c", 3)]
    assert given == {"a": 1, "b": 2, "c": 3}


def test_the_tables_name_types_that_can_be_saved():
    assert set(CHANGES) | set(FITTED) <= set(thresher.models.document.ESTIMATORS)


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({"overshoot": None}, (False, "auto")),
        ({"overshoot": "auto"}, (True, "auto")),
        ({"overshoot": 2.5}, (True, 2.5)),
        ({"overshoot": 3}, (True, 3.0)),  # times the number of features; an integer would be a number of features
    ],
)
@pytest.mark.parametrize("file", ["v1_two", "v2_two", "v2_bags"])
def test_overshoot_is_elimination_and_n_candidates(file, given, expected, tmp_path):
    clf = thresher.load(changed(tmp_path / "model.json", file, **given))
    assert (clf.elimination, clf.n_candidates) == expected
    assert type(clf.n_candidates) is type(expected[1])
    assert not {"overshoot", "support", "features", "inner_tol"} & set(clf.get_params())


def test_what_earlier_files_lack_is_not_chosen_now(tmp_path):
    """By their defaults C followed the rule, and there was elimination: refits do the same."""
    document = json.loads((HERE / "v2_two.json").read_text(encoding="utf-8"))
    del document["parameters"]["C"]
    damage.write(tmp_path / "model.json", document)
    clf = thresher.load(tmp_path / "model.json")
    assert (clf.C, clf.elimination) == (None, True)
    assert clf.describe().score == ""
    earlier = thresher.load(HERE / "v2_words.json")  # C was chosen, and what the usual one was is not in the file
    assert "the best of 5 values of C by 3 folds. It was chosen by" in earlier.describe().score.replace("\n", " ")


@pytest.mark.parametrize(("support", "per_class"), [("shared", False), ("per_class", True)])
def test_support_is_per_class(support, per_class, tmp_path):
    assert thresher.load(changed(tmp_path / "model.json", "v2_three", support=support)).per_class is per_class


@pytest.mark.parametrize(
    ("features", "feature_map"),
    [
        ("linear", "columns"),
        ("polynomial", "polynomial"),
        ({"value": {"type": "Intersection", "fields": {"levels": 7}}}, thresher.Intersection(7)),
    ],
)
def test_features_is_feature_map(features, feature_map, tmp_path):
    assert thresher.load(changed(tmp_path / "model.json", "v2_two", features=features)).feature_map == feature_map


@pytest.mark.parametrize(
    ("parameters", "why"),
    [
        ({"overshoot": 0.5}, "invalid parameter .n_candidates must be"),
        ({"support": "both"}, "invalid parameter .per_class"),
        ({"features": "cubes"}, "invalid parameter .feature_map"),
    ],
)
def test_values_that_were_never_valid_are_refused(parameters, why, tmp_path):
    damage.refused(changed(tmp_path / "model.json", "v2_two", **parameters), why)


@pytest.mark.parametrize(
    ("exclude", "count"),
    [
        (None, 12),
        (3, 11),
        ([3, 5, 5], 10),
        ({"tuple": [3, 5, 7]}, 9),
        ({"array": {"dtype": "<i8", "values": [3, 5, 5]}}, 10),
        ({"tuple": {"dtype": "<i8", "values": [3, 5, 7]}}, 9),
    ],
)
def test_columns_that_were_excluded_are_no_candidates(exclude, count, tmp_path):
    clf = thresher.load(changed(tmp_path / "model.json", "v2_two", exclude=exclude))
    assert clf.fitted_features_.n_candidates == count


def document_of(file):
    return json.loads((HERE / f"{file}.json").read_text(encoding="utf-8"))


def test_columns_excluded_in_an_npz_are_counted():
    document = document_of("v2_two")
    numbers = {"npz": "parameters.exclude", "dtype": "<i8", "shape": [5]}
    strings = {"utf8": numbers, "begins": [0, 1, 2, 3]}
    for values, count in ((numbers, 7), (strings, 9), (strings | {"begins": numbers}, 8)):
        document["parameters"]["exclude"] = {"array": {"dtype": "<i8", "values": values}}
        assert with_features_and_target(document)["fitted_features"]["n_candidates"] == count


@pytest.mark.parametrize(("file", "kind", "count"), [
    ("v1_two", "columns", 12), ("v2_groups", "columns", 6), ("v2_intersection", "inputs", 12),
    ("v2_products", "products", None), ("v2_bags", "instances", None), ("v2_svc", "columns", None),
])  # fmt: skip
def test_every_kind_of_features_has_its_place(file, kind, count):
    old = document_of(file)
    fitted = thresher.load(HERE / f"{file}.json").fitted_features_
    assert (fitted.kind, fitted.n_columns) == (kind, 12)
    own = next((old[name] for name in ("products", "instances") if old.get(name)), {"n_candidates": count})
    assert fitted.n_candidates == own["n_candidates"]
    assert (fitted.labels is None) == (old.get("labels") is None)
    assert (fitted.spread is None) == (old.get("spread") is None)


@pytest.mark.parametrize("file", ["v1_stream", "v2_stream", "v2_kernels"])
def test_features_that_follow_from_parameters_are_in_no_file(file, tmp_path):
    assert with_features_and_target(document_of(file))["fitted_features"] is None
    loaded = thresher.load(HERE / f"{file}.json")
    assert loaded.selection_.fitted_features.kind == loaded.fitted_features_.kind
    thresher.save(loaded, tmp_path / "model.json")
    assert json.loads((tmp_path / "model.json").read_text())["fitted_features"] is None


def test_scores_are_cv_results(tmp_path):
    old = document_of("v1_words")["fitted"]
    results = thresher.load(HERE / "v1_words.json").cv_results_
    assert results["param_C"].tolist() == old["Cs_"]
    assert [results[f"split{fold}_test_score"].tolist() for fold in range(3)] == old["scores_"]
    assert results["params"][int(np.argmin(results["rank_test_score"]))] == {"C": old["C_"]}
    old = document_of("v2_bags_three")["fitted"]
    results = thresher.load(HERE / "v2_bags_three.json").cv_results_
    assert results["params"] == [{"sigma": sigma, "C": C} for sigma in old["sigmas_"] for C in old["Cs_"]]
    assert [results[f"split{fold}_test_score"].tolist() for fold in range(2)] == old["scores_"]
    assert not hasattr(thresher.load(HERE / "v2_two.json"), "cv_results_")


def test_scores_need_what_was_tried(tmp_path):
    document = document_of("v2_bags_three")
    damage.write(tmp_path / "model.json", document | {"fitted": document["fitted"] | {"sigmas_": None}})
    damage.refused(tmp_path / "model.json", "sigma of cv_results_ must be a list")


@pytest.mark.parametrize(
    ("file", "change"),
    [
        ("v2_two", {"fitted": 3}),
        ("v2_two", {"parameters": None}),
        ("v2_two", {"type": ["FGMClassifier"]}),
        ("v2_two", {"products": {"columns": []}}),
        ("v2_two", {"labels": {"units": [], "labels": []}}),
        ("v2_two", {"n_features_in": "12"}),
        ("v2_intersection", {"expansion": [1]}),
        ("v2_bags", {"instances": {"rows": [0]}}),
        ("v2_stream", {"spread": {"columns": [0], "std": [1.0]}}),
        ("v2_kernels", {"labels": {"units": [], "labels": [], "n_candidates": 1}}),
    ],
)
def test_what_is_not_understood_is_left_unchanged_and_refused(file, change, tmp_path):
    document = document_of(file) | change
    before = copy.deepcopy(document)
    assert with_features_and_target(document) is document
    assert document == before
    damage.write(tmp_path / "model.json", document)
    damage.refused(tmp_path / "model.json", "unknown field|missing the field")


@pytest.mark.parametrize("document", [{}, {"type": "x", "parameters": {}}, {"type": "SparseSVC"}])
def test_what_is_no_model_is_left_unchanged(document):
    assert with_features_and_target(document) is document


def test_edges_in_rows_of_other_lengths_are_refused(tmp_path):
    document = document_of("v2_exact")
    edges = document["expansion"]["edges"]
    edges[0].append(edges[1].pop())
    damage.write(tmp_path / "model.json", document)
    damage.refused(tmp_path / "model.json", "unknown field|missing the field")


def test_two_kinds_of_features_are_refused(tmp_path):
    document = document_of("v2_products") | {"expansion": document_of("v2_intersection")["expansion"]}
    damage.write(tmp_path / "model.json", document)
    damage.refused(tmp_path / "model.json", "fitted_features has an unknown field")
