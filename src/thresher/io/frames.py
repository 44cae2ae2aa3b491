"""Tables with named columns: csv and Parquet."""

import csv
from collections import Counter
from typing import NamedTuple

import numpy as np

from thresher.errors import InvalidDataError
from thresher.io.svmlight import shown
from thresher.io.table import Table, in_short, order_of, tidy_labels
from thresher.io.text import BadText, hard_number, narrowed, opened, parsed, with_room
from thresher.loops import text as loops

DELIMITERS = ",\t;"
MISSING = {"na", "nan", "n/a", "null", "none", "?", "-", ".", "inf", "-inf", "+inf"}
EXCLUDE = "exclude non-numeric columns with ignore (--ignore NAME)"
LABEL = "label"  # name of the label column if none is given
LONGEST_HEADER = 1 << 28  # bytes


class Columns(NamedTuple):
    """What each column of a file is (see ``loops.text``), the feature names, and the position of the label column."""

    kinds: np.ndarray
    names: tuple[str, ...]
    label: int | None


def read_csv(path, *, label_column=None, ignore=(), layout=None, workers):
    """A file delimited by commas, tabs or semicolons; the first line is a header unless all its fields are numbers."""
    name = shown(path)
    with opened(path) as stream:
        first = stream.readline(LONGEST_HEADER).removeprefix(b"\xef\xbb\xbf")
        if not first.strip():
            raise InvalidDataError(f"{name}: line 1: missing header with column names")
        delimiter = max(DELIMITERS, key=lambda mark: first.count(mark.encode()))
        fields = _header(first, delimiter, name)
        headless = all(_is_number(field) for field in fields)
        if headless:
            fields = [str(position) for position in range(len(fields))]
        columns = columns_of(fields, label_column, ignore, name, layout, by_number=headless)

        def parse(piece):
            return _rows(piece, ord(delimiter), columns, fields, layout is not None)

        rows = _Joined(first, stream) if headless else stream
        parts = list(parsed(parse, rows, name, workers, line=1 if headless else 2))
    parts = [part for part in parts if len(part[0])]
    if not parts:
        raise InvalidDataError(f"{name}: no rows found")
    labels = np.concatenate([labels for _, labels in parts])
    empty = int(np.count_nonzero(labels == ""))
    if 0 < empty < labels.size:  # all labels of one piece of the text, none of another
        raise InvalidDataError(f"{name}: {empty} of {labels.size} labels are missing")
    y = tidy_labels(labels) if labels.size and not empty else None
    return _table([values for values, _ in parts], y, None if headless else columns.names, "csv", layout, name)


class _Joined:
    """The first line, then the rest of a stream."""

    def __init__(self, first, stream):
        self.first, self.stream = first, stream

    def read(self, size=-1):
        first, self.first = self.first, b""
        return first + self.stream.read(size)


def _header(line, delimiter, name):
    try:
        fields = next(csv.reader([line.decode("utf-8")], delimiter=delimiter, skipinitialspace=True))
    except (UnicodeDecodeError, csv.Error, StopIteration) as error:
        raise InvalidDataError(f"{name}: line 1: cannot parse the csv header: {error}") from None
    return [field.strip() for field in fields]


def _is_number(field):
    try:
        float(field)
    except ValueError:
        return False
    return True


def columns_of(fields, label_column, ignore, name, layout, *, by_number=False):
    """The Columns of a table with these names; labels are required unless ``layout`` is given."""
    duplicates = [field for field, count in Counter(fields).items() if count > 1]
    if duplicates:
        raise InvalidDataError(f"{name}: line 1: duplicate column name {in_short(duplicates)} in the header")
    unknown = [column for column in ignore if column not in fields]
    if unknown and layout is None:
        raise InvalidDataError(f"{name}: ignore (--ignore): no column named {in_short(unknown)}")
    default = LABEL if layout is None or layout.label_column is None else layout.label_column
    required = layout is None or label_column is not None
    place = _place_of_label(fields, str(label_column or default), name, required, by_number)
    if layout is None or layout.names is None or by_number:
        wanted = set(fields) - set(ignore)
    else:
        wanted = {layout.names[j] for j in layout.used} - set(ignore)
    kinds = np.array([loops.NUMBER if field in wanted else loops.IGNORED for field in fields], dtype=np.int8)
    if place is not None and not (layout is not None and fields[place] in ignore):
        kinds[place] = loops.LABEL
    else:
        place = None
    names = tuple(field for field, kind in zip(fields, kinds, strict=True) if kind == loops.NUMBER)
    if not names and layout is None:
        raise InvalidDataError(f"{name}: no feature columns left")
    return Columns(kinds, names, place)


def _place_of_label(fields, label, name, required, by_number):
    """Position of the label column, found by name, or by number if there is no header; None if there is none."""
    if by_number and label.lstrip("-").isdigit() and -len(fields) <= int(label) < len(fields):
        return int(label) % len(fields)
    if label in fields:
        return fields.index(label)
    if required:
        hint = "a number from 0, since there is no header" if by_number else f"one of {in_short(fields)}"
        raise InvalidDataError(
            f"{name}: no column named {label!r}; set the label column with label_column (--label-column): {hint}"
        )
    return None


def _rows(piece, delimiter, columns, fields, unlabelled):
    """(values, labels) of the lines of a piece; with ``unlabelled`` all labels may be missing."""
    text = np.frombuffer(piece, dtype=np.uint8)
    lines = min(piece.count(b"\n"), len(piece) // len(fields)) + 1  # a row has a byte for each field at least
    values = np.empty((lines, len(columns.names)))
    spans = np.empty((lines, 2), dtype=np.int64)
    hard, returned = with_room(lambda hard: loops.table(text, delimiter, columns.kinds, values, spans, hard), 4)
    wrong, byte, rows, hards, column = returned
    if wrong != loops.OK:
        raise BadText(_complaint(wrong, piece, byte, column, delimiter, fields), byte)
    for row, place, begun, stop in hard[:hards].tolist():
        values[row, place] = hard_number(piece, begun, stop)
    labels = []
    if columns.label is not None:
        for begun, stop in spans[:rows].tolist():
            labels.append(piece[begun:stop].decode("utf-8", errors="replace").replace('""', '"').strip())
    if "" in labels and (any(labels) or not unlabelled):
        raise BadText("missing label", int(spans[labels.index(""), 0]))
    return narrowed(values[:rows], np.float32), np.array(labels, dtype=str)


def _complaint(wrong, piece, byte, column, delimiter, fields):
    """The error message for a line of a table."""
    if wrong == loops.TOO_FEW:
        return f"expected {len(fields)} fields as in the first line, got {column}"
    if wrong == loops.TOO_MANY:
        return f"expected {len(fields)} fields as in the first line, got more"
    if wrong == loops.OPEN_QUOTE:
        return f"unclosed quote in column {fields[column]!r}"
    field = piece[byte : byte + 60].split(b"\n")[0].split(bytes([delimiter]))[0]
    word = field.strip().decode("utf-8", errors="replace").strip('"')[:40]
    if wrong == loops.EMPTY or word.lower() in MISSING:
        given = "" if wrong == loops.EMPTY else f" ({word!r})"
        return f"missing value{given} in column {fields[column]!r}; fill in or drop missing values first"
    return f"column {fields[column]!r} must be numeric, got {word!r}; {EXCLUDE}"


def read_parquet(path, *, label_column=None, ignore=(), layout=None):
    """Read a Parquet file with pyarrow."""
    try:
        import pyarrow as pa
        from pyarrow import parquet
    except ImportError:
        raise InvalidDataError(f"{path}: reading Parquet needs pyarrow: pip install pyarrow") from None
    try:
        columns = columns_of(parquet.read_schema(path).names, label_column, ignore, str(path), layout)
        label = [] if columns.label is None else [parquet.read_schema(path).names[columns.label]]
        frame = parquet.read_table(path, columns=[*columns.names, *label])
    except InvalidDataError:
        raise
    except (pa.ArrowException, OSError, ValueError) as error:
        raise InvalidDataError(f"{path}: cannot read the Parquet file: {str(error).splitlines()[0]}") from None
    types = [frame.schema.field(name).type for name in columns.names]
    wrong = [name for name, kind in zip(columns.names, types, strict=True) if not _is_numeric(pa, kind)]
    if wrong:
        raise InvalidDataError(f"{path}: {in_short(wrong)} must be numeric; {EXCLUDE}")
    narrow = all(pa.types.is_float32(kind) or pa.types.is_boolean(kind) or kind.bit_width <= 16 for kind in types)
    X = np.empty((frame.num_rows, len(columns.names)), dtype=np.float32 if narrow else np.float64, order="F")
    for j, name in enumerate(columns.names):
        column = frame.column(name)
        if column.null_count:
            raise InvalidDataError(
                f"{path}: column {name!r} has {column.null_count} missing values; fill in or drop missing values first"
            )
        X[:, j] = column.to_numpy()
    y = None
    if label and not (layout is not None and frame.column(label[0]).null_count == frame.num_rows):
        labels = frame.column(label[0])
        if labels.null_count:
            raise InvalidDataError(f"{path}: {labels.null_count} labels are missing")
        y = tidy_labels(np.array(labels.to_pylist()))
    return _table([X], y, columns.names, "parquet", layout, str(path))


def _is_numeric(pa, kind):
    return pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_boolean(kind)


def _table(parts, y, names, kind, layout, name):
    """The Table of blocks of rows, its columns in the order of the ``layout`` if both have names."""
    rows, width = sum(len(part) for part in parts), parts[0].shape[1]
    order = None if layout is None or layout.names is None or names is None else order_of(names, layout, name)
    if order is not None and np.array_equal(order, np.arange(width)):
        order = None
    narrow = all(part.dtype == np.float32 for part in parts)
    if len(parts) == 1 and order is None:
        X = parts[0]
    else:
        X = np.zeros((rows, width if order is None else order.size), dtype=np.float32 if narrow else np.float64)
        first, present = 0, None if order is None else np.flatnonzero(order >= 0)
        while parts:
            part = parts.pop(0)
            if order is None:
                X[first : first + len(part)] = part
            else:
                X[first : first + len(part), present] = part[:, order[present]]
            first += len(part)
    return Table(X, y, names if order is None else layout.names, kind)
