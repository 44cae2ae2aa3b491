"""Results of a fit: values that can be read, printed and checked. Nothing is computed here."""

from thresher.results.alignment_path import AlignmentPath
from thresher.results.grid import Grid
from thresher.results.interchangeable import Interchangeable
from thresher.results.known import GroupLabels, Spread, consistent
from thresher.results.points import AlignmentPoint, FeaturePath, GridPoint, ProvenInactive
from thresher.results.selection import (
    Certificate,
    Path,
    Selection,
    Station,
    Stop,
    StopReason,
    counted,
    format_ranges,
    reached_text,
)
from thresher.results.trace import Milestone, Step, Trace, Turn, relative, rounded
from thresher.results.weights import sparse_rows

__all__ = [
    "AlignmentPath",
    "AlignmentPoint",
    "Certificate",
    "FeaturePath",
    "Grid",
    "GridPoint",
    "GroupLabels",
    "Interchangeable",
    "Milestone",
    "Path",
    "ProvenInactive",
    "Selection",
    "Spread",
    "Station",
    "Step",
    "Stop",
    "StopReason",
    "Trace",
    "Turn",
    "consistent",
    "counted",
    "format_ranges",
    "reached_text",
    "relative",
    "rounded",
    "sparse_rows",
]
