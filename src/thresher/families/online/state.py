"""The state of online learners, as values that can be stored and restored."""

from dataclasses import dataclass

import numpy as np

from thresher.results import Milestone


@dataclass(frozen=True)
class LearnerState:
    """The state of a Learner: ``table`` has a row for each feature seen, ``kept`` lists the rows with a weight.

    ``clock`` contains the scalars: rounds, features kept, intercept, loss. Their positions are defined by the compiled
    loops.
    """

    table: np.ndarray
    kept: np.ndarray
    clock: np.ndarray


@dataclass(frozen=True)
class LearnersState:
    """The state of Learners, from which training continues as if it had not been interrupted.

    ``ids`` of the features seen, by row of the tables; number of ``examples``; ``totals`` of their weights;
    ``mistakes`` and ``milestones`` of each setting; ``learners``, for each setting those of all classes.
    """

    ids: np.ndarray
    examples: int
    totals: np.ndarray
    mistakes: list[float]
    milestones: list[list[Milestone]]
    learners: list[LearnerState]
