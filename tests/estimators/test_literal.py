"""``solver="apg"``: paper 1 to the letter, growth by sub-problem (30) with its own stops."""

import numpy as np
import pytest

from tests.families.growing import fgm
from tests.problems import many_classes, problem
from tests.rule import fgm_by_rule
from thresher import AdditiveGaussian, Polynomial
from thresher.data.input.validation import as_design
from thresher.optim.problems.margins import MarginProblem
from thresher.optim.problems.named import as_loss
from thresher.results import StopReason, Trace

X, y, COST = problem(60, 80, 3, noise=2.0)
LITERAL = {"C": 2.0, "scale": None, "elimination": False, "features_per_turn": 4}


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("loss", ["squared_hinge", "logistic"])
def test_it_is_growth_by_sub_problem_30(loss, fit_intercept):
    """Law: the same bits as of the algorithm on a bare design; it stalls above ``tol``, where ours converges."""
    posed = MarginProblem(y, COST, as_loss(loss), fit_intercept)
    literal = fgm(as_design(X), [posed], Trace(), wanted=None, per_turn=4, tol=1e-7, literal=True, max_turns=19)
    options = LITERAL | {"loss": loss, "fit_intercept": fit_intercept, "tol": 1e-7, "max_iter": 19}
    clf = fgm_by_rule(solver="apg", **options).fit(X, y)
    np.testing.assert_array_equal(clf.selection_.features, literal.features)
    np.testing.assert_array_equal(clf.selection_.weights, literal.weights)
    assert clf.selection_.intercept == literal.intercept
    assert clf.selection_.certificate == literal.certificate
    assert clf.selection_.stop_reason == literal.stop_reason
    accurate = fgm_by_rule(**options | {"max_iter": 100})
    accurate._inner_tol = 1e-10
    ours = accurate.fit(X, y).selection_.certificate
    assert ours.gap <= 1e-7 < 1e-3 < literal.certificate.gap
    assert ours.objective <= literal.certificate.objective


def test_it_stops_when_the_objective_hardly_falls():
    """(37): the fall in a turn is at most ``tol`` of the objective without features."""
    clf = fgm_by_rule(solver="apg", tol=1e-2, **LITERAL).fit(X, y)
    assert clf.selection_.stop is StopReason.SMALL_DECREASE
    assert "decreased by less than" in clf.selection_.stop_reason
    objectives = np.array([turn.objective for turn in clf.selection_.trace.turns])
    falls = -np.diff(objectives) / clf.selection_.certificate.at_zero
    assert falls[-1] <= 1e-2 < falls[:-1].min()


def test_the_number_asked_for_comes_back():
    clf = fgm_by_rule(8, solver="apg", **LITERAL).fit(X, y)
    assert clf.selection_.features.size == 8
    assert {station.phase for station in clf.path_} == {"grow"}
    A, codes, _, _ = many_classes(60, 20, seed=3)
    many = fgm_by_rule(4, solver="apg", per_class=True, **LITERAL).fit(A, codes)
    assert (many.coef_.toarray() != 0.0).sum(axis=1).tolist() == [4, 4, 4]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"elimination": True}, 'solver="apg" is the algorithm of the paper, which has no elimination: set elimi'),
        ({"groups": np.arange(80) // 4}, r"sub-problem \(30\) is for single columns"),
        ({"feature_map": AdditiveGaussian()}, r"sub-problem \(30\) is for single columns"),
        ({"feature_map": Polynomial(heredity="strong")}, "heredity needs elimination"),
    ],
)
def test_what_it_cannot_do_is_refused(options, message):
    with pytest.raises(ValueError, match=message):
        fgm_by_rule(3, solver="apg", **LITERAL | options).fit(X, y)


def test_classes_that_share_their_features_are_refused():
    A, codes, _, _ = many_classes(60, 20, seed=3)
    with pytest.raises(ValueError, match=r"two classes only: set solver=\"auto\" or, for classes, per_class=True"):
        fgm_by_rule(4, solver="apg", **LITERAL).fit(A, codes)
