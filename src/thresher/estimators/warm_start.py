"""Where a fit with ``warm_start=True`` starts: the features and weights of the last one."""

from collections.abc import Callable

import numpy as np

from thresher.data.design import Design
from thresher.results import Selection, Station

Starts = Callable[[int | None], list[tuple[np.ndarray, np.ndarray]]]


def largest_model(selection: Selection, most: int | None) -> Selection | Station:
    """The largest model on the path of an earlier fit with at most ``most`` features, or else its selection."""
    if most is None:
        return selection
    candidates = [station for station in selection.path if station.phase == "thresh" and station.number <= most]
    return max(candidates, key=lambda station: station.number) if candidates else selection


def starts_from(
    previous: Selection, design: Design, n_scores: int, *, shared: bool, excluded: np.ndarray
) -> Starts:
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
