"""A model on all columns: the optimum over all labellings, what is read for it, and what ends it early."""

import itertools

import numpy as np
import pytest
from scipy import sparse

from tests.families.growing import fgm_all, held_out_all
from tests.families.test_fgm_measures import few, pose
from tests.laws.measures import FREE, by_kind
from tests.oracles import cuts as oracle
from tests.rule import fgm_by_rule
from thresher.data.input.validation import as_design
from thresher.families.fgm import all_features as module
from thresher.optim.measures.values import F1, PRBEP, RocArea
from thresher.optim.problems.cuts import CutProblem
from thresher.optim.solvers import bundle
from thresher.results import StopReason, Trace


def rare(n=80, p=30, seed=0):
    """(X, y): five columns say something of a class of a quarter."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, p))
    pull = X[:, :5].sum(axis=1) + rng.standard_normal(n)
    return X, np.where(pull > np.quantile(pull, 0.75), 1.0, -1.0)


X, Y = rare()
CODES = np.argmax(X[:, :3], axis=1)


@by_kind
def test_the_optimum_under_the_plain_penalty(measure):
    A, known, problem = pose(measure)
    found = fgm_all(as_design(A), [problem], Trace(), tol=1e-5)
    optimum = oracle.optimum(known, 7, shifted=measure in FREE)[0]
    certificate = found.certificate
    assert certificate.lower_bound <= optimum * (1.0 + 1e-6)
    assert certificate.objective == pytest.approx(optimum, abs=2e-5 * certificate.at_zero)
    assert found.stop is StopReason.CONVERGED
    found.check()


@few
def test_classes_are_apart(measure):
    """Whether their support is shared or not: there is none."""
    A, known, problem = pose(measure, 2, classes=3)
    shared = fgm_all(as_design(A), [problem], Trace(), tol=1e-4)
    own = fgm_all(as_design(A), problem.per_class(), Trace(), tol=1e-4)
    np.testing.assert_array_equal(shared.weights, own.weights)
    optimum = oracle.optimum(known, 7, shifted=measure in FREE)[0]
    assert shared.certificate.objective == pytest.approx(optimum, abs=2e-4 * shared.certificate.at_zero)


def test_excluded_columns_are_not_in_the_model():
    A, known, problem = pose(F1())
    found = fgm_all(as_design(A), [problem], Trace(), exclude=[1, 4], tol=1e-5)
    left = [0, 2, 3, 5, 6]
    assert set(found.features.tolist()) <= set(left)
    optimum = oracle.optimum([(G[:, left], *rest) for G, *rest in known], 5, shifted=True)[0]
    assert found.certificate.objective == pytest.approx(optimum, abs=2e-5 * found.certificate.at_zero)


@pytest.mark.parametrize("storage", [np.asarray, sparse.csc_array, sparse.csr_array])
@pytest.mark.parametrize("measure", [F1(), PRBEP(), RocArea()], ids=repr)
def test_two_passes_an_iteration_and_nothing_is_taken(storage, measure):
    A = np.where(np.abs(X) > 1.0, X, 0.0)
    trace = Trace()
    fgm_all(as_design(storage(A)), [CutProblem(Y, np.full(Y.size, 10.0), measure)], trace)
    kinds = {step.kind for step in trace.steps}
    assert kinds == {"solve"}
    assert len(trace.turns) > 3
    assert all(step.passes <= 2.0 + 1e-9 for step in trace.steps)
    assert len(trace.steps) == len(trace.turns) + 1  # the cuts at zero are computed before the first iteration


def test_turns_tell_cuts_and_gap():
    told = []
    fgm_all(as_design(X), [CutProblem(Y, np.full(Y.size, 10.0), F1())], Trace(), watch=told.append)
    assert [turn.cuts for turn in told[:2]] != [0, 0]
    assert told[-1].inner_gap == pytest.approx(told[-1].gap)
    assert all(later.lower_bound >= turn.lower_bound for turn, later in itertools.pairwise(told))
    assert all(later.objective <= turn.objective for turn, later in itertools.pairwise(told))


# what ends it early


@pytest.mark.parametrize("after", [0, 5, 40])
def test_ctrl_c_keeps_the_model_so_far(after, monkeypatch):
    """Of the class whose turn it is the best one, of those after it none."""
    iterate, count = bundle.BundleSearch.iterate, iter(range(100000))

    def counted(self, *args):
        if next(count) == after:
            raise KeyboardInterrupt
        return iterate(self, *args)

    monkeypatch.setattr(bundle.BundleSearch, "iterate", counted)
    clf = fgm_by_rule("all", loss="f1", C=10.0)
    with pytest.raises(KeyboardInterrupt):
        clf.fit(X, CODES)
    assert clf.selection_.interrupted
    assert clf.coef_.shape == (3, 30)
    assert (clf.coef_[[0]].nnz > 0) is (after > 0)
    assert clf.coef_[[2]].nnz == 0
    assert clf.predict(X).shape == CODES.shape


def test_a_deadline_leaves_one_iteration_for_each_class():
    clf = fgm_by_rule("all", loss="auc", C=10.0, max_time=1e-6).fit(X, CODES)
    assert "max_time" in clf.selection_.stop_reason
    assert len(clf.selection_.trace.turns) == 3
    assert (np.diff(clf.coef_.indptr) > 0).all()


def test_a_search_that_ends_above_its_gap_has_not_converged(monkeypatch):
    """As with values of X so large that only rounding errors are left."""
    monkeypatch.setattr(bundle, "MOST_BARREN", -1)  # no iteration finds anything new
    found = fgm_all(as_design(X), [CutProblem(Y, np.full(Y.size, 1.0), F1())], Trace(), tol=1e-6)
    assert found.stop is StopReason.NOT_CONVERGED
    assert found.stop_reason == "not converged: a gap of 1.0e+00 that rounding errors leave"


def test_max_iter_is_for_folds_too(monkeypatch):
    monkeypatch.setattr(module, "ITERATIONS", 2)
    problem = CutProblem(Y, np.full(Y.size, 10.0), F1())
    for run in (lambda trace: fgm_all(as_design(X), [problem], trace, max_turns=1),
                lambda trace: list(held_out_all(as_design(X), [problem], trace, max_turns=1))):  # fmt: skip
        trace = Trace()
        run(trace)
        assert len(trace.steps) == 1 + 2
    assert fgm_all(as_design(X), [problem], Trace(), max_turns=1).stop is StopReason.MAX_ITER


# as an estimator


@pytest.mark.parametrize("labels", [Y, CODES], ids=["two", "three"])
def test_a_warm_start_begins_at_the_last_weights(labels):
    """One that was solved well needs fewer iterations; columns that are excluded now do not come back."""
    clf = fgm_by_rule("all", loss="f1", C=10.0, warm_start=True, tol=1e-4).fit(X, labels)
    first, objective = len(clf.selection_.trace.turns), clf.selection_.certificate.objective
    clf.fit(X, labels)
    assert clf.selection_.trace.turns[0].objective <= objective * (1.0 + 1e-9) or labels is CODES
    assert len(clf.selection_.trace.turns) < first
    assert clf.selection_.certificate.objective <= objective * (1.0 + 1e-9)
    clf.set_params(exclude=[0]).fit(X, labels)
    assert 0 not in clf.selection_.features


def test_C_by_cross_validation_and_weights_of_zero():
    weights = np.ones(Y.size)
    weights[::8] = 0.0
    there = weights > 0.0
    with_them = fgm_by_rule("all", loss="f1", C="auto", cv=2, scale=None).fit(X, Y, sample_weight=weights)
    without = fgm_by_rule("all", loss="f1", C="auto", cv=2, scale=None).fit(X[there], Y[there])
    assert pytest.approx(without.C_) == with_them.C_
    for fold in ("split0_test_score", "split1_test_score"):
        np.testing.assert_allclose(with_them.cv_results_[fold], without.cv_results_[fold])
    np.testing.assert_allclose(with_them.selection_.weights, without.selection_.weights, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"loss": "squared_hinge"}, "LinearSVC"),
        ({"loss": "logistic"}, "LogisticRegression"),
        ({"groups": np.arange(30) // 3}, "groups has no meaning"),
        ({"always_include": [1]}, "always_include has no meaning"),
        ({"feature_map": "polynomial"}, 'needs feature_map="columns"'),
    ],
)
def test_what_it_does_not_go_with_is_refused(options, message):
    with pytest.raises(ValueError, match=message):
        fgm_by_rule("all", **{"loss": "f1"} | options).fit(X, Y)
