"""Tables with named columns: what is read of them, and Parquet files."""

from collections import Counter
from typing import NamedTuple

import numpy as np

from thresher.errors import InvalidDataError, did_you_mean
from thresher.io.index_columns import (
    KEEP,
    counting_columns,
    found_by_name,
    is_unnamed,
    remarks_on,
    with_names,
    without_columns,
)
from thresher.io.table import Table, in_short, order_of, tidy_bags, tidy_labels
from thresher.loops import text as loops

EXCLUDE = "exclude non-numeric columns with ignore (--ignore NAME)"
LABEL = "label"  # name of the label column if none is given


class Columns(NamedTuple):
    """What each column of a file is (see ``loops.text``), its name, the names of the features, and where the label is.

    ``left_out`` are names of columns that look like an index; ``keep`` names columns that are features all the same.
    ``bag`` is where the bag of each row is, or None.
    """

    kinds: np.ndarray
    fields: tuple[str, ...]
    names: tuple[str, ...]
    label: int | None
    left_out: tuple[str, ...] = ()
    keep: frozenset[str] = frozenset()
    bag: int | None = None


def columns_of(header, label_column, ignore, name, layout, *, by_number=False, keep=(), bag_column=None):
    """The Columns of a table with this header; labels are required unless ``layout`` is given.

    Columns without a name are left out, unless the names of a ``layout`` or ``keep`` ask for them.
    """
    old = layout is not None and "" in (layout.names or ())  # earlier model files may have a column without a name
    fields = list(header) if old else with_names(header)
    ignore, keep = found_by_name(ignore, header, fields), found_by_name(keep, header, fields)
    duplicates = [field for field, count in Counter(fields).items() if count > 1]
    if duplicates:
        raise InvalidDataError(f"{name}: line 1: duplicate column name {in_short(duplicates)} in the header")
    unknown = [column for column in ignore if column not in fields]
    if unknown and layout is None:
        hint = did_you_mean(unknown[0], fields)
        raise InvalidDataError(f"{name}: ignore (--ignore): no column named {in_short(unknown)}{hint}")
    unknown = [column for column in keep if column not in fields]
    if unknown:
        hint = did_you_mean(unknown[0], fields)
        raise InvalidDataError(f"{name}: keep (--keep): no column named {in_short(unknown)}{hint}")
    both = sorted(set(keep) & set(ignore))
    if both:
        raise InvalidDataError(f"{name}: {in_short(both)} cannot be in both ignore (--ignore) and keep (--keep)")
    default = LABEL if layout is None or layout.label_column is None else layout.label_column
    required = layout is None or label_column is not None
    place = _place_of(fields, str(label_column or default), name, required, by_number, "label")
    bag_column = bag_column if layout is None or bag_column is not None else layout.bag_column
    bag = None if bag_column is None else _place_of(fields, str(bag_column), name, True, by_number, "bag")
    if bag is not None and bag == place:
        raise InvalidDataError(f"{name}: column {fields[bag]!r} cannot be both the label and the bag of a row")
    left_out = set()
    if layout is None or layout.names is None or by_number:
        before = () if layout is None else layout.left_out
        left_out = {field for field in fields if field in before or (is_unnamed(field) and not by_number)} - set(keep)
        wanted = set(fields) - set(ignore) - left_out
    else:
        wanted = {layout.names[j] for j in layout.used} - set(ignore)
    kinds = np.array([loops.NUMBER if field in wanted else loops.IGNORED for field in fields], dtype=np.int8)
    if place is not None and not (layout is not None and fields[place] in ignore):
        kinds[place] = loops.LABEL
    else:
        place = None
    if bag is not None:
        kinds[bag] = loops.BAG
    names = tuple(field for field, kind in zip(fields, kinds, strict=True) if kind == loops.NUMBER)
    label = None if place is None else fields[place]
    read = (label, None if bag is None else fields[bag], *ignore)
    unnamed = tuple(field for field in fields if field in left_out and field not in read)
    if not names and layout is None:
        raise InvalidDataError(f"{name}: no feature columns left" + (f"; {KEEP}" if unnamed else ""))
    return Columns(kinds, tuple(fields), names, place, unnamed, frozenset(keep), bag)


def _place_of(fields, column, name, required, by_number, what):
    """Position of the ``what`` column, found by name, or by number if there is no header; None if there is none."""
    if by_number and column.lstrip("-").isdigit() and -len(fields) <= int(column) < len(fields):
        return int(column) % len(fields)
    if column in fields:
        return fields.index(column)
    if required:
        hint = "a number from 0, since there is no header" if by_number else f"one of {in_short(fields)}"
        near = "" if by_number else did_you_mean(column, fields)
        near += " Set" if near else "; set"
        raise InvalidDataError(
            f"{name}: no column named {column!r}{near} the {what} column with {what}_column (--{what}-column): {hint}"
        )
    return None


def read_parquet(path, *, label_column=None, bag_column=None, ignore=(), keep=(), layout=None):
    """Read a Parquet file with pyarrow."""
    try:
        import pyarrow as pa
        from pyarrow import parquet
    except ImportError:
        raise InvalidDataError(f"{path}: reading Parquet needs pyarrow: pip install pyarrow") from None
    try:
        header = parquet.read_schema(path).names
        columns = columns_of(header, label_column, ignore, str(path), layout, keep=keep, bag_column=bag_column)
        label, bag = ([] if place is None else [header[place]] for place in (columns.label, columns.bag))
        written = [header[j] for j in np.flatnonzero(columns.kinds == loops.NUMBER)]  # names as they are in the file
        frame = parquet.read_table(path, columns=[*written, *label, *bag])
    except InvalidDataError:
        raise
    except (pa.ArrowException, OSError, ValueError) as error:
        raise InvalidDataError(f"{path}: cannot read the Parquet file: {str(error).splitlines()[0]}") from None
    types = [frame.schema.field(name).type for name in written]
    wrong = [name for name, kind in zip(columns.names, types, strict=True) if not _is_numeric(pa, kind)]
    if wrong:
        raise InvalidDataError(f"{path}: {in_short(wrong)} must be numeric; {EXCLUDE}")
    narrow = all(pa.types.is_float32(kind) or pa.types.is_boolean(kind) or kind.bit_width <= 16 for kind in types)
    X = np.empty((frame.num_rows, len(columns.names)), dtype=np.float32 if narrow else np.float64, order="F")
    for j, name in enumerate(written):
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
    bags = None
    if bag:
        missing = frame.column(bag[0]).null_count
        if missing:
            raise InvalidDataError(f"{path}: the bag column {bag[0]!r} has {missing} missing values")
        bags = tidy_bags(np.array(frame.column(bag[0]).to_pylist()))
    return joined([X], y, columns, "parquet", layout, str(path), bags=bags)


def _is_numeric(pa, kind):
    return pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_boolean(kind)


def joined(parts, y, columns, kind, layout, name, *, by_number=False, bags=None):
    """The Table of blocks of rows; without a ``layout``, columns that count the rows are left out."""
    names, counting = columns.names, []
    if layout is None:
        counting = [j for j in counting_columns(parts) if names[j] not in columns.keep]
    unnamed = () if by_number else columns.left_out
    remarks = remarks_on(unnamed, [names[j] for j in counting], by_number)
    left_out = (*columns.left_out, *(names[j] for j in counting))
    if counting:
        if len(counting) == len(names):
            raise InvalidDataError(f"{name}: no feature columns left: {'; '.join(remarks)}")
        parts = [without_columns(part, counting) for part in parts]
        names = tuple(field for j, field in enumerate(names) if j not in counting)
    names = None if by_number else names
    X, names = _stacked(parts, names, layout, name)
    return Table(X, y, names, kind, remarks=remarks, left_out=left_out, bags=bags)


def _stacked(parts, names, layout, name):
    """(X, names) of blocks of rows, the columns in the order of the ``layout`` if both have names."""
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
    return X, names if order is None else layout.names
