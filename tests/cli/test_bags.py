"""thresher select --bag-column, and what the other commands say of such models."""

import numpy as np
import pandas as pd
import pytest

import thresher
from tests.cli.test_commands import as_json, in_child, thresh
from tests.estimators.test_miles import made_bags
from tests.rule import miles_by_rule
from thresher.errors import InvalidDataError
from thresher.io import read

X, Y, BAGS = made_bags(50, 4, seed=6)
NAMED = np.array([f'image "{bag}", part' for bag in BAGS])
COLUMNS = list("abcd")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("bags")
    frame = pd.DataFrame(X, columns=COLUMNS)
    np.savez(folder / "data.npz", X=X, y=Y, bag=BAGS)
    frame.assign(image=NAMED, label=Y).to_csv(folder / "table.csv", index=False)
    frame.assign(image=NAMED).to_parquet(folder / "new.parquet")
    frame[::-1].assign(extra=1.0, image=NAMED[::-1], label=Y[::-1]).to_csv(folder / "reversed.csv", index=False)
    thresh("select", "data.npz", "--bag-column", "bag", "-k", 3, "--C", "rule", "-o", "m.json", folder=folder)
    thresh("select", "table.csv", "--bag-column", "image", "-k", 3, "--C", "rule", "-o", "t.json", folder=folder)
    return folder


def fitted(**options):
    return miles_by_rule(3, **options).fit(X, Y, bags=BAGS)


def test_the_model_is_that_of_the_estimator(folder):
    for name in ("m.json", "t.json"):
        clf = thresher.load(folder / name)
        np.testing.assert_allclose(clf.selection_.weights, fitted().selection_.weights, rtol=1e-9)
        np.testing.assert_array_equal(clf.prototypes_, X[clf.selection_.features])


def test_a_line_for_each_bag(folder):
    expected = fitted()
    out = thresh("predict", "m.json", "data.npz", "--out", "-", "--scores", folder=folder).stdout
    lines = [line.split("\t") for line in out.splitlines()]
    assert [int(bag) for bag, _, _ in lines] == np.unique(BAGS).tolist()
    assert [int(label) for _, label, _ in lines] == expected.predict(X, bags=BAGS).tolist()
    np.testing.assert_allclose([float(s) for *_, s in lines], expected.decision_function(X, bags=BAGS))
    told = as_json("predict", "m.json", "data.npz", folder=folder)
    assert told["bags"] == 50
    assert told["rows"] == len(X)
    assert told["accuracy"] == pytest.approx(expected.score(X, Y, bags=BAGS))
    assert "on 50 bags" in thresh("predict", "m.json", "data.npz", folder=folder).stdout


def test_a_line_for_each_row_with_instances(folder):
    out = in_child("predict", "m.json", "data.npz", "--out", "-", "--instances", folder=folder).stdout
    lines = [line.split("\t") for line in out.splitlines()]
    assert [int(bag) for bag, _ in lines] == BAGS.tolist()
    np.testing.assert_allclose([float(added) for _, added in lines], fitted().predict_instances(X, bags=BAGS))


def test_bags_of_tables_by_name_in_any_order(folder):
    """The model knows the bag column; other columns are ignored, strings with quotes and commas are bags."""
    expected = fitted()
    names, first = np.unique(NAMED, return_index=True)
    labels = dict(zip(np.unique(BAGS).tolist(), expected.predict(X, bags=BAGS).tolist(), strict=True))
    wanted = [f"{name}\t{labels[int(BAGS[row])]}" for name, row in zip(names, first, strict=True)]
    for file in ("table.csv", "new.parquet", "reversed.csv"):
        out = thresh("predict", "t.json", file, "--out", "-", folder=folder).stdout
        assert out.splitlines() == wanted, file
    told = as_json("predict", "t.json", "new.parquet", folder=folder)
    assert "accuracy" not in told


def test_inspect_shows_prototypes_by_weight(folder):
    expected = fitted().selection_
    order = np.argsort(-np.abs(expected.weights), kind="stable")
    told = as_json("inspect", "m.json", folder=folder)
    assert [part["row"] for part in told["features"]] == expected.features[order].tolist()
    assert [part["values"] for part in told["features"]] == X[expected.features[order]].tolist()
    assert told["ranked_by"] == "weight"
    assert told["sigma"] == fitted().sigma_
    assert told["n_candidates"] == len(np.unique(X, axis=0))
    shown = thresh("inspect", "m.json", folder=folder).stdout
    assert f"3 of {len(np.unique(X, axis=0))} different training instances" in shown
    assert f"sigma = {fitted().sigma_:g}" in shown
    names = thresh("inspect", "m.json", "--names-only", folder=folder).stdout.splitlines()
    assert names == [f"row {row}" for row in expected.features[order]]
    two = as_json("inspect", "m.json", "--features", 2, folder=folder)
    assert sorted(part["row"] for part in two["features"]) == fitted().at(2).selection_.features.tolist()


def test_options_reach_the_estimator(folder):
    options = ("--sigma", "search", "--loss", "logistic", "--scale", "max", "--balanced", "-k", 2)
    shown = thresh("select", "data.npz", "--bag-column", "bag", *options, "-o", "o.json", folder=folder).stdout
    clf = thresher.load(folder / "o.json")
    named = {"sigma": "search", "C": "auto", "loss": "logistic", "scale": "max", "class_weight": "balanced"}
    assert named.items() <= clf.get_params().items()
    assert "the best of 21 combinations of sigma, C and elimination" in " ".join(shown.split())
    lines = thresh("predict", "o.json", "data.npz", "--out", "-", "--probabilities", folder=folder).stdout.splitlines()
    chances = np.array([[float(part) for part in line.split("\t")[2:]] for line in lines])
    np.testing.assert_allclose(chances, clf.predict_proba(X, bags=BAGS))


def test_the_path_is_scored_on_bags(folder):
    options = ("--bag-column", "image", "-k", 3, "--C", "rule", "-o", "p.json", "--test", "reversed.csv")
    told = as_json("select", "table.csv", *options, folder=folder)
    clf = fitted()
    expected = [clf.at(int(number)).score(X, Y, bags=BAGS) for number in clf.path_.numbers]
    np.testing.assert_allclose(told["path_accuracies"], expected)
    assert told["accuracy"] == pytest.approx(clf.score(X, Y, bags=BAGS))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("select", "data.npz", "--bag-column", "bog"), "no array of bags named 'bog' (--bag-column); arrays: X, bag"),
        (("select", "data.npz", "--bag-column", "X"), "no array of bags named 'X'"),
        (("select", "table.csv", "--bag-column", "bog"), "no column named 'bog'; set the bag column with bag_column"),
        (("select", "table.csv", "--bag-column", "label"), "cannot be both the label and the bag"),
        (
            ("select", "data.npz", "--bag-column", "bag", "--feature-map", "polynomial"),
            "--feature-map cannot be combined with",
        ),
        (("select", "data.npz", "--sigma", "2"), "--sigma needs --bag-column"),
        (("select", "data.npz", "--bag-column", "bag", "--sigma", "0"), "--sigma"),
        (("predict", "m.json", "table.csv"), "no column named 'bag'"),
        (("predict", "m.json", "data.npz", "--instances"), "--instances needs --out"),
        (("predict", "m.json", "data.npz", "--instances", "--scores", "-o", "x"), "--instances cannot be combined"),
    ],
)
def test_bad_usage_in_one_line(arguments, message, folder):
    usage = message.startswith("--")
    done = thresh(*arguments, folder=folder, check=2 if usage else 1)
    assert message in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1


def test_models_without_bags_have_no_instances(folder):
    pd.DataFrame(X, columns=COLUMNS).assign(label=Y).to_csv(folder / "plain.csv", index=False)
    thresh("select", "plain.csv", "-k", 2, "-o", "plain.json", folder=folder)
    done = thresh("predict", "plain.json", "plain.csv", "--instances", "-o", "-", folder=folder, check=2)
    assert "are for models of bags" in done.stderr


def test_tables_have_bags(folder, tmp_path):
    for file, column, expected in (("data.npz", "bag", BAGS), ("table.csv", "image", NAMED)):
        table = read(folder / file, bag_column=column)
        np.testing.assert_array_equal(table.bags, expected)
        np.testing.assert_array_equal(table.X, X)
        assert table.names in (None, tuple(COLUMNS))
    assert read(folder / "data.npz").bags is None
    numbers = tmp_path / "numbers.csv"
    np.savetxt(numbers, np.column_stack([X, BAGS, Y]), delimiter=",", fmt="%.17g")
    table = read(numbers, label_column="5", bag_column="4")
    np.testing.assert_array_equal(table.bags, BAGS)
    np.testing.assert_array_equal(table.X, X)


LARGE = 12345678901234567000  # of which float64 knows every 2048th number


@pytest.mark.parametrize("kind", ["csv", "parquet", "npz"])
@pytest.mark.parametrize(
    ("names", "kept"),
    [
        (["01", "1", "1.0", "1e0", "001"], ["01", "1", "1.0", "1e0", "001"]),
        ([str(LARGE + k) for k in range(5)], [str(LARGE + k) for k in range(5)]),
        ([str(2**53 + k) for k in range(5)], [2**53 + k for k in range(5)]),
        (["10", "9", "-3", "0", "7"], [10, 9, -3, 0, 7]),
        (["0.5", "1.5", "-2.0", "0.25", "3.0"], [0.5, 1.5, -2.0, 0.25, 3.0]),
    ],
    ids=["zeros", "large", "beyond float64", "integers", "floats"],
)
def test_names_of_bags_that_differ_are_different_bags(names, kept, kind, tmp_path):
    """Labels "01" and "1" may be the same class; as names of bags they would join bags that are not one."""
    path = tmp_path / f"data.{kind}"
    frame = pd.DataFrame({"a": np.linspace(0.1, 0.9, 5), "bag": names, "label": [0, 1, 0, 1, 0]})
    if kind == "npz":
        np.savez(path, X=frame[["a"]].to_numpy(), y=frame["label"].to_numpy(), bag=np.array(names))
    elif kind == "csv":
        frame.to_csv(path, index=False)
    else:
        frame.to_parquet(path)
    assert read(path, bag_column="bag").bags.tolist() == kept


def test_the_path_is_scored_by_the_measure_of_bags(folder):
    options = ("--bag-column", "image", "-k", 2, "--loss", "recall_at_k", "--at", 5, "-o", "q.json")
    told = as_json("select", "table.csv", *options, "--test", "reversed.csv", folder=folder)
    clf = thresher.load(folder / "q.json")
    scorer = thresher.bag_scorer(thresher.RecallAtK(5))
    expected = [scorer(clf.at(int(number)), X, Y, bags=BAGS) for number in clf.path_.numbers]
    np.testing.assert_allclose(told["path_measures"], expected)
    assert max(expected) < 0.5, "accuracy is another number"
    np.testing.assert_allclose(told["accuracy"], clf.score(X, Y, bags=BAGS))
    assert "recall at 5" in thresh("select", "table.csv", *options, "--test", "reversed.csv", folder=folder).stdout


@pytest.mark.parametrize(
    ("name", "content", "match"),
    [
        ("a.csv", "a,bag,label\n1,x,0\n2,,1\n", "line 3: missing value in the bag column 'bag'"),
        ("a.svm", "1 1:2\n", "needs .npz, csv or Parquet, got svmlight"),
    ],
)
def test_bags_that_are_missing_in_files(name, content, match, tmp_path):
    (tmp_path / name).write_text(content)
    with pytest.raises(InvalidDataError, match=match):
        read(tmp_path / name, bag_column="bag")


def test_bags_of_the_wrong_shape_in_arrays(tmp_path):
    for bags, match in ((BAGS[1:], "bags, but X has"), (np.stack([BAGS, BAGS]), "must be a 1D array")):
        np.savez(tmp_path / "wrong.npz", X=X, y=Y, bag=bags)
        with pytest.raises(InvalidDataError, match=match):
            read(tmp_path / "wrong.npz", bag_column="bag")
    frame = pd.DataFrame({"a": [1.0, 2.0], "bag": ["x", None], "label": [0, 1]})
    frame.to_parquet(tmp_path / "wrong.parquet")
    with pytest.raises(InvalidDataError, match="the bag column 'bag' has 1 missing values"):
        read(tmp_path / "wrong.parquet", bag_column="bag")


def test_measures_of_bags(folder):
    """The loss counts bags, and predict reports its measure over bags."""
    options = ("--bag-column", "bag", "-k", 2, "--loss", "recall_at_k", "--at", "1p", "-o", "r.json")
    assert as_json("select", "data.npz", *options, folder=folder)["loss"] == "recall_at_k"
    expected = thresher.MILESClassifier(2, loss=thresher.RecallAtK(1.0)).fit(X, Y, bags=BAGS)
    of_bag = np.array([Y[bag == BAGS][0] for bag in np.unique(BAGS)])
    scores = expected.decision_function(X, bags=BAGS)
    best = np.argsort(-scores, kind="stable")[: int((of_bag > 0).sum())]
    told = as_json("predict", "r.json", "data.npz", folder=folder)
    assert told["measure"] == "recall at 1p"
    assert told["value"] == pytest.approx(np.mean(of_bag[best] > 0))


def test_a_bag_with_two_labels_is_named_with_its_file_and_line(folder):
    """Lines as an editor counts them: blank ones, and those inside of quotes, count too."""
    rows = [f'{a},{a % 5},"bag\n{a // 4}",{"sick" if a // 4 % 2 else "well"}' for a in (3, 1, 4, 1, 5, 9, 2, 6)]
    rows[5] = '9,4,"bag\n1",well'
    header = 'a,b,"bag",label'
    expected = "line 13: bag 'bag\\n1' has the label 'well' here, but 'sick' in line 7; all rows of a bag must have"
    (folder / "two.csv").write_text("\n".join([header, *rows[:2], "", *rows[2:], ""]))
    done = thresh("select", "two.csv", "--bag-column", "bag", "-o", "two.json", folder=folder, check=1)
    assert f"two.csv: {expected}" in done.stderr
    piped = thresh(
        "select", "-", "--kind", "csv", "--bag-column", "bag", given=(folder / "two.csv").read_text(), folder=folder,
        check=1,
    )  # fmt: skip
    assert "standard input: row 5 (from 0): bag 'bag\\n1' has the label 'well' here, but 'sick'" in piped.stderr
    wrong = Y.copy()
    names, counts = np.unique(BAGS, return_counts=True)
    row = int(np.flatnonzero(names[counts.argmax()] == BAGS)[-1])
    wrong[row] = Y[Y[row] != Y][0]
    np.savez(folder / "wrong.npz", X=X, y=wrong, bag=BAGS)
    assert f"wrong.npz: row {row} (from 0): bag " in thresh(
        "select", "wrong.npz", "--bag-column", "bag", folder=folder, check=1).stderr  # fmt: skip
    assert "wrong.npz: row " in thresh("predict", "m.json", "wrong.npz", folder=folder, check=1).stderr
    np.savetxt(folder / "headless.csv", np.column_stack([X, BAGS, wrong]), delimiter=",")
    columns = ("--bag-column", "-2", "--label-column", "-1")
    assert f"headless.csv: line {row + 1}: bag" in thresh(
        "select", "headless.csv", *columns, folder=folder, check=1).stderr  # fmt: skip
