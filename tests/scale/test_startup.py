"""What starting costs: nothing is compiled or loaded before it is used, and no directory need be writable."""

import logging
import os
import subprocess
import sys
import textwrap

import pytest

from thresher.cli.show import Reporter

DATA = """
import numpy as np
from scipy import sparse
X = np.random.default_rng(0).standard_normal((100, 200))
y = X[:, 0] + 0.5 * np.random.default_rng(1).standard_normal(100) > 0
S = sparse.csr_array(X * (X > 1))
"""
COUNTED = """
import collections
from numba.core import event
with event.install_recorder("numba:compile") as compiled:
    {}
loops = collections.Counter()
for _, told in compiled.buffer:
    function = told.data["dispatcher"].py_func
    if told.is_start and str(function.__module__).startswith("thresher."):
        loops[function.__module__ + "." + function.__name__] += 1
print(loops.total(), *(name for name, count in loops.items() if count > 1))
"""
# first calls, and the largest number of loops, with their helpers, that each may compile
FIRST = {
    "FGM, C order": ("from thresher import FGMClassifier as C; C(5).fit(X, y)", 8),
    "FGM by rule, C order": ("from thresher import FGMClassifier as C; C(5, C=1, elimination=True).fit(X, y)", 4),
    "FGM by rule, CSR": ("from thresher import FGMClassifier as C; C(5, C=1, elimination=True).fit(S, y)", 10),
    "SparseSVC, C order": ("from thresher import SparseSVC as C; C().fit(X, y)", 3),
    "SparseSVC, CSR": ("from thresher import SparseSVC as C; C().fit(S, y)", 6),
    "alignments, C order": ("from thresher import alignments as f; f(X, y)", 8),
    "alignments, CSR": ("from thresher import alignments as f; f(S, y)", 10),
    "b-arda": ("from thresher import StreamClassifier as C; C(5).partial_fit(X, y, [False, True])", 16),
    "sofs, CSR": ("from thresher import StreamClassifier as C; C(5, 'sofs').partial_fit(S, y, [False, True])", 10),
}
# of each estimator one is enough for every day
SELDOM = {"FGM by rule, C order", "SparseSVC, CSR", "alignments, CSR", "b-arda"}


def child(code, cache=None):
    """What the code prints to standard output and standard error in a new process."""
    command = [sys.executable, "-c", textwrap.dedent(code)]
    environment = os.environ if cache is None else os.environ | {"NUMBA_CACHE_DIR": str(cache)}
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, env=environment)
    assert done.returncode == 0, done.stderr
    return done.stdout, done.stderr


def test_import_loads_nothing_and_compiles_nothing():
    out, _ = child("""
        import sys
        import thresher
        assert not {"numba", "pyarrow", "sklearn"} & set(sys.modules)
        from numba.core import event
        with event.install_recorder("numba:compile") as compiled:
            for name in thresher.__all__:
                getattr(thresher, name)
            import thresher.cli.options.commands
            from thresher.cli.commands import grid, select, stream
            import thresher.loops.text
        assert not compiled.buffer
        from thresher.loops import averaging, compressed, dense, descent, moments, slots, text
        modules = (averaging, compressed, dense, descent, moments, slots, text)
        loops = [f for m in modules for f in vars(m).values() if hasattr(f, "signatures")]
        assert len(loops) >= 48
        assert not any(f.signatures for f in loops)
        print("fine")
    """)
    assert out == "fine\n"


def test_import_loads_only_what_is_needed():
    out, _ = child("""
        import sys
        from thresher import FGMClassifier
        heavy = {"dask", "cupy", "matplotlib", "clarabel", "cvxpy", "polars", "sklearn.feature_selection"}
        assert not heavy & set(sys.modules), heavy & set(sys.modules)
        print("fine")
    """)
    assert out == "fine\n"


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.slow) if name in SELDOM else name for name in FIRST]
)
def test_a_first_call_compiles_few_loops_each_once_and_says_so(name, tmp_path):
    call, most = FIRST[name]
    out, err = child(DATA + COUNTED.format(call), tmp_path)
    count, *repeated = out.split()
    assert 0 < int(count) <= most
    assert not repeated
    assert err.count("compiling loops") == len(err.splitlines()) == 1
    if name == "SparseSVC, C order":  # and what is in the cache is not announced
        assert child(DATA + COUNTED.format(call), tmp_path) == ("0\n", "")


@pytest.mark.parametrize("switch", ["enable", "disable", "freeze"])
def test_garbage_is_collected_afterwards_as_it_was_before(switch):
    code = f"""
import gc
gc.{switch}()
before = gc.isenabled(), gc.get_freeze_count() > 0
from thresher import FGMClassifier
FGMClassifier(5).fit(X, y)
print(before == (gc.isenabled(), gc.get_freeze_count() > 0))
"""
    assert child(DATA + code)[0] == "True\n"


def test_what_was_made_meanwhile_is_not_looked_through_afterwards():
    """In a process of its own: elsewhere another test may have frozen objects, which then stay frozen."""
    out, _ = child("""
        import gc
        from thresher._garbage import uncollected
        with uncollected():
            paused = not gc.isenabled()
            made = [[] for _ in range(10000)]
        old = {id(thing) for thing in gc.get_objects(generation=2)}
        print(paused, gc.isenabled(), all(id(each) in old for each in made))
    """)
    assert out == "True True True\n"


def test_commands_announce_it_unless_quiet(tmp_path):
    (tmp_path / "train.csv").write_text("label,a,b\n" + "0,1,2\n1,2,1\n" * 10)
    arguments = ["select", str(tmp_path / "train.csv"), "-k", "1", "--out", str(tmp_path / "model.json")]
    command = "from thresher.cli.start import main; assert main({}) == 0"
    _, err = child(command.format([*arguments, "--json"]), tmp_path)
    assert err.count("compiling loops") == 1
    logger, before = logging.getLogger("thresher"), logging.getLogger("thresher").level
    try:
        Reporter(quiet=True, as_json=False)
        assert not logger.isEnabledFor(logging.WARNING)
        Reporter(quiet=False, as_json=True)
        assert logger.isEnabledFor(logging.WARNING)
    finally:
        logger.setLevel(before)


def test_works_where_no_cache_can_be_written():
    out, _ = child("""
        import warnings
        import numba.core.caching as caching
        caching.CacheImpl._locator_classes = []  # as in a read-only container without a home directory
        import numpy as np
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            from thresher import FGMClassifier
            X = np.random.default_rng(0).standard_normal((50, 20))
            clf = FGMClassifier(3).fit(X, X[:, 0] > 0)
        told = [w for w in told if w.category.__name__ == "CompilationCacheWarning"]
        assert len(told) == 1, "said once"
        assert "thresher warmup --cache DIR" in str(told[0].message)
        assert "NUMBA_CACHE_DIR=DIR" in str(told[0].message)
        print(clf.selection_.features.size)
    """)
    assert out == "3\n"


def test_commands_say_in_one_line_that_no_cache_can_be_written(tmp_path):
    (tmp_path / "train.csv").write_text("label,a,b\n" + "0,1,2\n1,2,1\n" * 10)
    arguments = ["select", str(tmp_path / "train.csv"), "-k", "1", "--out", str(tmp_path / "model.json"), "--json"]
    _, err = child(f"""
        import numba.core.caching as caching
        caching.CacheImpl._locator_classes = []
        from thresher.cli.start import main
        assert main({arguments}) == 0
    """)
    (line,) = err.splitlines()
    assert line.startswith("thresher: warning: no folder for compiled loops can be written")
    assert line.endswith("set the environment variable NUMBA_CACHE_DIR=DIR")


@pytest.mark.slow
def test_warmup_compiles_what_first_calls_need(tmp_path):
    folder = tmp_path / "a folder"
    out, err = child(f"""
        from thresher.cli.start import main
        assert main(["warmup", "--cache", {str(folder)!r}]) == 0
    """)
    assert not err
    assert out.splitlines()[-1] == f"export NUMBA_CACHE_DIR='{folder}'"
    _, err = child(
        """
        import numpy as np
        from thresher import FGMClassifier
        X = np.random.default_rng(0).standard_normal((50, 20))
        FGMClassifier(3).fit(X, X[:, 0] + X[:, 1] > 0).predict(X)
        """,
        folder,
    )
    assert not err  # "compiling loops" otherwise
