"""What solvers that read all of X themselves read of it, in the trace."""

from collections.abc import Iterator
from contextlib import contextmanager

from thresher.data.blocks.sides import Sides
from thresher.results import Step, Trace


@contextmanager
def reading(sides: Sides, nbytes: int, trace: Trace) -> Iterator[None]:
    """Record as a step of solving what is read inside a ``with`` block, and how long it takes: a pass is ``nbytes``."""
    passes, begun = sides.passes, trace.elapsed
    yield
    read = sides.passes - passes
    trace.steps.append(Step("solve", trace.elapsed - begun, read, int(read * nbytes)))
