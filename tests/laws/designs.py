"""One list of places where the columns of X may live: every law of designs runs on all of them.

The designs here are test-only stand-ins for those to come: columns computed when they are asked for, mapped from files
piece by piece, or worked on in other processes.
"""

import atexit
import collections
import functools
import itertools
import pathlib
import pickle
import tempfile
import threading
import weakref
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass

import numpy as np
from scipy import sparse

from tests.laws.storages import STORED
from tests.oracles import bags as bag_oracle
from tests.oracles import kernels
from tests.oracles import products as product_oracle
from thresher.data.blocks.base import Block
from thresher.data.blocks.dense import DenseBlock
from thresher.data.blocks.scaled import Scaling
from thresher.data.designs.base import Cost, Design
from thresher.data.designs.memory import MemoryDesign
from thresher.data.designs.scaled import ScaledDesign
from thresher.data.scan.pieces import Generated, Opened, Piece, Slice
from thresher.data.scan.sources import reference
from thresher.data.workers import SERIAL, WINDOW, Workers
from thresher.features.additive.maps import Inputs
from thresher.features.additive.maps import MappedDesign as KernelDesign
from thresher.features.additive.spec import AdditiveChi2, AdditiveGaussian, Intersection
from thresher.features.instances.design import BagDesign, BagDistances, Bags
from thresher.features.polynomial.products import ProductDesign
from thresher.features.polynomial.spec import Polynomial
from thresher.features.polynomial.terms import terms_of

WIDTH = 7  # columns of a piece


class PiecewiseDesign(Design):
    """Pieces of WIDTH columns, each opened by ``opened(first, last)``; ``column_block(ids)`` takes."""

    def __init__(self, shape, workers=SERIAL, dtype=np.float64):
        super().__init__(shape, dtype, workers=workers)

    def cuts(self):
        return itertools.pairwise([*range(0, self.width, WIDTH), self.width])

    def take_cost(self, ids):
        share = len(ids) / self.width
        return Cost(share, int(share * self.nbytes))


class ProductsOfColumns:
    """Products of columns of a small X, made where they are scored; ``alive`` counts pieces that are not done with."""

    def __init__(self, X, pairs):
        self.X, self.pairs, self.alive = X, pairs, Alive()

    def block(self, lo, hi):
        return DenseBlock(np.asfortranarray(products(self.X, self.pairs[lo:hi])))


@dataclass(frozen=True)
class ComputedPiece(Generated):
    """Some of these products."""

    @property
    def counter(self):
        return self.source.open().alive

    def reduced(self, *how):
        try:
            return super().reduced(*how)
        finally:
            self.counter.done()


class Alive:
    """How many pieces are alive: made, and not yet worked off."""

    def __init__(self):
        self.now = self.most = 0
        self.lock = threading.Lock()  # pieces are done with in other threads

    def made(self):
        with self.lock:
            self.now += 1
            self.most = max(self.most, self.now)

    def done(self):
        with self.lock:
            self.now -= 1


def all_pairs(p):
    """(i, j) with i <= j for products of p columns, in a fixed order."""
    return np.array([(i, j) for i in range(p) for j in range(i, p)])


def products(X, pairs):
    return X[:, pairs[:, 0]] * X[:, pairs[:, 1]]


class ComputedDesign(PiecewiseDesign):
    """All products of two columns of X, never written down: a piece is computed by the worker that scores it.

    More pieces alive than the window of the workers allows fail the test at once.
    """

    def __init__(self, X, workers=SERIAL):
        self.products = ProductsOfColumns(X, all_pairs(X.shape[1]))
        super().__init__((X.shape[0], len(self.products.pairs)), workers)

    @property
    def alive(self):
        return self.products.alive

    def pieces(self, vectors=1):
        source = reference(self.products, self.workers)
        for a, b in self.cuts():
            self.alive.made()
            most = WINDOW * self.workers.parallelism + 1
            assert self.alive.now <= most, "more pieces are alive than the window holds"
            yield ComputedPiece(source, a, b - a)

    def take(self, ids):
        return DenseBlock(np.asfortranarray(products(self.products.X, self.products.pairs[ids])))


class MappedDesign(PiecewiseDesign):
    """Columns in files of WIDTH columns each: a piece is mapped by the worker that scores it."""

    def __init__(self, X, folder, workers=SERIAL):
        super().__init__(X.shape, workers, X.dtype)
        self.paths = []
        for a, b in self.cuts():
            self.paths.append(folder / f"{a:06d}.npy")
            np.save(self.paths[-1], np.asfortranarray(X[:, a:b]))

    def pieces(self, vectors=1):
        for (a, b), path in zip(self.cuts(), self.paths, strict=True):
            yield MappedPiece(path, a, b - a)

    def take(self, ids):
        columns = [np.load(self.paths[j // WIDTH], mmap_mode="r")[:, j % WIDTH] for j in ids]
        return DenseBlock(np.asfortranarray(np.stack(columns, axis=1)) if columns else np.zeros((self.shape[0], 0)))


@dataclass(frozen=True)
class MappedPiece(Piece):
    """A file of columns."""

    path: object
    first: int
    width: int

    def open(self):
        return Opened(DenseBlock(np.load(self.path, mmap_mode="r")), 0, self.width)


class Processes:
    """Runs pieces in other processes: only references go there, only reducers come back.

    What pieces refer to is written to a file, which each process reads once.
    """

    parallelism = 2

    def __init__(self):
        self.pool, self.folder = ProcessPoolExecutor(self.parallelism), tempfile.TemporaryDirectory()
        self.shipped = 0

    def ship(self, source):
        self.shipped += 1
        path = pathlib.Path(self.folder.name) / f"{self.shipped}.pickle"
        path.write_bytes(pickle.dumps(source))
        weakref.finalize(source, path.unlink, missing_ok=True)
        return functools.partial(unpickled, path)

    def stream(self, function, tasks, *, entries):
        waiting = collections.deque()
        for task in tasks:
            waiting.append(self.pool.submit(function, *task))
            if len(waiting) == WINDOW * self.parallelism:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()

    def close(self):
        self.pool.shutdown()
        self.folder.cleanup()

    def __reduce__(self):
        """Designs that are shipped run their pieces where they arrive."""
        return Workers, (1,)


def unpickled(path):
    return pickle.loads(path.read_bytes())


@functools.cache
def processes():
    """Two processes for all tests, ended with the last one."""
    runner = Processes()
    atexit.register(runner.close)
    return runner


class CountedBlock(Block):
    """A dense block that counts the entries that anybody reads; sides and other orders are not needed here."""

    def __init__(self, X, reads, workers=SERIAL):
        self.inner, self.reads, self.workers = DenseBlock(np.asfortranarray(X), workers), reads, workers
        self.shape, self.dtype, self.nbytes = self.inner.shape, self.inner.dtype, self.inner.nbytes

    @property
    def entries(self):
        return self.inner.entries

    def correlate_into(self, V, lo, hi, out):
        self.reads.append(("scan", (hi - lo) * self.shape[0]))
        self.inner.correlate_into(V, lo, hi, out)

    def statistics_into(self, weights, lo, hi, anchor, out):
        self.reads.append(("validate", (hi - lo) * self.shape[0]))
        self.inner.statistics_into(weights, lo, hi, anchor, out)

    def take(self, ids):
        self.reads.append(("take", len(ids) * self.shape[0]))
        return self.inner.take(ids)

    def combine_into(self, *_):
        raise AssertionError("nothing but scans and takes should look at a whole X")

    take_rows = column_squares = row_squares = joined = toarray = combine_into


class CountingDesign(MemoryDesign):
    """Counts what is really read of X, in entries, by kind."""

    in_memory = False

    def __init__(self, X, workers=SERIAL):
        self.reads = []
        super().__init__(CountedBlock(X, self.reads, workers))

    sides = Design.sides  # only what a scan and a take read is counted

    def passes(self, kind=None):
        return sum(count for what, count in self.reads if kind in (None, what)) / self.entries


class CutDesign(MemoryDesign):
    """A design cut into chunks at chosen columns."""

    def __init__(self, block, cuts):
        super().__init__(block)
        self.cuts = cuts

    def pieces(self, vectors=1):
        block = reference(self.block, self.workers)
        for lo, hi in itertools.pairwise(self.cuts):
            yield Slice(lo, block, lo, hi)


def _scaled(X, workers):
    factor, shift = 2.0 ** np.arange(-3, X.shape[1] - 3).clip(-3, 3), np.round(X.mean(axis=0) * 16) / 16
    base = MemoryDesign(STORED["dense_F_float64"](X / factor + shift, workers))
    return ScaledDesign(base, Scaling(factor, shift))


def _very_wide(X, workers):
    """Columns that hold nothing are left out: ids are not places."""
    block = STORED["csr_int32"](X, workers)
    return MemoryDesign(block, ids=3 * np.arange(X.shape[1], dtype=np.int64), n_columns=3 * X.shape[1])


def _scaled_files(X, workers, folder):
    factor = 2.0 ** np.arange(-3, X.shape[1] - 3).clip(-3, 3)
    return ScaledDesign(MappedDesign(X / factor, folder, workers), Scaling(factor, None))


def _inputs_of(X):
    """Factor, mean and largest value of the columns of X, as a fit has them."""
    largest = np.abs(X).max(axis=0)
    return 1.0 / np.where(largest > 0.0, largest, 1.0), X.mean(axis=0), largest


def _expanded(kernel, storage):
    """The numbers that a kernel makes of the columns; those that need it get |X|."""

    def make(X, workers, _):
        X = np.abs(X) if kernel.positive_only else X
        return KernelDesign(MemoryDesign(STORED[storage](X, workers)), kernel, Inputs(*_inputs_of(X)))

    return make


def _products(polynomial, make):
    """Products of the columns of a design, all of which have weight."""

    def made(X, workers, _):
        base = make(X, workers)
        return ProductDesign(base, terms_of(base, polynomial, np.ones(len(X))))

    return made


SIGMA, TILE = 3.0, 16  # of similarities, and instances of a piece of them


def bags_for(X):
    """Bags of one row and of several, whose rows do not lie side by side."""
    codes = np.arange(X.shape[0]) * 7 % 11
    codes[codes == 10] = codes[0]
    return Bags(codes, 10)


def bag_design(X, workers=SERIAL, *, factor=None, sigma=SIGMA, tile=TILE, keep=False):
    """All rows as candidates."""
    candidates = np.arange(X.shape[0])
    return BagDesign(BagDistances(X, bags_for(X), factor, candidates, workers, tile=tile, keep=keep), sigma)


def _bags(storage, *, keep=False):
    return lambda X, workers, _: bag_design(storage(X), workers, keep=keep)


def _in_memory(make):
    return lambda X, workers, _: MemoryDesign(make(X, workers))


KERNELS = {  # and the storage of X under each
    "levels": (Intersection(levels=5), "csc_int32"),
    "levels_dense": (Intersection(levels=3, power=0.5), "dense_C_float64"),
    "levels_exact": (Intersection(levels=50), "csc_int32"),
    "chi2": (AdditiveChi2(order=2), "csc_int64_float32"),
    "gaussian": (AdditiveGaussian(frequencies=3), "dense_F_float64"),
}
POLYNOMIALS = {  # and the columns that are multiplied
    "dense": (Polynomial(), lambda X, w: MemoryDesign(STORED["dense_C_float64"](X, w))),
    "float32": (Polynomial(gamma=0.5), lambda X, w: MemoryDesign(STORED["dense_F_float32"](X, w))),
    "csr": (Polynomial(coef0=2.0), lambda X, w: MemoryDesign(STORED["csr_int32"](X, w))),
    "csc": (Polynomial(interaction_only=True), lambda X, w: MemoryDesign(STORED["csc_int64_float32"](X, w))),
    "scaled": (Polynomial(), _scaled),
    "very_wide": (Polynomial(), _very_wide),
}
BAGS = {  # the storage of X, and whether distances are kept
    "dense": (np.ascontiguousarray, False),
    "float32": (lambda X: X.astype(np.float32), False),
    "csr": (sparse.csr_array, False),
    "distances": (np.asfortranarray, True),
}
# name: maker(X, workers, folder)
DESIGNS = {
    **{name: _in_memory(make) for name, make in STORED.items()},
    "very_wide": lambda X, w, _: _very_wide(X, w),
    "scaled": lambda X, w, _: _scaled(X, w),
    "computed": lambda X, w, _: ComputedDesign(X, w),
    "mapped": lambda X, w, folder: MappedDesign(X, folder, w),
    "scaled_mapped": lambda X, w, folder: _scaled_files(X, w, folder),
    "counting": lambda X, w, _: CountingDesign(X, w),
    "processes": lambda X, _, folder: MappedDesign(X, folder, processes()),
    **{f"expanded_{name}": _expanded(*how) for name, how in KERNELS.items()},
    **{f"products_{name}": _products(*how) for name, how in POLYNOMIALS.items()},
    **{f"bags_{name}": _bags(storage, keep=keep) for name, (storage, keep) in BAGS.items()},
}

COLUMNS_OF_X = [name for name in DESIGNS if not name.startswith("bags")]  # the rows of those are bags


def written_out(name, X):
    """The matrix that a design of X stands for."""
    if name.startswith("expanded_"):
        kernel, _ = KERNELS[name.removeprefix("expanded_")]
        X = np.abs(X) if kernel.positive_only else X
        return kernels.written_out(kernel, X, *_inputs_of(X))
    if name.startswith("bags_"):
        return bag_oracle.embedding(X, bags_for(X).codes, X, SIGMA)
    if name.startswith("products_"):
        return product_oracle.written_out(POLYNOMIALS[name.removeprefix("products_")][0], X)
    return products(X, all_pairs(X.shape[1])) if name == "computed" else X
