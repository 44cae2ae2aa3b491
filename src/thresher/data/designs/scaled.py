"""A design on another scale, without a copy of the data."""

from collections.abc import Iterator

import numpy as np

from thresher.data.blocks.base import Block
from thresher.data.blocks.scaled import ScaledBlock, Scaling
from thresher.data.blocks.sides import Sides
from thresher.data.designs.base import Design
from thresher.data.scan.pieces import Cost, Piece


class ScaledDesign(Design):
    """A design whose columns are shifted and scaled; the data is not modified, and read by the workers of the base."""

    scaling: Scaling

    def __init__(self, base: Design, scaling: Scaling):
        stored = {"entries": base.entries, "nbytes": base.nbytes}
        super().__init__(base.shape, base.dtype, **stored, workers=base.workers, ids=base.ids)
        self.base, self.scaling, self.entry_cost = base, scaling, base.entry_cost
        self.in_memory = base.in_memory

    def pieces(self, vectors: int = 1) -> Iterator[Piece]:
        """See Design; scores get the scaling of each piece."""
        return self.base.pieces(vectors)

    def scan_cost(self) -> Cost:
        """See Design."""
        return self.base.scan_cost()

    def check_cost(self) -> Cost:
        """See Design."""
        return self.base.check_cost()

    def of_rows(self, rows: np.ndarray) -> "ScaledDesign | None":
        """See Design."""
        base = self.base.of_rows(rows)
        return None if base is None else ScaledDesign(base, self.scaling)

    def take(self, ids: np.ndarray) -> Block:
        """See Design."""
        return ScaledBlock(self.base.take(ids), self.scaling.take(ids))

    def take_as_given(self, ids: np.ndarray) -> tuple[Block, np.ndarray]:
        """See Design."""
        return self.base.take_as_given(ids)

    def row_digests(self, ids: np.ndarray) -> np.ndarray:
        """See Design."""
        return self.base.row_digests(ids)

    @property
    def n_columns(self) -> int:
        """See Design."""
        return self.base.n_columns

    def sides(self) -> Sides:
        """See Design."""
        sides = self.base.sides()
        return Sides(ScaledBlock(sides.rows, self.scaling), ScaledBlock(sides.columns, self.scaling))

    def take_cost(self, ids: np.ndarray) -> Cost:
        """See Design."""
        return self.base.take_cost(ids)

    def in_units_of_X(self, ids: np.ndarray, w: np.ndarray) -> tuple[np.ndarray, float | np.ndarray]:
        """See Design."""
        scaling = self.scaling.take(ids)
        weights = (w.T * scaling.factor).T
        return weights, 0.0 if scaling.shift is None else -(scaling.shift @ weights)

    def in_units_here(self, ids: np.ndarray, weights: np.ndarray) -> np.ndarray:
        """See Design."""
        factor = self.scaling.take(ids).factor
        inverse = np.divide(1.0, factor, out=np.zeros_like(factor), where=factor > 0)
        return (weights.T * inverse).T
