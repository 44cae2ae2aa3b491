"""The best products of sparse columns, without looking at every pair.

A pair of columns scores at most what each of them does with any other column. So columns are walked through from the
largest such bound down, each against those before it, and the walk ends where the bound falls below the bar. Sums of a
column with all before it lie in a vector as long as the walk, mostly short enough for the cache.
"""

import functools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from thresher.data.blocks.compressed import CscBlock, ranges_between
from thresher.data.designs.base import Design
from thresher.data.scan.pieces import Scattered, Stage
from thresher.data.scan.reducers import Reducer, best_first, passing
from thresher.data.scan.sources import Reference, learnt, reference
from thresher.data.workers import SERIAL
from thresher.features.polynomial.numbers import numbers_of
from thresher.features.polynomial.terms import SURE, Sifted, Terms, TermSums, raw_columns
from thresher.loops import products

SOME = 4096  # columns that are scored first
FIRST, MORE = 512, 4  # columns of the first stage, and how many times as many the next ones have
SCORE_COST = 8  # an entry of a column that is scored takes as long as this many of dense columns
PIECE_WORK = 1 << 24  # products of entries in a piece: a few hundredths of a second
ROOM = 1 << 16  # pairs that are found before they are ranked, at least
PAIR_COST = 4  # a product of entries takes as long as this many of dense columns
GRID = 1 << 19  # sums of a grid: of 2^15 to 2^20 this was fastest with 1 MiB of second-level cache
# A column's entries look up rows all over memory, a grid reads all rows in order: it pays off where its columns have
# more entries than this share of the rows and of all entries.
ROW_COST, ENTRY_COST = 0.02, 0.002
RANK_COST = 8  # looking up the rank of an entry, in times that a dense one takes
ALONE_COST = 6  # adding an entry of a single column to its row, in times that reading one in a row takes

Rows = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]  # where each begins and ends; ranks, values


@dataclass(frozen=True, eq=False)
class Gate:
    """The vectors ``lines``, V (k, n), of ``vectors`` in all, that a reducer sums for its bar number ``place``."""

    place: int
    lines: slice
    vectors: int
    V: np.ndarray

    @functools.cached_property
    def size(self) -> float:
        """The length of the vector of the largest |v| of each of its vectors."""
        largest = np.maximum(self.V.max(axis=1, initial=0.0), -self.V.min(axis=1, initial=0.0))
        return float(np.sqrt(largest @ largest))

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
    rows: Rows
    V: np.ndarray  # (rows, k)
    factor: float
    begin: int
    by_columns: CscBlock

    def found(self, first: int, last: int, gates: np.ndarray, bar: np.ndarray) -> tuple[int, np.ndarray, np.ndarray]:
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
class WalkPiece(Scattered):
    """The pairs of columns start..stop-1 of a walk with those before them; ``by_rows``: as a grid."""

    walk: Reference[Walk]
    start: int
    stop: int
    by_rows: bool

    def reduced(self, score: Any, scaling: Any, reducer: Reducer, bar: np.ndarray) -> Reducer:
        """See Job."""
        walk, at = self.walk.open(), self.start
        gate, part = walk.gate, reducer.started(0, np.zeros((walk.gate.vectors, 0)))
        while at < self.stop:
            hopeful = np.flatnonzero(passing(walk.bounds[:, at : self.stop], gate.counts, gate.bar(bar)))
            if not hopeful.size:
                break
            at, last = at + int(hopeful[0]), at + int(hopeful[-1]) + 1
            found = walk.grid if self.by_rows else walk.found
            at, places, scores = found(at, last, gate.counts, gate.bar(bar))
            numbers = numbers_of(*walk.columns[places])
            order = np.argsort(numbers)
            part = part.merged(reducer.started(numbers[order], gate.among_all(scores[:, order])))
            bar = np.maximum(bar, part.bar)
            if at == last:
                break
        return part


class _Path:
    """How far the walk of a gate has come: ``done`` columns, ``alive`` ones that may be kept, ``most`` at a time."""

    def __init__(self, gate: Gate, most: int):
        self.gate, self.most, self.done, self.alive = gate, most, np.zeros(0, dtype=np.int64), 0
        self.rows = np.flatnonzero(gate.V.any(axis=0))
        self.V = np.ascontiguousarray(gate.V[:, self.rows].T)


@dataclass
class Reach:
    """How many columns the last scan scored, and how many it walked through: the next needs about as many."""

    scored: int
    walked: int


class Walks:
    """The walks through the columns of a sparse ``design``: columns stored by columns, ``peaks`` as ``peaks_of`` says.

    X is kept by rows, too, in each the most frequent columns first: most columns of a walk are among these, so a stage
    reads the first entries of a row and few others. ``order`` has the columns by frequency, ``number`` their places.
    """

    def __init__(self, design: Design, columns: CscBlock, peaks: np.ndarray, *, signed: bool):
        self.design, self.columns, self.peaks, self.signed = design, columns, peaks, signed
        self.counts = columns.column_entries
        self.order = np.argsort(-self.counts, kind="stable")
        self.rows = columns.take(self.order).reordered()
        self.number = np.empty(design.width, dtype=np.int64)
        self.number[self.order] = np.arange(design.width)
        self._falling = -self.counts[self.order]
        self._entries_before = np.concatenate([[0], np.cumsum(-self._falling)])

    def stages(
        self, V: np.ndarray, terms: Terms, reducer: Reducer, bar: Callable[[], np.ndarray], watch: Callable[[int], None]
    ) -> Iterator[Stage]:
        """All terms that may be kept: columns from the most frequent on, as long as they may be in a pair that is kept.

        A column is scored, then walked through for each gate, which has a bar and an order of its own. ``watch`` is
        told how many columns were.
        """
        score, walked = TermSums(V, self.peaks, signed=self.signed), 0
        last, filtered = learnt(self, lambda: Reach(SOME, FIRST)), reference(terms, SERIAL)
        gates, ends = reducer.gates(len(V)), np.cumsum(reducer.gates(len(V)))
        each = [Gate(g, slice(end - count, end), len(V), V[end - count : end])
                for g, (count, end) in enumerate(zip(gates.tolist(), ends.tolist(), strict=True))]  # fmt: skip
        paths = [_Path(gate, FIRST) for gate in each]
        upto, most = 0, last.scored
        columns, bounds = np.zeros(0, dtype=np.int64), np.zeros((len(V), 0))
        while (reach := self._reach(each, terms, bar())) > upto:
            before, upto = upto, min(reach, most)
            some = np.sort(self.order[before:upto])
            sifted = Sifted(reducer, filtered, self.design.width).started(some, self._scores(score, some))
            yield Stage(found=sifted.inner)
            columns, bounds = np.concatenate([columns, some]), np.concatenate([bounds, sifted.bounds], axis=1)
            for path in paths:
                path.most = max(path.most, last.walked)
                yield from self._along(path, columns, bounds[path.gate.lines], terms.polynomial.product_factor, bar)
                walked = max(walked, path.done.size)
                watch(walked)
            most = 2 * upto
        last.scored = max(SOME, reach)
        last.walked = max(FIRST, *(path.alive for path in paths))

    def _scores(self, score: TermSums, columns: np.ndarray) -> np.ndarray:
        """TermSums of ``columns``, by all threads that pay off."""
        workers, scaling = self.columns.workers, self.design.scaling
        work = SCORE_COST * float(self.counts[columns].sum()) * score.vectors
        size = np.cumsum(self.counts[columns])
        cuts = np.searchsorted(size, np.linspace(0, size[-1], 4 * workers.share(work) + 1)[1:-1]) if size.size else size
        parts = workers.map(
            lambda lo, hi: score.of_columns(
                self.columns, columns[lo:hi], None if scaling is None else scaling.take(columns[lo:hi])
            ),
            ranges_between(cuts, columns.size),
            entries=work,
        )
        return np.concatenate(parts, axis=1)

    def _reach(self, gates: Sequence[Gate], terms: Terms, bar: np.ndarray) -> int:
        """How many columns, in the order of their frequency, may be in a term that is kept.

        A column with c entries is in no term that scores more than c times the largest |v| and the largest products.
        """
        top, kernel = float(self.peaks.max(initial=0.0)), terms.polynomial
        factor = max(top * top * kernel.product_factor, top * kernel.linear_factor, top * top * float(kernel.gamma))
        least = np.inf
        for gate in gates:
            size = SURE * factor * gate.size
            if size > 0.0:
                least = min(least, float(np.sqrt(max(0.0, gate.bar(bar)[0]))) / size)
        return int(np.searchsorted(self._falling, -max(least, 1.0), side="right"))

    def _along(
        self, path: "_Path", columns: np.ndarray, bounds: np.ndarray, factor: float, bar: Callable[[], np.ndarray]
    ) -> Iterator[Stage]:
        """Stages of more and more of ``columns``, from where the path is, as long as their ``bounds`` reach the bar."""
        gate, bounds = path.gate, bounds * factor
        size = np.zeros(columns.size)
        for row in bounds:
            size += row * row
        while True:
            alive = np.flatnonzero(passing(bounds, gate.counts, gate.bar(bar())) & (size > 0.0))
            alive = alive[best_first(size[alive], columns[alive])]
            there = np.isin(columns[alive], path.done)  # pairs of these with one another are known
            old, new, path.alive = alive[there], alive[~there][: path.most], alive.size
            if not new.size:
                return
            walk = np.concatenate([old, new])
            path.done = np.concatenate([path.done, columns[new]])
            if walk.size > 1:
                yield self._stage(gate, columns[walk], path.rows, path.V, bounds[:, walk], factor, old.size)
            path.most *= MORE

    def _stage(
        self, gate: Gate, columns: np.ndarray, rows: np.ndarray, V: np.ndarray, bounds: np.ndarray, factor: float,
        done: int,
    ) -> Stage:  # fmt: skip
        """The pairs of columns from ``done`` on: grids as long as they pay off, then pieces of about equal work."""
        by_rows = self._by_rows(columns, rows)
        share = rows.size / max(1, self.design.shape[0])
        before = np.concatenate([[0.0], np.cumsum(self.counts[columns])]) * share  # entries of the columns before each
        least, grids = ROW_COST * rows.size + ENTRY_COST * before[-1], []
        while done < columns.size:
            stop = min(columns.size, done + max(1, GRID // max(1, done + GRID // max(1, done + 256))))
            if before[stop] - before[done] < least:
                break
            grids.append((done, stop))
            done = stop
        tail = self._by_columns(columns[done:], rows)
        walk = reference(Walk(gate, columns, bounds, by_rows, V, factor, done, tail), self.design.workers)
        lengths = np.concatenate([[0], np.cumsum((by_rows[1] - by_rows[0])[tail.indices])])[tail.indptr]
        work = (lengths + np.arange(lengths.size)) * V.shape[1]  # a column costs something, even without entries
        count = max(1, min(-(-int(work[-1]) // PIECE_WORK), work.size - 1))
        cuts = np.searchsorted(work, np.linspace(0, work[-1], count + 1)[1:-1])
        ranges = [(done + lo, done + hi) for lo, hi in ranges_between(cuts, work.size - 1) if hi > lo]
        pieces = [WalkPiece(walk, *part, by_rows=True) for part in grids]
        pieces += [WalkPiece(walk, *part, by_rows=False) for part in ranges]
        updates = before[done] * before[-1] / max(1, rows.size) * V.shape[1]
        return Stage(pieces, PAIR_COST * (float(work[-1]) + float(updates)))

    def _by_rows(self, columns: np.ndarray, rows: np.ndarray) -> Rows:
        """The Rows of ``columns``, on their scale: of frequent columns from the rows, of others from the columns."""
        block, workers, numbers = self.rows, self.rows.workers, self.number[columns]
        bound = self._bound(numbers)
        others = np.flatnonzero(numbers >= bound)
        more = self._by_columns(columns[others], rows)
        rank = np.full(bound, -1, dtype=np.int32)
        near = np.flatnonzero(numbers < bound)
        rank[numbers[near]] = near
        scaling, factor = self.design.scaling, np.ones(bound)
        if scaling is not None:
            factor[numbers[near]] = scaling.take(columns[near]).factor
        work = RANK_COST * float(self._entries_before[bound]) * rows.size / max(1, block.shape[0])
        ranges = workers.cut(rows.size, threads=workers.share(work), per_worker=4)
        starts, ends = np.zeros(rows.size + 1, dtype=np.int64), np.empty(rows.size, dtype=np.int64)
        count = functools.partial(products.count_below, block.indptr, block.indices, rows, bound)
        workers.map(lambda lo, hi: count(lo, hi, starts[1:]), ranges, entries=work)
        starts[1:] += np.bincount(more.indices, minlength=rows.size)
        np.cumsum(starts, out=starts)
        exact = np.float32 if scaling is None and block.dtype == np.float32 else np.float64
        ranks, values = np.empty(int(starts[-1]), dtype=np.int32), np.empty(int(starts[-1]), dtype=exact)
        arrays = block.indptr, block.indices, block.values, factor, rank, rows, bound
        workers.map(
            lambda lo, hi: products.pick_ranked(*arrays, lo, hi, starts, ends, ranks, values), ranges, entries=work
        )
        products.add_ranked(more.indptr, more.indices, more.values, others, starts, ends, ranks, values)
        return starts[:-1], ends, ranks, values

    def _bound(self, numbers: np.ndarray) -> int:
        """Columns with numbers below this are found by reading rows up to it, others one by one: the cheapest split."""
        ordered = np.sort(numbers)
        each = np.diff(self._entries_before)[ordered]
        alone = np.concatenate([np.cumsum(each[::-1])[::-1], [0]])  # entries of those from each on
        cost = np.concatenate([[0], self._entries_before[ordered + 1]]) + ALONE_COST * alone
        best = int(np.argmin(cost))
        return int(ordered[best - 1]) + 1 if best else 0

    def _by_columns(self, columns: np.ndarray, rows: np.ndarray) -> CscBlock:
        """These columns in these rows, float64, on their scale."""
        block = raw_columns(self.design, columns)
        if rows.size < block.shape[0]:
            block = block.part(rows, np.arange(columns.size))
        values = block.values.astype(np.float64)
        if self.design.scaling is not None:
            values *= np.repeat(self.design.scaling.take(columns).factor, np.diff(block.indptr))
        return CscBlock(block.shape, block.indptr, block.indices, values, block.workers)
