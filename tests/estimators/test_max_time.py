"""max_time with many classes: a clock that counts work instead of seconds."""

import time
import warnings

import numpy as np
import pytest
from scipy import sparse

from tests.rule import fgm_by_rule
from thresher.data.designs.base import Design
from thresher.data.designs.memory import MemoryDesign
from thresher.data.input.validation import as_design
from thresher.data.scan.pieces import SCORE_COST, OutOfTime
from thresher.data.scan.reducers import TopK
from thresher.data.scan.scores import Correlation
from thresher.errors import FewerFeaturesWarning
from thresher.optim.elimination import by_curvature as elimination
from thresher.optim.solvers import newton
from thresher.results import StopReason

CLASSES = 6


class Clock:
    """Seconds that pass only when something is counted: steps of solvers and products of elimination."""

    def __init__(self):
        self.now, self.counts = 0.0, {}

    def __call__(self):
        return self.now

    def count(self, monkeypatch, owner, name, seconds=1.0):
        """Let every call of a method take ``seconds``."""
        original = getattr(owner, name)

        def counted(*args, **options):
            self.now += seconds
            self.counts[name] = self.counts.get(name, 0) + 1
            return original(*args, **options)

        monkeypatch.setattr(owner, name, counted)


@pytest.fixture
def clock(monkeypatch):
    """The clock of the process, which counts Newton steps and the products of elimination."""
    clock = Clock()
    monkeypatch.setattr(time, "perf_counter", clock)
    clock.count(monkeypatch, newton, "line_search")
    clock.count(monkeypatch, elimination._Elimination, "solved")
    clock.count(monkeypatch, elimination._Elimination, "by_active_set")
    return clock


def many_classes(n=120, p=120):
    """(CSR matrix, labels): each class has three columns of its own, the other columns are noise."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, CLASSES, n)
    own = 3 * y[:, None] + rng.integers(0, 3, (n, 2))
    columns = np.concatenate([own, rng.integers(3 * CLASSES, p, (n, 6))], axis=1)
    X = sparse.csr_array((np.ones(columns.size), (np.repeat(np.arange(n), 8), columns.ravel())), shape=(n, p))
    X.sum_duplicates()
    return X, y


def fit(max_time, **options):
    X, y = many_classes()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FewerFeaturesWarning)
        return fgm_by_rule(4, max_time=max_time, n_jobs=1, **options).fit(X, y)


@pytest.mark.parametrize("share", [0.0001, 0.3, 0.6, 0.9])
@pytest.mark.parametrize("per_class", [True, False])
@pytest.mark.parametrize("loss", ["squared_hinge", "logistic"])
def test_hardly_anything_is_done_after_the_deadline(clock, loss, per_class, share):
    """One step for each class that has no model yet, and no more than a few products of what was under way."""
    begun = clock.now
    fit(None, per_class=per_class, loss=loss)
    whole = clock.now - begun
    clock.counts.clear()
    begun, limit = clock.now, share * whole
    clf = fit(limit, per_class=per_class, loss=loss)
    over = clock.now - begun - limit
    assert clf.selection_.stop is StopReason.MAX_TIME
    assert clf.selection_.features.size >= 1
    assert (np.abs(clf.selection_.weights).max(axis=0) > 0).all(), "every class has a model"
    clf.selection_.check()
    assert over <= (CLASSES if share < 0.01 else 0) + 3, clock.counts


def test_the_path_that_is_made_in_the_fit_hears_the_deadline(clock, monkeypatch):
    monkeypatch.setattr("thresher.families.fgm.path.KEEP", 0)
    begun = clock.now
    fit(None)
    whole = clock.now - begun
    begun = clock.now
    clf = fit(0.95 * whole)
    assert clock.now - begun <= 0.95 * whole + 3
    assert len(clf.path_) > 0


def test_a_scan_that_begins_late_reads_nothing(monkeypatch):
    X, _ = many_classes()
    design = as_design(X)
    opened = []
    monkeypatch.setattr(MemoryDesign, "pieces", lambda self, vectors=1: opened.append(vectors) or iter(()))
    with pytest.raises(OutOfTime) as late:
        design.scan(Correlation(np.ones(120)), TopK(3), deadline=time.perf_counter())
    assert late.value.share == 0.0
    assert opened == []


def test_pieces_of_nearly_empty_columns_are_bounded_by_their_scores(monkeypatch):
    """With one entry in each column, ranking costs more than the products: a piece has fewer columns."""
    most, vectors, p = 20_000, 50, 3000
    monkeypatch.setattr("thresher.data.designs.memory.MOST_WORK", most)
    X = sparse.csc_array((np.ones(p), (np.arange(p) % 40, np.arange(p))), shape=(40, p))
    design: Design = as_design(X)
    assert max(piece.width for piece in design.pieces(vectors)) <= 1.1 * most / vectors / (1 + SCORE_COST) + 1
