"""The choice of C, of elimination and of a variant of the features, by cross-validation inside a fit."""

import itertools
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from thresher.estimators.shared import FoldScore, cv_results
from thresher.families.fgm.choice import Candidate, compared
from thresher.families.fgm.spec import FitSpec
from thresher.features.base import Features
from thresher.optim.solvers.solution import out_of_time
from thresher.results import Trace
from thresher.targets.base import Target

CHOOSING_TIME = 0.5  # share of the time that choosing may take


class Choice(NamedTuple):
    """What a fit is made with, and the scores of the candidates that it was chosen from (None: there was no choice).

    ``late``: the time for choosing was over before any variant was scored, and the usual candidate was taken.
    """

    features: Features
    spec: FitSpec
    C: float
    results: dict[str, Any] | None = None
    late: bool = False


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
    target.check_folds(folds)
    settings, tables = features.settings, []
    for number, setting in enumerate(settings):
        variant = features.varied(setting)
        limited = spec
        if spec.deadline is not None:
            share = CHOOSING_TIME * (number + 1) / len(settings)
            limited = replace(spec, deadline=trace.begun + share * (spec.deadline - trace.begun))
        tables.append(compared(variant, target, limited, candidates, folds, judge, trace))
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
    return Choice(variant, replace(spec, elimination=elimination), C, results, late)
