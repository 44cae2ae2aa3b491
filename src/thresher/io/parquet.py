"""Parquet files, by pyarrow."""

import numpy as np

from thresher.errors import InvalidDataError
from thresher.io.frames import EXCLUDE, TableRows, file_columns, table_of
from thresher.io.table import in_short


def pyarrow_for(name):
    """The module pyarrow, for the file ``name``."""
    try:
        import pyarrow
        import pyarrow.compute
        import pyarrow.csv
        import pyarrow.parquet
    except ImportError:
        raise InvalidDataError(
            f"{name}: csv and Parquet files are read by pyarrow: pip install 'thresher[tables]'"
        ) from None
    return pyarrow


def read_parquet(path, options):
    """The Table of a Parquet file."""
    name = str(path)
    pa = pyarrow_for(name)
    try:
        header = pa.parquet.read_schema(path).names
        columns = file_columns(header, options, name)
        read = [header[j] for j in (*columns.features, columns.label, columns.bag) if j is not None]
        frame = pa.parquet.read_table(path, columns=read)
    except InvalidDataError:
        raise
    except (pa.ArrowException, OSError, ValueError) as error:
        raise InvalidDataError(f"{name}: cannot read the Parquet file: {str(error).splitlines()[0]}") from None
    labels = None if columns.label is None else frame.column(header[columns.label])
    bags = None if columns.bag is None else frame.column(header[columns.bag])
    if bags is not None and bags.null_count:
        raise InvalidDataError(f"{name}: the bag column {header[columns.bag]!r} has {bags.null_count} missing values")
    X = _matrix(pa, frame, [header[j] for j in columns.features], columns.names, name)
    rows = TableRows(
        X,
        None if labels is None else np.array(labels.to_pylist()),
        None if bags is None else np.array(bags.to_pylist()),
        0 if labels is None else labels.null_count,
    )
    return table_of([rows], columns, "parquet", options.layout, name)


def _matrix(pa, frame, written, names, name):
    """The columns ``written`` of a table of pyarrow; in messages they are called ``names``."""
    types = [frame.schema.field(column).type for column in written]
    wrong = [column for column, kind in zip(names, types, strict=True) if not _is_numeric(pa, kind)]
    if wrong:
        raise InvalidDataError(f"{name}: {in_short(wrong)} must be numeric; {EXCLUDE}")
    narrow = all(pa.types.is_float32(kind) or pa.types.is_boolean(kind) or kind.bit_width <= 16 for kind in types)
    X = np.empty((frame.num_rows, len(written)), dtype=np.float32 if narrow else np.float64, order="F")
    for j, column in enumerate(written):
        values = frame.column(column)
        if values.null_count:
            raise InvalidDataError(
                f"{name}: column {column!r} has {values.null_count} missing values; fill in or drop missing values "
                "first"
            )
        X[:, j] = values.to_numpy()
    return X


def _is_numeric(pa, kind):
    return pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_boolean(kind)
