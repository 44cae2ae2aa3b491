"""What new data needs of training instances as features; how wide similarities to them are."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from scipy import sparse

from thresher.data.input.validation import all_finite
from thresher.features.fitted import FittedFeatures, Label
from thresher.features.instances.bags import Bags
from thresher.features.instances.design import Instances, on_scale, similarities, squared_norms
from thresher.results.description import Listing
from thresher.state import integer, need, need_floats, need_ids, register

MOST_TRAINING_ROWS = 2**48
IN_CACHE = 1 << 16  # entries of pairs of rows that are compared at a time
MEDIAN_PAIRS = 1 << 21  # whose distances the median is taken of
SPARSE_COST = 4  # how many times as long it takes to compare an entry of a sparse row
MEDIAN_WORK = 1 << 28  # entries of the rows of all these pairs: a second or so
VALUES_SHOWN = 3
RANKED_BY = "ranked by |weight|; importance: |weight| x standard deviation of the similarity over the training bags"
DIFFERENCES = 1 << 20  # entries of the rows whose distances are computed at a time


@register
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
    n_bags : int, default=None
        Bags that they were in. None: not known, as many as rows.
    """

    rows: np.ndarray
    values: Any
    sigma: float
    factor: np.ndarray | None
    n_rows: int
    n_bags: int | None = None

    def take(self, ids: np.ndarray) -> Any:
        """The rows ``ids`` of the training data."""
        return self.values[np.searchsorted(self.rows, ids)]

    def check(self, n_columns: int) -> None:
        """Raise Damaged unless the fields, which may be of any type, are those of rows of so many columns."""
        n_rows = integer(self.n_rows, "n_rows of the instances", 1, MOST_TRAINING_ROWS)
        rows = need_ids(self.rows, "rows of the instances", n_rows)
        need(type(self.sigma) is float and 0.0 < self.sigma < np.inf, "sigma of the instances must be positive")
        if self.n_bags is not None:
            integer(self.n_bags, "n_bags of the instances", 1, n_rows)
        if self.factor is not None:
            need_floats(self.factor, "factor of the instances", (n_columns,), least=0.0)
        values = self.values
        valid = isinstance(values, (np.ndarray, sparse.csr_array)) and values.dtype == np.float64
        need(valid and values.shape == (rows.size, n_columns), "values of the instances have another shape or type")
        need(all_finite(values), "values of the instances contain NaN or infinity")


class BagRows(NamedTuple):
    """Rows of new data, an array or a CSR matrix, and the bags they are in: what a space of instances reads."""

    X: Any
    bags: Bags

    @property
    def dtype(self) -> np.dtype:
        """That of the rows."""
        return self.X.dtype


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

    def only(self, ids: np.ndarray, units: np.ndarray | None) -> Self:
        """See FittedFeatures."""
        prototypes = replace(self.prototypes, rows=ids, values=self.prototypes.take(ids))
        return replace(super().only(ids, units), prototypes=prototypes)

    @property
    def width(self) -> int:
        """See FittedFeatures: the rows of the training data."""
        return self.prototypes.n_rows

    def listing(self, selection: Any, label: Label, unknown: str) -> Listing:
        """See FittedFeatures: training rows, with their first values."""
        lengths = np.linalg.norm(selection.weights.reshape(selection.features.size, -1), axis=1)
        order = np.argsort(-lengths, kind="stable")
        rows, importance = selection.features[order], selection.importance
        values = as_array(self.prototypes.take(rows))
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
        given, factor = self.prototypes.take(ids), self.prototypes.factor
        both = sparse.issparse(given) and sparse.issparse(X.X)  # else as arrays
        centres = on_scale(given if both else as_array(given), factor)
        step = max(1, DIFFERENCES // max(1, ids.size, 0 if both else X.X.shape[1]))
        squares, rows = np.full((bags.count, ids.size), np.inf), np.zeros((bags.count, ids.size), dtype=np.int64)
        for places, own, begins in bags.parts(step):
            new = X.X[order[places]]
            part = squared_distances(on_scale(new if both else as_array(new), factor), centres)
            smallest = np.minimum.reduceat(part, begins, axis=0)
            sizes = np.diff(np.append(begins, len(part)))
            at = np.where(part == np.repeat(smallest, sizes, axis=0), order[places, None], bags.codes.size)
            nearer = smallest < squares[own]  # a bag may go on from the part before
            rows[own] = np.where(nearer, np.minimum.reduceat(at, begins, axis=0), rows[own])
            squares[own] = np.where(nearer, smallest, squares[own])
        return Nearest(similarities(squares, self.prototypes.sigma), rows)

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


def _in_few(values: np.ndarray) -> str:
    """The first numbers of a row."""
    return " ".join(f"{value:.4g}" for value in values[:VALUES_SHOWN]) + " ..." * (values.size > VALUES_SHOWN)


def as_array(rows: Any) -> np.ndarray:
    """Rows as an array."""
    return rows.toarray() if sparse.issparse(rows) else rows


def squared_distances(rows: Any, centres: Any) -> np.ndarray:
    """||row - centre||^2, (rows, centres); both are arrays, whose differences do not cancel, or both sparse."""
    out = np.empty((rows.shape[0], centres.shape[0]))
    if not sparse.issparse(rows):
        for k, centre in enumerate(centres):
            out[:, k] = squared_norms(rows - centre)
        return out
    norms = np.add.outer(squared_norms(rows), squared_norms(centres))
    np.subtract(norms, 2.0 * (rows @ centres.T).toarray(), out=out)
    return np.maximum(out, 0.0, out=out)


def median_distance(X: Any, instances: Instances, bags: Bags, weights: np.ndarray, factor: np.ndarray | None) -> float:
    """The weighted median distance of two different training instances; 1 if all are equal.

    Pairs of the same bag, if each bag has two different rows, else all pairs. ``weights`` are those of the rows; rows
    without weight do not count. Beyond MEDIAN_PAIRS or MEDIAN_WORK a sample is looked at, the same for the same data.
    """
    rows = np.flatnonzero(weights > 0)
    width = max(1, (SPARSE_COST * X.nnz if sparse.issparse(X) else X.size) // X.shape[0])
    most, step = min(MEDIAN_PAIRS, MEDIAN_WORK // width), max(1, IN_CACHE // width)
    inside = _pairs_in_bags(rows, instances.owner, bags, most)
    if inside is None:
        total = np.bincount(instances.owner[rows], weights[rows])
        chosen = _sample(instances.rows.size, max(2, int(np.sqrt(2 * most))))
        first, second = (chosen[side] for side in np.triu_indices(chosen.size, 1))
        if sparse.issparse(X):
            squares = _squares_of_pairs(X, (instances.rows[first], instances.rows[second]), factor, step)
        else:
            squares = _squares_of_all(on_scale(X[instances.rows[chosen]], factor))
        sizes = total[first] * total[second]
    else:
        squares, sizes = _squares_of_pairs(X, inside, factor, step), weights[inside[0]]
    return (float(np.sqrt(_weighted_median(squares, sizes))) or 1.0) if squares.size else 1.0


def _squares_of_all(rows: np.ndarray) -> np.ndarray:
    """Squared distances of all pairs of the rows, in the order of ``np.triu_indices``."""
    parts = [squared_distances(rows[k + 1 :], row[None])[:, 0] for k, row in enumerate(rows)]
    return np.concatenate(parts)


def _squares_of_pairs(X: Any, pairs: tuple[np.ndarray, np.ndarray], factor: np.ndarray | None, step: int) -> np.ndarray:
    """Squared distances of these pairs of rows, ``step`` of them at a time."""
    squares = np.empty(pairs[0].size)
    for lo in range(0, squares.size, step):
        one, other = (X[side[lo : lo + step]].astype(np.float64) for side in pairs)
        squares[lo : lo + step] = squared_norms(on_scale(one - other, factor))
    return squares


def _pairs_in_bags(
    rows: np.ndarray, owner: np.ndarray, bags: Bags, most_pairs: int
) -> tuple[np.ndarray, np.ndarray] | None:
    """All pairs, or some of them, of different rows of the same bag; None if a bag has no such pair."""
    order = rows[np.argsort(bags.codes[rows], kind="stable")]
    members = np.split(order, np.flatnonzero(np.diff(bags.codes[order])) + 1)
    most = max(2, int(np.sqrt(2 * most_pairs / max(1, len(members)))))
    pairs = []
    for own in members:
        chosen = own[_sample(own.size, most)]
        first, second = (chosen[side] for side in np.triu_indices(chosen.size, 1))
        different = owner[first] != owner[second]
        if not different.any() and np.unique(owner[own]).size < 2:
            return None
        pairs.append((first[different], second[different]))
    return np.concatenate([one for one, _ in pairs]), np.concatenate([other for _, other in pairs])


def _sample(count: int, most: int) -> np.ndarray:
    """At most ``most`` of the numbers below ``count``, sorted, and always the same ones."""
    if count <= most:
        return np.arange(count)
    return np.sort(np.random.default_rng(0).choice(count, most, replace=False))


def _weighted_median(values: np.ndarray, weights: np.ndarray) -> float:
    """The mean of the lower and the upper weighted median."""
    order = np.argsort(values, kind="stable")
    values, below = values[order], np.cumsum(weights[order])
    half = 0.5 * below[-1]
    lower = values[np.searchsorted(below, half * (1.0 - 1e-12))]
    upper = values[min(np.searchsorted(below, half * (1.0 + 1e-12), side="right"), values.size - 1)]
    return 0.5 * float(lower + upper)
