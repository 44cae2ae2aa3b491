"""Matrices in the file formats of numpy and scipy."""

from scipy import sparse

from thresher.errors import InvalidDataError
from thresher.io.npz import read_npy, read_npz
from thresher.io.table import Table, tidy_bags, tidy_labels

MATRIX_FORMATS = {"csr": sparse.csr_array, "csc": sparse.csc_array}


def read_matrix_npz(path, bag_column=None):
    """A sparse matrix of scipy, or an array named X; labels if there is a y, and bags as the array ``bag_column``."""
    arrays = read_npz(path)
    y, bags = arrays.pop("y", None), None
    if bag_column is not None:
        bags = _bags(path, arrays, bag_column)
    if {"format", "shape", "data"} <= set(arrays):
        X = _sparse(path, arrays)
    elif "X" in arrays:
        X = _matrix(path, arrays["X"])
    else:
        names = ", ".join(sorted(arrays)) or "none"
        raise InvalidDataError(f"{path}: expected a sparse matrix of scipy or an array named X; arrays: {names}")
    return Table(X, None if y is None else labels_in(path, y), None, "npz", bags=bags)


def _bags(path, arrays, name):
    """The array ``name``, with the bag of each row."""
    if name not in arrays or name in ("data", "indices", "indptr", "X", "format", "shape"):
        names = ", ".join(sorted(arrays)) or "none"
        raise InvalidDataError(f"{path}: no array of bags named {name!r} (--bag-column); arrays: {names}")
    return tidy_bags(_vector(path, arrays.pop(name), f"{name} must be a 1D array with the bag of each row"))


def read_matrix_npy(path):
    """A memory-mapped array: pages are read as they are needed."""
    return Table(_matrix(path, read_npy(path)), None, None, "npy")


def labels_in(path, y):
    """Labels from a 1D array."""
    return tidy_labels(_vector(path, y, "labels must be a 1D array of numbers or strings"))


def _vector(path, values, expected):
    if values.ndim != 1 or values.dtype.kind not in "biufSU":
        raise InvalidDataError(f"{path}: {expected}, got {values.dtype} of shape {values.shape}")
    return values.astype(str) if values.dtype.kind == "S" else values


def _matrix(path, X):
    if X.ndim != 2 or X.dtype.kind not in "biuf":
        raise InvalidDataError(f"{path}: X must be a 2D array of numbers, got {X.dtype} of shape {X.shape}")
    return X


def _sparse(path, arrays):
    """A sparse matrix as scipy wrote it; its structure is validated by the estimators."""
    form = arrays["format"].item() if arrays["format"].size == 1 else None
    form = form.decode("ascii", errors="replace") if isinstance(form, bytes) else form
    shape = tuple(int(size) for size in arrays["shape"].ravel().tolist()) if arrays["shape"].dtype.kind in "iu" else ()
    if len(shape) != 2 or arrays["data"].dtype.kind not in "biuf":
        raise InvalidDataError(f"{path}: not a sparse matrix of numbers")
    try:
        if form in MATRIX_FORMATS:
            return MATRIX_FORMATS[form]((arrays["data"], arrays["indices"], arrays["indptr"]), shape=shape)
        if form == "coo":
            return sparse.coo_array((arrays["data"], (arrays["row"], arrays["col"])), shape=shape).tocsr()
    except (KeyError, ValueError, TypeError, IndexError, OverflowError) as error:
        raise InvalidDataError(f"{path}: invalid sparse matrix: {error}") from None
    raise InvalidDataError(
        f"{path}: sparse matrices must be in csr, csc or coo format, got {form!r}; convert with tocsr()"
    )
