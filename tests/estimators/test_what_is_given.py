"""Objects that are no matrix of numbers are refused at once, by name, with the way to pass them."""

import datetime
import time

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy import sparse
from sklearn.exceptions import NotFittedError

import thresher
from tests.problems import problem
from tests.rule import fgm_by_rule, miles_by_rule
from thresher import (
    AlignmentPathClassifier,
    SparseSVC,
    SparseSVCPath,
    StreamClassifier,
)
from thresher.errors import ContinuousLabelsWarning, InvalidDataError, InvalidDataTypeError

X, Y, _ = problem(40, 6, 2)
ESTIMATORS = [fgm_by_rule(2), SparseSVC(), SparseSVCPath(2, 2), StreamClassifier(2), AlignmentPathClassifier()]
DAYS = [datetime.date(2026, 1, 1) + datetime.timedelta(days=i) for i in range(40)]
TEXT = r"column 'city' of X contains text \('Ulm' in row 0\); all columns must be numeric\. Encode .* or drop it\.$"
CATEGORY = r"column 'city' of X is categorical \('Ulm' in row 0\).* Encode"
WHEN = r"column 'city' of X contains dates or times .* Convert it to a number"
MADE = {"pandas": pd.DataFrame, "polars": pl.DataFrame, "pyarrow": pa.table}


class AnnData:
    """A stand-in for anndata.AnnData, which numpy would take for a sequence of a sequence of a sequence."""

    def __init__(self, isbacked=False):
        self.X, self.obs, self.var = sparse.csr_array(X), {"cell_type": Y}, {}
        self.obs_names, self.var_names, self.isbacked, self.shape = list("abc"), list("abc"), isbacked, X.shape

    def __len__(self):
        return len(X)

    def __getitem__(self, rows):
        time.sleep(0.05)
        return self


class Renamed(AnnData):
    pass


class Alike:
    X = obs = var = obs_names = var_names = None


class BackedMatrix:
    """As adata.X is while its file is open."""

    shape = X.shape

    def to_memory(self):
        return X


BackedMatrix.__module__ = "anndata._core.sparse_dataset"


@pytest.mark.parametrize("clf", ESTIMATORS, ids=str)
@pytest.mark.parametrize("given", [AnnData(), Renamed(), Alike()])
def test_annotated_data(clf, given):
    with pytest.raises(TypeError, match=r"its matrix adata\.X as X and a column of adata\.obs as y.*adata\.var_names"):
        clf.fit(given, Y)
    with pytest.raises((TypeError, NotFittedError)):
        clf.predict(given)


def test_annotated_data_in_a_file():
    with pytest.raises(InvalidDataTypeError, match=r"backed by a file, so load it first: adata = adata\.to_memory\(\)"):
        fgm_by_rule(2).fit(AnnData(isbacked=True), Y)
    with pytest.raises(InvalidDataTypeError, match=r"still in its file: pass X\.to_memory\(\)"):
        fgm_by_rule(2).fit(BackedMatrix(), Y)


def test_annotated_data_for_a_warm_start_and_a_prediction():
    clf = fgm_by_rule(2, warm_start=True).fit(X, Y)
    for method in (clf.predict, clf.transform, lambda given: clf.fit(given, Y)):
        with pytest.raises(InvalidDataTypeError, match=r"adata\.X"):
            method(AnnData())


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ("train.csv", r"X is the string 'train\.csv'; expected a 2D array.*thresher\.io\.read"),
        (b"abc", "an object of type bytes; expected a 2D array"),
        (None, "X is None; expected"),
        ({"a": [1.0], "b": [2.0]}, r"an object of type dict; .*pandas\.DataFrame"),
        ((row for row in X), r"an object of type generator; .*list\(X\)"),
        ({1.0, 2.0}, "an object of type set; expected"),
        (object(), "an object of type object; expected"),
        (thresher, "an object of type module; expected"),
        (fgm_by_rule(), r"an object of type thresher\.estimators\.fgm\.classifier\.FGMClassifier; expected"),
    ],
)
@pytest.mark.parametrize("clf", ESTIMATORS, ids=str)
def test_other_objects(clf, given, message):
    with pytest.raises(InvalidDataTypeError, match=message):
        clf.fit(given, Y)


class Wrapped:
    def __array__(self, dtype=None, copy=None):
        return np.array(X, dtype=dtype)


@pytest.mark.parametrize("given", [X.tolist(), tuple(map(tuple, X)), Wrapped(), memoryview(X)], ids=lambda x: type(x))
def test_what_numpy_reads_is_still_read(given):
    expected = fgm_by_rule(2).fit(X, Y)
    np.testing.assert_array_equal(fgm_by_rule(2).fit(given, Y).coef_.toarray(), expected.coef_.toarray())


def table(library, **columns):
    return MADE[library]({"a": X[:, 0], "b": X[:, 1]} | columns)


@pytest.mark.parametrize("library", MADE)
@pytest.mark.parametrize("clf", ESTIMATORS, ids=str)
def test_text_and_dates_in_data_frames(library, clf):
    words = ["Ulm", "Rom"] * 20
    with pytest.raises(InvalidDataError, match=TEXT):
        clf.fit(table(library, city=words), Y)
    with pytest.raises(InvalidDataError, match=WHEN):
        clf.fit(table(library, city=DAYS), Y)
    with pytest.raises(InvalidDataError, match=r"1 more columns of X are not numeric: 'land'\."):
        clf.fit(table(library, city=words, land=words), Y)


def test_categories_and_times():
    category = pd.Categorical(["Ulm", "Rom"] * 20)
    with pytest.raises(InvalidDataError, match=CATEGORY):
        fgm_by_rule(2).fit(table("pandas", city=category), Y)
    with pytest.raises(InvalidDataError, match=CATEGORY):
        fgm_by_rule(2).fit(table("polars", city=pl.Series(["Ulm", "Rom"] * 20, dtype=pl.Categorical)), Y)
    for when in (pd.date_range("2026", periods=40), pd.date_range("2026", periods=40) - pd.Timestamp("2020")):
        with pytest.raises(InvalidDataError, match=WHEN):
            fgm_by_rule(2).fit(table("pandas", city=when), Y)
        with pytest.raises(InvalidDataError, match=WHEN):
            fgm_by_rule(2).fit(table("polars", city=when.to_numpy()), Y)
        with pytest.raises(InvalidDataError, match=WHEN):  # of dates alone numpy would make nanoseconds
            fgm_by_rule(1).fit(pd.DataFrame({"city": when}), Y)


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_numbers_of_other_types_are_read(library):
    digits = table(library, c=[1, 2] * 20, d=[True, False] * 20, e=["1.5", "2"] * 20)
    clf = fgm_by_rule(2).fit(digits, Y)
    assert clf.feature_names_in_.tolist() == list("abcde")
    if library == "pandas":
        fgm_by_rule(2).fit(digits.assign(f=pd.Categorical([1, 2] * 20), g=pd.array([1, 2] * 20, dtype="Int8")), Y)


@pytest.mark.parametrize("clf", ESTIMATORS, ids=str)
def test_duplicate_names(clf):
    frame = pd.DataFrame(X, columns=list("abacdc"))
    message = r"duplicate column names in X: 'a' \(2 times\), 'c' \(2 times\); rename or drop"
    with pytest.raises(InvalidDataError, match=message):
        clf.fit(frame, Y)
    with pytest.raises(InvalidDataError, match="duplicate column names in X: 'a'"):
        clf.fit(pa.table([X[:, 0], X[:, 1]], names=["a", "a"]), Y)


def test_two_fits_of_a_stream_give_the_same_bits():
    one, two = (StreamClassifier(2).fit(X, Y) for _ in range(2))
    np.testing.assert_array_equal(one.coef_.toarray(), two.coef_.toarray())
    assert one.progressive_loss_ == two.progressive_loss_
    other = [StreamClassifier(2, random_state=None).fit(X, Y).progressive_loss_ for _ in range(4)]
    assert len(set(other)) > 1


@pytest.mark.parametrize("clf", [fgm_by_rule(2), SparseSVC(0.1, 1e-3), StreamClassifier(2)], ids=str)
def test_labels_that_look_continuous(clf):
    Z = np.random.default_rng(0).normal(size=(240, 4))
    with pytest.warns(ContinuousLabelsWarning, match="y has 25 classes in 240 samples, so it looks continuous"):
        clf.fit(Z, np.arange(240) % 25)


def test_few_or_well_filled_classes_are_quiet():
    Z = np.random.default_rng(0).normal(size=(240, 4))
    fgm_by_rule(2).fit(Z[:40], np.arange(40) % 20)
    fgm_by_rule(2).fit(Z, np.arange(240) % 24)


# labels, text and probabilities


@pytest.mark.parametrize("clf", [*ESTIMATORS, miles_by_rule(2)], ids=lambda clf: type(clf).__name__)
def test_labels_that_are_missing_or_not_one_for_each_sample(clf):
    gap = np.where(np.arange(40) < 3, np.nan, Y)
    words = np.where(np.arange(40) < 3, None, "a")
    for given in (gap, gap.astype(object), pd.Series(gap).astype("Int64"), words):
        with pytest.raises(InvalidDataError, match=r"3 of 40 labels are missing .*: drop these samples"):
            clf.fit(X, given)
    survival = np.array([(True, 1.0), (False, 2.0)] * 20, dtype=[("event", bool), ("time", float)])
    with pytest.raises(InvalidDataError, match=r"fields 'event', 'time', as scikit-survival .* example y\['event'\]$"):
        clf.fit(X, survival)
    with pytest.raises(InvalidDataError, match=r"array of shape \(40, 2\) instead: .*MultiOutputClassifier\(clf\)"):
        clf.fit(X, np.column_stack([Y, Y]).astype(int))


DOCUMENT = "word " * 500


@pytest.mark.parametrize("given", [[DOCUMENT] * 40, np.array([[DOCUMENT]] * 40), pd.Series([DOCUMENT] * 40)])
def test_a_text_is_not_shown_as_a_whole(given):
    for clf in ESTIMATORS:
        with pytest.raises(InvalidDataError, match=r"X contains text.*'word word .*\.\.\..*TfidfVectorizer") as caught:
            clf.fit(given, Y)
        assert len(str(caught.value)) < 300
    for parameter in ("class_weight", "C", "max_time"):
        with pytest.raises(ValueError, match=r"got 'word .*\.\.\.$") as caught:
            fgm_by_rule(2, **{parameter: DOCUMENT}).fit(X, Y)
        assert len(str(caught.value)) < 160


def test_probabilities_that_are_not_there_are_explained():
    for clf in [*ESTIMATORS, miles_by_rule(2), fgm_by_rule(2).fit(X, Y)]:
        assert not hasattr(clf, "predict_proba")
        with pytest.raises(AttributeError, match=r'have it with loss="logistic"; .* CalibratedClassifierCV\(clf\)'):
            clf.predict_proba(X)
    with pytest.raises(AttributeError, match="there is no selection_ yet: call fit"):
        _ = StreamClassifier().selection_
    with pytest.raises(AttributeError, match="has no attribute 'nonsense'"):
        _ = fgm_by_rule().nonsense
    assert fgm_by_rule(2, loss="logistic").fit(X, Y).predict_proba(X).shape == (40, 2)
