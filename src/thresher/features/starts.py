"""Where a fit begins: the units of an earlier fit that are here again, and their weights."""

from collections.abc import Sequence

import numpy as np

from thresher.data.designs.base import Design
from thresher.data.designs.units import Units
from thresher.results import Path, Selection, Station

Earlier = tuple[np.ndarray, np.ndarray]  # units of an earlier fit, and weights (columns, outputs) as solvers have them


def by_output(weights: np.ndarray) -> np.ndarray:
    """Weights of a model, (n_features, n_outputs) also where there is one output."""
    return weights[:, None] if weights.ndim == 1 else weights


def largest_model(selection: Selection, most: int | None) -> Selection | Station:
    """The largest model on the path of an earlier fit with at most ``most`` units, or else its selection."""
    if most is None:
        return selection
    path: Path = selection.path
    stations = [station for station in path if station.phase == "thresh" and station.number <= most]
    return max(stations, key=lambda station: station.number) if stations else selection


def start_of_columns(design: Design, excluded: Sequence[int], model: Selection | Station) -> Earlier:
    """The columns of an earlier model that may be selected here, by their number in the design."""
    known = np.flatnonzero(design.holds(model.features))
    here = design.ids_here(model.features[known])
    allowed = ~np.isin(here, excluded)
    here, known = here[allowed], known[allowed]
    return here, design.in_units_here(here, by_output(model.weights)[known])


def start_of_groups(
    design: Design, units: Units, labels: np.ndarray, excluded: Sequence[int], model: Selection | Station
) -> Earlier:
    """The groups of an earlier model that may be selected here, by their labels.

    The weight of a column that several groups share is divided among them: a start need not be a solution.
    """
    allowed = np.setdiff1d(np.arange(units.count), np.asarray(excluded, dtype=np.int64))
    chosen = allowed[_among(labels[allowed], model.groups)]
    columns, sizes = units.members(chosen)
    in_X = design.ids_in_X(columns)
    place = np.searchsorted(model.features, in_X)
    known = np.isin(in_X, model.features)
    times = np.bincount(place[known], minlength=model.features.size)
    shares = by_output(model.weights) / np.maximum(times, 1)[:, None]
    weights = np.zeros((columns.size, shares.shape[1]))
    weights[known] = design.in_units_here(columns[known], shares[place[known]])
    roots = units.roots(chosen)
    if roots is not None:
        weights *= (roots if sizes is None else np.repeat(roots, sizes))[:, None]
    return chosen, weights


def _among(labels: np.ndarray, wanted: np.ndarray | None) -> np.ndarray:
    """Which of the labels, integers or objects, are ``wanted``."""
    if wanted is None:
        return np.zeros(labels.size, dtype=bool)
    if labels.dtype == wanted.dtype == np.int64:
        return np.isin(labels, wanted)
    names = set(wanted.tolist())
    return np.array([label in names for label in labels.tolist()], dtype=bool)
