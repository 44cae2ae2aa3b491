"""What starting costs, from the prompt: first calls and whole processes, with an empty and a warm cache of loops.

scikit-learn imports pandas where it is installed: THRESHER_PYTHON may name the Python of an environment with thresher
and what it depends on alone, as a new user has it. The bytecode of thresher is there, as pip leaves it: without, where
Python may write none (PYTHONDONTWRITEBYTECODE), every process would compile our modules.
"""

import functools
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time
from typing import NamedTuple

import numpy as np
from scipy import sparse
from sklearn.datasets import dump_svmlight_file

from benchmarks import alone
from benchmarks.book import table
from thresher.families.online.learner import METHODS

PYTHON = os.environ.get("THRESHER_PYTHON", sys.executable)
SHAPE = (100, 200)
DATA = f"""
import numpy as np
from scipy import sparse
X = np.random.default_rng(0).standard_normal({SHAPE}); y = X[:, 0] > 0
S = sparse.csr_array(X * (X > 1))
"""
FGM, SVC = "from thresher import FGMClassifier; FGMClassifier(5)", "from thresher import SparseSVC; SparseSVC()"
STREAM = "from thresher import StreamClassifier; StreamClassifier(5, {!r}).partial_fit({}, y, [False, True])"
SAY_WHEN = "\nimport time; print(time.perf_counter())"  # the clock that the parent has, too
STORAGES = {
    "C, float64": "X",
    "C, float32": "X.astype(np.float32)",
    "Fortran, float64": "np.asfortranarray(X)",
    "Fortran, float32": "np.asfortranarray(X, dtype=np.float32)",
    "CSR": "S",
    "CSC": "S.tocsc()",
    "DataFrame": "__import__('pandas').DataFrame(X).add_prefix('a')",
}
# what is given to python, and the most seconds that it may take: with an empty cache, with a warm one
FITS = (
    {f"FGMClassifier, {name}": (f"{FGM}.fit({X}, y)", 3.0) for name, X in STORAGES.items()}
    | {f"SparseSVC, {name}": (f"{SVC}.fit({STORAGES[name]}, y)", 3.0) for name in ("C, float64", "CSR", "CSC")}
    | {
        f"StreamClassifier, {method}, {name}": (STREAM.format(method, STORAGES[name]), 4.0)
        for method in METHODS
        for name in ("C, float64", "CSR")
    }
)
USES = (
    "thresher.cli.app",
    "thresher.estimators.fgm.classifier",
    "thresher.estimators.sparse_svm.svc",
    "thresher.estimators.stream.classifier",
)  # what the children import
SELECTS = {
    "thresher select, csv": ("train.csv",),
    "thresher select, svmlight": ("train.svm",),
    "thresher select, npz": ("train.npz", "--labels", "labels.npy"),
}


class Seconds(NamedTuple):
    """From the prompt until a call returns, and until the process has ended; a command is a whole process."""

    call: float
    process: float


def seconds(arguments, cache, folder):
    """The Seconds of a Python process with these arguments, imports and the interpreter's start counted."""
    environment = os.environ | {"NUMBA_CACHE_DIR": os.fspath(cache)}
    begun = time.perf_counter()
    child = subprocess.run([PYTHON, *arguments], capture_output=True, check=True, env=environment, cwd=folder)
    whole = time.perf_counter() - begun
    return Seconds(float(child.stdout.split()[-1]) - begun if arguments[-1].endswith(SAY_WHEN) else whole, whole)


def write_bytecode():
    """Compile the modules of thresher to bytecode, as pip does."""
    where = "import compileall, importlib.util as u; compileall.compile_dir(*u.find_spec('thresher').{}, quiet=1)"
    subprocess.run([PYTHON, "-c", where.format("submodule_search_locations")], check=True)


def write_files(folder):
    """Small training data in three formats."""
    X = np.random.default_rng(0).standard_normal(SHAPE)
    y, rare = (X[:, 0] > 0).astype(int), sparse.csr_array(X * (X > 1))
    names = ",".join(f"a{j}" for j in range(X.shape[1]))
    lines = np.column_stack([y, X])
    np.savetxt(folder / "train.csv", lines, "%.6g", ",", header=f"label,{names}", comments="")
    dump_svmlight_file(rare, y, os.fspath(folder / "train.svm"), zero_based=False)
    sparse.save_npz(folder / "train.npz", rare)
    np.save(folder / "labels.npy", y)


@functools.cache
def has_pandas():
    """Whether pandas is installed where the processes run."""
    return subprocess.run([PYTHON, "-c", "import pandas"], capture_output=True, check=False).returncode == 0


def jobs():
    """{what: (arguments of python, limit with an empty cache, limit with a warm one)}; None is no limit."""
    command, found = ("-m", "thresher"), {}
    for name, (code, limit) in FITS.items():
        if "pandas" in code and not has_pandas():
            continue
        found[name] = (("-c", DATA + code + SAY_WHEN), limit, None)
    for name, files in SELECTS.items():
        found[name] = ((*command, "select", *files, "-k", "5", "--out", "model.json"), 6.0, None)
    found["thresher --help"] = ((*command, "--help"), None, 0.3)
    found["thresher inspect"] = ((*command, "inspect", "model.json"), None, 1.0)  # of what was selected last
    found["import numba, sklearn.base (the yardstick)"] = (("-c", "import numba, sklearn.base"), None, None)
    found["import thresher"] = (("-c", "import thresher"), None, None)
    return found


def measured(repeats):
    """{what: (Seconds with an empty cache or None, with a warm one)}, medians; the jobs take turns."""
    empty, warm = {}, {}
    write_bytecode()
    with tempfile.TemporaryDirectory() as made:
        folder = pathlib.Path(made)
        write_files(folder)
        for _ in range(repeats):
            for name, (arguments, limit, _) in jobs().items():
                with tempfile.TemporaryDirectory() as cache:
                    if limit is not None:
                        empty.setdefault(name, []).append(seconds(arguments, cache, folder))
                    else:
                        seconds(arguments, cache, folder)
                    warm.setdefault(name, []).append(seconds(arguments, cache, folder))
    return {name: (median(empty[name]) if name in empty else None, median(times)) for name, times in warm.items()}


def median(times):
    """The Seconds that are medians of those of ``times``."""
    return Seconds(*map(statistics.median, zip(*times, strict=True)))


def report(quick=False):
    """The table."""
    rows = []
    for name, (empty, warm) in measured(1 if quick else 3).items():
        _, most_empty, most_warm = jobs()[name]
        whole = "" if empty is None else f"{empty.process:.2f}"
        rows.append((name, beside(empty, most_empty), beside(warm, most_warm), whole))
    return (
        f"## Starting\n\nNew processes with {SHAPE[0]} x {SHAPE[1]} numbers, in seconds from the prompt: the "
        "interpreter's start, all imports and the first call, until it returns; commands are whole processes. In "
        "parentheses the limit. Cache: of compiled loops. The last column counts leaving Python, too, which frees "
        "what the compiler has made. "
        f"pandas, which scikit-learn imports too, is {'' if has_pandas() else 'not '}installed.\n\n"
        + table(("what", "empty cache", "warm cache", "empty cache, to the end"), rows)
    )


def beside(value, limit):
    """The seconds of a call with its limit; marked if they are above."""
    if value is None:
        return ""
    return f"{value.call:.2f}" + ("" if limit is None else f" ({limit:g}{', exceeded' if value.call > limit else ''})")


if __name__ == "__main__":
    alone.run(report, __doc__)
