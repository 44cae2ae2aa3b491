"""Data frames of pandas, polars and pyarrow: their columns by name."""

from typing import Any

import narwhals as nw
import numpy as np

from thresher.data.input.validation import column_names
from thresher.errors import InvalidDataError
from thresher.results.table import LIBRARIES

MOST_NAMED = 5  # of missing columns


def library_of(X: Any) -> str | None:
    """The library of a data frame, if a table of results can be one of it."""
    library = type(X).__module__.partition(".")[0]
    return library if library in LIBRARIES else None


def only_needed(X: Any, names: np.ndarray, needed: np.ndarray) -> Any:
    """The columns ``names[needed]`` of a data frame that has these, whatever others it has; None for any other X.

    A data frame with exactly the columns ``names`` is another X, since their order may be wrong, as is one that has
    none of them. InvalidDataError names columns that are needed and missing.
    """
    given, known, wanted = column_names(X), names.tolist(), names[needed].tolist()
    if given is None or given == known or not wanted:
        return None
    there = set(given)
    if there.isdisjoint(known) or there == set(known):
        return None
    missing = sorted(set(wanted) - there)
    if missing:
        shown = [*missing[:MOST_NAMED], "..."] if len(missing) > MOST_NAMED else missing
        lines = "".join(f"- {name}\n" for name in shown)
        raise InvalidDataError(
            "The feature names should match those that were passed during fit.\n"
            f"Feature names seen at fit time, yet now missing:\n{lines}"
            f"Only the {len(wanted):,} selected columns are needed; of these {len(missing):,} are missing"
        )
    return nw.from_native(X, eager_only=True).select(wanted).to_native()
