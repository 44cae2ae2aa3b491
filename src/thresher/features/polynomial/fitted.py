"""What new data needs of products of columns."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy import sparse

from thresher.data.blocks.base import Block
from thresher.data.blocks.scaled import Scaling
from thresher.data.input.validation import check_columns, stored_block
from thresher.data.scan.reducers import distinct
from thresher.features.fitted import Label, MadeFeatures
from thresher.features.polynomial.design import MOST_ENTRIES, product_block
from thresher.features.polynomial.numbers import MOST_INPUTS, n_numbers, pairs_of
from thresher.state import need, need_floats, need_ids


@dataclass(frozen=True, eq=False)
class ProductFeatures(MadeFeatures, kind="products"):
    """Linear terms, squares and products of columns x as (x - shift) * factor, without the factors of the kernel.

    Parameters
    ----------
    known : ndarray of int64
        The columns of all features on the path, sorted.
    shift : ndarray of float64
        What is subtracted from each.
    factor : ndarray of float64
        What each is then multiplied by.
    """

    known: np.ndarray = field(repr=False)
    shift: np.ndarray = field(repr=False)
    factor: np.ndarray = field(repr=False)

    def check_parts(self) -> None:
        """See FittedFeatures."""
        need(self.n_columns <= MOST_INPUTS, "there are too many columns for products")
        known = need_ids(self.known, "columns of the products", self.n_columns)
        need_floats(self.shift, "shift of the products", known.shape)
        need_floats(self.factor, "factor of the products", known.shape, least=0.0)

    def covers(self, ids: np.ndarray) -> bool:
        """See FittedFeatures: the constant is no feature."""
        return bool((ids > 0).all() and np.isin(self.inputs(ids), self.known).all())

    @property
    def candidate(self) -> str:
        """See FittedFeatures."""
        return "term"

    @property
    def copies(self) -> bool:
        """See FittedFeatures."""
        return False

    def pairs_of(self, ids: np.ndarray) -> np.ndarray:
        """See FittedFeatures."""
        return pairs_of(ids)

    @property
    def width(self) -> int:
        """See FittedFeatures; the constant has a number, too."""
        return n_numbers(self.n_columns)

    def inputs(self, ids: np.ndarray) -> np.ndarray:
        """See FittedFeatures."""
        pairs = pairs_of(ids)
        return distinct(pairs[pairs >= 0])

    def names(self, ids: Sequence[int] | np.ndarray, label: Label) -> list[str]:
        """See FittedFeatures: "a*b", "a^2" or "a"."""
        pairs = pairs_of(np.asarray(ids, dtype=np.int64)).tolist()
        return [label(i) if j < 0 else f"{label(i)}^2" if i == j else f"{label(i)}*{label(j)}" for i, j in pairs]

    def output(self, X: Any, ids: np.ndarray) -> Any:
        """See FittedFeatures: the products themselves, in the precision of X."""
        columns = self.columns(X, ids)
        return columns.astype(np.float32) if X.dtype == np.float32 else columns

    def output_names(self, ids: np.ndarray, label: Label) -> list[str]:
        """See FittedFeatures."""
        return self.names(ids, label)

    def put_back(self, columns: Any, ids: np.ndarray) -> Any:
        """See FittedFeatures: there is no way back."""
        raise ValueError(
            "inverse_transform is not possible: products do not tell the columns that they are made of; "
            "get_support(indices=True) gives these columns"
        )

    def columns(self, X: Any, ids: np.ndarray) -> Any:
        """See FittedFeatures."""
        inputs, columns = self._inputs_of(X, ids)
        block = self._block(columns, inputs, ids)
        return sparse.csr_array(block.native()) if sparse.issparse(columns) else block.toarray()

    def scores(self, X: Any, ids: np.ndarray, weights: np.ndarray, intercept: float | np.ndarray) -> np.ndarray:
        """See FittedFeatures; arrays some rows at a time."""
        inputs, columns = self._inputs_of(X, ids)
        n_rows = columns.shape[0]
        step = n_rows if sparse.issparse(columns) else max(1, MOST_ENTRIES // max(1, ids.size))
        out = np.empty((n_rows, *weights.shape[1:]))
        for lo in range(0, n_rows, max(1, step)):
            part = columns if step >= n_rows else columns[lo : lo + step]
            out[lo : lo + step] = self._block(part, inputs, ids).combine(weights)
        return out + intercept

    def _block(self, columns: Any, inputs: np.ndarray, ids: np.ndarray) -> Block:
        pairs = pairs_of(ids)
        at = np.searchsorted(self.known, inputs)
        shift = self.shift[at]
        scaling = Scaling(self.factor[at], shift if shift.any() else None)
        if sparse.issparse(columns) and scaling.shift is not None:
            columns = columns.toarray()  # few columns: those of the selection
        return product_block(stored_block(columns), scaling, inputs, pairs, np.ones(len(pairs)))

    def _inputs_of(self, X: Any, ids: np.ndarray) -> tuple[np.ndarray, Any]:
        """See MadeFeatures; InvalidDataError where one of these columns is not finite."""
        inputs, columns = super()._inputs_of(X, ids)
        check_columns(columns, lambda place: self.called(int(inputs[place])))
        return inputs, columns
