"""Data frames: new data that has only the selected columns, in any order; a selection as a data frame."""

import re
import sys

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from tests.problems import many_classes, problem
from tests.rule import fgm_by_rule, miles_by_rule
from thresher import (
    AlignmentPathClassifier,
    SparseSVC,
    SparseSVCPath,
    StreamClassifier,
    load,
    save,
)
from thresher.errors import InvalidDataError

X, Y, _ = problem(60, 12, 5)
NAMES = [f"GENE{j:03d}" for j in range(12)]
MADE = {"pandas": pd.DataFrame, "polars": pl.DataFrame, "pyarrow": pa.table}
SELECTORS = [
    fgm_by_rule(3, loss="logistic"),
    fgm_by_rule(3, feature_map="polynomial"),
    fgm_by_rule(2, groups=np.repeat(np.arange(6), 2)),
    fgm_by_rule(2, feature_map="additive_gaussian"),
    fgm_by_rule(2, always_include=["GENE011"], scale=None),
    SparseSVC(1e-2, 0.1),
    SparseSVCPath(2, 3, beta_ratio=0.5),
    StreamClassifier(3),
    AlignmentPathClassifier(cv=None, max_features=4),
    AlignmentPathClassifier([("rbf", [0, 1]), ("rbf", [4, 7]), ("linear", [2])], cv=None, max_features=2),
]


def frame(library, columns=range(12), A=X):
    return MADE[library]({NAMES[j]: A[:, j] for j in columns})


def used(clf):
    """The selected columns, in another order."""
    return clf.get_support(indices=True)[::-1].tolist()


@pytest.mark.parametrize("library", MADE)
@pytest.mark.parametrize("clf", SELECTORS, ids=lambda clf: type(clf).__name__)
def test_only_the_selected_columns_are_needed_in_any_order(clf, library):
    whole = frame(library)
    clf.fit(whole, Y)
    assert len(used(clf)) < 11
    part = frame(library, used(clf))
    for method in ("predict", "decision_function", "predict_proba", "transform"):
        if hasattr(clf, method):
            found, wanted = getattr(clf, method)(part), getattr(clf, method)(whole)
            assert found.shape == wanted.shape
            assert np.array_equal(found, wanted) or np.allclose(found, wanted, rtol=0.0, atol=1e-12)
    assert clf.score(part, Y) == clf.score(whole, Y)
    others = [j for j in range(12) if j not in used(clf)]
    with_more = frame(library, [*others[:1], *used(clf)])
    np.testing.assert_array_equal(clf.predict(with_more), clf.predict(whole))
    data = {NAMES[j]: X[:, j] for j in [*used(clf), *others]} | {"label": Y}
    np.testing.assert_array_equal(clf.predict(MADE[library](data)), clf.predict(whole))


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_what_transform_returns_of_the_selected_columns(library):
    clf = fgm_by_rule(3).set_output(transform=library)
    whole = frame(library, A=np.round(4 * X).astype(np.int64))
    clf.fit(whole, Y)
    part = frame(library, used(clf), np.round(4 * X).astype(np.int64))
    one, other = clf.transform(whole), clf.transform(part)
    assert list(one.columns) == list(other.columns) == [NAMES[j] for j in used(clf)[::-1]]
    assert list(one.dtypes) == list(other.dtypes) == list(whole.dtypes)[:3]
    assert one.equals(other)


def test_wrong_names_are_still_refused():
    clf = fgm_by_rule(3).fit(frame("pandas"), Y)
    selected = used(clf)
    others = [j for j in range(12) if j not in selected]
    missing = re.escape(
        f"yet now missing:\n- {NAMES[selected[0]]}\nOnly the 3 selected columns are needed; of these 1 "
    )
    for method in (clf.predict, clf.transform):
        with pytest.raises(InvalidDataError, match=missing):
            method(frame("pandas", [*others, *selected[1:]]))
        with pytest.raises(InvalidDataError, match=missing):
            method(frame("pandas", selected[1:]).assign(other=1.0))
    with pytest.raises(ValueError, match="unseen at fit time"):
        clf.predict(frame("pandas").add_prefix("new_"))
    with pytest.raises(ValueError, match="same order"):
        clf.predict(frame("pandas", range(11, -1, -1)))
    with pytest.raises(ValueError, match="duplicate column names"):
        clf.predict(pd.concat([frame("pandas", selected)] * 2, axis=1))
    with pytest.warns(UserWarning, match="valid feature names"), pytest.raises(ValueError, match="X has 3 features"):
        clf.predict(X[:, selected])
    broken = frame("pandas", selected).assign(**{NAMES[selected[0]]: np.nan})
    with pytest.raises(ValueError, match=f"NaN or infinity, first in column '{NAMES[selected[0]]}'"):
        clf.predict(broken)
    with pytest.raises(ValueError, match=f"column '{NAMES[selected[0]]}' of X contains text"):
        clf.predict(broken.assign(**{NAMES[selected[0]]: "a"}))


def test_what_reads_other_columns_needs_them():
    """Rows are compared in all columns; a path has models with other columns."""
    bags = miles_by_rule(2, sigma=1.0).fit(frame("pandas"), Y)
    with pytest.raises(ValueError, match="yet now missing"):
        bags.predict(frame("pandas", range(11)))
    clf = fgm_by_rule(3).fit(frame("pandas"), Y)
    for method in (clf.checked, clf.interchangeable):
        with pytest.raises(ValueError, match="yet now missing"):
            method(frame("pandas", used(clf)))


# a selection as a data frame


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_a_selection_as_a_data_frame(library, tmp_path):
    clf = fgm_by_rule(3).fit(frame(library), np.where(Y > 0, "sick", "well"))
    table, selection = clf.selection_.to_frame(), clf.selection_
    assert type(table) is MADE[library]
    assert list(table.columns) == ["feature", "weight", "importance", "rank", "class"]
    order = selection.ranking
    assert list(table["feature"]) == [NAMES[j] for j in selection.features[order]]
    assert list(table["weight"]) == selection.weights[order].tolist()
    assert list(table["importance"]) == selection.importance[order].tolist()
    assert list(table["rank"]) == [1, 2, 3]
    assert list(table["class"]) == np.where(selection.weights[order] > 0, "well", "sick").tolist()
    other = "polars" if library == "pandas" else "pandas"
    assert type(clf.selection_.to_frame(other)) is MADE[other]
    assert type(clf.at(2).selection_.to_frame()) is MADE[library]
    save(clf, tmp_path / "model.json")
    assert load(tmp_path / "model.json").selection_.to_frame().equals(table)


def test_a_row_for_each_class():
    A, labels, _, _ = many_classes()
    clf = fgm_by_rule(3).fit(A, labels)
    table, selection = clf.selection_.to_frame(), clf.selection_
    assert list(table["rank"]) == np.repeat([1, 2, 3], 3).tolist()
    assert list(table["class"]) == [0, 1, 2] * 3
    first = selection.ranking[0]
    assert list(table["feature"][:3]) == [f"x{selection.features[first]}"] * 3
    assert list(table["weight"][:3]) == selection.weights[first].tolist()


@pytest.mark.parametrize("clf", SELECTORS, ids=lambda clf: type(clf).__name__)
def test_every_selection_can_be_a_data_frame(clf):
    clf.fit(frame("pandas"), Y)
    table, listing = clf.selection_.to_frame(), clf.describe().listing
    assert list(table["feature"]) == clf.fitted_features_.names(
        clf.selection_.features[clf.selection_.ranking], NAMES.__getitem__
    )
    assert ("importance" in table) == (clf.selection_.importance is not None)
    assert ("class" in table) != isinstance(clf, AlignmentPathClassifier)
    assert not table.isna().any().any()
    assert listing.size <= len(table) == clf.selection_.features.size


def test_the_library_of_a_table(monkeypatch):
    selection = fgm_by_rule(3).fit(X, Y).selection_
    assert type(selection.to_frame()) is pd.DataFrame
    with pytest.raises(ValueError, match="library must be None, 'pandas' or 'polars', got 'dask'"):
        selection.to_frame("dask")
    monkeypatch.setitem(sys.modules, "pandas", None)
    assert type(selection.to_frame()) is pl.DataFrame
    with pytest.raises(ImportError, match="to_frame needs pandas: pip install pandas"):
        selection.to_frame("pandas")
    monkeypatch.setitem(sys.modules, "polars", None)
    with pytest.raises(ImportError, match="to_frame needs pandas or polars: pip install pandas"):
        selection.to_frame()
