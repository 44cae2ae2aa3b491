"""Importance: how much a feature matters, whatever the units of its column."""

from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from thresher.errors import InconsistentResultError
from thresher.state import ArrayReader, ArrayWriter, fields, get_ids, need, required

STATE = required("columns", "std")


@dataclass(frozen=True)
class Spread:
    """Standard deviations of some columns of X over the samples of a fit, counted by their weights.

    Parameters
    ----------
    columns : ndarray of int64
        Numbers of the columns, sorted.
    std : ndarray of float64
        Their standard deviations, in the units of X; of a column whose squares overflow, its largest |x|.
    """

    columns: np.ndarray
    std: np.ndarray

    def of(self, features: np.ndarray) -> np.ndarray:
        """Standard deviations of some of the columns.

        Parameters
        ----------
        features : ndarray of int64
            Numbers of columns; each must be one of ``columns``.

        Returns
        -------
        ndarray of float64
            One for each of ``features``.

        Raises
        ------
        InconsistentResultError
            If the standard deviation of a column is not known.
        """
        if not self.covers(features):
            raise InconsistentResultError("the standard deviation of a selected column is missing")
        return self.std[np.searchsorted(self.columns, features)]

    def covers(self, features: np.ndarray) -> bool:
        """Whether the standard deviations of all these columns are known.

        Parameters
        ----------
        features : ndarray of int64
            Numbers of columns.

        Returns
        -------
        bool
            Whether ``of`` accepts them.
        """
        return bool(np.isin(features, self.columns).all())

    def to_state(self, writer: ArrayWriter, name: str) -> dict[str, Any]:
        """As a part of a document.

        Parameters
        ----------
        writer : ArrayWriter
            Takes the arrays.
        name : str
            What they are called.

        Returns
        -------
        dict
            What ``from_state`` takes.
        """
        return {
            "columns": writer.put(f"{name}.columns", self.columns, "<i8"),
            "std": writer.put(f"{name}.std", self.std, "<f8"),
        }

    @classmethod
    def from_state(cls, reader: ArrayReader, state: Any, count: int, what: str) -> Self:
        """The Spread that ``to_state`` was called on.

        Parameters
        ----------
        reader : ArrayReader
            Has the arrays.
        state : dict
            The part of a document, which is validated.
        count : int
            Number of columns, or features, that there are.
        what : str
            What it is called in messages.

        Returns
        -------
        Spread
            A valid one.
        """
        state = fields(state, STATE, what)
        columns = get_ids(reader, state["columns"], f"columns of the {what}", count)
        std = reader.get(state["std"], "<f8", columns.shape, f"std of the {what}")
        need(bool((std >= 0.0).all()), f"the {what} contains a negative standard deviation")
        return cls(columns, std)


class WithImportance:
    """What a model of selected features says about how much each of them matters.

    **The importance of a feature is |weight| times the standard deviation of its column**, over the samples of the fit:
    the standard deviation of what the feature adds to the scores. It does not depend on the units of the column, as the
    weight does, nor on the ``scale`` of the fit. With more than two classes |weight| is the Euclidean norm over them. A
    constant column has importance 0: it moves all scores alike.
    """

    features: np.ndarray
    weights: np.ndarray
    spread: Spread | None

    @property
    def importance(self) -> np.ndarray | None:
        """Importance of each feature; None where the columns' standard deviations are not known.

        That is so for streams, which keep no statistics of columns, and for model files of earlier versions.
        """
        return None if self.spread is None else self._lengths * self.spread.of(self.features)

    @property
    def ranking(self) -> np.ndarray:
        """Positions of the features, the most important first; where importance is not known, by |weight|."""
        importance, lengths = self.importance, self._lengths
        return np.lexsort((-lengths,) if importance is None else (-lengths, -importance))

    @property
    def _lengths(self) -> np.ndarray:
        """|weight| of each feature: with more than two classes the norm over them."""
        return np.abs(self.weights) if self.weights.ndim == 1 else np.linalg.norm(self.weights, axis=1)
