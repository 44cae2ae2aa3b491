"""The training instances that models use, with all that is needed to compare new bags with them."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from thresher.data.input.validation import all_finite
from thresher.state import integer, need, need_floats, need_ids, register

MOST_ROWS = 2**48


@register
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
    n_bags : int, default=None
        Bags that they were in. None: not known, as many as rows.
    """

    rows: np.ndarray
    values: Any
    sigma: float
    factor: np.ndarray | None
    n_rows: int
    n_bags: int | None = None

    def take(self, ids: np.ndarray) -> Any:
        """The rows ``ids`` of the training data."""
        return self.values[np.searchsorted(self.rows, ids)]

    def take_dense(self, ids: np.ndarray) -> np.ndarray:
        """The same as an array, to be shown."""
        rows = self.take(ids)
        return rows.toarray() if sparse.issparse(rows) else rows

    def check(self, n_columns: int) -> None:
        """Raise Damaged unless the fields, which may be of any type, are those of rows of so many columns."""
        n_rows = integer(self.n_rows, "n_rows of the instances", 1, MOST_ROWS)
        rows = need_ids(self.rows, "rows of the instances", n_rows)
        need(type(self.sigma) is float and 0.0 < self.sigma < np.inf, "sigma of the instances must be positive")
        if self.n_bags is not None:
            integer(self.n_bags, "n_bags of the instances", 1, n_rows)
        if self.factor is not None:
            need_floats(self.factor, "factor of the instances", (n_columns,), least=0.0)
        values = self.values
        valid = isinstance(values, (np.ndarray, sparse.csr_array)) and values.dtype == np.float64
        need(valid and values.shape == (rows.size, n_columns), "values of the instances have another shape or type")
        need(all_finite(values), "values of the instances contain NaN or infinity")
