"""Messages on a selection of fewer features than requested, and what a certificate proves, in words."""

from typing import Any

import numpy as np

from thresher.families.fgm.spec import FitPlan
from thresher.features.base import Features, by_output
from thresher.results import Selection, counted
from thresher.results.words import proof


def proven(selection: Selection, wanted: Any, always_include: Any, *, each: bool, also: str) -> str:
    """What the certificate of a selection proves; ``each``: each class has features of its own; ``also``: see proof."""
    fitted: Any = selection.fitted_features
    of = fitted.n_columns if fitted.n_candidates is None else fitted.n_candidates
    if selection.units is None:
        count = selection.features.size
        if each:
            count = int((selection.weights != 0.0).sum(axis=0).max(initial=0))
        n_forced, noun = selection.forced.size, fitted.candidate
        return proof(selection.certificate, of, count, n_forced=n_forced, each=each, noun=noun, also=also)
    count = selection.units.size
    if each and wanted is not None and wanted >= 1:  # the union of all classes may have more
        count = min(count, int(wanted))
    given = [] if always_include is None else np.atleast_1d(np.asarray(always_include, dtype=object)).tolist()
    forced = len(dict.fromkeys(given))
    return proof(selection.certificate, of, count, n_forced=forced, each=each, noun=selection.noun, also=also)


def against_the_rule(results: dict[str, Any], best: int, usual: int) -> str:
    """What follows the score of the best candidate: which one it is, and by how much it is better than the usual one.

    ``best`` and ``usual`` are places in ``results``, a ``cv_results_``.
    """
    names = varied(results)
    chosen, rule = (candidate({name: results["params"][place][name] for name in names}) for place in (best, usual))
    if best == usual:
        return f": the usual {rule}"
    scores = np.array([of_fold for key, of_fold in results.items() if key.startswith("split")])
    both = scores[~np.isnan(scores[:, usual])]  # the usual one may have been left out after some folds
    if not len(both):
        return f": {chosen}"
    differences = both[:, best] - both[:, usual]
    if not differences.any():
        return f": {chosen}, level with the usual {rule}"
    error = ""
    if differences.size > 1:
        spread = differences.std(ddof=1) / differences.size**0.5
        error = f" (standard error of the difference {spread:.4f})"
    behind = differences.mean()
    some = "fold" if len(both) == 1 else counted(len(both), "fold")
    where = "" if len(both) == len(scores) else f" on the first {some}"
    worse = f"{abs(behind):.4f} {'below' if behind >= 0.0 else 'above'} it{where}"
    return f": {chosen}; the usual {rule} is {worse}{error}"


def varied(results: dict[str, Any]) -> list[str]:
    """The parameters in which candidates of a ``cv_results_`` differ; all, if they are equal."""
    params = results["params"]
    return [name for name in params[0] if len({each[name] for each in params}) > 1] or list(params[0])


def candidate(params: dict[str, Any]) -> str:
    """A candidate in words: "C = 0.1 with elimination"."""
    numbers = ", ".join(f"{name} = {value:g}" for name, value in params.items() if name != "elimination")
    kinds = ["elimination" if params["elimination"] else "growth alone"] if "elimination" in params else []
    return " with ".join(filter(None, [numbers, *kinds]))


def shortfalls(selection: Selection, features: Features, plan: FitPlan, models: list[Any]) -> list[str]:
    """Messages for a selection of fewer features than wanted, or with features that do nothing.

    ``models`` are the names of those with features of their own; one, if all share them.
    """
    noun, reason, wanted = features.units.noun, selection.stop_reason, plan.wanted
    messages = []
    idle = np.zeros(0, dtype=np.int64)
    if selection.units is None:  # columns of a group may have weight zero
        idle = selection.features[~selection.weighted]
    if idle.size:
        fitted: Any = selection.fitted_features
        columns = fitted.inputs(idle).tolist()
        messages.append(f"columns {columns} of always_include have weight zero: they are redundant")
    n_selected = selection.features.size if selection.units is None else selection.units.size
    counts = counts_of_classes(selection, features)
    if wanted is not None and n_selected < wanted:
        messages.append(f"selected {counted(n_selected, noun)} instead of the requested {wanted}: {reason}")
    elif wanted is not None and len(models) > 1 and counts.min() < wanted - idle.size:
        label, count = models[int(np.argmin(counts))], counted(counts.min(), noun)
        messages.append(f"class {label!r} has {count} instead of the requested {wanted}: {reason}")
    elif n_selected == 0:
        messages.append(f"no {noun} was selected, so every prediction is the same class: {reason}")
    return messages


def counts_of_classes(selection: Selection, features: Features) -> np.ndarray:
    """How many of the selected units have a weight in each class."""
    if selection.features.size == 0:
        return np.zeros(1, dtype=np.int64)
    weighted = by_output(selection.weights) != 0.0
    if selection.units is None:
        return weighted.sum(axis=0)
    members = features.units.members(selection.units)
    sizes: Any = members.sizes
    place = np.searchsorted(selection.features, features.design.ids_in_X(members.columns))
    starts = np.cumsum(sizes) - sizes
    return np.logical_or.reduceat(weighted[place], starts, axis=0).sum(axis=0)
