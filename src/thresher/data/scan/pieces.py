"""Pieces of a scan: references to columns, opened by the worker that scores them."""

from abc import ABC, abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

from thresher.data.blocks.base import Scannable
from thresher.data.blocks.scaled import Scaling
from thresher.data.scan.reducers import Reducer
from thresher.data.scan.scores import Score
from thresher.data.scan.sources import Reference

MOST_WORK = 1 << 27  # entries and scores (times SCORE_COST), times vectors, of a piece: at most about half a second
SCORE_COST = 4  # what ranking and merging a score costs, in times that an entry takes


class Cost(NamedTuple):
    """What reading X costs: in full passes over it, and in bytes read."""

    passes: float
    bytes: int


class OutOfTime(Exception):
    """A scan was stopped by its deadline, after about ``share`` of the columns; nothing is known of their scores."""

    def __init__(self, share: float):
        super().__init__(share)
        self.share = share


class Opened(NamedTuple):
    """Columns lo..hi-1 of a block."""

    block: Scannable
    lo: int
    hi: int


class Job(ABC):
    """What a scan hands to a worker: it reduces the scores of some features.

    ``first`` and ``width`` are the range of these, which tells how far the scan has come. Pickled, a job is small,
    however large X is: it has a Reference to what a worker opens once, or a path.
    """

    first: int
    width: int

    @abstractmethod
    def reduced(self, score: Score, scaling: Scaling | None, reducer: Reducer, bar: Any) -> Reducer:
        """A new reducer of the scores of this job.

        ``scaling`` holds shift and factor of the columns, or is None. A job that prunes may omit the features that
        are not ``passing`` this bar.
        """


class Scattered(Job):
    """A job whose features are no range."""

    first, width = 0, 0


class Piece(Job):
    """The ``width`` features first, first + 1, ..., opened by the worker that scores them."""

    @abstractmethod
    def open(self) -> Opened:
        """The columns, for as long as they are being scored."""

    def reduced(self, score: Score, scaling: Scaling | None, reducer: Reducer, bar: Any) -> Reducer:
        """See Job: all scores."""
        block, lo, hi = self.open()
        return reducer.started(self.first, score.of(block, lo, hi, scaling))


class Stage(NamedTuple):
    """Pieces of a scan that are worked on side by side, and their work, which decides how many threads they get.

    ``found`` is a reducer that has been filled already, or None.
    """

    pieces: Iterable[Job] = ()
    work: float = 0.0
    found: Reducer | None = None


@dataclass(frozen=True)
class Slice(Piece):
    """Columns lo..hi-1 of a block."""

    first: int
    block: Reference[Scannable]
    lo: int
    hi: int

    @property
    def width(self) -> int:  # type: ignore[override]  # computed: a piece is frozen, so it is never set
        """Number of features."""
        return self.hi - self.lo

    def open(self) -> Opened:
        """See Piece."""
        return Opened(self.block.open(), self.lo, self.hi)


class BlockSource(Protocol):
    """What makes features, where they are scored."""

    def block(self, lo: int, hi: int) -> Scannable:
        """The features lo <= j < hi."""


@dataclass(frozen=True)
class Generated(Piece):
    """Features that the worker makes."""

    source: Reference[BlockSource]
    first: int
    width: int

    def open(self) -> Opened:
        """See Piece."""
        block = self.source.open().block(self.first, self.first + self.width)
        return Opened(block, 0, self.width)
