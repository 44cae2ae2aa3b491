"""Work that makes many objects and no garbage: imports, and the compilation of loops."""

import gc
from collections.abc import Iterator
from contextlib import contextmanager


def pause() -> bool:
    """Pause the garbage collection; whether it was on."""
    was_on = gc.isenabled()
    gc.disable()
    return was_on


def resume(was_on: bool) -> None:
    """Resume it where it was on.

    All objects are counted among the old ones, which the next collections do not look through: the first one would
    otherwise take as long as was saved. Freezing them and taking that back does so without looking at any. Where a
    program has frozen objects itself, they stay frozen.
    """
    if was_on:
        if gc.get_freeze_count() == 0:
            gc.freeze()
            gc.unfreeze()
        gc.enable()


@contextmanager
def uncollected() -> Iterator[None]:
    """Pause the garbage collection, for imports: looking through all objects meanwhile takes a fifth of their time."""
    was_on = pause()
    try:
        yield
    finally:
        resume(was_on)
