"""Products that may be selected only with their columns."""

import itertools
import time
from types import SimpleNamespace

import numpy as np
import pytest
from scipy import sparse

from tests.problems import many_classes
from tests.rule import fgm_by_rule
from thresher import Polynomial
from thresher.data.designs.base import Design
from thresher.data.scan.scores import Correlation
from thresher.features.polynomial.products import ProductDesign
from thresher.results import StopReason

rng = np.random.default_rng(5)
X = rng.standard_normal((200, 15))
Y = np.sign(X[:, 3] * X[:, 7] + 0.6 * X[:, 3] + 0.5 * X[:, 7] + X[:, 5] ** 2 - 1.0 + 0.4 * X[:, 5])
SPARSE = sparse.csr_array(np.where(np.abs(X) > 0.7, np.abs(X), 0.0))
Z, CODES, _, _ = many_classes(90, 12, seed=3)
RULES = {"strong": all, "weak": any}


def fitted(rule, A=X, labels=Y, **options):
    return fgm_by_rule(5, feature_map=Polynomial(heredity=rule), **options).fit(A, labels)


def keeps(rule, pairs):
    linear = {i for i, j in pairs.tolist() if j < 0}
    return all(RULES[rule](column in linear for column in pair) for pair in pairs.tolist() if pair[1] >= 0)


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize(
    ("A", "labels", "options"),
    [
        (X, Y, {}), (SPARSE, Y, {}), (X, Y, {"loss": "logistic"}), (X, Y, {"n_candidates": 3.0}),
        (X, Y, {"C": "auto", "cv": 3}), (X, Y, {"always_include": [1]}), (Z, CODES, {}),
        (Z, CODES, {"per_class": True}),
    ],
)  # fmt: skip
def test_every_model_on_the_path_keeps_heredity(rule, A, labels, options):
    clf = fitted(rule, A, labels, **options)
    assert any(j >= 0 for _, j in clf.selection_.pairs), "no product was selected: the test says nothing"
    if not options.get("per_class"):  # each class keeps it for itself
        assert clf.selection_.features.size == 5
    classes = np.atleast_2d(clf.selection_.weights.T)
    stations = [(clf.selection_.pairs, classes)] if not options.get("per_class") else []
    for pairs, weights in stations:
        assert keeps(rule, pairs)
        assert weights.any(axis=0).all()
    for station in clf.path_:
        if station.phase == "thresh":
            for weights in np.atleast_2d(station.weights.T) if options.get("per_class") else [None]:
                assert keeps(rule, station.pairs if weights is None else station.pairs[weights != 0.0])


def test_heredity_restricts_what_is_free_without_it():
    alone = np.sign(X[:, 2] * X[:, 9])  # neither column says anything by itself
    free = fgm_by_rule(1, feature_map=Polynomial()).fit(X, alone)
    assert free.selection_.pairs.tolist() == [[2, 9]]
    assert fitted("weak", labels=alone, n_candidates=1.0).selection_.pairs.tolist() != free.selection_.pairs.tolist()


@pytest.mark.parametrize("rule", RULES)
def test_the_best_allowed_products_are_found(rule):
    """Against all pairs of a small problem, by their scores once two linear terms are in the model."""
    clf = fgm_by_rule(3, feature_map=Polynomial(heredity=rule), always_include=[3, 7], n_candidates=1.0).fit(X, Y)
    assert clf.selection_.pairs.tolist() == [[3, -1], [7, -1], [3, 7]]
    z = (X - X.mean(axis=0)) / X.std(axis=0)
    base = fgm_by_rule(2, feature_map=Polynomial(), always_include=[3, 7]).fit(X, Y)
    pull = Y * np.maximum(0.0, 1.0 - Y * base.decision_function(X))
    pairs = itertools.combinations_with_replacement(range(15), 2)
    allowed = [pair for pair in pairs if RULES[rule](column in (3, 7) for column in pair)]
    scores = [(1.0 if i == j else np.sqrt(2.0)) * abs(z[:, i] * z[:, j] @ pull) for i, j in allowed]
    assert allowed[int(np.argmax(scores))] == (3, 7)


@pytest.fixture
def scans(monkeypatch):
    """Deadlines of scans of products and of those for what heredity allows, of which number ``late`` is too late.

    ``passes`` is what those that are not late cost.
    """
    seen, original = SimpleNamespace(products=[], allowed=[], late=None, passes=0.0), Design.scan

    def scan(self, score, reducer, deadline=None):
        kind = seen.products if isinstance(self, ProductDesign) else seen.allowed
        if kind is seen.products or isinstance(score, Correlation):
            kind.append(deadline)
            if kind is seen.allowed and len(kind) == seen.late:
                deadline = time.perf_counter()
            else:
                seen.passes += self.scan_cost().passes
        return original(self, score, reducer, deadline)

    monkeypatch.setattr(Design, "scan", scan)
    return seen


def passes_of_scans(trace):
    return sum(step.passes for step in trace.steps if step.kind == "scan")


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize(("labels", "options"), [(Y, {}), (Y, {"C": "auto", "cv": 3}), (CODES, {"per_class": True})])
def test_one_more_scan_serves_all_models_and_is_a_pass(rule, labels, options, scans):
    """Classes, folds and values of C; each scan of a turn is in the trace."""
    trace = fitted(rule, X if labels is Y else Z, labels, **options).selection_.trace
    assert len(scans.products) == len(scans.allowed) > 2
    assert passes_of_scans(trace) == pytest.approx(scans.passes)


@pytest.mark.parametrize("rule", RULES)
def test_max_time_is_heard_inside_the_scan_for_what_is_allowed(rule, scans):
    """The model of the turn before is thinned out, from terms that keep heredity."""
    scans.late = 3
    clf = fitted(rule, max_time=1000.0, features_per_turn=2, n_candidates=2.0)
    assert len(scans.allowed) == 3
    assert scans.allowed[0] is scans.products[0] is None, "one turn is always done"
    assert scans.allowed[2] == scans.products[2] is not None
    assert clf.selection_.stop is StopReason.MAX_TIME
    assert clf.selection_.features.size == 5
    assert keeps(rule, clf.selection_.pairs)
    assert passes_of_scans(clf.selection_.trace) == pytest.approx(scans.passes)
    clf.selection_.check()


def test_the_proof_counts_what_heredity_forbids():
    assert "terms (also those that heredity does not allow) could lower it" in fitted("strong").proof()
    assert "heredity" not in fgm_by_rule(3, feature_map="polynomial").fit(X, Y).proof()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"elimination": False}, "heredity needs elimination"),
        ({"n_features_to_select": None}, "heredity needs a number of features"),
    ],
)
def test_growth_alone_is_refused(options, message):
    clf = fgm_by_rule(**({"n_features_to_select": 3} | options), feature_map=Polynomial(heredity="weak"))
    with pytest.raises(ValueError, match=message):
        clf.fit(X, Y)


def test_heredity_needs_linear_terms():
    with pytest.raises(ValueError, match="coef0=0 leaves them out"):
        Polynomial(coef0=0, heredity="strong")
    with pytest.raises(ValueError, match="heredity must be one of"):
        Polynomial(heredity="very strong")
