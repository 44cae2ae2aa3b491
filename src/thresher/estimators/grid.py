"""Where Grid was before it was a result: earlier pickles of a SparseSVCPath look for it here."""

import warnings

from thresher import results


def __getattr__(name):
    if name != "Grid":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    message = "thresher.estimators.grid.Grid is now thresher.Grid; write this pickle again, or use thresher.save"
    warnings.warn(message, FutureWarning, stacklevel=2)
    return results.Grid
