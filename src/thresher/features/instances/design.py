"""Bags of rows: how similar each bag is to each training instance, a design that is computed where it is scored.

Column k of the design is s(x_k, B_i) = max_j exp(-||x_ij - x_k||^2 / (2 sigma^2)) over the bags i. The smallest
distance of a bag is taken first and the exponential after it: of these there are bags x instances, not instances^2.
"""

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from thresher.data.blocks.base import Block
from thresher.data.blocks.dense import DenseBlock
from thresher.data.designs.base import Design
from thresher.data.designs.made import MadeDesign
from thresher.data.designs.memory import MemoryDesign
from thresher.data.scan.pieces import Cost, Piece
from thresher.data.scan.sources import Kept, learnt
from thresher.data.workers import SERIAL
from thresher.errors import InvalidDataTypeError
from thresher.features.instances.bags import Bags

CACHE = 1 << 30  # bytes of distances and similarities that are kept, so that later scans compute none
WIDEST_TILE, NARROWEST_TILE = 256, 16  # instances whose distances are computed by one product
TILE_PRODUCTS = 1 << 32  # of a tile with all rows, if it is not the narrowest: at most about half a second
TILE_ROWS = 1024  # rows whose products with a tile are held at a time
SPARSE_PRODUCT, SPARSE_SUM = 32, 512  # what a product of sparse entries and a sum of them cost, in products of BLAS
EXPONENTIAL = 16  # what the similarity of a bag costs besides distances, in products of dense entries
BLAS_GAIN = 8  # products of a matrix product that take as long as one product of a scan


def by_rows(X: Any) -> Any:
    """X by rows, an array or a CSR matrix; InvalidDataTypeError for a Design."""
    if isinstance(X, Design):
        raise InvalidDataTypeError(
            f"X is a {type(X).__name__}, which is read by columns: bags need an array, a sparse matrix or a data frame"
        )
    return X.tocsr() if sparse.issparse(X) else X


def distinct_rows(X: Any) -> np.ndarray:
    """The first row that is equal to each row of X, an array or a CSR matrix of floats."""
    seen: dict[int, list[int]] = {}  # rows by the hash of their bytes
    out = np.empty(X.shape[0], dtype=np.int64)
    for row in range(X.shape[0]):
        content = _content(X, row)
        rows = seen.setdefault(hash(content), [])
        out[row] = next((other for other in rows if _content(X, other) == content), row)
        if out[row] == row:
            rows.append(row)
    return out


def _content(X: Any, row: int) -> tuple[bytes, ...]:
    if not sparse.issparse(X):
        return ((X[row] + 0.0).tobytes(),)  # there are two zeros, which are equal
    own = slice(X.indptr[row], X.indptr[row + 1])
    nonzero = X.data[own] != 0.0
    return X.indices[own][nonzero].astype(np.int64).tobytes(), X.data[own][nonzero].tobytes()


class Instances(NamedTuple):
    """The different rows of a positive weight, each the first of its equals: ``rows``, sorted.

    ``owner`` has for each row the number of the one that it is equal to, -1 for rows without weight.
    """

    rows: np.ndarray
    owner: np.ndarray

    def only_in(self, bags: Bags, some: np.ndarray) -> tuple[int, ...]:
        """Numbers of the instances all of whose rows are in the bags ``some``."""
        elsewhere = ~np.isin(bags.codes, some) & (self.owner >= 0)
        return tuple(np.setdiff1d(np.arange(self.rows.size), self.owner[elsewhere]).tolist())

    def places(self, X: Any, others: Any) -> np.ndarray:
        """For each of the rows ``others`` the number of the instance of X that it is equal to, or -1."""
        if sparse.issparse(X):
            both: Any = sparse.vstack([X[self.rows], sparse.csr_array(others).astype(X.dtype)], format="csr")
        else:
            both = np.vstack([X[self.rows], others.toarray() if sparse.issparse(others) else others]).astype(X.dtype)
        equal = distinct_rows(both)[self.rows.size :]
        return np.where(equal < self.rows.size, equal, -1)


def instances_of(X: Any, weights: np.ndarray) -> Instances:
    """The instances of X, whose rows have these weights."""
    weighted = np.flatnonzero(weights > 0)
    some = X if weighted.size == X.shape[0] else X[weighted]
    first, number = np.unique(distinct_rows(some), return_inverse=True)
    owner = np.full(X.shape[0], -1)
    owner[weighted] = number
    return Instances(weighted[first], owner)


def on_scale(X: Any, factor: np.ndarray | None) -> Any:
    """X times the factor of each column, as a new float64 array or CSR matrix."""
    if not sparse.issparse(X):
        return np.array(X, dtype=np.float64, order="C") if factor is None else X * factor
    data = X.data.astype(np.float64) if factor is None else X.data * factor[X.indices]
    return sparse.csr_array((data, X.indices, X.indptr), shape=X.shape)


def similarities(squares: np.ndarray, sigma: float) -> np.ndarray:
    """exp(-squares / (2 sigma^2)), written over the squared distances."""
    square = sigma * sigma
    if 1e-300 < square < 1e300:
        squares *= -0.5 / square
    else:  # the square of sigma may be no number
        with np.errstate(over="ignore"):  # infinity, of similarity zero
            squares /= sigma
            squares /= sigma
        squares *= -0.5
    return np.exp(squares, out=squares)


class BagDistances:
    """The smallest squared distance of each bag to each of some instances, computed a tile of instances at a time.

    X is an array or a CSR matrix, whose columns are multiplied by ``factor``; ``candidates`` are the rows (sorted) that
    distances are measured to. They are row norms plus products, of rows that are centred if they are dense. The error
    is that of rounding: a few units in the last place of the largest row norm, so that similarities of width sigma are
    accurate to about 1e-15 (norm / sigma)^2. Tiles have the same width for every caller, so that the bits do not
    depend on it. With ``keep`` all distances are kept if they fit half of CACHE, for designs of several widths.
    """

    def __init__(
        self, X: Any, bags: Bags, factor: np.ndarray | None, candidates: np.ndarray, workers: Any = SERIAL, *,
        tile: int | None = None, keep: bool = False,
    ):  # fmt: skip
        self.X, self.bags, self.factor, self.candidates, self.workers = X, bags, factor, candidates, workers
        self._rows = _bag_by_bag(X, bags, factor)
        self._norms = squared_norms(self._rows)
        place = np.empty(bags.order.size, dtype=np.int64)
        place[bags.order] = np.arange(bags.order.size)
        self._place = place[candidates]
        self.row_products = _work(self._rows)
        fit = TILE_PRODUCTS // max(1, self.row_products) // NARROWEST_TILE * NARROWEST_TILE
        self.tile_width = tile or max(NARROWEST_TILE, min(WIDEST_TILE, fit))
        self.shape = bags.count, candidates.size
        size = 8 * bags.count * candidates.size
        self.kept_bytes = size if keep and 2 * size <= CACHE else 0  # of the distances that are kept

    @property
    def nbytes(self) -> int:
        """Bytes of the rows."""
        rows = self._rows
        return rows.data.nbytes + rows.indices.nbytes if sparse.issparse(rows) else rows.nbytes

    def of(self, ids: np.ndarray) -> np.ndarray:
        """Smallest squared distances (ids, bags) of the candidates ``ids``."""
        return kept_rows(self, self.shape).of(ids, self._computed)[0] if self.kept_bytes else self._computed(ids)[0]

    def _computed(self, ids: np.ndarray) -> list[np.ndarray]:
        out = np.empty((ids.size, self.bags.count))
        for lo in range(0, ids.size, self.tile_width):
            out[lo : lo + self.tile_width] = self._tile(self._place[ids[lo : lo + self.tile_width]])
        return [out]

    def _tile(self, places: np.ndarray) -> np.ndarray:
        """As ``of`` for at most a tile of rows; BLAS always gets a whole one, so that it sums in one order."""
        whole = np.zeros(self.tile_width, dtype=np.int64)
        whole[: places.size] = places
        centres: Any = self._rows[whole]
        centres = centres.T.tocsr() if sparse.issparse(centres) else centres
        nearest = np.full((self.tile_width, self.bags.count), np.inf)
        for rows, bags, begins in self.bags.parts(TILE_ROWS):
            others = self._rows[rows]
            if sparse.issparse(others):
                squares = np.ascontiguousarray((others @ centres).toarray().T)
            else:
                squares = centres @ others.T
            squares *= -2.0
            squares += self._norms[rows]
            smallest = np.minimum.reduceat(squares, begins, axis=1)
            nearest[:, bags] = np.minimum(nearest[:, bags], smallest)  # a bag may go on from one part to the next
        nearest += self._norms[whole, None]
        return np.maximum(nearest, 0.0, out=nearest)[: places.size]


def _bag_by_bag(X: Any, bags: Bags, factor: np.ndarray | None) -> Any:
    """The rows of X on their scale in the order of the bags, centred if they are dense; one copy is made."""
    rows = X[bags.order]
    if sparse.issparse(rows):
        rows = on_scale(rows, factor)
        used, places = np.unique(rows.indices, return_inverse=True)  # products take time for every column
        return sparse.csr_array((rows.data, places, rows.indptr), shape=(rows.shape[0], used.size))
    rows = np.ascontiguousarray(rows, dtype=np.float64)
    if factor is not None:
        rows *= factor
    rows -= rows.mean(axis=0)
    return rows


def _work(rows: Any) -> int:
    """What the distances of all rows to one of them cost on average, in products of BLAS."""
    if not sparse.issparse(rows):
        return rows.size
    entries = np.bincount(rows.indices, minlength=rows.shape[1]).astype(np.float64)  # of each column
    return int(SPARSE_PRODUCT * (entries @ entries) / max(1, rows.shape[0])) + SPARSE_SUM * rows.shape[0]


def squared_norms(rows: Any) -> np.ndarray:
    """The squared norm of each row."""
    if sparse.issparse(rows):
        squared = sparse.csr_array((rows.data**2, rows.indices, rows.indptr), shape=rows.shape)
        return squared @ np.ones(rows.shape[1])
    return np.einsum("ij,ij->i", rows, rows)


class BagDesign(MadeDesign):
    """Similarities of bags to instances, of width ``sigma``; the ids in X of the columns are rows of it.

    While all of them fit CACHE, distances that are kept included, they are kept: later scans compute none.
    """

    def __init__(self, distances: BagDistances, sigma: float):
        self.distances, self.sigma, self.ids, self.workers = distances, sigma, distances.candidates, distances.workers
        self.shape, self.dtype = distances.shape, np.dtype(np.float64)
        self.entries = self.shape[0] * self.shape[1]
        self.keeps = 8 * self.entries + distances.kept_bytes <= CACHE

    @property
    def n_columns(self) -> int:
        """See Design: all rows of X."""
        return self.distances.X.shape[0]

    @property
    def complete(self) -> np.ndarray | None:
        """Similarities of all instances (instances, bags), once all are kept."""
        tables = kept_rows(self, self.shape).tables if self.keeps else None
        return None if tables is None else tables[0]

    @property
    def nbytes(self) -> int:  # type: ignore[override]  # computed: less is read once similarities are kept
        """Bytes that a scan reads."""
        return self.distances.nbytes if self.complete is None else 8 * self.entries

    @property
    def entry_cost(self) -> int:  # type: ignore[override]
        """See Design."""
        per_bag = self.distances.row_products // max(1, self.shape[0])
        return 1 + EXPONENTIAL + per_bag // BLAS_GAIN if self.complete is None else 1

    def pieces(self, vectors: int = 1) -> Iterator[Piece]:
        """See Design; tiles until all similarities are kept."""
        kept = self.complete
        if kept is not None:
            return MemoryDesign(DenseBlock(kept.T, self.distances.workers)).pieces(vectors)
        return self.generated(self.distances.tile_width)

    def take(self, ids: np.ndarray) -> Block:
        """See Design; columns are computed unless they are kept."""
        rows = kept_rows(self, self.shape).of(ids, self._computed)[0] if self.keeps else self._computed(ids)[0]
        return DenseBlock(rows.T, self.distances.workers)

    def _computed(self, ids: np.ndarray) -> list[np.ndarray]:
        return [similarities(self.distances.of(ids), self.sigma)]

    def take_cost(self, ids: np.ndarray) -> Cost:
        """See Design: distances of all rows to these instances, or nothing but copies of what is kept."""
        share = len(ids) / max(1, self.width)
        return Cost(share, self.distances.nbytes if self.complete is None else int(share * 8 * self.entries))


def kept_rows(source: Any, shape: tuple[int, int]) -> Kept:
    """What this process keeps of a source: numbers of (bags, instances), those of an instance side by side."""
    return learnt(source, lambda: Kept(shape[1], ((shape[0],), np.float64)))
