"""Results of a fit: values that can be read, printed and checked. Nothing is computed here."""

from thresher.results.alignment_path import AlignmentPath, AlignmentPoint
from thresher.results.feature_path import FeaturePath
from thresher.results.grid import Grid, GridPoint
from thresher.results.group_labels import GroupLabels
from thresher.results.interchangeable import Interchangeable
from thresher.results.proven import ProvenInactive
from thresher.results.selection import (
    Certificate,
    Path,
    Selection,
    Station,
    Stop,
    StopReason,
    consistent,
    counted,
    format_ranges,
    reached_text,
)
from thresher.results.spread import Spread
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
