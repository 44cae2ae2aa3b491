"""Where a fit of groups begins: those of an earlier fit that are called as groups are now."""

import numpy as np

from thresher.features.base import Earlier, Features, largest_model
from thresher.results import Selection


def start_of_groups(features: Features, labels: np.ndarray, selection: Selection, most: int | None) -> Earlier:
    """The groups of an earlier fit whose labels are among ``labels``, those of the units of ``features``.

    The weight of a column that several groups share is divided among them: a start need not be a solution.
    """
    units, design = features.units, features.design
    model = largest_model(selection, most)
    allowed = np.setdiff1d(np.arange(units.count), np.asarray(features.excluded, dtype=np.int64))
    chosen = _with_labels(allowed, labels[allowed], model.groups)
    columns, sizes = units.members(chosen)
    here = design.ids_in_X(columns)
    place = np.searchsorted(model.features, here)
    there = (place < model.features.size) & (model.features[np.minimum(place, model.features.size - 1)] == here)
    times = np.bincount(place[there], minlength=model.features.size)
    shares = (model.weights.T / np.maximum(times, 1)).T.reshape(model.features.size, -1)
    weights = np.zeros((columns.size, shares.shape[1]))
    weights[there] = design.in_units_here(columns[there], shares[place[there]])
    roots = units.roots(chosen)
    if roots is not None:
        weights *= (roots if sizes is None else np.repeat(roots, sizes))[:, None]
    return chosen, weights


def _with_labels(numbers: np.ndarray, labels: np.ndarray, wanted: np.ndarray | None) -> np.ndarray:
    """Those of ``numbers``, sorted, whose label is one of ``wanted``."""
    if wanted is None or (labels.dtype.kind == "i") != (wanted.dtype.kind == "i"):
        return np.zeros(0, dtype=np.int64)
    if labels.dtype.kind == "i":
        return np.sort(numbers[np.isin(labels, wanted)])
    known = dict(zip(labels.tolist(), numbers.tolist(), strict=True))
    return np.array(sorted(known[label] for label in wanted.tolist() if label in known), dtype=np.int64)
