"""What new data needs of training instances as features."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, NamedTuple

import numpy as np
from scipy import sparse

from thresher.features.fitted import FittedFeatures, Label
from thresher.features.instances.bags import Bags
from thresher.features.instances.design import on_scale, similarities
from thresher.features.instances.prototypes import Prototypes
from thresher.results.description import Listing
from thresher.state import need

VALUES_SHOWN = 3
RANKED_BY = "ranked by |weight|; importance: |weight| x standard deviation of the similarity over the training bags"
AT_A_TIME = 1 << 20  # entries of the rows whose distances are computed at a time


class BagRows(NamedTuple):
    """Rows of new data, an array or a CSR matrix, and the bags they are in: what a space of instances reads."""

    X: Any
    bags: Bags

    @property
    def shape(self) -> tuple[int, int]:
        """(bags, columns)."""
        return self.bags.count, self.X.shape[1]


class Nearest(NamedTuple):
    """Of each bag and instance: the largest similarity, and the row that attains it, of equals the first."""

    similarities: np.ndarray
    rows: np.ndarray


@dataclass(frozen=True, eq=False)
class InstanceFeatures(FittedFeatures, kind="instances"):
    """Similarities of bags to training instances: feature k is row k of the training data.

    Parameters
    ----------
    prototypes : Prototypes
        The training instances that models on the path use.
    """

    prototypes: Prototypes = field(repr=False)
    candidate: ClassVar[str] = "training instance"
    of_rows: ClassVar[bool] = False
    copies: ClassVar[bool] = False

    def check_parts(self) -> None:
        """See FittedFeatures."""
        need(isinstance(self.prototypes, Prototypes), "the training instances are missing")
        self.prototypes.check(self.n_columns)

    def covers(self, ids: np.ndarray) -> bool:
        """See FittedFeatures."""
        return bool(np.isin(ids, self.prototypes.rows).all())

    @property
    def width(self) -> int:
        """See FittedFeatures: the rows of the training data."""
        return self.prototypes.n_rows

    def listing(self, selection: Any, label: Label, unknown: str) -> Listing:
        """See FittedFeatures: training rows, with their first values."""
        lengths = np.linalg.norm(selection.weights.reshape(selection.features.size, -1), axis=1)
        order = np.argsort(-lengths, kind="stable")
        rows, importance = selection.features[order], selection.importance
        values = self.prototypes.take_dense(rows) if rows.size else np.zeros((0, self.n_columns))
        return Listing(
            "different training instances",
            [f"row {row}" for row in rows.tolist()],
            [{"row": row, "values": own} for row, own in zip(rows.tolist(), values.tolist(), strict=True)],
            selection.weights[order],
            None if importance is None else importance[order],
            self.n_candidates,
            head="instance",
            details=[_in_few(row) for row in values],
            ranked_by=RANKED_BY,
        )

    def nearest(self, X: BagRows, ids: np.ndarray) -> Nearest:
        """How near the bags of X come to the training rows ``ids``, and by which of their rows."""
        bags, order = X.bags, X.bags.order
        squares, rows = np.full((bags.count, ids.size), np.inf), np.zeros((bags.count, ids.size), dtype=np.int64)
        for places, own, begins, part in self._distances(X, ids):
            smallest = np.minimum.reduceat(part, begins, axis=0)
            sizes = np.diff(np.append(begins, len(part)))
            at = np.where(part == np.repeat(smallest, sizes, axis=0), order[places, None], bags.codes.size)
            nearer = smallest < squares[own]  # a bag may go on from the part before
            rows[own] = np.where(nearer, np.minimum.reduceat(at, begins, axis=0), rows[own])
            squares[own] = np.where(nearer, smallest, squares[own])
        return Nearest(similarities(squares, self.prototypes.sigma), rows)

    def _distances(self, X: BagRows, ids: np.ndarray) -> Iterator[tuple[slice, slice, np.ndarray, np.ndarray]]:
        """Parts of the rows as in ``Bags.parts``, with their squared distances (rows, ids)."""
        given, factor = self.prototypes.take(ids), self.prototypes.factor
        both = sparse.issparse(given) and sparse.issparse(X.X)
        centres = on_scale(given if both or not sparse.issparse(given) else given.toarray(), factor)
        step = max(1, AT_A_TIME // max(1, ids.size, 0 if both else X.X.shape[1]))
        for places, own, begins in X.bags.parts(step):
            rows: Any = X.X[X.bags.order[places]]
            rows = on_scale(rows if both or not sparse.issparse(rows) else rows.toarray(), factor)
            yield places, own, begins, squared_distances(rows, centres)

    def columns(self, X: BagRows, ids: np.ndarray) -> np.ndarray:
        """See FittedFeatures: (bags, ids)."""
        return self.nearest(X, ids).similarities

    def contributions(self, X: BagRows, ids: np.ndarray, weights: np.ndarray) -> np.ndarray:
        """What each row of X adds to the score of its bag: weight times similarity, of those that it attains."""
        similarities, rows = self.nearest(X, ids)
        out = np.zeros((X.X.shape[0], *weights.shape[1:]))
        np.add.at(out, rows, similarities * weights if weights.ndim == 1 else similarities[:, :, None] * weights)
        return out

    def names(self, ids: Sequence[int] | np.ndarray, label: Label) -> list[str]:
        """See FittedFeatures."""
        return [f"similarity to row {int(j)}" for j in ids]

    def output(self, X: BagRows, ids: np.ndarray) -> np.ndarray:
        """See FittedFeatures: the similarities, in the precision of X."""
        similarities = self.columns(X, ids)
        return similarities.astype(np.float32) if X.X.dtype == np.float32 else similarities

    def output_names(self, ids: np.ndarray, label: Label) -> list[str]:
        """See FittedFeatures."""
        return self.names(ids, label)


def _in_few(values: np.ndarray) -> str:
    """The first numbers of a row."""
    return " ".join(f"{value:.4g}" for value in values[:VALUES_SHOWN]) + " ..." * (values.size > VALUES_SHOWN)


def squared_distances(rows: Any, centres: Any) -> np.ndarray:
    """||row - centre||^2, (rows, centres); both are arrays, whose differences do not cancel, or both sparse."""
    out = np.empty((rows.shape[0], centres.shape[0]))
    if not sparse.issparse(rows):
        for k, centre in enumerate(centres):
            difference = rows - centre
            out[:, k] = np.einsum("ij,ij->i", difference, difference)
        return out
    norms = [np.asarray(each.multiply(each).sum(axis=1)).ravel() for each in (rows, centres)]
    np.subtract(np.add.outer(*norms), 2.0 * (rows @ centres.T).toarray(), out=out)
    return np.maximum(out, 0.0, out=out)
