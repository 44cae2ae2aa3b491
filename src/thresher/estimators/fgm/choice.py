"""What a fit chooses by cross-validation: C, and variants of the features, all values of C in the same scans."""

import itertools
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from thresher.estimators.shared import FoldScore, cv_results
from thresher.families.fgm.fit import held_out_scores
from thresher.families.fgm.spec import FitPlan, FitSpec
from thresher.features.base import Features
from thresher.results import Trace
from thresher.targets.base import Target

CS = (0.01, 0.1, 1.0, 10.0, 100.0)  # values of C that "auto" tries, times the default
TIME = 0.5  # share of the time that choosing may take


Choice = tuple[Features, float, dict[str, Any] | None]  # features and C of a fit; ``cv_results_`` if it was chosen


def choose(
    features: Features,
    target: Target,
    spec: FitSpec,
    Cs: Sequence[float],
    folds: Sequence[np.ndarray],
    judge: FoldScore,
    trace: Trace,
) -> Choice:
    """The variant of the features and the C with the best mean score on samples that are held out.

    Of equally good ones the last variant is chosen, then the smallest C.
    """
    target.check_folds(folds)
    settings, tables = [], []
    for number, variant in enumerate(features.variants()):
        plan = spec.on(variant, target)
        if spec.deadline is not None:
            share = TIME * (number + 1) / features.n_variants
            plan = plan.until(trace.begun + share * (spec.deadline - trace.begun))
        tables.append(np.empty((len(folds), len(Cs))))
        for fold, value, scores in scores_on_folds(variant, target, plan, Cs, folds, trace):
            tables[-1][fold, value] = judge(scores, folds[fold])
        settings.append(variant.setting)
    table = np.stack(tables, axis=1)  # (folds, variants, Cs)
    means = table.mean(axis=0)
    places = itertools.product(range(len(settings)), range(len(Cs)))
    best, value = max(places, key=lambda place: (means[place], place[0], -place[1]))
    if best < len(settings) - 1:  # made anew: what each has computed was not kept
        variant = next(itertools.islice(features.variants(), best, None))
    params = [setting | {"C": C} for setting in settings for C in Cs]
    return variant, Cs[value], cv_results(params, table.reshape(len(folds), -1))


def scores_on_folds(
    features: Features, target: Target, plan: FitPlan, Cs: Sequence[float], folds: Sequence[np.ndarray], trace: Trace
) -> Iterator[tuple[int, int, np.ndarray]]:
    """(fold, place of a C, scores of all samples without those of the fold), all from the same scans."""
    problems, excluded = [], []
    for test in folds:
        for C in Cs:
            problems += target.problems(C, held_out=test)
        excluded += [features.barred(test)] * (len(Cs) * target.n_models)
    found = held_out_scores(features, problems, plan, trace, excluded)
    for fold, value in itertools.product(range(len(folds)), range(len(Cs))):
        yield fold, value, np.hstack([next(found) for _ in range(target.n_models)])
