"""From a checked X to a design on its scale: the pass that looks at every entry once."""

from thresher.data.door import as_design, check_finite
from thresher.data.fingerprint import fingerprint
from thresher.data.scales import scaled


def arranged(X, codes, weights, scale, workers, trace, *, centre, keep=(), turn=False):
    """(design on its scale, scale, fingerprint); raises where an entry is not finite."""
    with trace.step("arrange"):
        design = as_design(X, workers, keep=keep, turn=turn)
    with trace.step("validate", *design.check_cost()):
        anchor, table = design.statistics(weights)
    check_finite(table, design.ids)
    seen = fingerprint(design, table, codes, X.shape[1])
    return *scaled(design, anchor, table, weights.sum(), scale, centre=centre, n_features=X.shape[1]), seen
