"""Time limits and Ctrl-C while SVMs are trained, which cannot be stopped: their threads are left behind."""

import collections
import threading
import time
from collections.abc import Callable, Sequence
from typing import Any

from thresher.data.scan.pieces import OutOfTime

LOOK = 0.1  # seconds between two looks at the clock
GRACE = 0.7  # seconds that the last step has when the time is over


class Clock:
    """Says when a fit is to end: after its time limit, less what is reserved for the last step, or after Ctrl-C."""

    def __init__(self, deadline: float):
        self.interrupted, self.late = False, False
        self.deadline, self._reserved = deadline, 0.0

    def reserve(self, seconds: float) -> None:
        """Keep at least so many seconds for the last step."""
        self._reserved = max(self._reserved, seconds)

    def ended(self) -> bool:
        """Whether to stop now."""
        self.late = self.late or time.perf_counter() >= self.deadline - self._reserved
        return self.late or self.interrupted

    def end_of_last_step(self) -> Callable[[], bool]:
        """Whether to give the last step up: it has until the time limit, and a little more in any case."""
        least = time.perf_counter() + GRACE
        end = least if self.interrupted else max(self.deadline, least)
        return lambda: time.perf_counter() >= end


def run_tasks(tasks: Sequence[Callable[[], Any]], count: int, ended: Callable[[], bool]) -> list[Any]:
    """Results of all tasks, run on at most ``count`` threads; OutOfTime as soon as ``ended()``, whatever they do.

    libsvm and LIBLINEAR cannot be stopped, but they release the interpreter. After ``ended()``, or after Ctrl-C in this
    thread, no further task is begun, and those that are running are left behind: their threads end with the task, or
    with the process, and their results are dropped.
    """
    results: list[Any] = [None] * len(tasks)
    errors: list[BaseException] = []
    left = collections.deque(range(len(tasks)))

    def work() -> None:
        while not errors:
            try:
                index = left.popleft()
            except IndexError:
                return
            try:
                results[index] = tasks[index]()
            except BaseException as error:
                errors.append(error)

    threads = [threading.Thread(target=work, daemon=True) for _ in range(min(count, len(tasks)))]
    try:
        for thread in threads:
            thread.start()
        for thread in threads:
            while thread.is_alive():
                thread.join(LOOK)
                if thread.is_alive() and ended():
                    raise OutOfTime(0.0)
    finally:
        left.clear()
    if errors:
        raise errors[0]
    return results
