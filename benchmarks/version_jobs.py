"""Jobs whose time two versions of thresher are compared by: ``python -m benchmarks.version_jobs NAME`` prints seconds.

They use the public face alone, but for the scan; names that were other ones in earlier versions are looked up. Data
comes from the data folder where it is there, else it is made here.
"""

import importlib
import pathlib
import statistics
import sys
import time
import warnings

import numpy as np
from scipy import sparse

from thresher import AlignmentPathClassifier, FGMClassifier, MILESClassifier, SparseSVCPath, StreamClassifier
from thresher.data.workers import Workers, granted_cores
from thresher.datasets import make_wide

RULE = {"C": 1.0} | ({"elimination": True} if "elimination" in FGMClassifier().get_params() else {})
SETS = pathlib.Path(__file__).parents[2] / "shared" / "data"


def set_of(name, shape, density):
    """(X, y) of a set, or a made one of about its shape."""
    folder = SETS / name
    if (folder / "X.npz").exists():
        return sparse.csr_array(sparse.load_npz(folder / "X.npz")), np.load(folder / "y.npy")
    if (folder / "data.npz").exists():
        with np.load(folder / "data.npz") as arrays:
            return arrays["X"].astype(np.float64), arrays["y"]
    X = sparse.random(*shape, density=density, format="csr", random_state=0, dtype=np.float32)
    return X, np.where(np.asarray(X[:, :50].sum(axis=1)).ravel() > 0, 1, -1)


def first_of(name, *modules):
    """What ``name`` is in the first of these modules that this version has."""
    for module in modules:
        try:
            return getattr(importlib.import_module(f"thresher.data.{module}"), name)
        except ModuleNotFoundError:
            continue
    raise ImportError(f"{name} is in none of {modules}")


as_design = first_of("as_design", "input.validation", "door")
Correlation = first_of("Correlation", "scan.scores", "scores")
TopK = first_of("TopK", "scan.reducers", "reducers")


def scan(make, vectors, repeats):
    """A function that scans ``make(workers)`` with so many vectors."""
    design = make(Workers(granted_cores()))
    V = np.random.default_rng(0).standard_normal((design.shape[0], vectors))

    def run():
        for _ in range(repeats):
            design.scan(Correlation(V), TopK(100))

    return run


def dense(workers):
    return as_design(np.random.default_rng(0).standard_normal((2048, 16384), dtype=np.float32), workers)


def stored(order):
    X, _ = set_of("news20_bigram", (18_821, 1_283_064), 3e-4)
    return lambda workers: as_design(X.tocsc() if order == "csc" else X, workers)


def fit(clf, X, y):
    return lambda: clf.fit(X, y)


def grid():
    X, y = set_of("rcv1_subsets", (23_727, 47_236), 1.6e-3)
    path = SparseSVCPath(10, 20, scale=None, fit_intercept=False, tol=1e-6)
    return fit(path, X, y)


def stream():
    X, y = set_of("farm_ads", (4_143, 54_877), 3.6e-3)
    X = X.astype(np.float32)

    def run():
        clf = StreamClassifier(100, fit_intercept=False)
        for _ in range(3):
            clf.partial_fit(X, y, classes=np.unique(y))

    return run


def gaussian():
    data = make_wide(2048, 8192, n_relevant=100, dtype=np.float32, random_state=0)
    return fit(FGMClassifier(100, **RULE, scale="std"), data.X, data.y)


def products():
    data = make_wide(500, 2000, n_relevant=20, random_state=0)
    name = "feature_map" if "feature_map" in FGMClassifier().get_params() else "features"
    return fit(FGMClassifier(20, **RULE, **{name: "polynomial"}), data.X, data.y)


def groups():
    data = make_wide(1000, 20_000, n_relevant=100, random_state=0)
    return fit(FGMClassifier(20, **RULE, groups=np.arange(20_000) // 10), data.X, data.y)


def kernels():
    data = make_wide(500, 5000, n_relevant=20, random_state=0)
    name = "feature_map" if "feature_map" in FGMClassifier().get_params() else "features"
    return fit(FGMClassifier(20, **RULE, **{name: "additive_gaussian"}), data.X, data.y)


def f1():
    X, y = set_of("news20_bigram", (18_821, 1_283_064), 3e-4)
    return fit(FGMClassifier(50, **RULE | {"C": None}, loss="f1"), X, y)


def bags():
    rng = np.random.default_rng(0)
    X, bags = rng.standard_normal((3000, 200)), np.repeat(np.arange(300), 10)
    y = np.arange(300) % 2
    X[::10] += 2.0 * y[:, None]
    clf = MILESClassifier(20, **RULE)
    return lambda: clf.fit(X, y[bags], bags=bags)


def alignment():
    data = make_wide(200, 500, n_relevant=10, random_state=0)
    return fit(AlignmentPathClassifier(cv=3), data.X, data.y)


def chosen():
    data = make_wide(500, 5000, n_relevant=20, random_state=0)
    return fit(FGMClassifier(20, **RULE | {"C": "auto"}), data.X, data.y)


JOBS = {
    "scan, dense C float32, 1 vector": lambda: scan(dense, 1, 20),
    "scan, dense C float32, 16 vectors": lambda: scan(dense, 16, 4),
    "scan, CSC, 1 vector": lambda: scan(stored("csc"), 1, 20),
    "scan, CSR, 4 vectors": lambda: scan(stored("csr"), 4, 5),
    "FGM, 100 of 8,192 Gaussian columns": gaussian,
    "FGM, 20 of 7,129 genes (leukemia)": lambda: fit(
        FGMClassifier(20, **RULE, scale="std"), *set_of("leukemia", (72, 7129), 1.0)
    ),
    "FGM, 100 of 1,283,064 columns (news20_bigram)": lambda: fit(
        FGMClassifier(100, **RULE, scale=None), *set_of("news20_bigram", (18_821, 1_283_064), 3e-4)
    ),
    "FGM, 20 groups of ten, of 20,000 columns": groups,
    "FGM, 20 products of 2,000 columns": products,
    "FGM, 20 of 5,000 inputs of a Gaussian kernel": kernels,
    "FGM, 20 of 5,000 columns, C chosen": chosen,
    "FGM, 50 columns for F1 (news20_bigram)": f1,
    "MILES, 20 of 3,000 instances": bags,
    "alignment path, 500 columns, three folds": alignment,
    "sparse SVM, 200 points (rcv1_subsets)": grid,
    "stream, B-ARDA, 3 passes (farm_ads)": stream,
}


def main():
    warnings.simplefilter("ignore")
    run, seconds = JOBS[sys.argv[1]](), []
    run()  # compiles, and touches the pages
    for _ in range(int(sys.argv[2])):
        start = time.perf_counter()
        run()
        seconds.append(time.perf_counter() - start)
    print(statistics.median(seconds))


if __name__ == "__main__":
    main()
