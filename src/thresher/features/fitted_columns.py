"""What new data needs of columns as features, or of features that are made of columns."""

from abc import abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from scipy import sparse

from thresher.data.blocks.base import Block
from thresher.data.blocks.native import scores, take_columns
from thresher.data.designs.base import Design
from thresher.data.input.validation import check_columns
from thresher.data.rows.entries import Entries, entries_of, hashed_matrix
from thresher.features.fitted import FittedFeatures, Label

MOST_MADE = 1 << 20  # entries of features that are made at a time


def columns_as_given(X: Any, ids: np.ndarray) -> Any:
    """The columns ``ids``, sorted, of X, in its storage format."""
    return X.as_given(ids) if isinstance(X, Design) else take_columns(X, ids)


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


class MadeFeatures(FittedFeatures):
    """Features that are made of columns of X, their inputs, as a block."""

    @abstractmethod
    def block(self, columns: Any, inputs: np.ndarray, ids: np.ndarray) -> tuple[Block, np.ndarray]:
        """A block that has features, made of their inputs.

        Parameters
        ----------
        columns : ndarray or sparse matrix of shape (n_samples, n_inputs)
            Columns of X, as ``check_inputs`` accepts them.
        inputs : ndarray of int64
            Their numbers.
        ids : ndarray of int64
            The features, sorted, whose inputs these are.

        Returns
        -------
        block : Block
            These features, perhaps among others.
        places : ndarray of int64
            Where it has each of them.
        """

    @property
    def n_inputs(self) -> int:
        """See FittedFeatures."""
        return self.n_columns

    def input_columns(self, X: Any, inputs: np.ndarray) -> Any:
        """See FittedFeatures."""
        return columns_as_given(X, inputs)

    def input_names(self, inputs: Sequence[int] | np.ndarray, label: Label) -> list[str]:
        """See FittedFeatures."""
        return [label(int(j)) for j in inputs]

    def check_inputs(self, columns: Any, shown_name: Callable[[int], str]) -> None:
        """Raise InvalidDataError for values that features cannot be computed from; ``shown_name`` names a column."""
        check_columns(columns, shown_name)

    def columns(self, X: Any, ids: np.ndarray) -> Any:
        """See FittedFeatures."""
        return self._made(*self._checked_inputs(X, ids), ids)

    def chunks(self, X: Any, ids: np.ndarray, size: int) -> Iterator[tuple[slice, Any]]:
        """See FittedFeatures; fewer rows where these would be large."""
        columns, inputs = self._checked_inputs(X, ids)
        columns = columns.tocsr() if sparse.issparse(columns) else columns
        step = max(1, min(size, 4 * MOST_MADE // max(1, ids.size)))
        for first in range(0, columns.shape[0], step):
            rows = slice(first, first + step)
            yield rows, self._made(columns[rows], inputs, ids)

    def scores(self, X: Any, ids: np.ndarray, weights: np.ndarray, intercept: float | np.ndarray) -> np.ndarray:
        """See FittedFeatures; arrays some rows at a time."""
        columns, inputs = self._checked_inputs(X, ids)
        n_rows = columns.shape[0]
        step = n_rows if sparse.issparse(columns) else max(1, MOST_MADE // max(1, ids.size))
        out = np.empty((n_rows, *weights.shape[1:]))
        for first in range(0, n_rows, max(1, step)):
            rows = slice(first, first + step)
            block, places = self.block(columns if step >= n_rows else columns[rows], inputs, ids)
            W = np.zeros((block.shape[1], *weights.shape[1:]))
            W[places] = weights
            out[rows] = block.combine(W)
        return out + intercept

    def _checked_inputs(self, X: Any, ids: np.ndarray) -> tuple[Any, np.ndarray]:
        """(columns of X that the features ``ids`` are made of, their numbers)."""
        inputs = self.inputs(ids)
        columns = self.input_columns(X, inputs)
        self.check_inputs(columns, lambda place: self.shown_name(int(inputs[place])))
        return columns, inputs

    def _made(self, columns: Any, inputs: np.ndarray, ids: np.ndarray) -> Any:
        """The features, in the storage format of their inputs."""
        block, places = self.block(columns, inputs, ids)
        made = block.take(places)
        return sparse.csr_array(made.native()) if sparse.issparse(columns) else made.toarray()
