"""The parameters of FGMClassifier, validated."""

from typing import Any

from thresher.data.input.scaling import SCALES
from thresher.estimators.fgm.goals import goal_of
from thresher.estimators.shared import parameters as check
from thresher.features.additive.maps import maps_of
from thresher.features.additive.spec import Kernel, kernel_of
from thresher.features.polynomial.spec import Polynomial
from thresher.results import Trace

SUPPORTS = ("shared", "per_class")


def made_by(features: Any) -> tuple[Kernel | None, Polynomial | None]:
    """What makes features of columns: an additive kernel, or a polynomial, or neither."""
    kernel = kernel_of(features)
    return (None, kernel) if isinstance(kernel, Polynomial) else (kernel, None)


def check_heredity(clf: Any, polynomial: Polynomial | None) -> None:
    """Raise ValueError if heredity is asked for without elimination, which keeps it."""
    if polynomial is not None and polynomial.heredity is not None:
        if clf.overshoot is None:
            raise ValueError("heredity needs elimination, which keeps it: overshoot must not be None (--growth-alone)")
        if clf.n_features_to_select is None:
            raise ValueError("heredity needs a number of features: set n_features_to_select (--features)")


def options_of(clf: Any, kernel: Kernel | None, trace: Trace) -> tuple[Any, dict[str, Any]]:
    """C (None: that of the loss), and the other parameters that can be validated without the data, for fgm()."""
    goal = goal_of(clf.loss)
    check.one_of("scale", clf.scale, SCALES)
    check.one_of("support", clf.support, SUPPORTS)
    if kernel is not None:
        maps_of(kernel).scale_for(clf.scale)
    auto_C, auto_overshoot, auto_turn, auto_inner = (
        isinstance(given, str) and given == "auto"
        for given in (clf.C, clf.overshoot, clf.features_per_turn, clf.inner_tol)
    )
    overshoot = clf.overshoot
    if overshoot is not None and not auto_overshoot:
        overshoot = check.positive("overshoot", overshoot)
        if overshoot < 1.0:
            raise ValueError(f"overshoot must be >= 1, got {overshoot!r}: there would be nothing to eliminate")
    deadline = None if clf.max_time is None else trace.begun + check.positive("max_time", clf.max_time)
    if not callable(clf.verbose):
        check.integer("verbose", int(clf.verbose) if isinstance(clf.verbose, bool) else clf.verbose, least=0)
    C = "auto" if auto_C else None if clf.C is None else check.positive("C", clf.C)
    return C, {
        "overshoot": goal.overshoot if auto_overshoot else overshoot,
        "per_turn": None if auto_turn else check.integer("features_per_turn", clf.features_per_turn),
        "tol": check.positive("tol", clf.tol, zero=True),
        "inner_tol": None if auto_inner else check.positive("inner_tol", clf.inner_tol),
        "max_turns": check.integer("max_iter", clf.max_iter),
        "deadline": deadline,
    }
