"""FGMClassifier as a user meets it."""

import os
import pickle
import re
import subprocess
import sys
import textwrap
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
import sklearn
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import make_classification
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from tests.rule import fgm_by_rule
from thresher import FGMClassifier
from thresher.datasets import make_wide
from thresher.errors import FewerFeaturesWarning
from thresher.estimators.shared import progress

DATA = make_wide(200, 400, n_relevant=8, random_state=0)
X, y = DATA.X, DATA.y
EXACT32 = np.round(X * 64) / 64  # exact in float32
FEW = np.where(np.random.default_rng(9).random(X.shape) < 0.2, EXACT32, 0.0)


@parametrize_with_checks(
    [
        FGMClassifier(),
        FGMClassifier(1.0),
        FGMClassifier(1.0, per_class=True),
        FGMClassifier(1.0, loss="logistic", elimination=False, debias=True),
        FGMClassifier(scale="max"),
    ]
)
def test_scikit_learn_checks(estimator, check):
    if sklearn.__version__.startswith("1.6.") and "sample_weight_equivalence" in check.func.__name__:
        pytest.skip("scikit-learn 1.6 makes the labels two-class after shuffling, so its two fits differ in labels")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FewerFeaturesWarning)
        check(estimator)


def storages(A):
    """The same matrix in every storage."""
    fixed = np.array(A, order="F", dtype=np.float32)
    fixed.flags.writeable = False
    csr, csc = sparse.csr_array(A), sparse.csc_array(A)
    wide_index = sparse.csr_array(A)
    wide_index.indices, wide_index.indptr = csr.indices.astype(np.int64), csr.indptr.astype(np.int64)
    return {
        "C": np.ascontiguousarray(A),
        "F": np.asfortranarray(A),
        "read_only_F_float32": fixed,
        "C_float32": A.astype(np.float32),
        "csr": csr,
        "csc": csc,
        "csr_matrix_float32": sparse.csr_matrix(A.astype(np.float32)),
        "csr_int64": wide_index,
        "csc_float32": sparse.csc_array(A.astype(np.float32)),
        "every_second_column": np.repeat(A, 2, axis=1)[:, ::2],
        "pandas": pd.DataFrame(A),
    }


@pytest.mark.parametrize("loss", ["squared_hinge", "logistic"])
@pytest.mark.parametrize(
    "options", [{}, {"scale": "std", "n_candidates": 2.0}, {"scale": None, "elimination": False}], ids=str
)
@pytest.mark.parametrize("A", [EXACT32, FEW], ids=["dense", "sparse"])
def test_one_answer_from_every_storage(loss, options, A):
    clf = fgm_by_rule(12, loss=loss, **options)
    reference = clone(clf).fit(A, y).selection_
    for name, stored in storages(A).items():
        if name == "pandas":
            stored.columns = [f"gene{j}" for j in stored.columns]
        found = clone(clf).fit(stored, y).selection_
        assert np.array_equal(found.features, reference.features), name
        np.testing.assert_allclose(found.weights, reference.weights, rtol=1e-8, atol=1e-10, err_msg=name)
        assert found.scale == reference.scale, name


def test_memory_map_is_read_in_place(tmp_path):
    np.save(tmp_path / "X.npy", X)
    mapped = np.load(tmp_path / "X.npy", mmap_mode="r")
    assert np.array_equal(fgm_by_rule(8).fit(mapped, y).coef_.toarray(), fgm_by_rule(8).fit(X, y).coef_.toarray())


def test_any_number_of_threads_gives_the_same_bits(monkeypatch):
    monkeypatch.setattr("thresher.data.workers.SMALL", 0)  # threads are used however small the work
    fits = [fgm_by_rule(20, n_jobs=jobs).fit(X, y) for jobs in (1, 2, 4, 8, None, -1)]
    for fit in fits[1:]:
        assert np.array_equal(fit.selection_.weights, fits[0].selection_.weights)
        assert fit.intercept_ == fits[0].intercept_


@pytest.mark.parametrize("loss", ["squared_hinge", "logistic"])
def test_integer_weights_equal_repeated_rows(loss):
    weights = np.random.default_rng(1).integers(0, 4, y.size)
    for scale in ("std", "max", "unit", None):
        n_candidates = "auto" if scale == "std" else 3.0
        for options in (
            {},
            {"class_weight": "balanced"},
            {"debias": True, "elimination": False},
            {"fit_intercept": False},
        ):
            clf = fgm_by_rule(10, loss=loss, scale=scale, n_candidates=n_candidates, **options)
            weighed = clone(clf).fit(X, y, sample_weight=weights)
            repeated = clone(clf).fit(np.repeat(X, weights, axis=0), np.repeat(y, weights))
            assert np.array_equal(weighed.selection_.features, repeated.selection_.features)
            np.testing.assert_allclose(weighed.selection_.weights, repeated.selection_.weights, rtol=1e-7)
            np.testing.assert_allclose(weighed.intercept_, repeated.intercept_, rtol=1e-7, atol=1e-9)


def test_class_weight_dict_equals_sample_weight():
    by_class = fgm_by_rule(8, class_weight={-1: 3.0}).fit(X, y)
    by_sample = fgm_by_rule(8).fit(X, y, sample_weight=np.where(y < 0, 3.0, 1.0))
    np.testing.assert_allclose(by_class.coef_.toarray(), by_sample.coef_.toarray(), rtol=1e-9)


def test_balanced_classes_count_alike():
    few = np.flatnonzero((y > 0) | (np.arange(200) < 60))
    share = (y[few] > 0).mean()
    by_hand = {1: 0.5 / share, -1: 0.5 / (1 - share)}
    balanced = fgm_by_rule(8, class_weight="balanced").fit(X[few], y[few])
    np.testing.assert_allclose(
        balanced.coef_.toarray(), fgm_by_rule(8, class_weight=by_hand).fit(X[few], y[few]).coef_.toarray(), rtol=1e-8
    )


def test_the_rule_of_auto_scale():
    dense, half = X.copy(), X.copy()
    half[:, :100] *= np.arange(200)[:, None] % 3 == 0  # a quarter of the columns are zero in most rows
    assert fgm_by_rule(5).fit(dense, y).selection_.scale == "std"
    assert fgm_by_rule(5).fit(half, y).selection_.scale == "max"
    assert fgm_by_rule(5).fit(FEW, y).selection_.scale is None
    weights = (np.arange(200) % 3 == 0).astype(float)  # among the rows that count, no column is mostly zero
    assert fgm_by_rule(5).fit(half, y, sample_weight=weights).selection_.scale == "std"


def test_weights_are_in_the_units_of_X():
    factor = 10.0 ** np.random.default_rng(2).integers(-3, 4, X.shape[1])
    plain, scaled = fgm_by_rule(8, scale="std").fit(X, y), fgm_by_rule(8, scale="std").fit(X * factor + 5.0, y)
    assert np.array_equal(plain.selection_.features, scaled.selection_.features)
    expected = plain.decision_function(X)
    np.testing.assert_allclose(scaled.decision_function(X * factor + 5.0), expected, rtol=1e-6, atol=1e-8)
    np.testing.assert_allclose(
        scaled.decision_function(X[:9] * factor + 5.0),
        (X[:9] * factor + 5.0)[:, scaled.selection_.features] @ scaled.selection_.weights + scaled.intercept_,
    )


def test_true_features_are_found_and_certified():
    clf = fgm_by_rule(8).fit(X, y)
    assert len(set(clf.selection_.features) & set(DATA.relevant)) >= 5
    clf.selection_.check()
    certificate = clf.selection_.certificate
    assert certificate.pick_bound <= certificate.pick_objective < certificate.at_zero
    assert 0 <= certificate.gap < 1
    trace = clf.selection_.trace
    assert trace.passes >= 2 + len(trace.turns) - 1
    assert set(trace.seconds) == {"arrange", "validate", "scan", "certify", "take", "solve", "thresh"}
    assert trace.bytes >= X.nbytes * len(trace.turns)


def test_until_the_gap_is_within_tol():
    clf = fgm_by_rule(tol=1e-4).fit(X, y)
    assert clf.selection_.certificate.gap <= 1e-4
    assert clf.selection_.stop_reason.startswith("converged: duality gap")


def test_fraction_and_full_width():
    assert fgm_by_rule(0.05).fit(X, y).selection_.features.size == 20
    assert fgm_by_rule(X.shape[1], C=1e-3).fit(X, y).selection_.features.size == X.shape[1]


def test_always_include():
    names = [f"g{j}" for j in range(X.shape[1])]
    by_number = fgm_by_rule(8, always_include=[399, 5]).fit(X, y)
    by_name = fgm_by_rule(8, always_include=["g399", "g5"]).fit(pd.DataFrame(X, columns=names), y)
    assert {5, 399} <= set(by_number.selection_.features)
    assert by_number.selection_.features.size == 8
    np.testing.assert_allclose(by_number.selection_.weights, by_name.selection_.weights, rtol=1e-8)
    for wrong, message in (([400], "from 0 to 399"), (["g5"], "no column names"), ([1.5], "column numbers or names")):
        with pytest.raises(ValueError, match=message):
            fgm_by_rule(8, always_include=wrong).fit(X, y)
    with pytest.raises(ValueError, match="names 3 features, but n_features_to_select is 2"):
        fgm_by_rule(2, always_include=[1, 2, 3]).fit(X, y)


def test_warm_start_from_the_answer_takes_a_scan_or_two():
    clf = fgm_by_rule(20, warm_start=True).fit(X, y)
    first = clf.selection_
    again = clf.fit(X, y).selection_
    assert len([step for step in again.trace.steps if step.kind == "scan"]) <= 2
    assert np.array_equal(first.features, again.features)
    np.testing.assert_allclose(first.weights, again.weights, rtol=1e-6)
    more = clf.set_params(n_features_to_select=30).fit(X, y).selection_
    assert more.features.size == 30
    cold = fgm_by_rule(30).fit(X, y).selection_
    assert more.trace.passes < cold.trace.passes
    fewer = clf.set_params(n_features_to_select=10).fit(X, y).selection_
    assert set(fewer.features) <= set(more.features)
    for _ in range(2):
        with pytest.raises(ValueError, match="the last fit saw 400"):
            clf.fit(X[:, :50], y)


def test_debias_lowers_the_objective_of_the_pick():
    grown = fgm_by_rule(20).fit(X, y).selection_
    refit = fgm_by_rule(20, debias=True).fit(X, y).selection_
    assert np.array_equal(grown.features, refit.features)
    assert refit.certificate.pick_objective <= grown.certificate.pick_objective
    assert refit.certificate.objective == pytest.approx(grown.certificate.objective)


@pytest.mark.parametrize("labels", [("no", "yes"), (False, True), (3, 70), (0.0, 1.0)])
def test_labels_of_any_kind(labels):
    named = np.array(labels)[(y > 0).astype(int)]
    clf = fgm_by_rule(8).fit(X, named)
    assert clf.classes_.tolist() == list(labels)
    assert (clf.predict(X) == named).mean() > 0.85


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
def test_names_and_set_output(frame):
    table = frame({f"g{j}": X[:, j].astype(np.float32) for j in range(40)})
    kind = "pandas" if frame is pd.DataFrame else "polars"
    clf = fgm_by_rule(5).set_output(transform=kind).fit(table, y)
    out = clf.transform(table)
    assert isinstance(out, frame)
    assert list(out.columns) == clf.get_feature_names_out().tolist() == [f"g{j}" for j in clf.get_support(indices=True)]
    np.testing.assert_array_equal(np.asarray(out), np.asarray(table)[:, clf.get_support()])
    assert np.asarray(out).dtype == np.float32
    names = {out.columns[0]: "h0"}
    with pytest.raises(ValueError, match="feature names"):
        clf.transform(table.rename(names) if kind == "polars" else table.rename(columns=names))


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array, sparse.csc_array, sparse.csr_matrix])
def test_transform_keeps_storage_and_inverts(kind):
    stored = kind(FEW)
    clf = fgm_by_rule(10).fit(stored, y)
    out = clf.transform(stored)
    assert type(out) is type(stored)
    dense = out.toarray() if sparse.issparse(out) else out
    np.testing.assert_array_equal(dense, FEW[:, clf.selection_.features])
    back = clf.inverse_transform(out)
    back = back.toarray() if sparse.issparse(back) else back
    np.testing.assert_array_equal(back, FEW * clf.get_support())


def test_works_with_the_tools_of_scikit_learn():
    pipe = make_pipeline(StandardScaler(), fgm_by_rule(10), LogisticRegression())
    assert cross_val_score(pipe, X, y, cv=3).mean() > 0.7
    search = GridSearchCV(
        fgm_by_rule(), {"n_features_to_select": [4, 8], "n_candidates": ["auto", 2.0]}, cv=3, n_jobs=2
    ).fit(X, y)
    assert search.best_score_ > 0.7
    clf = fgm_by_rule(8).fit(X, y)
    restored = pickle.loads(pickle.dumps(clf))
    np.testing.assert_array_equal(restored.decision_function(X), clf.decision_function(X))
    assert not hasattr(clone(clf), "selection_")


def test_sample_weight_is_routed():
    with sklearn.config_context(enable_metadata_routing=True):
        pipe = make_pipeline(
            StandardScaler().set_fit_request(sample_weight=False), fgm_by_rule(5).set_fit_request(sample_weight=True)
        )
        weights = np.where(np.arange(y.size) < 100, 1.0, 0.0)
        pipe.fit(X, y, sample_weight=weights)
    alone = fgm_by_rule(5).fit(StandardScaler().fit_transform(X), y, sample_weight=weights)
    assert np.array_equal(pipe[-1].selection_.features, alone.selection_.features)


def test_inputs_are_neither_changed_nor_kept():
    A, b = X.copy(), y.copy()
    clf = fgm_by_rule(8).fit(A, b)
    assert np.array_equal(A, X)
    before = clf.decision_function(X)
    A[:], b[:] = 0.0, 1
    np.testing.assert_array_equal(clf.decision_function(X), before)


def test_nothing_of_size_p_is_held_after_fit():
    wide = sparse.random(50, 200_000, density=1e-3, random_state=0, format="csr")
    clf = fgm_by_rule(5).fit(wide, np.arange(50) % 2)
    assert len(pickle.dumps(clf)) < 150_000


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_features_to_select": 0}, r"n_features_to_select must be None, an integer >= 1, a fraction in .* got 0"),
        ({"n_features_to_select": 401}, "between 1 and the 400 features"),
        ({"n_features_to_select": 1.5}, "a fraction in"),
        ({"n_features_to_select": "ten"}, "an integer >= 1, a fraction in"),
        ({"C": 0}, "C must be a positive number"),
        ({"C": "big"}, "C must be 'auto' or a positive number"),
        ({"loss": "hinge"}, "loss must be one of 'squared_hinge', .* or a measure such as .* got 'hinge'"),
        ({"features_per_turn": 0}, "features_per_turn must be an integer >= 1"),
        ({"tol": -1}, "tol must be a non-negative number"),
        ({"solver": "newton"}, "solver must be one of 'auto', 'apg'; got 'newton'"),
        (
            {"solver": "apg", "elimination": True},
            'solver="apg" is the algorithm of the paper, .* set elimination=False',
        ),
        ({"max_iter": 0}, "max_iter must be an integer >= 1"),
        ({"max_time": 0}, "max_time must be a positive number"),
        ({"scale": "robust"}, "scale must be one of None, 'unit', 'std', 'max', 'auto'; got 'robust'"),
        ({"class_weight": {7: 2.0}}, "class_weight contains 7, which is not one of the classes"),
        ({"class_weight": "equal"}, "class_weight must be one of"),
        ({"n_jobs": 0}, "n_jobs must be None or a non-zero integer"),
    ],
)
def test_wrong_parameters_are_named(options, message):
    with pytest.raises(ValueError, match=message):
        fgm_by_rule(**options).fit(X, y)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda: (X, np.ones(200)), "only one class"),
        (lambda: (X, y[:-1]), "inconsistent numbers of samples"),
        (lambda: (X[:0], y[:0]), "minimum of 2 is required"),
        (lambda: (X[:, :0], y), "0 feature"),
        (lambda: (X[0], y), "Expected 2D array"),
        (lambda: (np.where(np.arange(400) == 7, "gene", X.astype(object)), y), "could not convert"),
    ],
)
def test_wrong_data_is_refused(change, message):
    data = change()
    with pytest.raises(ValueError, match=message):
        fgm_by_rule().fit(*data)


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        (-np.ones(200), "Negative"),
        (np.ones(3), "inconsistent|shape"),
        ((y > 0).astype(float), "class -1 are zero"),
        (np.full(200, np.nan), "NaN"),
    ],
)
def test_wrong_weights_are_refused(weights, message):
    with pytest.raises(ValueError, match=message):
        fgm_by_rule().fit(X, y, sample_weight=weights)


def test_fewer_features_than_asked_is_said():
    with pytest.warns(FewerFeaturesWarning, match="selected 3 features instead of the requested 10: .*no other feat"):
        fgm_by_rule(10).fit(np.where(np.arange(400) < 3, X, 0.0), y)
    with pytest.warns(FewerFeaturesWarning, match="stopped early: max_iter=1 reached"):
        fgm_by_rule(50, max_iter=1, elimination=False).fit(X, y)
    with pytest.warns(FewerFeaturesWarning, match="no feature was selected"):
        fgm_by_rule().fit(np.ones((200, 5)), y)


def test_duplicated_columns_go_to_the_lower_number():
    doubled = np.concatenate([X, X], axis=1)
    clf = fgm_by_rule(8).fit(doubled, y)
    chosen = set(clf.selection_.features.tolist())
    assert all(j - 400 in chosen for j in chosen if j >= 400), "the copy was taken and not the first one"


def test_max_time_returns_what_was_found():
    big = make_classification(2000, 500, n_informative=50, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FewerFeaturesWarning)
        clf = fgm_by_rule(400, max_time=0.05, features_per_turn=1).fit(*big)
    assert clf.selection_.stop_reason == "stopped early: max_time reached"
    assert 1 <= clf.selection_.features.size < 400


INTERRUPTED = textwrap.dedent("""
    import numpy as np, os, signal, threading
    from thresher import FGMClassifier
    from thresher.datasets import make_wide
    data = make_wide(2000, 3000, n_relevant=200, random_state=0)
    FGMClassifier(2).fit(data.X, data.y)
    clf = FGMClassifier(2500, C=1.0, elimination=True, features_per_turn=1, max_iter=10**6)
    signal.signal(signal.SIGINT, signal.default_int_handler)  # background jobs ignore it
    threading.Timer(1.0, os.kill, (os.getpid(), signal.SIGINT)).start()
    try:
        clf.fit(data.X, data.y)
    except KeyboardInterrupt:
        assert clf.selection_.stop_reason == "interrupted"
        assert clf.selection_.features.size > 0
        clf.selection_.check()
        print("kept", (clf.predict(data.X) == data.y).mean())
""")


@pytest.mark.skipif(os.name != "posix", reason="needs signals")
def test_ctrl_c_keeps_the_best_model_and_raises_again():
    child = subprocess.run([sys.executable, "-c", INTERRUPTED], capture_output=True, text=True, timeout=120)
    assert child.returncode == 0, child.stderr
    assert child.stdout.startswith("kept 0."), child.stdout


def test_verbose_draws_on_standard_error(capsys, monkeypatch):
    fgm_by_rule(8, verbose=2).fit(X, y)
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) >= 8
    assert re.search(r"\d+/384 features  \d+ in the model", lines[-2])
    assert "gap" in lines[-2]
    assert lines[-1].startswith("8 features in the model; 8 features selected, as requested; ")
    fgm_by_rule(8, verbose=1).fit(X, y)  # in a log
    written = capsys.readouterr().err
    assert "\r" not in written
    assert [line == line.rstrip() for line in written.splitlines()] == 3 * [True]  # the first, the last, the result
    monkeypatch.setattr(progress, "LOG_SECONDS", 0.0)
    fgm_by_rule(8, verbose=1).fit(X, y)
    assert len(capsys.readouterr().err.splitlines()) >= 8
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    fgm_by_rule(verbose=1).fit(X, y)
    assert capsys.readouterr().err.startswith("\r")
    fgm_by_rule(8).fit(X, y)
    assert capsys.readouterr() == ("", "")
