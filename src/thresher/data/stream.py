"""X by rows: what an online learner sees of a matrix, and svmlight text as it comes in."""

from typing import NamedTuple

import numpy as np
from scipy import sparse

from thresher.data.slots import hashed
from thresher.data.text import TOLD, pieces, svmlight_lines
from thresher.errors import InvalidDataError

AT_ONCE = 1 << 20  # entries of a dense matrix that are looked through at a time
LARGEST = 1e50  # squares of gradients, which grow with the square of values, must be numbers yet


class Entries(NamedTuple):
    """The non-zero entries of rows, one row after the other: row i has those from begins[i] to begins[i + 1]."""

    begins: np.ndarray
    ids: np.ndarray
    values: np.ndarray


def entries_of(X, bits=None):
    """The Entries of a checked CSR or CSC matrix or a dense array; with ``bits``, ids are hashed to so many bits.

    Nothing is copied of a CSR matrix of floats without stored zeros.
    """
    found = _of_sparse(X) if sparse.issparse(X) else _of_dense(X)
    return found if bits is None else _hashed(found, bits)


def check_size(X):
    """Raise where values of X, finite as they are, are too large to learn from."""
    values = X.data if sparse.issparse(X) else X
    largest = max(float(values.max(initial=0.0)), -float(values.min(initial=0.0)))
    if largest > LARGEST:
        raise InvalidDataError(f"X holds {largest:.3g} in size; values must be at most {LARGEST:g}: scale X")


def _of_sparse(X):
    X = X.tocsr()
    begins, ids, values = X.indptr.astype(np.int64, copy=False), X.indices, X.data
    there = values != 0
    if not there.all():
        begins, ids, values = np.concatenate([[0], np.cumsum(there)])[begins], ids[there], values[there]
    return Entries(begins, ids, values)


def _of_dense(X):
    rows, width = X.shape
    step = max(1, AT_ONCE // max(1, width))
    ids, values, counts = [], [], [np.zeros(1, dtype=np.int64)]
    for first in range(0, rows, step):
        block = X[first : first + step]
        at, columns = np.nonzero(block)
        ids.append(columns.astype(np.int32 if width < 2**31 else np.int64))
        values.append(block[at, columns])
        counts.append(np.bincount(at, minlength=len(block)))
    whole = [np.concatenate(parts) if parts else np.zeros(0) for parts in (ids, values)]
    return Entries(np.cumsum(np.concatenate(counts)), whole[0].astype(np.int64, copy=False), whole[1])


def _hashed(found, bits):
    """Ids as numbers below 2^bits; values of a row that meet are added up."""
    shape = (len(found.begins) - 1, 1 << bits)
    short = sparse.csr_array((found.values.copy(), hashed(found.ids, bits), found.begins.copy()), shape=shape)
    short.sum_duplicates()  # in place, hence the copies
    return _of_sparse(short)


def hashed_matrix(X, bits):
    """X, checked, as a CSR matrix of 2^bits columns."""
    found = entries_of(X, bits)
    return sparse.csr_array((found.values, found.ids, found.begins), shape=(X.shape[0], 1 << bits))


class Batch(NamedTuple):
    """Some lines of a text: X, a CSR matrix as wide as its largest index asks for, labels, and the line of each row.

    ``done`` lines are done with after this batch.
    """

    X: sparse.csr_array
    labels: np.ndarray
    lines: np.ndarray
    done: int


class TextStream:
    """Batches out of svmlight text, as it comes in. Indices are the numbers of the columns, whatever their base.

    A bad line ends the stream with an error, after a batch of what stands before it; with ``skip_bad`` it is counted in
    ``bad``, and the first few are told in ``complaints``. Values above ``largest`` make a line bad. The first
    ``lines_seen`` lines are passed over.
    """

    def __init__(self, stream, name, *, skip_bad=False, live=False, lines_seen=0, largest=np.inf):
        self.stream, self.name, self.skip_bad, self.live = stream, name, skip_bad, live
        self.lines_seen, self.largest = lines_seen, largest
        self.came, self.bad, self.complaints = 0, 0, []

    def __iter__(self):
        """Every piece as a Batch."""
        for line, piece in pieces(self.stream, self.name, live=self.live):
            past = line + piece.count(b"\n") + (not piece.endswith(b"\n"))
            self.came = past - 1
            if past - 1 <= self.lines_seen:
                continue
            if line <= self.lines_seen:
                piece, line = piece.split(b"\n", self.lines_seen - line + 1)[-1], self.lines_seen + 1
            rows, starts, bad, errors = svmlight_lines(piece, None if self.skip_bad else 0, self.largest)
            breaks = np.flatnonzero(np.frombuffer(piece, dtype=np.uint8) == ord("\n"))
            wrong = line + np.searchsorted(breaks, bad)
            told = [f"{self.name}: line {at}: {error}" for at, error in zip(wrong, errors, strict=False)]
            if self.skip_bad:
                self.note_bad(bad.size, told)
            done = past - 1 if self.skip_bad or not bad.size else int(wrong[0]) - 1
            yield Batch(_matrix(rows), rows.labels, line + np.searchsorted(breaks, starts), done)
            if bad.size and not self.skip_bad:
                raise InvalidDataError(told[0])
        if self.came < self.lines_seen:
            raise InvalidDataError(
                f"{self.name}: it ends after {self.came:,} lines, but {self.lines_seen:,} were learnt from: is it the "
                "same stream, from its beginning?"
            )

    def note_bad(self, count, told):
        """Bad lines were passed over."""
        self.bad += count
        self.complaints = (self.complaints + told)[:TOLD]


def _matrix(rows):
    """Rows of a text as a sound CSR matrix."""
    begins = np.concatenate([[0], np.cumsum(rows.lengths)])
    width = int(rows.indices.max(initial=0)) + 1
    indices = rows.indices if width < 2**31 and begins[-1] < 2**31 else rows.indices.astype(np.int64)
    X = sparse.csr_array((rows.values, indices, begins.astype(indices.dtype)), shape=(rows.lengths.size, width))
    if not rows.tidy:
        X.sum_duplicates()
    return X
