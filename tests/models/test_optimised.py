"""What guards data holds under ``python -O`` too, which drops every ``assert``."""

import ast
import pathlib
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest

import thresher
from tests.models.damage import saved, write
from tests.models.zoo import fitted
from thresher.errors import InconsistentResultError

SOURCE = pathlib.Path(thresher.__file__).parent


def test_no_assert_in_the_source():
    """Conditions on data raise errors of their own."""
    paths = sorted(SOURCE.rglob("*.py"))
    assert len(paths) > 50
    found = [
        f"{path.relative_to(SOURCE)}:{node.lineno}"
        for path in paths
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Assert)
    ]
    assert found == []


HOSTILE = {
    "a weight of zero": {"weights": [1.0, 2.0, 0.0, 3.0]},
    "a bound above its objective": {"certificate": {
        "objective": 1.0, "lower_bound": 2.0, "pick_objective": 1.0, "pick_bound": 0.5, "at_zero": 90.0,
    }},
}  # fmt: skip


@pytest.mark.parametrize("case", HOSTILE)
def test_a_hostile_file_is_refused_by_an_optimised_interpreter(case, tmp_path):
    """Its digest is right, and it breaks one rule of ``Selection.check``."""
    path, document, _ = saved(tmp_path)
    write(path, document | HOSTILE[case])
    code = (
        "import sys, thresher\n"
        "from thresher.errors import ModelFileError\n"
        "if __debug__: raise SystemExit('asserts are on')\n"
        "try: thresher.load(sys.argv[1])\n"
        "except ModelFileError as error: print(error)\n"
    )
    command = [sys.executable, "-O", "-c", code, str(path)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert "its parts are inconsistent" in done.stdout


@pytest.mark.parametrize(("change", "why"), [
    ({"features": np.array([1, 2, 3, 4], dtype=np.int32)}, "int64"),
    ({"features": np.array([[1, 2, 3, 4]])}, "int64"),
    ({"features": np.array([1, 2, 2, 4])}, "sorted and unique"),
    ({"features": np.array([1, 2, 4])}, "shapes"),
    ({"intercept": np.zeros(2)}, "shapes"),
    ({"weights": np.array([1.0, np.nan, 1.0, 1.0])}, "finite"),
    ({"weights": np.array([1.0, 0.0, 1.0, 1.0])}, "no weight"),
    ({"forced": np.array([39])}, "forced feature"),
])  # fmt: skip
def test_a_selection_that_contradicts_itself_says_how(change, why):
    """Each rule, broken; the error is a ValueError, as scikit-learn's users expect."""
    selection = fitted("two").selection_
    selection.check()
    with pytest.raises(InconsistentResultError, match=why) as told:
        replace(selection, **change).check()
    assert isinstance(told.value, ValueError)


@pytest.mark.parametrize(("change", "why"), [
    ({"objective": np.inf}, "finite"),
    ({"pick_bound": np.nan}, "finite"),
    ({"lower_bound": 1e6}, "lower bound"),
    ({"pick_bound": 1e6}, "bound of the pick"),
])  # fmt: skip
def test_a_certificate_that_contradicts_itself_says_how(change, why):
    """A bound above what it bounds proves nothing; the selection that has it is not consistent either."""
    selection = fitted("two").selection_
    with pytest.raises(InconsistentResultError, match=why):
        replace(selection, certificate=replace(selection.certificate, **change)).check()
