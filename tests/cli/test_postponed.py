"""Modules that commands load only when they use them."""

import subprocess
import sys

from sklearn.datasets import load_iris

import thresher
from tests.rule import fgm_by_rule

CODE = """
import sys
from thresher.cli.postponed import postpone
postpone(("colorsys", "json.tool", "no_such_module"))
import colorsys, json.tool
assert "no_such_module" not in sys.modules
assert "rgb_to_hsv" not in vars(colorsys) and "main" not in vars(json.tool)
assert colorsys.rgb_to_hsv(0, 0, 0) == (0.0, 0.0, 0)
assert sys.modules["colorsys"] is colorsys and type(colorsys) is type(sys) and "rgb_to_hsv" in vars(colorsys)
from json.tool import main
assert callable(main)
try:
    colorsys.missing
except AttributeError as error:
    assert "colorsys" in str(error)
else:
    raise AssertionError
"""
UNLOADED = """
import sys
from thresher.cli import app
app.later("inspect", model=sys.argv[1], features=None, point=None, top=None, names_only=False, json=False, imports=None)
import pandas, scipy.stats
assert "DataFrame" not in vars(pandas) and "norm" not in vars(scipy.stats)
assert pandas.DataFrame({"a": [1]}).shape == (1, 1) and scipy.stats.norm.cdf(0) == 0.5
"""


def test_a_module_is_loaded_when_it_is_first_used():
    subprocess.run([sys.executable, "-c", CODE], check=True)


def test_inspect_loads_neither_pandas_nor_scipy_stats(tmp_path):
    path = tmp_path / "model.json"
    thresher.save(fgm_by_rule(2).fit(*load_iris(return_X_y=True)), path)
    done = subprocess.run([sys.executable, "-c", UNLOADED, path], check=True, capture_output=True, text=True)
    assert "2 of 4 features" in done.stdout
