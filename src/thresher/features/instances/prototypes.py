"""The training instances that models use, with all that is needed to compare new bags with them."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from thresher.data.input.validation import all_finite, checked_sparse
from thresher.errors import InvalidDataError


@dataclass(frozen=True, eq=False)
class Prototypes:
    """The training instances that a model and the models on its path may use, in the units of X.

    Distances do not depend on a shift of the columns, so none is kept.

    Parameters
    ----------
    rows : ndarray of int64
        Their row numbers in the training data, sorted.
    values : ndarray or csr_array of shape (n_prototypes, n_features)
        These rows.
    sigma : float
        Width of the similarity exp(-distance^2 / (2 sigma^2)).
    factor : ndarray of shape (n_features,) or None
        What columns are multiplied with before distances are measured; None: nothing.
    n_rows : int
        Rows of the training data.
    n_candidates : int
        How many of them there were to choose from.
    n_bags : int, default=None
        Bags that they were in. None: not known, as many as rows.
    """

    rows: np.ndarray
    values: Any
    sigma: float
    factor: np.ndarray | None
    n_rows: int
    n_candidates: int
    n_bags: int | None = None

    def take(self, ids: np.ndarray) -> Any:
        """The rows ``ids`` of the training data."""
        return self.values[np.searchsorted(self.rows, ids)]

    def take_dense(self, ids: np.ndarray) -> np.ndarray:
        """The same as an array, to be shown."""
        rows = self.take(ids)
        return rows.toarray() if sparse.issparse(rows) else rows


def checked_values(values: Any, shape: tuple[int, int]) -> Any:
    """Rows from an untrusted file as ``Prototypes`` has them; InvalidDataError if they cannot be that."""
    if sparse.issparse(values):
        values = sparse.csr_array(checked_sparse(values))
    elif not isinstance(values, np.ndarray):
        raise InvalidDataError("they must be an array or a sparse matrix")
    if values.shape != shape or values.dtype != np.float64:
        raise InvalidDataError(f"they are {values.dtype} of shape {values.shape}, expected float64 of shape {shape}")
    if not all_finite(values):
        raise InvalidDataError("they contain NaN or infinity")
    return values
