"""The fit of a design, for all estimators that select by FGM: problems, C, the selection, attributes, warnings."""

import functools
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from thresher.data.designs.base import Design
from thresher.errors import FewerFeaturesWarning
from thresher.estimators.fgm.choice import best_C, scores_of_Cs
from thresher.estimators.fgm.goals import goal_of, is_all
from thresher.estimators.fgm.sentences import groups_of_classes, shortfalls
from thresher.estimators.fgm.warm_start import Starts
from thresher.estimators.shared import parameters as check
from thresher.estimators.shared.folds import CS, held_out_parts
from thresher.estimators.shared.progress import Progress
from thresher.families.fgm.all_features import fgm_all, held_out_all
from thresher.families.fgm.fit import fgm, held_out
from thresher.results import Selection, Trace

TRIED = ("Cs_", "sigmas_", "scores_")  # what was compared, and how well it did


@dataclass(frozen=True)
class Task:
    """A design that is ready to be selected from, and what is known of its samples and features.

    ``codes`` are the numbers of the samples' ``classes``. Growth takes ``target`` of what is called ``noun``, or any
    number if it is None. ``options`` are those of ``planned``, with ``wanted``, ``overshoot`` and ``units``, and
    ``labels``, ``spread`` and ``starts`` as in fgm(). ``scale`` and ``fingerprint`` are told, not used.
    """

    design: Design
    codes: np.ndarray
    classes: np.ndarray
    weights: np.ndarray
    noun: str
    target: int | None
    options: dict[str, Any]
    labels: np.ndarray | None
    spread: np.ndarray | Callable[[np.ndarray], np.ndarray] | None
    starts: Starts | None
    scale: str | None
    fingerprint: dict


def fit_design(
    clf: Any, task: Task, C: float | str | None, trace: Trace, tried: dict[str, np.ndarray] | None = None
) -> None:
    """Select by FGM from the design of ``task``, and set the fitted attributes of ``clf``, which calls it in ``fit``.

    ``tried`` are fitted attributes of TRIED, where C has been chosen already.

    ``clf`` has the parameters ``loss``, ``support``, ``debias``, ``fit_intercept``, ``cv``, ``verbose``, and a method
    ``_set_space(design, selection, units)``. A fit that Ctrl-C ended raises KeyboardInterrupt once the attributes of
    the model before are set.
    """
    options, classes, weights = task.options, task.classes, task.weights
    signs = check.signs_of(task.codes, classes.size)
    goal, shared = goal_of(clf.loss), clf.support == "shared"
    make = functools.partial(goal.problems, signs, shared=shared, shift=bool(clf.fit_intercept), weights=weights)
    tried = {} if tried is None else tried
    C = goal.default_C(weights) if C is None else C
    if C == "auto":
        folds, Cs = held_out_parts(clf.cv, task.codes, weights), goal.default_C(weights) * np.array(CS)
        held = held_out_all if is_all(clf) else functools.partial(held_out, debias=clf.debias)
        for_choice = options
        if options["deadline"] is not None:  # half of the time
            for_choice = options | {"deadline": 0.5 * (trace.begun + options["deadline"])}
        known = folds, task.codes, weights, trace, for_choice
        judged = scores_of_Cs(goal, Cs, functools.partial(held, task.design), make, *known)
        C, tried = best_C(Cs, judged), {"Cs_": Cs, "scores_": judged}
    separate = 1 if signs.ndim == 1 or shared else classes.size
    progress = Progress(clf.verbose, task.target and task.target * separate, task.noun)
    problems = make(cost=check.costs(float(C), weights))
    selection = selected(clf, task, problems, progress, trace)
    progress.close(selection)
    groups = None
    if selection.units is not None and selection.units.size:
        columns, sizes = options["units"].members(selection.units)
        groups = groups_of_classes(selection, task.design.ids_in_X(columns), sizes)
    clf._set_space(task.design, selection, options["units"])
    clf.classes_, clf.C_, clf.fingerprint_ = classes, C, task.fingerprint
    for name in TRIED:
        set_or_remove(clf, name, tried.get(name))
    clf._set_selection(replace(selection, scale=task.scale))
    clf.n_iter_ = max(1, len(trace.turns) - 1)
    if selection.interrupted:
        raise KeyboardInterrupt
    how = {"per_class": clf.support == "per_class", "groups": groups}
    noun = None if options["units"] is None else options["units"].noun
    for message in shortfalls(clf.selection_, options["wanted"], classes, noun=noun, **how):
        warnings.warn(message, FewerFeaturesWarning, stacklevel=3)  # of the call of fit


def selected(clf: Any, task: Task, problems: Sequence[Any], progress: Progress, trace: Trace) -> Selection:
    """The selection from the design of ``task``; with all features nothing is selected."""
    options = task.options
    if is_all(clf):
        return fgm_all(task.design, problems, trace, starts=task.starts, watch=progress, spread=task.spread, **options)
    return fgm(
        task.design,
        problems,
        trace,
        starts=task.starts,
        watch=progress,
        spread=task.spread,
        labels=task.labels,
        debias=bool(clf.debias),
        **options,
    )


def set_or_remove(estimator: Any, name: str, value: Any) -> None:
    """Set a fitted attribute, or remove that of an earlier fit if the value is None."""
    if value is not None:
        setattr(estimator, name, value)
    elif hasattr(estimator, name):
        delattr(estimator, name)
