"""The options of all commands: their names."""

from collections import Counter

import pytest

from tests.cli.test_commands import as_json, thresh
from thresher.cli.options import app

COMMANDS = ["select", "grid", "path", "stream", "predict", "inspect", "demo"]


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
    report = as_json("path", "data.csv", "--step", 0.5, "--keep", "id", "--model-keeps", "support", folder=tmp_path)
    assert report["n_features_in"] == 2
