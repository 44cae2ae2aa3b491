"""Some fits over all estimators and storages, every parameter named: what they give may not change by accident.

``python -m tests.golden`` compares with the record bit for bit on the machine that made it; ``--record`` makes it anew.
The test compares to rounding, since another processor sums in another order.
"""

import tempfile

import numpy as np
from scipy import sparse

from tests.problems import many_classes, problem
from thresher import FGMClassifier, SparseSVC, SparseSVCPath, StreamClassifier
from thresher.data.input import validation as door

FGM = {
    "C": 1.0, "cv": 3, "support": "shared", "overshoot": "auto", "loss": "squared_hinge", "features_per_turn": "auto",
    "tol": 1e-3, "inner_tol": "auto", "max_iter": 100, "max_time": None, "scale": "auto", "fit_intercept": True,
    "always_include": None, "exclude": None, "debias": False, "class_weight": None, "warm_start": False, "n_jobs": 2,
    "verbose": 0,
}  # fmt: skip
SVC = {
    "alpha": 1e-2, "beta": 0.05, "smoothing": 0.5, "scale": None, "fit_intercept": False, "screening": "auto",
    "tol": 1e-6, "class_weight": None, "n_jobs": 1,
}  # fmt: skip
GRID = {
    "n_betas": 3, "n_alphas": 4, "betas": None, "alphas": None, "beta_ratio": 0.05, "alpha_ratio": 0.01,
    "smoothing": 0.5, "scale": None, "fit_intercept": False, "screening": "auto", "tol": 1e-6, "cv": None,
    "scoring": "accuracy", "class_weight": None, "max_time": None, "n_jobs": 1, "verbose": 0,
}  # fmt: skip
STREAM = {
    "budget": 8, "method": "b-arda", "loss": None, "step_size": None, "l2": None, "l1": None, "gamma": None,
    "delta": 0.01, "fit_intercept": True, "open_ended": False, "hash_bits": None, "class_weight": None,
    "random_state": 0, "verbose": 0,
}  # fmt: skip


def sparse_problem(n=120, p=400, seed=5):
    """(X, y): a tenth of the entries, five columns that matter, small integers."""
    rng = np.random.default_rng(seed)
    X = rng.integers(1, 9, (n, p)) * (rng.random((n, p)) < 0.1) * 0.25
    y = np.where(X[:, :5].sum(axis=1) + 0.3 * rng.standard_normal(n) > 0.6, 1, -1)
    return X, y


def fgm(n_features, data, store=np.asarray, **changed):
    """A fit of FGMClassifier, its choices and its path."""
    X, y, *weights = data
    clf = FGMClassifier(n_features, **FGM | changed).fit(store(X), y, *weights)
    chosen = {"Cs": clf.scores_.tolist()} if hasattr(clf, "scores_") else {}
    path = [
        [station.phase, int(station.number), station.features.tolist(), float(station.objective), float(station.bound)]
        for station in clf.path_
    ]
    return selected(clf.selection_) | chosen | {"path": path, "passes": clf.selection_.trace.passes}


def fgm_again(first, second, data, **changed):
    """A warm start."""
    X, y = data
    clf = FGMClassifier(first, **FGM | {"warm_start": True} | changed).fit(X, y)
    return selected(clf.set_params(n_features_to_select=second).fit(X, y).selection_)


def svc(data, store=np.asarray, **changed):
    """A fit of SparseSVC."""
    X, y, *weights = data
    clf = SparseSVC(**SVC | changed).fit(store(X), y, *weights)
    removed = {"removed": [clf.features_removed_, clf.samples_removed_]}
    return selected(clf.selection_) | removed | {"passes": clf.selection_.trace.passes}


def grid(data, store=np.asarray, **changed):
    """A fit of SparseSVCPath."""
    X, y = data
    path = SparseSVCPath(**GRID | changed).fit(store(X), y)
    own = path.path_
    points = {"alphas": own.alphas.tolist(), "objectives": own.objective.tolist(), "ids": own.ids.tolist(),
              "weights": own.weights.tolist(), "removed": own.features_removed.tolist()}  # fmt: skip
    chosen = {"scores": path.scores_.tolist()} if hasattr(path, "scores_") else {}
    return selected(path.selection_) | points | chosen | {"passes": path.selection_.trace.passes}


def stream(data, store=np.asarray, **changed):
    """Batches of a StreamClassifier."""
    X, y = data
    X, clf = store(X), StreamClassifier(**STREAM | changed)
    for first in range(0, X.shape[0], 50):
        clf.partial_fit(X[first : first + 50], y[first : first + 50], classes=np.unique(y))
    progress = [float(clf.progressive_loss_), float(clf.progressive_accuracy_)]
    return selected(clf.selection_) | {"progress": progress}


def by_rows(fit):
    """The same without a copy by columns."""
    before, door.REORDER_LIMIT = door.REORDER_LIMIT, 0
    try:
        return fit()
    finally:
        door.REORDER_LIMIT = before


def selected(selection):
    """Features, weights and certificate."""
    own = selection.certificate
    names = ("objective", "lower_bound", "pick_objective", "pick_bound", "at_zero")
    return {
        "features": selection.features.tolist(),
        "weights": selection.weights.tolist(),
        "intercept": np.asarray(selection.intercept).tolist(),
        "certificate": None if own is None else [float(getattr(own, name)) for name in names],
        "scale": selection.scale,
        "budget": int(selection.budget),
    }


def _data():
    X, y, _ = problem(60, 200, seed=1)
    tall = problem(300, 40, seed=2)[:2]
    weighted = (X, y, np.random.default_rng(3).integers(0, 4, 60).astype(float))
    several = many_classes(90, 60, 3, seed=4)[:2]
    return (X, y), tall, weighted, several, sparse_problem()


WIDE, TALL, WEIGHTED, SEVERAL, SPARSE = _data()


def _float32(X):
    return np.asarray(X, dtype=np.float32)


def _fortran32(X):
    return np.asfortranarray(X, dtype=np.float32)


def _mapped(X):
    """As a read-only map of a file."""
    with tempfile.TemporaryDirectory() as folder:
        np.save(f"{folder}/X.npy", X)
        return np.load(f"{folder}/X.npy", mmap_mode="r")


def _large(n=700, p=1500, seed=6):
    """(X, y): more entries than one thread is given."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, p), dtype=np.float32)
    return X, np.where(X[:, :8].sum(axis=1) + rng.standard_normal(n) > 0, 1, -1)


def _csr(X):
    """CSR, a third of the entries."""
    return sparse.csr_array(np.where(np.abs(X) > 1.0, X, 0.0))


def _very_wide(X):
    S = sparse.csr_array(X)
    return sparse.csr_array((S.data, S.indices.astype(np.int64) * 10**7, S.indptr), shape=(S.shape[0], 4 * 10**9))


FITS = {
    "fgm dense": lambda: fgm(5, WIDE),
    "fgm dense fortran": lambda: fgm(5, WIDE, np.asfortranarray),
    "fgm float32": lambda: fgm(5, WIDE, _float32),
    "fgm float32 fortran": lambda: fgm(5, WIDE, _fortran32),
    "fgm tall": lambda: fgm(10, TALL),
    "fgm csr": lambda: fgm(12, SPARSE, sparse.csr_array),
    "fgm csc": lambda: fgm(12, SPARSE, sparse.csc_array),
    "fgm csr std": lambda: fgm(12, SPARSE, sparse.csr_array, scale="std"),
    "fgm csc max": lambda: fgm(12, SPARSE, sparse.csc_array, scale="max", fit_intercept=False),
    "fgm very wide": lambda: fgm(6, SPARSE, _very_wide),
    "fgm growth alone": lambda: fgm(20, WIDE, overshoot=None),
    "fgm growth debiased": lambda: fgm(20, WIDE, overshoot=None, debias=True, features_per_turn=4),
    "fgm until tol": lambda: fgm(None, WIDE, tol=1e-2),
    "fgm until tol, growth alone": lambda: fgm(None, TALL, tol=1e-2, overshoot=None),
    "fgm logistic": lambda: fgm(5, WIDE, loss="logistic"),
    "fgm logistic tall": lambda: fgm(8, TALL, loss="logistic", C=0.5, overshoot=2.0),
    "fgm weights": lambda: fgm(5, WEIGHTED, class_weight="balanced"),
    "fgm always": lambda: fgm(6, WIDE, always_include=[100, 150], scale="unit"),
    "fgm overshoot": lambda: fgm(7, WIDE, overshoot=3.0, scale=None),
    "fgm classes shared": lambda: fgm(6, SEVERAL),
    "fgm classes shared logistic": lambda: fgm(6, SEVERAL, loss="logistic", overshoot=None),
    "fgm classes apart": lambda: fgm(4, SEVERAL, support="per_class"),
    "fgm classes always": lambda: fgm(5, SEVERAL, always_include=[50], overshoot=2.0),
    "fgm C auto": lambda: fgm(5, WIDE, C="auto"),
    "fgm C auto classes": lambda: fgm(4, SEVERAL, C="auto", support="per_class", overshoot=None),
    "fgm warm": lambda: fgm_again(4, 8, WIDE),
    "fgm map": lambda: fgm(5, WIDE, _mapped),
    "fgm threads": lambda: fgm(6, _large(), overshoot=2.0),
    "fgm threads fortran": lambda: fgm(6, _large(), np.asfortranarray, overshoot=None),
    "fgm threads csr": lambda: fgm(6, _large(), _csr, overshoot=None, n_jobs=3),
    "fgm threads csr, growing by rows": lambda: by_rows(lambda: fgm(6, _large(), _csr, overshoot=None)),
    "svc threads": lambda: svc(_large(), beta=0.05, n_jobs=2),
    "svc dense": lambda: svc(WIDE),
    "svc csr": lambda: svc(SPARSE, sparse.csr_array, beta=0.01),
    "svc csc intercept": lambda: svc(SPARSE, sparse.csc_array, beta=0.01, fit_intercept=True, scale="max"),
    "svc classes": lambda: svc(SEVERAL, screening="sifs+gap"),
    "svc very wide": lambda: svc(SPARSE, _very_wide, beta=0.02),
    "svc weights": lambda: svc(WEIGHTED, alpha=0.1, scale="std", fit_intercept=True),
    "grid dense": lambda: grid(WIDE),
    "grid csr folds": lambda: grid(SPARSE, sparse.csr_array, cv=3),
    "grid classes": lambda: grid(SEVERAL, fit_intercept=True, scale="std"),
    "stream b-arda": lambda: stream(SPARSE, sparse.csr_array),
    "stream b-amd": lambda: stream(SPARSE, method="b-amd", step_size=[0.01, 0.1]),
    "stream ofs": lambda: stream(WIDE, method="ofs"),
    "stream sofs": lambda: stream(SPARSE, sparse.csr_array, method="sofs", hash_bits=6),
    "stream l1-arda": lambda: stream(SEVERAL, method="l1-arda", budget=None),
    "stream ada-fobos": lambda: stream(WIDE, method="ada-fobos", class_weight="balanced"),
}
