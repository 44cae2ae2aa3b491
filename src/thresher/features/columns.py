"""Feature spaces: what the id of a feature means.

A model identifies its features by ids. A space defines what an id means in new data, its name, and which data is
valid: columns of X, columns identified by index alone, hashed columns, numbers made of columns by a kernel
(``expanded``), products of columns (``products``), similarities to training instances (``instances``).
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse

from thresher.data.blocks.native import put_columns, scores, take_columns
from thresher.data.designs.base import Design
from thresher.data.input.validation import as_design, count_columns
from thresher.data.rows.entries import Entries, entries_of, hashed_matrix
from thresher.data.workers import SERIAL, Workers
from thresher.errors import InvalidDataError

Label = Callable[[int], str]  # the name of a column of X


class Space(ABC):
    """The set of features. ``n_columns`` is the number of columns of X.

    X is a validated array, CSR or CSC matrix, or a Design. ``strict``: X must have exactly these columns; else columns
    are identified by index alone, and X may have fewer or more.
    """

    n_columns: int
    strict: bool = True
    named: bool = True  # whether column names determine the names of features
    copies: bool = True  # whether ``output`` are columns of X as they are

    @property
    @abstractmethod
    def width(self) -> int:
        """Number of features to choose from."""

    @abstractmethod
    def columns(self, X: Any, ids: np.ndarray) -> Any:
        """The features ``ids`` of X, sorted, in the storage format of X."""

    @abstractmethod
    def scores(self, X: Any, ids: np.ndarray, weights: np.ndarray, intercept: float | np.ndarray) -> np.ndarray:
        """``columns(X, ids) @ weights + intercept`` in float64; (rows,), or (rows, classes) like the weights."""

    @abstractmethod
    def names(self, ids: Sequence[int] | np.ndarray, label: Label) -> list[str]:
        """Names of the features ``ids``; ``label`` names the columns of X."""

    def called(self, j: int) -> str:
        """The input ``j`` in messages: its name in quotes if columns have names, else its number."""
        return str(j)

    def design(self, X: Any, workers: Workers = SERIAL, *, keep: ArrayLike = (), to_csc: bool = False) -> Design:
        """All features of X, to be scanned; see ``door.as_design``."""
        return X if isinstance(X, Design) else as_design(X, workers, keep=keep, to_csc=to_csc)

    def chunks(self, X: Any, ids: np.ndarray, size: int) -> Iterator[tuple[slice, Any]]:
        """(rows, ``columns`` of them in float64) for ``size`` rows at a time; a Design gives its columns as a whole."""
        whole = self.columns(X, ids) if isinstance(X, Design) else None
        for first in range(0, X.shape[0], size):
            rows = slice(first, first + size)
            part = self.columns(X[rows], ids) if whole is None else whole[rows]
            yield rows, part.astype(np.float64)

    @property
    def n_inputs(self) -> int:
        """How many inputs there are; those of ``inputs`` are below."""
        return self.width

    def inputs(self, ids: np.ndarray) -> np.ndarray:
        """What the features ``ids`` are made of, sorted: here themselves."""
        return ids

    def input_columns(self, X: Any, inputs: np.ndarray) -> Any:
        """The ``inputs`` in X, in its storage format."""
        return self.columns(X, inputs)

    def output(self, X: Any, ids: np.ndarray) -> Any:
        """What ``transform`` returns of the features ``ids``: their inputs."""
        return self.input_columns(X, self.inputs(ids))

    def output_names(self, ids: np.ndarray, label: Label) -> list[str]:
        """Names of the columns of ``output``."""
        return self.input_names(self.inputs(ids), label)

    def input_names(self, inputs: Sequence[int] | np.ndarray, label: Label) -> list[str]:
        """Names of ``inputs``; ``label`` names the columns of X."""
        return self.names(inputs, label)

    def check(self, X: Any) -> None:
        """Raise InvalidDataError if X does not have the number of columns of this space."""
        n_columns = count_columns(X)
        if self.strict and n_columns != self.n_columns:
            raise InvalidDataError(f"X has {n_columns} features, but the model was fitted with {self.n_columns}")

    def put_back(self, columns: Any, ids: np.ndarray) -> Any:
        """The inverse of ``input_columns``: a matrix with all inputs, zero except for ``ids``."""
        return put_columns(columns, ids, self.n_inputs)


@dataclass(frozen=True)
class ColumnSpace(Space):
    """Every column of X is a feature; ``column_names``, if known, are for messages."""

    n_columns: int
    column_names: Sequence[str] | np.ndarray | None = field(default=None, kw_only=True, compare=False, repr=False)

    def called(self, j: int) -> str:
        """See Space."""
        names = self.column_names
        return self.names([j], str if names is None else lambda column: repr(str(names[column])))[0]

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


class MadeSpace(Space):
    """Features that are made of columns of X, which are their inputs; ``column_names``, if known, are for messages."""

    column_names: Sequence[str] | np.ndarray | None

    @property
    def n_inputs(self) -> int:
        """See Space."""
        return self.n_columns

    @property
    def _given(self) -> ColumnSpace:
        return ColumnSpace(self.n_columns, column_names=self.column_names)

    def called(self, j: int) -> str:
        """See Space: the column ``j`` of X."""
        return self._given.called(j)

    def input_columns(self, X: Any, inputs: np.ndarray) -> Any:
        """See Space."""
        return self._given.columns(X, inputs)

    def input_names(self, inputs: Sequence[int] | np.ndarray, label: Label) -> list[str]:
        """See Space."""
        return self._given.names(inputs, label)

    def _inputs_of(self, X: Any, ids: np.ndarray) -> tuple[np.ndarray, Any]:
        """(inputs of the features ``ids``, these columns of X as given)."""
        inputs = self.inputs(ids)
        return inputs, X.as_given(inputs) if isinstance(X, Design) else take_columns(X, inputs)


@dataclass(frozen=True)
class NumberedSpace(ColumnSpace):
    """Columns identified by index alone: X may have fewer or more columns than in fit; missing columns are zero."""

    strict = False

    def columns(self, X: Any, ids: np.ndarray) -> Any:
        """See Space."""
        columns = take_columns(self._known(X), ids)
        return columns if sparse.issparse(X) else columns.toarray()

    def scores(self, X: Any, ids: np.ndarray, weights: np.ndarray, intercept: float | np.ndarray) -> np.ndarray:
        """See Space."""
        return scores(self._known(X), ids, weights, intercept)

    def _known(self, X: Any) -> sparse.csr_array:
        """X as a CSR matrix with at least as many columns as in fit."""
        X = sparse.csr_array(X)
        return sparse.csr_array((X.data, X.indices, X.indptr), shape=(X.shape[0], max(X.shape[1], self.n_columns)))


@dataclass(frozen=True)
class HashedSpace(NumberedSpace):
    """Columns hashed to 2^bits features; values that collide are summed."""

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
