"""Who looks on while a problem is solved."""

import time
from collections.abc import Callable

import numpy as np


class Watch:
    """Knows when the time of a solve is over, and passes on where it stands after each step.

    Parameters
    ----------
    deadline : float, default=inf
        When to stop, on the clock of ``time.perf_counter``.
    tell : callable, default=None
        Called after each step with the number of steps so far, the gap and the number of features.
    """

    def __init__(self, deadline: float = np.inf, tell: Callable[[int, float, int], None] | None = None):
        self.deadline, self.tell, self.steps = deadline, tell, 0

    @property
    def late(self) -> bool:
        """Whether the time is over."""
        return time.perf_counter() > self.deadline

    def step(self, gap: float, features: int) -> None:
        """A step was taken."""
        self.steps += 1
        if self.tell is not None:
            self.tell(self.steps, gap, features)
