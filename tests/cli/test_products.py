"""thresher select --polynomial."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

import thresher
from tests.cli.test_commands import as_json, thresh

RNG = np.random.default_rng(4)
X = np.round(RNG.standard_normal((80, 12)), 3)
Y = np.where(X[:, 2] * X[:, 7] + 0.5 * X[:, 4] ** 2 - X[:, 0] > 0.3, 1, -1)
COLUMNS = [f"c{j}" for j in range(12)]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("products")
    frame = pd.DataFrame(X, columns=COLUMNS)
    frame.assign(label=Y).to_csv(folder / "table.csv", index=False)
    frame.drop(columns="c11").assign(label=Y).to_csv(folder / "short.csv", index=False)
    sparse.save_npz(folder / "data.npz", sparse.csr_matrix(np.where(np.abs(X) > 0.7, X, 0.0)))
    (folder / "labels.txt").write_text("\n".join(map(str, Y)))
    (folder / "groups.csv").write_text("column,group\n" + "".join(f"c{j},g{j // 3}\n" for j in range(12)))
    thresh("select", "table.csv", "-k", 4, "--polynomial", "-o", "m.json", folder=folder)
    return folder


def named(pairs):
    return [f"c{i}" + ("" if j < 0 else "^2" if i == j else f"*c{j}") for i, j in pairs.tolist()]


def test_products_are_listed_by_name_and_importance(folder):
    shown = thresh("select", "table.csv", "-k", 4, "--polynomial", "-o", "again.json", folder=folder).stdout
    expected = thresher.FGMClassifier(4, feature_map="polynomial").fit(X, Y)
    order, pairs = expected.selection_.ranking, expected.selection_.pairs
    names = named(pairs[order])
    assert "c2*c7" in names
    assert thresh("inspect", "m.json", "--names-only", folder=folder).stdout.split() == names
    assert all(name in shown for name in names)
    assert "4 of 90 features" in shown
    assert "standard deviation of the product" in shown
    assert "stop reason: 4 features selected, as requested" in shown
    assert "no 4 of the 90 terms" in " ".join(shown.split())
    told = as_json("inspect", "m.json", folder=folder)
    assert [feature["name"] for feature in told["features"]] == names
    assert [feature["pair"] for feature in told["features"]] == pairs[order].tolist()
    np.testing.assert_allclose([feature["weight"] for feature in told["features"]], expected.selection_.weights[order])
    assert "polynomial" in thresh("inspect", "m.json", folder=folder).stdout.lower()


def test_models_of_the_path_and_predictions(folder):
    expected = thresher.FGMClassifier(4, feature_map="polynomial").fit(X, Y)
    two = as_json("inspect", "m.json", "--features", 2, folder=folder)
    assert sorted(feature["name"] for feature in two["features"]) == sorted(named(expected.path_.at(2).pairs))
    for options, model in (((), expected), (("--features", 2), expected.at(2))):
        predicted = as_json("predict", "m.json", "table.csv", *options, folder=folder)
        assert predicted["accuracy"] == pytest.approx(model.score(X, Y))
    thresh("predict", "m.json", "table.csv", "--out", "p.txt", "--scores", folder=folder)
    scores = [float(line.split("\t")[1]) for line in (folder / "p.txt").read_text().splitlines()[-80:]]
    np.testing.assert_allclose(scores, expected.decision_function(X), rtol=1e-4)
    tested = thresh(
        "select", "table.csv", "-k", 4, "--polynomial", "-o", "t.json", "--test", "table.csv", folder=folder
    ).stdout
    assert ["features", "accuracy"] in [line.split() for line in tested.splitlines()]


def test_sparse_files_and_columns_by_number(folder):
    options = ("-k", 3, "--polynomial", "--labels", "labels.txt", "--always", 5, "--exclude", 2, "-o", "s.json")
    told = as_json("select", "data.npz", *options, folder=folder)
    assert told["scale"] == "max"
    pairs = [feature["pair"] for feature in told["features"]]
    assert len(pairs) == 3
    assert [5, -1] in pairs
    assert all(2 not in pair for pair in pairs)


@pytest.mark.parametrize(
    ("options", "match"),
    [
        (("--polynomial", "--kernel", "intersection"), "--polynomial and --kernel cannot be combined"),
        (("--heredity", "strong"), "--heredity needs --polynomial"),
    ],
)
def test_options_that_do_not_go_together(folder, options, match):
    run = thresh("select", "table.csv", "-k", 2, *options, "-o", "b.json", folder=folder, check=2)
    assert match in run.stderr
    assert not (folder / "b.json").exists()


def test_groups_of_products_are_refused(folder):
    run = thresh(
        "select", "table.csv", "-k", 2, "--polynomial", "--groups", "groups.csv", "-o", "b.json", folder=folder, check=1
    )
    assert "cannot be combined: products are selected one by one" in run.stderr


def test_a_missing_column_is_told_by_name(folder):
    thresh("select", "table.csv", "-k", 2, "--polynomial", "--always", "c11", "-o", "c11.json", folder=folder)
    run = thresh("predict", "c11.json", "short.csv", folder=folder, check=1)
    assert "c11" in run.stderr
