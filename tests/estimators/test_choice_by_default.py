"""What a fit with the default parameters chooses, what it leaves to the rules, and what it says of both."""

from dataclasses import dataclass

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone

import thresher
from tests.problems import fold_scores, many_classes, problem
from tests.rule import BY_RULE, fgm_by_rule
from thresher import FGMClassifier, MILESClassifier, Polynomial, Tree
from thresher.estimators.fgm.choice import CS
from thresher.estimators.fgm.sentences import against_the_rule
from thresher.estimators.shared import cv_results
from thresher.measures import ConfusionMeasure

X, Y, _ = problem(60, 24, 8)
X = np.round(X * 64) / 64  # exact in float32
LABELS = many_classes(60, 24, seed=8)[1]
BAGS = np.arange(60) // 2
OF_BAGS = np.arange(30)[BAGS] % 2
PAIRS = np.arange(24) // 2
TREE = Tree(np.r_[np.full(24, 24), -1])
ALONE = np.where(np.arange(60) == 7, "b", "a")
KINDS = {
    "two classes": ({}, Y),
    "logistic": ({"loss": "logistic"}, Y),
    "many classes": ({}, LABELS),
    "per class": ({"per_class": True}, LABELS),
    "class weight": ({"class_weight": "balanced"}, Y),
    "restrictions": ({"always_include": [23], "exclude": [0]}, Y),
    "growth without a budget": ({"features_per_turn": 1, "debias": True}, Y),
    "groups": ({"groups": PAIRS}, Y),
    "overlapping groups": ({"groups": [[j, j + 1, j + 2] for j in range(0, 22, 2)] + [[23]]}, Y),
    "kernel": ({"feature_map": "additive_gaussian"}, Y),
    "products": ({"feature_map": "polynomial", "n_candidates": 2.0}, Y),
    "f1": ({"loss": "f1", "tol": 0.1, "cv": 2}, Y),
    "f1 of classes": ({"loss": "f1", "elimination": False, "tol": 0.1, "cv": 2}, LABELS),
    "auc": ({"loss": "auc", "tol": 0.1, "cv": 2}, Y),
    "precision": ({"loss": thresher.PrecisionAtK(20), "tol": 0.1, "cv": 2}, Y),
}

TOO_FEW = "has 1 different sample, too few to hold out"


def chosen(clf):
    """The parameters that a default fit has chosen."""
    return {"C": clf.C_, "elimination": clf.elimination_}


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_fit_chooses(kind, tmp_path):
    """``cv_results_``, the winner, a fit with it, the sentence, and the same of a saved model."""
    options, labels = KINDS[kind]
    clf = FGMClassifier(3, **options).fit(X, labels)
    params, ranks = clf.cv_results_["params"], clf.cv_results_["rank_test_score"]
    free = "elimination" not in options
    assert len(params) == (7 if free else 4)
    assert ranks[clf.best_index_] == 1
    assert params[clf.best_index_] == (chosen(clf) if free else {"C": clf.C_})
    usual = fgm_by_rule(3, **options).fit(X, labels)
    assert params[clf.rule_index_] == ({"C": usual.C_, "elimination": True} if free else {"C": usual.C_})
    assert sorted({each["C"] for each in params}) == pytest.approx([usual.C_ * factor for factor in CS])
    given = clone(clf).set_params(**chosen(clf)).fit(X, labels)
    np.testing.assert_array_equal(given.coef_.toarray(), clf.coef_.toarray())
    assert not hasattr(clf, "by_rule_")
    assert not {"cv_results_", "best_index_", "rule_index_", "by_rule_"} & set(vars(usual))
    assert f"the best of {len(params)} " in clf.proof()
    thresher.save(clf, tmp_path / "model.json")
    loaded = thresher.load(tmp_path / "model.json")
    assert str(loaded.describe()) == str(clf.describe())
    assert loaded.proof() == clf.proof()


def test_bags_choose_over_bags():
    clf = MILESClassifier(3).fit(X[:, :4], OF_BAGS, bags=BAGS)
    assert len(clf.cv_results_["params"]) == 7
    given = clone(clf).set_params(**chosen(clf)).fit(X[:, :4], OF_BAGS, bags=BAGS)
    np.testing.assert_array_equal(given.coef_.toarray(), clf.coef_.toarray())
    searched = MILESClassifier(3, sigma="search", cv=2, **BY_RULE).fit(X[:, :4], OF_BAGS, bags=BAGS)
    assert searched.cv_results_["params"][searched.best_index_]["sigma"] == searched.sigma_
    assert searched.rule_index_ == 1
    assert "of 3 values of sigma by 2 folds" in searched.proof()


def test_a_tree_and_heredity_choose():
    clf = FGMClassifier(2, groups=TREE).fit(X, Y)
    assert len(clf.cv_results_["params"]) == 7
    clf = FGMClassifier(3, feature_map=Polynomial(heredity="strong")).fit(X[:, :8], Y)
    assert [list(each) for each in clf.cv_results_["params"]] == 4 * [["C"]]


def test_all_features_choose_C():
    clf = FGMClassifier("all", loss="f1", cv=2).fit(X, Y)
    assert clf.cv_results_["param_C"].size == 4
    assert "of 4 values of C by 2 folds" in clf.proof()


def test_what_is_given_is_not_chosen():
    for options, count, what in (
        ({"C": 0.3}, 2, "2 values of elimination"),
        ({"elimination": True}, 4, "4 values of C"),
        ({"elimination": None}, 4, "4 values of C"),
        ({"solver": "apg"}, 4, "4 values of C"),
    ):
        clf = FGMClassifier(3, **options).fit(X, Y)
        assert len(clf.cv_results_["params"]) == count
        assert f"the best of {what} by 5 folds" in str(clf.describe())
    assert clf.elimination_ is False


@pytest.mark.parametrize("given", [{}, {"C": 1.0}, {"elimination": True}])
def test_none_is_the_rule(given):
    one = FGMClassifier(4, **BY_RULE | given).fit(X, Y)
    other = FGMClassifier(4, C=1.0, elimination=True).fit(X, Y)
    np.testing.assert_array_equal(one.coef_.toarray(), other.coef_.toarray())
    assert one.describe().score == ""
    assert "by rule" not in one.describe().origin[1]
    assert FGMClassifier(3, solver="apg", **BY_RULE).fit(X, Y).elimination_ is False


@pytest.mark.parametrize(
    ("options", "y", "weights", "why"),
    [
        ({"n_features_to_select": None}, Y, None, "without a number of features nothing is compared"),
        ({}, ALONE, None, "class 'b' " + TOO_FEW),
        ({"loss": "f1"}, ALONE, None, "class 'b' " + TOO_FEW),
        ({}, ALONE.astype(object), None, "class 'b' " + TOO_FEW),
        (
            {},
            Y,
            np.where(np.arange(60) == np.argmax(Y > 0), 1.0, Y < 0),
            "class 1.0 " + TOO_FEW,
        ),
        ({}, Y, np.full(60, 5e57), "the sum of C times the sample weights is"),
    ],
    ids=["no number", "one sample", "f1", "objects", "one weight", "large weights"],
)
def test_where_nothing_can_be_chosen_the_rule_is_taken_and_that_is_said(options, y, weights, why, tmp_path):
    given = {"n_features_to_select": 2} | options
    clf, rule = (make(**given).fit(X, y, sample_weight=weights) for make in (FGMClassifier, fgm_by_rule))
    np.testing.assert_array_equal(clf.coef_.toarray(), rule.coef_.toarray())
    assert not hasattr(clf, "cv_results_")
    assert clf.by_rule_.startswith(why)
    thresher.save(clf, tmp_path / "model.json")
    loaded = thresher.load(tmp_path / "model.json")
    assert f" by rule: {why}" in loaded.describe().origin[1]
    assert loaded.describe().facts["by_rule"] == clf.by_rule_
    assert loaded.describe().score == ""


def test_only_what_was_left_to_the_rules_is_said_to_be():
    clf = FGMClassifier(2, C=0.5).fit(X, ALONE)
    assert clf.describe().origin[1].startswith("C = 0.5, elimination by rule: class 'b' has")
    clf = FGMClassifier(2, elimination=False).fit(X, ALONE)
    assert clf.describe().origin[1].startswith("C = 1 by rule, no elimination: class 'b' has")
    clf = FGMClassifier(2, **BY_RULE).fit(X, ALONE)
    assert not hasattr(clf, "by_rule_")


def test_folds_that_are_asked_for_and_impossible_are_refused():
    with pytest.raises(ValueError, match="cv=3 cannot be greater than the number of different samples in each class"):
        FGMClassifier(2, cv=3).fit(X, ALONE)
    with pytest.warns(UserWarning, match="cv=3 has no effect, since nothing is chosen: set n_features_to_select, or"):
        FGMClassifier(cv=3, tol=0.1).fit(X, Y)
    one_bag = np.where(BAGS == 3, "b", "a")
    with pytest.raises(ValueError, match=rf"sigma cannot be chosen .* class 'b' {TOO_FEW}. Give a value"):
        MILESClassifier(2, sigma="search").fit(X, one_bag, bags=BAGS)
    assert MILESClassifier(2).fit(X, one_bag, bags=BAGS).by_rule_ == "class 'b' " + TOO_FEW


@dataclass(frozen=True)
class OfTen(ConfusionMeasure):
    """A measure of at least ten positive samples, which folds do not have."""

    def loss_of_counts(self, true, false, n_positive, n_negative):
        return np.where(n_positive < 10, np.nan, 0.5 * (1.0 - true / n_positive + false / n_negative))


def test_a_measure_that_cannot_be_judged_on_a_fold_is_fitted_by_rule():
    clf = FGMClassifier(2, loss=OfTen()).fit(X, Y)
    assert clf.by_rule_.startswith("fold 0 of cv cannot be judged by OfTen(): OfTen() is undefined for")
    assert not hasattr(clf, "cv_results_")
    with pytest.raises(ValueError, match="fold 0 of cv cannot be judged by OfTen"):
        FGMClassifier(2, loss=OfTen(), cv=5).fit(X, Y)


@pytest.mark.parametrize("count", [2, 3, 7])
def test_there_are_as_many_folds_as_the_smallest_class_allows(count):
    clf = FGMClassifier(2).fit(X, np.arange(60) < count)
    assert len(fold_scores(clf)) == min(count, 5)


def test_other_numbers_have_not_been_compared():
    clf = FGMClassifier(4, elimination=True).fit(X, Y)
    assert "cross-validation" in str(clf.at(4).describe())
    assert "cross-validation" not in str(clf.at(3).describe())
    assert "Chosen" not in clf.at(3).proof()
    assert clf.at(3).C_ == clf.C_
    with pytest.raises(ValueError, match=r"with elimination=True .* the path has every number"):
        FGMClassifier(4, elimination=False).fit(X, Y).at(7)


def test_a_warm_fit_chooses_again():
    clf = FGMClassifier(3, warm_start=True).fit(X, Y)
    clf.set_params(n_features_to_select=6).fit(X, Y)
    cold = FGMClassifier(6).fit(X, Y)
    np.testing.assert_array_equal(fold_scores(clf), fold_scores(cold))
    assert chosen(clf) == chosen(cold)
    assert clf.selection_.features.size == 6


def test_the_choice_is_the_same_for_any_number_of_threads_and_storage():
    """The same bits for the former; for the latter the same candidate and features."""
    first = FGMClassifier(4, n_jobs=1).fit(X, Y)
    second = FGMClassifier(4, n_jobs=2).fit(X, Y)
    np.testing.assert_array_equal(fold_scores(second), fold_scores(first))
    np.testing.assert_array_equal(second.coef_.toarray(), first.coef_.toarray())
    for store in (np.asfortranarray, np.float32, sparse.csc_array, sparse.csr_array):
        clf = FGMClassifier(4, scale="std").fit(store(X), Y)
        np.testing.assert_allclose(fold_scores(clf), fold_scores(first), atol=1e-12)
        assert chosen(clf) == chosen(first)
        np.testing.assert_array_equal(clf.selection_.features, first.selection_.features)


def test_samples_of_weight_zero_do_not_matter():
    weights = np.r_[1.0 + np.arange(60) % 2, np.zeros(10)]
    more, labels = np.r_[X, np.full((10, 24), 9.0)], np.r_[Y, np.full(10, 1.0)]
    with_them = FGMClassifier(4).fit(more, labels, sample_weight=weights)
    without = FGMClassifier(4).fit(X, Y, sample_weight=weights[:60])
    assert chosen(with_them) == chosen(without)
    np.testing.assert_array_equal(with_them.selection_.features, without.selection_.features)


def compared(*folds, best, usual):
    """The sentence on scores of four candidates."""
    params = [{"C": C, "elimination": kind} for kind in (True, False) for C in (0.1, 1.0)]
    return against_the_rule(cv_results(params, np.array(folds)), best, usual)


def test_by_how_much_the_winner_won():
    """The standard error is that of the mean of the differences over the folds."""
    said = compared([0.9, 0.8, 0.7, 0.7], [0.8, 0.4, 0.7, 0.7], best=0, usual=1)
    assert said == (
        ": C = 0.1 with elimination; the usual C = 1 with elimination is 0.2500 below it "
        "(standard error of the difference 0.1500)"
    )
    left_out = compared([0.9, 0.8, 0.7, 0.7], [0.1, 0.8, 0.7, np.nan], best=0, usual=3)
    assert left_out.endswith("; the usual C = 1 with growth alone is 0.2000 below it on the first fold")
    level = compared([0.9, 0.9, 0.7, 0.7], best=0, usual=1)
    assert level == ": C = 0.1 with elimination, level with the usual C = 1 with elimination"
    assert compared([0.9, 0.8, 0.7, 0.7], best=0, usual=0) == ": the usual C = 0.1 with elimination"


def test_without_time_to_choose_the_record_says_so():
    with pytest.warns(UserWarning, match="max_time was over before candidates could be compared"):
        clf = FGMClassifier(1, max_time=1e-9, features_per_turn=1).fit(X, Y)
    assert clf.by_rule_ == "max_time was over before candidates could be compared"
    assert clf.best_index_ == clf.rule_index_ == 2
    assert "C = 1 and elimination by rule: max_time was over" in clf.describe().origin[1]


def test_a_fit_by_rule_forgets_what_was_chosen_before():
    clf = FGMClassifier(3).fit(X, Y)
    clf.fit(X, ALONE)
    assert not {"cv_results_", "best_index_", "rule_index_"} & set(vars(clf))
    clf.fit(X, Y)
    assert not hasattr(clf, "by_rule_")


def test_more_features_than_the_training_parts_have():
    """All of 24 columns; and bags of which fewer instances are left than are asked for."""
    clf = FGMClassifier(24).fit(X, Y)
    assert clf.selection_.features.size == 24
    bags = MILESClassifier(58).fit(X[:, :3], OF_BAGS, bags=BAGS)
    assert len(bags.cv_results_["params"]) == 7
    assert bags.selection_.features.size == 58


@pytest.mark.parametrize("kept", [True, False])
def test_growth_alone_that_was_chosen_has_a_path_of_every_number(kept, monkeypatch, tmp_path):
    """Nested, by elimination from what was selected, of which nothing else is changed; computed later, or at once."""
    if not kept:
        monkeypatch.setattr("thresher.families.fgm.path.KEEP", 0)
    scores = np.tile([0.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0], (5, 1))
    monkeypatch.setattr("thresher.estimators.fgm.choice.compared", lambda *_: scores)
    clf, given = FGMClassifier(6).fit(X, Y), fgm_by_rule(6, C=0.01, elimination=False).fit(X, Y)
    assert not clf.elimination_
    np.testing.assert_array_equal(clf.coef_.toarray(), given.coef_.toarray())
    assert set(range(1, 7)) <= set(clf.path_.numbers)
    larger = set(clf.selection_.features)
    for number in range(5, 0, -1):
        smaller = set(clf.at(number).selection_.features)
        assert len(smaller) == number
        assert smaller < larger
        larger = smaller
    thresher.save(clf, tmp_path / "model.json")
    np.testing.assert_array_equal(thresher.load(tmp_path / "model.json").path_.numbers, clf.path_.numbers)


def test_the_number_asked_for_keeps_what_was_compared():
    """Also where a share was asked for."""
    clf = FGMClassifier(0.25, elimination=True).fit(X, Y)
    assert clf.at(6).cv_results_ is clf.cv_results_
    assert not hasattr(clf.at(5), "cv_results_")
