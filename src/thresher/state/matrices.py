"""CSR and CSC matrices of scipy as their arrays, and back."""

from typing import Any

import numpy as np
from scipy import sparse

from thresher.errors import InvalidDataError

COMPRESSED_TYPES = {
    cls.__name__: cls for cls in (sparse.csr_array, sparse.csc_array, sparse.csr_matrix, sparse.csc_matrix)
}
PARTS = ("data", "indices", "indptr")


def compressed_parts(matrix: Any) -> tuple[str, dict[str, np.ndarray]] | None:
    """(name of its type, its arrays by name) of a CSR or CSC matrix of scipy; None for anything else."""
    name = type(matrix).__name__
    if COMPRESSED_TYPES.get(name) is not type(matrix):
        return None
    return name, {part: getattr(matrix, part) for part in PARTS}


def compressed_of(
    name: str, shape: tuple[int, int], data: np.ndarray, indices: np.ndarray, indptr: np.ndarray
) -> Any:
    """The matrix that ``compressed_parts`` was given; InvalidDataError if the parts are not a valid matrix."""
    if name not in COMPRESSED_TYPES:
        raise InvalidDataError(f"unknown type of sparse matrix: {name!r}")
    integers = all(part.ndim == 1 and part.dtype.kind in "iu" for part in (indices, indptr))
    if not integers or data.ndim != 1 or data.dtype.kind not in "biuf":
        raise InvalidDataError("not a sparse matrix of numbers")
    try:
        matrix = COMPRESSED_TYPES[name]((data, indices, indptr), shape=shape)
        matrix.check_format(full_check=True)
    except (ValueError, TypeError, IndexError, OverflowError) as error:
        raise InvalidDataError(f"invalid sparse matrix: {error}") from error
    return matrix
