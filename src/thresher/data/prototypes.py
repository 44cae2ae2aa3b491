"""The training instances that models use, with all that is needed to compare new bags with them."""

from dataclasses import dataclass
from typing import Any

import numpy as np


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
    """

    rows: np.ndarray
    values: Any
    sigma: float
    factor: np.ndarray | None
    n_rows: int
    n_candidates: int

    def take(self, ids: np.ndarray) -> Any:
        """The rows ``ids`` of the training data."""
        return self.values[np.searchsorted(self.rows, ids)]
