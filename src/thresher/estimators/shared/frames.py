"""Data frames of pandas, polars and pyarrow: their columns by name."""

from typing import Any

import narwhals as nw
import numpy as np

from thresher.data.input.validation import column_names
from thresher.results.table import LIBRARIES


def library_of(X: Any) -> str | None:
    """The library of a data frame, if a table of results can be one of it."""
    library = type(X).__module__.partition(".")[0]
    return library if library in LIBRARIES else None


def only_needed(X: Any, names: np.ndarray, needed: np.ndarray) -> Any:
    """The columns ``names[needed]`` of a data frame that has these, and of the others some; None for any other X.

    A data frame with all columns, or with names that are not among ``names``, is another X: its order or its names may
    be wrong.
    """
    given, wanted = column_names(X), names[needed].tolist()
    if given is None or len(given) >= names.size:
        return None
    if not set(given).issuperset(wanted) or not set(given).issubset(names.tolist()):
        return None
    return nw.from_native(X, eager_only=True).select(wanted).to_native()
