"""thresher select --kernel."""

import numpy as np
import pandas as pd
import pytest

import thresher
from tests.cli.test_commands import as_json, thresh
from tests.problems import problem

X, Y, _ = problem(80, 12, 4)
X = np.round(np.abs(X), 3)
COLUMNS = [f"c{j}" for j in range(12)]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("kernels")
    pd.DataFrame(X, columns=COLUMNS).assign(label=Y).to_csv(folder / "table.csv", index=False)
    bad = X.copy()
    bad[2, 3] = -1.0
    pd.DataFrame(bad, columns=COLUMNS).assign(label=Y).to_csv(folder / "bad.csv", index=False)
    (folder / "groups.csv").write_text("column,group\n" + "".join(f"c{j},g{j // 3}\n" for j in range(12)))
    return folder


@pytest.mark.parametrize("kernel", ["intersection", "additive_chi2", "additive_gaussian"])
def test_inputs_are_listed_by_the_length_of_their_weights(folder, kernel):
    options = ("-k", 3, "--feature-map", kernel, "-o", "m.json", "--test", "table.csv")
    shown = thresh("select", "table.csv", *options, folder=folder).stdout
    expected = thresher.FGMClassifier(3, feature_map=kernel).fit(X, Y)
    inputs, size = expected.selection_.groups, expected.selection_.fitted_features.size
    squares = np.bincount(expected.selection_.features // size, expected.selection_.weights**2, minlength=12)
    order = inputs[np.argsort(-squares[inputs])]
    assert thresh("inspect", "m.json", "--names-only", folder=folder).stdout.split() == [f"c{j}" for j in order]
    assert "3 of 12 columns" in shown
    assert "length of weights" in shown
    assert f"ranked by the length of the weights of the {size} numbers" in shown
    assert "stop reason: 3 inputs selected, as requested" in shown
    assert ["inputs", "accuracy"] in [line.split() for line in shown.splitlines()]
    told = as_json("inspect", "m.json", folder=folder)
    assert [feature["column"] for feature in told["features"]] == order.tolist()
    assert told["groups"] == inputs.tolist()
    assert told["n_features"] == 3
    assert as_json("inspect", "m.json", "--features", 2, folder=folder)["n_features"] == 2
    predicted = as_json("predict", "m.json", "table.csv", folder=folder)
    assert predicted["accuracy"] == pytest.approx(expected.score(X, Y))


def test_groups_of_inputs(folder):
    options = ("-k", 2, "--feature-map", "additive_chi2", "--groups", "groups.csv", "-o", "g.json")
    report = as_json("select", "table.csv", *options, folder=folder)
    assert len(report["groups"]) == 2
    assert report["n_features"] == 6


def test_negative_values_are_refused_by_name(folder):
    run = thresh("select", "bad.csv", "-k", 2, "--feature-map", "intersection", "-o", "b.json", folder=folder, check=1)
    assert "has the value -1 in row 2" in run.stderr
