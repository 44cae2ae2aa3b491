"""The choice of C, of elimination and of a variant of the features, by cross-validation inside a fit."""

import itertools
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from thresher.estimators.shared import INTEGER, FoldScore, cv_results, held_out_parts
from thresher.families.fgm.choice import Candidate, scores_of_candidates
from thresher.families.fgm.spec import FitSpec
from thresher.features.base import Features
from thresher.optim.solvers.solution import out_of_time
from thresher.results import Trace, counted
from thresher.state import integer
from thresher.targets.base import Target
from thresher.targets.classes import ClassTarget

CS = (0.01, 0.1, 1.0, 10.0)  # values of C that "auto" tries, times the default
FOLDS = 5  # without cv, or as many as the smallest class has samples
CHOOSING_TIME = 0.5  # share of the time that choosing may take
NO_NUMBER = "without a number of features nothing is compared"
LATE = "max_time was over before candidates could be compared"


def _place(reader: Any, part: Any, name: str, estimator: Any) -> int:
    """The place of a candidate in the ``cv_results_`` that a model file has."""
    return integer(part, name, 0, len(getattr(estimator, "cv_results_", {"params": []})["params"]) - 1)


PLACE = INTEGER._replace(get=_place, optional=True)


class Choice(NamedTuple):
    """What a fit is made with, and what it was chosen from.

    Parameters
    ----------
    features : Features
        The variant of the features.
    spec : FitSpec
        With or without elimination.
    C : float
        Weight of the loss.
    results : dict, default=None
        The candidates and their scores; None: there was no choice.
    best, usual : int
        The place among the candidates of the one chosen, and of what would be fitted by rule.
    by_rule : str, default=""
        Why that was fitted, although there was something to choose.
    """

    features: Features
    spec: FitSpec
    C: float
    results: dict[str, Any] | None = None
    best: int = 0
    usual: int = 0
    by_rule: str = ""


def possible_folds(target: ClassTarget) -> tuple[int, str]:
    """(how many folds have samples of each class in all parts, at most FOLDS; why that is less than two)."""
    counts = np.bincount(target.codes[target.weights > 0], minlength=target.classes.size)
    fewest = int(counts.min())
    label = target.classes.tolist()[counts.argmin()]
    why = f"class {label!r} has {counted(fewest, 'sample')}, too few to hold out" if fewest < 2 else ""
    return min(FOLDS, fewest), why


def folds_of(cv: Any, target: ClassTarget, candidates: Sequence[Candidate]) -> tuple[list[np.ndarray], str]:
    """(folds to compare candidates on, why there are none); ValueError if ``cv`` is given and is not possible."""
    if cv is None:
        cv, why = possible_folds(target)
        if why:
            return [], why
        folds = held_out_parts(cv, target.strata, target.weights)
        try:
            check_comparable(target, candidates, folds)
        except ValueError as error:
            return [], str(error)
        return folds, ""
    folds = held_out_parts(cv, target.strata, target.weights)
    check_comparable(target, candidates, folds)
    return folds, ""


def check_comparable(target: Target, candidates: Sequence[Candidate], folds: Sequence[np.ndarray]) -> None:
    """Raise ValueError unless all candidates can be fitted and judged on these folds: before anything is solved."""
    target.check_folds(folds)
    for C in sorted({candidate.C for candidate in candidates}):
        target.costs(C)
    for fold in folds:
        target.problems(candidates[0].C, held_out=fold)


def choose(
    features: Features,
    target: Target,
    spec: FitSpec,
    candidates: Sequence[Candidate],
    usual: Candidate,
    folds: Sequence[np.ndarray],
    judge: FoldScore,
    trace: Trace,
) -> Choice:
    """The variant of the features and the candidate with the best mean score on samples that are held out.

    Of equal scores the last variant is chosen, then the first candidate. Variants whose time was over have no scores;
    if there are none at all, the middle variant and the ``usual`` candidate are taken.
    """
    settings, tables = features.settings, []
    for number, setting in enumerate(settings):
        variant = features.varied(setting)
        limited = spec
        if spec.deadline is not None:
            share = CHOOSING_TIME * (number + 1) / len(settings)
            limited = replace(spec, deadline=trace.begun + share * (spec.deadline - trace.begun))
        tables.append(np.empty((len(folds), len(candidates))))
        for fold, place, scores in scores_of_candidates(variant, target, limited, candidates, folds, trace):
            tables[-1][fold, place] = judge(scores, folds[fold])
        if out_of_time(limited.deadline):
            tables[-1][:] = np.nan
    table = np.stack(tables, axis=1)  # (folds, variants, candidates)
    means = np.nan_to_num(table.mean(axis=0), nan=-np.inf)
    late = bool(np.isinf(means).all())
    if late:
        means[len(settings) // 2, candidates.index(usual)] = 0.0
    places = itertools.product(range(len(settings)), range(len(candidates)))
    best, place = max(places, key=lambda place: (means[place], place[0], -place[1]))
    if best < len(settings) - 1:  # made anew: what each has computed was not kept
        variant = features.varied(settings[best])
    C, elimination = candidates[place]
    varies = len({candidate.elimination for candidate in candidates}) > 1
    params = [
        setting | {"C": each.C} | ({"elimination": each.elimination} if varies else {})
        for setting in settings
        for each in candidates
    ]
    results = cv_results(params, table.reshape(len(folds), -1))
    by_rule = len(settings) // 2 * len(candidates) + candidates.index(usual)
    chosen = best * len(candidates) + place
    spec = replace(spec, elimination=elimination)
    return Choice(variant, spec, C, results, chosen, by_rule, LATE if late else "")
