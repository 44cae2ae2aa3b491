"""thresher select --loss with measures, and what predict and inspect say of them."""

import numpy as np
import pytest
from sklearn.datasets import dump_svmlight_file
from sklearn.metrics import f1_score, recall_score

import thresher
from tests.cli.test_commands import as_json, thresh
from thresher.io import read
from thresher.optim.problems.named import as_loss

RNG = np.random.default_rng(5)
X = np.round(RNG.standard_normal((160, 30)), 3)
Y = np.where(X[:, :3].sum(axis=1) + 0.5 * RNG.standard_normal(160) > 2.2, 1, -1)  # a rare class
THREE = np.argmax(X[:, :3] + 0.3 * X[:, 3:6], axis=1)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("measures")
    for name, y in (("two", Y), ("three", THREE)):
        dump_svmlight_file(X[:100], y[:100], str(folder / f"{name}.svm"), zero_based=False)
        dump_svmlight_file(X[100:], y[100:], str(folder / f"{name}_test.svm"), zero_based=False)
    dump_svmlight_file(X[:10], -np.ones(10), str(folder / "negative.svm"), zero_based=False)
    thresh("select", "two.svm", "-k", 3, "--loss", "f1", "-o", "f1.json", folder=folder)
    return folder


LOSSES = {
    "f1": ((), "f1"),
    "prbep": ((), "prbep"),
    "auc": ((), "auc"),
    "average_precision": ((), "average_precision"),
    "error": ((), "error"),
    "precision_at_k": (("--at", "5"), thresher.PrecisionAtK(5)),
    "recall_at_k": (("--at", "2p"), thresher.RecallAtK(2.0)),
    "fbeta": (("--beta", "2"), thresher.FBeta(2.0)),
}


@pytest.mark.parametrize("loss", LOSSES)
def test_select_fits_what_the_estimator_does(folder, loss):
    """Every loss by its name, with its parameter; predict reports its measure on other rows."""
    options, value = LOSSES[loss]
    told = as_json("select", "two.svm", "-k", 2, "--loss", loss, *options, "--C", 10, "-o", "m.json", folder=folder)
    table, test = read(folder / "two.svm"), read(folder / "two_test.svm")
    clf = thresher.FGMClassifier(2, C=10.0, loss=value).fit(table.X, table.y)
    loaded = thresher.load(folder / "m.json")
    assert loaded.loss == value
    assert np.array_equal(loaded.decision_function(table.X), clf.decision_function(table.X))
    assert told["loss"] == loss
    predicted = as_json("predict", "m.json", "two_test.svm", folder=folder)
    if loss == "error":
        assert "measure" not in predicted  # it is the accuracy
    else:
        measure = as_loss(value)
        assert predicted["value"] == pytest.approx(measure.score(test.y, clf.decision_function(test.X)))


def test_predict_tells_the_measure_beside_the_accuracy(folder):
    shown = thresh("predict", "f1.json", "two_test.svm", folder=folder).stdout
    table = read(folder / "two_test.svm")
    expected = f1_score(table.y, thresher.load(folder / "f1.json").predict(table.X))
    assert 0.3 < expected < 1.0
    assert f"F1 {expected:.4f} of class 1: what the model was fitted for" in shown
    assert "accuracy 0." in shown
    plain = thresh("predict", "f1.json", "two_test.svm", "--json", "--features", 2, folder=folder)
    assert '"measure": "F1"' in plain.stdout


def test_predict_without_labels_of_both_classes(folder):
    """What is undefined there is told in a warning, and the rest is reported."""
    thresh("select", "two.svm", "-k", 2, "--loss", "prbep", "--C", 10, "-o", "p.json", folder=folder)
    done = thresh("predict", "p.json", "negative.svm", "--json", folder=folder)
    assert "thresher: warning: PRBEP is undefined here: " in done.stderr
    assert '"value": null' in done.stdout
    assert '"accuracy"' in done.stdout
    thresh("select", "two.svm", "-k", 2, "--loss", "precision_at_k", "--at", 90, "--C", 1, "-o", "p.json",
           folder=folder)  # fmt: skip
    done = thresh("predict", "p.json", "two_test.svm", folder=folder)
    assert "precision at 90 is undefined here: PrecisionAtK(k=90) needs at least 90 samples, got 60" in done.stderr


def test_the_path_is_scored_by_the_measure_too(folder):
    options = ("-k", 3, "--loss", "recall_at_k", "--at", "1.5p", "--C", 10, "--test", "two_test.svm", "-o", "r.json")
    report = as_json("select", "two.svm", *options, folder=folder)
    clf, test = thresher.load(folder / "r.json"), read(folder / "two_test.svm")
    positives = int((test.y > 0).sum())
    for number, value in zip(report["path_numbers"], report["path_measures"], strict=True):
        scores = clf.at(number).decision_function(test.X)
        best = np.argsort(-scores, kind="stable")[: int(1.5 * positives)]
        labels = np.full(test.y.size, -1)
        labels[best] = 1
        assert value == pytest.approx(recall_score(test.y, labels))
    shown = thresh("select", "two.svm", *options, folder=folder).stdout
    assert ["features", "accuracy", "recall", "at", "1.5p"] in [line.split() for line in shown.splitlines()]


def test_many_classes_and_C_by_cross_validation(folder):
    options = ("-k", 3, "--loss", "f1", "--C", "auto", "--test", "three_test.svm", "-o", "t.json")
    shown = thresh("select", "three.svm", *options, folder=folder)
    assert "cross-validation: F1 0." in shown.stdout
    clf, test = thresher.load(folder / "t.json"), read(folder / "three_test.svm")
    decided = clf.decision_function(test.X)
    expected = np.mean([f1_score(test.y == c, decided[:, c] > 0) for c in range(3)])
    predicted = as_json("predict", "t.json", "three_test.svm", folder=folder)
    assert predicted["value"] == pytest.approx(expected)
    assert "F1, each class against all others" in thresh("inspect", "t.json", folder=folder).stdout


@pytest.mark.parametrize(
    ("loss", "words"),
    [
        ("squared_hinge", "loss: squared hinge\n"),
        ("error", "loss: error rate\n"),
        (thresher.F1(), "loss: F1, class spam against class ham"),
        (thresher.FBeta(0.5), "loss: F-beta (beta = 0.5), class spam against class ham"),
        ("prbep", "loss: PRBEP (precision where it equals recall), class spam"),
        (thresher.PrecisionAtK(50), "loss: precision at 50, class spam"),
        (thresher.RecallAtK(2.0), "loss: recall at 2p (p: the number of positives), class spam"),
        ("auc", "loss: area under the ROC curve, class spam"),
        ("average_precision", "loss: average precision, class spam"),
    ],
)
def test_inspect_tells_the_loss_in_words(loss, words, tmp_path):
    clf = thresher.FGMClassifier(2).fit(X, np.where(Y > 0, "spam", "ham")).set_params(loss=loss)
    thresher.save(clf, tmp_path / "m.json")
    assert words in thresh("inspect", "m.json", folder=tmp_path).stdout


@pytest.mark.parametrize(
    ("options", "match"),
    [
        (("--at", "5"), "--at needs --loss precision_at_k or recall_at_k, got squared_hinge"),
        (("--loss", "f1", "--at", "5"), "--at needs --loss precision_at_k or recall_at_k, got f1"),
        (("--loss", "recall_at_k"), "--loss recall_at_k needs --at"),
        (("--loss", "recall_at_k", "--at", "0"), "--at must be an integer of at least 1"),
        (("--loss", "recall_at_k", "--at", "0p"), "--at must be an integer of at least 1"),
        (("--loss", "recall_at_k", "--at", "p"), "got 'p'"),
        (("--loss", "precision_at_k", "--at", "2.5"), "got '2.5'"),
        (("--loss", "precision_at_k", "--at", "1e3"), "got '1e3'"),
        (("--loss", "precision_at_k", "--at", f"{'9' * 400}p"), "--at must be"),
        (("--loss", "fbeta"), "--loss fbeta needs --beta"),
        (("--loss", "fbeta", "--beta", "1e9"), "--beta must be a number from 1e-6 to 1e6"),
        (("--loss", "fbeta", "--beta", "-1"), "must be a positive finite number"),
        (("--beta", "2"), "--beta needs --loss fbeta, got squared_hinge"),
        (("--loss", "f2"), "f2"),
        (("--loss", "f1", "--balanced"), "--balanced cannot be combined with --loss f1"),
        (("-k", "all"), "--features all needs the --loss of a measure"),
        (("-k", "some", "--loss", "f1"), "must be an integer, got 'some'"),
        (("-k", "0", "--loss", "f1"), "Must be >= 1"),
    ],
)
def test_bad_options_are_one_line(folder, options, match):
    run = thresh("select", "two.svm", *options, "-o", "b.json", folder=folder, check=2)
    assert match in run.stderr
    assert run.stderr.count("\n") == 1
    assert not (folder / "b.json").exists()


@pytest.mark.parametrize(
    ("options", "match"),
    [
        (("--loss", "precision_at_k", "--at", "101"), "--at 101: two.svm has only 100 rows; use a smaller"),
        (("--loss", "auc", "--labels", "ones.txt"), "class"),
    ],
)
def test_bad_data_is_one_line(folder, options, match):
    (folder / "ones.txt").write_text("1\n" * 100)
    run = thresh("select", "two.svm", "-k", 2, *options, "-o", "b.json", folder=folder, check=1)
    assert match in run.stderr
    assert run.stderr.count("\n") == 1


def test_all_features(folder):
    """Without a selection: one station, which predict uses."""
    options = ("-k", "all", "--loss", "f1", "--C", 10, "--test", "two_test.svm", "-o", "all.json")
    report = as_json("select", "two.svm", *options, folder=folder)
    table, test = read(folder / "two.svm"), read(folder / "two_test.svm")
    clf = thresher.FGMClassifier("all", C=10.0, loss="f1").fit(table.X, table.y)
    assert report["n_features"] == 30
    assert report["path_numbers"] == [30]
    assert report["ranked_by"] == "importance"
    predicted = as_json("predict", "all.json", "two_test.svm", folder=folder)
    assert predicted["value"] == report["path_measures"][0] == thresher.F1().scorer()(clf, test.X, test.y)


def test_a_loss_that_gains_nothing_is_told(folder):
    """Labels that have nothing to do with the columns: the objective stays at that without features."""
    noise = np.where(np.random.default_rng(7).random(100) < 0.1, 1, -1)
    dump_svmlight_file(X[:100], noise, str(folder / "noise.svm"), zero_based=False)
    for file, k, loss, expected in (("noise", 1, "f1", True), ("two", 3, "f1", False), ("noise", 1, "logistic", False)):
        said = thresh("select", f"{file}.svm", "-k", k, "--loss", loss, "-o", "noise.json", folder=folder).stdout
        assert ("note: the objective is" in said) is expected
