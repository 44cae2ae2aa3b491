"""Input validation: every matrix is checked here, once, before any compiled loop reads it.

What cannot become a matrix of numbers is named before anything is converted. Data frames are recognised by their
attributes, so that no library of data frames is imported.
"""

import numbers
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse

from thresher.data.blocks.base import Block
from thresher.data.blocks.compressed import CscBlock, CsrBlock
from thresher.data.blocks.dense import DenseBlock
from thresher.data.designs.base import Design
from thresher.data.designs.memory import REORDER_LIMIT, MemoryDesign
from thresher.data.scan.reducers import distinct
from thresher.data.workers import SERIAL, Workers
from thresher.errors import InvalidDataError, InvalidDataTypeError
from thresher.loops.moments import NOT_FINITE

MOST_ROWS = 2**48
LOOK_COST = 4  # looking at an index takes as long as this many products of dense entries
LOOKED_AT = 1 << 16  # indices that are looked at together
FLOATS = (np.dtype(np.float64), np.dtype(np.float32))
EXPECTED = "expected a 2D array, a sparse matrix, a data frame, a Design or a list of rows"
ARRAY_PROTOCOLS = ("__array__", "__array_interface__", "__array_namespace__", "__dataframe__", "__arrow_c_stream__")
# Types of columns by how their names begin in pandas, polars and pyarrow; all others are looked at.
NUMERIC = re.compile(r"u?int|float|double|half|bool|decimal|complex|sparse", re.IGNORECASE)
DATE = re.compile(r"date|time|duration|period", re.IGNORECASE)
ENCODE = "Encode it as numbers (scikit-learn's OneHotEncoder or OrdinalEncoder), or drop it"
CONVERT = "Convert it to a number (for example days since a date), or drop it"
MOST_NAMED = 5  # columns named in one message


def check_given(X: Any) -> None:
    """Raise an error that says what X is and what to pass instead, unless it can be a matrix of numbers.

    Values are looked at only in columns of data frames that are not numeric by their type.
    """
    if isinstance(X, (Design, np.ndarray)) or sparse.issparse(X):
        return
    if not hasattr(X, "shape") and hasattr(X, "collect"):
        raise InvalidDataTypeError("X is a lazy data frame: call its collect() first")
    _check_annotated(X)
    columns = _frame_columns(X)
    if columns is not None:
        _check_column_names(columns[0])
        _check_types(X, *columns)
    elif not _can_be_array(X):
        raise InvalidDataTypeError(f"X is {_described(X)}; {EXPECTED}{_advice(X)}")


def _check_annotated(X: Any) -> None:
    """Raise if X is an AnnData, MuData or a matrix of one that is still in its file."""
    kinds = {kind.__name__ for kind in type(X).__mro__}
    parts = ("X", "obs", "var", "obs_names", "var_names")
    if "AnnData" in kinds or (not hasattr(X, "columns") and all(hasattr(X, name) for name in parts)):
        backed = bool(getattr(X, "isbacked", False))
        load = "it is backed by a file, so load it first: adata = adata.to_memory(). Then pass" if backed else "pass"
        raise InvalidDataTypeError(
            f"X is {_described(X)}; {load} its matrix adata.X as X and a column of adata.obs as y: "
            'fit(adata.X, adata.obs["cell_type"]). The names of the features are adata.var_names: '
            "get_feature_names_out(adata.var_names) returns those that were selected"
        )
    if "MuData" in kinds:
        raise InvalidDataTypeError(f"X is {_described(X)}; pass the matrix of one modality, mdata['rna'].X")
    if type(X).__module__.partition(".")[0] == "anndata" and hasattr(X, "to_memory"):
        raise InvalidDataTypeError(f"X is {_described(X)}, a matrix that is still in its file: pass X.to_memory()")


def _described(X: Any) -> str:
    if X is None:
        return "None"
    if isinstance(X, str):
        return f"the string {X[:60]!r}"
    module, name = type(X).__module__, type(X).__qualname__
    return f"an object of type {name}" if module == "builtins" else f"an object of type {module}.{name}"


def _advice(X: Any) -> str:
    """What to do about an object of a wrong type, if known."""
    if isinstance(X, str):
        return ". To read a file, use thresher.io.read(path), which returns X, y and names"
    if isinstance(X, Mapping):
        return ". Pass one of its arrays, or of columns by name a data frame: pandas.DataFrame(X)"
    if isinstance(X, Iterator):
        return ". Pass list(X)"
    return ""


def _can_be_array(X: Any) -> bool:
    """Whether numpy makes more of X than an object; numbers are left to scikit-learn's check of dimensions."""
    if isinstance(X, (str, bytes, bytearray, Mapping)) or X is None:
        return False
    sequence = isinstance(X, Sequence) or (hasattr(X, "__len__") and hasattr(X, "__getitem__"))
    return sequence or isinstance(X, (numbers.Number, np.generic)) or any(hasattr(X, name) for name in ARRAY_PROTOCOLS)


def _frame_columns(X: Any) -> tuple[Any, list] | None:
    """(names, types) of the columns of a data frame of pandas, polars or pyarrow, or None."""
    if hasattr(X, "column_names") and hasattr(X, "schema"):
        return list(X.column_names), list(X.schema.types)
    if hasattr(X, "columns") and hasattr(X, "dtypes"):
        return X.columns, list(X.dtypes)
    return None


def column_names(X: Any) -> list | None:
    """Names of the columns of a data frame, which must differ; None for any other X."""
    columns = _frame_columns(X)
    if columns is None:
        return None
    _check_column_names(columns[0])
    return list(columns[0])


def _check_column_names(names: Any) -> None:
    unique = names.is_unique if hasattr(names, "is_unique") else len(set(names)) == len(names)
    if not unique:
        repeated = [f"{name!r} ({count} times)" for name, count in Counter(names).items() if count > 1]
        more = f" and {len(repeated) - MOST_NAMED} more" if len(repeated) > MOST_NAMED else ""
        raise InvalidDataError(
            f"duplicate column names in X: {', '.join(repeated[:MOST_NAMED])}{more}; rename or drop the duplicates"
        )


def _check_types(X: Any, names: Any, types: list) -> None:
    """Raise if a column holds dates or text, naming the first such column and counting the others."""
    # types cannot all be compared with each other, but hashed
    kinds = {kind: str(kind) for kind in dict.fromkeys(types)}
    odd = {kind for kind, name in kinds.items() if not NUMERIC.match(name)}
    if not odd:
        return
    suspects = [j for j, kind in enumerate(types) if kind in odd]
    found = [(j, problem) for j in suspects if (problem := _column_problem(_frame_column(X, j), kinds[types[j]]))]
    if found:
        labels = list(names)
        first, (what, advice) = found[0]
        others = [repr(labels[j]) for j, _ in found[1:]]
        shown = ", ".join(others[:MOST_NAMED]) + (" and more" if len(others) > MOST_NAMED else "")
        more = f" {len(others)} more columns of X are not numeric: {shown}." if others else ""
        raise InvalidDataError(f"column {labels[first]!r} of X {what}; all columns must be numeric. {advice}.{more}")


def _frame_column(X: Any, j: int) -> Any:
    """Column ``j`` of a data frame of pandas, polars or pyarrow."""
    if hasattr(X, "iloc"):
        return X.iloc[:, j]
    return X.to_series(j) if hasattr(X, "to_series") else X.column(j)


def _column_problem(column: Any, kind: str) -> tuple[str, str] | None:
    """(what is wrong with a column, what to do about it), or None if its values are numbers."""
    if DATE.match(kind):
        return f"contains dates or times (its type is {kind})", CONVERT
    values = np.asarray(column, dtype=object).ravel()
    try:
        values.astype(np.float64)
    except (TypeError, ValueError):
        pass
    else:
        return None
    row, value = next((i, value) for i, value in enumerate(values) if not _is_numeric(value))
    if hasattr(value, "isoformat") or hasattr(value, "total_seconds"):
        return f"contains dates or times ({value!r} in row {row})", CONVERT
    if isinstance(value, (str, bytes)):
        text = value if len(value) <= 40 else value[:37]
        what = "is categorical" if re.match("categor|enum|dictionary", kind, re.IGNORECASE) else "contains text"
        return f"{what} ({text!r} in row {row})", ENCODE
    kind_of_value = type(value).__name__
    return f"contains an object of type {kind_of_value} in row {row}", "Convert it to numbers, or drop it"


def _is_numeric(value: Any) -> bool:
    """Whether a value of an object column becomes a number; None becomes NaN."""
    try:
        float(np.nan if value is None else value)
    except (TypeError, ValueError):
        return False
    return True


def checked_sparse(X: Any, workers: Workers = SERIAL) -> Any:
    """A sparse X as CSR or CSC with a valid structure.

    CSR and CSC are returned as they are, not copied, if the indices of each row (column) are sorted without duplicates;
    else a sorted copy is made in which duplicates are summed, as scipy does. Other formats are converted.
    """
    if X.ndim != 2:
        raise InvalidDataError(f"X must have two dimensions, got {X.ndim}")
    if X.shape[0] > MOST_ROWS:
        raise InvalidDataError(f"X has {X.shape[0]} rows; at most {MOST_ROWS} are supported")
    if X.format in ("coo", "bsr"):  # scipy converts these without checking their indices
        _check_convertible(X)
    if X.format not in ("csr", "csc"):
        X = X.tocsr()
    by_rows = X.format == "csr"
    major, width = X.shape if by_rows else X.shape[::-1]
    _check_arrays(X, major)
    bad, canonical = _inspected(X, width, workers)
    if bad >= 0:
        axis = "column" if by_rows else "row"
        raise InvalidDataError(
            f"X.indices[{bad}] is {int(X.indices[bad])}, but {axis} indices must be between 0 and {width - 1}: "
            "the sparse matrix is corrupt; rebuild it, for example from COO triplets"
        )
    if not canonical:
        X = X.copy()
        X.sum_duplicates()
    return X


def _inspected(X: Any, width: int, workers: Workers) -> tuple[int, bool]:
    """(position of an index outside 0..width-1 or -1, are all lines sorted and unique), on threads."""
    work, size = LOOK_COST * X.indices.size, X.indices.size
    found = workers.map(
        lambda first, last: _looked_at(X.indptr, X.indices, width, first, last),
        workers.cut(size, threads=workers.share(work), grain=LOOKED_AT),
        entries=work,
    )
    return next((bad for bad, _ in found if bad >= 0), -1), all(canonical for _, canonical in found)


def _looked_at(indptr: np.ndarray, indices: np.ndarray, width: int, first: int, last: int) -> tuple[int, bool]:
    """As ``_inspected``, of the entries first <= t < last; a cache holds those looked at together."""
    canonical = True
    for lo in range(first, last, LOOKED_AT):
        hi = min(lo + LOOKED_AT, last)
        part = indices[lo:hi]
        if part.min() < 0 or part.max() >= width:
            return lo + int(np.flatnonzero((part < 0) | (part >= width))[0]), False
        begin = max(lo, 1)
        falls = indices[begin:hi] <= indices[begin - 1 : hi - 1]
        first_line, last_line = np.searchsorted(indptr, np.array([begin, hi], dtype=indptr.dtype))
        falls[indptr[first_line:last_line] - begin] = False  # where a line begins
        canonical = canonical and not falls.any()
    return -1, canonical


def _check_arrays(X: Any, major: int) -> None:
    for name in ("indptr", "indices"):
        array = getattr(X, name)
        if array.ndim != 1 or array.dtype not in (np.int32, np.int64):
            raise InvalidDataTypeError(
                f"X.{name} must be a 1-D array of int32 or int64 in native byte order, got {array.dtype} and "
                f"shape {array.shape}"
            )
    if X.data.ndim != 1 or X.data.size != X.indices.size:
        raise InvalidDataError(
            f"X.data has shape {X.data.shape} and X.indices {X.indices.shape}; they must have the same length"
        )
    if X.indptr.size != major + 1:
        raise InvalidDataError(f"X.indptr has {X.indptr.size} entries, expected {major + 1} for shape {X.shape}")
    if X.indptr[0] != 0:
        raise InvalidDataError(f"X.indptr must start with 0, got {int(X.indptr[0])}")
    falls = np.flatnonzero(X.indptr[1:] < X.indptr[:-1])
    if falls.size:
        raise InvalidDataError(f"X.indptr must not decrease, but does so at position {int(falls[0]) + 1}")
    if X.indptr[-1] != X.data.size:
        raise InvalidDataError(
            f"X.indptr ends with {int(X.indptr[-1])}, but X has {X.data.size} stored values: X is corrupt"
        )


def _check_convertible(X: Any) -> None:
    if X.format == "bsr":
        if X.indptr.dtype.kind not in "iu":
            raise InvalidDataTypeError(f"X.indptr must be an integer array, got dtype {X.indptr.dtype}")
        rows, columns = X.shape[0] // X.blocksize[0], X.shape[1] // X.blocksize[1]
        if X.indptr.size != rows + 1 or X.indptr[0] != 0 or np.any(np.diff(X.indptr) < 0):
            raise InvalidDataError(
                f"X.indptr of a BSR matrix must start with 0, not decrease and have {rows + 1} entries"
            )
        if not X.indptr[-1] == X.indices.size == X.data.shape[0]:
            raise InvalidDataError("X.indptr, X.indices and X.data of a BSR matrix have inconsistent lengths")
        pairs = [(X.indices, columns, "block column")]
    else:
        if not X.row.size == X.col.size == X.data.size:
            raise InvalidDataError("X.row, X.col and X.data of a COO matrix must have the same length")
        pairs = [(X.row, X.shape[0], "row"), (X.col, X.shape[1], "column")]
    for indices, bound, what in pairs:
        if indices.dtype.kind not in "iu":
            raise InvalidDataTypeError(f"{what} indices of X must be integers, got dtype {indices.dtype}")
        if indices.size and (indices.min() < 0 or indices.max() >= bound):
            raise InvalidDataError(
                f"{what} indices of X must be between 0 and {bound - 1}, "
                f"got values from {int(indices.min())} to {int(indices.max())}"
            )


def as_design(X: Any, workers: Workers = SERIAL, keep: ArrayLike = (), to_csc: bool = False) -> Design:
    """X, checked by ``checked_sparse`` or a dense float array, as a design in memory; a Design as it is.

    Nothing of size n x p is copied, with these exceptions. A dense array in neither C nor Fortran order is copied. A
    CSR matrix with at least four times as many columns as stored entries gets new, consecutive column ids (a copy of
    its indices): then nothing of size p is allocated, at any p. ``keep`` lists columns that are kept even if they
    contain only zeros. With ``to_csc`` a CSR matrix of at most REORDER_LIMIT bytes is converted to CSC, which pays off
    after a few scans.
    """
    if isinstance(X, Design):
        return X
    if X.dtype not in FLOATS:
        raise InvalidDataTypeError(f"X must be float32 or float64, got {X.dtype}")
    if sparse.issparse(X):
        ids, n_columns = None, X.shape[1]
        if X.format == "csr" and X.shape[1] > 4 * (X.data.size + 1024):
            ids = distinct(np.concatenate([X.indices, np.asarray(keep, dtype=X.indices.dtype)])).astype(np.int64)
            indices = np.searchsorted(ids, X.indices).astype(np.int32 if ids.size < 2**31 else np.int64)
            X = sparse.csr_array((X.data, indices, X.indptr), shape=(X.shape[0], ids.size))
        kind = CsrBlock if X.format == "csr" else CscBlock
        block: Block = kind(X.shape, X.indptr, X.indices, X.data, workers)
        converted = to_csc and X.format == "csr" and X.data.nbytes + X.indices.nbytes <= REORDER_LIMIT
        if converted:
            block = block.reordered()
        return MemoryDesign(block, ids, copied=converted, n_columns=n_columns)
    if not (X.flags.c_contiguous or X.flags.f_contiguous):
        X = np.ascontiguousarray(X)
    return MemoryDesign(DenseBlock(X, workers))


def count_columns(X: Any) -> int:
    """Number of columns of X, an array, a sparse matrix, nested lists or a Design."""
    if isinstance(X, Design):
        return int(X.n_columns)
    return int((X.shape if hasattr(X, "shape") else np.shape(X))[-1])


def stored_entries(X: Any) -> int:
    """Number of stored values of an array, a sparse matrix or a design: what reading all of X costs."""
    return int(X.entries if isinstance(X, Design) else X.nnz if sparse.issparse(X) else X.size)


def check_finite(table: np.ndarray, design: Design, called: Callable[[int], str]) -> None:
    """Raise if the statistics of a design show a NaN or an infinity; ``called`` names a column of X."""
    bad = np.flatnonzero(table[NOT_FINITE])
    if bad.size:
        column = int(design.ids_in_X(bad[:1])[0])
        rows, _ = _not_finite(design.as_given(np.array([column])))
        found = _where(rows, called(column), bad.size, table.shape[1])
        raise InvalidDataError(f"{found} Impute or drop them before fitting.")


def check_columns(X: Any, called: Callable[[int], str]) -> None:
    """Raise if an array or a sparse matrix contains a NaN or an infinity; ``called`` names a column of it."""
    if all_finite(X):
        return
    rows, columns = _not_finite(X)
    bad = np.unique(columns)
    found = _where(rows[columns == bad[0]], called(int(bad[0])), bad.size, X.shape[1])
    raise InvalidDataError(f"{found} Impute or drop them.")


def all_finite(X: Any) -> bool:
    """Whether all values of an array or a sparse matrix are finite; their sum, which takes no memory, often decides."""
    values = X.data if sparse.issparse(X) else X
    if values.dtype.kind != "f":
        return True
    with np.errstate(over="ignore", invalid="ignore"):
        return bool(np.isfinite(values.sum(dtype=np.float64))) or bool(np.isfinite(values).all())


def _not_finite(X: Any) -> tuple[np.ndarray, ...]:
    """(rows, columns) of the entries of an array or a sparse matrix that are not finite."""
    if not sparse.issparse(X):
        return np.nonzero(~np.isfinite(X))
    X = X.tocoo()
    bad = ~np.isfinite(X.data)
    return X.row[bad], X.col[bad]


def _where(rows: np.ndarray, column: str, count: int, n_columns: int) -> str:
    """Where values are not finite: in these rows of the first such column."""
    count_here = f"{rows.size} such value{'' if rows.size == 1 else 's'}"
    place = f"{'' if rows.size == 1 else 'first '}in row {rows.min()}"
    return (
        f"Input X contains NaN or infinity, first in column {column}; {count} of {n_columns} columns are affected. "
        f"That column has {count_here}, {place}."
    )


def stored_block(columns: Any) -> CscBlock | DenseBlock:
    """Columns of X as given, an array or a sparse matrix, as a block."""
    if sparse.issparse(columns):
        columns = sparse.csc_array(columns)
        columns.sort_indices()
        return CscBlock(columns.shape, columns.indptr, columns.indices, columns.data)
    return DenseBlock(np.asfortranarray(columns))
