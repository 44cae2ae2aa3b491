"""What a fit could not do as asked for, in words."""

import numpy as np

from thresher.results import Selection, counted


def shortfalls(selection: Selection, wanted: int | None, classes: np.ndarray, *, per_class: bool) -> list[str]:
    """Messages for a selection of fewer features than ``wanted``, or with features that do nothing.

    ``per_class``: each class has features of its own.
    """
    reason, noun, messages = selection.stop_reason, selection.noun, []
    n_selected, idle = selection.features.size, selection.features[~selection.weighted]
    if selection.units is not None:  # columns of a group may have weight zero
        n_selected, idle = selection.units.size, idle[:0]
    if idle.size:
        messages.append(f"columns {idle.tolist()} of always_include have weight zero: they are redundant")
    weighted = selection.weights != 0.0
    counts = weighted.reshape(selection.features.size, -1).sum(axis=0) if n_selected else np.zeros(1)
    if wanted is not None and n_selected < wanted:
        messages.append(f"selected {counted(n_selected, noun)} instead of the requested {wanted}: {reason}")
    elif wanted is not None and per_class and selection.units is None and counts.min() < wanted - idle.size:
        label, count = classes.tolist()[int(np.argmin(counts))], counted(counts.min(), noun)
        messages.append(f"class {label!r} has {count} instead of the requested {wanted}: {reason}")
    elif n_selected == 0:
        messages.append(f"no {noun} was selected, so every prediction is the same class: {reason}")
    return messages
