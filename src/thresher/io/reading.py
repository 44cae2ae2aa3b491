"""Reading files of any supported kind."""

import os
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
from scipy import sparse

from thresher.data.input.encoding import Encoding
from thresher.data.input.imputing import WAYS, fill_values, filled, first_infinite
from thresher.data.workers import Workers, count_workers
from thresher.errors import ColumnsLeftOutWarning, InvalidDataError, warn
from thresher.io import delimited, parquet
from thresher.io.arrays import labels_in, read_matrix_npy, read_matrix_npz
from thresher.io.foreign import check_extension, not_utf8
from thresher.io.frames import LABEL, ColumnOptions, place_of
from thresher.io.npz import npz_names, read_npy
from thresher.io.svmlight import path_name, read_svmlight
from thresher.io.table import Layout, Table, in_short, tidy_labels

KINDS = {
    "npz": "npz", "npy": "npy", "csv": "csv", "tsv": "csv", "parquet": "parquet", "pq": "parquet", "t": "svmlight",
    "svm": "svmlight", "svmlight": "svmlight", "libsvm": "svmlight", "txt": "svmlight", "dat": "svmlight",
}  # fmt: skip
PACKED_EXTENSIONS = ("gz", "bz2")
WITH_BAGS = ("npz", "csv", "parquet")
TABLES = ("csv", "parquet")


def read(
    path: str | os.PathLike[str],
    *,
    kind: str | None = None,
    labels: str | os.PathLike[str] | None = None,
    label_column: str | None = None,
    bag_column: str | None = None,
    ignore: Sequence[str] = (),
    keep: Sequence[str] = (),
    names: str | os.PathLike[str] | None = None,
    index_base: int | None = None,
    impute: str | None = None,
    one_hot: bool = False,
    layout: Layout | None = None,
    n_jobs: int | None = None,
) -> Table:
    r"""Read a matrix, its labels and its feature names from a file.

    Parameters
    ----------
    path : str or Path
        The file; "-" is standard input, as svmlight text or csv.
    kind : {"svmlight", "npz", "npy", "csv", "parquet"}, default=None
        Format of the file. None: inferred from its extension, svmlight text if that is unknown; extensions of other
        formats, for example .xlsx and .h5ad, raise an error that says how to convert the file.
    labels : str or Path, default=None
        A file of labels: .npy, or text with one label per line. None: those in the file itself.
    label_column : str, default=None
        Name of the label column in csv and Parquet files. None: "label".
    bag_column : str, default=None
        Name of the column of a csv or Parquet file, or of the array of an .npz file, with the bag of each row. None:
        that of the ``layout``, or rows are in no bags.
    ignore : list of str, default=()
        Columns of csv and Parquet files to ignore, for example sample names.
    keep : list of str, default=()
        Columns of csv and Parquet files that are features though they look like an index. Without it, columns that have
        no name and columns of integers that rise by one in each of at least ten rows are left out, with a
        ColumnsLeftOutWarning. If the data is for a model, the model decides.
    names : str or Path, default=None
        A text file with the feature names, one per line.
    index_base : {0, 1}, default=None
        Index of the first column in svmlight text. None: that of the ``layout``, or 0 if any index is 0, else 1.
    impute : {"mean", "median"}, default=None
        What stands for missing values: the mean or the median of the column. None: they raise an error. If the data is
        for a model, the model decides.
    one_hot : bool, default=False
        Whether columns of text of csv and Parquet files become columns of zeros and ones, one for each text, which are
        named "city=Ulm"; at most 50 of a column. False: they raise an error. Columns of true and false are 1 and 0.
    layout : Layout, default=None
        The columns that a model expects, if the data is for one.
    n_jobs : int, default=None
        Number of threads that parse text.

    Returns
    -------
    Table
        ``X``, ``y``, ``names``, ``bags`` and how the file was read.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from thresher.io import read
    >>> file = pathlib.Path(tempfile.mkdtemp()) / "three.svm"
    >>> _ = file.write_text("+1 1:0.5 7:2\n-1 3:1  # a comment\n+1 7:4\n")
    >>> table = read(file)
    >>> table.X.shape, table.y, table.index_base
    ((3, 7), array([ 1, -1,  1]), 1)
    """
    kind = kind_of(path) if kind is None else kind
    if kind not in KINDS.values():
        raise ValueError(f"kind must be one of {sorted(set(KINDS.values()))}, got {kind!r}")
    _check_file(path, kind)
    if layout is not None and bag_column is None:
        bag_column = layout.bag_column
    if bag_column is not None and kind not in WITH_BAGS:
        raise InvalidDataError(f"{path_name(path)}: bag_column (--bag-column) needs .npz, csv or Parquet, got {kind}")
    options = ColumnOptions(
        label_column=label_column, bag_column=bag_column, ignore=tuple(ignore), keep=tuple(keep), impute=impute,
        one_hot=one_hot, layout=layout,
    )  # fmt: skip
    _check_encoding(path, kind, options)
    with Workers(count_workers(n_jobs)) as workers:
        table = _read_kind(path, kind, options, index_base, workers)
    if not table.X.shape[0]:
        raise InvalidDataError(f"{path_name(path)}: no rows found")
    if layout is None and table.left_out:
        for remark in table.remarks:
            warn(f"{path_name(path)}: {remark}", ColumnsLeftOutWarning)
    table = _completed(table, path, labels, names)
    if layout is not None and not layout.open_ended and table.X.shape[1] != layout.n_features:
        raise InvalidDataError(
            f"{path_name(path)}: X has {table.X.shape[1]} features, but the model expects {layout.n_features}"
        )
    return _imputed(table, path, options)


def _read_kind(path, kind, options, index_base, workers):
    """The Table of a file of this kind."""
    if kind == "svmlight":
        return read_svmlight(path, index_base=index_base, layout=options.layout, workers=workers)
    if kind == "csv":
        return delimited.read_csv(path, options, workers)
    if kind == "parquet":
        return parquet.read_parquet(path, options)
    return read_matrix_npz(path, options.bag_column) if kind == "npz" else read_matrix_npy(path)


def _check_encoding(path, kind, options):
    """Raise an error for options of texts and missing values that are invalid, or not for this kind of file."""
    if options.impute not in (None, *WAYS):
        raise ValueError(f"impute must be one of {', '.join(WAYS)} or None, got {options.impute!r}")
    if options.one_hot and kind not in TABLES:
        raise InvalidDataError(f"{path_name(path)}: one_hot (--one-hot) needs csv or Parquet, got {kind}")
    if options.impute and kind == "svmlight":
        raise InvalidDataError(f"{path_name(path)}: impute (--impute) needs an array or a table, got svmlight text")


def _imputed(table, path, options):
    """The table with values for those that are missing: of the training data, or found here and kept."""
    layout, X = options.layout, table.X
    known = (table.encoding if layout is None else layout.encoding) or Encoding()
    how = options.impute if layout is None else known.impute
    if how is None:
        return table
    if sparse.issparse(X):
        raise InvalidDataError(f"{path_name(path)}: impute (--impute) needs a dense array, got a sparse matrix")
    if (place := first_infinite(X)) is not None:
        row, column = place
        raise InvalidDataError(
            f"{path_name(path)}: infinite value in row {row} (from 0), column {_named(table, [column])}; impute "
            "(--impute) fills in NaN alone: replace infinite values by NaN or numbers"
        )
    if layout is None:
        values = fill_values(X, how)
        _check_fills(np.isnan(values), "has no values: nothing to impute from", table, path)
        _check_fills(np.isinf(values), f"has values that are too large for a {how}: rescale them", table, path)
        values = values.astype(X.dtype if X.dtype.kind == "f" else np.float64)
        known = replace(known, fills=values, impute=how)
    if known.fills.size != X.shape[1]:
        raise InvalidDataError(
            f"{path_name(path)}: X has {X.shape[1]} columns, but the model has values for missing entries of "
            f"{known.fills.size}"
        )
    return replace(table, X=filled(X, known.fills), encoding=known)


def _check_fills(wrong, why, table, path):
    """Raise an error if the value found for a column is wrong."""
    if wrong.any():
        raise InvalidDataError(f"{path_name(path)}: column {_named(table, np.flatnonzero(wrong))} {why}")


def _named(table, columns):
    """Columns by their names, or by their numbers."""
    return in_short(columns if table.names is None else [table.names[j] for j in columns])


def _completed(table, path, labels, names):
    """The table with labels and names from separate files."""
    if labels is not None:
        table = replace(table, y=read_labels(labels))
    rows, columns = table.X.shape
    if table.y is not None and table.y.size != rows:
        header = "" if labels is None else _about_header(table.y, rows)
        raise InvalidDataError(f"{path_name(labels or path)}: {table.y.size} labels, but X has {rows} rows{header}")
    if table.bags is not None and table.bags.size != rows:
        raise InvalidDataError(f"{path_name(path)}: {table.bags.size} bags, but X has {rows} rows: each row has one")
    if names is not None:
        feature_names = tuple(stripped_lines(names))
        duplicates = [name for name, count in Counter(feature_names).items() if count > 1]
        if duplicates:
            raise InvalidDataError(f"{names}: duplicate feature name {in_short(duplicates)}")
        if len(feature_names) != columns:
            left_out = f" (left out as an index: {in_short(table.left_out)})" if table.left_out else ""
            raise InvalidDataError(f"{names}: {len(feature_names)} names, but X has {columns} features{left_out}")
        table = replace(table, names=feature_names)
    return table


def _about_header(y, rows):
    """Advice if there is one label too many, and the first looks like a header: a text that is no other label."""
    if y.size != rows + 1 or y.dtype.kind != "U" or y[0] in y[1:]:
        return ""
    return f"; line 1 is the text {str(y[0])!r}, which no other line has: remove it if it is a header"


def kind_of(path):
    """The kind of a file, inferred from its extension; InvalidDataError for formats that are not read."""
    parts = Path(str(path)).name.lower().split(".")
    if parts[-1] in PACKED_EXTENSIONS and len(parts) > 1:
        parts = parts[:-1]
    if len(parts) > 1:
        check_extension(path, parts[-1])
    return KINDS.get(parts[-1], "svmlight")


def _check_file(path, kind):
    """Raise an error unless there is a file to read."""
    if str(path) == "-":
        if kind not in ("svmlight", "csv"):
            raise ValueError(f"standard input must be svmlight text or csv, got {kind}")
        return
    if os.path.isdir(path):
        raise InvalidDataError(f"{path}: is a directory, expected a file")
    if not os.path.exists(path):
        raise FileNotFoundError(f"{path}: no such file")
    if os.path.isfile(path) and not os.path.getsize(path):
        raise InvalidDataError(f"{path}: the file is empty")


def read_labels(path):
    """Labels in a separate file: a 1D .npy array, or text with one label per line."""
    _check_file(path, "csv")
    if str(path).endswith(".npy"):
        return labels_in(path, np.asarray(read_npy(path)))
    return tidy_labels(np.array(stripped_lines(path), dtype=str))


def lacks_labels(path, kind=None, label_column=None):
    """Whether a file has no labels of its own, as far as its beginning tells."""
    kind = kind_of(path) if kind is None else kind
    if str(path) == "-" or kind == "svmlight":
        return False
    _check_file(path, kind)
    if kind in TABLES:
        header, by_number = (delimited if kind == "csv" else parquet).header_of(path)
        return place_of(header, LABEL if label_column is None else label_column, by_number) is None
    return kind == "npy" or "y" not in npz_names(path)


def stripped_lines(path):
    """The stripped lines of a text file; empty lines at its end are ignored."""
    _check_file(path, "csv")
    try:
        lines = Path(path).read_text(encoding="utf-8-sig").splitlines()
    except UnicodeDecodeError as error:
        raise InvalidDataError(f"{path}: {not_utf8(error.object, error.start)}") from None
    lines = [line.strip() for line in lines]
    while lines and not lines[-1]:
        del lines[-1]
    return lines


__all__ = ["Layout", "kind_of", "read", "read_labels"]
