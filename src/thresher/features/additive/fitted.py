"""What new data needs of features that a kernel makes of columns."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse

from thresher.data.blocks.base import Block
from thresher.data.designs.numbering import BlockNumbering
from thresher.data.input.validation import check_columns, stored_block
from thresher.features.additive.design import MOST_NUMBERS
from thresher.features.additive.maps import Inputs, check_signs
from thresher.features.fitted import Label, MadeFeatures
from thresher.results.description import Listing
from thresher.state import INT64, integer, need, need_ids

if TYPE_CHECKING:
    from thresher.features.additive.spec import InputMap


@dataclass(frozen=True, eq=False)
class ExpandedFeatures(MadeFeatures, kind="inputs"):
    """Numbers that a kernel makes of columns of X, and what its maps of the selected ones learnt from the data.

    Parameters
    ----------
    kernel : InputMap
        The kernel.
    size : int
        Numbers of an input.
    known : ndarray of int64
        The columns of X that are known, sorted: those of all models on the path.
    maps : Inputs
        What the maps of these columns need.
    """

    kernel: "InputMap"
    size: int
    known: np.ndarray
    maps: Inputs = field(repr=False)

    def check_parts(self) -> None:
        """See FittedFeatures."""
        size = integer(self.size, "size of the inputs", 1)
        need(self.n_columns * size < INT64, "there are too many numbers of inputs")
        need(size in self.kernel.sizes(), f"size {size} of the inputs does not match their kernel")
        known = need_ids(self.known, "columns of the inputs", self.n_columns)
        need(isinstance(self.maps, Inputs), "the maps of the inputs are missing")
        self.maps.check(known.size, size)

    def covers(self, ids: np.ndarray) -> bool:
        """See FittedFeatures."""
        return bool(np.isin(ids // self.size, self.known).all())

    @property
    def numbering(self) -> BlockNumbering:
        """How features are numbered: a block for each input."""
        return BlockNumbering(self.size)

    @property
    def width(self) -> int:
        """See FittedFeatures."""
        return self.n_columns * self.size

    def listing(self, selection: Any, label: Label, unknown: str) -> Listing:
        """See FittedFeatures: columns, by the length of their weights."""
        inputs = self.inputs(selection.features)
        place = np.searchsorted(inputs, selection.features // self.size)
        squares = np.square(selection.weights).reshape(place.size, -1).sum(axis=1)
        lengths = np.sqrt(np.bincount(place, weights=squares, minlength=inputs.size))
        order = np.argsort(-lengths, kind="stable")
        return Listing(
            "columns",
            self.input_names(inputs[order], label),
            self.places(inputs[order]),
            lengths[order],
            n_candidates=self.n_listed,
            weight="length of weights",
            ranked_by=f"ranked by the length of the weights of the {self.size} numbers that the kernel makes of each",
        )

    def inputs(self, ids: np.ndarray) -> np.ndarray:
        """See FittedFeatures."""
        return np.unique(self.numbering.blocks(ids))

    def names(self, ids: Sequence[int] | np.ndarray, label: Label) -> list[str]:
        """See FittedFeatures: the name of the column, and which of its numbers."""
        inputs, places = self.numbering.blocks(ids).tolist(), self.numbering.places(ids).tolist()
        return [f"{label(j)}[{place}]" for j, place in zip(inputs, places, strict=True)]

    def columns(self, X: Any, ids: np.ndarray) -> Any:
        """See FittedFeatures."""
        inputs, columns = self._inputs_of(X, ids)
        made = self._made(columns, inputs, ids)
        return sparse.csr_array(made) if sparse.issparse(columns) else made

    def chunks(self, X: Any, ids: np.ndarray, size: int) -> Iterator[tuple[slice, Any]]:
        """See FittedFeatures; as arrays, of fewer rows where these would be large."""
        inputs, columns = self._inputs_of(X, ids)
        columns = columns.tocsr() if sparse.issparse(columns) else columns
        size = max(1, min(size, 4 * MOST_NUMBERS // max(1, ids.size)))
        for first in range(0, columns.shape[0], size):
            rows = slice(first, first + size)
            yield rows, self._made(columns[rows], inputs, ids)

    def _made(self, columns: Any, inputs: np.ndarray, ids: np.ndarray) -> np.ndarray:
        """The features ``ids``, made of ``columns``, which are ``inputs``."""
        return self._numbers_of(columns, inputs).take(self._among(inputs, ids)).toarray()

    def _among(self, inputs: np.ndarray, ids: np.ndarray) -> np.ndarray:
        """Where the features ``ids`` are among all of ``inputs``."""
        return self.numbering.moved(ids, np.searchsorted(inputs, self.numbering.blocks(ids)))

    def scores(self, X: Any, ids: np.ndarray, weights: np.ndarray, intercept: float | np.ndarray) -> np.ndarray:
        """See FittedFeatures; arrays some rows at a time."""
        inputs, columns = self._inputs_of(X, ids)
        W = np.zeros((inputs.size * self.size, *weights.shape[1:]))
        W[self._among(inputs, ids)] = weights
        n_rows = columns.shape[0]
        step = n_rows if sparse.issparse(columns) else max(1, MOST_NUMBERS // max(1, W.shape[0]))
        check_columns(columns, lambda place: self.called(int(inputs[place])))  # the message counts rows of all of X
        out = np.empty((n_rows, *weights.shape[1:]))
        for lo in range(0, n_rows, max(1, step)):
            part = columns if step >= n_rows else columns[lo : lo + step]
            out[lo : lo + step] = self._numbers_of(part, inputs).combine(W)
        return out + intercept

    def _numbers_of(self, columns: Any, inputs: np.ndarray) -> Block:
        """All numbers of ``columns``, an array or a sparse matrix of the columns ``inputs`` of X (sorted).

        Raises InvalidDataError where a value is not finite, or negative and the kernel does not allow that.
        """

        def named(place: int) -> str:
            return self.called(int(inputs[place]))

        check_columns(columns, named)
        stored = stored_block(columns)
        if self.kernel.positive_only:
            check_signs(self.kernel.word, stored, named)
        return self.kernel.block(stored, self.maps.take(np.searchsorted(self.known, inputs)), self.size)
