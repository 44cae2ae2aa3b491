"""The judge: seconds of interleaved repeats, memory as growth of anonymous pages."""

import ctypes
import platform
import statistics
import threading
import time
from pathlib import Path
from typing import NamedTuple

import psutil

STATUS = Path("/proc/self/status")


def seconds_of(call):
    """Wall-clock seconds of one call."""
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


class Times(NamedTuple):
    """Seconds of repeated calls, round by round."""

    rounds: tuple[float, ...]

    @property
    def median(self):
        return statistics.median(self.rounds)

    @property
    def best(self):
        return min(self.rounds)


def interleaved(calls, repeats, warm_up=True):
    """The Times of each of ``calls``, a dict of functions.

    Every round runs all of them once, so that a slow moment of the machine falls on all alike. A first round,
    which compiles and touches the pages, does not count.
    """
    if warm_up:
        for call in calls.values():
            call()
    seconds = {name: [] for name in calls}
    for _ in range(repeats):
        for name, call in calls.items():
            seconds[name].append(seconds_of(call))
    return {name: Times(tuple(times)) for name, times in seconds.items()}


def anonymous_bytes():
    """Bytes of memory that no file backs: a memory map of X does not count. All bytes where not on Linux."""
    try:
        with STATUS.open() as lines:
            for line in lines:
                if line.startswith("RssAnon:"):
                    return int(line.split()[1]) * 1024
    except OSError:
        pass
    return psutil.Process().memory_info().rss


def give_back():
    """Return freed memory that the C library keeps: a call that used it again would seem to need none."""
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None) if platform.system() == "Linux" else None
    if trim is not None:
        trim(0)


def peak_growth(call, pause=0.001):
    """Bytes by which anonymous memory grew at most during ``call``, looked at every ``pause`` seconds."""
    give_back()
    before = anonymous_bytes()
    peak, ended = [before], threading.Event()

    def watch():
        while not ended.wait(pause):
            peak[0] = max(peak[0], anonymous_bytes())

    watcher = threading.Thread(target=watch, daemon=True)
    watcher.start()
    try:
        call()
    finally:
        ended.set()
        watcher.join()
    return max(peak[0], anonymous_bytes()) - before
