"""Some fits over all estimators, features and storages, every parameter named: they may not change by accident.

``python -m tests.golden`` compares with the record bit for bit on the machine that made it; ``--record`` makes it anew.
The test compares to rounding, since another processor sums in another order.
"""

import tempfile

import numpy as np
from scipy import sparse

from tests.problems import many_classes, problem
from thresher import (
    F1,
    PRBEP,
    AdditiveChi2,
    AdditiveGaussian,
    AlignmentPathClassifier,
    AveragePrecision,
    ErrorRate,
    FBeta,
    FGMClassifier,
    Groups,
    Intersection,
    KernelPath,
    MILESClassifier,
    Polynomial,
    PrecisionAtK,
    RocArea,
    SparseSVC,
    SparseSVCPath,
    StreamClassifier,
    Tree,
)
from thresher.data.input import validation

FGM = {
    "C": 1.0, "cv": 3, "per_class": False, "elimination": True, "n_candidates": "auto",
    "scoring": None, "loss": "squared_hinge", "features_per_turn": "auto",
    "tol": 1e-3, "solver": "auto", "max_iter": 100, "max_time": None, "scale": "auto", "fit_intercept": True,
    "feature_map": "columns", "groups": None, "always_include": None, "exclude": None, "debias": False,
    "class_weight": None, "warm_start": False, "n_jobs": 2, "verbose": 0,
}  # fmt: skip
MILES = {
    "sigma": 2.0, "C": 1.0, "cv": 3, "per_class": False, "elimination": True, "n_candidates": "auto",
    "scoring": None, "loss": "squared_hinge",
    "features_per_turn": "auto", "tol": 1e-3, "max_iter": 100, "max_time": None, "scale": "std", "class_weight": None,
    "warm_start": False, "n_jobs": 2, "verbose": 0,
}  # fmt: skip
ALIGNMENT = {
    "kernel": "rbf", "gamma": "scale", "degree": 3, "coef0": 1.0, "path": KernelPath(step=0.1), "C": "auto", "cv": 3,
    "scoring": "accuracy", "max_features": None, "svm": "kernel", "store_training_columns": True, "class_weight": None,
    "max_time": None, "n_jobs": 2, "verbose": 0,
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
    "n_passes": 10, "random_state": 0, "verbose": 0,
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
    return grown(FGMClassifier(n_features, **FGM | changed).fit(store(X), y, *weights))


def scores_of(clf):
    """The scores of a choice: folds, the widths of bags if there are several, values of C."""
    results = clf.cv_results_
    scores = np.array([column for key, column in results.items() if key.startswith("split")])
    if "param_sigma" in results:
        scores = scores.reshape(len(scores), -1, np.unique(results["param_C"].data).size)
    return scores.tolist()


def grown(clf):
    """Choices and path of a fit that grows."""
    chosen = {"Cs": scores_of(clf)} if hasattr(clf, "cv_results_") else {}
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


def made(n_features, data, store=np.asarray, again=None, **changed):
    """A fit of FGMClassifier on what is made of columns; ``again``: a warm start with another number of features."""
    X, y, *weights = data
    X, clf = store(X), FGMClassifier(n_features, **FGM | changed)
    clf.fit(X, y, *weights)
    if again is not None:
        clf.set_params(n_features_to_select=again).fit(X, y, *weights)
    return grown(clf) | seen_from_outside(clf, X)


def miles(n_instances, data, store=np.asarray, **changed):
    """A fit of MILESClassifier."""
    X, y, bags, *weights = data
    X, clf = store(X), MILESClassifier(n_instances, **MILES | changed)
    clf.fit(X, y, *weights, bags=bags)
    own = {"sigma": float(clf.sigma_), "C": float(clf.C_), "decision": clf.decision_function(X, bags=bags).tolist()}
    return grown(clf) | own | {"instances": clf.predict_instances(X, bags=bags)[:20].tolist()}


def alignment(data, store=np.asarray, **changed):
    """A fit of AlignmentPathClassifier."""
    X, y, *weights = data
    X, clf = store(X), AlignmentPathClassifier(**ALIGNMENT | changed)
    clf.fit(X, y, *weights)
    own = clf.path_
    points = {"p": own.p.tolist(), "begins": own.begins.tolist(), "ids": own.ids.tolist(),
              "values": own.values.tolist(), "objectives": own.objective.tolist(),
              "deviation": own.deviation_bound.tolist(), "alignments": own.alignments.tolist()}  # fmt: skip
    scored = clf.cv_results_["mean_test_score"].tolist() if hasattr(clf, "cv_results_") else []
    chosen = {"scores": scored, "point": int(clf.point_)}
    # an SVM is solved to 1e-4 in libsvm's own order of steps
    predicted = {} if clf.svm is None else {"predicted": clf.predict(X).tolist()}
    return selected(clf.selection_) | points | chosen | predicted | {"passes": clf.selection_.trace.passes}


def svc(data, store=np.asarray, **changed):
    """A fit of SparseSVC."""
    X, y, *weights = data
    clf = SparseSVC(**SVC | changed).fit(store(X), y, *weights)
    removed = {"removed": [clf.features_removed_, clf.samples_removed_]}
    return selected(clf.selection_) | removed | {"passes": clf.selection_.trace.passes}


def grid(data, store=np.asarray, **changed):
    """A fit of SparseSVCPath."""
    X, y, *weights = data
    path = SparseSVCPath(**GRID | changed).fit(store(X), y, *weights)
    own = path.path_
    points = {"alphas": own.alphas.tolist(), "objectives": own.objective.tolist(), "ids": own.ids.tolist(),
              "weights": own.weights.tolist(), "removed": own.features_removed.tolist()}  # fmt: skip
    chosen = {"scores": path.scores_.tolist()} if hasattr(path, "scores_") else {}
    return selected(path.selection_) | points | chosen | {"passes": path.selection_.trace.passes}


def stream(data, store=np.asarray, *, whole=False, **changed):
    """Batches of a StreamClassifier; ``whole``: several passes over all rows instead."""
    X, y, *weights = data
    X, clf = store(X), StreamClassifier(**STREAM | changed)
    for first in range(0, 0 if whole else X.shape[0], 50):
        part = slice(first, first + 50)
        clf.partial_fit(X[part], y[part], np.unique(y), *(each[part] for each in weights))
    if whole:
        clf.fit(X, y, *weights)
    progress = [float(clf.progressive_loss_), float(clf.progressive_accuracy_)]
    return selected(clf.selection_) | {"progress": progress}


def by_rows(fit):
    """The same without a copy by columns."""
    before, validation.REORDER_LIMIT = validation.REORDER_LIMIT, 0
    try:
        return fit()
    finally:
        validation.REORDER_LIMIT = before


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


def seen_from_outside(clf, X):
    """What a model says of its features, and what it does with data."""
    own = clf.selection_
    columns = np.asarray(clf.transform(X).sum(axis=0)).ravel().tolist()
    found = {"names": clf.get_feature_names_out().tolist(), "sums": columns,
             "decision": clf.decision_function(X)[:20].tolist()}  # fmt: skip
    labels = {} if own.groups is None else {"groups": own.groups.tolist()}
    return found | labels | ({} if own.pairs is None else {"pairs": own.pairs.tolist()})


def _data():
    X, y, _ = problem(60, 200, seed=1)
    tall = problem(300, 40, seed=2)[:2]
    weighted = (X, y, np.random.default_rng(3).integers(0, 4, 60).astype(float))
    several = many_classes(90, 60, 3, seed=4)[:2]
    return (X, y), tall, weighted, several, sparse_problem()


WIDE, TALL, WEIGHTED, SEVERAL, SPARSE = _data()


def _grouped(n=100, p=60, classes=2, seed=7):
    """(X, y): values that are not negative, half of them 0; columns 0 to 5 matter, some of them in pairs."""
    rng = np.random.default_rng(seed)
    X = np.where(rng.random((n, p)) < 0.5, rng.integers(1, 9, (n, p)) / 8, 0.0)
    pull = np.stack([X[:, 0] * X[:, 1] + X[:, 2], X[:, 3] + X[:, 4] ** 2, X[:, 5] + X[:, 0]], axis=1)[:, :classes]
    return X, (pull - pull.mean(axis=0) + 0.1 * rng.standard_normal(pull.shape)).argmax(axis=1)


def _bags(n_bags=40, columns=5, classes=2, seed=8):
    """(X, y, bags): two to five rows for each bag; one row of a bag is near a point of its class."""
    rng = np.random.default_rng(seed)
    own = rng.permutation(np.repeat(np.arange(n_bags), rng.integers(2, 6, n_bags)))
    label, X = np.arange(n_bags) % classes, np.round(rng.standard_normal((own.size, columns)) * 64) / 64
    for bag in np.flatnonzero(label):
        X[np.flatnonzero(own == bag)[0]] += 3.0 * np.eye(columns)[label[bag]]
    return X, label[own], own


PAIRED, PAIRED3, BAGGED, BAGGED3 = _grouped(), _grouped(classes=3), _bags(), _bags(45, classes=3)
WEIGHTED3 = (*PAIRED3, np.random.default_rng(9).integers(0, 3, 100).astype(float))
BAG_WEIGHTS = (*BAGGED, (1.0 + np.arange(40) % 3)[BAGGED[2]])
PAIRS = np.arange(60) // 2  # the label of each column
WINDOWS = [range(first, min(first + 5, 60)) for first in range(0, 60, 3)]  # neighbours overlap
NAMED = {f"part {g}": [3 * g, 3 * g + 1, 3 * g + 2] for g in range(12)}  # columns from 36 on are in none
TREE = Tree(np.concatenate([60 + np.arange(60) // 4, 75 + np.arange(15) // 5, np.full(3, -1)]), weights="none")
NAMED_TREE = Tree([-1, 0, 0, 1, 1, 2, 2], node=3 + np.arange(60) // 15, names=["all", *"abcdef"])


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
    "fgm growth alone": lambda: fgm(20, WIDE, elimination=False),
    "fgm growth debiased": lambda: fgm(20, WIDE, elimination=False, debias=True, features_per_turn=4),
    "fgm until tol": lambda: fgm(None, WIDE, tol=1e-2),
    "fgm until tol, growth alone": lambda: fgm(None, TALL, tol=1e-2, elimination=False),
    "fgm logistic": lambda: fgm(5, WIDE, loss="logistic"),
    "fgm logistic tall": lambda: fgm(8, TALL, loss="logistic", C=0.5, n_candidates=2.0),
    "fgm weights": lambda: fgm(5, WEIGHTED, class_weight="balanced"),
    "fgm always": lambda: fgm(6, WIDE, always_include=[100, 150], scale="unit"),
    "fgm overshoot": lambda: fgm(7, WIDE, n_candidates=3.0, scale=None),
    "fgm classes shared": lambda: fgm(6, SEVERAL),
    "fgm classes shared logistic": lambda: fgm(6, SEVERAL, loss="logistic", elimination=False),
    "fgm classes apart": lambda: fgm(4, SEVERAL, per_class=True),
    "fgm classes always": lambda: fgm(5, SEVERAL, always_include=[50], n_candidates=2.0),
    "fgm C auto": lambda: fgm(5, WIDE, C="auto"),
    "fgm C auto classes": lambda: fgm(4, SEVERAL, C="auto", per_class=True, elimination=False),
    "fgm warm": lambda: fgm_again(4, 8, WIDE),
    "fgm map": lambda: fgm(5, WIDE, _mapped),
    "fgm threads": lambda: fgm(6, _large(), n_candidates=2.0),
    "fgm threads fortran": lambda: fgm(6, _large(), np.asfortranarray, elimination=False),
    "fgm threads csr": lambda: fgm(6, _large(), _csr, elimination=False, n_jobs=3),
    "fgm threads csr, growing by rows": lambda: by_rows(lambda: fgm(6, _large(), _csr, elimination=False)),
    # groups and trees
    "groups": lambda: made(3, PAIRED, groups=PAIRS),
    "groups overlapping, sparse": lambda: made(3, PAIRED, sparse.csr_array, groups=Groups(WINDOWS, weights="none")),
    "groups named, always and exclude": lambda: made(
        4, PAIRED, groups=Groups(NAMED, ungrouped="single"), always_include=["part 7"], exclude=["part 0"], scale="max"
    ),
    "groups columns dropped, growth alone": lambda: made(
        4, WEIGHTED3, groups=Groups(NAMED, weights=1.0 + np.arange(12) % 3, ungrouped="drop"), elimination=False
    ),
    "groups classes": lambda: made(3, PAIRED3, groups=PAIRS, loss="logistic"),
    "groups classes apart": lambda: made(2, PAIRED3, groups=PAIRS, per_class=True, class_weight="balanced"),
    "groups C auto": lambda: made(2, PAIRED, groups=PAIRS, C="auto", n_candidates=2.0),
    "groups warm": lambda: made(2, PAIRED, groups=PAIRS, again=5, warm_start=True, n_candidates=2.0),
    "tree": lambda: made(4, PAIRED, groups=TREE),
    "tree named, weights": lambda: made(
        2, WEIGHTED3, sparse.csc_array, groups=NAMED_TREE, scale="unit", always_include=["f"], n_candidates=2.0
    ),
    # additive kernels
    "intersection": lambda: made(3, PAIRED, sparse.csr_array, feature_map=Intersection(levels=6)),
    "intersection exact, C auto": lambda: made(3, PAIRED, feature_map="intersection", C="auto", elimination=False),
    "chi2": lambda: made(
        3, PAIRED, sparse.csc_array, feature_map=AdditiveChi2(order=2), exclude=[0], always_include=[50]
    ),
    "gaussian": lambda: made(3, WIDE, feature_map=AdditiveGaussian(gamma=0.25, frequencies=3)),
    "gaussian groups, classes": lambda: made(
        2, WEIGHTED3, feature_map="additive_gaussian", groups=PAIRS, n_candidates=2.0, loss="logistic"
    ),
    "chi2 classes apart": lambda: made(2, PAIRED3, feature_map="additive_chi2", per_class=True, elimination=False),
    "chi2 warm": lambda: made(2, PAIRED, feature_map="additive_chi2", again=4, warm_start=True, n_candidates=2.0),
    # products
    "products": lambda: made(5, PAIRED, feature_map="polynomial"),
    "products float32": lambda: made(
        4, PAIRED, _float32, feature_map=Polynomial(gamma=0.5, coef0=2.0), n_candidates=3.0
    ),
    "products sparse": lambda: made(5, PAIRED, sparse.csr_array, feature_map="polynomial", elimination=False),
    "products without squares": lambda: made(
        4, PAIRED, sparse.csc_array, feature_map=Polynomial(interaction_only=True), C="auto", n_candidates=2.0
    ),
    "products classes, always and exclude": lambda: made(
        4, WEIGHTED3, feature_map="polynomial", always_include=[40], exclude=[2], scale="max", n_candidates=2.0
    ),
    "products strong": lambda: made(6, PAIRED, feature_map=Polynomial(coef0=0.5, heredity="strong")),
    "products strong, classes apart": lambda: made(
        4, PAIRED3, feature_map=Polynomial(heredity="strong"), per_class=True, n_candidates=2.0
    ),
    "products weak, sparse": lambda: made(
        6, PAIRED, sparse.csr_array, feature_map=Polynomial(heredity="weak"), n_candidates=2.0
    ),
    "products warm": lambda: made(3, PAIRED, feature_map="polynomial", again=5, warm_start=True, n_candidates=2.0),
    # measures
    "error weights": lambda: made(4, WEIGHTED, loss=ErrorRate(), class_weight="balanced", elimination=False),
    "error classes": lambda: made(4, SEVERAL, loss="error"),
    "f1": lambda: made(4, TALL, loss=F1(), C=None),
    "f1 classes apart": lambda: made(3, SEVERAL, loss="f1", per_class=True, elimination=False),
    "f1 C auto": lambda: made(2, WIDE, loss=FBeta(2.0), C="auto", cv=2, elimination=False),
    "f1 all": lambda: made("all", SEVERAL, loss="f1"),
    "f1 groups": lambda: made(2, PAIRED, loss="f1", groups=PAIRS, elimination=False),
    "prbep products": lambda: made(3, PAIRED, loss=PRBEP(), feature_map="polynomial", elimination=False),
    "precision at k": lambda: made(4, TALL, loss=PrecisionAtK(30)),
    "auc weights": lambda: made(4, WEIGHTED, loss=RocArea()),
    "average precision": lambda: made(4, WIDE, loss=AveragePrecision(), elimination=False),
    # bags
    "miles": lambda: miles(4, BAGGED),
    "miles csr, weights": lambda: miles(4, BAG_WEIGHTS, _csr, scale=None, loss="logistic", elimination=False),
    "miles classes": lambda: miles(4, BAGGED3, class_weight="balanced", n_candidates=2.0),
    "miles classes apart": lambda: miles(2, BAGGED3, per_class=True, scale="max", elimination=False),
    "miles sigma and C auto": lambda: miles(3, BAGGED, sigma="auto", C="auto", elimination=False),
    "miles auc": lambda: miles(3, BAGGED, loss="auc", elimination=False),
    # alignment path
    "alignment": lambda: alignment(PAIRED),
    "alignment csr classes": lambda: alignment(WEIGHTED3, sparse.csr_array, kernel="laplace", cv=None, svm="linear"),
    "alignment kernels of several columns": lambda: alignment(
        PAIRED,
        kernel=[("rbf", [2 * g, 2 * g + 1]) for g in range(30)],
        C=[1.0, 10.0],
        path=KernelPath(step=0.1, lambda2=[0.01, "auto"]),
    ),
    "alignment path alone": lambda: alignment(
        PAIRED,
        kernel="polynomial",
        svm=None,
        path=KernelPath(divergence="kl", step=0.05, lambda2=0.05),
        store_training_columns=False,
    ),
    # the rest
    "svc threads": lambda: svc(_large(), beta=0.05, n_jobs=2),
    "svc dense": lambda: svc(WIDE),
    "svc csr": lambda: svc(SPARSE, sparse.csr_array, beta=0.01),
    "svc csc intercept": lambda: svc(SPARSE, sparse.csc_array, beta=0.01, fit_intercept=True, scale="max"),
    "svc classes": lambda: svc(SEVERAL, screening="sifs+gap"),
    "svc very wide": lambda: svc(SPARSE, _very_wide, beta=0.02),
    "svc weights": lambda: svc(WEIGHTED, alpha=0.1, scale="std", fit_intercept=True),
    "svc unit": lambda: svc(SPARSE, sparse.csr_array, scale="unit", beta=0.01, class_weight="balanced"),
    "svc without screening": lambda: svc(WIDE, scale="std", screening=None, beta=0.1),
    "grid dense": lambda: grid(WIDE),
    "grid csr folds": lambda: grid(SPARSE, sparse.csr_array, cv=3),
    "grid classes": lambda: grid(SEVERAL, fit_intercept=True, scale="std"),
    "grid classes folds, weights": lambda: grid(WEIGHTED3, cv=3, scale="max", n_betas=2, screening="iss"),
    "stream b-arda": lambda: stream(SPARSE, sparse.csr_array),
    "stream b-amd": lambda: stream(SPARSE, method="b-amd", step_size=[0.01, 0.1]),
    "stream ofs": lambda: stream(WIDE, method="ofs"),
    "stream sofs": lambda: stream(SPARSE, sparse.csr_array, method="sofs", hash_bits=6),
    "stream l1-arda": lambda: stream(SEVERAL, method="l1-arda", budget=None),
    "stream ada-fobos": lambda: stream(WIDE, method="ada-fobos", class_weight="balanced"),
    "stream b-arda several, weights": lambda: stream(WEIGHTED3, whole=True, n_passes=3, l2=[1e-4, 1e-2]),
    "stream l1-arda open": lambda: stream(
        SPARSE, sparse.csr_array, method="l1-arda", budget=None, loss="logistic", open_ended=True, l1=0.01
    ),
}
