"""How the columns of tables become numbers, as training data says: levels of text, values for missing entries."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from thresher.data.input.imputing import WAYS
from thresher.state import register

MOST_LEVELS = 50  # of a column of text


@register
@dataclass(frozen=True, eq=False)
class Encoding:
    """What training data says of columns that are not all numbers; a model keeps it, to read new data alike.

    Parameters
    ----------
    levels : dict of lists of str, default={}
        The texts of each column of text, by its name: X has a column of zeros and ones for each of them, in place of
        the text. A text that is not among them is zero in all.
    fills : ndarray of shape (n_features,), default=None
        What stands for a missing value in each column of X. None: no value may be missing.
    impute : {"mean", "median"}, default=None
        How these were found.
    """

    levels: dict[str, list[str]] = field(default_factory=dict)
    fills: Any = None
    impute: str | None = None

    def __post_init__(self) -> None:
        texts = isinstance(self.levels, dict) and all(
            isinstance(name, str) and isinstance(levels, list) and all(isinstance(text, str) for text in levels)
            for name, levels in self.levels.items()
        )
        if not texts:
            raise ValueError("levels of an Encoding must be lists of strings by the names of columns")
        if self.impute not in (None, *WAYS):
            raise ValueError(f"impute of an Encoding must be one of {', '.join(WAYS)} or None, got {self.impute!r}")
        if (self.fills is None) != (self.impute is None):
            raise ValueError("fills and impute of an Encoding must be given together")
        if self.fills is not None:
            fills = self.fills
            if not isinstance(fills, np.ndarray) or fills.ndim != 1 or fills.dtype.kind != "f":
                raise ValueError("fills of an Encoding must be a 1D array of floats")
            if not np.isfinite(fills).all():
                raise ValueError("fills of an Encoding must be finite")

    def names(self, column: str) -> list[str]:
        """The columns of X that a column of the table becomes."""
        if column not in self.levels:
            return [column]
        return [f"{column}={text}" for text in self.levels[column]]

    def origins(self) -> dict[str, str]:
        """{column of X: column of text that it is a level of}."""
        return {name: column for column in self.levels for name in self.names(column)}
