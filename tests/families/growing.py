"""fgm(): the fit of paper 1 on a bare design, without an estimator."""

import math

from thresher.data.designs.units import EachColumn
from thresher.families.fgm.choice import held_out_scores
from thresher.families.fgm.fit import select
from thresher.families.fgm.spec import ALL, FitPlan, FitSpec, pool_sizes
from thresher.features.base import Features
from thresher.features.fitted_columns import ColumnFeatures


def bare(design, units=None, forced=(), exclude=()):
    """The columns of ``design``, or ``units`` of them, as Features."""
    units = EachColumn(design.width) if units is None else units
    restricted = {"forced": tuple(map(int, forced)), "excluded": tuple(map(int, exclude))}
    count = units.count
    columns = ColumnFeatures(design.n_columns)
    return Features(
        design=design, units=units, columns=columns, fitted_type=ColumnFeatures, scale=None, n_candidates=count,
        n_units=count, **restricted,
    )  # fmt: skip


def plan_of(features, wanted, candidate_factor=None, per_turn=None, *, every=False, **spec):
    """The FitPlan for ``wanted`` units: growth alone, or elimination from a multiple of it, or "auto"."""
    number = ALL if every else wanted
    spec = FitSpec(number=number, elimination=candidate_factor is not None, features_per_turn=per_turn, **spec)
    pools = [None]
    if wanted is not None and candidate_factor is not None:
        by_rule = pool_sizes(wanted, features.units.mean_size)
        pools = by_rule if candidate_factor == "auto" else [math.ceil(candidate_factor * wanted)]
    return FitPlan(spec, features.units, features.forced, features.excluded, wanted, tuple(pools))


def fgm(
    design, problems, trace, *, wanted, candidate_factor=None, units=None, forced=(), exclude=(), starts=None,
    watch=lambda turn: None, **spec,
):  # fmt: skip
    """The Selection of ``wanted`` units of ``design``."""
    features = bare(design, units, forced, exclude)
    return select(features, problems, plan_of(features, wanted, candidate_factor, **spec), trace, starts, watch)


def held_out(design, problems, trace, *, wanted, candidate_factor=None, units=None, excludes=None, **spec):
    """Scores of the pick of each problem, on all samples."""
    features = bare(design, units)
    excludes = [()] * len(problems) if excludes is None else excludes
    return held_out_scores(features, problems, plan_of(features, wanted, candidate_factor, **spec), trace, excludes)


def growth_target(wanted, candidate_factor, n_units, mean_size=1.0):
    """The number of units that growth takes, or None if there is no target."""
    if wanted is None or candidate_factor is None:
        return wanted
    pools = pool_sizes(wanted, mean_size) if candidate_factor == "auto" else [math.ceil(candidate_factor * wanted)]
    return min(n_units, pools[-1])


def fgm_all(design, problems, trace, *, exclude=(), starts=None, watch=lambda turn: None, **spec):
    """A model on all columns of ``design`` but those in ``exclude``."""
    features = bare(design, exclude=exclude)
    return select(features, problems, plan_of(features, None, every=True, **spec), trace, starts, watch)


def held_out_all(design, problems, trace, *, exclude=(), **spec):
    """Scores of the model of each problem on all columns."""
    features = bare(design, exclude=exclude)
    plan = plan_of(features, None, every=True, **spec)
    return held_out_scores(features, problems, plan, trace, [features.excluded] * len(problems))
