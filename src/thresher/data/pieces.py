"""Pieces of a scan: descriptions of columns, opened by the worker that scores them."""

from abc import ABC, abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, NamedTuple

from thresher.data.block import Scannable
from thresher.data.reducers import Reducer
from thresher.data.scores import ColumnScaling, Score

MOST_WORK = 1 << 27  # entries and scores (times SCORE_COST), times vectors, of a piece: at most about half a second
SCORE_COST = 4  # what ranking and merging a score costs, in times that an entry takes


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


class Piece(ABC):
    """A description of the ``width`` features first, first + 1, ...: small, and opened by the worker that scores it.

    A generated piece computes its block in ``open``, a stored one memory-maps it there; a description of remote columns
    is sent to where they are. A design that can prune overrides ``reduced`` in its pieces.
    """

    first: int
    width: int

    @abstractmethod
    def open(self) -> Opened:
        """The columns, for as long as they are being scored."""

    def reduced(self, score: Score, scaling: ColumnScaling | None, reducer: Reducer, bar: Any) -> Reducer:
        """A new reducer of the scores of this piece.

        ``scaling`` holds shift and factor of the columns, or is None. A piece that prunes may omit the features that
        ``reducer.may_keep(bounds, bar)`` rules out.
        """
        block, lo, hi = self.open()
        return reducer.started(self.first, score.of(block, lo, hi, scaling))


class Stage(NamedTuple):
    """Pieces of a scan that are worked on side by side, and their work, which decides how many threads they get."""

    pieces: Iterable[Piece]
    work: float


@dataclass(frozen=True)
class Slice(Piece):
    """Columns lo..hi-1 of a block in memory."""

    first: int
    block: Scannable
    lo: int
    hi: int

    @property
    def width(self) -> int:  # type: ignore[override]  # computed: a piece is frozen, so it is never set
        """Number of features."""
        return self.hi - self.lo

    def open(self) -> Opened:
        """See Piece."""
        return Opened(self.block, self.lo, self.hi)


@dataclass(frozen=True)
class Known(Piece):
    """A reducer that has been filled already."""

    reducer: Reducer
    first = 0
    width = 1

    def open(self) -> Opened:
        """Not needed: everything is known."""
        raise NotImplementedError

    def reduced(self, score: Any, scaling: Any, reducer: Any, bar: Any) -> Reducer:
        """See Piece."""
        return self.reducer
