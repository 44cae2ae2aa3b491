"""FittedFeatures: what a model selects from, as new data needs it.

A model identifies its features by ids. Its FittedFeatures say what an id means in new data, its name and its place in
X, how much it varied over the training samples, and what belongs to it in a model file. Each kind of feature has its
own, in the package of that kind.
"""

import dataclasses
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Self

import numpy as np

from thresher.data.blocks.native import put_columns
from thresher.data.designs.base import Design
from thresher.data.input.validation import count_columns
from thresher.errors import InvalidDataError
from thresher.results import GroupLabels, Spread
from thresher.results.description import Listing
from thresher.state import (
    INT64,
    ArrayReader,
    ArrayWriter,
    OfKind,
    fields,
    get_value,
    integer,
    put_value,
    reported,
    required,
)

Label = Callable[[int], str]  # the name of a column of X
KEY = "fitted_features"  # in model documents


@dataclass(frozen=True, eq=False)
class FittedFeatures(OfKind, ABC):
    """All features of a fit. X is a validated array, CSR or CSC matrix, or a Design.

    Fields that a subclass adds are what a model file has of it. They may be numbers, strings, arrays, sparse matrices,
    lists, dicts and frozen dataclasses that ``thresher.features.register`` knows; ``check_parts`` validates them.

    Parameters
    ----------
    n_columns : int
        Number of columns of X.
    n_candidates : int, default=None
        How many features, or groups of them, could be selected; None: all.
    spread : Spread, default=None
        Standard deviations of the features on the path over the training samples; None: not known.
    labels : GroupLabels, default=None
        Labels of the groups on the path; None: features are selected one by one.
    column_names : sequence of str, default=None
        Names of the columns of X, for messages.
    """

    kinds: ClassVar[dict[str, type]] = {}
    n_columns: int
    n_candidates: int | None = field(default=None, kw_only=True)
    spread: Spread | None = field(default=None, kw_only=True, repr=False)
    labels: GroupLabels | None = field(default=None, kw_only=True, repr=False)
    column_names: Sequence[str] | np.ndarray | None = field(default=None, kw_only=True, repr=False)

    candidate: ClassVar[str] = "column"  # a word for one of those that could be selected
    plural: ClassVar[str] = "features"  # a word for features where they are listed
    varies: ClassVar[str] = "column"  # what importance is the standard deviation of

    # what the data must be

    strict: ClassVar[bool] = True  # X must have exactly these columns; else they are identified by number
    of_rows: ClassVar[bool] = True  # each row of X has a value of each feature; else bags of rows have
    named: ClassVar[bool] = True  # the names of columns determine the names of features
    copies: ClassVar[bool] = True  # ``output`` has columns of X as they are

    def check(self, X: Any) -> None:
        """Raise InvalidDataError if X does not have the columns that the features are made of.

        Parameters
        ----------
        X : array, sparse matrix or Design
            New data.
        """
        n_columns = count_columns(X)
        if self.strict and n_columns != self.n_columns:
            raise InvalidDataError(f"X has {n_columns} features, but the model was fitted with {self.n_columns}")

    # features by id

    @property
    @abstractmethod
    def width(self) -> int:
        """Number of ids."""

    @abstractmethod
    def columns(self, X: Any, ids: np.ndarray) -> Any:
        """Values of features in new data.

        Parameters
        ----------
        X : array, sparse matrix or Design
            New data.
        ids : ndarray of int64
            Features, sorted.

        Returns
        -------
        ndarray or sparse matrix of shape (n_samples, n_ids)
            In the storage format of X.
        """

    def scores(self, X: Any, ids: np.ndarray, weights: np.ndarray, intercept: float | np.ndarray) -> np.ndarray:
        """The scores of a model: ``columns(X, ids) @ weights + intercept`` in float64.

        Parameters
        ----------
        X : array, sparse matrix or Design
            New data.
        ids : ndarray of int64
            Features, sorted.
        weights : ndarray of shape (n_ids,) or (n_ids, n_outputs)
            Their weights.
        intercept : float or ndarray of shape (n_outputs,)
            The intercept.

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_outputs)
            Of the shape of the weights.
        """
        return self.columns(X, ids) @ weights + intercept

    @abstractmethod
    def names(self, ids: Sequence[int] | np.ndarray, label: Label) -> list[str]:
        """Names of features.

        Parameters
        ----------
        ids : array-like of int
            Features.
        label : callable
            Names a column of X by its number.

        Returns
        -------
        list of str
            One for each of ``ids``.
        """

    def pairs_of(self, ids: np.ndarray) -> np.ndarray | None:
        """The two columns of X that each feature is made of, (n_ids, 2) with -1 for none; None: it is made of one."""
        return None

    # how a selection is shown

    @property
    def n_listed(self) -> int | None:
        """How many there were to choose from, as it is shown; None: not known."""
        return self.n_columns

    def places(self, ids: np.ndarray) -> list[dict[str, Any]]:
        """Where features are found in X, as JSON-serializable values."""
        return [{"column": int(j)} for j in ids]

    def listing(self, selection: Any, label: Label, unknown: str) -> Listing:
        """A selection as it is shown, the most important feature first.

        Parameters
        ----------
        selection : Selection
            Features with their weights.
        label : callable
            Names a column of X by its number.
        unknown : str
            Why importance is not known, if it is not.

        Returns
        -------
        Listing
            Names, places, weights and importance.
        """
        order, importance = selection.ranking, selection.importance
        ids = selection.features[order]
        ranked_by = f"ranked by |weight|, which depends on the units of a column: {unknown}"
        if importance is not None:
            ranked_by = f"importance: |weight| x standard deviation of the {self.varies}, on the training data"
            importance = importance[order]
        weights = selection.weights[order]
        names = self.names(ids, label)
        return Listing(self.plural, names, self.places(ids), weights, importance, self.n_listed, ranked_by=ranked_by)

    def chunks(self, X: Any, ids: np.ndarray, size: int) -> Iterator[tuple[slice, Any]]:
        """(rows, ``columns`` of them in float64) for ``size`` rows at a time; a Design gives its columns as a whole."""
        whole = self.columns(X, ids) if isinstance(X, Design) else None
        for first in range(0, X.shape[0], size):
            rows = slice(first, first + size)
            part = self.columns(X[rows], ids) if whole is None else whole[rows]
            yield rows, part.astype(np.float64)

    # inputs: what features are made of

    @property
    def n_inputs(self) -> int:
        """How many inputs there are."""
        return self.width

    def inputs(self, ids: np.ndarray) -> np.ndarray:
        """What the features ``ids`` are made of, sorted: by default themselves."""
        return ids

    def shown_name(self, j: int) -> str:
        """The column ``j`` of X in messages: its name in quotes if columns have names, else its number."""
        return str(j) if self.column_names is None else repr(str(self.column_names[j]))

    def column_name(self, j: int) -> str:
        """The column ``j`` of X in results: its name if columns have names, else x0, x1, ..."""
        return f"x{j}" if self.column_names is None else str(self.column_names[j])

    def input_columns(self, X: Any, inputs: np.ndarray) -> Any:
        """The ``inputs`` in X, in its storage format."""
        return self.columns(X, inputs)

    def input_names(self, inputs: Sequence[int] | np.ndarray, label: Label) -> list[str]:
        """Names of ``inputs``; ``label`` names the columns of X."""
        return self.names(inputs, label)

    # what transform returns

    def output(self, X: Any, ids: np.ndarray) -> Any:
        """What ``transform`` returns of the features ``ids``: their inputs, or themselves in the precision of X."""
        if self.copies:
            return self.input_columns(X, self.inputs(ids))
        columns = self.columns(X, ids)
        return columns.astype(np.float32) if X.dtype == np.float32 else columns

    def output_names(self, ids: np.ndarray, label: Label) -> list[str]:
        """Names of the columns of ``output``."""
        return self.input_names(self.inputs(ids), label) if self.copies else self.names(ids, label)

    def put_back(self, columns: Any, ids: np.ndarray) -> Any:
        """The inverse of ``input_columns``: a matrix with all inputs, zero except for ``ids``."""
        return put_columns(columns, ids, self.n_inputs)

    # model files

    def covers(self, ids: np.ndarray) -> bool:
        """Whether all that new data needs of some features is known: by default nothing has to be.

        Parameters
        ----------
        ids : ndarray of int64
            Features, from 0 to ``width`` - 1.

        Returns
        -------
        bool
            Of features on the path of the fit: True.
        """
        return True

    def only(self, ids: np.ndarray, units: np.ndarray | None) -> Self:
        """What new data needs of some features alone, so that a model file of them is small.

        Parameters
        ----------
        ids : ndarray of int64
            Features, sorted, of which all is known.
        units : ndarray of int64 or None
            The groups that they are, if features are selected in groups.

        Returns
        -------
        FittedFeatures
            A copy without what is known of other features.
        """
        spread = None if self.spread is None else self.spread.only(ids)
        labels = None if self.labels is None or units is None else self.labels.only(units)
        return dataclasses.replace(self, spread=spread, labels=labels)

    def check_parts(self) -> None:
        """Raise ValueError if the fields that a subclass adds, which may be of any type, are not valid.

        They come from a file, which may be damaged or malicious.
        """

    def to_state(self, writer: ArrayWriter) -> dict[str, Any]:
        """As a part of a model document.

        Parameters
        ----------
        writer : ArrayWriter
            Takes the arrays.

        Returns
        -------
        dict
            What ``from_state`` takes.
        """
        own = {name: put_value(writer, f"{KEY}.{name}", getattr(self, name)) for name in self._own_names()}
        return {
            "kind": self.kind,
            "n_candidates": None if self.n_candidates is None else int(self.n_candidates),
            **own,
            "labels": None if self.labels is None else self.labels.to_state(writer, "labels"),
            "spread": None if self.spread is None else self.spread.to_state(writer, "spread"),
        }

    @classmethod
    def _own_names(cls) -> list[str]:
        """Names of the fields that a subclass adds."""
        common = {field.name for field in dataclasses.fields(FittedFeatures)}
        return [own.name for own in dataclasses.fields(cls) if own.init and own.name not in common]

    @classmethod
    def from_state(
        cls, reader: ArrayReader, state: Any, n_columns: int, column_names: np.ndarray | None = None
    ) -> "FittedFeatures":
        """The FittedFeatures that ``to_state`` was called on.

        Parameters
        ----------
        reader : ArrayReader
            Has the arrays.
        state : dict
            The part of a document, which is validated.
        n_columns : int
            Number of columns of X.
        column_names : ndarray of str, default=None
            Their names, if X was a data frame.

        Returns
        -------
        FittedFeatures
            Of the class whose kind the state names.
        """
        made = cls.class_of(state, KEY)
        table = required("kind", *made._own_names()) | dict.fromkeys(("n_candidates", "labels", "spread"))
        state = fields(state, table, KEY)
        own = {name: get_value(reader, state[name], f"{name} of {KEY}") for name in made._own_names()}
        with reported(f"{KEY} are invalid"):
            fitted = made(n_columns, **own, column_names=column_names)
            fitted.check_parts()
            width = fitted.width
        count, labels, spread = state["n_candidates"], state["labels"], state["spread"]
        if count is not None:
            count = integer(count, "n_candidates", 1, width if labels is None else INT64 - 1)
        if labels is not None:
            labels = GroupLabels.from_state(reader, labels, "labels of the groups")
        if spread is not None:
            spread = Spread.from_state(reader, spread, width, "spread")
        return dataclasses.replace(fitted, n_candidates=count, labels=labels, spread=spread)
