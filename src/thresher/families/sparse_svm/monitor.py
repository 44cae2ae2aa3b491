"""The time limit of a solve, and what is called after each of its steps."""

import time
from collections.abc import Callable

import numpy as np


class SolveMonitor:
    """Says when the time of a solve is over, counts its steps and reports them.

    Parameters
    ----------
    deadline : float, default=inf
        When to stop, on the clock of ``time.perf_counter``.
    report : callable, default=None
        Called after each step with the number of steps so far, the gap and the number of features.
    """

    def __init__(self, deadline: float = np.inf, report: Callable[[int, float, int], None] | None = None):
        self.deadline, self.report = deadline, report
        self.steps = 0

    @property
    def late(self) -> bool:
        """Whether the time is over."""
        return time.perf_counter() > self.deadline

    def step(self, gap: float, features: int) -> None:
        """Count a step and report it.

        Parameters
        ----------
        gap : float
            The duality gap after the step.
        features : int
            Number of features with a weight.
        """
        self.steps += 1
        if self.report is not None:
            self.report(self.steps, gap, features)
