"""svmlight text in batches, as it arrives."""

from typing import NamedTuple

import numpy as np
from scipy import sparse

from thresher.errors import InvalidDataError
from thresher.io.text import MOST_REPORTED, NO_LABEL, pieces, svmlight_lines

NOT_SVMLIGHT = "; a stream must be svmlight text"


class Batch(NamedTuple):
    """Some lines of a text: X, a CSR matrix as wide as its largest index requires, labels, and the line of each row.

    ``done`` is the number of lines processed after this batch.
    """

    X: sparse.csr_array
    labels: np.ndarray
    lines: np.ndarray
    done: int


class TextStream:
    """Batches of svmlight text, as it arrives. Indices are used as column numbers, whatever their base.

    A bad line ends the stream with an error, after a batch of the lines before it; with ``skip_bad`` it is counted in
    ``bad``, and the messages of the first few are in ``complaints``. Values of magnitude above ``largest`` make a line
    bad. The first ``lines_seen`` lines are skipped.
    """

    def __init__(self, stream, name, *, skip_bad=False, live=False, lines_seen=0, largest=np.inf):
        self.stream, self.name, self.skip_bad, self.live = stream, name, skip_bad, live
        self.lines_seen, self.largest = lines_seen, largest
        self.lines_read, self.bad, self.complaints = 0, 0, []

    def __iter__(self):
        """Every piece as a Batch."""
        for line, piece in pieces(self.stream, self.name, live=self.live):
            past = line + piece.count(b"\n") + (not piece.endswith(b"\n"))
            self.lines_read = past - 1
            if past - 1 <= self.lines_seen:
                continue
            if line <= self.lines_seen:
                piece, line = piece.split(b"\n", self.lines_seen - line + 1)[-1], self.lines_seen + 1
            rows, starts, bad, errors = svmlight_lines(piece, self.skip_bad, self.largest)
            breaks = np.flatnonzero(np.frombuffer(piece, dtype=np.uint8) == ord("\n"))
            wrong = line + np.searchsorted(breaks, bad)
            messages = [
                f"{self.name}: line {number}: {error}{NOT_SVMLIGHT if str(error).startswith(NO_LABEL) else ''}"
                for number, error in zip(wrong, errors, strict=False)
            ]
            if self.skip_bad:
                self.note_bad(bad.size, messages)
            done = past - 1 if self.skip_bad or not bad.size else int(wrong[0]) - 1
            yield Batch(_matrix(rows), rows.labels, line + np.searchsorted(breaks, starts), done)
            if bad.size and not self.skip_bad:
                raise InvalidDataError(messages[0])
        if self.lines_read < self.lines_seen:
            raise InvalidDataError(
                f"{self.name}: ends after {self.lines_read:,} lines, but {self.lines_seen:,} were already learnt; pass "
                "the same stream from its beginning"
            )

    def note_bad(self, count, messages):
        """Count bad lines that were skipped, and keep the first few messages."""
        self.bad += count
        self.complaints = (self.complaints + messages)[:MOST_REPORTED]


def _matrix(rows):
    """Rows of a text as a valid CSR matrix."""
    begins = np.concatenate([[0], np.cumsum(rows.lengths)])
    width = int(rows.indices.max(initial=0)) + 1
    indices = rows.indices if width < 2**31 and begins[-1] < 2**31 else rows.indices.astype(np.int64)
    X = sparse.csr_array((rows.values, indices, begins.astype(indices.dtype)), shape=(rows.lengths.size, width))
    if not rows.tidy:
        X.sum_duplicates()
    return X
