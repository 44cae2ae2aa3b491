"""What new data needs of columns as features: each by itself, identified by number alone, or hashed."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from scipy import sparse

from thresher.data.blocks.native import scores, take_columns
from thresher.data.designs.base import Design
from thresher.data.rows.entries import Entries, entries_of, hashed_matrix
from thresher.features.fitted import FittedFeatures, Label, columns_as_given


@dataclass(frozen=True, eq=False)
class ColumnFeatures(FittedFeatures, kind="columns"):
    """Every column of X is a feature."""

    @property
    def width(self) -> int:
        """See FittedFeatures."""
        return self.n_columns

    def columns(self, X: Any, ids: np.ndarray) -> Any:
        """See FittedFeatures."""
        return columns_as_given(X, ids)

    def scores(self, X: Any, ids: np.ndarray, weights: np.ndarray, intercept: float | np.ndarray) -> np.ndarray:
        """See FittedFeatures."""
        if isinstance(X, Design):
            block, known = X.take_as_given(ids)
            return block.combine(weights[known]) + intercept
        return scores(X, ids, weights, intercept)

    def entries(self, X: Any) -> Entries:
        """The rows of X, an array or a sparse matrix, as an online learner sees them."""
        return entries_of(X)

    def names(self, ids: Sequence[int] | np.ndarray, label: Label) -> list[str]:
        """See FittedFeatures."""
        return [label(int(j)) for j in ids]


@dataclass(frozen=True, eq=False)
class NumberedFeatures(ColumnFeatures):
    """Columns identified by number alone: X may have fewer or more columns than in fit; missing columns are zero."""

    strict: ClassVar[bool] = False

    @property
    def n_listed(self) -> int | None:
        """See FittedFeatures: there may be more."""
        return None

    def columns(self, X: Any, ids: np.ndarray) -> Any:
        """See FittedFeatures."""
        columns = take_columns(self._known(X), ids)
        return columns if sparse.issparse(X) else columns.toarray()

    def scores(self, X: Any, ids: np.ndarray, weights: np.ndarray, intercept: float | np.ndarray) -> np.ndarray:
        """See FittedFeatures."""
        return scores(self._known(X), ids, weights, intercept)

    def _known(self, X: Any) -> sparse.csr_array:
        """X as a CSR matrix with at least as many columns as in fit."""
        X = sparse.csr_array(X)
        return sparse.csr_array((X.data, X.indices, X.indptr), shape=(X.shape[0], max(X.shape[1], self.n_columns)))


@dataclass(frozen=True, eq=False)
class HashedFeatures(NumberedFeatures):
    """Columns hashed to 2^bits features; values that collide are summed."""

    bits: int
    named: ClassVar[bool] = False

    def shown_name(self, j: int) -> str:
        """See FittedFeatures: an input is a feature."""
        return f"hash{j}"

    @property
    def n_listed(self) -> int | None:
        """See FittedFeatures."""
        return self.n_columns

    @property
    def width(self) -> int:
        """See FittedFeatures."""
        return 1 << self.bits

    def entries(self, X: Any) -> Entries:
        """See ColumnFeatures."""
        return entries_of(X, self.bits)

    def _known(self, X: Any) -> sparse.csr_array:
        return hashed_matrix(sparse.csr_array(X), self.bits)

    def names(self, ids: Sequence[int] | np.ndarray, label: Label) -> list[str]:
        """See FittedFeatures."""
        return [self.shown_name(int(j)) for j in ids]
