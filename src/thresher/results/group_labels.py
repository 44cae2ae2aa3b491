"""Labels of selected groups."""

from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from thresher.errors import InconsistentResultError
from thresher.state import ArrayReader, ArrayWriter, fields, get_ids, get_value, need, put_value, required, string

STATE = required("units", "labels") | {"noun": "group"}


@dataclass(frozen=True)
class GroupLabels:
    """What a user calls some of the groups of a fit: labels, places in a list, or nodes of a tree.

    Parameters
    ----------
    units : ndarray of int64
        Numbers of the groups in the fit, sorted.
    labels : ndarray of shape (n_units,)
        Their labels: integers or strings.
    noun : str, default="group"
        What one is called: a group, or an input, which a kernel makes several numbers of.
    """

    units: np.ndarray
    labels: np.ndarray
    noun: str = "group"

    def of(self, units: np.ndarray) -> np.ndarray:
        """Labels of some of the groups.

        Parameters
        ----------
        units : ndarray of int64
            Numbers of groups; each must be one of ``self.units``.

        Returns
        -------
        ndarray
            One label for each of ``units``.

        Raises
        ------
        InconsistentResultError
            If the label of a group is not known.
        """
        if not np.isin(units, self.units).all():
            raise InconsistentResultError("the label of a selected group is missing")
        return self.labels[np.searchsorted(self.units, units)]

    def to_state(self, writer: ArrayWriter, name: str) -> dict[str, Any]:
        """As a part of a document; the parameters are those of ``Spread.to_state``."""
        return {
            "units": writer.put(f"{name}.units", self.units, "<i8"),
            "labels": put_value(writer, f"{name}.labels", self.labels.tolist()),
            "noun": self.noun,
        }

    @classmethod
    def from_state(cls, reader: ArrayReader, state: Any, what: str) -> Self:
        """The GroupLabels that ``to_state`` was called on; the parameters are those of ``Spread.from_state``."""
        state = fields(state, STATE, what)
        units = get_ids(reader, state["units"], f"units of {what}")
        labels = get_value(reader, state["labels"], what)
        valid = isinstance(labels, list) and all(type(label) in (int, str) for label in labels)
        need(valid and len(labels) == units.size, f"{what} must be integers or strings, one for each unit")
        array = np.empty(units.size, dtype=np.int64 if all(type(label) is int for label in labels) else object)
        array[:] = labels
        return cls(units, array, string(state["noun"], "noun of the groups", 40))
