"""What starting costs: import, and a first small fit with an empty and with a warm cache of compiled loops."""

import os
import statistics
import subprocess
import sys
import tempfile

from benchmarks import alone
from benchmarks.book import table

BASE = "import time; t = time.perf_counter(); import numba, sklearn.base; base = time.perf_counter() - t\n"
OURS = BASE + "t = time.perf_counter(); {}; print(base, time.perf_counter() - t)"
FIT = (
    "import numpy as np, time; from thresher import FGMClassifier\n"
    "X = np.random.default_rng(0).standard_normal((100, 200)); y = X[:, 0] > 0\n"
    "t = time.perf_counter(); FGMClassifier(5).fit({}, y); print(0, time.perf_counter() - t)"
)
USES = ("thresher.estimators.fgm",)  # what the children import
SPARSE = "__import__('scipy').sparse.csr_array(X * (X > 1))"


def child(code, cache):
    """(first, second) numbers that the code prints in a new process."""
    environment = {**os.environ, "NUMBA_CACHE_DIR": cache}
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=environment)
    return [float(number) for number in out.stdout.split()]


def report(quick=False):
    """The table."""
    repeats = 1 if quick else 5
    with tempfile.TemporaryDirectory() as cache:
        child(FIT.format("X"), cache)
        child(FIT.format(SPARSE), cache)
        imports = {
            "import thresher": [child(OURS.format("import thresher"), cache) for _ in range(repeats)],
            "from thresher import FGMClassifier": [
                child(OURS.format("from thresher import FGMClassifier"), cache) for _ in range(repeats)
            ],
        }
        warm = {kind: [child(FIT.format(X), cache)[1] for _ in range(repeats)] for kind, X in KINDS.items()}
    cold = {}
    for kind, X in KINDS.items():
        cold[kind] = []
        for _ in range(1 if quick else 3):
            with tempfile.TemporaryDirectory() as cache:
                cold[kind].append(child(FIT.format(X), cache)[1])
    rows = [(name, f"{statistics.median(t for _, t in times):.3f}") for name, times in imports.items()]
    base = statistics.median(t for times in imports.values() for t, _ in times)
    rows.insert(0, ("import numba, sklearn.base (the yardstick)", f"{base:.3f}"))
    for kind in KINDS:
        rows.append((f"first fit of 100 x 200, {kind}, empty cache", f"{statistics.median(cold[kind]):.2f}"))
        rows.append((f"first fit of 100 x 200, {kind}, warm cache", f"{statistics.median(warm[kind]):.3f}"))
    return "## Starting\n\nIn new processes, beyond what stands above each line.\n\n" + table(("what", "seconds"), rows)


KINDS = {"dense": "X", "CSR": SPARSE}

if __name__ == "__main__":
    alone.run(report, __doc__)
