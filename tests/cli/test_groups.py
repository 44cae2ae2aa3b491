"""thresher select --groups and --tree."""

import numpy as np
import pandas as pd
import pytest

import thresher
from tests.cli.test_commands import as_json, thresh
from tests.problems import problem
from tests.rule import fgm_by_rule

X, Y, _ = problem(80, 12, 4)
COLUMNS = [f"c{j}" for j in range(12)]
GROUPS = "column,group\n" + "".join(f"c{j},pathway {j // 3}\n" for j in range(12)) + "c0,pathway 3\n"
TREE = "node,parent\n" + "".join(f"c{j},n{j // 3}\n" for j in range(12)) + "n0,top\nn1,top\nn2,\nn3,\ntop,\n"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("groups")
    pd.DataFrame(X, columns=COLUMNS).assign(label=Y).to_csv(folder / "table.csv", index=False)
    lines = [f"{int(y)} " + " ".join(f"{j + 1}:{v}" for j, v in enumerate(row)) for row, y in zip(X, Y, strict=True)]
    (folder / "text.svm").write_text("\n".join(lines) + "\n")
    (folder / "groups.csv").write_text("\ufeff" + GROUPS)
    (folder / "numbers.csv").write_text("column,group\n" + "".join(f"{j + 1},{j // 3}\n" for j in range(12)))
    (folder / "tree.csv").write_text(TREE)
    return folder


def test_groups_of_a_table(folder):
    options = ("-k", 2, "--groups", "groups.csv", "--C", "rule", "-o", "m.json")
    shown = thresh("select", "table.csv", *options, "--test", "table.csv", folder=folder).stdout
    clf = thresher.load(folder / "m.json")
    lists = {f"pathway {g}": [j for j in range(12) if j // 3 == g or (g == 3 and j == 0)] for g in range(4)}
    expected = fgm_by_rule(2, groups=lists).fit(X, Y).selection_
    assert clf.selection_.groups.tolist() == expected.groups.tolist()
    assert f"2 groups: {', '.join(expected.groups)}\n" in shown
    assert "stop reason: 2 groups selected, as requested" in shown
    assert "no 2 of the 4 groups could" in shown
    assert ["groups", "accuracy"] in [line.split() for line in shown.splitlines()]
    told = as_json("inspect", "m.json", folder=folder)
    assert told["groups"] == expected.groups.tolist()
    assert len(told["features"]) == expected.features.size
    again = thresh("inspect", "m.json", folder=folder).stdout
    assert "path: 1 to 4 groups" in again
    assert "groups=Groups(of={'pathway 0'" in again
    assert thresh("predict", "m.json", "table.csv", folder=folder).returncode == 0


def test_numbers_stand_for_columns_where_there_are_no_names(folder):
    """In svmlight text they are indices as written."""
    report = as_json("select", "text.svm", "-k", 2, "--groups", "numbers.csv", "-o", "n.json", folder=folder)
    expected = thresher.FGMClassifier(2, groups=np.arange(12) // 3).fit(X, Y).selection_
    assert [int(label) for label in report["groups"]] == expected.groups.tolist()


def test_always_and_exclude_name_groups(folder):
    options = ("-k", 2, "--groups", "groups.csv", "--always", "pathway 3", "--exclude", "pathway 0", "-o", "a.json")
    report = as_json("select", "table.csv", *options, folder=folder)
    assert "pathway 3" in report["groups"]
    assert "pathway 0" not in report["groups"]


def test_a_tree(folder):
    report = as_json("select", "table.csv", "-k", 2, "--tree", "tree.csv", "-o", "t.json", folder=folder)
    assert len(report["groups"]) == 2
    assert set(report["groups"]) <= {*COLUMNS, "n0", "n1", "n2", "n3", "top"}


def test_columns_in_no_group(folder):
    (folder / "few.csv").write_text("column,group\nc0,a\nc1,a\n")
    options = ("select", "table.csv", "-k", 1, "--groups", "few.csv", "-o", "f.json")
    done = thresh(*options, folder=folder, check=1)
    assert "10 of the 12 columns are in no group" in done.stderr
    assert as_json(*options, "--ungrouped", "drop", folder=folder)["groups"] == ["a"]
    single = as_json(*options[:3], 11, *options[4:], "--ungrouped", "single", folder=folder)["groups"]
    assert "column 5" in single


BAD = {
    "other header": ("col,group\n", "--groups", "line 1: the header must be column,group, got 'col,group'"),
    "nothing": ("column,group\n", "--groups", "there are no lines after the header"),
    "no such column": ("column,group\nc0,a\nx9,a\n", "--groups", "line 3: no feature named 'x9'"),
    "no group": ("column,group\nc0,\n", "--groups", "line 2: the group is missing"),
    "three entries": ("column,group\nc0,a,b\n", "--groups", "line 2: expected 2 entries, got 3"),
    "an orphan": (TREE + "z,nowhere\n", "--tree", "line 19: the parent of node 'z', 'nowhere', has no line of its own"),
    "twice": (TREE + "n1,\n", "--tree", "line 19: node 'n1' has a line already, 15"),
    "a cycle": (TREE.replace("top,\n", "top,n0\n"), "--tree", "the tree has a cycle: node '"),
    "a column is missing": (TREE.replace("c4,n1\n", ""), "--tree", "1 of the 12 columns are not in the tree"),
}  # fmt: skip


@pytest.mark.parametrize("case", BAD)
def test_bad_files_of_groups(case, folder):
    text, option, message = BAD[case]
    (folder / "bad.csv").write_text(text)
    done = thresh("select", "table.csv", "-k", 1, option, "bad.csv", "-o", "b.json", folder=folder, check=1)
    assert message in done.stderr


def test_wrong_usage(folder):
    both = thresh("select", "table.csv", "--groups", "groups.csv", "--tree", "tree.csv", folder=folder, check=2)
    assert "--groups and --tree cannot be combined" in both.stderr
    alone = thresh("select", "table.csv", "--ungrouped", "drop", folder=folder, check=2)
    assert "--ungrouped needs --groups" in alone.stderr
    absent = thresh("select", "table.csv", "--groups", "absent.csv", folder=folder, check=1)
    assert "absent.csv: no such file" in absent.stderr
