"""The best products of sparse columns, without looking at every pair.

A pair of columns scores at most what each of them does with any other column. So columns are walked through from the
largest such bound down, each against those before it, and the walk ends where the bound falls below the bar. Sums of a
column with all before it lie in a vector as long as the walk, mostly short enough for the cache.
"""

import functools
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from thresher.data.blocks.compressed import CscBlock, ranges_between
from thresher.data.blocks.scaled import ScaledBlock
from thresher.data.designs.base import Design
from thresher.data.scan.pieces import Scattered, Stage
from thresher.data.scan.reducers import Reducer, best_first, passing
from thresher.data.scan.sources import Reference, reference
from thresher.features.polynomial.terms import ROUNDED_UP, LastScan, Terms, factors_of, numbers_of, raw_columns, sifted
from thresher.loops import products

SOME = 4096  # columns that are scored first
FIRST, MORE = 512, 4  # columns of the first stage, and how many times as many the next ones have
SUMS_COST = 8  # an entry of a column that is scored takes as long as this many of dense columns
WALK_WORK = 1 << 24  # products of entries in a piece: a few hundredths of a second
ROOM = 1 << 16  # pairs that are found before they are ranked, at least
PAIR_COST = 4  # a product of entries takes as long as this many of dense columns
GRID = 1 << 19  # sums of a grid: of 2^15 to 2^20 this was fastest with 1 MiB of second-level cache
# A column's entries look up rows all over memory, a grid reads all rows in order: it pays off where its columns have
# more entries than this share of the rows and of all entries.
ROW_COST, ENTRY_COST = 0.02, 0.002
RANK_COST = 8  # looking up the rank of an entry, in times that a dense one takes
ALONE_COST = 6  # adding an entry of a single column to its row, in times that reading one in a row takes

RankedRows = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]  # where each begins and ends; ranks, values


class Gate:
    """The vectors ``lines`` of V (k, n), which a reducer sums for its bar number ``place``, and the walk for them.

    ``done`` are the columns that it has processed, ``alive`` how many may be in a pair that is kept; ``most`` is how
    many come next at most.
    """

    def __init__(self, place: int, lines: slice, V: np.ndarray, most: int):
        own = V[lines]
        self.place, self.lines, self.vectors = place, lines, len(V)
        self.counts = np.array([len(own)])  # as ``Reducer.gates`` has it, of this one alone
        self.rows = np.flatnonzero(own.any(axis=0))
        self.V = np.ascontiguousarray(own[:, self.rows].T)
        self.length = float(np.linalg.norm(np.abs(self.V).max(axis=0, initial=0.0)))  # of the largest |v| of each
        self.done = np.zeros(0, dtype=np.int64)
        self.alive, self.most = 0, most

    def bar(self, bars: np.ndarray) -> np.ndarray:
        """Its bar among those of all gates, (1,)."""
        return bars[self.place : self.place + 1] if bars.size > 1 else bars

    def passing(self, bounds: np.ndarray, bars: np.ndarray) -> np.ndarray:
        """Which features, with these ``bounds`` on |score|, reach its bar."""
        return passing(bounds, self.counts, self.bar(bars))


@dataclass(frozen=True, eq=False)
class Walk:
    """Columns in the order of the walk, by rows; those from ``begin`` on by columns, too; without rows where V is 0."""

    gate: Gate
    columns: np.ndarray  # numbers of the columns in the design
    bounds: np.ndarray  # (k, columns) on the scores of any pair they are in, with the factor
    rows: RankedRows
    factor: float
    begin: int
    by_columns: CscBlock

    def found(self, first: int, last: int, bars: np.ndarray) -> tuple[int, np.ndarray, np.ndarray]:
        """(where to go on, pairs (2, m) of places, scores (k, m)) of columns ``first`` to ``last`` - 1."""
        V, width = self.gate.V, self.columns.size
        room = max(ROOM, width)
        found, scores = np.empty((2, room), dtype=np.int64), np.empty((V.shape[1], room))
        entries, bar = self.by_columns, np.array(self.gate.bar(bars))
        arrays = entries.indptr, entries.indices, entries.values, *self.rows
        steps = self.begin, first, last, self.factor
        if V.shape[1] == 1:
            sums = np.zeros(width)
            at, count = products.pair_sums(*arrays, V[:, 0], *steps, float(bar[0]), sums, found, scores[0])
        else:
            sums = np.zeros((width, V.shape[1]))
            at, count = products.pair_sums_of_many(*arrays, V, *steps, self.gate.counts, bar, sums, found, scores)
        return at, found[:, :count], scores[:, :count]

    def grid(self, first: int, last: int, bars: np.ndarray) -> tuple[int, np.ndarray, np.ndarray]:
        """As ``found``, by all rows in order: for columns with many entries."""
        sums = np.zeros((self.gate.V.shape[1], last - first, last))
        for v, part in zip(self.gate.V.T, sums, strict=True):
            products.pair_grid(*self.rows, np.ascontiguousarray(v), first, last, part)
        scores = sums.reshape(len(sums), -1) * self.factor
        places = np.flatnonzero(self.gate.passing(scores, bars) & scores.any(axis=0))
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
        walk, first = self.walk.open(), self.start
        gate, part = walk.gate, reducer.started(0, np.zeros((walk.gate.vectors, 0)))
        while first < self.stop:
            hopeful = np.flatnonzero(gate.passing(walk.bounds[:, first : self.stop], bar))
            if not hopeful.size:
                break
            first, last = first + int(hopeful[0]), first + int(hopeful[-1]) + 1
            first, places, scores = (walk.grid if self.by_rows else walk.found)(first, last, bar)
            numbers = numbers_of(*walk.columns[places])
            order = np.argsort(numbers)
            every = np.zeros((gate.vectors, order.size))  # zero for other gates: these keep no feature by them
            every[gate.lines] = scores[:, order]
            part = part.merged(reducer.started(numbers[order], every))
            bar = np.maximum(bar, part.bar)
            if first == last:
                break
        return part


class Walks:
    """The walks through the columns of a sparse ``design``, by a copy of X by columns where it has none.

    X is kept by rows, too, in each the most frequent columns first: most columns of a walk are among these, so a stage
    reads the first entries of a row and few others. ``order`` has the columns by frequency, ``number`` their places.
    ``peaks`` are the largest |z| of each row, of the scaled columns z; ``signed``: one of them is negative.
    """

    def __init__(self, design: Design):
        columns: Any = design.sides().columns
        columns = columns.base if isinstance(columns, ScaledBlock) else columns
        self.design, self.columns = design, columns.reordered() if columns.column_entries is None else columns
        self.counts = self.columns.column_entries
        self.order = np.argsort(-self.counts, kind="stable")
        self.rows = self.columns.take(self.order).reordered()
        self.number = np.empty(design.width, dtype=np.int64)
        self.number[self.order] = np.arange(design.width)
        self._falling = -self.counts[self.order]
        self._entries_before = np.concatenate([[0], np.cumsum(-self._falling)])
        z = self.rows.values * factors_of(design, self.order)[self.rows.indices]
        self.signed = bool(z.min(initial=0.0) < 0.0)
        filled = np.flatnonzero(np.diff(self.rows.indptr))
        self.peaks = np.zeros(design.shape[0])
        self.peaks[filled] = np.maximum.reduceat(np.abs(z, out=z), self.rows.indptr[filled])

    def stages(
        self, V: np.ndarray, terms: Terms, reducer: Reducer, bar: Callable[[], np.ndarray], last: LastScan
    ) -> Iterator[Stage]:
        """All terms that may be kept: columns from the most frequent on, as long as they may be in a pair that is kept.

        A column is scored, then walked through for each gate, which has a bar and an order of its own. This scan needs
        about as many columns as the ``last`` one, which then has the numbers of this one.
        """
        ends, first = np.cumsum(reducer.gates(len(V))).tolist(), max(FIRST, last.alive)
        gates = [Gate(place, slice(start, end), V, FIRST) for place, (start, end) in enumerate(pairwise([0, *ends]))]
        last.visited, upto, most = 0, 0, max(SOME, last.scored)
        columns, bounds = np.zeros(0, dtype=np.int64), np.zeros((len(V), 0))
        while (reach := self._reach(gates, terms, bar())) > upto:
            before, upto = upto, min(reach, most)
            some = np.sort(self.order[before:upto])
            inner, more = sifted(terms, reducer, some, self._sums(V, some))
            yield Stage(found=inner)
            columns, bounds = np.concatenate([columns, some]), np.concatenate([bounds, more], axis=1)
            for gate in gates:
                gate.most = max(gate.most, first)
                yield from self._along(gate, columns, bounds[gate.lines], terms.polynomial.product_factor, bar)
                last.visited = max(last.visited, gate.done.size)
            most = 2 * upto
        last.scored, last.alive = reach, max(gate.alive for gate in gates)

    def _sums(self, V: np.ndarray, columns: np.ndarray) -> np.ndarray:
        """As TermSums, of some ``columns``, with bounds on |sum v z z'|; by all threads that pay off."""
        block, workers, k = self.columns, self.columns.workers, len(V)
        factor, size = factors_of(self.design, columns), np.cumsum(self.counts[columns])
        side_by_side = np.ascontiguousarray(np.concatenate([V, self.peaks[None]]).T)
        work = SUMS_COST * float(size[-1]) * 3 * k
        cuts = np.searchsorted(size, np.linspace(0, size[-1], 4 * workers.share(work) + 1)[1:-1])
        sums = np.empty((4, k, columns.size))
        arrays = block.indptr, block.indices, block.values, factor, columns, side_by_side
        workers.map(
            lambda lo, hi: products.column_sums(*arrays, lo, hi, sums), ranges_between(cuts, columns.size), entries=work
        )
        up, down = sums[products.UP], sums[products.DOWN]
        bounds = ROUNDED_UP * (up + down if self.signed else np.maximum(up, down))
        return np.concatenate([sums[products.LINEAR], sums[products.SQUARE], bounds])

    def _reach(self, gates: list[Gate], terms: Terms, bars: np.ndarray) -> int:
        """How many columns, in the order of their frequency, may be in a term that is kept.

        A column with c entries is in no term that scores more than c times the largest |v| and the largest products.
        """
        top, kernel = float(self.peaks.max(initial=0.0)), terms.polynomial
        factor = max(top * top * kernel.product_factor, top * kernel.linear_factor, top * top * float(kernel.gamma))
        least = np.inf
        for gate in gates:
            size = ROUNDED_UP * factor * gate.length
            if size > 0.0:
                least = min(least, float(np.sqrt(max(0.0, gate.bar(bars)[0]))) / size)
        return int(np.searchsorted(self._falling, -max(least, 1.0), side="right"))

    def _along(
        self, gate: Gate, columns: np.ndarray, bounds: np.ndarray, factor: float, bar: Callable[[], np.ndarray]
    ) -> Iterator[Stage]:
        """Stages of more and more of ``columns``, from where the walk is, as long as ``bounds`` reach the bar."""
        bounds = bounds * factor
        size = np.einsum("ij,ij->j", bounds, bounds)
        while True:
            alive = np.flatnonzero(gate.passing(bounds, bar()) & (size > 0.0))
            alive = alive[best_first(size[alive], columns[alive])]
            known = np.isin(columns[alive], gate.done)  # pairs of these with one another are known
            old, new, gate.alive = alive[known], alive[~known][: gate.most], alive.size
            if not new.size:
                return
            walk = np.concatenate([old, new])
            gate.done = np.concatenate([gate.done, columns[new]])
            if walk.size > 1:
                yield self._stage(gate, columns[walk], bounds[:, walk], factor, old.size)
            gate.most *= MORE

    def _stage(self, gate: Gate, columns: np.ndarray, bounds: np.ndarray, factor: float, done: int) -> Stage:
        """The pairs of columns from ``done`` on: grids as long as they pay off, then pieces of about equal work."""
        rows, k = gate.rows, gate.V.shape[1]
        by_rows = self._by_rows(columns, rows)
        share = rows.size / max(1, self.design.shape[0])
        before = np.concatenate([[0.0], np.cumsum(self.counts[columns])]) * share  # entries of the columns before each
        least, pieces = ROW_COST * rows.size + ENTRY_COST * before[-1], []
        while done < columns.size:
            stop = min(columns.size, done + max(1, GRID // max(1, done + GRID // max(1, done + 256))))
            if before[stop] - before[done] < least:
                break
            pieces.append((done, stop, True))
            done = stop
        tail = self._by_columns(columns[done:], rows)
        lengths = np.concatenate([[0], np.cumsum((by_rows[1] - by_rows[0])[tail.indices])])[tail.indptr]
        work = (lengths + np.arange(lengths.size)) * k  # a column costs something, even without entries
        count = max(1, min(-(-int(work[-1]) // WALK_WORK), work.size - 1))
        cuts = np.searchsorted(work, np.linspace(0, work[-1], count + 1)[1:-1])
        pieces += [(done + lo, done + hi, False) for lo, hi in ranges_between(cuts, work.size - 1) if hi > lo]
        updates = before[done] * before[-1] / max(1, rows.size) * k
        walk = reference(Walk(gate, columns, bounds, by_rows, factor, done, tail), self.design.workers)
        return Stage([WalkPiece(walk, *piece) for piece in pieces], PAIR_COST * (float(work[-1]) + float(updates)))

    def _by_rows(self, columns: np.ndarray, rows: np.ndarray) -> RankedRows:
        """The RankedRows of ``columns``, on their scale: of frequent ones from the rows, of others from the columns."""
        block, workers, numbers = self.rows, self.rows.workers, self.number[columns]
        bound = self._bound(numbers)
        others = np.flatnonzero(numbers >= bound)
        more = self._by_columns(columns[others], rows)
        near = np.flatnonzero(numbers < bound)
        rank, factor = np.full(bound, -1, dtype=np.int32), np.ones(bound)
        rank[numbers[near]], factor[numbers[near]] = near, factors_of(self.design, columns[near])
        work = RANK_COST * float(self._entries_before[bound]) * rows.size / max(1, block.shape[0])
        ranges = workers.cut(rows.size, threads=workers.share(work), per_worker=4)
        starts, ends = np.zeros(rows.size + 1, dtype=np.int64), np.empty(rows.size, dtype=np.int64)
        count = functools.partial(products.count_below, block.indptr, block.indices, rows, bound)
        workers.map(lambda lo, hi: count(lo, hi, starts[1:]), ranges, entries=work)
        starts[1:] += np.bincount(more.indices, minlength=rows.size)
        np.cumsum(starts, out=starts)
        exact = np.float32 if self.design.scaling is None and block.dtype == np.float32 else np.float64
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
        values *= np.repeat(factors_of(self.design, columns), np.diff(block.indptr))
        return CscBlock(block.shape, block.indptr, block.indices, values, block.workers)
