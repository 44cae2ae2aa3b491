"""Misspelt names of columns and groups: what was meant, wherever they are given."""

import re

import numpy as np
import pandas as pd
import pytest

from tests.cli.test_commands import thresh
from tests.rule import fgm_by_rule
from thresher import Groups
from thresher.errors import MOST_COMPARED, did_you_mean

NAMES = ["mean radius", "mean texture", "worst radius", "diagnosis"]
X = np.random.default_rng(0).standard_normal((40, 3)).round(3)
Y = np.where(X[:, 0] > 0, "M", "B")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("names")
    frame = pd.DataFrame(X, columns=NAMES[:3])
    frame["diagnosis"] = Y
    frame.to_csv(folder / "data.csv", index=False)
    (folder / "groups.csv").write_text("column,group\nmean radios,a\nmean texture,a\nworst radius,b\n")
    return folder


def test_near_names():
    assert did_you_mean("mean radios", NAMES) == "; did you mean 'mean radius'?"
    assert did_you_mean("Mean Radius", NAMES).startswith("; did you mean 'mean radius'")
    assert did_you_mean("xyz", NAMES) == did_you_mean("a", []) == ""
    assert did_you_mean(17, [171, 5]) == "; did you mean '171'?"
    assert did_you_mean("near", ["far"] * MOST_COMPARED + ["nearer"]) == ""


MEANT = "mean radios'; did you mean 'mean radius'"
CASES = {
    "label": (("--label-column", "diagnosi"), "no column named 'diagnosi'; did you mean 'diagnosis'? Set the label "),
    "ignore": (("--ignore", "mean radios"), f"ignore (--ignore): no column named '{MEANT}"),
    "keep": (("--keep", "mean radios"), f"keep (--keep): no column named '{MEANT}"),
    "exclude": (("--exclude", "mean radios"), f"no feature named '{MEANT}"),
    "always": (("--always", "mean radios"), f"no feature named '{MEANT}"),
    "no name": (("--always", "x"), "expected the name of a column, or a number from 0 to 2"),
    "groups": (("--groups", "groups.csv"), "groups.csv, line 2: no feature named 'mean radios'; did you mean"),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_the_command_line_names_what_was_meant(folder, case):
    options, message = CASES[case]
    labels = () if case == "label" else ("--label-column", "diagnosis")
    done = thresh("select", "data.csv", *labels, *options, folder=folder, check=1)
    assert message in done.stderr
    assert done.stderr.count("did you mean") == (case != "no name")


@pytest.mark.parametrize("name", ["always_include", "exclude"])
def test_estimators_name_what_was_meant(name):
    frame = pd.DataFrame(X, columns=NAMES[:3])
    with pytest.raises(ValueError, match=re.escape(f"{name}: X has no column named '{MEANT}")):
        fgm_by_rule(1, **{name: ["mean radios"]}).fit(frame, Y)
    groups = Groups({"shape": [0], "texture": [1, 2]})
    with pytest.raises(ValueError, match=rf"{name} contains 'textur', .* group; did you mean 'texture'\?"):
        fgm_by_rule(1, groups=groups, **{name: ["textur"]}).fit(X, Y)
