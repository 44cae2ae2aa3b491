"""Text with named columns: delimited by commas, tabs or semicolons."""

import csv
import re
import zlib
from contextlib import suppress
from typing import Any

from thresher.errors import InvalidDataError
from thresher.io.delimited_rows import RowReader
from thresher.io.encoded import DECIMAL_COMMA, WITH_POINTS
from thresher.io.foreign import not_utf8
from thresher.io.frames import file_columns, table_of
from thresher.io.svmlight import path_name
from thresher.io.text import BYTE_ORDER_MARK, continued, opened, parsed, pieces
from thresher.io.words import is_numeral

DELIMITERS = ",\t;"
LONGEST_HEADER = 1 << 28  # bytes
MOST_HEADER_LINES = 100  # names may contain line breaks
SAMPLE = 1 << 20  # bytes of the first rows, for messages
LONGEST_QUOTE = 1 << 26  # bytes of a row in which a quote is open; more are taken for a quote that was never closed
BARE_RETURN = re.compile(rb"\r(?!\n)")  # which pyarrow takes for the end of a line


def read_csv(path, options, workers):
    """The Table of a delimited file; the first line is a header unless all its fields are numbers."""
    with opened(path) as stream:
        text = DelimitedText(stream, path_name(path))
        sample = dict if str(path) == "-" else text.sample
        columns = file_columns(text.header, options, text.name, by_number=text.headless, sample=sample)
        reader = RowReader(text, columns, may_lack_labels=options.layout is not None)
        jobs = ((line, rows, reader.read if plain else reader.read_serially) for line, rows, plain in text.pieces())
        blocks = [block for block in parsed(jobs, text.name, workers) if len(block.X)]
    if not blocks:
        raise InvalidDataError(f"{text.name}: no rows found")

    def places(rows):
        known = {} if str(path) == "-" else dict(zip(sorted(rows), lines_of_rows(path, sorted(rows)), strict=True))
        return [f"line {known[row]}" if known else f"row {row} (from 0)" for row in rows]

    return table_of(blocks, columns, "csv", options, text.name, places)


def lines_of_rows(path, rows):
    """The numbers of the lines on which rows of a valid file begin, for messages; counts as ``read_csv`` does."""
    lines, first = dict[int, int](), 0
    with opened(path) as stream:
        text = DelimitedText(stream, path_name(path))
        for line, piece, _ in text.pieces():
            found = [row.start() for row in text.row.finditer(piece) if not text.blank_lines.fullmatch(row[0])]
            here = [row for row in rows if 0 <= row - first < len(found)]
            lines |= {row: line + piece.count(b"\n", 0, found[row - first]) for row in here}
            first += len(found)
            if first > max(rows):
                break
    return [lines[row] for row in rows]


def header_of(path):
    """(the names of all columns, whether these are numbers, since there is no header) of a file."""
    with opened(path) as stream:
        text = DelimitedText(stream, path_name(path))
    return text.header, text.headless


class DelimitedText:
    """A stream of text with a delimiter, after its first row: the header, and where rows and fields end."""

    def __init__(self, stream, name):
        self.stream, self.name = stream, name
        first = stream.readline(LONGEST_HEADER).removeprefix(BYTE_ORDER_MARK)
        if not first:
            raise InvalidDataError(f"{name}: is empty")
        if not first.strip():
            raise InvalidDataError(f"{name}: line 1: missing header with column names")
        for self.line in range(2, MOST_HEADER_LINES + 2):
            self._set_patterns(max(DELIMITERS, key=lambda mark: first.count(mark.encode())))
            more = b"" if self.row.match(first.removesuffix(b"\n") + b"\n") else stream.readline(LONGEST_HEADER)
            if not more:
                break
            first += more
        if not self.row.match(first.removesuffix(b"\n") + b"\n"):
            raise InvalidDataError(f"{name}: line 1: unclosed quote in the header")
        self.header = _header(first, self.delimiter, name)
        self.headless = all(is_numeral(field) for field in self.header)
        if self.headless:
            self.header = [str(position) for position in range(len(self.header))]
            self.stream, self.line = continued(first, stream), 1

    def _set_patterns(self, delimiter):
        self.delimiter = delimiter
        self.blank = " \t\r\v\f".replace(delimiter, "").encode()
        blanks = rf"[{self.blank.decode()}]*+"
        text, quoted = rf"[^{delimiter}\n]*+", '(?:[^"]++|"")*+'
        field = f'{blanks}(?:"{quoted}"{text}|(?!"){text})'
        # quotes around a whole field, without blanks next to them, or in the text of a field without quotes
        plain = rf'(?<![^{delimiter}\n])"(?![ \t]){quoted}(?<![ \t])"(?=[{delimiter}\r\n])|(?<=[^{delimiter}\s])"'
        self.simple_quotes = re.compile(rf'"(?<![^{delimiter}\n]")([^"{delimiter}\n]++)"(?=[{delimiter}\r\n])'.encode())
        self.field: Any = re.compile(f'{blanks}(?:"({quoted})("?){blanks}|({text}))'.encode())
        self.blank_lines: Any = re.compile(rf"(?:{blanks}\n)*+".encode())
        self.row = re.compile(rf"(?:{field}{delimiter})*+{field}\n".encode())
        self.rows: Any = re.compile(rf"(?:(?:{field}{delimiter})*+{field}\n)*+".encode())
        self.plain_rows: Any = re.compile(rf'(?:(?:[^"\n]++|{plain})*+\n)*+'.encode())

    def sample(self):
        """{position: texts} of all columns in the next rows, as far as they can be read; these are read then."""
        rows = list[list[str]]()
        with suppress(csv.Error, EOFError, OSError, zlib.error):
            lines = self.stream.read(SAMPLE).decode("utf-8", errors="replace").splitlines()
            rows.extend(csv.reader(lines, delimiter=self.delimiter, skipinitialspace=True))
        return dict(enumerate(zip(*(row for row in rows if len(row) == len(self.header)), strict=True)))

    def pieces(self):
        """(number of the first line, whole rows, whether pyarrow reads them alike) of all pieces."""
        rest, line = b"", self.line
        for begun, piece in pieces(self.stream, self.name, self.line):
            line = begun - rest.count(b"\n")
            rest += piece if piece.endswith(b"\n") else piece + b"\n"
            for pattern in (self.plain_rows, self.rows):
                end = pattern.match(rest).end() if b'"' in rest else len(rest)
                rows, rest = rest[:end], rest[end:]
                if rows:
                    unusual = BARE_RETURN.search(rows) or rows.startswith(BYTE_ORDER_MARK)
                    yield line, rows, pattern is self.plain_rows and not unusual
                line += rows.count(b"\n") if rest else 0
            if len(rest) > LONGEST_QUOTE:
                break
        if rest:  # a quote is open
            yield line, rest, False


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
        if len(numbers) > 1 and commas and all(field in commas or is_numeral(field) for field in numbers):
            raise InvalidDataError(f"{name}: line 1: {commas[0]!r} has a decimal comma; {WITH_POINTS}")
    return [field.strip() for field in fields]
