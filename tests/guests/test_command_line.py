"""Guests on the command line: an option names module:Name, and other commands import what --import names."""

import json
import os
import subprocess
import sys

import numpy as np
import pytest

import thresher
from tests.cli.test_commands import as_json, thresh
from tests.guests.sign_log import SignLog
from tests.guests.test_guest_loss import ModifiedHuber
from tests.guests.test_guest_measure import GeometricMean
from tests.rule import fgm_by_rule
from thresher.features import FittedFeatures
from thresher.state import values

RNG = np.random.default_rng(0)
X = RNG.standard_normal((150, 12))
Y = np.where(np.sign(X[:, 3]) + np.log1p(np.abs(X[:, 8])) - np.log1p(np.abs(X[:, 8])).mean() > 0.0, "yes", "no")
GUESTS = {
    "feature map": ("--feature-map", "tests.guests.sign_log:SignLog", {"feature_map": SignLog()}),
    "loss": ("--loss", "tests.guests.test_guest_loss:ModifiedHuber", {"loss": ModifiedHuber()}),
    "measure": ("--loss", "tests.guests.test_guest_measure:GeometricMean", {"loss": GeometricMean()}),
}
OWN = """
from dataclasses import dataclass
from tests.guests.sign_log import FittedSignLog, SignLog, SignLogDesign
from thresher.features import ExpandedFeatures, FeatureMap, Features, expanded_units, register
from thresher.losses import Loss, SquaredHinge

class FittedOwn(FittedSignLog):
    pass

@register
@dataclass(frozen=True)
class OwnMap(FeatureMap):
    depth: int = 1
    def on(self, base, samples, restrictions, *, scale, centre):
        design = SignLogDesign(base.design, size=2)
        return Features(design=design, fitted_type=FittedOwn, **expanded_units(base, design, restrictions))

@dataclass(frozen=True)
class NotRegistered(SquaredHinge):
    pass

@dataclass(frozen=True)
class WithParameter(SquaredHinge):
    other: float

deep = OwnMap(2)
number = 3
"""


@pytest.fixture
def folder(tmp_path):
    np.save(tmp_path / "train.npy", X)
    (tmp_path / "train.txt").write_text("\n".join(Y))
    (tmp_path / "own_maps.py").write_text(OWN)
    (tmp_path / "broken.py").write_text("import no_such_package\n")
    (tmp_path / "wrong.py").write_text("1 / 0\n")
    return tmp_path


DATA = ("train.npy", "--labels", "train.txt")


@pytest.mark.parametrize("guest", GUESTS)
def test_guests_go_through_select_predict_and_inspect(guest, folder):
    option, path, parameters = GUESTS[guest]
    scored = ("--test", "train.npy", "--test-labels", "train.txt")
    report = as_json("select", *DATA, "-k", 2, "--C", "rule", option, path, *scored, folder=folder)
    clf = fgm_by_rule(2, **parameters).fit(X, Y)
    loaded = thresher.load(folder / "model.json")
    np.testing.assert_array_equal(loaded.decision_function(X), clf.decision_function(X))
    assert report["accuracy"] == clf.score(X, Y)
    module = path.partition(":")[0]
    predicted = as_json("predict", "model.json", *DATA, "--import", module, folder=folder)
    assert predicted["accuracy"] == report["accuracy"]
    if guest == "measure":
        assert predicted["value"] == pytest.approx(GeometricMean().scorer()(clf, X, Y))
    shown = thresh("inspect", "model.json", "--import", module, folder=folder).stdout
    assert clf.describe(str).listing.names[0] in shown
    assert repr(*parameters.values()) in shown


@pytest.fixture
def forgets(monkeypatch):
    """Afterwards, or when called, nothing is known of the module of the folder: as in a new process."""

    def forget():
        sys.modules.pop("own_maps", None)
        values.VALUE_TYPES.pop("OwnMap", None)
        FittedFeatures.kinds.pop("own_maps.FittedOwn", None)

    monkeypatch.setattr(sys, "path", [*sys.path])
    yield forget
    forget()


def test_other_commands_need_import_and_a_file_imports_nothing(folder, forgets):
    """An instance by its name in a module of the current folder."""
    thresh("select", *DATA, "-k", 2, "--feature-map", "own_maps:deep", folder=folder)
    expected = as_json("predict", "model.json", *DATA, "--import", "own_maps", folder=folder)
    forgets()
    for command in (("predict", "model.json", *DATA), ("inspect", "model.json")):
        refused = thresh(*command, folder=folder, check=1).stderr
        assert "model.json: " in refused
        assert "unknown type 'OwnMap'; if it is a class of your own, import the module that defines it" in refused
        assert "(--import MODULE)" in refused
        assert "not a valid model file" not in refused
        assert "own_maps" not in sys.modules
    thresh("select", *DATA, "-k", 2, folder=folder)  # a model of unknown classes is a model, and may be replaced
    thresh("select", *DATA, "-k", 2, "--feature-map", "own_maps:deep", folder=folder)
    forgets()
    assert as_json("predict", "model.json", *DATA, "--import", "own_maps", folder=folder) == expected
    assert "OwnMap(depth=2)" in thresh("inspect", "model.json", "--import", "own_maps", folder=folder).stdout


WRONG = {
    "no module": (("--loss", "no_such_module:Loss"), "--loss: no module named 'no_such_module'"),
    "a file": (("--loss", "own_maps.py:deep"), "as an import statement has it"),
    "no name": (("--feature-map", "own_maps:OwnMop"), "own_maps has no 'OwnMop'; did you mean 'OwnMap'?"),
    "empty": (("--feature-map", "own_maps:"), "own_maps has no ''"),
    "another kind": (("--loss", "own_maps:deep"), "--loss own_maps:deep must be a Loss or Measure, or a class of them "
                     "that needs no arguments; got OwnMap(depth=2)"),
    "no value": (("--feature-map", "own_maps:number"), "must be a FeatureMap, or a class"),
    "another class": (("--feature-map", "builtins:SystemExit"), "got <class 'SystemExit'>"),
    "a module": (("--feature-map", "own_maps"), '"columns", "polynomial", "intersection"'),
    "arguments": (("--loss", "own_maps:WithParameter"), "WithParameter() failed: TypeError"),
    "abstract": (("--loss", "own_maps:Loss"), "Loss() failed: TypeError: Can't instantiate abstract class Loss"),
    "not registered": (("--loss", "own_maps:NotRegistered"), "thresher.features.register(NotRegistered)"),
    "a broken import": (("--loss", "broken:Loss"), "importing 'broken' failed: ModuleNotFoundError: No module named "
                        "'no_such_package'"),
    "an error": (("--loss", "wrong:Loss"), "importing 'wrong' failed: ZeroDivisionError: division by zero"),
}  # fmt: skip


@pytest.mark.parametrize("case", WRONG)
def test_what_is_wrong_is_said_before_anything_is_read(case, folder, forgets):
    options, message = WRONG[case]
    said = thresh("select", "no_such_file.npy", *options, folder=folder, check=2).stderr
    assert " ".join(message.split()) in said


def test_import_of_a_missing_module(folder):
    said = thresh("inspect", "model.json", "--import", "no_such_module", folder=folder, check=2).stderr
    assert "--import: no module named 'no_such_module'" in said


@pytest.mark.slow
def test_in_processes_of_their_own(folder):
    """As an installed command runs: the current folder is found although it is not on the path of the script."""
    script = [sys.executable, "-P", "-c", "import sys; from thresher.cli import main; sys.exit(main())"]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([os.path.abspath("src"), os.getcwd()])}

    def run(*words):
        done = subprocess.run(
            [*script, *words, "--json"], cwd=folder, capture_output=True, text=True, check=True, env=environment
        )
        return json.loads(done.stdout)

    run("select", *DATA, "-k", "2", "--feature-map", "own_maps:OwnMap")
    predicted = run("predict", "model.json", *DATA, "--import", "own_maps")
    assert predicted["accuracy"] > 0.9
    assert run("inspect", "model.json", "--import", "own_maps")["features"]
