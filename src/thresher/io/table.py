"""What a file gives, and what it must agree with when a model is waiting for it."""

from dataclasses import dataclass, field

import numpy as np

from thresher.errors import InvalidDataError


@dataclass(frozen=True)
class Layout:
    """The columns of the data that a model was fitted to: how many, their names, where svmlight indices begin."""

    n_features: int
    names: tuple[str, ...] | None = None
    index_base: int | None = None
    used: tuple[int, ...] = ()  # columns that the model looks at: of named ones no others are read
    label_column: str | None = None  # where the labels are, if there are any
    open_ended: bool = False  # columns are told apart by number alone, and there may be any


@dataclass(frozen=True)
class Table:
    """X, a float array or a sparse matrix; y, the labels, or None; names of the columns, or None.

    ``index_base`` is the index that the first column has in svmlight text; ``remarks`` tell of what was made good.
    """

    X: object
    y: np.ndarray | None
    names: tuple[str, ...] | None = None
    kind: str = ""
    index_base: int | None = None
    remarks: list[str] = field(default_factory=list)


def tidy_labels(values):
    """Labels as whole numbers if all are, else as numbers if all are, else as words."""
    values = np.asarray(values)
    if values.dtype.kind in "OSU":
        words = values.astype(str)
        try:
            numbers = words.astype(np.float64)
        except ValueError:
            return words
        values = numbers if np.isfinite(numbers).all() else words
    if values.dtype.kind == "f" and np.all(values == np.rint(values)) and np.all(np.abs(values) < 2.0**53):
        return values.astype(np.int64)
    return values


def order_of(names, layout, name):
    """Which of the columns ``names`` each column of the ``layout`` is; -1 where it is missing and not looked at."""
    place = {column: at for at, column in enumerate(names)}
    order = np.array([place.get(column, -1) for column in layout.names], dtype=np.int64)
    missing = [layout.names[j] for j in layout.used if order[j] < 0]
    if missing:
        raise InvalidDataError(f"{name}: {in_short(missing)} of the model {are(missing)} not among the columns")
    return order


def in_short(names, most=5):
    """Some names in quotes, and how many more there are."""
    shown = ", ".join(repr(str(each)) for each in names[:most])
    return shown + (f" and {len(names) - most} more" if len(names) > most else "")


def are(several):
    """The verb for one or several."""
    return "is" if len(several) == 1 else "are"
