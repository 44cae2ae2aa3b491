"""Text with named columns: delimited by commas, tabs or semicolons."""

import csv
from typing import NamedTuple

from thresher.errors import InvalidDataError
from thresher.io.delimited_rows import DECIMAL_COMMA, WITH_POINTS, Dialect, RowReader
from thresher.io.foreign import not_utf8
from thresher.io.frames import columns_of, joined
from thresher.io.svmlight import shown
from thresher.io.text import continued, opened, parsed

DELIMITERS = ",\t;"
LONGEST_HEADER = 1 << 28  # bytes
MOST_HEADER_LINES = 100  # names may contain line breaks


def read_csv(path, options, workers):
    """The Table of a delimited file; the first line is a header unless all its fields are numbers."""
    name = shown(path)
    with opened(path) as stream:
        begun = _beginning_of(stream, name)
        columns = columns_of(begun.header, options, name, by_number=begun.headless)
        reader = RowReader(begun.dialect, columns, name, may_lack_labels=options.layout is not None)
        jobs = ((line, rows, reader.read if plain else reader.read_serially) for line, rows, plain in begun.pieces())
        blocks = [block for block in parsed(jobs, name, workers) if len(block.X)]
    if not blocks:
        raise InvalidDataError(f"{name}: no rows found")
    return joined(blocks, columns, "csv", options.layout, name)


def lines_of_rows(path, rows):
    """The numbers of the lines on which rows of a valid file begin, for messages; counts as ``read_csv`` does."""
    lines, first = dict[int, int](), 0
    with opened(path) as stream:
        begun = _beginning_of(stream, shown(path))
        for line, piece, _ in begun.pieces():
            starts = begun.dialect.starts_of_rows(piece)
            lines |= {
                row: line + piece.count(b"\n", 0, starts[row - first])
                for row in rows
                if row - first in range(len(starts))
            }
            first += len(starts)
            if first > max(rows):
                break
    return [lines[row] for row in rows]


class _Beginning(NamedTuple):
    """The names of the columns, whether they are positions, the dialect, and the rows: a stream, and its first line."""

    header: list[str]
    headless: bool
    dialect: Dialect
    stream: object
    line: int
    name: str

    def pieces(self):
        """(number of the first line, rows, whether pyarrow can read them) of all pieces."""
        return self.dialect.pieces(self.stream, self.name, self.line)


def _beginning_of(stream, name):
    """The _Beginning of a file."""
    first, lines = _first_row(stream, name)
    delimiter = _delimiter(first)
    header = _header(first, delimiter, name)
    headless = all(_is_number(field) for field in header)
    if headless:
        header = [str(position) for position in range(len(header))]
        stream, lines = continued(first, stream), 0
    return _Beginning(header, headless, Dialect(delimiter), stream, 1 + lines, name)


def _first_row(stream, name):
    """(the first row, its number of lines), which is several where a quoted name contains line breaks."""
    first = stream.readline(LONGEST_HEADER).removeprefix(b"\xef\xbb\xbf")
    if not first:
        raise InvalidDataError(f"{name}: is empty")
    if not first.strip():
        raise InvalidDataError(f"{name}: line 1: missing header with column names")
    for lines in range(1, MOST_HEADER_LINES + 1):
        if not _quote_is_open(first):
            return first, lines
        line = stream.readline(LONGEST_HEADER)
        if not line:
            break
        first += line
    raise InvalidDataError(f"{name}: line 1: unclosed quote in the header")


def _quote_is_open(row):
    if b'"' not in row:
        return False
    reader = csv.reader([row.decode("latin-1")], delimiter=_delimiter(row), skipinitialspace=True, strict=True)
    try:
        next(reader)
    except csv.Error as error:
        return "unexpected end of data" in str(error)
    return False


def _delimiter(first):
    return max(DELIMITERS, key=lambda mark: first.count(mark.encode()))


def _header(line, delimiter, name):
    try:
        text = line.decode("utf-8")
        fields = next(csv.reader([text], delimiter=delimiter, skipinitialspace=True))
    except UnicodeDecodeError as error:
        raise InvalidDataError(f"{name}: line 1: {not_utf8(line, error.start)}") from None
    except (csv.Error, StopIteration) as error:
        raise InvalidDataError(f"{name}: line 1: cannot parse the csv header: {error}") from None
    for mark in "\t;":  # a first line of numbers with decimal commas is no header
        numbers = [field.strip() for field in text.split(mark)]
        commas = [field for field in numbers if DECIMAL_COMMA.fullmatch(field)]
        if len(numbers) > 1 and commas and all(field in commas or _is_number(field) for field in numbers):
            raise InvalidDataError(f"{name}: line 1: {commas[0]!r} has a decimal comma; {WITH_POINTS}")
    return [field.strip() for field in fields]


def _is_number(field):
    try:
        float(field)
    except ValueError:
        return False
    return True
