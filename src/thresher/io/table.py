"""What is read from a file, and the layout that a model expects."""

import numbers
from dataclasses import dataclass, field, fields
from typing import Any

import numpy as np

from thresher.data.input.encoding import Encoding
from thresher.data.input.validation import stored_entries
from thresher.errors import InvalidDataError

FILE_KINDS = ("svmlight", "npz", "npy", "csv", "parquet")


@dataclass(frozen=True)
class Source:
    """The file a model was fitted to and how it was read: what is needed to read other files in the same way.

    Parameters
    ----------
    file : str, default=None
        Name of the file; for information only.
    kind : {"svmlight", "npz", "npy", "csv", "parquet"}, default=None
        Format of the file; for information only.
    index_base : {0, 1}, default=None
        Index of the first column in svmlight text; None if the data was not svmlight text.
    label_column : str, default=None
        Name of the label column of a csv or Parquet file.
    open_ended : bool, default=False
        Whether columns are identified by number only, and there may be more than were seen in fit.
    left_out : list of str, default=[]
        Columns of a csv or Parquet file that looked like an index and were left out; without a header by number.
    notes : dict, default={}
        Anything else to keep, as JSON-serializable values; thresher does not read it.
    bag_column : str, default=None
        Name of the column of a csv or Parquet file, or of the array of an .npz file, with the bag of each row.
    encoding : Encoding, default=None
        How texts and missing values became numbers, as ``read`` returned it in its Table. None: all were numbers.
    """

    file: str | None = None
    kind: str | None = None
    index_base: int | None = None
    label_column: str | None = None
    open_ended: bool = False
    left_out: list[str] = field(default_factory=list)
    notes: dict[str, Any] = field(default_factory=dict)
    bag_column: str | None = None
    encoding: Encoding | None = None

    def __post_init__(self):
        text = ((str, type(None)), "a string or None")
        expected: dict[str, tuple[Any, str]] = {
            "file": text, "label_column": text, "bag_column": text, "open_ended": (bool, "True or False"),
            "left_out": ((list, tuple), "a list of strings"), "notes": (dict, "a dict"),
            "encoding": ((Encoding, type(None)), "an Encoding or None"),
        }  # fmt: skip
        for name, (types, what) in expected.items():
            value = getattr(self, name)
            if not isinstance(value, types) or (
                name == "left_out" and not all(isinstance(each, str) for each in value)
            ):
                raise TypeError(f"{name} of a Source must be {what}, got {value!r}")
        if self.kind not in (None, *FILE_KINDS):
            raise ValueError(f"kind of a Source must be one of {', '.join(FILE_KINDS)} or None, got {self.kind!r}")
        if self.index_base is not None:
            integer = isinstance(self.index_base, numbers.Integral) and not isinstance(self.index_base, bool)
            if not integer or self.index_base not in (0, 1):
                raise ValueError(f"index_base of a Source must be 0, 1 or None, got {self.index_base!r}")
            object.__setattr__(self, "index_base", int(self.index_base))  # also from numpy's integers
        object.__setattr__(self, "left_out", list(self.left_out))

    @classmethod
    def takes(cls, name: str, value: Any) -> bool:
        """Whether a value is valid for a field.

        Parameters
        ----------
        name : str
            Name of the field.
        value : object
            The value.

        Returns
        -------
        bool
            Also False if there is no such field.
        """
        if name not in {known.name for known in fields(cls)}:
            return False
        try:
            cls(**{name: value})
        except (TypeError, ValueError):
            return False
        return True


@dataclass(frozen=True)
class Layout:
    """The columns of the data that a model was fitted on: how many, their names, the first index of svmlight text."""

    n_features: int
    names: tuple[str, ...] | None = None
    index_base: int | None = None
    used: tuple[int, ...] = ()  # columns that the model uses: of files with names no others are read
    label_column: str | None = None  # name of the label column, if there is one
    open_ended: bool = False  # columns are identified by number only, and there may be any number of them
    left_out: tuple[str, ...] = ()  # columns that were left out of the training data as an index
    bag_column: str | None = None  # name of the column or array of bags, if there is one
    encoding: Encoding | None = None  # how texts and missing values of the training data became numbers


@dataclass(frozen=True)
class Table:
    """X, a float array or a sparse matrix; y, the labels, or None; names of the columns, or None; the bag of each row.

    ``index_base`` is the index that the first column has in svmlight text; ``remarks`` list what was
    corrected or ignored; ``left_out`` are names of columns that looked like an index, or numbers without a header.
    ``encoding`` says how texts and missing values became numbers; ``origins`` is the column of the file that each
    column of X was made of, if there are columns of text.
    """

    X: Any
    y: np.ndarray | None
    names: tuple[str, ...] | None = None
    kind: str = ""
    index_base: int | None = None
    remarks: list[str] = field(default_factory=list)
    left_out: tuple[str, ...] = ()
    bags: np.ndarray | None = None
    encoding: Encoding | None = None
    origins: tuple[str, ...] | None = None

    @property
    def entries(self) -> int:
        """Number of stored values of X."""
        return stored_entries(self.X)


def tidy_labels(values):
    """Labels as integers if all are, else as floats if all are numbers, else as strings."""
    values = np.asarray(values)
    if values.dtype.kind in "OSU":
        strings = values.astype(str)
        try:
            floats = strings.astype(np.float64)
        except ValueError:
            return strings
        values = floats if np.isfinite(floats).all() else strings
    if values.dtype.kind == "f" and np.all(values == np.rint(values)) and np.all(np.abs(values) < 2.0**53):
        return values.astype(np.int64)
    return values


def tidy_bags(values):
    """Names of bags: strings as integers or floats if all are written as those are, since "01" and "1" are two bags."""
    values = np.asarray(values)
    if values.dtype.kind not in "OSU":
        return tidy_labels(values)
    strings = values.astype(str)
    for kind in (np.int64, np.float64):
        try:
            numbers = strings.astype(kind)
        except (ValueError, OverflowError):
            continue
        if np.array_equal(numbers.astype(str), strings):
            return tidy_labels(numbers)
    return strings


def order_of(names, layout, name):
    """Position in ``names`` of each column of the ``layout``; -1 if it is missing and not used by the model."""
    place = {column: j for j, column in enumerate(names)}
    order = np.array([place.get(column, -1) for column in layout.names], dtype=np.int64)
    missing = [layout.names[j] for j in layout.used if order[j] < 0]
    if missing:
        raise InvalidDataError(f"{name}: missing columns that the model uses: {in_short(missing)}")
    return order


def in_short(names, most=5):
    """Some names in quotes, and how many more there are."""
    shown = ", ".join(repr(str(name)) for name in names[:most])
    return shown + (f" and {len(names) - most} more" if len(names) > most else "")
