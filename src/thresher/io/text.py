"""Text in pieces of whole lines: opened, decompressed and split here, parsed on threads by compiled loops.

The text is never held in full: as many pieces as there are threads are in memory at a time, and what was read of them.
"""

import bz2
import gzip
import io
import sys
import zlib
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from typing import Any, NamedTuple

import numpy as np

from thresher.errors import InvalidDataError
from thresher.io.foreign import check_text
from thresher.loops import text as loops

PIECE = 1 << 22  # bytes
LONGEST_LINE = 1 << 30  # bytes
HEAD = 256  # bytes by which formats and encodings are recognised
MOST_REPORTED = 5  # bad lines with an error message
BYTE_ORDER_MARK = b"\xef\xbb\xbf"  # of UTF-8, which some editors put first
NO_LABEL = "expected a number as the label at the start of the row"
OTHER_KIND = "the file was read as svmlight text: name another format with kind='csv' (--kind csv), npz, npy or parquet"
DECOMPRESSORS: dict[bytes, Callable[[Any], Any]] = {b"\x1f\x8b": gzip.open, b"BZh": bz2.open}


class SvmlightRows(NamedTuple):
    """Rows of svmlight text: ``lengths`` is the number of ``indices`` and ``values`` of each row."""

    labels: np.ndarray
    lengths: np.ndarray
    indices: np.ndarray
    values: np.ndarray
    tidy: bool

    def only(self, kept):
        """The rows where ``kept`` is true."""
        entries = np.repeat(kept, self.lengths)
        return SvmlightRows(
            self.labels[kept], self.lengths[kept], self.indices[entries], self.values[entries], self.tidy
        )


@contextmanager
def opened(path):
    """A binary stream of a file of text, decompressed if it is gzip or bzip2; "-" is standard input."""
    with ExitStack() as stack:
        stream: Any = sys.stdin.buffer if str(path) == "-" else stack.enter_context(open(path, "rb"))
        head = stream.peek(4)[:4]
        if 0 < len(head) < 4:  # a pipe gives what it has; wait for the rest
            head = stream.read(4)
            stream = continued(head, stream)
        for magic, decompress in DECOMPRESSORS.items():
            if head.startswith(magic):
                stream = stack.enter_context(decompress(stream))
        check_text(_beginning(stream), "standard input" if str(path) == "-" else str(path))
        yield stream


def _beginning(stream):
    """The first bytes, which stay in the stream; none if they cannot be decompressed: reading then raises."""
    with suppress(EOFError, OSError, zlib.error):
        return stream.peek(HEAD)[:HEAD]
    return b""


def continued(head, stream):
    """The bytes ``head``, then the rest of the stream."""
    return io.BufferedReader(_Rest(head, stream))


class _Rest(io.RawIOBase):
    """Bytes that were already read, then the rest of the stream."""

    def __init__(self, head, stream):
        self.head, self.stream = head, stream

    def readable(self):
        """Always True."""
        return True

    def readinto(self, buffer):
        """Read into ``buffer``, as ``io.RawIOBase`` defines it."""
        data = self.head or self.stream.read1(len(buffer))
        self.head = data[len(buffer) :]
        buffer[: len(data[: len(buffer)])] = data[: len(buffer)]
        return len(data[: len(buffer)])


def _block(stream, most, live):
    """(up to ``most`` bytes, the error that ended them or None); a ``live`` stream is not waited for to fill them."""
    read, chunks = getattr(stream, "read1", stream.read), []
    while most > 0:
        try:
            chunks.append(read(most))
        except (EOFError, OSError, zlib.error) as error:
            return b"".join(chunks), error
        most -= len(chunks[-1])
        if live or not chunks[-1]:
            break
    return b"".join(chunks), None


def pieces(stream, name, line=1, live=False):
    """(number of the first line, bytes) of pieces of whole lines, about PIECE bytes each; the first is ``line``.

    A ``live`` stream is not waited for until there is a whole piece.
    """
    rest = []
    block, error = _block(stream, len(BYTE_ORDER_MARK), live=False)
    begin = block.removeprefix(BYTE_ORDER_MARK)
    while True:
        block, error = _block(stream, PIECE, live) if error is None else (b"", error)
        block, begin = begin + block, b""
        if error is not None:
            block = block[: block.rfind(b"\n") + 1]  # whole lines before the damage are kept
        cut = block.rfind(b"\n") + 1
        if cut == 0 and block:
            rest.append(block)
            if sum(map(len, rest)) > LONGEST_LINE:
                raise InvalidDataError(
                    f"{name}: line {line} is longer than {LONGEST_LINE:,} bytes; is this a text file?"
                )
            continue
        rest.append(block[:cut])
        piece = b"".join(rest)
        if piece:
            yield line, piece
        if error is not None:
            raise InvalidDataError(f"{name}: cannot be decompressed: {error}; the file is truncated or damaged")
        if not block:
            return
        line += piece.count(b"\n")
        rest = [block[cut:]] if cut < len(block) else []


def parsed(jobs, name, workers):
    """``parse(piece)`` of all jobs (line, piece, parse) in order, a few ahead on threads; errors get line numbers."""

    def result(line, piece, parse):
        try:
            return parse(piece)
        except BadText as error:
            line += piece.count(b"\n", 0, error.byte)
            raise InvalidDataError(f"{name}: line {line}: {error}") from None

    if workers.parallelism == 1:
        yield from (result(*job) for job in jobs)
        return
    with ThreadPoolExecutor(workers.parallelism, thread_name_prefix="thresher-text") as pool:
        ahead: deque[Future] = deque()
        try:
            for job in jobs:
                ahead.append(pool.submit(result, *job))
                if len(ahead) > workers.parallelism:
                    yield ahead.popleft().result()
            while ahead:
                yield ahead.popleft().result()
        finally:
            for future in ahead:
                future.cancel()


class BadText(Exception):
    """What is wrong with a text, and at which byte."""

    def __init__(self, message, byte):
        super().__init__(message)
        self.byte = byte


def svmlight_rows(piece):
    """The SvmlightRows of a piece of svmlight text."""
    lines = svmlight_lines(piece)
    if lines.errors:
        error = lines.errors[0]
        raise BadText(f"{error}; {OTHER_KIND}", error.byte) if str(error).startswith(NO_LABEL) else error
    return lines.rows


class SvmlightLines(NamedTuple):
    """Rows, the byte at which each starts, the bytes of errors in bad lines, and a BadText for the first of them."""

    rows: SvmlightRows
    starts: np.ndarray
    bad: np.ndarray
    errors: list[BadText]


def svmlight_lines(piece, skip_bad=True, largest=np.inf):
    """The SvmlightLines of a piece of svmlight text; lines with values of magnitude above ``largest`` are bad.

    Without ``skip_bad`` it ends before the first bad line.
    """
    text = np.frombuffer(piece, dtype=np.uint8)
    lines, pairs = piece.count(b"\n") + 1, piece.count(b":")
    labels, ends, starts = np.empty(lines), np.empty(lines, dtype=np.int64), np.empty(lines, dtype=np.int64)
    indices, values = np.empty(pairs, dtype=np.int64), np.empty(pairs)
    hard = np.empty((lines + pairs, 3), dtype=np.int64)  # of numbers that the loop leaves to Python: mostly not used
    bad = np.empty((lines, 2), dtype=np.int64)
    n_rows, hards, entries, tidy, bads = loops.svmlight(text, labels, ends, starts, indices, values, hard, bad)
    bad, ends, starts, values = bad[:bads], ends[:n_rows], starts[:n_rows].copy(), values[:entries]
    errors = [BadText(_svmlight_error(what, piece, where), where) for what, where in bad[:MOST_REPORTED].tolist()]
    lost = _hard_numbers(piece, hard[:hards].tolist(), labels, values, ends)
    for entry in np.flatnonzero(np.abs(values) > largest) if np.isfinite(largest) else ():
        row = int(np.searchsorted(ends, entry, side="right"))
        complaint = f"value of magnitude {abs(values[entry]):.3g}; the largest supported is {largest:g}"
        lost.setdefault(row, BadText(complaint, int(starts[row])))
    rows = SvmlightRows(labels[:n_rows].copy(), np.diff(ends, prepend=0), indices[:entries], values, tidy)
    errors = sorted([*errors, *lost.values()], key=lambda error: error.byte)[:MOST_REPORTED]
    bad = np.sort([*bad[:, 1], *(error.byte for error in lost.values())]).astype(np.int64)
    kept = np.ones(n_rows, dtype=bool)
    kept[list(lost)] = False
    if errors and not skip_bad:
        kept &= starts < bad[0]
        bad = bad[:1]
    if not kept.all():
        rows, starts = rows.only(kept), starts[kept]
    rows = rows._replace(indices=narrowed(rows.indices, np.int32), values=narrowed(rows.values, np.float32))
    return SvmlightLines(rows, starts, bad, errors)


def _hard_numbers(piece, hard, labels, values, ends):
    """Fill in numbers that the loop left to Python; {row: BadText} for those that overflow float64."""
    lost: dict[int, BadText] = {}
    for slot, begun, stop in hard:
        row = -1 - slot if slot < 0 else int(np.searchsorted(ends, slot, side="right"))
        number = float(piece[begun:stop])
        if np.isinf(number):
            lost.setdefault(row, BadText(f"the number {token(piece, begun)!r} is too large for float64", begun))
        elif slot >= 0:
            values[slot] = number
        else:
            labels[row] = number
    return lost


def narrowed(numbers, dtype):
    """The numbers in a narrower type if that holds every one of them, else as they are; always a copy."""
    with np.errstate(over="ignore"):
        narrow = numbers.astype(dtype)
    return narrow if np.array_equal(narrow, numbers) else numbers.copy()


def token(piece, byte):
    """The word at ``byte``, shortened."""
    words = piece[byte : byte + 60].split(maxsplit=1)
    word = words[0].decode("utf-8", errors="replace") if words and not piece[byte : byte + 1].isspace() else ""
    return word if len(word) <= 40 else word[:37] + "..."


def _svmlight_error(wrong, piece, byte):
    """The error message for the word at ``byte``."""
    word = token(piece, byte)
    if wrong == loops.BAD_LABEL:
        hint = "; multilabel rows are not supported; is this a csv file?" if "," in word or ";" in word else ""
        return f"{NO_LABEL}, got {word!r}{hint}"
    if wrong == loops.NO_COLON or (wrong == loops.BAD_INDEX and ":" not in word):
        return f"expected a feature as index:value, got {word!r}"
    if wrong == loops.BAD_INDEX:
        if word.split(":")[0].isdigit():
            return f"the index of a feature must be at most {loops.LARGEST_INDEX}, got {word!r}"
        return f"the index of a feature must be an integer >= 0, got {word!r}"
    return f"the value of a feature must be a finite number, got {word!r}"
