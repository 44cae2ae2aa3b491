"""Tables that nobody prepared, on the command line: the message names a command, and that command works."""

import json
import shlex

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import dump_svmlight_file

from tests.cli.test_commands import as_json, thresh

ROWS = 80
RNG = np.random.default_rng(3)
SICK = RNG.random(ROWS) < 0.5
FRAME = pd.DataFrame(
    {
        "Patient": [f"P{i:03}" for i in range(ROWS)],
        "City": np.where(SICK & (RNG.random(ROWS) < 0.9), "Ulm", RNG.choice(["Bonn", "Köln"], ROWS)),
        "Smoker": RNG.choice(["TRUE", "FALSE"], ROWS),
        "Age": np.where(RNG.random(ROWS) < 0.1, np.nan, RNG.normal(50, 9, ROWS).round(1)),
        "Noise, dB": RNG.standard_normal(ROWS).round(3),
        "Diagnosis": np.where(SICK, "sick", "well"),
    }
)


@pytest.fixture
def table(tmp_path):
    FRAME.to_csv(tmp_path / "table.csv")
    return tmp_path


def test_the_command_in_the_message_works(table):
    wrong = thresh("select", "table.csv", "--label-column", "Diagnosis", "-k", 1, folder=table, check=1)
    first, advice = wrong.stderr.splitlines()
    assert "table.csv: 3 columns cannot be used as they are: line 2: column 'Patient' must be numeric" in first
    assert "left out column 'Unnamed: 0'" in first
    command = shlex.split(advice.removeprefix("This works: thresher "))
    assert command[-5:] == ["--ignore", "Patient", "--one-hot", "--impute", "median"]
    done = thresh(*command, "--json", folder=table)
    report = json.loads(done.stdout)
    assert report["n_features"] == 3  # one group: the columns of the city
    new = FRAME[::-1].assign(City="Jena").to_csv(table / "new.csv", index=False)
    assert new is None
    told = thresh("predict", "model.json", "new.csv", folder=table).stderr
    assert "warning: new.csv: column 'City' has 1 text that the training data did not have, 'Jena'" in told
    assert as_json("predict", "model.json", "table.csv", folder=table)["accuracy"] > 0.85


@pytest.mark.parametrize("name", ["-neg", "-a, b"])
def test_the_command_in_the_message_works_for_names_with_dashes(table, name):
    frame = FRAME.rename(columns={"Patient": name})[[name, "Noise, dB", "Diagnosis"]]
    frame.to_csv(table / "dash.csv", index=False)
    wrong = thresh("select", "dash.csv", "--label-column", "Diagnosis", "-k", 1, folder=table, check=1)
    command = shlex.split(wrong.stderr.splitlines()[1].removeprefix("This works: thresher "))
    assert command[-1] == f"--ignore={name}"
    assert as_json(*command, folder=table)["n_features_in"] == 1


def test_a_leak_is_named_as_in_the_file(tmp_path):
    X = np.c_[RNG.standard_normal((ROWS, 4)), SICK].round(3)
    pd.DataFrame(X, columns=["a", "b", "c", "d", "Outcome"]).assign(label=SICK * 1).to_csv(
        tmp_path / "t.csv", index=False
    )
    dump_svmlight_file(X, SICK * 1, str(tmp_path / "t.svm"), zero_based=False)
    np.savez(tmp_path / "t.npz", X=X, y=SICK * 1)
    for file, called in (("t.csv", "column 'Outcome'"), ("t.svm", "index 5"), ("t.npz", "column 4")):
        told = thresh("select", file, "-k", 1, folder=tmp_path).stderr
        assert f"warning: {called} alone explains 100 %" in told


def test_several_names_of_one_option(table):
    rest = ("--one-hot", "--impute", "mean", "--label-column", "Diagnosis", "--json")
    ways = [
        ("table.csv", "--ignore", "Patient,Age"), ("table.csv", "--ignore", "Patient", "Age"),
        ("--ignore", "Patient,Age", "table.csv"), ("table.csv", "--ignore", "Patient", "--ignore", "Age"),
    ]  # fmt: skip
    found = {as_json("select", *way, *rest[:-1], folder=table)["n_features_in"] for way in ways}
    assert found == {5}
    found = as_json("select", "table.csv", "--ignore", "Patient", "Noise, dB", *rest[:-1], folder=table)
    assert found["n_features_in"] == 5  # a name with a comma is a name
    wrong = thresh("select", "table.csv", "--ignore", "Patient,Agee", *rest, folder=table, check=1)
    assert "no column named 'Agee'; did you mean 'Age'?" in wrong.stderr
    thresh("select", "table.csv", "more.csv", folder=table, check=2)


def test_where_the_options_do_not_apply(table):
    np.save(table / "x.npy", np.eye(4))
    (table / "x.svm").write_text("1 1:2\n-1 1:3\n")
    for arguments, message in (
        (("select", "x.npy", "--one-hot"), "--one-hot needs a csv or Parquet file, got npy"),
        (("select", "x.svm", "--impute", "mean"), "--impute needs a table or an array, got svmlight text"),
        (("select", "table.csv", "--one-hot", "--groups", "g.csv"), "cannot be combined with --groups"),
    ):
        assert message in thresh(*arguments, folder=table, check=2).stderr


def test_other_commands_take_the_columns_one_by_one(table):
    options = ("--ignore", "Patient", "--one-hot", "--impute", "median", "--label-column", "Diagnosis")
    done = as_json("grid", "table.csv", *options, "--betas", 3, "--alphas", 3, "-o", "g.json", folder=table)
    assert done["n_features_in"] == 6
    assert as_json("predict", "g.json", "table.csv", folder=table)["accuracy"] > 0.85
    done = as_json("select", "table.csv", *options, "--feature-map", "polynomial", "-k", 2, folder=table)
    assert done["n_features"] == 2
    done = as_json("select", "table.csv", *options, "--loss", "f1", "-k", "all", folder=table)
    assert done["n_features"] == 6
    test = as_json("select", "table.csv", *options, "-k", 1, "--always", "City", "--test", "table.csv", folder=table)
    assert test["n_features"] == 3
    assert test["accuracy"] > 0.85


def test_test_data_without_labels_is_refused_before_the_fit(table):
    numbers = FRAME[["Noise, dB", "Diagnosis"]].assign(b=1.0)
    numbers.to_csv(table / "train.csv", index=False)
    new = numbers.drop(columns="Diagnosis")
    new.to_csv(table / "new.csv", index=False)
    new.to_parquet(table / "new.parquet")
    np.save(table / "new.npy", new.to_numpy())
    np.savez(table / "new.npz", X=new.to_numpy())
    np.savetxt(table / "y.txt", FRAME["Diagnosis"], fmt="%s")
    options = ("train.csv", "--label-column", "Diagnosis", "-k", 1, "-o", "none.json")
    for kind in ("csv", "parquet", "npy", "npz"):
        done = thresh("select", *options, "--test", f"new.{kind}", folder=table, check=1)
        assert done.stderr.splitlines()[-1] == (
            f"thresher: error: new.{kind}: missing labels; name a file of labels with --test-labels"
        )
        assert not (table / "none.json").exists()
        thresh("select", *options[:-1], "m.json", "--test", f"new.{kind}", "--test-labels", "y.txt", folder=table)
