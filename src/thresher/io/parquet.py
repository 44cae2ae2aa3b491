"""Parquet files, by pyarrow."""

import numpy as np

from thresher.errors import InvalidDataError
from thresher.io.frames import TableRows, file_columns, table_of
from thresher.io.words import Words, joined, words_of

SAMPLE = 1000  # rows for messages


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
        columns = file_columns(header, options, name, sample=lambda: _sample(pa, path))
        read = [header[j] for j in (*columns.features, columns.label, columns.bag) if j is not None]
        frame = pa.parquet.read_table(path, columns=read)
    except InvalidDataError:
        raise
    except (pa.ArrowException, OSError, ValueError) as error:
        raise _unreadable(name, error) from None
    labels = None if columns.label is None else frame.column(header[columns.label])
    bags = None if columns.bag is None else frame.column(header[columns.bag])
    if bags is not None and bags.null_count:
        raise InvalidDataError(f"{name}: the bag column {header[columns.bag]!r} has {bags.null_count} missing values")
    X, words = _matrix(pa, frame, [header[j] for j in columns.features])
    rows = TableRows(
        X,
        None if labels is None else np.array(labels.to_pylist()),
        None if bags is None else np.array(bags.to_pylist()),
        0 if labels is None else labels.null_count,
        words,
    )

    def places(rows):
        return [f"row {row} (from 0)" for row in rows]

    return table_of([rows], columns, "parquet", options, name, places)


def header_of(path):
    """(the names of all columns, False, as there is a header) of a file."""
    pa = pyarrow_for(str(path))
    try:
        return pa.parquet.read_schema(path).names, False
    except (pa.ArrowException, OSError, ValueError) as error:
        raise _unreadable(path, error) from None


def _unreadable(path, error):
    return InvalidDataError(f"{path}: cannot read the Parquet file: {str(error).splitlines()[0]}")


def _sample(pa, path):
    """{position: texts} of the columns that are not numbers, in some rows."""
    with pa.parquet.ParquetFile(path) as file:
        schema = file.schema_arrow
        texts = [j for j, kind in enumerate(schema.types) if pa.types.is_boolean(kind) or not _is_numeric(pa, kind)]
        names = [schema.names[j] for j in texts]
        for batch in file.iter_batches(SAMPLE, columns=names):
            found = {j: batch.column(name).to_pylist() for j, name in zip(texts, names, strict=True)}
            return {j: ["" if text is None else str(text) for text in column] for j, column in found.items()}
    return {}


def _matrix(pa, frame, written):
    """(numbers, with zeros for words, the Words) of the columns ``written`` of a table of pyarrow; nulls are words."""
    types = [frame.schema.field(column).type for column in written]
    narrow = all(_is_narrow(pa, kind) for kind in types if _is_numeric(pa, kind))
    X = np.zeros((frame.num_rows, len(written)), dtype=np.float32 if narrow else np.float64, order="F")
    found = []
    for j, (column, kind) in enumerate(zip(written, types, strict=True)):
        values = frame.column(column)
        if _is_numeric(pa, kind):
            missing = values.is_null(nan_is_null=True).to_numpy()
            if missing.any():
                values = pa.compute.if_else(values.is_null(nan_is_null=True), pa.scalar(0).cast(kind), values)
                found.append(_words(np.flatnonzero(missing), j, [""] * int(missing.sum())))
            X[:, j] = values.to_numpy()
            infinite = np.flatnonzero(np.isinf(X[:, j]))
            found.append(_words(infinite, j, [f"{value:g}" for value in X[infinite, j]]))
            X[infinite, j] = 0.0
        else:
            texts = ["" if text is None else str(text).strip() for text in values.to_pylist()]
            found.append(_words(np.arange(len(texts)), j, texts))
    return X, joined(found, [0] * len(found))


def _words(rows, column, texts) -> Words:
    return words_of(rows, np.full(len(texts), column), texts)


def _is_narrow(pa, kind):
    return pa.types.is_float32(kind) or pa.types.is_boolean(kind) or kind.bit_width <= 16


def _is_numeric(pa, kind):
    return pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_boolean(kind)
