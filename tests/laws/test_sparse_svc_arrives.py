"""SparseSVC reaches its tolerance on drawn problems of every kind, and its model is that of a conic solver."""

import sys
import warnings

import numpy as np
import pytest
from scipy import sparse

from thresher import SparseSVC
from thresher.datasets import make_wide
from thresher.errors import FewerFeaturesWarning
from thresher.families.sparse_svm import interior
from thresher.families.sparse_svm.monitor import SolveMonitor
from thresher.optim.elastic.interior import ElasticInterior
from thresher.results import StopReason

SHAPES = [(20, 400), (60, 60), (400, 20), (30, 1500), (150, 150), (300, 60), (120, 1000)]
FEW, SOME, MANY, AT_A_TIME = 12, 150, 3150, 50


def drawn(seed, shapes=SHAPES):
    """(X, y, sample weights or None, parameters): penalties from 1 to 1e-6 of the largest ones that matter."""
    rng = np.random.default_rng(seed)
    n, p = shapes[rng.integers(len(shapes))]
    X, kind = rng.standard_normal((n, p)), rng.choice(["plain", "correlated", "duplicates", "sparse", "ties"])
    if kind == "correlated":
        X = 0.1 * X + np.outer(X @ rng.standard_normal(p), rng.standard_normal(p)) / np.sqrt(p)
    elif kind == "duplicates":
        X[:, p // 2 :] = X[:, : p - p // 2] * rng.choice([-1, 1])
    elif kind == "sparse":
        X *= rng.random((n, p)) < 0.05
    elif kind == "ties":
        X = np.round(X)
    if rng.random() < 0.3:
        X = X * 10.0 ** rng.uniform(-3, 3, p)
    signal = X[:, :5] @ rng.standard_normal(5)
    y = np.where(signal + 0.5 * rng.standard_normal(n) * X[:, :5].std() + 0.3 * rng.standard_normal() > 0, 1, -1)
    if rng.random() < 0.2:
        y = rng.choice([-1, 1], n)
    y[:2] = -1, 1
    weights = None
    if rng.random() < 0.3:
        weights = rng.exponential(size=n) * (rng.random(n) < 0.8)
        weights[:2] = 1.0
    shares = (np.ones(n) if weights is None else weights) / (n if weights is None else weights.sum())
    most = np.abs(X.T @ (shares * y)).max() or 1.0
    longest = np.sqrt((X**2).sum(axis=1).max()) or 1.0
    options = {
        "alpha": 2.0 * most * longest * 10.0 ** rng.uniform(-6, 0),
        "beta": most * 10.0 ** rng.uniform(-6, 0),
        "smoothing": float(rng.choice([0.5, 0.05, 0.95])),
        "fit_intercept": bool(rng.integers(2)),
        "scale": None,
    }
    return sparse.csr_array(X) if rng.random() < 0.3 else X, y, weights, options


def fitted(X, y, weights, options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FewerFeaturesWarning)
        return SparseSVC(**options).fit(X, y, sample_weight=weights)


def arrives(seeds):
    """Every fit reaches tol; not to do so would be a warning, which is an error here."""
    for seed in seeds:
        clf = fitted(*drawn(seed))
        assert clf.selection_.stop is StopReason.CONVERGED, f"seed {seed}"
        assert clf.selection_.certificate.gap <= 1e-6, f"seed {seed}"


@pytest.mark.parametrize("begin", range(0, SOME, AT_A_TIME))
def test_it_arrives(begin):
    arrives(range(begin, begin + AT_A_TIME))


@pytest.mark.slow
@pytest.mark.parametrize("begin", range(SOME, SOME + MANY, AT_A_TIME))
def test_it_arrives_on_many(begin):
    arrives(range(begin, begin + AT_A_TIME))


def conic_optimum(X, y, weights, options):
    """The least objective, by an independent solver."""
    cp = pytest.importorskip("cvxpy")
    n, p = X.shape
    cost = np.full(n, 1.0 / n) if weights is None else weights / weights.sum()
    w, b, slack = cp.Variable(p), cp.Variable(), cp.Variable(n)
    # the smoothed hinge is the least of  slack + part^2 / (2 gamma)  over ways to split the lack, see SmoothedHinge
    part = cp.Variable(n)
    gamma = options["smoothing"]
    lack = 1.0 - cp.multiply(y, X @ w + (b if options["fit_intercept"] else 0.0))
    loss = cost @ (slack + cp.square(part) / (2.0 * gamma))
    penalty = 0.5 * options["alpha"] * cp.sum_squares(w) + options["beta"] * cp.norm1(w)
    problem = cp.Problem(cp.Minimize(loss + penalty), [slack + part >= lack, slack >= 0, part >= 0, part <= gamma])
    return problem.solve(solver=cp.CLARABEL)


@pytest.mark.parametrize("seed", range(FEW))
def test_the_objective_is_that_of_a_conic_solver(seed):
    X, y, weights, options = drawn(10_000 + seed, shapes=[(20, 60), (30, 30), (60, 20)])
    clf = fitted(X, y, weights, options)
    theirs = conic_optimum(X, y, weights, options)
    assert clf.selection_.certificate.objective == pytest.approx(theirs, rel=1e-5, abs=1e-7)


@pytest.mark.parametrize(("alpha", "beta"), [(1e-2, 1e-2), (1e-3, 1e-4)])
@pytest.mark.parametrize("shift", [False, True])
def test_dense_wide_data_with_small_penalties(alpha, beta, shift):
    """Weights outnumber samples, nearly all samples are at the margin: the interior point method is needed."""
    data = make_wide(150, 1500, 50, random_state=0)
    clf = SparseSVC(alpha, beta, scale=None, fit_intercept=shift).fit(data.X, data.y)
    assert clf.selection_.certificate.gap <= 1e-9


def test_the_working_set_of_columns_grows(monkeypatch):
    monkeypatch.setattr(interior, "FIRST_COLUMNS", 0.5)
    monkeypatch.setattr(interior, "LEAST_COLUMNS", 20)
    joined, join = [], ElasticInterior.join
    monkeypatch.setattr(ElasticInterior, "join", lambda self, X, v: (joined.append(v.size), join(self, X, v))[1])
    data = make_wide(60, 600, 20, random_state=0)
    clf = SparseSVC(1e-3, 1e-3, scale=None).fit(data.X, data.y)
    assert joined
    assert clf.selection_.certificate.gap <= 1e-9


@pytest.mark.parametrize("rounds", [1, 2])
def test_rounds_may_end_before_the_working_set_is_complete(monkeypatch, rounds):
    """Newton's method then goes on from what was found."""
    monkeypatch.setattr(interior, "FIRST_COLUMNS", 0.5)
    monkeypatch.setattr(interior, "LEAST_COLUMNS", 20)
    monkeypatch.setattr(interior, "WORKING_SET_ROUNDS", rounds)
    data = make_wide(60, 600, 20, random_state=0)
    clf = SparseSVC(1e-3, 1e-3, scale=None).fit(data.X, data.y)
    assert clf.selection_.certificate.gap <= 1e-6


def test_max_time_returns_what_there_is():
    data = make_wide(150, 1500, 50, random_state=0)
    with pytest.warns(UserWarning, match="did not converge within max_time=1e-09"):
        clf = SparseSVC(1e-3, 1e-4, max_time=1e-9).fit(data.X, data.y)
    assert clf.selection_.stop is StopReason.MAX_TIME
    assert clf.selection_.stop_reason.startswith("stopped early: max_time reached")
    assert clf.predict(data.X).shape == (150,)


def test_verbose_tells_of_every_step(capsys, monkeypatch):
    data, turns = make_wide(60, 600, 20, random_state=0), []
    clf = SparseSVC(1e-3, 1e-3, verbose=lambda turn, target: turns.append(turn)).fit(data.X, data.y)
    assert [turn.taken for turn in turns] == list(range(1, len(turns) + 1))
    assert turns[-1].features == clf.selection_.features.size
    assert len(turns) >= clf.n_iter_
    assert capsys.readouterr().err == ""
    SparseSVC(1e-3, 1e-3, verbose=2).fit(data.X, data.y)
    assert capsys.readouterr().err.count("\n") == len(turns)
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    SparseSVC(1e-3, 1e-3, verbose=1).fit(data.X, data.y)
    assert capsys.readouterr().err.count("\r") == len(turns)


def test_a_monitor_is_late_after_its_deadline():
    assert SolveMonitor(deadline=0.0).late
    assert not SolveMonitor().late
