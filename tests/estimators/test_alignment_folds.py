"""Cross-validation along the path of an AlignmentPathClassifier: what is judged, chosen, and seen by a fold."""

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import StratifiedKFold

from thresher import AlignmentPathClassifier, FewerFoldsWarning, KernelPath, SparseSVCPath
from thresher.data.input.validation import as_design
from thresher.estimators.alignment import limit
from thresher.estimators.alignment.cross_validation import KernelData, choose_point
from thresher.estimators.alignment.svm import FoldSVMs
from thresher.families.alignment.divergences import SquaredEuclidean
from thresher.families.alignment.formulation import Formulation
from thresher.families.alignment.path import follow
from thresher.features.kernels.columns import ColumnKernel
from thresher.features.kernels.explicit import ExplicitColumns
from thresher.features.kernels.sources import ColumnKernelSource
from thresher.results import Trace

rng = np.random.default_rng(1)
X = rng.standard_normal((120, 25))
y = np.where(X[:, 4] ** 2 + X[:, 11] ** 2 + 0.3 * rng.standard_normal(120) > 1.5, "far", "near")
QUICK = {"path": KernelPath(step=0.1), "cv": 3}


def test_results_of_cross_validation():
    clf = AlignmentPathClassifier(path=KernelPath(step=0.1, lambda2=["auto"]), cv=3, max_features=12).fit(X, y)
    results = clf.cv_results_
    splits = np.stack([results[f"split{fold}_test_score"] for fold in range(3)])
    np.testing.assert_allclose(results["mean_test_score"], splits.mean(axis=0))
    np.testing.assert_allclose(results["std_test_score"], splits.std(axis=0))
    assert np.array_equal(results["n_features"], np.tile(clf.path_.n_features, 3))
    assert np.array_equal(results["param_C"], np.repeat([0.3, 3.0, 30.0], 11))
    judged = ~np.isnan(results["mean_test_score"][results["param_C"] == clf.C_])
    assert np.array_equal(judged, (clf.path_.n_features <= 12) & (clf.path_.n_features > 0))
    chosen = results["mean_test_score"][results["param_C"] == clf.C_]
    assert np.array_equal(clf.path_.cv_score, chosen, equal_nan=True)
    assert clf.best_score_ == np.nanmax(results["mean_test_score"])
    assert clf.best_score_ == np.nanmax(clf.path_.cv_score)
    assert clf.best_index_ == clf.point_ == np.flatnonzero(clf.path_.cv_score == clf.best_score_)[-1]
    assert "the best of" in clf.selection_.stop_reason


def test_of_equal_scores_the_fewest_features_win():
    path = follow(Formulation(0.1, 0.1, SquaredEuclidean(), step=0.25), np.linspace(0.01, 0.5, 20))
    scores = np.full((2, 1, 2, len(path)), 0.7)
    scores[0, 0, 0] = 0.6
    scores[:, 0, 1, -1] = np.nan
    chosen = choose_point([path], scores, None)
    assert (chosen.which_C, chosen.place, chosen.score) == (1, len(path) - 2, 0.7)
    nothing = choose_point([path], np.full_like(scores, np.nan), None)
    assert (nothing.place, nothing.score) == (len(path) - 1, None)


def test_a_fold_is_scored_as_if_it_were_new():
    """The scores of a fold are those of a model that never saw its rows, whatever these hold."""
    folds = list(StratifiedKFold(3).split(X, y))
    clf = AlignmentPathClassifier(path=KernelPath(step=0.1), cv=folds, C=10.0).fit(X, y)
    train, test = folds[1]
    alone = AlignmentPathClassifier(path=KernelPath(step=0.1), cv=None).fit(X[train], y[train])
    places = [alone.path_.place(int(number)) for number in alone.path_.numbers]
    assert len(places) > 4
    for k in places:
        score = alone.at(int(alone.path_.n_features[k])).score(X[test], y[test])
        assert abs(score - clf.cv_results_["split1_test_score"][k]) < 1e-12
    other = X.copy()
    other[test] = other[test][::-1] * 3.0 + 1.0
    again = AlignmentPathClassifier(path=KernelPath(step=0.1), cv=[folds[1]], C=10.0).fit(other, y)
    moved = AlignmentPathClassifier(path=KernelPath(step=0.1), cv=None).fit(other[train], y[train])
    score = moved.at(int(moved.path_.n_features[6])).score(other[test], y[test])
    assert abs(score - again.cv_results_["split0_test_score"][moved.path_.place(moved.path_.n_features[6])]) < 1e-12


def test_rows_of_a_fold_change_nothing_of_its_model():
    """Values and labels of the test rows but one are others: alignments and path are the same to the bit.

    So is the decision value of that one, to the accuracy of explicit columns, which are those of all rows.
    """
    train, test = list(StratifiedKFold(3).split(X, y))[1]
    values, labels = X.copy(), (y == "far").astype(int)
    values[test[1:]], flipped = 1e3 * values[test[1:]] + 7.0, labels.copy()
    flipped[test[1:]] = 1 - flipped[test[1:]]
    weights = np.zeros(120)
    weights[train] = 1.0
    found = []
    for data, codes in ((X, labels), (values, flipped)):
        design = as_design(np.asfortranarray(data))
        source = ColumnKernelSource(design, ColumnKernel("rbf"))
        fold = KernelData(source, design.scan_cost(), codes, np.ones(120)).without(test)
        assert np.array_equal(fold.weights, weights)
        aligned = fold.alignments(Trace(), np.inf)
        path = fold.path(KernelPath(step=0.1), "auto", aligned)
        svms = FoldSVMs([path], fold.training_set([path], aligned, [0]), test)
        found.append((aligned, path, [svms.decisions(0, k, [0.3, 30.0]) for k in range(len(path))]))
    (first, path, decisions), (second, again, others) = found
    assert all(np.array_equal(a, b) for a, b in zip(first, second, strict=True))
    assert np.array_equal(path.values, again.values)
    decisions, others = np.array(decisions), np.array(others)
    np.testing.assert_allclose(others[:, :, test[0]], decisions[:, :, test[0]], atol=1e-6)
    assert np.abs(others[:, :, test[1]] - decisions[:, :, test[1]]).max() > 0.01


def test_lists_of_C_and_lambda2_are_chosen_from():
    clf = AlignmentPathClassifier(path=KernelPath(step=0.1, lambda2=[0.02, "auto"]), cv=3, C=[0.01, 1.0]).fit(X, y)
    assert clf.cv_results_["param_C"].shape == (44,)
    assert set(clf.cv_results_["param_lambda2"]) >= {0.02}
    assert clf.C_ in (0.01, 1.0)
    assert clf.best_score_ == np.nanmax(clf.cv_results_["mean_test_score"])
    assert len(clf.path_.cv_score) == 11
    with pytest.raises(ValueError, match="a list of C or lambda2 is chosen from by cross-validation"):
        AlignmentPathClassifier(C=[1.0, 2.0], cv=None).fit(X, y)


def test_with_a_limit_two_lambdas_are_tried():
    """The tenth largest alignment, and that with which the path begins with as many features as are allowed."""
    clf = AlignmentPathClassifier(**QUICK, max_features=8).fit(X, y)
    results = clf.cv_results_
    lambdas = np.unique(results["param_lambda2"])
    assert lambdas.size == 2
    second = results["param_lambda2"] == lambdas[1]
    assert results["n_features"][second].max() == 8
    assert results["n_features"][~second].max() > 8
    assert np.array_equal(
        np.isnan(results["mean_test_score"]), (results["n_features"] > 8) | (results["n_features"] == 0)
    )
    assert clf.path_.lambda2 in lambdas
    alone = AlignmentPathClassifier(path=KernelPath(step=0.1, lambda2=["auto"]), cv=3, max_features=8).fit(X, y)
    assert np.unique(alone.cv_results_["param_lambda2"]) == lambdas[0]
    kl = AlignmentPathClassifier(path=KernelPath(step=0.1, divergence="kl"), cv=3, max_features=8).fit(X, y)
    assert kl.best_score_ == np.nanmax(kl.cv_results_["mean_test_score"])


def test_folds_shrink_to_the_smallest_class():
    labels = np.zeros(120, dtype=int)
    labels[:3] = 1
    message = "cv=5 is reduced to 3 folds: the smallest class has 3 different samples"
    with pytest.warns(FewerFoldsWarning, match=message) as told:
        clf = AlignmentPathClassifier(path=KernelPath(step=0.2), cv=5).fit(X, labels)
    assert told[0].filename == __file__
    assert "split2_test_score" in clf.cv_results_
    assert "split3_test_score" not in clf.cv_results_
    labels[1:3] = 0
    with pytest.warns(ConvergenceWarning, match="only one sample"):
        clf = AlignmentPathClassifier(path=KernelPath(step=0.2)).fit(X, labels)
    assert not hasattr(clf, "cv_results_")


@pytest.mark.parametrize("scoring", ["f1", "recall", "jaccard"])
@pytest.mark.parametrize("estimator", [AlignmentPathClassifier(**QUICK), SparseSVCPath(3, 4, cv=StratifiedKFold(3))])
def test_a_score_of_two_classes_names_its_macro_average(estimator, scoring):
    three = np.arange(120) % 3
    message = f"scoring='{scoring}' is of class 1 of two classes, but y has 3 classes; use '{scoring}_macro'"
    with pytest.raises(ValueError, match=message):
        estimator.set_params(scoring=scoring).fit(X, three)
    with pytest.raises(ValueError, match=rf"but y has the classes \['far', 'near'\]; use '{scoring}_macro'"):
        estimator.fit(X, y)
    estimator.set_params(scoring=f"{scoring}_macro").fit(X, three)


def test_how_to_get_fewer_features_than_any_point_has():
    clf = AlignmentPathClassifier(path=KernelPath(step=0.5, lambda2=1e-3), cv=None).fit(X, y)
    fewest = int(clf.path_.n_features.min())
    assert fewest > 2
    advice = rf"the fewest are {fewest}. For fewer fit again with max_features=2 and cv=5 \(--max-features 2 --cv 5\)"
    with pytest.raises(ValueError, match=advice) as told:
        clf.at(2)
    assert "a larger lambda2 (--lambda2) than the 0.001" in str(told.value)
    assert "p_end" not in str(told.value)
    fewer = AlignmentPathClassifier(path=KernelPath(step=0.5), max_features=2, cv=5).fit(X, y)
    assert 1 <= fewer.at(2).selection_.features.size <= 2
    with pytest.raises(ValueError, match=r"or with p_end=1$"):
        AlignmentPathClassifier(path=KernelPath(step=0.5, lambda2=1e-3, p_end=1.5), cv=None).fit(X, y).at(2)


@pytest.mark.parametrize("svm", ["kernel", "linear"])
def test_the_default_limit_is_as_if_it_were_given(svm, monkeypatch):
    """A budget of entries for all folds gives a limit, which the fit tells; more features are not judged."""
    monkeypatch.setattr(limit, "LEAST_LIMIT", 3)
    monkeypatch.setattr(limit, "ENTRIES_IN_FOLDS", 3 * 120 * 100)
    clf = AlignmentPathClassifier(**QUICK, svm=svm).fit(X, y)
    most = clf.max_features_
    assert 3 < most < 25
    alike = AlignmentPathClassifier(**QUICK, svm=svm, max_features=most).fit(X, y)
    for name in ("n_features", "param_lambda2", "mean_test_score"):
        np.testing.assert_array_equal(clf.cv_results_[name], alike.cv_results_[name])
    assert np.array_equal(clf.decision_function(X), alike.decision_function(X))
    assert f"points with more than {most} of the 25 features were not judged" in clf.selection_.stop_reason
    assert "max_features (--max-features) sets another limit" in clf.selection_.stop_reason
    assert "not judged" not in alike.selection_.stop_reason
    if clf.path_.n_features.max() > most:
        with pytest.raises(ValueError, match=f"is above max_features={most}: fit again with more"):
            clf.at(25)


def test_the_default_limit_counts_the_columns_of_the_strongest_kernels(monkeypatch):
    monkeypatch.setattr(limit, "LEAST_LIMIT", 1)
    source = ColumnKernelSource(as_design(X), ColumnKernel("rbf"))
    aligned = source.aligned(np.where(y == "far", 1.0, -1.0)[:, None], np.ones(120))
    strongest = [np.array([k]) for k in np.argsort(-aligned.values[0], kind="stable")]
    kernels = [(source.columns(ids), source.layout.fitted(ids, aligned.gamma[ids])) for ids in strongest]
    sizes = np.array([ExplicitColumns(*kernel).phi.size for kernel in kernels])
    for some in (2, 7, 19):
        budget = 3 * int(sizes[:some].sum())
        for entries, expected in ((budget, some), (budget - 1, some - 1)):
            monkeypatch.setattr(limit, "ENTRIES_IN_FOLDS", entries)
            assert AlignmentPathClassifier(path=KernelPath(step=0.5), cv=3).fit(X, y).max_features_ == expected
    monkeypatch.setattr(limit, "LEAST_LIMIT", 5)
    monkeypatch.setattr(limit, "ENTRIES_IN_FOLDS", 1)
    assert AlignmentPathClassifier(path=KernelPath(step=0.5), cv=3).fit(X, y).max_features_ == 5


@pytest.mark.parametrize("options", [{"cv": None}, {"cv": 3, "max_features": None}, {"cv": 3, "svm": None}])
def test_there_is_no_limit_where_none_is_needed_or_wanted(options, monkeypatch):
    monkeypatch.setattr(limit, "LEAST_LIMIT", 1)
    monkeypatch.setattr(limit, "ENTRIES_IN_FOLDS", 1)
    clf = AlignmentPathClassifier(path=KernelPath(step=0.5), **options).fit(X, y)
    assert clf.max_features_ == 25
    assert "not judged" not in clf.selection_.stop_reason
    assert (
        "param_lambda2" not in getattr(clf, "cv_results_", {}) or np.unique(clf.cv_results_["param_lambda2"]).size == 1
    )
