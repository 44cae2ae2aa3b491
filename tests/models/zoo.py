"""Small fitted models of every kind, made once, and what "the same model" means."""

import functools
import warnings
from dataclasses import is_dataclass, replace

import numpy as np
import pandas as pd
from scipy import sparse

from tests.problems import many_classes, problem
from tests.rule import fgm_by_rule, miles_by_rule
from thresher import (
    AdditiveGaussian,
    AlignmentPathClassifier,
    FBeta,
    FGMClassifier,
    Groups,
    Intersection,
    KernelPath,
    MILESClassifier,
    Polynomial,
    PrecisionAtK,
    RecallAtK,
    SparseSVC,
    SparseSVCPath,
    StreamClassifier,
    Tree,
)
from thresher.engine import growing

X, Y, _ = problem(90, 40, 8)
Z, CODES, _, _ = many_classes(90, 30, seed=8)
FRAME = pd.DataFrame(X, columns=[f"gene {j} [µg]" for j in range(40)])
FOREST, WEIGHTS = np.concatenate([30 + np.arange(30) // 3, np.full(10, -1)]), np.linspace(0.5, 3.0, 40)
BAGS = np.where(Y > 0, np.cumsum(Y > 0) // 3, 100 + np.cumsum(Y <= 0) // 3)  # rows of one label each
BAGS_OF_CODES = 100 * CODES + np.arange(90) // 12
WORDS = np.array(["ham", "spam"])[(Y > 0).astype(int)]
UNSAVED = {"proven_inactive_"}  # docs/model-files.md: of what screening has proven the counts alone are kept
RARE = np.where(X[:, :3].sum(axis=1) > 1.8, "yes", "no")
COARSE = KernelPath(step=0.25)


def interrupted():
    """A fit that was ended by Ctrl-C in its third solve."""
    original, calls = growing.solver_for, []

    def counting(*args):
        calls.append(1)
        if len(calls) == 3:
            raise KeyboardInterrupt
        return original(*args)

    clf, growing.solver_for = fgm_by_rule(5), counting
    try:
        clf.fit(X, Y)
    except KeyboardInterrupt:
        return clf
    finally:
        growing.solver_for = original
    raise AssertionError("it was not interrupted")


MAKERS = {
    "two": lambda: fgm_by_rule(4).fit(X, Y),
    "grown": lambda: fgm_by_rule(elimination=False, max_iter=3).fit(X, Y),
    "logistic": lambda: fgm_by_rule(4, loss="logistic", n_candidates=3.0).fit(X, Y),
    "shared": lambda: fgm_by_rule(4, loss="logistic", n_candidates=3.0).fit(Z, CODES),
    "per_class": lambda: fgm_by_rule(3, per_class=True, n_candidates=3.0, class_weight={0: 2.0}).fit(Z, CODES),
    "words": lambda: fgm_by_rule(4, class_weight={"ham": 1.5, "spam": 1}).fit(X, WORDS),
    "objects": lambda: fgm_by_rule(4).fit(X, WORDS.astype(object)),
    "booleans": lambda: fgm_by_rule(4).fit(X, Y > 0),
    "float32": lambda: fgm_by_rule(4).fit(X.astype(np.float32), Y.astype(np.float32)),
    "frame": lambda: fgm_by_rule(4, always_include=["gene 7 [µg]"]).fit(FRAME, Y),
    "forced": lambda: fgm_by_rule(np.int64(5), always_include=np.array([39, 3])).fit(X, Y),
    "idle": lambda: fgm_by_rule(3, always_include=(40,)).fit(np.c_[X, np.zeros(90)], Y),
    "auto": lambda: fgm_by_rule(4, C="auto", cv=3).fit(X, Y),
    "folds": lambda: fgm_by_rule(4, C="auto", cv=[(np.arange(45), np.arange(45, 90))]).fit(X, Y),
    "groups": lambda: fgm_by_rule(3, groups=np.arange(40) // 4).fit(X, Y),
    "overlaps": lambda: fgm_by_rule(3, groups={f"g{j}": [j, j + 1, j + 2] for j in range(0, 38)}).fit(X, Y),
    "singles": lambda: fgm_by_rule(5, groups=Groups([[0, 1], [2, 3, 4]], "none", "single")).fit(FRAME, Y),
    "tree": lambda: fgm_by_rule(3, per_class=True, groups=Tree(FOREST, weights=WEIGHTS)).fit(Z, CODES),
    "intersection": lambda: fgm_by_rule(3, feature_map=Intersection(8, power=0.5)).fit(np.abs(X), Y),
    "exact": lambda: fgm_by_rule(2, feature_map="intersection", elimination=False, max_iter=3).fit(np.abs(X), Y),
    "chi2": lambda: fgm_by_rule(3, feature_map="additive_chi2", per_class=True, n_candidates=2.0).fit(abs(Z), CODES),
    "gaussian": lambda: fgm_by_rule(3, feature_map=AdditiveGaussian(0.2, 4), groups=np.arange(40) // 2).fit(FRAME, Y),
    "products": lambda: fgm_by_rule(4, feature_map="polynomial").fit(X, Y),
    "interactions": lambda: fgm_by_rule(
        3, feature_map=Polynomial(0.5, 0.0, interaction_only=True), loss="logistic", per_class=True, n_candidates=3.0
    ).fit(sparse.csr_array(Z), CODES),
    "product_names": lambda: fgm_by_rule(4, feature_map="polynomial", always_include=["gene 7 [µg]"]).fit(FRAME, Y),
    "f1": lambda: fgm_by_rule(3, loss="f1", n_candidates=2.0).fit(X, Y),
    "recall": lambda: fgm_by_rule(3, loss=RecallAtK(2.0), C=100.0, n_candidates=2.0).fit(FRAME, RARE),
    "precision": lambda: fgm_by_rule(3, loss=PrecisionAtK(5), C="auto", cv=3, n_candidates=2.0).fit(X, Y),
    "measures": lambda: fgm_by_rule(3, loss=FBeta(2), C=10.0, n_candidates=2.0).fit(Z, CODES),
    "rankings": lambda: fgm_by_rule(2, loss="auc", C=10.0, per_class=True, elimination=False).fit(Z, CODES),
    "all": lambda: fgm_by_rule("all", loss="average_precision", C=1.0).fit(X, Y),
    "bags": lambda: miles_by_rule(4).fit(X, Y, bags=BAGS),
    "bags_chosen": lambda: miles_by_rule(3, sigma="search", C="auto", cv=2).fit(X, WORDS, bags=BAGS),
    "bags_sparse": lambda: miles_by_rule(3, sigma=4, per_class=True, n_candidates=3.0).fit(
        sparse.csr_array(Z), CODES, bags=BAGS_OF_CODES
    ),
    "bags_frame": lambda: miles_by_rule(0.1, scale=None, loss="logistic").fit(FRAME, Y, bags=BAGS),
    "bags_at": lambda: fitted("bags").at(2),
    "interrupted": interrupted,
    "at": lambda: fitted("two").at(2),
    "svc": lambda: SparseSVC(beta=0.02, scale=None, fit_intercept=False).fit(X, Y),
    "svc_classes": lambda: SparseSVC(beta=0.02, fit_intercept=True, class_weight="balanced", scale=None).fit(Z, CODES),
    "grid": lambda: SparseSVCPath(3, 4, betas=[0.1, 0.05, 0.02], scale=None, fit_intercept=False).fit(X, WORDS),
    "grid_cv": lambda: SparseSVCPath(3, 4, cv=3, scoring="roc_auc", scale=None, fit_intercept=False).fit(FRAME, Y),
    "grid_classes": lambda: SparseSVCPath(2, 3, cv=2, fit_intercept=True, scale=None).fit(Z, CODES),
    "grid_ended": lambda: SparseSVCPath(3, 4, max_time=1e-9, scale=None, fit_intercept=False).fit(X, Y),
    "grid_at": lambda: fitted("grid_cv").at(1, -1),
    "kernels": lambda: AlignmentPathClassifier(path=KernelPath(step=0.2), cv=3, C=[0.5, 1.0]).fit(FRAME, WORDS),
    "kernels_classes": lambda: AlignmentPathClassifier("laplace", path=COARSE, cv=None).fit(Z, CODES),
    "kernels_alone": lambda: AlignmentPathClassifier(svm=None, path=COARSE, gamma=np.linspace(0.5, 1.0, 40)).fit(X, Y),
    "kernels_at": lambda: fitted("kernels").at(6),
    "kernels_units": lambda: AlignmentPathClassifier(
        [("rbf", [3, 1]), ("linear", 2), ("polynomial", np.arange(4, 9)), ("rbf", (3,))], path=COARSE, cv=3
    ).fit(FRAME, Y),
    "kernels_linear": lambda: AlignmentPathClassifier(svm="linear", path=COARSE, cv=2, C=1.0).fit(Z, CODES),
    "kernels_support": lambda: AlignmentPathClassifier(path=COARSE, cv=None, store_training_columns=False).fit(X, Y),
    "stream": lambda: StreamClassifier(5, random_state=0).fit(X, Y),
    "stream_settings": lambda: StreamClassifier(4, "l1-arda", step_size=[0.1, 1], random_state=0).fit(FRAME, WORDS),
    "stream_classes": lambda: StreamClassifier(3, "ofs", class_weight="balanced", random_state=0).fit(Z, CODES),
    "stream_hashed": lambda: StreamClassifier(3, "sofs", hash_bits=5).partial_fit(X, Y, classes=[-1, 1]),
    "stream_open": lambda: StreamClassifier(3, "b-amd", open_ended=True).partial_fit(X, Y > 0, classes=[True, False]),
}


@functools.cache
def fitted(kind):
    """The model of that kind; not to be changed."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        clf = MAKERS[kind]()
    trace = clf.selection_.trace  # without times, the same file every time
    trace.steps[:] = [replace(step, seconds=0.125) for step in trace.steps]
    trace.turns[:] = [replace(turn, seconds=0.125) for turn in trace.turns]
    return clf


def data_for(kind):
    """Samples that the model of that kind can be asked about."""
    if kind == "idle":
        return np.c_[X, np.zeros(90)]
    if kind in ("intersection", "exact", "chi2"):
        return np.abs(Z if kind == "chi2" else X)
    many = ("shared", "per_class", "svc_classes", "grid_classes", "stream_classes", "tree", "interactions",
            "kernels_classes", "kernels_linear", "measures", "rankings", "bags_sparse")  # fmt: skip
    framed = ("frame", "singles", "gaussian", "product_names", "grid_cv", "grid_at", "stream_settings", "kernels",
              "kernels_at", "kernels_units", "recall", "bags_frame")  # fmt: skip
    return Z if kind in many else FRAME if kind in framed else X


def same(a, b):
    """Whether two values are equal, with types and dtypes, to the last bit."""
    if isinstance(a, np.ndarray):
        alike = type(b) is type(a) and a.dtype == b.dtype and a.shape == b.shape
        return alike and (a.tolist() == b.tolist() or (a.dtype.kind == "f" and a.tobytes() == b.tobytes()))
    if isinstance(a, (list, tuple)):
        return type(a) is type(b) and len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, dict):
        return type(b) is dict and list(a) == list(b) and all(same(a[key], b[key]) for key in a)
    if sparse.issparse(a):
        parts = ((each.shape, each.data, each.indices.tolist(), each.indptr.tolist()) for each in (a, b))
        return type(a) is type(b) and same(*parts)
    if is_dataclass(a):
        return type(b) is type(a) and same(vars(a), vars(b))
    if isinstance(a, np.generic):  # written as a plain number
        return a.item() == b
    return type(a) is type(b) and a == b


def assert_same_model(a, b, data):
    """Everything that a user can ask a fitted model for is equal."""
    assert type(a) is type(b)
    assert set(vars(a)) - UNSAVED == set(vars(b)) - UNSAVED
    assert same(a.get_params(), b.get_params())
    names = {"selection_", "path_", "coef_", "best_estimator_", "feature_names_in_"} | UNSAVED
    for name in sorted(name for name in vars(a) if name.endswith("_") and name not in names):
        assert same(getattr(a, name, None), getattr(b, name, None)), name
    assert hasattr(a, "feature_names_in_") == hasattr(b, "feature_names_in_")
    assert same(a.get_feature_names_out(), b.get_feature_names_out())
    for name in ("data", "indices", "indptr", "shape") if hasattr(a, "coef_") else ():
        assert same(getattr(a.coef_, name), getattr(b.coef_, name)), name
    _assert_same_selection(a.selection_, b.selection_)
    if isinstance(a, SparseSVCPath):
        assert same(a.path_.spread, b.path_.spread)
        for name in set(vars(a.path_)) - {"spread", "proven_inactive"}:
            assert np.array_equal(getattr(a.path_, name), getattr(b.path_, name), equal_nan=True), name
        if hasattr(a, "best_index_"):
            assert same(b.best_estimator_.decision_function(data), a.best_estimator_.decision_function(data))
    if isinstance(a, AlignmentPathClassifier):
        assert same(a.path_, b.path_)
        if hasattr(a, "training_") or a.svm is None:
            assert same(as_array(a.at(5).transform(data)), as_array(b.at(5).transform(data)))
    for method in ("decision_function", "predict", "transform", "predict_proba"):
        if hasattr(a, method):
            one, other = (as_array(getattr(each, method)(data)) for each in (a, b))
            assert same(one, other), method
    if not hasattr(a, "predict"):
        return
    assert a.score(data, a.predict(data)) == b.score(data, a.predict(data)) == 1.0
    if not isinstance(a, (FGMClassifier, MILESClassifier)):
        return
    assert b.path_ is b.selection_.path
    for number in a.path_.numbers.tolist():
        assert same(a.at(number).decision_function(data), b.at(number).decision_function(data))


def as_array(matrix):
    """A matrix that can be compared."""
    return matrix.toarray() if hasattr(matrix, "toarray") else np.asarray(matrix)


def _assert_same_selection(a, b):
    plain = ("features", "weights", "intercept", "stop_reason", "scale", "budget", "forced", "interrupted", "units")
    plain += ("fitted_features", "groups", "pairs")
    for name in plain:
        assert same(getattr(a, name), getattr(b, name)), name
    assert a.certificate == b.certificate
    assert a.trace.steps == b.trace.steps
    assert a.trace.turns == b.trace.turns
    assert len(a.path) == len(b.path)
    for one, other in zip(a.path, b.path, strict=True):
        assert same(vars(one), vars(other))
    b.check()
