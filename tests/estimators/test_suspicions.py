"""What makes a fit look too good is told: an index of the rows, a column that is the label, rows without labels."""

import warnings

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.datasets import load_breast_cancer, load_iris

from tests.rule import fgm_by_rule
from thresher import AlignmentPathClassifier, SparseSVC, SparseSVCPath, StreamClassifier
from thresher.errors import IndexColumnWarning, InvalidDataError, LeakWarning
from thresher.estimators.shared.suspicions import separation, warn_of_leak

RNG = np.random.default_rng(0)
ROWS = 200
X = RNG.standard_normal((ROWS, 5))
SORTED = np.repeat([0, 1], ROWS // 2)
NOISY = np.where(RNG.random(ROWS) < 0.3, 1 - SORTED, SORTED)
FITS = [fgm_by_rule(2), SparseSVC(), SparseSVCPath(n_betas=3, n_alphas=3), AlignmentPathClassifier(max_features=3)]
NAMES = [type(fit).__name__ for fit in FITS]


@pytest.mark.parametrize("clf", FITS, ids=NAMES)
def test_an_index_of_the_rows(clf):
    frame = pd.DataFrame(X, columns=list("abcde")).reset_index()
    told = r"column 'index' of X looks like an index of the rows \(values that rise by one in each row\)"
    with pytest.warns(IndexColumnWarning, match=told):
        clf.fit(frame, NOISY)
    assert clf.n_features_in_ == 6  # X is as it was
    with pytest.warns(IndexColumnWarning, match="column 2 of X looks"):
        clf.fit(np.insert(X, 2, np.arange(7, 7 + ROWS), axis=1), NOISY)
    shuffled = frame.rename(columns={"index": "Unnamed: 0"}).sample(frac=1.0, random_state=0)
    with pytest.warns(IndexColumnWarning, match=r"column 'Unnamed: 0' of X .*\(no name\)"):
        clf.fit(shuffled, NOISY)


def test_what_only_looks_similar_is_no_index():
    counts = np.arange(ROWS)
    columns = [2 * counts, -counts, counts + 0.5, np.r_[counts[:-1], 999], np.r_[9, counts[1:]]]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        fgm_by_rule(2).fit(np.column_stack([X, *columns]), NOISY)
        fgm_by_rule(2).fit(np.column_stack([X, counts])[:9], [0, 1, 1] * 3)
        fgm_by_rule(2).fit(sparse.csr_array(X), NOISY)


@pytest.mark.parametrize("form", [np.array, sparse.csr_array, sparse.csc_array, pd.DataFrame])
@pytest.mark.parametrize("clf", FITS, ids=NAMES)
def test_a_column_that_is_the_label(clf, form):
    leaky = np.column_stack([X, NOISY * 3.0 + 0.01 * X[:, 0]])
    given = pd.DataFrame(leaky, columns=list("abcdef")) if form is pd.DataFrame else form(leaky)
    name = "'f'" if form is pd.DataFrame else "5"
    with pytest.warns(LeakWarning, match=rf"column {name} alone explains 100 % \(balanced accuracy") as told:
        clf.fit(given, NOISY)
    assert sum(issubclass(each.category, LeakWarning) for each in told) == 1
    assert {each.filename for each in told} == {__file__}


@pytest.mark.parametrize("clf", FITS, ids=NAMES)
@pytest.mark.parametrize("method", ["fit", "fit_transform"])
def test_warnings_are_of_the_line_of_the_user(clf, method):
    frame = pd.DataFrame(X).reset_index().assign(label=NOISY).rename(columns=str)
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        getattr(clf, method)(frame, NOISY)
    assert {IndexColumnWarning, LeakWarning} <= {each.category for each in told}
    assert {each.filename for each in told} == {__file__}


@pytest.mark.parametrize("n_classes", [2, 3])
def test_rare_classes_are_looked_at_in_large_data(n_classes):
    """Rows that are spread evenly over all would have none of the 40."""
    codes = np.arange(400_000) % (n_classes - 1)
    codes[np.arange(1, 400_000, 10_000)] = n_classes - 1
    noise, leak = np.random.default_rng(1).standard_normal(codes.size), codes.astype(float)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warn_of_leak([(1, noise)], codes, str)
    with pytest.warns(LeakWarning, match="column 1 alone explains 100 %"):
        warn_of_leak([(0, noise), (1, leak)], codes, str)


def leaks(clf, X, y):
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        clf.fit(X, y)
    return sum(issubclass(each.category, LeakWarning) for each in told)


def test_where_one_column_explains_much_nothing_is_told():
    """Real data, rare classes of few rows, and many classes of which one column separates but one."""
    assert not leaks(fgm_by_rule(5), *load_breast_cancer(return_X_y=True))
    assert not leaks(fgm_by_rule(2), *load_iris(return_X_y=True))
    few = np.r_[np.ones(29), np.zeros(171)]
    assert not leaks(fgm_by_rule(2), np.column_stack([X, few]), few)
    enough = np.r_[np.ones(30), np.zeros(170)]
    assert leaks(fgm_by_rule(2), np.column_stack([X, enough]), enough) == 1
    three = np.arange(ROWS) % 3
    assert leaks(fgm_by_rule(2), np.column_stack([X, three]), three) == 1
    assert not leaks(fgm_by_rule(2), np.column_stack([X, three == 0]), three)


def test_balanced_accuracy_of_the_best_threshold():
    values, codes = np.array([0.0, 1, 2, 3, 4, 5, 6, 7]), np.array([0, 0, 0, 1, 0, 1, 1, 1])
    assert separation(values, codes) == pytest.approx(7 / 8)
    assert separation(-values, codes) == pytest.approx(7 / 8)
    assert separation(np.zeros(8), codes) == 0.5
    assert separation(codes * 1.0, codes) == 1.0


@pytest.mark.parametrize("clf", [*FITS, StreamClassifier(2)], ids=[*NAMES, "StreamClassifier"])
@pytest.mark.parametrize("kind", ["floats", "strings", "list", "series"])
def test_missing_labels_are_told_by_their_rows(clf, kind):
    y = NOISY.astype(float)
    y[[3, 70]] = np.nan
    given = {
        "floats": y, "strings": np.where(np.isnan(y), None, "a"), "list": ["a", *y[1:].tolist()],
        "series": pd.Series(np.where(np.isnan(y), None, "a")),
    }  # fmt: skip
    with pytest.raises(InvalidDataError, match=r"2 of .* labels are missing \(NaN or None\), in rows 3, 70 \(from 0\)"):
        clf.fit(X, given[kind])
    with pytest.raises(InvalidDataError, match=r"in rows 0, 1, 2, 3, 4, \.\.\. \(from 0\)"):
        clf.fit(X, np.full(ROWS, np.nan))
