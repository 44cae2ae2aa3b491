"""The scan against the memory bandwidth of the same run, and against BLAS and scipy."""

import itertools
import statistics
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import NamedTuple

import numba
import numpy as np
from scipy import sparse
from threadpoolctl import ThreadpoolController

from benchmarks import alone
from benchmarks.book import table
from benchmarks.linear.data import dense_matrix, text_like
from benchmarks.timing import interleaved, peak_growth
from thresher.data.input.validation import as_design
from thresher.data.scan.reducers import TopK
from thresher.data.scan.scores import Correlation
from thresher.data.workers import Workers, granted_cores

KEPT = 300
TILE = 1 << 17  # numbers of a tile that is cast to float64: 1 MiB, which the second-level cache holds
HEADER = (
    "storage", "dtype", "right-hand sides", "threads", "ms", "GB/s", "share of bandwidth", "peer ms / ms",
    "cast + dgemm ms / ms", "ms / ms of one",
)  # fmt: skip


class Sizes(NamedTuple):
    """How large the matrices are, and how often each thing is timed."""

    rows: int
    bytes_a_row: int
    sparse_shape: tuple[int, int]
    entries: int
    vectors: tuple[int, ...]
    repeats: int


FULL = Sizes(8192, 131072, (20_000, 1_000_000), 20_000_000, (1, 4, 16), 7)
QUICK = Sizes(2048, 16384, (2_000, 50_000), 500_000, (1, 4, 16), 3)


# The yardstick: a read of all bytes that does nothing else


@numba.njit(nogil=True, fastmath=True)
def _sum(numbers):
    total = numbers[0]
    for i in range(1, numbers.size):
        total += numbers[i]
    return total


@numba.njit(nogil=True)
def _sum_four_streams(numbers):
    """Four places read at once: one thread alone then keeps more requests to memory open."""
    quarter = numbers.size // 4
    total = 0
    for i in range(quarter):
        total += (numbers[i] ^ numbers[i + quarter]) ^ (numbers[i + 2 * quarter] ^ numbers[i + 3 * quarter])
    for i in range(4 * quarter, numbers.size):
        total += numbers[i]
    return total


def stored_arrays(X):
    """The arrays in which X lies, each as one vector."""
    return [X.data, X.indices, X.indptr] if sparse.issparse(X) else [X.ravel(order="K")]


def as_words(array):
    """The same bytes as 64-bit integers, less a last half word."""
    return array[: array.size - array.size % (8 // array.itemsize)].view(np.int64)


def readers(X, threads, pool):
    """Ways to read all of X with ``threads`` threads, by name; the fastest of them is the bandwidth."""
    arrays = stored_arrays(X)
    words = [as_words(array) for array in arrays]
    ways = {
        "sum": (_sum, arrays),
        "words": (_sum, words),
        "streams": (_sum_four_streams, words),
        "numpy": (np.sum, arrays),
    }
    return {name: partial(read, function, parts, threads, pool) for name, (function, parts) in ways.items()}


def read(function, arrays, threads, pool):
    """Apply ``function`` to equal shares of every array, one share a thread."""
    for array in arrays:
        shares = np.array_split(array, threads)
        if threads == 1:
            function(shares[0])
        else:
            list(pool.map(function, shares))


# The contestants


def scan(X, V, workers):
    """Ours: one pass that keeps the best columns."""
    as_design(X, workers).scan(Correlation(V), TopK(KEPT))


def product(X, V, threads, blas):
    """BLAS or scipy: all scores, in the precision of X (given float64, numpy would copy a float32 X)."""
    with blas.limit(limits=threads, user_api="blas"):
        X.T @ V


def cast_product(X, V, threads, pool, blas):
    """All scores by BLAS in float64: tiles of X are cast, each as far along a stored line as the cache allows."""
    n, p = X.shape
    rows = min(n, TILE // 1024 if X.flags.c_contiguous else n)
    step, out = TILE // rows, np.zeros((V.shape[1], p))

    def share(columns):
        tile = np.empty((rows, step), order="C" if X.flags.c_contiguous else "F")
        for lo, first in itertools.product(range(columns[0], columns[-1] + 1, step), range(0, n, rows)):
            part = X[first : first + rows, lo : min(lo + step, columns[-1] + 1)]
            cast = tile[: part.shape[0], : part.shape[1]]
            cast[...] = part
            out[:, lo : lo + part.shape[1]] += V[first : first + rows].T @ cast

    with blas.limit(limits=1, user_api="blas"):
        list(pool.map(share, np.array_split(np.arange(p), threads)))


def stored_bytes(X):
    return sum(array.nbytes for array in stored_arrays(X))


def contest(storage, X, sizes):
    """Rows of the table for one matrix."""
    rng = np.random.default_rng(7)
    V = {k: rng.standard_normal((X.shape[0], k) if k > 1 else X.shape[0]) for k in sizes.vectors}
    V_like_X = {k: vectors.astype(X.dtype) for k, vectors in V.items()}
    counts = sorted({1, granted_cores()})
    calls, blas = {}, ThreadpoolController()  # made once: it looks through all loaded libraries
    with ThreadPoolExecutor(max(counts)) as pool:
        crews = {threads: Workers(threads) for threads in counts}
        for threads, workers in crews.items():
            for name, call in readers(X, threads, pool).items():
                calls["read", threads, name] = call
            for k in sizes.vectors:
                calls["scan", threads, k] = partial(scan, X, V[k], workers)
                calls["peer", threads, k] = partial(product, X, V_like_X[k], threads, blas)
                if k > 1 and not sparse.issparse(X):
                    calls["cast", threads, k] = partial(cast_product, X, V[k], threads, pool, blas)
        seconds = interleaved(calls, sizes.repeats)
        grown = peak_growth(calls["scan", max(counts), 1])
        for workers in crews.values():
            workers.close()
    rows = [row(storage, X, k, threads, seconds) for threads in counts for k in sizes.vectors]
    return rows, f"{storage} {X.dtype}: {bandwidths(X, counts, seconds)}; a scan took {grown / 2**20:.1f} MiB"


def reads(seconds, threads):
    """The Times of all ways to read with so many threads, by name."""
    return {key[2]: times for key, times in seconds.items() if key[:2] == ("read", threads)}


def fastest_read(seconds, threads):
    """(seconds, name) of the fastest read of all ways and rounds."""
    return min((times.best, name) for name, times in reads(seconds, threads).items())


def share_of_bandwidth(seconds, threads, k):
    """Median over the rounds of: fastest way to read X in that round / scan in that round.

    Round by round, because the bandwidth of a shared machine changes from second to second.
    """
    fastest = [min(ways) for ways in zip(*(times.rounds for times in reads(seconds, threads).values()), strict=True)]
    ours = seconds["scan", threads, k].rounds
    return statistics.median(read / scan for read, scan in zip(fastest, ours, strict=True))


def bandwidths(X, counts, seconds):
    """The yardstick in words."""
    best = {threads: fastest_read(seconds, threads) for threads in counts}
    rate = {threads: stored_bytes(X) / s / 1e9 for threads, (s, _) in best.items()}
    return ", ".join(f"{rate[t]:.1f} GB/s with {t} ({best[t][1]})" for t in counts)


def row(storage, X, k, threads, seconds):
    """One line of the table."""
    ours, peer = seconds["scan", threads, k].median, seconds["peer", threads, k].median
    cast = seconds.get(("cast", threads, k))
    return (
        storage,
        X.dtype,
        k,
        threads,
        f"{1e3 * ours:.1f}",
        f"{stored_bytes(X) / ours / 1e9:.1f}",
        f"{share_of_bandwidth(seconds, threads, k):.0%}",
        f"{peer / ours:.2f}",
        "-" if cast is None else f"{cast.median / ours:.2f}",
        f"{ours / seconds['scan', threads, 1].median:.1f}",
    )


def matrices(sizes):
    """(storage, X), one at a time: only one is in memory."""
    for order in ("C", "F"):
        for dtype in (np.float32, np.float64):
            p = sizes.bytes_a_row // np.dtype(dtype).itemsize
            yield f"dense {order}", dense_matrix(sizes.rows, p, dtype, order)
    for dtype in (np.float32, np.float64):
        X = text_like(*sizes.sparse_shape, sizes.entries, dtype)
        yield "CSC", X
        yield "CSR", X.tocsr()


def explained(sizes):
    """What the table shows."""
    dense = f"{sizes.rows} rows of {sizes.bytes_a_row // 1024} KiB"
    n, p = sizes.sparse_shape
    return (
        f"`design.scan(Correlation(V), TopK({KEPT}))`, V without zeros. Dense: {dense}. Sparse: {n:,} x {p:,}, about "
        f"{sizes.entries:,} numbers, columns as frequent as words are, 32-bit indices. GB/s counts the bytes "
        "of X as stored (data, indices and indptr), once for all right-hand sides. The share of bandwidth is "
        "the median, over rounds, of the fastest of four ways to read the same bytes with as many threads over "
        "the scan in the same round. The peer is "
        "`X.T @ V` of numpy (BLAS, as many threads) or scipy (always one thread), in the precision of X; "
        "the scan sums in float64, as does the second peer, which casts tiles of a dense X to float64 and multiplies "
        "them by BLAS, each thread on its own. Above 1 the scan is faster. The last column: as many times the scan "
        f"with one right-hand side. ms are medians of {sizes.repeats} interleaved rounds."
    )


def report(quick=False):
    """The section of docs/benchmarks.md."""
    sizes = QUICK if quick else FULL
    rows, notes = [], []
    for storage, X in matrices(sizes):
        more, note = contest(storage, X, sizes)
        rows += more
        notes.append(f"- {note}")
        print(notes[-1], flush=True)
        del X
    parts = ["## The scan", explained(sizes), table(HEADER, rows), "Bandwidth by threads, and memory:"]
    return "\n\n".join([*parts, "\n".join(notes)])


if __name__ == "__main__":
    alone.run(report, __doc__)
