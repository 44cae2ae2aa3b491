"""Input validation: every matrix is checked here, once, before any compiled loop reads it."""

from collections.abc import Callable
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
    """Whether all values of an array or a sparse matrix are finite; their sum, which takes no memory, mostly tells."""
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
