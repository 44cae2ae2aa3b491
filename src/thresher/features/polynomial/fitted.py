"""What new data needs of products of columns."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from scipy import sparse

from thresher.data.blocks.base import Block
from thresher.data.blocks.scaled import Scaling
from thresher.data.input.validation import stored_block
from thresher.features.fitted import Label, MadeFeatures
from thresher.features.polynomial.design import product_block
from thresher.features.polynomial.numbers import MOST_INPUTS, inputs_of, n_numbers, pairs_of
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
    candidate: ClassVar[str] = "term"
    varies: ClassVar[str] = "product"
    copies: ClassVar[bool] = False

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
    def n_listed(self) -> int | None:
        """See FittedFeatures."""
        return self.n_candidates

    def places(self, ids: np.ndarray) -> list[dict[str, Any]]:
        """See FittedFeatures."""
        return [{"pair": pair} for pair in pairs_of(ids).tolist()]

    def pairs_of(self, ids: np.ndarray) -> np.ndarray:
        """See FittedFeatures."""
        return pairs_of(ids)

    @property
    def width(self) -> int:
        """See FittedFeatures; the constant has a number, too."""
        return n_numbers(self.n_columns)

    def inputs(self, ids: np.ndarray) -> np.ndarray:
        """See FittedFeatures."""
        return inputs_of(ids)

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

    def block(self, columns: Any, inputs: np.ndarray, ids: np.ndarray) -> tuple[Block, np.ndarray]:
        """See MadeFeatures."""
        at = np.searchsorted(self.known, inputs)
        shift = self.shift[at]
        scaling = Scaling(self.factor[at], shift if shift.any() else None)
        if sparse.issparse(columns) and scaling.shift is not None:
            columns = columns.toarray()  # few columns: those of the selection
        made = product_block(stored_block(columns), scaling, inputs, pairs_of(ids), np.ones(ids.size))
        return made, np.arange(ids.size)
