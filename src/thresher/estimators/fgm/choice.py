"""The choice of C, of elimination and of a variant of the features, by cross-validation inside a fit."""

import itertools
import numbers
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from thresher.errors import brief, warn
from thresher.estimators.shared import (
    INTEGER,
    FoldScore,
    Sample,
    cv_results,
    fold_score,
    held_out_parts,
    rarest_class,
    sampled,
)
from thresher.families.fgm.choice import Candidate, compared
from thresher.families.fgm.spec import FitSpec
from thresher.features.base import Features
from thresher.features.samples import Base, Content, Samples
from thresher.optim.problems.named import is_logistic
from thresher.results import Trace, counted
from thresher.state import integer
from thresher.targets.base import Target
from thresher.targets.classes import ClassTarget

CS = (0.01, 0.1, 1.0, 10.0)  # values of C that "auto" tries, times the default
GROWN_CS = (0.01, 1.0, 10.0)  # ... of growth alone, where it is compared with elimination
FEWEST_ROWS, MOST_ROWS = 512, 1024  # of a large X that candidates are compared on
MOST_WORK = 2e9  # products in which that is to be done, if the fewest rows allow it
SCANS = 60  # products with each entry of a row, while columns are gathered
FITS = 350  # ... of a row in all fits, times the square of the number wanted
RAREST = 50  # rows of each class, if there are so many
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


class Wish(NamedTuple):
    """What users ask for of a choice: parameters of an estimator, checked.

    Parameters
    ----------
    C, elimination : object
        "auto": chosen.
    choose_rows : int, "auto" or None
        On how many rows, if X has more.
    cv : object
        Folds.
    scoring : str, callable or None
        By what.
    needs_elimination : bool
        Whether growth alone cannot be compared.
    parameter : str
        The name of the number of features in messages.
    owner : str
        The class that messages name.
    """

    C: float | str | None
    elimination: bool | str | None
    choose_rows: int | str | None
    cv: Any
    scoring: Any
    needs_elimination: bool
    parameter: str
    owner: str


@dataclass(frozen=True, eq=False)
class Ground:
    """What candidates are compared on: the samples of a fit, or some of them.

    Parameters
    ----------
    base : Base
        The columns of X.
    samples : Samples
        What labels belong to.
    target : ClassTarget
        What is predicted.
    content : Content
        What the samples hold, by which they are dealt to folds.
    groups : ndarray of int64 of shape (n_samples,) or None
        The group of each sample: those of one group are held out together.
    made : callable
        Makes the features of ``base`` and ``samples``.
    C_ratio : float, default=1.0
        The usual C here, as a multiple of that of the fit.
    rows : ndarray of int64, default=None
        The numbers of the samples in the fit; None: they are all.
    """

    base: Base
    samples: Samples
    target: ClassTarget
    content: Content
    groups: np.ndarray | None
    made: Callable[[Base, Samples], Features]
    C_ratio: float = 1.0
    rows: np.ndarray | None = None

    @cached_property
    def features(self) -> Features:
        """What is selected from."""
        return self.made(self.base, self.samples)

    def of_rows(self, sample: Sample) -> "Ground | None":
        """Some samples; None if they are bags of rows, or the design cannot read some rows alone.

        Their weights are multiplied, unless the loss takes none.
        """
        rows = sample.rows
        weights = self.target.weights[rows] * (sample.factors if self.target.loss.is_weighted else 1.0)
        base = None if self.samples.owner is not None else self.base.of_rows(rows, weights)
        if base is None:
            return None
        target, groups = self.target.of_samples(rows, weights), None if self.groups is None else self.groups[rows]
        samples, content = self.samples.of_rows(rows, base.design, weights), self.content.of_rows(rows)
        ratio = target.default_C / self.target.default_C
        return Ground(base, samples, target, content, groups, self.made, ratio, rows)


def choose(whole: Ground, spec: FitSpec, wish: Wish, trace: Trace) -> Choice:
    """What a fit is made with: the variant of the features, C, and whether to eliminate.

    Raises ValueError if what is asked for cannot be compared.
    """
    features, target = whole.features, whole.target
    C: Any = target.default_C if wish.C in (None, "auto") else wish.C
    usual = Candidate(C, spec.elimination)
    candidates, why = [usual], NO_NUMBER if wish.C == "auto" and spec.number is None else ""
    if spec.number is not None:
        any_kind = wish.elimination == "auto" and not spec.literal and not wish.needs_elimination
        any_kind = any_kind and spec.wanted(features) is not None and spec.eliminates(features, target)
        candidates = candidates_of(usual, any_C=wish.C == "auto", any_kind=any_kind)
    if is_logistic(target.loss):  # of equal scores the first wins: a small C has poor probabilities
        candidates.sort(key=lambda candidate: candidate != usual)
    if len(candidates) == 1 and len(features.settings) == 1:
        warn_of_no_choice(wish, spec, whole.groups)
        return Choice(features, spec, C, by_rule=why)
    sample = samples_to_compare_on(whole, wish, spec.wanted(features))
    ground = whole if sample is None else whole.of_rows(sample) or whole
    folds, impossible = folds_of(wish.cv, ground, candidates)
    if impossible and len(features.settings) > 1:
        names = " and ".join(features.settings[0])
        raise ValueError(f"{names} cannot be chosen by cross-validation: {impossible}. Give a value")
    if impossible:
        return Choice(features, spec, C, by_rule=impossible)
    judge: FoldScore = ground.target.score
    if wish.scoring is not None:
        known = ground.target.classes, ground.target.codes, folds, ground.target.weights
        judge = fold_score(wish.scoring, *known, wish.owner, ground.rows)
    apart = trace if ground is whole else Trace(begun=trace.begun)
    choice = best_of(features, ground, spec, candidates, usual, folds, judge, apart)
    if ground is not whole:  # a scan of some rows is a part of a pass
        share = ground.features.design.shape[0] / features.design.shape[0]
        trace.steps += [replace(step, passes=share * step.passes) for step in apart.steps]
    return choice._replace(by_rule=choice.by_rule or why)


def warn_of_no_choice(wish: Wish, spec: FitSpec, groups: np.ndarray | None) -> None:
    """Warn of what has no effect where nothing is chosen."""
    lacking = wish.parameter if spec.number is None else 'C or elimination to "auto"'
    for name, value in {"cv": wish.cv, "scoring": wish.scoring, "groups": groups}.items():
        if value is not None:
            shown = name if name == "groups" else f"{name}={brief(value)}"
            warn(f"{shown} has no effect, since nothing is chosen: set {lacking}, or leave {name} out")


def samples_to_compare_on(ground: Ground, wish: Wish, wanted: int | None) -> Sample | None:
    """Some samples that stand for all in a choice; None: all of them, as where folds or groups are given.

    "auto": FEWEST_ROWS to MOST_ROWS, by the work that each of them makes. A class has RAREST of them, if there are so
    many. Where all are compared, those without weight are left out: how models are solved depends on the number.
    """
    target, design, number = ground.target, ground.features.design, wish.choose_rows
    most: Any = number
    counted_folds = wish.cv is None or isinstance(wish.cv, numbers.Integral)
    if number is None or not counted_folds or ground.groups is not None:
        return None
    if number == "auto":
        work = SCANS * design.entries * design.entry_cost / design.shape[0] + FITS * float(wanted or 0) ** 2
        most = int(min(MOST_ROWS, max(FEWEST_ROWS, MOST_WORK / work)))
    least = max(int(wish.cv or 0), min(RAREST, most // target.classes.size))
    sample = sampled(most, least, target.codes, target.weights, ground.content)
    counts = target.weights > 0
    if sample is None and not counts.all():
        return Sample(np.flatnonzero(counts), np.ones(np.count_nonzero(counts)))
    return sample


def candidates_of(usual: Candidate, *, any_C: bool, any_kind: bool) -> list[Candidate]:
    """What is compared: values of C around the usual one, and growth alone beside elimination."""
    candidates = [usual._replace(C=usual.C * factor) for factor in (CS if any_C else (1.0,))]
    if any_kind:
        candidates += [Candidate(usual.C * factor, False) for factor in (GROWN_CS if any_C else (1.0,))]
    return candidates


def folds_of(cv: Any, ground: Ground, candidates: Sequence[Candidate]) -> tuple[list[np.ndarray], str]:
    """(folds to compare candidates on, why there are none); ValueError if ``cv`` is given and is not possible."""
    target = ground.target
    given = target.strata, target.weights, ground.content, ground.groups
    if cv is None:
        code, most = rarest_class(*given)
        if most < 2:
            what = "different sample" if ground.groups is None else "group"
            return [], f"class {target.classes.tolist()[code]!r} has {counted(most, what)}, too few to hold out"
    try:
        folds = held_out_parts(cv, *given)
        check_comparable(target, candidates, folds)
    except ValueError as error:
        if cv is not None:
            raise
        return [], str(error)
    return folds, ""


def check_comparable(target: Target, candidates: Sequence[Candidate], folds: Sequence[np.ndarray]) -> None:
    """Raise ValueError unless all candidates can be fitted and judged on these folds: before anything is solved."""
    target.check_folds(folds)
    for C in sorted({candidate.C for candidate in candidates}):
        target.costs(C)
    for fold in folds:
        target.problems(candidates[0].C, held_out=fold)


def best_of(
    features: Features,
    ground: Ground,
    spec: FitSpec,
    candidates: Sequence[Candidate],
    usual: Candidate,
    folds: Sequence[np.ndarray],
    judge: FoldScore,
    trace: Trace,
) -> Choice:
    """The variant of the features and the candidate with the best mean score on samples that are held out.

    ``ground`` has all samples or some of them; C is relative to the usual one there. Of equal scores the last variant
    is chosen, then the first candidate. Variants whose time was over have no scores; if there are none at all, the
    middle variant and the ``usual`` candidate are taken.
    """
    target, settings, tables = ground.target, features.settings, []
    here = [each._replace(C=each.C * ground.C_ratio) for each in candidates]
    for number, setting in enumerate(settings):
        variant = ground.features.varied(setting)
        limited = spec
        if spec.deadline is not None:
            share = CHOOSING_TIME * (number + 1) / len(settings)
            limited = replace(spec, deadline=trace.begun + share * (spec.deadline - trace.begun))
        tables.append(compared(variant, target, limited, here, folds, judge, trace))
    table = np.stack(tables, axis=1)  # (folds, variants, candidates)
    counts = np.count_nonzero(~np.isnan(table), axis=0)
    late = not counts.any()
    means = np.where(counts == counts.max(), np.nan_to_num(table).sum(axis=0) / max(1, counts.max()), -np.inf)
    if late:
        means[:] = -np.inf
        means[len(settings) // 2, candidates.index(usual)] = 0.0
    places = itertools.product(range(len(settings)), range(len(candidates)))
    best, place = max(places, key=lambda place: (means[place], place[0], -place[1]))
    if ground.features is not features or best < len(settings) - 1:  # made anew: what each has computed was not kept
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
    spec = replace(spec, elimination=elimination, path_below=spec.elimination and not elimination)
    return Choice(variant, spec, C, results, chosen, by_rule, LATE if late else "")
