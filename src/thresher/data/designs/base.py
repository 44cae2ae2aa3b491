"""Design: all p columns of X, wherever they are stored, and the scan: one full pass over them."""

import time
from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing
from typing import Any, NoReturn

import numpy as np
from numpy.typing import DTypeLike

from thresher.data.blocks.scaled import Scaling
from thresher.data.blocks.sides import Sides
from thresher.data.designs.part_of_x import PartOfX
from thresher.data.scan.pieces import Cost, Job, OutOfTime, Piece, Stage
from thresher.data.scan.reducers import Collect, Reducer
from thresher.data.scan.scores import Moments, Score, Statistics
from thresher.data.workers import SERIAL, Runner
from thresher.errors import UnsupportedDesignError
from thresher.loops.digests import column_keys

DIGESTED_VALUES = 1 << 22  # values of the columns that are taken at a time, for the digests of rows
PIECE_COST = 4  # what a piece costs besides its products, in times that a thread takes to wake


class Design(PartOfX):
    """An n x p matrix that can be scanned and from which columns can be taken.

    Features have the ids 0..p-1 here; ``ids`` (None or sorted int64) gives their column indices in X if the design
    omits columns of zeros. ``workers`` run the pieces of a scan; ``entries`` is the number of stored values, which
    determines the cost of a pass, and ``entry_cost`` the time that each of them takes, in that of a dense one.
    ``scaling`` (None: columns as they are) is passed to scores for the columns of each piece, so that pieces do not
    depend on it. By default every entry is stored.
    """

    shape: tuple[int, int]
    dtype: np.dtype
    nbytes: int
    entries: int
    entry_cost: int = 1
    workers: Runner = SERIAL
    prunes: bool = False  # whether a scan takes longer the more scores are kept
    in_memory: bool = False  # whether columns can be looked at again for nothing
    scaling: Scaling | None = None

    def __init__(
        self,
        shape: tuple[int, int],
        dtype: DTypeLike = np.float64,
        *,
        entries: int | None = None,
        nbytes: int | None = None,
        workers: Runner = SERIAL,
        ids: np.ndarray | None = None,
    ):
        self.shape = shape
        self.dtype = np.dtype(dtype)
        self.entries = shape[0] * shape[1] if entries is None else entries
        self.nbytes = self.entries * self.dtype.itemsize if nbytes is None else nbytes
        self.workers = workers
        self.ids = ids

    @property
    def width(self) -> int:
        """Number of features p."""
        return self.shape[1]

    @property
    def n_columns(self) -> int:
        """Number of columns of X, including columns of zeros that the design omits."""
        return self.width

    @property
    def visited_share(self) -> float:
        """Share of the columns that the last scan looked at: all, unless a design can rule some out."""
        return 1.0

    @property
    def scan_work(self) -> float:
        """The work of a scan by which its number of threads is chosen.

        That of one vector, however many there are: ranking and merging the scores of a piece takes time for each
        vector, too. It costs more than waking a thread, PIECE_COST times as much.
        """
        return self.entries * self.entry_cost / PIECE_COST

    @abstractmethod
    def pieces(self, vectors: int = 1) -> Iterator[Piece]:
        """All columns, as Pieces in ascending order; each takes about half a second at most.

        Parameters
        ----------
        vectors : int, default=1
            How many products with each column a scan will form.

        Returns
        -------
        iterator of Piece
            References to columns, which are opened where they are worked on.
        """

    @abstractmethod
    def take_cost(self, ids: np.ndarray) -> Cost:
        """What ``take`` costs.

        Parameters
        ----------
        ids : ndarray of int64
            As in ``take``.

        Returns
        -------
        Cost
            Passes over X, and bytes.
        """

    def of_rows(self, rows: np.ndarray) -> "Design | None":
        """Some rows, in memory.

        Parameters
        ----------
        rows : ndarray of int64
            Numbers of the rows, sorted without duplicates.

        Returns
        -------
        Design or None
            None, as by default, if a few rows cannot be read for less than all of X.
        """
        return None

    def scan_cost(self) -> Cost:
        """What a scan costs.

        Returns
        -------
        Cost
            Passes over X, and bytes.
        """
        return Cost(1.0, self.nbytes)

    def check_cost(self) -> Cost:
        """What the look at X before a fit costs: its structure, copies and ``statistics``.

        Returns
        -------
        Cost
            Passes over X, and bytes.
        """
        return self.scan_cost()

    def sides(self) -> Sides:
        """X for solvers that read some rows as often as some columns.

        Returns
        -------
        Sides
            X by rows and by columns.

        Raises
        ------
        UnsupportedDesignError
            If rows of this design cannot be read.
        """
        raise UnsupportedDesignError(
            f"{type(self).__name__} can be read by columns only, but this estimator also reads rows; use "
            "FGMClassifier, or load X into memory"
        )

    def scan(self, score: Score, reducer: Reducer, deadline: float | None = None) -> Any:
        """Hand the scores of all columns, piece by piece, to a reducer: one pass over X.

        Pieces go through a window of a few for each worker and are merged in order, so the answer does not depend on
        how many workers there are.

        Parameters
        ----------
        score : Score
            What is computed of each column.
        reducer : Reducer
            What is kept of it.
        deadline : float, default=None
            Time, as ``time.perf_counter`` tells it, at which the scan is given up; None: never.

        Returns
        -------
        object
            The result of the reducer.

        Raises
        ------
        OutOfTime
            If the deadline passes before the end; no piece is read if it has passed already.
        """
        if deadline is not None and time.perf_counter() >= deadline and self.width:
            raise OutOfTime(0.0)
        total: Reducer | None = None
        begun = 0  # columns of the pieces handed out so far
        late = False

        def jobs(pieces: Iterable[Job]) -> Iterator[tuple]:
            nonlocal begun
            for piece in pieces:
                if late:  # not when all are handed out: a finished scan is not thrown away
                    raise OutOfTime(begun / self.width)
                begun = max(begun, piece.first + piece.width)
                columns = slice(piece.first, piece.first + piece.width)
                scaling = None if self.scaling is None else self.scaling.take(columns)
                yield piece, score, scaling, reducer, bar()

        def bar() -> np.ndarray:
            return (total or reducer).bar

        def merge(part: Reducer) -> None:
            nonlocal total, late
            total = part if total is None else total.merged(part)
            late = deadline is not None and time.perf_counter() >= deadline

        for stage in self.stages(score, reducer, bar, deadline):
            if stage.found is not None:
                begun = max(begun, 1)  # a scan that ends after it has come somewhere
                merge(stage.found)
            with closing(self.workers.stream(_reduced, jobs(stage.pieces), entries=stage.work)) as parts:
                for part in parts:
                    merge(part)
        if total is None:  # no column at all
            total = reducer.started(0, np.zeros((score.vectors, 0)))
        return total.result()

    def stages(
        self, score: Score, reducer: Reducer, bar: Callable[[], Any], deadline: float | None = None
    ) -> Iterator[Stage]:
        """The pieces of a scan in stages, each of which is merged before the next begins; by default one.

        Parameters
        ----------
        score : Score
            What the scan computes.
        reducer : Reducer
            What it keeps.
        bar : callable
            Returns the bar of what has been merged so far: a design that prunes leaves out what cannot be kept.
        deadline : float, default=None
            As in ``scan``, for work that is done before the first stage.

        Returns
        -------
        iterator of Stage
            All columns that can be kept are in one of the pieces.
        """
        yield Stage(self.pieces(score.work), self.scan_work * (score.work / score.vectors))

    def statistics(self, weights: np.ndarray) -> Statistics:
        """Statistics of the columns as they are stored, before scaling, in one pass.

        Parameters
        ----------
        weights : ndarray of shape (n_samples,)
            Weights of the rows.

        Returns
        -------
        Statistics
            Of each column: ``anchor`` and ``table``.
        """
        found = self.scan(Moments(weights), Collect(self.width)).T
        return Statistics(found[0], found[1:])

    def row_digests(self, ids: np.ndarray) -> np.ndarray:
        """A number for each row, by what it holds in some columns as they are stored, before scaling.

        It is the same in any storage and for any order of rows: rows that are equal there have the same, others with
        all but certainty different ones. By default columns are taken, some at a time.

        Parameters
        ----------
        ids : ndarray of int64
            Numbers of the columns in this design, sorted.

        Returns
        -------
        ndarray of uint64 of shape (n_samples,)
            A sum of hashes of the non-zero entries and their columns in X: see ``loops.digests``.
        """
        out, keys = np.zeros(self.shape[0], dtype=np.uint64), column_keys(self.ids_in_X(ids))
        step = max(1, DIGESTED_VALUES // max(1, self.shape[0]))
        for first in range(0, ids.size, step):
            some = slice(first, first + step)
            columns = ids[some]
            self.take(columns).add_digests(np.arange(columns.size), keys[some], out)
        return out

    def __getitem__(self, rows: object) -> NoReturn:
        """Raise: rows cannot be indexed, which scikit-learn's splitters do."""
        raise UnsupportedDesignError(
            "rows of a Design cannot be indexed, which scikit-learn's splitters and searches require; hold out samples "
            "with sample_weight=0, or use FGMClassifier(k, cv=...), which cross-validates inside one fit"
        )


def _reduced(piece: Job, *args: Any) -> Reducer:
    return piece.reduced(*args)
