"""Text with named columns: delimited by commas, tabs or semicolons."""

import csv
import re
from itertools import chain

import numpy as np

from thresher.errors import InvalidDataError
from thresher.io.foreign import not_utf8
from thresher.io.frames import EXCLUDE, columns_of, joined
from thresher.io.svmlight import shown
from thresher.io.table import tidy_bags, tidy_labels
from thresher.io.text import BadText, Unfinished, hard_number, narrowed, opened, parsed, with_room
from thresher.loops import text as loops

DELIMITERS = ",\t;"
MISSING = {"na", "nan", "n/a", "null", "none", "?", "-", ".", "inf", "-inf", "+inf"}
LONGEST_HEADER = 1 << 28  # bytes
MOST_HEADER_LINES = 100  # names may contain line breaks
DECIMAL_COMMA = re.compile(r"[+-]?\d*,\d+([eE][+-]?\d+)?")
THOUSANDS = re.compile("[+-]?\\d{1,3}([,.' \u00a0\u202f\ufffd]\\d{3})+([.,]\\d+)?")  # the last: a blank of Latin-1
WITH_POINTS = (
    "numbers must have a decimal point: pandas.read_csv(path, sep=';', decimal=',').to_csv('new.csv', index=False)"
)
WITHOUT_THOUSANDS = (
    "numbers must have no thousands separators: pandas.read_csv(path, thousands=',').to_csv('new.csv', index=False)"
)


def read_csv(path, *, label_column=None, bag_column=None, ignore=(), keep=(), layout=None, workers):
    """A delimited file; the first line is a header unless all its fields are numbers."""
    name = shown(path)
    with opened(path) as stream:
        first, lines = _first_row(stream, name)
        delimiter = _delimiter(first)
        fields = _header(first, delimiter, name)
        headless = all(_is_number(field) for field in fields)
        if headless:
            fields = [str(position) for position in range(len(fields))]
        named = {"by_number": headless, "keep": keep, "bag_column": bag_column}
        columns = columns_of(fields, label_column, ignore, name, layout, **named)

        def parse(piece):
            return _rows(piece, ord(delimiter), columns, layout is not None)

        rows = _Joined(first, stream) if headless else stream
        parts = list(parsed(parse, rows, name, workers, line=1 if headless else 1 + lines))
    parts = [part for part in parts if len(part[0])]
    if not parts:
        raise InvalidDataError(f"{name}: no rows found")
    labels, bag_names = (np.concatenate([part[which] for part in parts]) for which in (1, 2))
    empty = int(np.count_nonzero(labels == ""))
    if 0 < empty < labels.size:  # all labels of one piece of the text, none of another
        raise InvalidDataError(f"{name}: {empty} of {labels.size} labels are missing")
    y = tidy_labels(labels) if labels.size and not empty else None
    bags = None if columns.bag is None else tidy_bags(bag_names)
    return joined([part[0] for part in parts], y, columns, "csv", layout, name, by_number=headless, bags=bags)


def lines_of_rows(path, rows):
    """The numbers of the lines on which rows of a valid file begin, for messages; counts as ``read_csv`` does."""
    with opened(path) as stream:
        first, begun = _first_row(stream, shown(path))
        delimiter = _delimiter(first)
        headless = all(_is_number(field) for field in _header(first, delimiter, shown(path)))
        begun = 0 if headless else begun
        text = (line.decode("utf-8") for line in chain([first] if headless else [], stream))
        reader, lines, count = csv.reader(text, delimiter=delimiter, skipinitialspace=True), dict[int, int](), 0
        line = begun + 1
        for fields in reader:
            if any(fields) or len(fields) > 1:
                if count in rows:
                    lines[count] = line
                count += 1
            line = begun + reader.line_num + 1
            if count > max(rows):
                break
    return [lines[row] for row in rows]


class _Joined:
    """The first line, then the rest of a stream."""

    def __init__(self, first, stream):
        self.first, self.stream = first, stream

    def read(self, size=-1):
        first, self.first = self.first, b""
        return first + self.stream.read(size)


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


def _rows(piece, delimiter, columns, unlabelled):
    """(values, labels, bags) of the lines of a piece; with ``unlabelled`` all labels may be missing."""
    text = np.frombuffer(piece, dtype=np.uint8)
    lines = min(piece.count(b"\n"), len(piece) // columns.kinds.size) + 1  # a row has a byte for each field at least
    values = np.empty((lines, len(columns.names)))
    spans = np.empty((lines, 4), dtype=np.int64)
    hard, returned = with_room(lambda hard: loops.table(text, delimiter, columns.kinds, values, spans, hard), 4)
    wrong, byte, rows, hards, column, start = returned
    if wrong not in (loops.OK, loops.OPEN_QUOTE):
        raise BadText(_complaint(wrong, piece, byte, column, delimiter, columns), byte)
    for row, place, begun, stop in hard[:hards].tolist():
        if row < rows:  # not of a row that is not finished
            values[row, place] = hard_number(piece, begun, stop)
    labels = [] if columns.label is None else [_label(piece, *span[:2]) for span in spans[:rows].tolist()]
    bags = [] if columns.bag is None else [_label(piece, *span[2:]) for span in spans[:rows].tolist()]
    if "" in labels and (any(labels) or not unlabelled):
        raise BadText("missing label", int(spans[labels.index(""), 0]))
    if "" in bags:
        raise BadText(f"missing value in the bag column {columns.fields[columns.bag]!r}", int(spans[bags.index(""), 2]))
    found = narrowed(values[:rows], np.float32), np.array(labels, dtype=str), np.array(bags, dtype=str)
    if wrong == loops.OPEN_QUOTE:
        raise Unfinished(f"unclosed quote in column {columns.fields[column]!r}", byte, found, start)
    return found


def _label(piece, begun, stop):
    try:
        return piece[begun:stop].decode("utf-8").replace('""', '"').strip()
    except UnicodeDecodeError as error:
        raise BadText(not_utf8(piece, begun + error.start), begun) from None


def _complaint(wrong, piece, byte, column, delimiter, columns):
    """The error message for a line of a table."""
    count, mark = columns.kinds.size, chr(delimiter)
    if wrong == loops.TOO_FEW:
        return f"expected {count} fields as in the first line, got {column}"
    if wrong == loops.TOO_MANY:
        commas = ", and numbers must have decimal points, not commas" if mark == "," else ""
        return f"expected {count} fields as in the first line, got more; text with {mark!r} must be quoted{commas}"
    called = repr(columns.fields[column])
    quoted = piece[max(0, byte - 1) : byte] == b'"'
    field = piece[byte : byte + 60].split(b'"' if quoted else b"\n")[0]
    word = (field if quoted else field.split(bytes([delimiter]))[0]).strip().decode("utf-8", errors="replace")[:40]
    if wrong == loops.EMPTY or word.lower() in MISSING:
        given = "" if wrong == loops.EMPTY else f" ({word!r})"
        return f"missing value{given} in column {called}; fill in or drop missing values first"
    if columns.kinds[column] != loops.NUMBER or (quoted and _is_number(word)):
        return f"text after the closing quote in column {called}, got {word!r}; a quote within quotes is written twice"
    decimal, thousands = DECIMAL_COMMA.fullmatch(word), THOUSANDS.fullmatch(word)
    if decimal or thousands:
        what = "a decimal comma" if not thousands else "thousands separators"
        what = "a decimal comma or a thousands separator" if decimal and thousands else what
        ways = [WITH_POINTS] if decimal else []
        ways += [WITHOUT_THOUSANDS] if thousands else []
        return f"column {called}: {word!r} has {what}; {'; '.join(ways)}"
    hint = "; is a quote not closed?" if quoted and b"\n" in field else ""
    return f"column {called} must be numeric, got {word!r}{hint}; {EXCLUDE}"
