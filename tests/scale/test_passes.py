"""Passes over X, the unit of cost: a trace says what a counting design saw, whatever is made of its columns."""

import threading

import numpy as np
import pytest
from scipy import sparse

from tests.laws.designs import CountingDesign
from tests.rule import fgm_by_rule
from thresher import AdditiveChi2, AdditiveGaussian, Groups, Intersection, Polynomial, Tree
from thresher.data.designs.base import Design
from thresher.data.designs.memory import MemoryDesign
from thresher.data.scan.scores import Correlation

RNG = np.random.default_rng(11)
X = np.where(RNG.random((90, 36)) < 0.6, RNG.integers(1, 17, (90, 36)) / 16, 0.0)
Y = (X[:, 0] * X[:, 1] + 0.5 * X[:, 2] + 0.1 * RNG.standard_normal(90) > 0.35).astype(int)
CLASSES = np.argmax([X[:, 0] * X[:, 1] + 0.3, X[:, 2] + 0.3 * X[:, 3], X[:, 4] + 0.3 * X[:, 5]], axis=0)

LABELS = {"groups": np.arange(36) // 3}
OVERLAPPING = {"groups": Groups([range(first, first + 6) for first in range(0, 33, 3)], ungrouped="single")}
TREE = {"groups": Tree(np.concatenate([36 + np.arange(36) // 6, np.full(6, -1)]))}
CHI2, GAUSSIAN = {"feature_map": AdditiveChi2(order=2)}, {"feature_map": AdditiveGaussian(frequencies=3)}
LEVELS, EXACT = {"feature_map": Intersection(levels=6)}, {"feature_map": Intersection(levels=100)}
PRODUCTS = {"feature_map": Polynomial()}
STRONG, WEAK = {"feature_map": Polynomial(heredity="strong")}, {"feature_map": Polynomial(heredity="weak")}
WAYS = {
    "elimination": (Y, {"n_candidates": 2.0, "always_include": [5]}),
    "growth alone": (CLASSES, {"elimination": False}),
    "C auto": (Y, {"elimination": False, "C": "auto", "cv": 2}),
}
KEEPING = {"elimination": WAYS["elimination"], "classes": (CLASSES, {"n_candidates": 2.0})}
EACH_WAY = pytest.mark.parametrize(("y", "how"), WAYS.values(), ids=WAYS)


def assert_said(made, y, how):
    """Passes are counted in entries by the block that is read, not by the code that reads it."""
    design = CountingDesign(X)
    trace = fgm_by_rule(3, **made, **how).fit(design, y).selection_.trace
    assert trace.passes == pytest.approx(design.passes())


@EACH_WAY
@pytest.mark.parametrize(
    "made",
    [LABELS, OVERLAPPING, TREE, CHI2, GAUSSIAN, GAUSSIAN | LABELS, LEVELS],
    ids=["labels", "overlapping", "tree", "chi2", "gaussian", "gaussian groups", "levels"],
)
def test_the_trace_says_what_was_read_of_groups_and_kernels(made, y, how):
    """Trace.passes == entries read / entries of X."""
    assert_said(made, y, how)


def test_the_trace_says_what_was_read_for_levels_that_are_learnt():
    """Trace.passes == entries read / entries of X."""
    assert_said(EXACT, *WAYS["elimination"])


def test_the_trace_says_what_was_read_of_products():
    """Trace.passes == entries read / entries of X."""
    assert_said(PRODUCTS, *WAYS["elimination"])


@pytest.fixture
def scans(monkeypatch):
    """The scans that score columns, but not those that are part of another scan."""
    seen, depth, original = [], threading.local(), Design.scan

    def scan(self, score, reducer, deadline=None):
        outermost = not getattr(depth, "inside", False)
        of_pool = type(self) is MemoryDesign  # columns that were gathered for a choice, in memory
        if outermost and isinstance(score, Correlation) and not of_pool:
            seen.append(type(self).__name__)
        depth.inside = True
        try:
            return original(self, score, reducer, deadline)
        finally:
            depth.inside = not outermost

    monkeypatch.setattr(Design, "scan", scan)
    return seen


def assert_each_scan_is_said(scans, made, X, y, how):
    trace = fgm_by_rule(3, **made, **how).fit(X, y).selection_.trace
    said = [step.passes for step in trace.steps if step.kind == "scan"]
    assert len(scans) > 2
    assert len(said) == len(scans)
    assert set(said) <= {1.0, 2.0}  # two of products of dense columns: see the law above


@EACH_WAY
@pytest.mark.parametrize("made", [EXACT, PRODUCTS], ids=["levels that are learnt", "products"])
@pytest.mark.parametrize("store", [np.asarray, sparse.csc_array], ids=["dense", "csc"])
def test_each_scan_is_a_pass_of_the_trace(scans, store, made, y, how):
    """All machines of all classes, folds and values of C share a scan, which is one pass; nothing else scans."""
    assert_each_scan_is_said(scans, made, store(X), y, how)


@pytest.mark.parametrize(("y", "how"), KEEPING.values(), ids=KEEPING)
@pytest.mark.parametrize("made", [STRONG, WEAK], ids=["strong", "weak"])
@pytest.mark.parametrize("store", [np.asarray, sparse.csc_array], ids=["dense", "csc"])
def test_each_scan_of_heredity_is_a_pass_of_the_trace(scans, store, made, y, how):
    """As without heredity: what products may come is found in the scans of the turn, or in such as are counted."""
    assert_each_scan_is_said(scans, made, store(X), y, how)
