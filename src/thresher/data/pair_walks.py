"""The best products of sparse columns, without looking at every pair.

A pair of columns scores at most what each of them does with any other column. So columns are walked through from the
largest such bound down, each against those before it, and the walk ends where the bound falls below the bar. Sums of a
column with all before it lie in a vector as long as the walk, mostly short enough for the cache.
"""

import functools
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from thresher.data.compressed import CscBlock, ranges_between
from thresher.data.design import Design
from thresher.data.pieces import Opened, Piece, Stage
from thresher.data.reducers import Reducer, best_first, largest, passing
from thresher.data.scaled import ScaledBlock
from thresher.data.terms import raw_columns
from thresher.loops import products
from thresher.results.products import numbers_of

FIRST, MORE = 512, 4  # columns of the first stage, and how many times as many the next ones have
PIECE_WORK = 1 << 24  # products of entries in a piece: a few hundredths of a second
ROOM = 1 << 16  # pairs that are found before they are ranked, at least
PAIR_COST = 4  # a product of entries takes as long as this many of dense columns
GRID = 1 << 17  # sums of a grid: they stay in the second-level cache
# A column's entries look up rows all over memory, a grid reads all rows in order: it pays off where its columns have
# more entries than this share of the rows and of all entries.
ROW_COST, ENTRY_COST = 0.04, 0.004
RANK_COST = 8  # looking up the rank of an entry, in times that a dense one takes


@dataclass(frozen=True, eq=False)
class Gate:
    """The vectors ``lines``, V (k, n), of ``vectors`` in all, that a reducer sums for its bar number ``place``."""

    place: int
    lines: slice
    vectors: int
    V: np.ndarray

    @property
    def counts(self) -> np.ndarray:
        """As ``Reducer.gates`` has it, of this one alone."""
        return np.array([len(self.V)])

    def bar(self, bars: np.ndarray) -> np.ndarray:
        """Its bar among those of all gates."""
        return bars[self.place : self.place + 1] if bars.size > 1 else bars

    def among_all(self, scores: np.ndarray) -> np.ndarray:
        """Scores (vectors, m) for all gates, zero for the others: these keep no feature by them."""
        every = np.zeros((self.vectors, scores.shape[1]))
        every[self.lines] = scores
        return every


@dataclass(frozen=True, eq=False)
class Walk:
    """Columns in the order of the walk, by rows; those from ``begin`` on by columns, too. Rows where V is 0 are out."""

    gate: Gate
    columns: np.ndarray  # numbers of the columns in the design
    bounds: np.ndarray  # (k, columns) on the scores of any pair they are in, with the factor
    rows: tuple[np.ndarray, np.ndarray, np.ndarray]
    V: np.ndarray  # (rows, k)
    factor: float
    begin: int
    by_columns: CscBlock

    def found(
        self, first: int, last: int, gates: np.ndarray, bar: np.ndarray
    ) -> tuple[int, np.ndarray, np.ndarray]:
        """(where to go on, pairs (2, m) of places, scores (k, m)) of columns ``first`` to ``last`` - 1."""
        width, k = self.columns.size, self.V.shape[1]
        room = max(ROOM, width)
        found, scores = np.empty((2, room), dtype=np.int64), np.empty((k, room))
        entries = self.by_columns
        arrays = entries.indptr, entries.indices, entries.values, *self.rows
        bars = np.array(np.broadcast_to(bar, gates.shape), dtype=np.float64)
        if k == 1:
            sums = np.zeros(width)
            at, count = products.pair_sums(
                *arrays, self.V[:, 0], self.begin, first, last, self.factor, float(bars[0]), sums, found, scores[0]
            )
        else:
            sums = np.zeros((width, k))
            at, count = products.pair_sums_of_many(
                *arrays, self.V, self.begin, first, last, self.factor, gates, bars, sums, found, scores
            )
        return at, found[:, :count], scores[:, :count]


    def grid(self, first: int, last: int, gates: np.ndarray, bar: np.ndarray) -> tuple[int, np.ndarray, np.ndarray]:
        """As ``found``, by all rows in order: for columns with many entries."""
        sums = np.zeros((self.V.shape[1], last - first, last))
        for v, part in zip(self.V.T, sums, strict=True):
            products.pair_grid(*self.rows, np.ascontiguousarray(v), first, last, part)
        scores = sums.reshape(len(sums), -1) * self.factor
        places = np.flatnonzero(passing(scores, gates, bar) & scores.any(axis=0))
        return last, np.stack([first + places // last, places % last]), scores[:, places]


@dataclass(frozen=True)
class WalkPiece(Piece):
    """The pairs of columns start..stop-1 of a walk with those before them; ``by_rows``: as a grid."""

    walk: Walk
    start: int
    stop: int
    by_rows: bool
    first = 0  # what a scan counts are columns of X, which are not these
    width = 0

    def open(self) -> Opened:
        """Not needed: pairs are scored as they are found."""
        raise NotImplementedError

    def reduced(self, score: Any, scaling: Any, reducer: Reducer, bar: np.ndarray) -> Reducer:
        """See Piece."""
        gate, at, part = self.walk.gate, self.start, reducer.started(0, np.zeros((self.walk.gate.vectors, 0)))
        while at < self.stop:
            hopeful = np.flatnonzero(passing(self.walk.bounds[:, at : self.stop], gate.counts, gate.bar(bar)))
            if not hopeful.size:
                break
            at, last = at + int(hopeful[0]), at + int(hopeful[-1]) + 1
            found = self.walk.grid if self.by_rows else self.walk.found
            at, places, scores = found(at, last, gate.counts, gate.bar(bar))
            numbers = numbers_of(*self.walk.columns[places])
            order = np.argsort(numbers)
            part = part.merged(reducer.started(numbers[order], gate.among_all(scores[:, order])))
            bar = np.maximum(bar, part.bar)
            if at == last:
                break
        return part


class Walks:
    """The walks through the columns of a sparse ``design``, which is kept by rows."""

    def __init__(self, design: Design):
        rows: Any = design.sides().rows
        rows = rows.base if isinstance(rows, ScaledBlock) else rows
        self.design, self.rows = design, rows.reordered() if isinstance(rows, CscBlock) else rows
        self._before = FIRST  # columns that a walk needed last time: the next one probably needs about as many

    def stages(
        self, V: np.ndarray, bounds: np.ndarray, factor: float, reducer: Reducer, bar: Callable[[], np.ndarray],
        watch: Callable[[int], None],
    ) -> Iterator[Stage]:  # fmt: skip
        """The pairs that may be kept, gate by gate, since each has a bar and an order of its own.

        ``bounds`` (k, width) are on the scores of any pair that a column is in, without the ``factor`` of products;
        ``watch`` is told how many columns are walked through.
        """
        ends, most = np.cumsum(reducer.gates(len(V))).tolist(), [0]

        def longest(visited: int) -> None:
            most[0] = max(most[0], visited)
            watch(most[0])

        for place, (first, end) in enumerate(zip([0, *ends[:-1]], ends, strict=True)):
            gate = Gate(place, slice(first, end), len(V), V[first:end])
            yield from self._of_gate(gate, bounds[first:end] * factor, factor, bar, longest)

    def _of_gate(
        self, gate: Gate, bounds: np.ndarray, factor: float, bar: Callable[[], np.ndarray], watch: Callable[[int], None]
    ) -> Iterator[Stage]:
        """Stages of more and more columns."""
        rows = np.flatnonzero(gate.V.any(axis=0))
        V = np.ascontiguousarray(gate.V[:, rows].T)
        size = np.zeros(bounds.shape[1])
        for row in bounds:
            size += row * row
        before, most = np.zeros(0, dtype=np.int64), max(FIRST, self._before)
        while True:
            alive = np.flatnonzero(passing(bounds, gate.counts, gate.bar(bar())) & (size > 0.0))
            complete = alive.size <= most
            if not complete:
                alive = alive[largest(size[alive], most)]
            alive = alive[best_first(size[alive], alive)]
            done = int(np.count_nonzero(np.isin(alive, before)))  # these come first, and their pairs are known
            watch(alive.size)
            if alive.size > max(done, 1):
                yield self._stage(gate, alive, rows, V, bounds[:, alive], factor, done)
            if complete:
                self._before = alive.size
                return
            before, most = alive, MORE * most

    def _stage(
        self, gate: Gate, columns: np.ndarray, rows: np.ndarray, V: np.ndarray, bounds: np.ndarray, factor: float,
        done: int,
    ) -> Stage:  # fmt: skip
        """The pairs of columns from ``done`` on: grids as long as they pay off, then pieces of about equal work."""
        by_rows, entries = self._by_rows(columns, rows)
        ends = np.concatenate([[0], np.cumsum(entries)])
        least, grids, n = ROW_COST * rows.size + ENTRY_COST * ends[-1], [], rows.size
        while done < columns.size:
            stop = min(columns.size, done + max(1, GRID // max(1, done + GRID // max(1, done + 256))))
            if ends[stop] - ends[done] < least:
                break
            grids.append((done, stop))
            done = stop
        tail = self._by_columns(columns[done:], rows)
        walk = Walk(gate, columns, bounds, by_rows, V, factor, done, tail)
        lengths = np.concatenate([[0], np.cumsum(np.diff(by_rows[0])[tail.indices])])[tail.indptr]
        work = (lengths + np.arange(lengths.size)) * V.shape[1]  # a column costs something, even without entries
        count = max(1, min(-(-int(work[-1]) // PIECE_WORK), work.size - 1))
        cuts = np.searchsorted(work, np.linspace(0, work[-1], count + 1)[1:-1])
        ranges = [(done + lo, done + hi) for lo, hi in ranges_between(cuts, work.size - 1) if hi > lo]
        pieces = [WalkPiece(walk, *part, by_rows=True) for part in grids]
        pieces += [WalkPiece(walk, *part, by_rows=False) for part in ranges]
        updates = float(ends[done]) * ends[-1] / max(1, n) * V.shape[1]
        return Stage(pieces, PAIR_COST * (float(work[-1]) + updates))

    def _by_rows(self, columns: np.ndarray, rows: np.ndarray) -> tuple[tuple, np.ndarray]:
        """((starts, ranks, values) of ``rows``, entries of each column), on their scale, by rank in ``columns``."""
        block, workers = self.rows, self.rows.workers
        rank = np.full(block.shape[1], -1, dtype=np.int32)
        rank[columns] = np.arange(columns.size)
        scaling = self.design.scaling
        factor = np.broadcast_to(1.0, block.shape[1]) if scaling is None else scaling.factor
        work = RANK_COST * float(block.entries) * rows.size / max(1, block.shape[0])
        ranges = workers.cut(rows.size, threads=workers.share(work), per_worker=4)
        starts = np.zeros(rows.size + 1, dtype=np.int64)
        count = functools.partial(products.count_ranked, block.indptr, block.indices, rank, rows)
        workers.map(lambda lo, hi: count(lo, hi, starts[1:]), ranges, entries=work)
        np.cumsum(starts, out=starts)
        ranks, values = np.empty(int(starts[-1]), dtype=np.int32), np.empty(int(starts[-1]))
        arrays = block.indptr, block.indices, block.values, factor, rank, rows
        workers.map(lambda lo, hi: products.pick_ranked(*arrays, lo, hi, starts, ranks, values), ranges, entries=work)
        return (starts, ranks, values), np.bincount(ranks, minlength=columns.size)

    def _by_columns(self, columns: np.ndarray, rows: np.ndarray) -> CscBlock:
        """These columns in these rows, float64, on their scale."""
        block = raw_columns(self.design, columns)
        if rows.size < block.shape[0]:
            block = block.part(rows, np.arange(columns.size))
        values = block.values.astype(np.float64)
        if self.design.scaling is not None:
            values *= np.repeat(self.design.scaling.take(columns).factor, np.diff(block.indptr))
        return CscBlock(block.shape, block.indptr, block.indices, values, block.workers)
