"""Laws of every loss, by ``thresher.testing.check_loss``, which must fail on broken copies; what a fit starts from."""

from dataclasses import dataclass

import numpy as np
import pytest

from thresher.losses import Logistic, Loss, SmoothedHinge, SquaredHinge
from thresher.measures import F1, PrecisionAtK
from thresher.optim.problems.losses import LOSSES
from thresher.optim.problems.margins import MarginProblem, feasible
from thresher.optim.problems.named import as_loss
from thresher.testing import check_loss

rng = np.random.default_rng(3)
N = 40
y = np.where(rng.random(N) < 0.3, 1.0, -1.0)
z = rng.standard_normal(N) * 2
cost = rng.uniform(0.0, 3.0, N)
cost[:2] = 0.0
VALUES = [SquaredHinge(), Logistic(), SmoothedHinge(0.5), SmoothedHinge(0.05), SmoothedHinge(3.0)]
by_value = pytest.mark.parametrize("loss", VALUES, ids=repr)


@by_value
@pytest.mark.parametrize("seed", range(4))
def test_laws(loss, seed):
    check_loss(loss, random_state=seed)


class NotFrozen(Loss):
    largest_curvature = value = slope = curvature = dual = None


def broken(name, base=SquaredHinge, **members):
    """A loss with some members replaced, which pickles."""
    cls = dataclass(frozen=True, eq="__eq__" not in members)(type(name, (base,), members | {"__module__": __name__}))
    globals()[name] = cls
    return cls()


def changed(m):
    m += 0.0
    m[...] = 0.0
    return m


hinge = SquaredHinge()
BROKEN = {
    "must be a value of a subclass": F1(),
    "must be a frozen dataclass": NotFrozen(),
    "must be equal to a copy that was made again": broken("Unequal", __eq__=lambda a, b: a is b, __hash__=id),
    "name and title must be strings": broken("Untitled", title=None),
    "value of 2 x 3 numbers must be a float64 array": broken("Summed", value=lambda self, m: hinge.value(m).sum()),
    "value must not change its argument": broken("Changing", value=lambda self, m: changed(m)),
    "value must be a function of each number": broken("Mean", value=lambda self, m: hinge.value(m) * m.mean()),
    "value must not overflow": broken("Exponential", value=lambda self, m: np.exp(-m)),
    "value must be finite": broken("Infinite", value=lambda self, m: np.where(m > -1e6, hinge.value(m), np.inf)),
    "largest_curvature must be a finite number": broken("Unbounded", largest_curvature=np.inf),
    "steepest must be above 0": broken("Flat", steepest=0.0),
    "the loss must not increase": broken("Rising", slope=lambda self, m: m - 1.0),
    "-slope must not exceed steepest = 0.5": broken("TooSteep", steepest=0.5),
    "curvature must be from 0 to largest_curvature = 0.5": broken("TooCurved", largest_curvature=0.5),
    "the loss must be convex": broken("Falling", slope=lambda self, m: np.where(m < 3.0, hinge.slope(m), -1e-3)),
    "slope must not change faster than": broken(
        "Jumping", largest_curvature=0.5, curvature=lambda self, m: 0.5 * hinge.curvature(m)
    ),
    "slope must be the derivative of value": broken("Doubled", value=lambda self, m: 1.001 * hinge.value(m)),
    "curvature must be the derivative of slope": broken("Straight", curvature=lambda self, m: 0.999 * (m < 1.0)),
    "the loss must not be below 0": broken("Below", value=lambda self, m: hinge.value(m) - 0.1),
    "the loss must fall to 0": broken("Above", zero_from=np.inf, value=lambda self, m: hinge.value(m) + 0.1),
    "value must be 0 from zero_from = 0.5 on": broken("Sooner", zero_from=0.5),
    r"dual\(0\) must be 0": broken("Raised", dual=lambda self, t: hinge.dual(t) + 0.1),
    r"must be dual\(t\) - t m": broken("WrongDual", dual=lambda self, t: 1.001 * hinge.dual(t)),
    r"must be at least dual\(t\) - t m": broken("Late", dual=lambda self, t: hinge.dual(t) + 1e4 * (t > 8.5)),
    "total must agree": broken("Total", total=lambda self, m, c: 2.0 * float(c @ hinge.value(m))),
    "dual_weights must agree": broken("Weights", dual_weights=lambda self, c: 2.0 * c),
    "slope_of_shift must agree": broken("Shift", slope_of_shift=lambda self, *_: (0.0, 1.0, 1.0)),
    "must be -inf where an entry is negative": broken(
        "Everywhere", dual_total=lambda self, a, c: hinge.dual_total(np.abs(a), c)
    ),
    "must be -inf where an entry is above steepest": broken(
        "NoEnd", Logistic, dual_total=lambda self, a, c: Logistic().dual_total(np.where(c > 0, np.minimum(a, c), a), c)
    ),
    "best_bound must be the largest": broken(
        "TooLow", best_bound=lambda self, a, c, s: 0.99 * hinge.best_bound(a, c, s)
    ),
    "best_bound must be the largest dual": broken(
        "TooHigh", best_bound=lambda self, a, c, s: 1.01 * hinge.best_bound(a, c, s)
    ),
    "best_shift must be where the slopes add up to 0": broken("Lazy", best_shift=lambda self, y, z, c, start: start),
}  # fmt: skip


@pytest.mark.parametrize("law", BROKEN)
def test_every_law_fails_on_a_broken_copy(law):
    with pytest.raises(AssertionError, match=law):
        check_loss(BROKEN[law])


@pytest.mark.parametrize("loss", VALUES[:4], ids=repr)  # with more smoothing both classes are on the quadratic part
def test_start_without_features_is_the_known_one(loss):
    """alpha at w = 0 with the best shift: C (1 - y ybar); C n_-/n on positives and C n_+/n on negatives; or, smoothed,
    C on the smaller class and C n_+/n_- on the larger one.
    """
    C, share, nothing = 7.0, (y > 0).mean(), np.zeros(N)
    smoothing = getattr(loss, "smoothing", 0.0)
    costs = np.full(N, C)
    margins = y * (nothing + loss.best_shift(y, nothing, costs))
    theta = share / (1 - share)
    expected = {
        SquaredHinge: C * (1 - y * y.mean()),
        Logistic: C * np.where(y > 0, 1 - share, share),
        SmoothedHinge: C * np.where(y > 0, 1.0, theta),
    }
    np.testing.assert_allclose(loss.dual_point(margins, costs), expected[type(loss)], rtol=1e-10)
    value = {
        SquaredHinge: N * C * (1 - y.mean() ** 2) / 2,
        Logistic: C * (N * np.log(N) - (y > 0).sum() * np.log((y > 0).sum()) - (y < 0).sum() * np.log((y < 0).sum())),
        SmoothedHinge: C * (y > 0).sum() * (2.0 - 0.5 * smoothing * (1.0 + theta)),
    }
    assert loss.total(margins, costs) == pytest.approx(value[type(loss)], rel=1e-12)


def test_feasible_removes_the_residual():
    alpha = SquaredHinge().dual_point(y * z, cost)
    made = feasible(alpha, y)
    assert made @ y == pytest.approx(0.0, abs=1e-13)
    assert np.all(made <= alpha + 1e-15)
    assert np.all(made >= 0.0)


@by_value
@pytest.mark.parametrize(("more", "least"), [(0.0, 0.0), (0.5, 5.0), (0.5, 30.0)])
def test_guarded_curvature_adds_the_samples_next_to_those_with_a_loss(loss, more, least):
    problem = MarginProblem(y, cost, loss)
    margins, plain, guarded = y * (z + 0.2), problem.curvature(z, 0.2), problem.guarded_curvature(z, 0.2, more, least)
    added = guarded != plain
    np.testing.assert_array_equal(guarded[added], problem.curvature_bound()[added])
    if not np.isfinite(loss.zero_from):
        assert not added.any()
        return
    assert np.all(margins[added] >= loss.zero_from)
    has = (margins < loss.zero_from) | added | (cost == 0.0)
    assert margins[has & (cost > 0)].max() <= margins[~has].min(initial=np.inf)
    wanted = max((1.0 + more) * cost[margins < loss.zero_from].sum(), least * cost[cost > 0].min())
    assert cost[has].sum() >= min(wanted, cost.sum()) * (1.0 - 1e-9)


def test_strings_are_short_for_values():
    assert as_loss("squared_hinge") == SquaredHinge() == LOSSES["squared_hinge"]
    assert as_loss("logistic") == Logistic()
    assert as_loss("f1") == F1()
    for value in (SmoothedHinge(0.5), PrecisionAtK(3)):
        assert as_loss(value) is value


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ("smoothed_hinge", r"has a parameter: pass a value, for example loss=SmoothedHinge\(0.5\)"),
        ("precision_at_k", r"has a parameter: pass a value, for example loss=PrecisionAtK\(k=50\)"),
        ("logistik", r"must be one of 'squared_hinge', .*; got 'logistik'; did you mean 'logistic'\?"),
        (SquaredHinge, r"got <class .*>; pass a value of the class, SquaredHinge\(...\)"),
        (3, "must be one of .*; got 3$"),
    ],
)
def test_other_losses_are_refused(given, why):
    with pytest.raises(ValueError, match=why):
        as_loss(given)


@pytest.mark.parametrize("smoothing", [0.0, -1.0, np.nan, np.inf, "1", None, True])
def test_bad_smoothing(smoothing):
    with pytest.raises(ValueError, match="smoothing must be a number above 0, got"):
        SmoothedHinge(smoothing)
