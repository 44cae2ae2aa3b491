"""Feature spaces: what the number of a feature means.

A model knows its features by ids. What an id stands for in new data, what it is called and which data fits is asked
here: columns of X, columns known by their numbers alone, hashed columns; products of columns, expansions and training
instances are further values of the same kind.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse

from thresher.data.columns import put_columns, scores, take_columns
from thresher.data.design import Design
from thresher.data.door import as_design
from thresher.data.stream import Entries, entries_of, hashed_matrix
from thresher.data.workers import SERIAL, Workers
from thresher.errors import InvalidDataError

Label = Callable[[int], str]  # the name of a column of X


class Space(ABC):
    """What features are made of. ``n_columns`` is the number of columns of X.

    X is a checked array, CSR or CSC matrix, or a Design. ``strict``: X must have these very columns; else columns are
    known by their numbers alone, and X may have fewer or more.
    """

    n_columns: int
    strict: bool = True
    named: bool = True  # whether names of columns tell the names of features

    @property
    @abstractmethod
    def width(self) -> int:
        """Number of features to choose from."""

    @abstractmethod
    def columns(self, X: Any, ids: np.ndarray) -> Any:
        """The features ``ids`` of X, sorted, in the storage of X."""

    @abstractmethod
    def scores(self, X: Any, ids: np.ndarray, weights: np.ndarray, intercept: float | np.ndarray) -> np.ndarray:
        """``columns(X, ids) @ weights + intercept`` in float64; (rows,), or (rows, classes) as the weights are."""

    @abstractmethod
    def names(self, ids: Sequence[int] | np.ndarray, label: Label) -> list[str]:
        """What the features ``ids`` are called where ``label`` names the columns of X."""

    def design(self, X: Any, workers: Workers = SERIAL, *, keep: ArrayLike = (), turn: bool = False) -> Design:
        """All features of X, to be scanned; see ``door.as_design``."""
        return X if isinstance(X, Design) else as_design(X, workers, keep=keep, turn=turn)

    def check(self, X: Any) -> None:
        """Raise InvalidDataError where the columns of X cannot be those of this space."""
        found = X.n_columns if isinstance(X, Design) else X.shape[1]
        if self.strict and found != self.n_columns:
            raise InvalidDataError(f"X has {found} features, but {self.n_columns} were seen in fit")

    def put_back(self, columns: Any, ids: np.ndarray) -> Any:
        """The inverse of ``columns``: a matrix as wide as the space, zero but for the features ``ids``."""
        return put_columns(columns, ids, self.width)


@dataclass(frozen=True)
class ColumnSpace(Space):
    """Every column of X is a feature."""

    n_columns: int

    @property
    def width(self) -> int:
        """See Space."""
        return self.n_columns

    def columns(self, X: Any, ids: np.ndarray) -> Any:
        """See Space."""
        return X.as_given(ids) if isinstance(X, Design) else take_columns(X, ids)

    def scores(self, X: Any, ids: np.ndarray, weights: np.ndarray, intercept: float | np.ndarray) -> np.ndarray:
        """See Space."""
        if isinstance(X, Design):
            block, known = X.take_as_given(ids)
            return block.combine(weights[known]) + intercept
        return scores(X, ids, weights, intercept)

    def entries(self, X: Any) -> Entries:
        """The rows of X, an array or a sparse matrix, as an online learner sees them."""
        return entries_of(X)

    def names(self, ids: Sequence[int] | np.ndarray, label: Label) -> list[str]:
        """See Space."""
        return [label(int(j)) for j in ids]


@dataclass(frozen=True)
class NumberedSpace(ColumnSpace):
    """Columns known by their numbers alone: X may be narrower or wider than what was seen; missing columns are zero."""

    strict = False

    def columns(self, X: Any, ids: np.ndarray) -> Any:
        """See Space."""
        found = take_columns(self._known(X), ids)
        return found if sparse.issparse(X) else found.toarray()

    def scores(self, X: Any, ids: np.ndarray, weights: np.ndarray, intercept: float | np.ndarray) -> np.ndarray:
        """See Space."""
        return scores(self._known(X), ids, weights, intercept)

    def _known(self, X: Any) -> sparse.csr_array:
        """X as a CSR matrix at least as wide as what was seen."""
        X = sparse.csr_array(X)
        return sparse.csr_array((X.data, X.indices, X.indptr), shape=(X.shape[0], max(X.shape[1], self.n_columns)))


@dataclass(frozen=True)
class HashedSpace(NumberedSpace):
    """Columns mapped to 2^bits features by a hash; values that meet are added up."""

    bits: int
    named = False

    @property
    def width(self) -> int:
        """See Space."""
        return 1 << self.bits

    def entries(self, X: Any) -> Entries:
        """See ColumnSpace."""
        return entries_of(X, self.bits)

    def _known(self, X: Any) -> sparse.csr_array:
        return hashed_matrix(sparse.csr_array(X), self.bits)

    def names(self, ids: Sequence[int] | np.ndarray, label: Label) -> list[str]:
        """See Space."""
        return [f"hash{int(j)}" for j in ids]
