"""The options of all commands: their names."""

from collections import Counter

import pytest

from tests.cli.test_commands import as_json, thresh
from thresher.cli.options.commands import app
from thresher.cli.start import with_options

COMMANDS = ["select", "grid", "path", "stream", "predict", "inspect", "demo", "warmup"]


def test_all_commands_are_known_here():
    assert sorted(name for name in app if not name.startswith("-")) == sorted(COMMANDS)


@pytest.mark.parametrize("command", COMMANDS)
def test_no_command_has_two_options_of_one_name(command):
    arguments = app[command].assemble_argument_collection()
    counts = Counter(name for argument in arguments for name in argument.names if name.startswith("-"))
    assert counts or command == "demo"
    assert [name for name, count in counts.items() if count > 1] == []


def test_path_keeps_a_column_that_looks_like_an_index(tmp_path):
    """As the warning advises."""
    rows = "\n".join(f"{i},{i % 7 - 3},{i % 2}" for i in range(40))
    (tmp_path / "data.csv").write_text(f"id,a,label\n{rows}\n")
    warned = thresh("path", "data.csv", "--step", 0.5, folder=tmp_path)
    assert "to keep a column, name it with keep (--keep NAME)" in warned.stderr
    report = as_json("path", "data.csv", "--step", 0.5, "--keep", "id", "--no-store-training-columns", folder=tmp_path)
    assert report["n_features_in"] == 2


@pytest.mark.parametrize(("command", "message", "expected"), [
    ("select", "n_features_to_select=30 must be", "n_features_to_select=30 (--features) must be"),
    ("select", "always_include names 3 columns, but n_features_to_select is 2",
     "always_include (--always) names 3 columns, but n_features_to_select (--features) is 2"),
    ("select", "fit with n_features_to_select (--features)", "fit with n_features_to_select (--features)"),
    ("predict", "n_features_to_select=30 must be", "n_features_to_select=30 must be"),
    ("path", "nothing of it", "nothing of it"),
])  # fmt: skip
def test_errors_of_fits_name_options(command, message, expected):
    assert with_options(message, [command, "file"]) == expected
    assert with_options(message, []) == message


@pytest.mark.parametrize(("arguments", "expected"), [
    (("predict", "m", "x", "--impute", "mean"), "--impute is an option of select, grid and path, not of predict (see"),
    (("predict", "m", "x", "--one-hot"), "--one-hot is an option of select, grid and path, not of predict (see"),
    (("predict", "m", "x", "--imptue=3"), "Unknown option: --imptue. (see"),
    (("predict", "m", "x", "--lables", "y"), "Unknown option: --lables. Did you mean --labels? (see"),
    (("select", "x", "--point", "1", "2"), "--point is an option of predict and inspect, not of select (see"),
])  # fmt: skip
def test_only_near_names_are_suggested(arguments, expected):
    assert thresh(*arguments, check=2).stderr.startswith(f"thresher: error: {expected}")
