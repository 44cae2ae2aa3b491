"""Bags as users give them: values of any type, what is refused, and scores by bag."""

import pickle
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
import sklearn
from scipy import sparse
from sklearn.base import clone
from sklearn.metrics import f1_score
from sklearn.model_selection import GridSearchCV, GroupKFold, cross_val_score, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from tests.estimators.test_miles import made_bags
from tests.rule import miles_by_rule
from thresher import (
    FewerFeaturesWarning,
    InvalidDataError,
    MissingBagsWarning,
    PrecisionAtK,
    bag_scorer,
)
from thresher.data.input.validation import as_design
from thresher.errors import InvalidDataTypeError
from thresher.estimators.miles.bags import grouped

X, y, bags = made_bags()
SORTED = np.array([f"{bag:04d}" for bag in bags])  # strings in the order of the numbers

GIVEN = {
    "list": bags.tolist(),
    "tuple": tuple(bags.tolist()),
    "floats": bags + 0.5,
    "strings": SORTED,
    "list of strings": SORTED.tolist(),
    "objects": SORTED.astype(object),
    "bytes": SORTED.astype("S"),
    "StringDType": SORTED.astype(np.dtypes.StringDType()),
    "column": bags[:, None],
    "dates": np.datetime64("2020-01-01") + bags,
    "pairs": pd.MultiIndex.from_arrays([bags, bags]),
    "masked": np.ma.array(bags, mask=False),
    "Series": pd.Series(bags, index=np.arange(bags.size)[::-1]),
    "Int64": pd.Series(bags, dtype="Int64"),
    "string": pd.Series(SORTED, dtype="string"),
    "category": pd.Series(bags).astype("category"),
    "frame": pd.DataFrame({"bag": bags}),
    "polars": pl.Series(bags),
    "polars strings": pl.Series(SORTED.tolist()),
    "polars frame": pl.DataFrame({"bag": bags}),
}


@pytest.mark.parametrize("kind", GIVEN)
def test_bags_may_be_of_any_type_that_has_an_order(kind):
    _, codes = np.unique(bags, return_inverse=True)
    found = grouped(GIVEN[kind], bags.size)
    np.testing.assert_array_equal(found.bags.codes, codes)
    assert found.bags.count == found.names.size == 40
    scores = miles_by_rule(2, sigma=1.5).fit(X, y, bags=GIVEN[kind]).decision_function(X, bags=GIVEN[kind])
    np.testing.assert_array_equal(scores, miles_by_rule(2, sigma=1.5).fit(X, y, bags=bags).decision_function(X, bags))


def with_fourth(value, values=SORTED):
    """A list with another value in row 3."""
    return [*values[:3].tolist(), value, *values[4:].tolist()]


MISSING = {
    "NaN among floats": with_fourth(np.nan, bags),
    "NaN in a list of strings": with_fourth(np.nan),
    "None in a list of strings": with_fourth(None),
    "NaN among objects": np.array(with_fourth(np.nan), dtype=object),
    "NA among objects": np.array(with_fourth(pd.NA), dtype=object),
    "NaT": np.array(with_fourth(np.datetime64("NaT"), np.datetime64("2020-01-01") + bags), dtype="M8[D]"),
    "NA of Int64": pd.Series(with_fourth(None, bags), dtype="Int64"),
    "NA of string": pd.Series(with_fourth(None), dtype="string"),
    "NA of category": pd.Series(with_fourth(None)).astype("category"),
    "null of polars": pl.Series(with_fourth(None, bags)),
    "null of polars strings": pl.Series(with_fourth(None)),
    "masked": np.ma.array(bags, mask=np.arange(bags.size) == 3),
    "masked strings": np.ma.array(SORTED, mask=np.arange(bags.size) == 3),
}


@pytest.mark.parametrize("kind", MISSING)
def test_a_missing_bag_is_refused_wherever_it_hides(kind):
    for call in (miles_by_rule(2).fit, FITTED.score):
        with pytest.raises(InvalidDataError, match=r"bags has 1 missing value, first in row 3: each row must belong"):
            call(X, y, bags=MISSING[kind])


@pytest.mark.parametrize("value", [7, np.zeros(2), {}])
def test_values_without_an_order_are_refused(value):
    with pytest.raises(InvalidDataError, match="values that cannot be compared"):
        grouped(np.array([*"abc", value, "d"], dtype=object), 5)


def test_a_number_in_a_list_of_strings_is_no_string():
    """Numpy would make strings of all: 7 and "7" would be the same bag."""
    with pytest.raises(InvalidDataError, match="values that cannot be compared"):
        grouped(["7", "a", 7], 3)


FITTED = miles_by_rule(2, sigma=1.5).fit(X, y, bags=bags)


def test_lengths_that_differ_are_refused():
    for how in ({}, {"bags": bags}):
        with pytest.raises(ValueError, match=r"inconsistent numbers of samples: \[143, 142\]"):
            FITTED.score(X, y[1:], **how)


def test_a_scorer_without_bags_says_how_to_pass_them():
    """Else rows would be scored in place of bags: without metadata routing scorers get no bags."""
    with pytest.raises(ValueError, match=r"bag_scorer\('f1'\) received no bags.*enable_metadata_routing=True"):
        bag_scorer("f1")(FITTED, X, y)
    how = {"cv": GroupKFold(4), "scoring": bag_scorer("f1"), "groups": bags, "params": {"bags": bags}}
    with pytest.warns(UserWarning, match="received no bags"):
        assert np.isnan(cross_val_score(miles_by_rule(2, sigma=1.5), X, y, **how)).all()
    alone = miles_by_rule(2, sigma=1.5).fit(X, y)
    assert bag_scorer("f1")(alone, X, y, bags=None) == pytest.approx(f1_score(y, alone.predict(X)))


def test_measures_and_several_scorers():
    scoring = {"best": bag_scorer(PrecisionAtK(3)), "area": bag_scorer("roc_auc")}
    with sklearn.config_context(enable_metadata_routing=True):
        found = cross_validate(
            miles_by_rule(2, sigma=2.0), X, y, cv=GroupKFold(4), scoring=scoring,
            params={"bags": bags, "groups": bags}, return_estimator=True, return_indices=True,
        )  # fmt: skip
    for clf, test, value in zip(found["estimator"], found["indices"]["test"], found["test_best"], strict=True):
        names, first = np.unique(bags[test], return_index=True)
        best = np.argsort(-clf.decision_function(X[test], bags=bags[test]), kind="stable")[:3]
        assert value == pytest.approx(y[test][first][best].mean())
        assert names.size > 3
    assert found["test_area"].min() > 0.5


@pytest.mark.parametrize("loss", ["squared_hinge", "f1"])
@pytest.mark.parametrize("sigma", [1e-300, 1e-160, 1e160, 1e300])
def test_widths_whose_square_is_no_number(sigma, loss):
    """All similarities are 0 or 1, up to rounding; nothing overflows."""
    for storage in (np.asarray, sparse.csr_array):
        clf = miles_by_rule(2, sigma=sigma, loss=loss, scale=None)
        with np.errstate(all="raise", under="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore", FewerFeaturesWarning)  # constant similarities are not selected
            clf.fit(storage(X), y, bags=bags)
            assert np.isfinite(clf.decision_function(storage(X), bags=bags)).all()
        S = clf.transform(storage(X), bags=bags)
        assert np.isin(S, (0.0, 1.0)).all()


@pytest.mark.parametrize("scale", ["std", "max", "unit", None])
def test_constant_columns_count_alike_in_every_storage(scale):
    """With "std" they count nothing: there is no deviation to measure new values by."""
    Z, new = (np.hstack([X, np.full((len(X), 1), v), np.full((len(X), 1), w)]) for v, w in ((0.0, 0.1), (1.0, 3.0)))
    scores = []
    for storage in (np.asarray, sparse.csr_array, sparse.csc_array):
        clf = miles_by_rule(3, sigma=1.5, scale=scale).fit(storage(Z), y, bags=bags)
        scores.append(clf.decision_function(storage(new), bags=bags))
    np.testing.assert_allclose(scores[1:], [scores[0]] * 2, atol=1e-6)
    same = np.allclose(scores[0], clf.decision_function(Z, bags=bags), atol=1e-6)
    assert same == (scale == "std")


def test_bags_are_routed_to_fit_and_scorers():
    clf = miles_by_rule(4, sigma=2.0)
    how = {"cv": GroupKFold(4), "params": {"bags": bags, "groups": bags}}
    with sklearn.config_context(enable_metadata_routing=True):
        found = cross_val_score(clf, X, y, scoring=bag_scorer("f1"), **how)
        by_function = cross_val_score(clf, X, y, scoring=bag_scorer(f1_score), **how)
        accuracy = cross_val_score(clf, X, y, **how)  # score(X, y, bags=)
        pipe = make_pipeline(StandardScaler(), miles_by_rule(4, sigma=2.0, scale=None))
        piped = cross_val_score(pipe, X, y, scoring=bag_scorer("f1"), **how)
        area = cross_val_score(clf, X, y, scoring=bag_scorer("roc_auc"), **how)
        search = GridSearchCV(clf, {"sigma": [1.0, 2.0]}, scoring=bag_scorer("accuracy"), cv=GroupKFold(4))
        search.fit(X, y, bags=bags, groups=bags)
    expected, right = [], []
    for train, test in GroupKFold(4).split(X, y, bags):
        fitted = clone(clf).fit(X[train], y[train], bags=bags[train])
        labels = np.array([y[test][bags[test] == bag][0] for bag in np.unique(bags[test])])
        predicted = fitted.predict(X[test], bags=bags[test])
        expected.append(f1_score(labels, predicted))
        right.append(np.mean(labels == predicted))
    np.testing.assert_allclose(found, expected)
    np.testing.assert_allclose(by_function, expected)
    np.testing.assert_allclose(accuracy, right)
    np.testing.assert_allclose(piped, expected, atol=0.2)
    assert area.min() > 0.5
    assert search.cv_results_["mean_test_score"][1] == pytest.approx(np.mean(right))


def test_probabilities_for_scorers():
    clf = miles_by_rule(4, sigma=2.0, loss="logistic").fit(X, y, bags=bags)
    chances = clf.predict_proba(X, bags=bags)
    np.testing.assert_allclose(chances[:, 1], 1.0 / (1.0 + np.exp(-clf.decision_function(X, bags=bags))))
    assert bag_scorer("neg_log_loss")(clf, X, y, bags=bags) < 0.0
    assert repr(bag_scorer("f1")) == "bag_scorer('f1')"
    assert pickle.loads(pickle.dumps(bag_scorer("f1")))(clf, X, y, bags=bags) > 0.5
    with pytest.raises(ValueError, match="name of a scorer, a function or a measure"):
        bag_scorer(3)
    with pytest.raises(AttributeError):
        bag_scorer("neg_log_loss")(miles_by_rule(2, sigma=2.0).fit(X, y, bags=bags), X, y, bags=bags)


BAD = {
    "one bag": ({"bags": np.zeros(len(X))}, "only one value"),
    "two labels": ({"bags": np.where(np.isin(bags, [5, 8]), 8, bags)}, "y must be equal.*bag 8 has"),
    "two weights": (
        {"sample_weight": np.arange(len(X)) + 1.0},
        "sample_weight must be equal .* bag 77 has 13.0 and 19.0",
    ),
    "too short": ({"bags": bags[1:]}, f"bags has {len(X) - 1} values, but X has {len(X)} rows"),
    "two columns": ({"bags": np.stack([bags, bags], axis=1)}, "one value for each row"),
    "missing": ({"bags": np.where(bags == 5, np.nan, bags)}, "missing values?, first in row"),
    "None": ({"bags": np.array([None, *bags[1:]], dtype=object)}, "1 missing value, first in row 0"),
    "mixed": ({"bags": np.array(["a", *bags[1:]], dtype=object)}, "cannot be compared"),
}


@pytest.mark.parametrize("what", BAD)
def test_bad_bags_are_refused(what):
    how, match = BAD[what]
    with pytest.raises(InvalidDataError, match=match):
        miles_by_rule(2).fit(X, y, **{"bags": bags} | how)


@pytest.mark.parametrize("sigma", [0, -1.0, np.inf, "median", None, [1.0]])
def test_bad_sigma_is_refused_before_any_work(sigma):
    with pytest.raises(ValueError, match="sigma must be"):
        miles_by_rule(2, sigma=sigma).fit(None, None)


@pytest.mark.parametrize(
    ("params", "match"),
    [
        ({"n_instances_to_select": 0}, "n_instances_to_select must be None, an integer >= 1"),
        ({"n_instances_to_select": 10_000}, "n_instances_to_select=10000 must be between 1 and"),
        ({"n_instances_to_select": 1.5}, "n_instances_to_select must be None"),
        ({"n_instances_to_select": "3"}, "n_instances_to_select must be None"),
        ({"loss": "hinge"}, "loss must be one of"),
        ({"scale": "robust"}, "scale must be one of"),
    ],
)
def test_bad_parameters_are_refused(params, match):
    with pytest.raises(ValueError, match=match):
        miles_by_rule(**params).fit(X, y, bags=bags)


def test_the_name_of_a_column_is_not_a_column():
    with pytest.raises(InvalidDataError, match="one value for each row, got 'patient': pass the column itself"):
        miles_by_rule(2).fit(X, y, bags="patient")


def test_bad_rows_are_refused():
    clf = miles_by_rule(2, sigma=1.0).fit(pd.DataFrame(X, columns=list("uvwxyz")), y, bags=bags)
    bad = pd.DataFrame(X, columns=list("uvwxyz"))
    bad.iloc[3, 1] = np.nan
    for what in (clf.predict, clf.transform, clf.predict_instances):
        with pytest.raises(InvalidDataError, match="column 'v'"):
            what(bad, bags=bags)
    with pytest.raises(InvalidDataError, match="column 'v'"):
        miles_by_rule(2).fit(bad, y, bags=bags)
    with pytest.raises(ValueError, match="feature names should match"):
        clf.predict(pd.DataFrame(X[:, :5], columns=list("uvwxy")), bags=bags)
    with pytest.raises(InvalidDataTypeError, match="read by columns"):
        miles_by_rule(2).fit(as_design(X), y, bags=bags)
    with pytest.raises(InvalidDataError, match="bags has 3 values"):
        clf.predict(pd.DataFrame(X, columns=list("uvwxyz")), bags=[1, 2, 3])
    with pytest.raises(ValueError, match="X has 5 features"):
        miles_by_rule(2, sigma=1.0).fit(X, y, bags=bags).predict(X[:, :5], bags=bags)


def test_a_model_of_bags_is_told_when_none_are_given():
    """Each row counts as a bag then, which is hardly ever meant; given by name, or never fitted to bags, nothing is."""
    clf = miles_by_rule(3, sigma=1.5).fit(X, y, bags=bags)
    for model in (clf, pickle.loads(pickle.dumps(clf)), clf.at(2)):
        with pytest.warns(MissingBagsWarning, match="each row counts as one"):
            model.predict(X)
    with pytest.warns(MissingBagsWarning, match="enable_metadata_routing"):
        cross_val_score(miles_by_rule(3, sigma=1.5), X, y, params={"bags": bags}, cv=GroupKFold(2), groups=bags)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        clf.predict(X, bags=np.arange(len(X)))
        miles_by_rule(3, sigma=1.5).fit(X, y, sample_weight=(np.arange(len(X)) % 5 > 0).astype(float)).predict(X)
