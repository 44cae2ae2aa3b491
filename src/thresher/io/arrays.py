"""Matrices in numpy's and scipy's own files."""

from scipy import sparse

from thresher.errors import InvalidDataError
from thresher.io.npz import read_npy, read_npz
from thresher.io.table import Table, tidy_labels

COMPRESSED = {"csr": sparse.csr_array, "csc": sparse.csc_array}
COMPRESSED_TYPES = {
    cls.__name__: cls for cls in (sparse.csr_array, sparse.csc_array, sparse.csr_matrix, sparse.csc_matrix)
}
PARTS = ("data", "indices", "indptr")


def read_matrix_npz(path):
    """Sparse matrices of scipy, or an array called X; labels where there is a y."""
    arrays = read_npz(path)
    y = arrays.pop("y", None)
    if {"format", "shape", "data"} <= set(arrays):
        X = _sparse(path, arrays)
    elif "X" in arrays:
        X = _matrix(path, arrays["X"])
    else:
        have = ", ".join(sorted(arrays)) or "none"
        raise InvalidDataError(f"{path}: neither a sparse matrix of scipy nor an array called X; arrays: {have}")
    return Table(X, None if y is None else labels_of(path, y), None, "npz")


def read_matrix_npy(path):
    """An array in a file of its own, which stays there: pages are read as they are needed."""
    return Table(_matrix(path, read_npy(path)), None, None, "npy")


def labels_of(path, y):
    """Labels out of an array of one dimension."""
    if y.ndim != 1 or y.dtype.kind not in "biufSU":
        raise InvalidDataError(f"{path}: labels must be a vector of numbers or words, got {y.dtype} of shape {y.shape}")
    return tidy_labels(y.astype(str) if y.dtype.kind == "S" else y)


def _matrix(path, X):
    if X.ndim != 2 or X.dtype.kind not in "biuf":
        raise InvalidDataError(f"{path}: X must be a matrix of numbers, got {X.dtype} of shape {X.shape}")
    return X


def _sparse(path, arrays):
    """A sparse matrix as scipy wrote it; what it says of itself is checked where X enters an estimator."""
    form = arrays["format"].item() if arrays["format"].size == 1 else None
    form = form.decode("ascii", errors="replace") if isinstance(form, bytes) else form
    shape = tuple(int(size) for size in arrays["shape"].ravel().tolist()) if arrays["shape"].dtype.kind in "iu" else ()
    if len(shape) != 2 or arrays["data"].dtype.kind not in "biuf":
        raise InvalidDataError(f"{path}: not a sparse matrix of numbers")
    try:
        if form in COMPRESSED:
            return COMPRESSED[form]((arrays["data"], arrays["indices"], arrays["indptr"]), shape=shape)
        if form == "coo":
            return sparse.coo_array((arrays["data"], (arrays["row"], arrays["col"])), shape=shape).tocsr()
    except (KeyError, ValueError, TypeError, IndexError, OverflowError) as error:
        raise InvalidDataError(f"{path}: a broken sparse matrix: {error}") from None
    raise InvalidDataError(
        f"{path}: sparse matrices are read as csr, csc or coo, not {form!r}; convert it with tocsr()"
    )


def compressed_parts(matrix):
    """(name of its type, its arrays by name) of a CSR or CSC matrix of scipy; None of anything else."""
    name = type(matrix).__name__
    if COMPRESSED_TYPES.get(name) is not type(matrix):
        return None
    return name, {part: getattr(matrix, part) for part in PARTS}


def compressed_of(name, shape, data, indices, indptr):
    """The matrix that ``compressed_parts`` was given; InvalidDataError where the parts do not make one."""
    if name not in COMPRESSED_TYPES:
        raise InvalidDataError(f"{name!r} is not a known type of sparse matrix")
    integers = all(part.ndim == 1 and part.dtype.kind in "iu" for part in (indices, indptr))
    if not integers or data.ndim != 1 or data.dtype.kind not in "biuf":
        raise InvalidDataError("not a sparse matrix of numbers")
    try:
        matrix = COMPRESSED_TYPES[name]((data, indices, indptr), shape=shape)
        matrix.check_format(full_check=True)
    except (ValueError, TypeError, IndexError, OverflowError) as error:
        raise InvalidDataError(f"a broken sparse matrix: {error}") from error
    return matrix
