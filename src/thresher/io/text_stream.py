"""svmlight text as it comes in: batch after batch."""

from typing import NamedTuple

import numpy as np
from scipy import sparse

from thresher.errors import InvalidDataError
from thresher.io.text import TOLD, pieces, svmlight_lines


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
