"""Tables with named columns, csv and Parquet: which columns are read, and what was read of them as one Table."""

from collections import Counter
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from thresher.data.input.encoding import Encoding
from thresher.data.input.index_columns import counting_columns, is_unnamed
from thresher.errors import InvalidDataError, did_you_mean
from thresher.io.encoded import encoded, encoding_of, warn_of_unseen
from thresher.io.table import Layout, Table, in_short, order_of, tidy_bags, tidy_labels
from thresher.io.words import MISSING, NO_WORDS, Words, is_numeral, joined, word_columns

KEEP_ADVICE = "to keep a column, name it with keep (--keep NAME)"
LABEL = "label"  # name of the label column if none is given
MOST_CLASSES = 20  # of a column of text that may be that of the labels


@dataclass(frozen=True, kw_only=True)
class ColumnOptions:
    """What ``read`` was asked for: see there."""

    label_column: str | None = None
    bag_column: str | None = None
    ignore: tuple[str, ...] = ()
    keep: tuple[str, ...] = ()
    impute: str | None = None
    one_hot: bool = False
    layout: Layout | None = None

    @property
    def reads_words(self):
        """Whether columns may be more than numbers."""
        known = None if self.layout is None else self.layout.encoding
        return bool(self.impute or self.one_hot or known)


class FileColumns(NamedTuple):
    """The names of all columns of a file, and the positions of the features, the label and the bag, or None.

    ``left_out`` are names of columns that look like an index; ``keep`` names columns that are features all the same.
    Without a header (``by_number``) names are positions.
    """

    fields: tuple[str, ...]
    features: np.ndarray
    label: int | None
    bag: int | None
    left_out: tuple[str, ...]
    keep: tuple[str, ...]
    by_number: bool

    @property
    def names(self):
        """Names of the features."""
        return tuple(self.fields[j] for j in self.features)


class TableRows(NamedTuple):
    """Some rows: features, labels and bags, or None without such a column, and how many labels are missing.

    Where the table has ``words`` X has zeros.
    """

    X: np.ndarray
    labels: np.ndarray | None
    bags: np.ndarray | None
    missing: int
    words: Words = NO_WORDS


def file_columns(header, options, name, *, by_number=False, sample=dict):
    """The FileColumns of a table with this header; labels are required unless there is a layout.

    ``sample`` gives {position: some texts} of columns, for the message if there is no label column. Columns without a
    name are left out, unless the names of a ``layout`` or ``keep`` ask for them.
    """
    layout = options.layout
    old = layout is not None and "" in (layout.names or ())  # earlier model files may have a column without a name
    fields = list(header) if old else with_names(header)
    ignore, keep = (tuple(found_by_name(wanted, header, fields)) for wanted in (options.ignore, options.keep))
    _check_column_names(fields, ignore if layout is None else (), keep, name)
    both = sorted(set(keep) & set(ignore))
    if both:
        raise InvalidDataError(f"{name}: {in_short(both)} cannot be in both ignore (--ignore) and keep (--keep)")
    label, bag = _label_and_bag(fields, options, name, by_number, sample)
    if label is not None and layout is not None and fields[label] in ignore:
        label = None
    others = {*ignore, *(fields[place] for place in (label, bag) if place is not None)}
    if layout is not None and layout.names is not None and not by_number:
        index = []
        origins = (layout.encoding or Encoding()).origins()
        wanted = {origins.get(layout.names[j], layout.names[j]) for j in layout.used} - others
    else:
        index = [field for field in fields if _is_left_out(field, layout, by_number) and field not in keep]
        wanted = set(fields) - others - set(index)
    left_out = tuple(field for field in index if field not in others)
    if not wanted and layout is None:
        raise InvalidDataError(f"{name}: no feature columns left" + (f"; {KEEP_ADVICE}" if left_out else ""))
    features = np.array([j for j, field in enumerate(fields) if field in wanted], dtype=np.int64)
    return FileColumns(tuple(fields), features, label, bag, left_out, keep, by_number)


def _check_column_names(fields, ignore, keep, name):
    """Raise an error for names that two columns have, and for names of options that no column has."""
    duplicates = [field for field, count in Counter(fields).items() if count > 1]
    if duplicates:
        raise InvalidDataError(f"{name}: line 1: duplicate column name {in_short(duplicates)} in the header")
    for option, given in (("ignore", ignore), ("keep", keep)):
        unknown = [column for column in given if column not in fields]
        if unknown:
            hint = did_you_mean(unknown[0], fields)
            raise InvalidDataError(f"{name}: {option} (--{option}): no column named {in_short(unknown)}{hint}")


def _label_and_bag(fields, options, name, by_number, sample):
    """Positions of the columns of labels and of bags, or None."""
    layout, label_column, bag_column = options.layout, options.label_column, options.bag_column
    required = layout is None or label_column is not None
    if layout is not None:
        label_column = layout.label_column if label_column is None else label_column
    column = str(label_column or LABEL)
    label = place_of(fields, column, by_number)
    if label is None and required:
        raise _not_found(name, column, "label", fields, by_number, _likely_labels(fields, sample()))
    bag = None if bag_column is None else place_of(fields, str(bag_column), by_number)
    if bag is None and bag_column is not None:
        raise _not_found(name, str(bag_column), "bag", fields, by_number, fields)
    if bag is not None and bag == label:
        raise InvalidDataError(f"{name}: column {fields[bag]!r} cannot be both the label and the bag of a row")
    return label, bag


def place_of(fields, column, by_number):
    """Position of a column, found by name, or by number if there is no header; None if there is none."""
    if by_number and column.lstrip("-").isdigit() and -len(fields) <= int(column) < len(fields):
        return int(column) % len(fields)
    return fields.index(column) if column in fields else None


def _not_found(name, column, what, fields, by_number, likely):
    """The error about a ``what`` column that is not there, with those that it may be."""
    likely = [field for field in likely if not is_unnamed(field)]
    hint = "a number from 0, since there is no header" if by_number else f"one of {in_short(likely)}"
    near = "" if by_number else did_you_mean(column, fields)
    near += " Set" if near else "; set"
    return InvalidDataError(
        f"{name}: no column named {column!r}{near} the {what} column with {what}_column (--{what}-column): {hint}"
    )


def _likely_labels(fields, sample):
    """The names of all columns: of text with few different values first, the fewest before others, then the last."""
    counts = {}
    for place, texts in sample.items():
        known = [text.strip() for text in texts if text.strip().lower() not in MISSING]
        levels = set(known)
        if not all(map(is_numeral, levels)) and 2 <= len(levels) <= max(2, min(MOST_CLASSES, len(known) // 2)):
            counts[place] = len(levels)
    order = [*sorted(counts, key=lambda place: (counts[place], -place)), len(fields) - 1, *range(len(fields))]
    return [fields[place] for place in dict.fromkeys(order)]


def _is_left_out(field, layout, by_number):
    """Whether a column looks like an index by its name, or was left out of the training data of a model."""
    return (layout is not None and field in layout.left_out) or (is_unnamed(field) and not by_number)


def table_of(blocks, columns, kind, options, name, places):
    """The Table of blocks of rows; without a layout, columns that count the rows are left out.

    ``places`` gives words for where rows are.
    """
    layout = options.layout
    rows = sum(len(block.X) for block in blocks)
    missing = sum(block.missing for block in blocks)
    if missing and (layout is None or missing < rows):
        raise InvalidDataError(f"{name}: {missing} of {rows} labels are missing")
    y = None if columns.label is None or missing else tidy_labels(np.concatenate([block.labels for block in blocks]))
    bags = None if columns.bag is None else tidy_bags(np.concatenate([block.bags for block in blocks]))
    parts = [block.X for block in blocks]
    words = joined([block.words for block in blocks], [len(part) for part in parts])
    del blocks[:]  # so that each part is freed as soon as it is copied
    index = [] if layout is not None else _counting(parts, columns, words)
    remarks = remarks_on(() if columns.by_number else columns.left_out, index, columns.by_number)
    names, encoding, origins = columns.names, None, None
    if index and len(index) == len(names):
        raise InvalidDataError(f"{name}: no feature columns left: {'; '.join(remarks)}")
    order = np.array([j for j, column in enumerate(names) if column not in index], dtype=np.int64)
    names = tuple(names[j] for j in order)
    if words.rows.size or options.reads_words:
        X, words = _stacked(parts, order), words.among(order)
        known = (layout and layout.encoding) or Encoding()
        found = word_columns(words, X, names, also=known.levels)
        encoding = encoding_of(found, len(X), options, places, name, remarks)
        X, names, origins = encoded(X, names, found, encoding, name)
        parts, order = [X], np.arange(X.shape[1])
        if layout is not None:
            warn_of_unseen(found, encoding, name)
    left_out = (*columns.left_out, *index)
    if columns.by_number:
        names = None
    elif layout is not None and layout.names is not None:
        order, names, origins = order_of(names, layout, name), layout.names, None
    return Table(
        _stacked(parts, order), y, names, kind, remarks=remarks, left_out=left_out, bags=bags, encoding=encoding,
        origins=origins,
    )  # fmt: skip


def _counting(parts, columns, words):
    """Names of the columns that count the rows, unless they are kept."""
    others, names = set(words.columns.tolist()), columns.names
    return [names[j] for j in counting_columns(parts) if j not in others and names[j] not in columns.keep]


def _stacked(parts, order):
    """X of blocks of rows, with the columns ``order``, where -1 is a column of zeros; one block may be X itself."""
    rows, width = sum(len(part) for part in parts), parts[0].shape[1]
    in_place = np.array_equal(order, np.arange(order.size) + order[:1]) and (order >= 0).all()
    if len(parts) == 1 and in_place and (order.size == width or parts[0].flags.f_contiguous):
        return parts[0][:, order[0] : order[0] + order.size] if order.size else parts[0]
    narrow = all(part.dtype == np.float32 for part in parts)
    X = np.zeros((rows, order.size), dtype=np.float32 if narrow else np.float64)
    present = np.flatnonzero(order >= 0)
    first = 0
    while parts:
        part = parts.pop(0)
        if in_place and order.size == width:
            X[first : first + len(part)] = part
        else:
            X[first : first + len(part), present] = part[:, order[present]]
        first += len(part)
    return X


def with_names(fields):
    """The names of all columns; one without a name is called as pandas does, by its position."""
    names, taken = [], {field for field in fields if field}
    for position, field in enumerate(fields):
        name = field or f"Unnamed: {position}"
        while not field and name in taken:
            name += ".1"
        taken.add(name)
        names.append(name)
    return names


def found_by_name(wanted, fields, names):
    """``wanted`` names of columns; an empty one stands for all columns without a name, "a,b" for a and b."""
    unnamed = [name for name, field in zip(names, fields, strict=True) if not field]
    wanted = [name for each in wanted for name in ([each] if each in names or each in fields else each.split(","))]
    return [name for each in wanted for name in (unnamed if each == "" and unnamed else [each])]


def remarks_on(unnamed, counting, numbered):
    """Warnings about the columns that were left out."""
    of = " (columns are numbered from 0)" if numbered else ""
    remarks = []
    if unnamed:
        what = "it has no name and looks" if len(unnamed) == 1 else "they have no names and look"
        remarks.append(f"left out column {in_short(unnamed)}: {what} like an index; {KEEP_ADVICE}")
    if counting:
        values = "its values rise by one in each row, so it looks"
        values = values if len(counting) == 1 else "their values rise by one in each row, so they look"
        remarks.append(f"left out column {in_short(counting)}{of}: {values} like an index; {KEEP_ADVICE}")
    return remarks
