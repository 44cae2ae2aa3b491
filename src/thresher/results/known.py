"""What is known of selected features: how much they vary and matter, labels of groups."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Protocol, Self

import numpy as np

from thresher.errors import InconsistentResultError
from thresher.state import ArrayReader, ArrayWriter, fields, get_ids, get_value, need, put_value, required, string

SPREAD = required("columns", "std")
LABELS = required("units", "labels") | {"noun": "group"}


def consistent(condition: bool, message: str) -> None:
    """Raise InconsistentResultError with ``message`` unless ``condition``; works under ``python -O`` too."""
    if not condition:
        raise InconsistentResultError(message)


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
        consistent(self.covers(features), "the standard deviation of a selected column is missing")
        return self.std[np.searchsorted(self.columns, features)]

    def only(self, features: np.ndarray) -> Self:
        """The standard deviations of some of the columns alone.

        Parameters
        ----------
        features : ndarray of int64
            Numbers of columns, sorted; each must be one of ``columns``.

        Returns
        -------
        Spread
            Of these columns.
        """
        return replace(self, columns=features, std=self.of(features))

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
        state = fields(state, SPREAD, what)
        columns = get_ids(reader, state["columns"], f"columns of the {what}", count)
        std = reader.get(state["std"], "<f8", columns.shape, f"std of the {what}")
        need(bool((std >= 0.0).all()), f"the {what} contains a negative standard deviation")
        return cls(columns, std)


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
        consistent(bool(np.isin(units, self.units).all()), "the label of a selected group is missing")
        return self.labels[np.searchsorted(self.units, units)]

    def only(self, units: np.ndarray) -> Self:
        """The labels of some of the groups alone.

        Parameters
        ----------
        units : ndarray of int64
            Numbers of groups, sorted; each must be one of ``self.units``.

        Returns
        -------
        GroupLabels
            Of these groups.
        """
        return replace(self, units=units, labels=self.of(units))

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
            "units": writer.put(f"{name}.units", self.units, "<i8"),
            "labels": put_value(writer, f"{name}.labels", self.labels.tolist()),
            "noun": self.noun,
        }

    @classmethod
    def from_state(cls, reader: ArrayReader, state: Any, what: str) -> Self:
        """The GroupLabels that ``to_state`` was called on.

        Parameters
        ----------
        reader : ArrayReader
            Has the arrays.
        state : dict
            The part of a document, which is validated.
        what : str
            What they are called in messages.

        Returns
        -------
        GroupLabels
            Valid ones.
        """
        state = fields(state, LABELS, what)
        units = get_ids(reader, state["units"], f"units of {what}")
        labels = get_value(reader, state["labels"], what)
        valid = isinstance(labels, list) and all(type(label) in (int, str) for label in labels)
        need(valid and len(labels) == units.size, f"{what} must be integers or strings, one for each unit")
        array = np.empty(units.size, dtype=np.int64 if all(type(label) is int for label in labels) else object)
        array[:] = labels
        return cls(units, array, string(state["noun"], "noun of the groups", 40))


class KnownFeatures(Protocol):
    """What results ask of FittedFeatures: see ``thresher.features.FittedFeatures``."""

    @property
    def spread(self) -> Spread | None:
        """Standard deviations of the features; None: not known."""

    @property
    def labels(self) -> GroupLabels | None:
        """Labels of groups of features; None: features are selected one by one."""

    def column_name(self, j: int) -> str:
        """The column ``j`` of X in results."""

    def names(self, ids: np.ndarray, label: Callable[[int], str]) -> list[str]:
        """Names of features; ``label`` names a column of X."""

    def pairs_of(self, ids: np.ndarray) -> np.ndarray | None:
        """The two columns of X that each feature is made of; None: it is made of one."""


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

        That is so for streams, which keep no statistics of columns, for additive kernels, and for files of earlier
        versions.
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


class OfFittedFeatures(WithImportance):
    """The features of a model, or the groups of them, by what is known from the fit."""

    features: np.ndarray
    units: np.ndarray | None
    fitted_features: KnownFeatures | None

    @property
    def spread(self) -> Spread | None:  # type: ignore[override]  # of GridPoint it is a field
        """Standard deviations of the features on the path over the training samples; None: not known."""
        return None if self.fitted_features is None else self.fitted_features.spread

    @property
    def labels(self) -> GroupLabels | None:
        """Labels of the groups on the path; None: features were selected one by one."""
        return None if self.fitted_features is None else self.fitted_features.labels

    @property
    def noun(self) -> str:
        """What is counted: features, or groups or inputs of them."""
        return "feature" if self.units is None else "group" if self.labels is None else self.labels.noun

    @property
    def groups(self) -> np.ndarray | None:
        """Labels of the selected groups; None where features were selected one by one."""
        if self.units is None:
            return None
        return self.units.copy() if self.labels is None else self.labels.of(self.units)

    @property
    def pairs(self) -> np.ndarray | None:
        """(n_features, 2): columns i <= j of each product, (i, -1) of a linear term; None: features are no products."""
        return None if self.fitted_features is None else self.fitted_features.pairs_of(self.features)
