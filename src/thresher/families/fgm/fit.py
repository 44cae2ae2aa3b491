"""The feature generating machine: docs/theory/fgm.md has the problem, the algorithm and what differs from the paper."""

from collections.abc import Callable, Sequence

from thresher.engine.growth import grow
from thresher.families.fgm.all_features import fit_all
from thresher.families.fgm.fitted_problem import FittedProblem
from thresher.families.fgm.path import InX, Later, forced_columns, members, path, rest_of_path, station, translation
from thresher.families.fgm.spec import FitPlan
from thresher.features.base import Earlier, Features
from thresher.optim.dispatch import eliminator_for
from thresher.optim.problems.margins import Problem
from thresher.results import Certificate, Path, Selection, Station, Stop, StopReason, Trace, Turn

Starts = Callable[[int | None], list[Earlier]]


def select(
    features: Features,
    problems: Sequence[Problem],
    plan: FitPlan,
    trace: Trace,
    starts: Starts | None = None,
    watch: Callable[[Turn], None] = lambda turn: None,
) -> Selection:
    """Grow linear models on ``features``, eliminate, and return them as one Selection with its path.

    ``problems`` are the models: each selects its own features, all are scanned together. ``starts(most)`` gives
    (units, weights (columns, outputs)) for each problem to begin from, with at most ``most`` units (None: any number).
    """
    if plan.every_feature:
        return fit_all(features, problems, plan, trace, starts, watch)
    if plan.has_rest:
        for problem in problems:
            eliminator_for(problem)  # raises now rather than after hours of growth
    growths = plan.growths
    begins = None if starts is None else [start for growth in growths for start in starts(growth.reach)]
    plans = [growth for growth in growths for _ in problems]
    grown = grow(features.design, list(problems) * len(growths), plans, trace, begins, watch)
    models = [FittedProblem(problem, grown[index :: len(problems)], trace) for index, problem in enumerate(problems)]
    interrupted = grown[0].stop.reason is StopReason.INTERRUPTED
    in_X = translation(features, models, trace)
    more: list[Station] = []
    later: Later | None = None
    try:
        if not interrupted:
            for model in models:
                model.finish(eliminates=plan.eliminates, debias=plan.spec.debias)
            if plan.has_rest:
                more, later = rest_of_path(in_X, models, plan.spec.deadline)
    except KeyboardInterrupt:
        interrupted = True
    return selection(in_X, models, trace, path(in_X, models, more, later), interrupted=interrupted)


def selection(in_X: InX, models: Sequence[FittedProblem], trace: Trace, path: Path, *, interrupted: bool) -> Selection:
    """The picks of all models as one Selection."""
    grown = [model.grown for model in models]
    pick = station(in_X, members(models), "pick", [model.pick for model in models])
    late = [model for model in models if model.is_late]
    short = [model for model in models if model.pick.used != model.plan.wanted]
    stop = Stop(StopReason.INTERRUPTED) if interrupted else (late or short or models)[0].why()
    certificate = Certificate(
        sum(result.taken.solution.objective for result in grown),
        sum(result.lower_bound for result in grown),
        pick.objective,
        pick.bound,
        sum(result.at_zero for result in grown),
    )
    return Selection(
        pick.features,
        pick.weights,
        pick.intercept,
        stop.text,
        certificate,
        trace,
        path,
        budget=max(result.budget for result in grown),
        forced=forced_columns(in_X, models[0].plan),
        interrupted=interrupted,
        stop=stop.reason,
        units=pick.units,
        fitted_features=in_X.fitted,
    )
