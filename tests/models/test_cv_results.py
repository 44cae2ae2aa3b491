"""Results of cross-validation in model files: candidates and their scores, or an error that says what is wrong."""

import json

import pytest

import thresher
from tests.models.damage import refused, saved, write
from tests.models.zoo import fitted, same


def with_results(document, **parts):
    fitted = document["fitted"]
    return document | {"fitted": fitted | {"cv_results_": fitted["cv_results_"] | parts}}


@pytest.mark.parametrize("kind", ["auto", "bags_chosen"])
def test_results_come_back(kind, tmp_path):
    path, document, _ = saved(tmp_path, kind)
    assert list(document["fitted"]["cv_results_"]) == ["axes", "scores"]
    assert same(thresher.load(path).cv_results_, fitted(kind).cv_results_)


def test_candidates_are_the_product_of_the_axes(tmp_path):
    path, document, _ = saved(tmp_path, "auto")
    scores = document["fitted"]["cv_results_"]["scores"]
    axes = [{"a": [1.0, 2.0], "b": [3.0, 4.0]}, {"C": [5.0, 6.0]}]
    write(path, with_results(document, axes=axes, scores=[row[:4] for row in scores]))
    found = thresher.load(path).cv_results_["params"]
    assert found == [{"a": a, "b": a + 2.0, "C": C} for a in (1.0, 2.0) for C in (5.0, 6.0)]


def test_scores_may_be_unknown(tmp_path):
    path, document, _ = saved(tmp_path, "auto")
    scores = document["fitted"]["cv_results_"]["scores"]
    for of_fold in scores[1:]:
        of_fold[1] = "nan"
    write(path, with_results(document, scores=scores))
    results = thresher.load(path).cv_results_
    assert results["mean_test_score"][1] == scores[0][1]
    assert results["rank_test_score"][1] == 4


@pytest.mark.parametrize("name", ["best_index_", "rule_index_"])
@pytest.mark.parametrize("place", [-1, 4, 1.0, None, "0"])
def test_places_are_those_of_candidates(name, place, tmp_path):
    path, document, _ = saved(tmp_path, "auto")
    assert document["fitted"][name] in range(4)
    write(path, document | {"fitted": document["fitted"] | {name: place}})
    if place is None:  # as in files of earlier versions
        assert "values of C by" in thresher.load(path).proof()
    else:
        refused(path, f"{name} is .*, not an integer in the allowed range")


@pytest.mark.parametrize(("parts", "why"), [
    ({"axes": []}, "the axes of cv_results_ must be objects"),
    ({"axes": {"C": [1.0]}}, "the axes of cv_results_ must be objects"),
    ({"axes": [[1.0]]}, "the axes of cv_results_ must be objects"),
    ({"axes": [{"C": [1.0, 2.0]}]}, "the scores of cv_results_ has shape"),
    ({"axes": [{"C": [1.0, "nan"]}]}, "not a finite number"),
    ({"axes": [{"C": None}]}, "C of cv_results_ must be a list"),
    ({"axes": [{"C": [1.0] * 5, "sigma": [1.0]}]}, "its parts are inconsistent"),
    ({"axes": [{"C": [1.0] * 1000}] * 4, "scores": []}, "cv_results_ has no scores"),
    ({"scores": []}, "cv_results_ has no scores"),
    ({"scores": [0.5] * 5}, "the scores of cv_results_ must be a list of lists"),
    ({"more": 1}, "cv_results_ has an unknown field, 'more'"),
])  # fmt: skip
def test_what_is_wrong_is_said(parts, why, tmp_path):
    path, document, _ = saved(tmp_path, "auto")
    write(path, with_results(document, **parts))
    refused(path, why)


def test_results_are_a_part_that_may_be_missing(tmp_path):
    path, document, _ = saved(tmp_path, "auto")
    for name in ("cv_results_", "best_index_", "rule_index_"):
        del document["fitted"][name]
    write(path, document)
    assert not hasattr(thresher.load(path), "cv_results_")
    path, _, _ = saved(tmp_path, "two")
    assert "cv_results_" not in json.loads(path.read_text(encoding="utf-8"))["fitted"]
