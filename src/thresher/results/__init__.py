"""What a fit returns: values that can be looked at, printed and checked. Nothing here computes."""

from thresher.results.grid import Grid
from thresher.results.selection import (
    Certificate,
    Milestone,
    Path,
    Selection,
    Station,
    Step,
    Trace,
    Turn,
    as_asked,
    in_words,
    relative,
)

__all__ = [
    "Certificate",
    "Grid",
    "Milestone",
    "Path",
    "Selection",
    "Station",
    "Step",
    "Trace",
    "Turn",
    "as_asked",
    "in_words",
    "relative",
]
