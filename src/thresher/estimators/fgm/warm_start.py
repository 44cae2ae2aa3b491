"""Where a fit with ``warm_start=True`` starts: the features and weights of the last one."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from thresher.data.designs.base import Design
from thresher.data.designs.units import Units
from thresher.data.input.validation import count_columns
from thresher.features.additive.design import Expansion
from thresher.features.additive.spec import Kernel
from thresher.results import Selection, Station

Starts = Callable[[int | None], list[tuple[np.ndarray, np.ndarray]]]


@dataclass(frozen=True)
class Previous:
    """The last fit: its selection, numbers of scores and of columns, its number of classes, and its kernel's maps."""

    selection: Selection
    shape: tuple[int, int]
    n_classes: int
    expansion: Expansion | None

    def seen(self, X: Any) -> Self:
        """Itself; raises ValueError if X has another number of columns than the last fit saw."""
        seen, n_features = self.shape[1], count_columns(X)
        if seen != n_features:
            raise ValueError(
                f"warm_start=True, but X has {n_features} features and the last fit saw {seen}: "
                "fit a new estimator or set warm_start=False"
            )
        return self

    def has(self, kernel: Kernel | None, size: int | None, *, products: bool = False) -> bool:
        """Whether its features are those of this kernel with so many numbers for an input; None: columns, products."""
        if (self.selection.products is not None) != products:
            return False
        if self.expansion is None or kernel is None:
            return self.expansion is kernel is None
        return self.expansion.kernel == kernel and self.expansion.size == size

    def check_classes(self, n_classes: int) -> int:
        """The number of scores of a sample; raises ValueError if the last fit saw another number of classes."""
        n_scores = 1 if n_classes == 2 else n_classes
        if self.shape[0] != n_scores:
            raise ValueError(
                f"warm_start=True, but y has {n_classes} classes and the last fit saw {self.n_classes}: "
                "fit a new estimator or set warm_start=False"
            )
        return n_scores

    def starts(
        self, design: Design, n_classes: int, labels: np.ndarray | None, *, shared: bool, units: Units | None,
        exclude: Sequence[int] | np.ndarray,
    ) -> Starts:  # fmt: skip
        """Where each problem of a fit starts.

        ``labels`` names each of ``units`` of the design (None: columns of X are selected one by one); ``exclude`` are
        those of these, else columns of X, that must not be selected.
        """
        n_scores = self.check_classes(n_classes)
        excluded = np.asarray(exclude, dtype=np.int64)
        if units is None or labels is None:
            return starts_from(self.selection, design, n_scores, shared=shared, excluded=excluded)
        allowed = np.setdiff1d(np.arange(units.count), excluded)
        return group_starts(self.selection, design, n_scores, units, labels[allowed], allowed, shared=shared)


def largest_model(selection: Selection, most: int | None) -> Selection | Station:
    """The largest model on the path of an earlier fit with at most ``most`` features, or else its selection."""
    if most is None:
        return selection
    candidates = [station for station in selection.path if station.phase == "thresh" and station.number <= most]
    return max(candidates, key=lambda station: station.number) if candidates else selection


def starts_from(previous: Selection, design: Design, n_scores: int, *, shared: bool, excluded: np.ndarray) -> Starts:
    """Where each problem starts, as a function of the maximum number of columns: a model on the path of ``previous``.

    ``n_scores`` is the number of scores for a sample: 1 for two classes, else one for each; ``shared``: they are
    one problem, with the same columns for all. Columns of X that are now ``excluded`` are left out.
    """

    def starts(most: int | None) -> list[tuple[np.ndarray, np.ndarray]]:
        model = largest_model(previous, most)
        kept = design.holds(model.features) & ~np.isin(model.features, excluded)
        here = design.ids_here(model.features[kept])
        W = design.in_units_here(here, model.weights[kept]).reshape(here.size, n_scores)
        if n_scores == 1 or shared:
            return [(here, W)]
        return [(here[w != 0.0], w[w != 0.0, None]) for w in W.T]

    return starts


def group_starts(
    previous: Selection, design: Design, n_scores: int, units: Units, labels: np.ndarray, numbers: np.ndarray,
    *, shared: bool,
) -> Starts:  # fmt: skip
    """As ``starts_from``, for groups: those of the earlier fit that are called as groups are now.

    ``labels`` are those of the groups ``numbers``, which may be selected. The weight of a column that several groups
    share is divided among them: a start need not be a solution.
    """

    def starts(most: int | None) -> list[tuple[np.ndarray, np.ndarray]]:
        model = largest_model(previous, most)
        chosen = _called(numbers, labels, model.groups)
        columns, sizes = units.members(chosen)
        here, weights = design.ids_in_X(columns), np.zeros((columns.size, n_scores))
        place = np.searchsorted(model.features, here)
        there = (place < model.features.size) & (model.features[np.minimum(place, model.features.size - 1)] == here)
        times = np.bincount(place[there], minlength=model.features.size)
        shares = (model.weights.T / np.maximum(times, 1)).T.reshape(model.features.size, n_scores)
        weights[there] = design.in_units_here(columns[there], shares[place[there]])
        roots = units.roots(chosen)
        weights *= 1.0 if roots is None else np.repeat(roots, 1 if sizes is None else sizes)[:, None]
        return [(chosen, weights)] if n_scores == 1 or shared else [(chosen, w[:, None]) for w in weights.T]

    return starts


def _called(numbers: np.ndarray, labels: np.ndarray, groups: np.ndarray | None) -> np.ndarray:
    """Those of ``numbers``, sorted, whose label is one of ``groups``."""
    if groups is None or (labels.dtype.kind == "i") != (groups.dtype.kind == "i"):
        return np.zeros(0, dtype=np.int64)
    if labels.dtype.kind == "i":
        return np.sort(numbers[np.isin(labels, groups)])
    known = dict(zip(labels.tolist(), numbers.tolist(), strict=True))
    return np.array(sorted(known[label] for label in groups.tolist() if label in known), dtype=np.int64)
