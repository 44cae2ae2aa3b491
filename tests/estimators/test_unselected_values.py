"""NaN and infinity are accepted where a model does not look, and refused with the column's name where it does."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse

from tests.laws.designs import MappedDesign
from tests.problems import many_classes, problem
from tests.rule import fgm_by_rule
from thresher import AlignmentPathClassifier, KernelPath, SparseSVC, StreamClassifier
from thresher.data.input.validation import as_design
from thresher.errors import InvalidDataError
from thresher.report.path_display import path_scores

X, Y, _ = problem(60, 30, 2)
NAMES = [f"gene{j}" for j in range(30)]
CLASSIFIERS = [
    fgm_by_rule(3),
    fgm_by_rule(3, loss="logistic", elimination=False),
    SparseSVC(0.1, 0.2),
    AlignmentPathClassifier(path=KernelPath(step=0.2), cv=2, max_features=5),
    StreamClassifier(3),
    StreamClassifier(3, open_ended=True),
    StreamClassifier(3, hash_bits=8),
]
STORAGES = {
    "C": np.ascontiguousarray,
    "F": np.asfortranarray,
    "float32": lambda A: A.astype(np.float32),
    "csr": sparse.csr_array,
    "csc": sparse.csc_array,
    "pandas": lambda A: pd.DataFrame(A, columns=NAMES),
    "polars": lambda A: pl.DataFrame(A, schema=NAMES),
    "design": as_design,
    "sparse design": lambda A: as_design(sparse.csr_array(A)),
}
BAD = [np.nan, np.inf, -np.inf]


def columns_read(clf):
    """Columns of X of which the selected features are made."""
    if clf.selection_.features.size and getattr(clf, "hash_bits", None) is not None:
        alone = [clf.fitted_features_.columns(np.eye(30)[[j]], clf.selection_.features).any() for j in range(30)]
        return np.flatnonzero(alone)
    return clf.selection_.features


def spoilt(columns, value):
    A = X.copy()
    A[np.ix_([4, 17, 20], columns)] = value
    return A


def fitted(clf, storage):
    framed = storage in ("pandas", "polars") and not getattr(clf, "_by_number", False)
    return clf.__class__(**clf.get_params()).fit(STORAGES[storage](X) if framed else X, Y)


@pytest.mark.filterwarnings("ignore:X does not have valid feature names")
@pytest.mark.parametrize("storage", STORAGES)
@pytest.mark.parametrize("clf", CLASSIFIERS, ids=str)
def test_only_selected_features_must_be_finite(clf, storage):
    if isinstance(clf, StreamClassifier) and "design" in storage:
        pytest.skip("streams are read by rows")
    clf = fitted(clf, storage)
    used = columns_read(clf)
    others = np.setdiff1d(np.arange(30), used)
    assert 0 < used.size < 30
    expected = clf.decision_function(STORAGES[storage](X))
    for value in BAD:
        harmless = STORAGES[storage](spoilt(others, value))
        np.testing.assert_array_equal(clf.decision_function(harmless), expected)
        np.testing.assert_array_equal(clf.predict(harmless), clf.classes_[(expected > 0).astype(int)])
        kept = clf.transform(harmless)
        assert np.isfinite(kept.data if sparse.issparse(kept) else kept).all()
        harmful = STORAGES[storage](spoilt(used[1:2], value))
        for method in (clf.decision_function, clf.predict, clf.transform):
            with pytest.raises(InvalidDataError, match=r"NaN or infinity, first in column .* 3 such values"):
                method(harmful)


@pytest.mark.parametrize("storage", ["pandas", "polars"])
def test_the_column_is_named(storage):
    clf = fgm_by_rule(3).fit(STORAGES[storage](X), Y)
    column = int(clf.selection_.features[2])
    table = STORAGES[storage](spoilt([column], np.nan))
    told = rf"first in column 'gene{column}'; 1 of 3 columns are affected\. That column has 3 .*, first in row 4"
    for method in (clf.predict, clf.transform, clf.set_output(transform=storage).transform):
        with pytest.raises(InvalidDataError, match=told):
            method(table)
    others = np.setdiff1d(np.arange(30), clf.selection_.features)
    assert list(clf.transform(STORAGES[storage](spoilt(others, np.nan))).columns) == [
        NAMES[j] for j in clf.selection_.features
    ]


def test_missing_integers_of_pandas_in_a_column_that_is_not_selected():
    table = pd.DataFrame(X, columns=NAMES)
    clf = fgm_by_rule(3).fit(table, Y)
    other = next(j for j in range(30) if j not in clf.selection_.features)
    table[NAMES[other]] = pd.array([1, None] * 30, dtype="Int64")
    np.testing.assert_array_equal(clf.predict(table), clf.predict(pd.DataFrame(X, columns=NAMES)))


def test_a_feature_without_weight_is_selected_too():
    """One that is in the model by request, though it is a copy and has no weight, must still be finite."""
    A = X.copy()
    A[:, 9] = 0.0
    with pytest.warns(UserWarning, match="weight zero"):
        clf = fgm_by_rule(3, always_include=[9]).fit(A, Y)
    for storage in ("C", "F", "csr", "csc", "design"):
        bad = A.copy()
        bad[3, 9] = np.nan
        with pytest.raises(InvalidDataError, match="first in column 9"):
            clf.predict(STORAGES[storage](bad))


def test_large_scores_are_no_error():
    clf = fgm_by_rule(3, scale=None).fit(X, Y)
    assert clf.predict(1e308 * np.sign(X)).shape == (60,)


def test_many_classes_and_the_path(tmp_path):
    Z, codes, _, _ = many_classes(60, 20, 3, seed=1)
    clf = fgm_by_rule(4).fit(Z, codes)
    used = np.unique(np.concatenate([station.features for station in clf.path_]))
    bad = Z.copy()
    bad[5, np.setdiff1d(np.arange(20), used)] = np.nan
    np.testing.assert_array_equal(path_scores(clf, bad, codes), path_scores(clf, Z, codes))
    np.testing.assert_array_equal(clf.predict(MappedDesign(bad, tmp_path)), clf.predict(Z))
    bad[5, used[1]] = np.inf
    for scoring in (None, "balanced_accuracy"):
        with pytest.raises(InvalidDataError, match=f"first in column {used[1]};"):
            path_scores(clf, bad, codes, scoring=scoring)


@pytest.mark.parametrize("clf", CLASSIFIERS[:4], ids=str)
def test_training_refuses_it_in_every_column(clf):
    for storage in ("C", "csr", "csc"):
        with pytest.raises(InvalidDataError, match=r"first in column 11; 2 of 30 columns .* That column has 3"):
            clf.__class__(**clf.get_params()).fit(STORAGES[storage](spoilt([11, 20], np.nan)), Y)
    for storage in ("pandas", "polars"):
        with pytest.raises(InvalidDataError, match=r"first in column 'gene11'; 2 of 30"):
            clf.__class__(**clf.get_params()).fit(STORAGES[storage](spoilt([11, 20], np.nan)), Y)
