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
IGNORE = "ignore (--ignore NAME)"
LABEL = "label"  # the column that is looked for when none is named
LONGEST_HEADER = 1 << 28  # bytes


class Columns(NamedTuple):
    """What each column of a file is (see ``loops.text``), the names of the features, and the place of the label."""

    kinds: np.ndarray
    names: tuple[str, ...]
    label: int | None


def read_csv(path, *, label_column=None, ignore=(), layout=None, workers):
    """Fields between commas, tabs or semicolons, under a header; there is none if the first line has numbers only."""
    name = shown(path)
    with opened(path) as stream:
        first = stream.readline(LONGEST_HEADER).removeprefix(b"\xef\xbb\xbf")
        if not first.strip():
            raise InvalidDataError(f"{name}: line 1: a header with the names of the columns is missing")
        delimiter = max(DELIMITERS, key=lambda each: first.count(each.encode()))
        fields = _header(first, delimiter, name)
        bare = all(_is_number(field) for field in fields)
        if bare:
            fields = [str(at) for at in range(len(fields))]
        columns = columns_of(fields, label_column, ignore, name, layout, by_number=bare)

        def parse(piece):
            return _rows(piece, ord(delimiter), columns, fields, layout is not None)

        whole = _Joined(first, stream) if bare else stream
        parts = list(parsed(parse, whole, name, workers, line=1 if bare else 2))
    parts = [part for part in parts if len(part[0])]
    if not parts:
        raise InvalidDataError(f"{name}: there is no row in it")
    labels = np.concatenate([labels for _, labels in parts])
    empty = int(np.count_nonzero(labels == ""))
    if 0 < empty < labels.size:  # in one piece of the text all, in another none
        raise InvalidDataError(f"{name}: {empty} of {labels.size} labels are empty")
    y = tidy_labels(labels) if labels.size and not empty else None
    return _table([values for values, _ in parts], y, None if bare else columns.names, "csv", layout, name)


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
        raise InvalidDataError(f"{name}: line 1: not a header of a csv file: {error}") from None
    return [field.strip() for field in fields]


def _is_number(field):
    try:
        float(field)
    except ValueError:
        return False
    return True


def columns_of(fields, label_column, ignore, name, layout, *, by_number=False):
    """The Columns of a table with these names; there must be labels unless a model, which knows the rest, waits."""
    twice = [field for field, count in Counter(fields).items() if count > 1]
    if twice:
        raise InvalidDataError(f"{name}: line 1: the name {in_short(twice)} stands over more than one column")
    unknown = [each for each in ignore if each not in fields]
    if unknown and layout is None:
        raise InvalidDataError(f"{name}: the columns to be ignored must be there; {in_short(unknown)} not found")
    usual = LABEL if layout is None or layout.label_column is None else layout.label_column
    required = layout is None or label_column is not None
    place = _place_of_label(fields, str(label_column or usual), name, required, by_number)
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
        raise InvalidDataError(f"{name}: no column is left for features")
    return Columns(kinds, names, place)


def _place_of_label(fields, label, name, required, by_number):
    """Which column holds the labels: by its name, or by its number if there are no names; None if there is none."""
    if by_number and label.lstrip("-").isdigit() and -len(fields) <= int(label) < len(fields):
        return int(label) % len(fields)
    if label in fields:
        return fields.index(label)
    if required:
        hint = "a number from 0: there is no header" if by_number else f"one of {in_short(fields)}"
        raise InvalidDataError(
            f"{name}: no column is called {label!r}; say which one holds the labels with label_column "
            f"(--label-column): {hint}"
        )
    return None


def _rows(piece, delimiter, columns, fields, unlabelled):
    """(values, labels) of the lines of a piece; all labels may be empty if it may be ``unlabelled``."""
    text = np.frombuffer(piece, dtype=np.uint8)
    lines = min(piece.count(b"\n"), len(piece) // len(fields)) + 1  # a row has a byte for each field at least
    values = np.empty((lines, len(columns.names)))
    spans = np.empty((lines, 2), dtype=np.int64)
    hard, returned = with_room(lambda hard: loops.table(text, delimiter, columns.kinds, values, spans, hard), 4)
    wrong, at, rows, hards, column = returned
    if wrong != loops.OK:
        raise BadText(_complaint(wrong, piece, at, column, delimiter, fields), at)
    for row, place, begun, stop in hard[:hards].tolist():
        values[row, place] = hard_number(piece, begun, stop)
    words = []
    if columns.label is not None:
        for begun, stop in spans[:rows].tolist():
            words.append(piece[begun:stop].decode("utf-8", errors="replace").replace('""', '"').strip())
    if "" in words and (any(words) or not unlabelled):
        raise BadText("the label is empty", int(spans[words.index(""), 0]))
    return narrowed(values[:rows], np.float32), np.array(words, dtype=str)


def _complaint(wrong, piece, at, column, delimiter, fields):
    """What to tell the user about a line of a table."""
    if wrong == loops.TOO_FEW:
        return f"{column} field{'s' * (column != 1)}, where the first line has {len(fields)}"
    if wrong == loops.TOO_MANY:
        return f"more fields than the {len(fields)} of the first line"
    if wrong == loops.OPEN_QUOTE:
        return f"a quote is opened in column {fields[column]!r} and not closed on this line"
    word = piece[at : at + 60].split(b"\n")[0].split(bytes([delimiter]))[0].strip().decode("utf-8", errors="replace")
    word = word.strip('"')[:40]
    if wrong == loops.EMPTY or word.lower() in MISSING:
        shown = "is empty" if wrong == loops.EMPTY else f"has no number, but {word!r}"
        return f"column {fields[column]!r} {shown}; fill in or drop missing values first"
    return f"column {fields[column]!r} must hold numbers, got {word!r}; leave columns of words out with {IGNORE}"


def read_parquet(path, *, label_column=None, ignore=(), layout=None):
    """A Parquet file; needs pyarrow."""
    try:
        import pyarrow as pa
        from pyarrow import parquet
    except ImportError:
        raise InvalidDataError(f"{path}: reading Parquet needs pyarrow: pip install pyarrow") from None
    try:
        columns = columns_of(parquet.read_schema(path).names, label_column, ignore, str(path), layout)
        label = [] if columns.label is None else [parquet.read_schema(path).names[columns.label]]
        found = parquet.read_table(path, columns=[*columns.names, *label])
    except InvalidDataError:
        raise
    except (pa.ArrowException, OSError, ValueError) as error:
        raise InvalidDataError(f"{path}: not a Parquet file that can be read: {str(error).splitlines()[0]}") from None
    types = [found.schema.field(each).type for each in columns.names]
    wrong = [each for each, kind in zip(columns.names, types, strict=True) if not _is_numeric(pa, kind)]
    if wrong:
        raise InvalidDataError(f"{path}: {in_short(wrong)} must hold numbers; leave columns of words out with {IGNORE}")
    narrow = all(pa.types.is_float32(kind) or pa.types.is_boolean(kind) or kind.bit_width <= 16 for kind in types)
    X = np.empty((found.num_rows, len(columns.names)), dtype=np.float32 if narrow else np.float64, order="F")
    for at, each in enumerate(columns.names):
        column = found.column(each)
        if column.null_count:
            raise InvalidDataError(
                f"{path}: column {each!r} has {column.null_count} missing values; fill them in first"
            )
        X[:, at] = column.to_numpy()
    y = None
    if label and not (layout is not None and found.column(label[0]).null_count == found.num_rows):
        labels = found.column(label[0])
        if labels.null_count:
            raise InvalidDataError(f"{path}: {labels.null_count} labels are missing")
        y = tidy_labels(np.array(labels.to_pylist()))
    return _table([X], y, columns.names, "parquet", layout, str(path))


def _is_numeric(pa, kind):
    return pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_boolean(kind)


def _table(parts, y, names, kind, layout, name):
    """The Table out of blocks of rows, its columns in the order of the ``layout`` where both have names."""
    rows, width = sum(len(part) for part in parts), parts[0].shape[1]
    order = None if layout is None or layout.names is None or names is None else order_of(names, layout, name)
    if order is not None and np.array_equal(order, np.arange(width)):
        order = None
    narrow = all(part.dtype == np.float32 for part in parts)
    if len(parts) == 1 and order is None:
        X = parts[0]
    else:
        X = np.zeros((rows, width if order is None else order.size), dtype=np.float32 if narrow else np.float64)
        at, there = 0, None if order is None else np.flatnonzero(order >= 0)
        while parts:
            part = parts.pop(0)
            if order is None:
                X[at : at + len(part)] = part
            else:
                X[at : at + len(part), there] = part[:, order[there]]
            at += len(part)
    return Table(X, y, names if order is None else layout.names, kind)
