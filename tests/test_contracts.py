"""The import contracts name every module they speak of: a new one cannot be forgotten."""

import pathlib
import tomllib

ROOT = pathlib.Path(__file__).parents[1]
SOURCE = ROOT / "src" / "thresher"
SEEN_BY_SOLVERS = {"blocks", "workers"}  # of data; blocks stand on workers
WITH_SCIKIT_LEARN = {"estimators", "report", "models", "testing", "cli"}


def contracts():
    """{name: contract} of pyproject.toml."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    return {each["name"]: each for each in settings["tool"]["importlinter"]["contracts"]}


def contract(words):
    """The one contract whose name has these words."""
    (found,) = [each for name, each in contracts().items() if words in name]
    return found


def modules_of(room):
    """Names of the modules and packages in a folder."""
    return {path.stem for path in (SOURCE / room).iterdir() if path.suffix == ".py" or (path / "__init__.py").exists()}


def last_names(modules):
    return {name.rpartition(".")[2] for name in modules}


def test_solvers_may_import_blocks_and_nothing_else_of_data():
    forbidden = last_names(contract("never storage or p")["forbidden_modules"])
    assert forbidden == modules_of("data") - {"__init__"} - SEEN_BY_SOLVERS


def test_every_room_of_data_has_a_layer():
    layers = contract("data: input and rows")
    named = {name for line in layers["layers"] for name in line.replace("|", " ").split()}
    assert named == modules_of("data") - {"__init__"}


def test_every_other_room_is_without_scikit_learn():
    rooms = last_names(contract("scikit-learn")["source_modules"])
    assert rooms == modules_of(".") - {"__init__", "__main__", "_garbage", "_version"} - WITH_SCIKIT_LEARN


def test_layers_have_no_exceptions():
    layers = contract("a room imports only from rooms below")
    assert layers["exhaustive"] is True
    assert not any("ignore_imports" in each for each in contracts().values())
