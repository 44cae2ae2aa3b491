"""FitSpec: how users want a fit; FitPlan: the same for the features and the target of a fit, with all numbers."""

import functools
import math
from dataclasses import dataclass
from typing import Any

from thresher.data.designs.units import Units
from thresher.engine.plans import GatherPlan, GrowthPlan, Plan, turn_groups
from thresher.features.base import Features
from thresher.targets.base import Target

POOL = 400  # columns that the larger pool has, less twice the number wanted
MOST_COLUMNS = 1000  # of the groups in the larger pool, or in one whose every number of groups is a station
MOST_ELIMINATION_WORK = (
    5e9  # rows x columns x the smaller of both, of a pool of groups, above which nothing is eliminated
)
FEWER = 1.2  # times the number wanted: the smaller pool
ALL = "all"


@dataclass(frozen=True, kw_only=True)
class FitSpec:
    """The parameters of a fit, typed, as far as they are known without the data.

    Parameters
    ----------
    number : int, float, "all" or None
        Units to select: a number, a share of all, all of them without a selection; None: until ``tol``.
    elimination : bool, default=True
        Whether more units are gathered, of which elimination leaves those wanted; else growth alone selects.
    n_candidates : int, float or None, default=None
        Units from which elimination starts: a number, or a multiple of the number wanted; None: by rule.
    features_per_turn : int, default=None
        The budget, which is also the number of units taken in a turn; None: by rule.
    tol : float, default=1e-3
        Relative duality gap at which a model has converged.
    inner_tol : float, default=None
        Accuracy of each turn's problem, relative to its objective; None: by rule.
    max_turns : int, default=100
        Maximum number of turns.
    deadline : float, default=None
        Time, as ``time.perf_counter`` tells it, at which the model found so far is returned.
    debias : bool, default=False
        Whether a grown pick is refitted with the plain penalty, as elimination always does.
    literal : bool, default=False
        Whether growth solves the paper's sub-problem (30), which may stall above ``tol``, and stops as it does.
    path_below : bool, default=False
        Whether elimination goes on from what growth alone has selected, for the path.
    compares_in_full : bool, default=False
        Whether candidates of a choice are fitted on all of X, not on the columns that their folds have gathered.
    parameter : str, default="n_features_to_select"
        The name of ``number`` in messages.
    """

    number: float | str | None
    elimination: bool = True
    n_candidates: float | None = None
    features_per_turn: int | None = None
    tol: float = 1e-3
    inner_tol: float | None = None
    max_turns: int = 100
    deadline: float | None = None
    debias: bool = False
    literal: bool = False
    path_below: bool = False
    compares_in_full: bool = False
    parameter: str = "n_features_to_select"

    def on(self, features: Features, target: Target) -> "FitPlan":
        """The plan for these features and this target."""
        wanted = self.wanted(features)
        pools = tuple(self.pools(wanted, features, target))
        return FitPlan(self, features.units, features.forced, features.excluded, wanted, pools)

    def wanted(self, features: Features) -> int | None:
        """How many units to select of those that may be selected; None: until the tolerance is reached, or all."""
        number, noun, most = self.number, features.units.noun, features.n_candidates
        if number is None or number == ALL:
            return None
        if isinstance(number, int) and not 1 <= number <= features.n_units:
            raise ValueError(
                f"{self.parameter}={number} must be between 1 and the {features.n_units} {features.candidates_text}"
            )
        if isinstance(number, int) and number > most:
            raise ValueError(
                f"{self.parameter}={number}, but exclude leaves only {most} of the {features.n_units} {noun}s"
            )
        wanted = number if isinstance(number, int) else min(most, max(1, int(number * features.n_units)))
        if len(features.forced) > wanted:
            raise ValueError(f"always_include names {len(features.forced)} {noun}s, but {self.parameter} is {wanted}")
        return wanted

    def eliminates(self, features: Features, target: Target) -> bool:
        """Whether elimination follows growth, so that it can be left out."""
        return self.pools(self.wanted(features), features, target) != [None]

    def pools(self, wanted: int | None, features: Features, target: Target) -> list[int | None]:
        """Numbers of units from which elimination selects, ascending; [None]: growth alone."""
        if wanted is None or not self.elimination:
            return [None]
        number = self.n_candidates
        if number is None:
            if is_too_much_work(wanted, features):
                return [None]
            return list(pool_sizes(wanted, features.units.mean_size, target.candidate_factor))
        if isinstance(number, int):
            if number < wanted:
                raise ValueError(
                    f"n_candidates={number} is smaller than {self.parameter}={wanted}: there would be nothing to "
                    "eliminate"
                )
            return [number]
        return [math.ceil(number * wanted)]


@dataclass(frozen=True)
class FitPlan:
    """What a fit will do.

    Parameters
    ----------
    spec : FitSpec
        What users want.
    units : Units
        What is selected.
    forced, excluded : tuple of int
        Units that must, and must not, be selected.
    wanted : int or None
        Units to select; None: until the tolerance is reached.
    pools : tuple of int or None
        Numbers of units that are gathered for elimination, ascending; (None,): growth alone.
    """

    spec: FitSpec
    units: Units
    forced: tuple[int, ...]
    excluded: tuple[int, ...]
    wanted: int | None
    pools: tuple[int | None, ...]

    @functools.cached_property
    def growths(self) -> tuple[Plan, ...]:
        """The plans of growth, side by side: the pick comes from the last, unless one before it is clearly better."""
        return tuple(self._growth(pool, self.excluded) for pool in self.pools)

    @property
    def gathers(self) -> bool:
        """Whether growth gathers more units than wanted, of which elimination selects."""
        return self.pools[-1] is not None

    @property
    def eliminates(self) -> bool:
        """Whether elimination follows growth; where no number is wanted, for the path alone."""
        return self.gathers or (self.wanted is None and self.spec.elimination)

    @property
    def has_rest(self) -> bool:
        """Whether elimination makes more models for the path, when they are asked for."""
        return self.eliminates or (self.spec.path_below and self.wanted is not None)

    @property
    def every_feature(self) -> bool:
        """Whether nothing is selected: the model is on all features."""
        return self.spec.number == ALL

    @property
    def target(self) -> int | None:
        """The number of units that growth takes; None: there is none."""
        return self.growths[-1].reach if self.gathers else self.wanted

    def _growth(self, pool: int | None, excluded: tuple[int, ...]) -> Plan:
        """The plan for grow(): ``pool`` units for elimination or, where it is None, the number wanted."""
        spec = self.spec
        available = self.units.count - len(excluded)
        goal = self.wanted if pool is None else min(available, pool)
        budget = features_per_turn(goal) if spec.features_per_turn is None else spec.features_per_turn
        if goal is not None:
            budget = min(budget, max(goal - len(self.forced), 1))
        common: dict[str, Any] = {
            "units": self.units,
            "budget": budget,
            "tol": spec.tol,
            "inner_tol": spec.inner_tol,
            "max_turns": spec.max_turns,
            "deadline": spec.deadline,
            "forced": self.forced,
            "exclude": excluded,
        }
        if self.wanted is not None and pool is not None:
            reach = min(available, pool)
            return GatherPlan(wanted=self.wanted, reach=reach, at_least=2 * self.wanted, **common)
        if spec.literal:
            return GrowthPlan(wanted=self.wanted, penalty=turn_groups, min_decrease=spec.tol, **common)
        may_raise = spec.features_per_turn is None
        return GrowthPlan(wanted=self.wanted, may_raise=may_raise, min_decrease=1e-3 * spec.tol, **common)


def features_per_turn(columns: int | None) -> int:
    """The paper's B: a tenth of the target number of columns, at most 100; 10 if there is no target.

    About ten turns, so about twelve passes over X. The paper finds no loss of accuracy up to B = 100 and loss at 400.
    """
    return 10 if columns is None else min(100, max(1, math.ceil(columns / 10)))


def pool_sizes(wanted: int, mean_size: float = 1.0, candidate_factor: float | None = None) -> list[int]:
    """Numbers of units from which elimination selects ``wanted``, ascending; a given factor times it.

    By rule it tries 400 less twice the number wanted and, where that is less, six fifths of it: 380 and 12 for 10
    features, 300 and 60 for 50. The pick comes from the larger pool, unless that from the smaller one has an objective
    lower by more than 2 %; docs/decisions/the-rule-of-n-candidates-auto.md has the experiments. Of groups of
    ``mean_size`` columns the larger pool has 400 columns or twice the number wanted, whichever is more, but no more
    than MOST_COLUMNS columns: more units made no better picks, and the work grows with the cube of the columns.
    """
    if candidate_factor is not None:
        return [math.ceil(candidate_factor * wanted)]
    size = max(mean_size, 1.0)
    few = math.ceil(FEWER * wanted)
    enough = max(2 * wanted, int(POOL / size))
    many = min(POOL - 2 * wanted, enough, int(MOST_COLUMNS / size))
    return [few, many] if many > few else [few]


def is_too_much_work(wanted: int, features: Features) -> bool:
    """Whether elimination of groups, or inputs of a kernel, would be too much work even from the smaller pool.

    That is so where rows times columns times the smaller of both, which one of many factorisations takes, is above
    MOST_ELIMINATION_WORK.
    """
    mean_size = features.units.mean_size
    if mean_size <= 1.0:
        return False
    n_rows = features.design.shape[0]
    columns = math.ceil(FEWER * wanted) * mean_size
    return columns * n_rows * min(columns, n_rows) > MOST_ELIMINATION_WORK
