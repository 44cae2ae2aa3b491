"""The feature generating machine: docs/theory/fgm.md has the problem, the algorithm and what differs from the paper."""

import math

import numpy as np

from thresher.engine.growth import Plan, grow
from thresher.engine.thresh import refitted, stops, thresh
from thresher.results import Certificate, Path, Selection, Station, Trace

POOL = 400  # see pool_size
FINE = 100  # where no number is wanted, the path has every number of features up to this one


def features_per_turn(columns):
    """The paper's B: a tenth of the columns to reach, at most 100; 10 when there is no number to reach.

    About ten turns, so about twelve passes over X. The paper finds no loss of accuracy up to B = 100 and loss at 400.
    """
    return 10 if columns is None else min(100, max(1, math.ceil(columns / 10)))


def pool_size(wanted, overshoot):
    """The number of columns out of which elimination makes a pick of ``wanted``.

    "auto" is 400 less twice the number wanted, and at least six fifths of it: 38 times as many for 10 features,
    6 times for 50, twice for 100. docs/architecture.md has the trials behind it.
    """
    return math.ceil(max(POOL - 2 * wanted, 1.2 * wanted) if overshoot == "auto" else overshoot * wanted)


def growth_target(wanted, overshoot, n_features):
    """The number of columns that growth goes to, or None where there is no number to reach."""
    if wanted is None or overshoot is None:
        return wanted
    return min(n_features, pool_size(wanted, overshoot))


def fgm(design, problems, trace, *, wanted, overshoot=None, debias=False, starts=None, watch=lambda turn: None, **how):
    """Grow linear models on ``design``, thresh them, and return them as one Selection with its path.

    ``problems`` are the models: each picks its own columns, all are scanned together. ``wanted`` features each, or
    None to grow until the gap is within ``tol``. The pick is made by elimination out of ``overshoot`` times as many
    columns, and the path begins at twice as many; None: growth alone. ``debias`` refits a grown pick with the plain
    penalty, as elimination always does. ``starts`` are (ids, weights (ids, classes)) for each problem, in the units of
    the design. ``how`` are options of ``planned``.
    """
    plan = planned(design, wanted, overshoot, **how)
    grown = grow(design, problems, plan, trace, starts, watch)
    models = [_Model(problem, each, plan, trace) for problem, each in zip(problems, grown, strict=True)]
    interrupted = grown[0].interrupted
    try:
        for model in [] if interrupted else models:
            if overshoot is not None:
                model.thresh(None if wanted is None else pool_size(wanted, overshoot))
            if debias and plan.reach is None:
                model.refit()
    except KeyboardInterrupt:
        interrupted = True
    return selection(design, models, trace, interrupted)


def held_out(design, problems, trace, *, wanted, overshoot=None, **how):
    """Scores (samples, classes) of the pick of each problem, on all samples: those without cost were held out."""
    plan = planned(design, wanted, overshoot, **how)
    apart = Trace(steps=trace.steps)  # the turns are not those of the fit, what they cost is
    grown = grow(design, problems, plan, apart)
    models = [_Model(problem, each, plan, apart) for problem, each in zip(problems, grown, strict=True)]
    for model in models:
        if plan.reach is not None:
            model.thresh(pool_size(wanted, overshoot), only_to_pick=True)
        yield model.scores


def planned(
    design, wanted, overshoot, *, per_turn=None, tol=1e-3, inner_tol=None, max_turns=100, deadline=None, forced=(),
    master="k_support",
):  # fmt: skip
    """The plan for grow().

    ``per_turn`` is the budget B (None: by rule, and raised, in growth alone, when its optimum has fewer features than
    wanted). ``master`` is "k_support", or "groups" for the paper's sub-problem (30), which may stall above ``tol``.
    """
    forced = tuple(int(j) for j in forced)
    gathers = wanted is not None and overshoot is not None
    target = growth_target(wanted, overshoot, design.shape[1])
    budget = features_per_turn(target) if per_turn is None else per_turn
    if target is not None:
        budget = min(budget, max(target - len(forced), 1))
    return Plan(
        wanted,
        budget,
        may_raise=per_turn is None and master == "k_support",
        tol=tol,
        inner_tol=inner_tol,
        min_decrease=tol if master == "groups" else 1e-3 * tol,
        max_turns=max_turns,
        deadline=deadline,
        forced=forced,
        master=master,
        reach=target if gathers else None,
        spare=max(0, 2 * wanted - target) if gathers else 0,
    )


class _Model:
    """One problem's way through a fit: the turns of growth, the stations of elimination, and its pick."""

    def __init__(self, problem, grown, plan, trace):
        self.problem, self.grown, self.plan, self.trace = problem, grown, plan, trace
        self.way, self.reason = {}, grown.reason  # stations of elimination by number of columns; why it ended
        taken = grown.taken
        self.pick = taken.heaviest(problem, taken.used if plan.wanted is None else plan.wanted)

    @property
    def scores(self):
        """Scores of the pick, (samples, classes)."""
        solution = self.pick.solution
        return solution.z.reshape(self.problem.classes, -1).T + solution.b

    def thresh(self, pool, *, only_to_pick=False):
        """Eliminate; where a number is wanted, the pick is then the station that has it, out of ``pool`` columns."""
        taken, wanted = self.grown.taken, self.plan.wanted
        if wanted is None:
            taken = self.pick
        most = taken.ids.size
        if most == 0:
            return
        target = min(wanted or most, most)
        numbers = stops(most, min(2 * wanted if wanted else FINE, most), max(1, taken.forced))
        if only_to_pick:
            numbers = stops(most, target, target)
        exact = target if wanted and not only_to_pick else None
        at_zero, deadline = self.grown.at_zero, self.plan.deadline
        options = {"pool": pool, "exact": exact, "deadline": deadline}
        for left in thresh(taken, self.problem, at_zero, numbers, self.trace, **options):
            self.way[left.ids.size] = left
        if wanted is not None:
            if target not in self.way:
                self.reason = "max_time is over"
            last = taken.like(self.problem, self.way.get(target, self.way[min(self.way)]))
            self.pick = last.heaviest(self.problem, target)

    def refit(self):
        """Give the pick the plain penalty 1/2 ||w||^2."""
        if self.pick.ids.size:
            with self.trace.step("debias"):
                self.pick = refitted(self.pick, self.problem, self.plan.deadline)

    def why(self):
        """The reason to stop, in words."""
        found, wanted = self.pick.used, self.plan.wanted
        late = self.reason == "max_time is over"
        return f"{wanted} features, as asked" if found == wanted and not late else self.reason


def selection(design, models, trace, interrupted):
    """The picks of all models as one Selection."""
    grown = [model.grown for model in models]
    pick = station(design, models, "pick", [model.pick for model in models])
    short = [model for model in models if model.pick.used != model.plan.wanted]
    certificate = Certificate(
        sum(each.taken.solution.objective for each in grown),
        sum(each.lower_bound for each in grown),
        pick.objective,
        pick.bound,
        sum(each.at_zero for each in grown),
    )
    return Selection(
        pick.features,
        pick.weights,
        pick.intercept,
        "interrupted" if interrupted else (short or models)[0].why(),
        certificate,
        trace,
        path(design, models),
        budget=max(each.budget for each in grown),
        forced=np.sort(design.numbers_in_X(np.asarray(models[0].plan.forced, dtype=np.int64))),
        interrupted=interrupted,
    )


def path(design, models):
    """Turn by turn of growth, then station by station of elimination, where all models have one."""
    turns = max(len(model.grown.turns) for model in models)
    growth = ([model.grown.turns[min(t, len(model.grown.turns) - 1)] for model in models] for t in range(turns))
    common = sorted(set.intersection(*(set(model.way) for model in models)), reverse=True)
    found = [station(design, models, "grow", parts) for parts in growth]
    found += [station(design, models, "thresh", [model.way[number] for model in models]) for number in common]
    return Path(each for each in found if each.features.size)


def station(design, models, phase, parts):
    """What the models have in ``parts`` (a Taken each) as one Station, in the units and numbers of X."""
    kept = [part.positions for part in parts]
    ids = np.unique(np.concatenate([part.ids[at] for part, at in zip(parts, kept, strict=True)]))
    classes = sum(part.classes for part in parts)
    W, first, objective, bound = np.zeros((ids.size, classes)), 0, 0.0, 0.0
    for model, part, at in zip(models, parts, kept, strict=True):
        weights = part.weights[at]
        W[np.searchsorted(ids, part.ids[at]), first : first + part.classes] = weights
        objective += 0.5 * float((weights**2).sum()) + part.solution.loss
        bound += model.grown.pick_bound(at.size)
        first += part.classes
    weights, offset = design.in_units_of_X(ids, W)
    intercept = np.concatenate([np.broadcast_to(part.solution.b, part.classes) for part in parts]) + offset
    if classes == 1:
        weights, intercept = weights[:, 0], float(intercept[0])
    number = max(at.size for at in kept)
    return Station(phase, number, design.numbers_in_X(ids), weights, intercept, objective, bound)
