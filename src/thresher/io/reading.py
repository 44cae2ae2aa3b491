"""One entry for all kinds of files."""

import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from thresher.data.workers import Workers, count_workers
from thresher.errors import InvalidDataError
from thresher.io.arrays import labels_of, read_matrix_npy, read_matrix_npz
from thresher.io.frames import read_csv, read_parquet
from thresher.io.npz import read_npy
from thresher.io.svmlight import read_svmlight, shown
from thresher.io.table import Layout, Table, tidy_labels

KINDS = {
    "npz": "npz", "npy": "npy", "csv": "csv", "tsv": "csv", "parquet": "parquet", "pq": "parquet", "t": "svmlight",
    "svm": "svmlight", "svmlight": "svmlight", "libsvm": "svmlight", "txt": "svmlight", "dat": "svmlight",
}  # fmt: skip
PACKED = ("gz", "bz2")


def read(
    path: str | os.PathLike[str],
    *,
    kind: str | None = None,
    labels: str | os.PathLike[str] | None = None,
    label_column: str | None = None,
    ignore: Sequence[str] = (),
    names: str | os.PathLike[str] | None = None,
    index_base: int | None = None,
    layout: Layout | None = None,
    n_jobs: int | None = None,
) -> Table:
    r"""The matrix in a file, its labels and the names of its columns, as a Table.

    Parameters
    ----------
    path : str or Path
        The file; "-" is standard input, as svmlight text or csv.
    kind : {"svmlight", "npz", "npy", "csv", "parquet"}, default=None
        What the file is; None goes by its name, and takes unknown endings for svmlight text.
    labels : str or Path, default=None
        A file of labels: .npy, or text with one a line. None takes those in the file itself.
    label_column : str, default=None
        Column of csv and Parquet files that holds the labels; None: the one called "label".
    ignore : list of str, default=()
        Columns of csv and Parquet files to leave out, such as names of samples.
    names : str or Path, default=None
        A text file with the name of each column, one a line.
    index_base : {0, 1}, default=None
        Index of the first column in svmlight text. None: that of the ``layout``, else 0 if any index is 0, else 1.
    layout : Layout, default=None
        What the columns must be, if a model waits for them.
    n_jobs : int, default=None
        Threads that parse text.

    Returns
    -------
    Table
        ``X``, ``y``, ``names`` and how the file was read.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from thresher.io import read
    >>> file = pathlib.Path(tempfile.mkdtemp()) / "three.svm"
    >>> _ = file.write_text("+1 1:0.5 7:2\n-1 3:1  # a remark\n+1 7:4\n")
    >>> table = read(file)
    >>> table.X.shape, table.y, table.index_base
    ((3, 7), array([ 1, -1,  1]), 1)
    """
    kind = kind_of(path) if kind is None else kind
    if kind not in KINDS.values():
        raise ValueError(f"kind must be one of {sorted(set(KINDS.values()))}, got {kind!r}")
    _check_file(path, kind)
    with Workers(count_workers(n_jobs)) as workers:
        if kind == "svmlight":
            table = read_svmlight(path, index_base=index_base, layout=layout, workers=workers)
        elif kind == "csv":
            table = read_csv(path, label_column=label_column, ignore=ignore, layout=layout, workers=workers)
        elif kind == "parquet":
            table = read_parquet(path, label_column=label_column, ignore=ignore, layout=layout)
        else:
            table = (read_matrix_npz if kind == "npz" else read_matrix_npy)(path)
    if not table.X.shape[0]:
        raise InvalidDataError(f"{shown(path)}: there is no row in it")
    table = _completed(table, path, labels, names)
    if layout is not None and not layout.open_ended and table.X.shape[1] != layout.n_features:
        raise InvalidDataError(
            f"{shown(path)}: {table.X.shape[1]} columns, but the model was fitted to {layout.n_features}"
        )
    return table


def _completed(table, path, labels, names):
    """The table with labels and names out of files of their own."""
    if labels is not None:
        table = replace(table, y=read_labels(labels))
    rows, columns = table.X.shape
    if table.y is not None and table.y.size != rows:
        raise InvalidDataError(f"{shown(labels or path)}: {table.y.size} labels, but X has {rows} rows")
    if names is not None:
        found = tuple(lines_of(names))
        if len(set(found)) < len(found):
            raise InvalidDataError(f"{names}: a name stands there more than once")
        if len(found) != columns:
            raise InvalidDataError(f"{names}: {len(found)} names, but X has {columns} columns")
        table = replace(table, names=found)
    return table


def kind_of(path):
    """The kind of a file by its name."""
    parts = Path(str(path)).name.lower().split(".")
    if parts[-1] in PACKED and len(parts) > 1:
        parts = parts[:-1]
    return KINDS.get(parts[-1], "svmlight")


def _check_file(path, kind):
    """Refuse what is no file, in one line."""
    if str(path) == "-":
        if kind not in ("svmlight", "csv"):
            raise ValueError(f"standard input can be svmlight text or csv, not {kind}")
        return
    if os.path.isdir(path):
        raise InvalidDataError(f"{path}: is a folder; a file is needed")
    if not os.path.exists(path):
        raise FileNotFoundError(f"{path}: there is no such file")


def read_labels(path):
    """Labels in a file of their own: an .npy vector, or text with one a line."""
    _check_file(path, "csv")
    if str(path).endswith(".npy"):
        return labels_of(path, np.asarray(read_npy(path)))
    return tidy_labels(np.array(lines_of(path), dtype=str))


def lines_of(path):
    """The lines of a text file without blanks at their ends; empty ones at the end of the file do not count."""
    _check_file(path, "csv")
    try:
        lines = Path(path).read_text(encoding="utf-8-sig").splitlines()
    except UnicodeDecodeError:
        raise InvalidDataError(f"{path}: is not text in UTF-8") from None
    lines = [line.strip() for line in lines]
    while lines and not lines[-1]:
        del lines[-1]
    return lines


__all__ = ["Layout", "kind_of", "read", "read_labels"]
