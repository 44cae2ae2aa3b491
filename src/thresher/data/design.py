"""Design: all p columns of X, wherever they live, and the scan: one full pass over them."""

import time
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from typing import Any, NamedTuple, NoReturn

import numpy as np
from numpy.typing import ArrayLike

from thresher.data.block import Block, Scannable
from thresher.data.columns import put_columns
from thresher.data.reducers import Collect, Reducer
from thresher.data.scores import ColumnScaling, Moments, Score
from thresher.data.sides import Sides
from thresher.data.workers import SERIAL, Runner
from thresher.errors import UnsupportedDesignError

MOST_WORK = 1 << 27  # entries times vectors of a piece: at most about half a second


class Cost(NamedTuple):
    """What a look at X costs: in full passes over it, and in bytes read."""

    passes: float
    bytes: int


class Statistics(NamedTuple):
    """Of each column: ``anchor`` (p,) and ``table`` (moments.ROWS, p), as ``loops.moments`` says."""

    anchor: np.ndarray
    table: np.ndarray


class OutOfTime(Exception):
    """A scan was ended by its deadline; nothing is known of it."""


class Opened(NamedTuple):
    """Columns lo..hi-1 of a block."""

    block: Scannable
    lo: int
    hi: int


class Piece(ABC):
    """A description of the ``width`` features first, first + 1, ...: small, and opened where it is worked on.

    A generated piece computes its block in ``open``, a stored one maps it there, one that lies elsewhere is sent there
    as it is. A design that can prune has pieces with a ``reduced`` of their own.
    """

    first: int
    width: int

    @abstractmethod
    def open(self) -> Opened:
        """The columns, for as long as they are worked on."""

    def reduced(self, score: Score, scaling: ColumnScaling | None, reducer: Reducer, bar: np.ndarray) -> Reducer:
        """A new reducer that has seen the scores of this piece.

        ``scaling`` has shift and factor of the columns, or is None. Features whose scores do not pass ``bar`` may be
        left out: the reducer would not keep them.
        """
        block, lo, hi = self.open()
        return reducer.started(self.first, score.of(block, lo, hi, scaling))


@dataclass(frozen=True)
class Slice(Piece):
    """Columns lo..hi-1 of a block in memory."""

    first: int
    block: Scannable
    lo: int
    hi: int

    @property
    def width(self) -> int:  # type: ignore[override]  # computed: a piece does not change, and nobody sets it
        """Number of features."""
        return self.hi - self.lo

    def open(self) -> Opened:
        """See Piece."""
        return Opened(self.block, self.lo, self.hi)


class Design(ABC):
    """An n x p matrix that can be scanned and of which columns can be taken.

    Features are numbered 0..p-1 here; ``ids`` (None or sorted int64) gives their numbers in X where the design leaves
    out columns that hold nothing. ``workers`` run the pieces of a scan; ``entries`` is the number of stored numbers,
    which says what a pass costs. ``scaling`` (None: columns as they are) is handed to scores for the columns of each
    piece, so that pieces need not know of it.
    """

    shape: tuple[int, int]
    dtype: np.dtype
    nbytes: int
    entries: int
    ids: np.ndarray | None = None
    workers: Runner = SERIAL
    scaling: ColumnScaling | None = None

    @property
    def width(self) -> int:
        """Number of features p."""
        return self.shape[1]

    @property
    def n_columns(self) -> int:
        """Number of columns of X, those included that the design leaves out since they hold nothing."""
        return self.width

    @abstractmethod
    def pieces(self, vectors: int = 1) -> Iterator[Piece]:
        """All columns, as Pieces in ascending order; each takes about half a second at most for so many vectors."""

    @abstractmethod
    def take(self, ids: np.ndarray) -> Block:
        """A Block of the columns ``ids``, in that order, in memory."""

    @abstractmethod
    def take_cost(self, ids: np.ndarray) -> Cost:
        """What ``take(ids)`` costs."""

    def scan_cost(self) -> Cost:
        """What a scan costs."""
        return Cost(1.0, self.nbytes)

    def check_cost(self) -> Cost:
        """What the look at X before a fit costs: its structure, copies and ``statistics``."""
        return self.scan_cost()

    def sides(self) -> Sides:
        """X for solvers that read some rows as often as some columns; UnsupportedDesignError where it cannot be had."""
        raise UnsupportedDesignError(
            f"{type(self).__name__} can be read by columns only, this estimator reads rows, too: use FGMClassifier, "
            "or hold X in memory"
        )

    def scan(self, score: Score, reducer: Reducer, deadline: float | None = None) -> Any:
        """Hand ``score`` of all columns, piece by piece, to ``reducer``: one pass over X. Returns its result.

        Pieces go through a window of a few for each worker and are merged in order, so the answer does not depend on
        how many workers there are. OutOfTime when ``deadline`` (of ``time.perf_counter``) passes before the end.
        """
        total = reducer

        def jobs() -> Iterator[tuple]:
            for piece in self.pieces(score.vectors):
                own = None if self.scaling is None else self.scaling.range(piece.first, piece.first + piece.width)
                yield piece, score, own, reducer, total.bar

        with closing(self.workers.stream(_reduced, jobs(), entries=self.entries * score.vectors)) as parts:
            for number, part in enumerate(parts):
                total = total.merged(part) if number else part
                if deadline is not None and time.perf_counter() >= deadline:
                    raise OutOfTime
        return total.result()

    def statistics(self, weights: np.ndarray) -> Statistics:
        """Statistics of the columns as they are stored, before scaling, in one pass; ``weights`` are of the rows."""
        found = self.scan(Moments(weights), Collect(self.width)).T
        return Statistics(found[0], found[1:])

    def in_units_of_X(self, ids: np.ndarray, w: np.ndarray) -> tuple[np.ndarray, float | np.ndarray]:
        """(weights, offset) on the columns ``ids`` of X as given that score as ``w`` does on the columns here.

        ``w`` is (ids,) or (ids, classes); the offset is a number, or one for each class.
        """
        return w, 0.0

    def in_units_here(self, ids: np.ndarray, weights: np.ndarray) -> np.ndarray:
        """The w on the columns here that scores as ``weights`` do on X as given: the inverse of ``in_units_of_X``."""
        return weights

    def take_as_given(self, ids: np.ndarray) -> tuple[Block, np.ndarray]:
        """(block, known): the columns ids[known] of X as given, before scaling; the others hold nothing."""
        if self.ids is None:
            return self.take(ids), np.arange(len(ids))
        known = np.flatnonzero(np.isin(ids, self.ids))
        return self.take(self.numbers_here(ids[known])), known

    def as_given(self, ids: np.ndarray) -> Any:
        """The columns ``ids`` of X as given, as an array or a sparse matrix."""
        block, known = self.take_as_given(ids)
        return put_columns(block.native(), known, len(ids)) if known.size < len(ids) else block.native()

    def __getitem__(self, rows: object) -> NoReturn:
        """Rows cannot be had: scikit-learn's splitters ask for them."""
        raise UnsupportedDesignError(
            "rows of a Design cannot be indexed, as scikit-learn's splitters and searches do: hold samples out by "
            "sample_weight=0, or use FGMClassifier(C='auto', cv=...), which cross-validates inside one fit"
        )

    def numbers_in_X(self, ids: ArrayLike) -> np.ndarray:
        """The numbers in X of the features ``ids`` of this design."""
        ids = np.asarray(ids, dtype=np.int64)
        return ids if self.ids is None else self.ids[ids]

    def numbers_here(self, ids: ArrayLike) -> np.ndarray:
        """The numbers in this design of the columns ``ids`` of X; a column that holds nothing has none: KeyError."""
        ids = np.asarray(ids, dtype=np.int64)
        if self.ids is None:
            return ids
        at = np.searchsorted(self.ids, ids)
        found = (at < self.ids.size) & (self.ids[np.minimum(at, self.ids.size - 1)] == ids)
        if not found.all():
            raise KeyError(f"column {int(ids[~found][0])} holds no non-zero entry")
        return at


def _reduced(piece: Piece, *how: Any) -> Reducer:
    return piece.reduced(*how)
