"""What a fit of FGMClassifier proves, and what it could not do as asked for, in words."""

from typing import Any

import numpy as np

from thresher.estimators.shared import parameters as check
from thresher.results import Selection, counted
from thresher.results.products import pairs_of
from thresher.results.words import proof


def sentence_of(clf: Any) -> str:
    """What the certificate of a fitted FGMClassifier proves."""
    selection, each = clf.selection_, clf.support == "per_class" and clf.classes_.size > 2
    labels, names = selection.labels, getattr(clf, "feature_names_in_", None)
    if labels is not None and labels.noun == "group":
        of = labels.n_candidates
    else:  # columns of zeros, which a design may omit, could be selected, too
        of = clf.n_features_in_ - check.column_numbers("exclude", clf.exclude, clf.n_features_in_, names).size
    if selection.products is not None:
        of = selection.products.n_candidates
    if selection.units is None:
        count = int((selection.weights != 0.0).sum(axis=0).max(initial=0)) if each else selection.features.size
        noun = "column" if selection.products is None else "term"
        told = proof(selection.certificate, of, count, n_forced=selection.forced.size, each=each, noun=noun)
        hereditary = getattr(clf.features, "heredity", None) is not None
        return told + " That counts terms which heredity does not allow, too." * hereditary
    count, wanted = selection.units.size, clf.n_features_to_select
    if each and wanted is not None and wanted >= 1:  # the union of all classes may have more
        count = min(count, int(wanted))
    given = [] if clf.always_include is None else np.atleast_1d(np.asarray(clf.always_include, dtype=object)).tolist()
    forced = len(dict.fromkeys(given))
    return proof(selection.certificate, of, count, n_forced=forced, each=each, noun=selection.noun)


def groups_of_classes(selection: Selection, columns: np.ndarray, sizes: np.ndarray) -> np.ndarray:
    """How many of the selected groups have a weight in each class; ``columns`` in X of all of them, group by group."""
    weights = selection.weights.reshape(selection.features.size, -1)
    weighted = weights[np.searchsorted(selection.features, columns)] != 0.0
    return np.logical_or.reduceat(weighted, np.cumsum(sizes) - sizes, axis=0).sum(axis=0)


def shortfalls(
    selection: Selection, wanted: int | None, classes: np.ndarray, *, per_class: bool,
    groups: np.ndarray | None = None, noun: str | None = None,
) -> list[str]:  # fmt: skip
    """Messages for a selection of fewer features than ``wanted``, or with features that do nothing.

    ``per_class``: each class has features of its own, or ``groups``: so many of each class. ``noun``: what is counted.
    """
    reason, noun, messages = selection.stop_reason, noun or selection.noun, []
    n_selected, idle = selection.features.size, selection.features[~selection.weighted]
    if selection.units is not None:  # columns of a group may have weight zero
        n_selected, idle = selection.units.size, idle[:0]
    if idle.size:
        idle = idle if selection.products is None else pairs_of(idle)[:, 0]  # linear terms
        messages.append(f"columns {idle.tolist()} of always_include have weight zero: they are redundant")
    weighted = selection.weights != 0.0
    counts = weighted.reshape(selection.features.size, -1).sum(axis=0) if n_selected else np.zeros(1)
    counts = counts if groups is None else groups
    if wanted is not None and n_selected < wanted:
        messages.append(f"selected {counted(n_selected, noun)} instead of the requested {wanted}: {reason}")
    elif wanted is not None and per_class and counts.min() < wanted - idle.size:
        label, count = classes.tolist()[int(np.argmin(counts))], counted(counts.min(), noun)
        messages.append(f"class {label!r} has {count} instead of the requested {wanted}: {reason}")
    elif n_selected == 0:
        messages.append(f"no {noun} was selected, so every prediction is the same class: {reason}")
    return messages
