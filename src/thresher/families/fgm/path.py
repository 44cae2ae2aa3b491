"""The path of a fit: models of growth and of elimination as stations, in the units and columns of X.

A fit eliminates down to the number of features requested and no further. The rest of the path, from twice as many down
to one, is computed when it is first asked for, from the columns that are kept in memory until then.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from thresher.data.designs.units import Units
from thresher.data.workers import ONE_BLAS_THREAD
from thresher.engine.plans import Plan
from thresher.engine.threshing import thresh
from thresher.engine.working_set import WorkingSet
from thresher.families.fgm.fitted_problem import FittedProblem
from thresher.features.base import Features
from thresher.features.fitted import FittedFeatures
from thresher.results import Path, Station, Trace

KEEP = 1 << 28  # bytes of columns that are kept for the rest of the path; if there are more, it is computed at once
CHUNK = 256  # columns whose translation is computed at a time


@dataclass(frozen=True)
class InX:
    """How columns of a design and weights on them translate to X as given.

    ``ids_in_X(ids)`` are the numbers of the columns in X, ``in_units_of_X(ids, w)`` the (weights on them, offset of the
    scores); ``fitted`` describes all columns that can be asked for.
    """

    ids_in_X: Callable[[np.ndarray], np.ndarray]
    in_units_of_X: Callable[[np.ndarray, np.ndarray], tuple[np.ndarray, float | np.ndarray]]
    fitted: FittedFeatures


@dataclass(frozen=True)
class Member:
    """What the stations of one problem need besides their weights: units, and lower bounds for numbers of them."""

    units: Units
    bounds: tuple[Callable[[int], float], ...]

    def bound(self, number: int) -> float:
        """A lower bound of the objective over all subsets of ``number`` units."""
        return max(bound(number) for bound in self.bounds)


def translation(features: Features, models: Sequence[FittedProblem], trace: Trace) -> InX:
    """The translation of a design to X, with what new data needs of the columns that models on it can have."""
    turns = [turn for model in models for grown in model.candidates for turn in (grown.taken, *grown.turns)]
    ids = np.unique(np.concatenate([turn.columns for turn in turns]))
    units = np.unique(np.concatenate([turn.units for turn in turns]))
    with trace.step("arrange", *features.fitted_cost(ids)):
        fitted = features.fitted(ids, units)
    return InX(features.design.ids_in_X, features.design.in_units_of_X, fitted)


def without_design(in_X: InX, ids: np.ndarray) -> InX:
    """The translation of the columns ``ids`` (sorted) alone, which does not hold the design that it was made from."""
    numbers, factor, offset = in_X.ids_in_X(ids), np.ones(ids.size), np.zeros(ids.size)
    for lo in range(0, ids.size, CHUNK):
        some = ids[lo : lo + CHUNK]
        weights, offset[lo : lo + CHUNK] = in_X.in_units_of_X(some, np.eye(some.size))
        factor[lo : lo + CHUNK] = weights.diagonal()

    def ids_in_X(columns: np.ndarray) -> np.ndarray:
        return numbers[np.searchsorted(ids, columns)]

    def in_units_of_X(columns: np.ndarray, w: np.ndarray) -> tuple[np.ndarray, float | np.ndarray]:
        at = np.searchsorted(ids, columns)
        return (w.T * factor[at]).T, offset[at] @ w

    return InX(ids_in_X, in_units_of_X, in_X.fitted)


class Later:
    """Computes the stations of elimination that a fit left out, when called."""

    def __init__(self, design: InX, models: Sequence[FittedProblem]):
        self.members = members(models)
        self.rests, self.known = [model.rest() for model in models], [model.stations for model in models]
        takens = [rest.taken for rests in self.rests for rest in rests]
        takens += [left for known in self.known for left in known.values()]  # a model may need no rest, where others do
        ids = [taken.columns for taken in takens]
        self.in_X = without_design(design, np.unique(np.concatenate([np.zeros(0, dtype=np.int64), *ids])))
        # without a number to reach, the grown models are the pick, which is the station with its number
        self.there = {max(model.pick.used for model in models)} if models[0].plan.wanted is None else set()

    @property
    def nbytes(self) -> int:
        """Bytes of the columns that are kept for it."""
        return sum(rest.taken.in_memory.nbytes for rests in self.rests for rest in rests)

    def __call__(self, deadline: float | None = None) -> list[Station]:
        """The stations that all models have and the fit has not."""
        found = []
        for rests, known in zip(self.rests, self.known, strict=True):
            stations: dict[int, WorkingSet] = {}
            for rest in rests:
                with rest.taken.in_memory.workers, ONE_BLAS_THREAD:
                    stations |= {left.units.size: left for left in thresh(rest, Trace(), deadline)}
            found.append(stations | known)
        there = self.there | set.intersection(*map(set, self.known))
        numbers = sorted(set.intersection(*map(set, found)) - there, reverse=True)
        return [station(self.in_X, self.members, "thresh", [stations[n] for stations in found]) for n in numbers]


def rest_of_path(
    in_X: InX, models: Sequence[FittedProblem], deadline: float | None
) -> tuple[list[Station], Later | None]:
    """(stations that elimination left out, how to compute them later): only small columns are kept until then."""
    later = Later(in_X, models)
    return ([], later) if later.nbytes <= KEEP else (later(deadline), None)


def members(models: Sequence[FittedProblem]) -> list[Member]:
    """The Member of each model."""
    return [Member(model.plan.units, tuple(grown.pick_bound for grown in model.candidates)) for model in models]


def path(design: InX, models: Sequence[FittedProblem], more: Sequence[Station], later: Later | None) -> Path:
    """The turns of growth, then the stations of elimination that all models have, and ``more``; others ``later``."""
    turns = max(len(model.grown.turns) for model in models)
    growth = ([model.grown.turns[min(t, len(model.grown.turns) - 1)] for model in models] for t in range(turns))
    counts = set.intersection(*(set(model.stations) for model in models))
    each = members(models)
    stations = [station(design, each, "grow", parts) for parts in growth]
    left = [station(design, each, "thresh", [model.stations[count] for model in models]) for count in counts]
    stations += sorted([*left, *more], key=lambda one: -one.number)
    return Path([one for one in stations if one.features.size], later)


def forced_columns(design: InX, plan: Plan) -> np.ndarray:
    """Column indices in X of the features that must be in the model."""
    columns = plan.units.members(np.asarray(plan.forced, dtype=np.int64)).columns
    return np.unique(design.ids_in_X(columns))


def station(in_X: InX, members: Sequence[Member], phase: str, parts: Sequence[WorkingSet]) -> Station:
    """The WorkingSet of each model in ``parts`` as one Station, in the units and columns of X.

    The weight of a column that several units share is the sum of its weights in them.
    """
    kept = [part.positions for part in parts]
    places = [part.layout.columns(positions) for part, positions in zip(parts, kept, strict=True)]
    ids = np.unique(np.concatenate([part.columns[at] for part, at in zip(parts, places, strict=True)]))
    classes = sum(part.layout.classes for part in parts)
    number = max(positions.size for positions in kept)
    W, first, objective, bound = np.zeros((ids.size, classes)), 0, 0.0, 0.0
    for member, part, positions, at in zip(members, parts, kept, places, strict=True):
        weights, last = part.weights[at], first + part.layout.classes
        in_design = member.units.in_design(part.units[positions], weights)
        np.add.at(W[:, first:last], np.searchsorted(ids, part.columns[at]), in_design)
        objective += 0.5 * float((weights**2).sum()) + part.solution.loss
        bound += member.bound(number)
        first = last
    weights, offset = in_X.in_units_of_X(ids, W)
    intercept = np.concatenate([np.broadcast_to(part.solution.b, part.layout.classes) for part in parts]) + offset
    chosen = [part.units[positions] for part, positions in zip(parts, kept, strict=True)]
    return Station(
        phase,
        number,
        in_X.ids_in_X(ids),
        weights[:, 0] if classes == 1 else weights,
        float(intercept[0]) if classes == 1 else intercept,
        objective,
        bound,
        np.unique(np.concatenate(chosen)) if members[0].units.grouped else None,
        in_X.fitted,
    )
