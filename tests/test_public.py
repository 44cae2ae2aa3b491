"""What ``import thresher`` offers: every name that a user can meet in a result, an error or a warning."""

import ast
import inspect
import pathlib
import pickle
import subprocess
import sys

import pytest

import thresher
from thresher import errors, results

N_JOBS = """
    n_jobs : int, default=None
        Number of threads. None: as many as are worthwhile (in scikit-learn: one), at most all cores available to the
        process; -1: all of these, -2: all but one. The result does not depend on it.
"""


@pytest.mark.parametrize("name", thresher.__all__)
def test_every_public_name_is_there(name):
    value = getattr(thresher, name)
    assert value is not None
    assert name in dir(thresher)
    if inspect.isclass(value):
        assert value.__name__ == name
        assert pickle.loads(pickle.dumps(value)) is value


def test_names_are_sorted_and_each_is_there_once():
    assert list(thresher.__all__) == sorted(set(thresher.__all__))


def test_errors_warnings_and_results_are_exported():
    raised = {name for name, value in vars(errors).items() if inspect.isclass(value) and issubclass(value, Exception)}
    returned = {name for name in results.__all__ if inspect.isclass(getattr(results, name))}
    assert len(raised) >= 5
    assert len(returned) >= 10
    assert raised | returned <= set(thresher.__all__)
    assert all(getattr(thresher, name) is getattr(errors, name) for name in raised)
    assert all(getattr(thresher, name) is getattr(results, name) for name in returned)


def test_type_checkers_are_told_of_every_name():
    """Names that are loaded lazily are imported for type checkers from the same modules; the marker is there."""
    file = pathlib.Path(thresher.__file__)
    (told,) = [node for node in ast.parse(file.read_text(encoding="utf-8")).body if isinstance(node, ast.If)]
    assert {name.name: line.module for line in told.body for name in line.names} == thresher._MODULES
    assert (file.parent / "py.typed").exists()


def test_unknown_names_are_attribute_errors():
    with pytest.raises(AttributeError, match="module 'thresher' has no attribute 'FGM'"):
        thresher.FGM  # noqa: B018


def test_errors_can_be_caught_before_anything_is_loaded():
    """``except thresher.InvalidDataError`` in a program costs neither scikit-learn nor Numba."""
    code = "import sys, thresher; thresher.InvalidDataError; print({'sklearn', 'numba', 'scipy'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout == "set()\n"


def test_n_jobs_is_described_in_the_same_words_everywhere():
    """None means the same in every estimator."""
    with_threads = [
        value
        for value in (getattr(thresher, name) for name in thresher.__all__)
        if hasattr(value, "get_params") and "n_jobs" in value().get_params()
    ]
    assert len(with_threads) >= 3
    for estimator in with_threads:
        assert N_JOBS in estimator.__doc__, estimator
        assert estimator().n_jobs is None


def test_packages_are_there_after_import_thresher_alone():
    code = "import thresher; thresher.io.read; thresher.datasets.make_wide"
    subprocess.run([sys.executable, "-c", code], check=True)
