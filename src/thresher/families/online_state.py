"""What online learners have learnt, as values that can be stored and gone on from."""

from dataclasses import dataclass

import numpy as np

from thresher.results import Milestone


@dataclass(frozen=True)
class LearnerState:
    """All that a Learner has learnt: ``table`` has a line for each feature seen, ``kept`` the lines with a weight.

    ``clock`` holds what moves beside: rounds, features kept, intercept, loss. Which place means what is known to the
    compiled loops alone.
    """

    table: np.ndarray
    kept: np.ndarray
    clock: np.ndarray


@dataclass(frozen=True)
class LearnersState:
    """All that Learners have learnt, to go on from as if nothing had happened.

    ``ids`` of the features seen, by line of the tables; number of ``examples``; ``totals`` of their weights;
    ``mistakes`` and ``milestones`` of each setting; ``learners``, for each setting those of all classes.
    """

    ids: np.ndarray
    examples: int
    totals: np.ndarray
    mistakes: list[float]
    milestones: list[list[Milestone]]
    learners: list[LearnerState]
