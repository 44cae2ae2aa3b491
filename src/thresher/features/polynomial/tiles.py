"""The best products of dense columns: tiles of their weighted Gram matrix in single precision, the best ones exactly.

A tile is a matrix product of float32, whose error is bounded. Pairs that may be above the bar are scored again in
float64, so that the result is that of float64. Tiles in which nothing can be above the bar are left out.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from thresher.data.blocks.base import readonly
from thresher.data.designs.base import Design
from thresher.data.scan.pieces import Job, Scattered, Stage
from thresher.data.scan.reducers import Reducer, largest, passing
from thresher.data.scan.sources import Kept, Reference, learnt, reference
from thresher.features.polynomial.terms import LastScan, numbers_of
from thresher.loops import dense

WIDEST, LARGEST = 512, 1 << 23  # columns and entries of a tile
TILE_CHUNK = 2048  # rows that are summed in single precision
ERROR = 1.01 * (TILE_CHUNK + 16) * 2.0**-24  # of such a sum, relative to the sum of |terms|
TILE_UNDERFLOW = 1e-36  # what underflow may take away for each row, relative to the lengths
SURELY = 2048  # pairs that are scored first where more may be above the bar
MOST_ROUNDED = 1 << 30  # bytes of columns in single precision that are kept from scan to scan
TILES_WORK = 1 << 33  # multiplications of a piece: about a quarter of a second


class Rough(NamedTuple):
    """Sums of the pairs between two tiles for each vector, in units of the lengths of their columns and of the vector.

    ``off`` times the roots of both columns is what a sum may be off by, besides ``tiny`` of its unit.
    """

    sums: list[np.ndarray]
    lengths: tuple[np.ndarray, np.ndarray]
    roots: tuple[np.ndarray, np.ndarray]
    unit: np.ndarray
    off: float
    tiny: float

    def most(self) -> np.ndarray:
        """(k, 1): a bound on all scores, which is cheap: most tiles need no more."""
        longest = [float(part.max(initial=0.0)) for part in self.lengths]
        unit = self.unit * longest[0] * longest[1]
        peaks = np.array([max(float(part.max()), -float(part.min())) for part in self.sums])
        roots = self.roots[0].max(axis=1) * self.roots[1].max(axis=1)
        return ((peaks + self.tiny) * unit + self.off * roots)[:, None]

    def scores(self) -> tuple[np.ndarray, np.ndarray]:
        """(scores (k, pairs) nearly, what they may be off by), with few arrays of that size besides."""
        size = np.multiply.outer(*self.lengths)
        scores = np.empty((len(self.sums), *size.shape))
        off = np.empty_like(scores)
        for r, part in enumerate(self.sums):
            unit = self.unit[r] * size
            np.multiply(part, unit, out=scores[r])
            np.multiply.outer(self.roots[0][r], self.roots[1][r], out=off[r])
            off[r] *= self.off
            unit *= self.tiny
            off[r] += unit
        return scores.reshape(len(scores), -1), off.reshape(len(off), -1)


class Gram:
    """What the tiles of one scan share: the order of the columns, and roots of sum |v| z^2 (k, columns)."""

    def __init__(
        self, columns: "Reference[Tiles]", order: np.ndarray, roots: np.ndarray, V: np.ndarray, factor: float,
        width: int,
    ):  # fmt: skip
        self.columns, self.order, self.roots = columns, order, roots
        self.V, self.factor, self.width = V, factor, width
        largest_v = np.abs(V).max(axis=1, initial=0.0)
        self.unit = np.where(largest_v > 0.0, largest_v, 1.0)
        self.rough_V = (V / self.unit[:, None]).astype(np.float32)

    def tile(self, number: int) -> slice:
        """The places of a tile in the order."""
        return slice(number * self.width, min((number + 1) * self.width, self.order.size))

    @property
    def tiles(self) -> int:
        """Number of tiles."""
        return -(-self.order.size // self.width)

    def bound(self, first: slice, second: slice) -> np.ndarray:
        """(k, 1): a bound on the scores of all pairs between columns at some places of the order and at others."""
        most = self.roots[:, first].max(axis=1) * self.roots[:, second].max(axis=1)
        return self.factor * most[:, None]

    def rough(self, a: int, b: int) -> Rough:
        """The sums of the pairs between two tiles, nearly."""
        first, second = self.tile(a), self.tile(b)
        A, long_a = self.columns.open().roughly(self.order[first])
        B, long_b = self.columns.open().roughly(self.order[second])
        n = A.shape[1]
        chunks = [slice(lo, lo + TILE_CHUNK) for lo in range(0, n, TILE_CHUNK)]
        sums: list[np.ndarray] = []
        for v in self.rough_V:
            total = (A[:, chunks[0]] * v[chunks[0]]) @ B[:, chunks[0]].T
            for chunk in chunks[1:]:
                total = total + ((A[:, chunk] * v[chunk]) @ B[:, chunk].T).astype(np.float64)
            sums.append(total)
        roots = self.roots[:, first], self.roots[:, second]
        return Rough(sums, (long_a, long_b), roots, self.factor * self.unit, ERROR * self.factor, TILE_UNDERFLOW * n)

    def pairs(self, a: int, b: int) -> np.ndarray:
        """Which places of two tiles are pairs: all, of a tile with itself those below the diagonal."""
        sizes = self.order[self.tile(a)].size, self.order[self.tile(b)].size
        return np.tri(*sizes, k=-1, dtype=bool).ravel() if a == b else np.ones(sizes[0] * sizes[1], dtype=bool)

    def scored(self, a: int, b: int, places: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """(numbers, ascending, exact scores (k, pairs)) of the pairs at some places of two tiles."""
        columns = self.order[self.tile(b)]
        first, second = self.order[self.tile(a)][places // columns.size], columns[places % columns.size]
        numbers = numbers_of(first, second)
        order = np.argsort(numbers)
        first, second = first[order], second[order]
        n = self.V.shape[1]
        step = max(1, LARGEST // max(1, n))
        scores = np.zeros((len(self.V), order.size))
        for lo in range(0, order.size, step):
            part = slice(lo, lo + step)
            ids, place = np.unique(np.concatenate([first[part], second[part]]), return_inverse=True)
            z = self.columns.open().exactly(ids)
            count = first[part].size
            products = readonly(z[place[:count]] * z[place[count:]])
            sums = np.zeros((len(self.V), count))
            dense.row_dots(products, self.V, 0, count, sums)
            scores[:, part] = sums
        return numbers[order], scores * self.factor


@dataclass(frozen=True)
class TilePiece(Scattered):
    """The pairs of tile ``a`` with tiles start..stop-1, which are not after it."""

    gram: Reference[Gram]
    a: int
    start: int
    stop: int

    def reduced(self, score: Any, scaling: Any, reducer: Reducer, bar: np.ndarray) -> Reducer:
        """See Job."""
        gram, part = self.gram.open(), None
        gates = reducer.gates(len(gram.V))
        for b in range(self.start, self.stop):
            if not passing(gram.bound(gram.tile(self.a), gram.tile(b)), gates, bar)[0]:
                continue
            rough = gram.rough(self.a, b)
            if not passing(rough.most(), gates, bar)[0]:
                continue
            (sums, off), left = rough.scores(), gram.pairs(self.a, b)
            while left.any():
                maybe = np.flatnonzero(left & passing(np.abs(sums) + off, gates, bar))
                if maybe.size > SURELY:  # the best ones first: they raise the bar for the others
                    maybe = maybe[largest(sum(row[maybe] ** 2 for row in sums), max(SURELY, maybe.size // 4))]
                if not maybe.size:
                    break
                more = reducer.started(*gram.scored(self.a, b, maybe))
                part = more if part is None else part.merged(more)
                bar = np.maximum(bar, part.bar)
                left[maybe] = False
        return reducer.started(0, np.zeros((len(gram.V), 0))) if part is None else part


class Tiles:
    """The tiles of the weighted Gram matrix of a dense ``design``, whose columns are kept in single precision."""

    def __init__(self, design: Design):
        self.design = design
        self.keeps = 4 * design.shape[0] * design.width <= MOST_ROUNDED

    def exactly(self, ids: np.ndarray) -> np.ndarray:
        """Scaled columns, (ids, n) in float64."""
        return np.ascontiguousarray(self.design.take(ids).toarray().T)

    def roughly(self, ids: np.ndarray) -> Sequence[np.ndarray]:
        """(scaled columns divided by their lengths, (ids, n) in float32, the length of each)."""
        if not self.keeps:
            return self._rounded(ids)
        n, p = self.design.shape
        return learnt(self, lambda: Kept(p, ((n,), np.float32), ((), np.float64))).of(ids, self._rounded)

    def _rounded(self, ids: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        z = self.exactly(ids)
        lengths = np.sqrt(np.einsum("ij,ij->i", z, z))
        return (z / np.where(lengths > 0.0, lengths, 1.0)[:, None]).astype(np.float32), lengths

    def stages(
        self, V: np.ndarray, bounds: np.ndarray, factor: float, reducer: Reducer, bar: Callable[[], np.ndarray],
        last: LastScan,
    ) -> Iterator[Stage]:  # fmt: skip
        """The tiles in which a pair may be kept; ``last`` gets the number of columns in them.

        ``bounds`` (k, width) are the roots of sum |v| z^2, 0 of columns to leave out. Columns are in the order of all
        vectors together, so that the largest root of one of them may be in any tile.
        """
        size = np.einsum("ij,ij->j", bounds, bounds)
        order = np.argsort(-size, kind="stable")[: np.count_nonzero(size)]
        n = V.shape[1]
        workers, width = self.design.workers, max(1, min(WIDEST, LARGEST // max(1, n)))
        gram = Gram(reference(self, workers), order, bounds[:, order], V, factor, width)
        last.visited = order.size
        each = float(n * width**2 * len(V))  # multiplications of a tile
        count, gates = max(1, int(TILES_WORK / each)), reducer.gates(len(V))

        def pieces() -> Iterator[Job]:
            tiles = reference(gram, workers)
            for a in range(gram.tiles if order.size > 1 else 0):
                before = gram.bound(gram.tile(a), slice(gram.tile(a).stop))
                if passing(before, gates, bar())[0]:
                    for start in range(0, a + 1, count):
                        yield TilePiece(tiles, a, start, min(start + count, a + 1))

        yield Stage(pieces(), each * gram.tiles * (gram.tiles + 1) / 2)
