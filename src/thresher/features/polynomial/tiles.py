"""The best products of dense columns: tiles of their weighted Gram matrix in single precision, the best ones exactly.

A tile is a matrix product of float32, whose error is bounded. Pairs that may be above the bar are scored again in
float64, so that the result is that of float64. Tiles in which nothing can be above the bar are left out.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from thresher.data.blocks.base import readonly
from thresher.data.designs.base import Design
from thresher.data.scan.pieces import Job, Scattered, Stage
from thresher.data.scan.reducers import Reducer, largest, passing
from thresher.data.scan.sources import Kept, Reference, learnt, reference
from thresher.features.polynomial.numbers import numbers_of
from thresher.loops import dense

WIDEST, LARGEST = 512, 1 << 23  # columns and entries of a tile
CHUNK = 2048  # rows that are summed in single precision
ERROR = 1.01 * (CHUNK + 16) * 2.0**-24  # of such a sum, relative to the sum of |terms|
TINY = 1e-36  # what underflow may take away for each row, relative to the lengths
SURELY = 2048  # pairs that are scored first where more may be above the bar
KEEP = 1 << 30  # bytes of columns in single precision that are kept from scan to scan
PIECE_WORK = 1 << 33  # multiplications of a piece: about a quarter of a second


class Columns:
    """The scaled columns of a dense design: in single precision divided by their lengths, and as they are."""

    def __init__(self, design: Design):
        self.design = design
        n, p = design.shape
        self.keeps = 4 * n * p <= KEEP

    def exactly(self, ids: np.ndarray) -> np.ndarray:
        """(ids, n) in float64."""
        return np.ascontiguousarray(self.design.take(ids).toarray().T)

    def roughly(self, ids: np.ndarray) -> Sequence[np.ndarray]:
        """((ids, n) in float32, length of each)."""
        if not self.keeps:
            return self._rounded(ids)
        n, p = self.design.shape
        return learnt(self, lambda: Kept(p, ((n,), np.float32), ((), np.float64))).of(ids, self._rounded)

    def _rounded(self, ids: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        z = self.exactly(ids)
        lengths = np.sqrt(np.einsum("ij,ij->i", z, z))
        return (z / np.where(lengths > 0.0, lengths, 1.0)[:, None]).astype(np.float32), lengths


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
        """(scores (k, pairs) nearly, what they may be off by)."""
        size, sums, off = np.multiply.outer(*self.lengths), [], []
        for r, part in enumerate(self.sums):
            unit = self.unit[r] * size
            sums.append((part * unit).ravel())
            off.append((self.off * np.multiply.outer(self.roots[0][r], self.roots[1][r]) + self.tiny * unit).ravel())
        return np.array(sums), np.array(off)


@dataclass(frozen=True, eq=False)
class Gram:
    """What the tiles of one scan share: the order of the columns, and roots of sum |v| z^2 (k, columns)."""

    columns: Reference[Columns]
    order: np.ndarray
    roots: np.ndarray
    V: np.ndarray
    factor: float
    width: int
    unit: np.ndarray = field(init=False)
    rough_V: np.ndarray = field(init=False)

    def __post_init__(self) -> None:
        unit = np.abs(self.V).max(axis=1, initial=0.0)
        unit[unit == 0.0] = 1.0
        object.__setattr__(self, "unit", unit)
        object.__setattr__(self, "rough_V", (self.V / unit[:, None]).astype(np.float32))

    def tile(self, number: int) -> slice:
        """The places of a tile in the order."""
        return slice(number * self.width, min((number + 1) * self.width, self.order.size))

    @property
    def tiles(self) -> int:
        """Number of tiles."""
        return -(-self.order.size // self.width)

    def bound(self, a: int, b: int) -> np.ndarray:
        """(k, 1): a bound on the scores of all pairs between two tiles."""
        most = self.roots[:, self.tile(a)].max(axis=1) * self.roots[:, self.tile(b)].max(axis=1)
        return self.factor * most[:, None]

    def reach(self, a: int) -> np.ndarray:
        """(k, 1): a bound on the scores of all pairs between a tile and those that are not after it.

        Columns are in the order of all vectors together, so that the largest root of one of them may be in any tile.
        """
        most = self.roots[:, self.tile(a)].max(axis=1) * self.roots[:, : self.tile(a).stop].max(axis=1)
        return self.factor * most[:, None]

    def rough(self, a: int, b: int) -> "Rough":
        """The sums of the pairs between two tiles, nearly."""
        columns = self.columns.open()
        A, long_a = columns.roughly(self.order[self.tile(a)])
        B, long_b = columns.roughly(self.order[self.tile(b)])
        n = A.shape[1]
        chunks = [slice(lo, lo + CHUNK) for lo in range(0, n, CHUNK)]
        sums: list[np.ndarray] = []
        for v in self.rough_V:
            total = (A[:, chunks[0]] * v[chunks[0]]) @ B[:, chunks[0]].T
            for chunk in chunks[1:]:
                total = total + ((A[:, chunk] * v[chunk]) @ B[:, chunk].T).astype(np.float64)
            sums.append(total)
        roots = self.roots[:, self.tile(a)], self.roots[:, self.tile(b)]
        return Rough(sums, (long_a, long_b), roots, self.factor * self.unit, ERROR * self.factor, TINY * n)

    def pairs(self, a: int, b: int) -> np.ndarray:
        """Which places of two tiles are pairs: all, of a tile with itself those below the diagonal."""
        sizes = self.order[self.tile(a)].size, self.order[self.tile(b)].size
        return np.tri(*sizes, k=-1, dtype=bool).ravel() if a == b else np.ones(sizes[0] * sizes[1], dtype=bool)

    def scored(self, a: int, b: int, places: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """(numbers, ascending, exact scores) of the pairs at some places of two tiles."""
        first, second = self.order[self.tile(a)], self.order[self.tile(b)]
        i, j = first[places // second.size], second[places % second.size]
        numbers = numbers_of(i, j)
        order = np.argsort(numbers)
        return numbers[order], self.exact(i[order], j[order])

    def exact(self, first: np.ndarray, second: np.ndarray) -> np.ndarray:
        """Scores (k, pairs) of the columns ``first`` and ``second``."""
        out = np.zeros((len(self.V), first.size))
        n = self.V.shape[1]
        step = max(1, LARGEST // max(1, n))
        for lo in range(0, first.size, step):
            part = slice(lo, lo + step)
            ids, place = np.unique(np.concatenate([first[part], second[part]]), return_inverse=True)
            z = self.columns.open().exactly(ids)
            count = first[part].size
            products = readonly(z[place[:count]] * z[place[count:]])
            sums = np.zeros((len(self.V), count))
            dense.row_dots(products, self.V, 0, count, sums)
            out[:, part] = sums
        return out * self.factor


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
            if not passing(gram.bound(self.a, b), gates, bar)[0]:
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
    """The tiles of the weighted Gram matrix of a dense ``design``."""

    def __init__(self, design: Design):
        self.columns = Columns(design)

    def stages(
        self, V: np.ndarray, bounds: np.ndarray, factor: float, reducer: Reducer, bar: Callable[[], np.ndarray],
        watch: Callable[[int], None],
    ) -> Iterator[Stage]:  # fmt: skip
        """The tiles in which a pair may be kept; ``watch`` is told how many columns there are.

        ``bounds`` (k, width) are the roots of sum |v| z^2, 0 of columns to leave out.
        """
        size = np.zeros(bounds.shape[1])
        for row in bounds:
            size += row * row
        order = np.argsort(-size, kind="stable")[: np.count_nonzero(size)]
        n = V.shape[1]
        workers, width = self.columns.design.workers, max(1, min(WIDEST, LARGEST // max(1, n)))
        gram = Gram(reference(self.columns, workers), order, bounds[:, order], V, factor, width)
        watch(order.size)
        each = float(n * gram.width**2 * len(V))  # multiplications of a tile
        count, gates = max(1, int(PIECE_WORK / each)), reducer.gates(len(V))

        def pieces() -> Iterator[Job]:
            tiles = reference(gram, workers)
            for a in range(gram.tiles if order.size > 1 else 0):
                if passing(gram.reach(a), gates, bar())[0]:
                    for start in range(0, a + 1, count):
                        yield TilePiece(tiles, a, start, min(start + count, a + 1))

        yield Stage(pieces(), each * gram.tiles * (gram.tiles + 1) / 2)
