"""Tables of models with many classes, at the width that they have in a pipe."""

import re

import numpy as np
import pytest

from tests.cli.test_commands import as_json, in_child, thresh
from thresher.cli.show import number_that_fit, unbroken_width

NUMBER = re.compile(r"[+-]\d+(\.\d+)?(e[+-]\d+)?")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder, rng = tmp_path_factory.mktemp("classes"), np.random.default_rng(0)
    y, X = np.arange(200) % 10, rng.standard_normal((200, 12))
    X[np.arange(200), y] += 3.0
    X *= 10.0 ** np.arange(-3, 9)
    header = ",".join([*(f"mean fractal dimension {j}" for j in range(12)), "label"])
    rows = (",".join([*map(repr, row), f"class{label}"]) for row, label in zip(X.tolist(), y, strict=True))
    (folder / "data.csv").write_text("\n".join([header, *rows, ""]))
    return folder


def test_numbers_are_not_broken_and_classes_that_do_not_fit_are_counted(folder):
    report = in_child("select", "data.csv", "-k", 9, "-o", "model.json", folder=folder).stdout
    found = thresh("inspect", "model.json", folder=folder).stdout
    for text in (report, found):
        lines = text.splitlines()
        top = next(place for place, line in enumerate(lines) if line.startswith("rank"))
        shown = lines[top].split()[3:]
        assert shown == [f"class{c}" for c in range(len(shown))]
        assert 3 <= len(shown) < 10
        assert f"... and {10 - len(shown)} more classes (--json has all)" in lines
        ranked = [line for line in lines[top + 1 :] if re.match(r"\d", line)]
        assert len(ranked) == 9
        for line in ranked:
            assert len(line) <= 80
            assert all(NUMBER.fullmatch(word) for word in line.split()[-len(shown) :])
    full = as_json("inspect", "model.json", folder=folder)
    assert {len(feature["weight"]) for feature in full["features"]} == {10}


def test_few_classes_are_all_shown(folder):
    text = (folder / "data.csv").read_text().replace("class3", "class2")
    for c in range(4, 10):
        text = text.replace(f"class{c}", f"class{c % 3}")
    (folder / "three.csv").write_text(text)
    report = thresh("select", "three.csv", "-k", 3, "-o", "three.json", folder=folder).stdout
    assert "more class" not in report


def test_how_many_columns_fit():
    numbers, names = ["head", "-1.234e-05"], ["feature", "x" * 100]
    assert number_that_fit([numbers] * 9, [names], 24 + 12 * 4) == 4
    assert number_that_fit([numbers] * 9, [names], 24 + 12 * 4 - 1) == 3
    assert number_that_fit([numbers] * 9, [names], 10) == 1
    assert number_that_fit([numbers] * 2, [["a", "b"]], 80) == 2
    assert unbroken_width(["a long head", "+12.5", "y" * 99]) == 5
