"""What a fit returns: values that can be looked at, printed and checked. Nothing here computes."""

from thresher.results.feature_path import FeaturePath
from thresher.results.grid import Grid, GridPoint
from thresher.results.selection import (
    Certificate,
    Path,
    Selection,
    Station,
    Stop,
    StopReason,
    as_asked,
    consistent,
    in_words,
)
from thresher.results.trace import Milestone, Step, Trace, Turn, relative
from thresher.results.weights import sparse_rows

__all__ = [
    "Certificate",
    "FeaturePath",
    "Grid",
    "GridPoint",
    "Milestone",
    "Path",
    "Selection",
    "Station",
    "Step",
    "Stop",
    "StopReason",
    "Trace",
    "Turn",
    "as_asked",
    "consistent",
    "in_words",
    "relative",
    "sparse_rows",
]
