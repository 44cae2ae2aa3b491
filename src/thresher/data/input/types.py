"""X as users pass it: what cannot become a matrix of numbers is named here, before anything is converted.

Data frames are recognised by their attributes, so that no library of data frames is imported.
"""

import numbers
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from scipy import sparse

from thresher.data.designs.base import Design
from thresher.errors import InvalidDataError, InvalidDataTypeError

EXPECTED = "expected a 2D array, a sparse matrix, a data frame, a Design or a list of rows"
ARRAY_PROTOCOLS = ("__array__", "__array_interface__", "__array_namespace__", "__dataframe__", "__arrow_c_stream__")
# Types of columns by how their names begin in pandas, polars and pyarrow; all others are looked at.
NUMERIC = re.compile(r"u?int|float|double|half|bool|decimal|complex|sparse", re.IGNORECASE)
DATE = re.compile(r"date|time|duration|period", re.IGNORECASE)
ENCODE = "Encode it as numbers (scikit-learn's OneHotEncoder or OrdinalEncoder), or drop it"
CONVERT = "Convert it to a number (for example days since a date), or drop it"
MOST_NAMED = 5  # columns named in one message


def check_given(X: Any) -> None:
    """Raise an error that says what X is and what to pass instead, unless it can be a matrix of numbers.

    Values are looked at only in columns of data frames that are not numeric by their type.
    """
    if isinstance(X, (Design, np.ndarray)) or sparse.issparse(X):
        return
    if not hasattr(X, "shape") and hasattr(X, "collect"):
        raise InvalidDataTypeError("X is a lazy data frame: call its collect() first")
    _check_annotated(X)
    columns = _columns(X)
    if columns is not None:
        _check_names(columns[0])
        _check_types(X, *columns)
    elif not _can_be_array(X):
        raise InvalidDataTypeError(f"X is {_described(X)}; {EXPECTED}{_way(X)}")


def _check_annotated(X: Any) -> None:
    """Raise if X is an AnnData, MuData or a matrix of one that is still in its file."""
    kinds = {kind.__name__ for kind in type(X).__mro__}
    parts = ("X", "obs", "var", "obs_names", "var_names")
    if "AnnData" in kinds or (not hasattr(X, "columns") and all(hasattr(X, name) for name in parts)):
        backed = bool(getattr(X, "isbacked", False))
        load = "it is backed by a file, so load it first: adata = adata.to_memory(). Then pass" if backed else "pass"
        raise InvalidDataTypeError(
            f"X is {_described(X)}; {load} its matrix adata.X as X and a column of adata.obs as y: "
            'fit(adata.X, adata.obs["cell_type"]). The names of the features are adata.var_names: '
            "get_feature_names_out(adata.var_names) returns those that were selected"
        )
    if "MuData" in kinds:
        raise InvalidDataTypeError(f"X is {_described(X)}; pass the matrix of one modality, mdata['rna'].X")
    if type(X).__module__.partition(".")[0] == "anndata" and hasattr(X, "to_memory"):
        raise InvalidDataTypeError(f"X is {_described(X)}, a matrix that is still in its file: pass X.to_memory()")


def _described(X: Any) -> str:
    if X is None:
        return "None"
    if isinstance(X, str):
        return f"the string {X[:60]!r}"
    module, name = type(X).__module__, type(X).__qualname__
    return f"an object of type {name}" if module == "builtins" else f"an object of type {module}.{name}"


def _way(X: Any) -> str:
    """What to do about an object of a wrong type, if that can be told."""
    if isinstance(X, str):
        return ". To read a file, use thresher.io.read(path), which returns X, y and names"
    if isinstance(X, Mapping):
        return ". Pass one of its arrays, or of columns by name a data frame: pandas.DataFrame(X)"
    if isinstance(X, Iterator):
        return ". Pass list(X)"
    return ""


def _can_be_array(X: Any) -> bool:
    """Whether numpy makes more of X than an object; numbers are left to scikit-learn's check of dimensions."""
    if isinstance(X, (str, bytes, bytearray, Mapping)) or X is None:
        return False
    sequence = isinstance(X, Sequence) or (hasattr(X, "__len__") and hasattr(X, "__getitem__"))
    return sequence or isinstance(X, (numbers.Number, np.generic)) or any(hasattr(X, name) for name in ARRAY_PROTOCOLS)


def _columns(X: Any) -> tuple[Any, list] | None:
    """(names, types) of the columns of a data frame of pandas, polars or pyarrow, or None."""
    if hasattr(X, "column_names") and hasattr(X, "schema"):
        return list(X.column_names), list(X.schema.types)
    if hasattr(X, "columns") and hasattr(X, "dtypes"):
        return X.columns, list(X.dtypes)
    return None


def _check_names(names: Any) -> None:
    unique = names.is_unique if hasattr(names, "is_unique") else len(set(names)) == len(names)
    if not unique:
        repeated = [f"{name!r} ({count} times)" for name, count in Counter(names).items() if count > 1]
        more = f" and {len(repeated) - MOST_NAMED} more" if len(repeated) > MOST_NAMED else ""
        raise InvalidDataError(
            f"duplicate column names in X: {', '.join(repeated[:MOST_NAMED])}{more}; rename or drop the duplicates"
        )


def _check_types(X: Any, names: Any, types: list) -> None:
    """Raise if a column holds dates or text, naming the first such column and counting the others."""
    # types cannot all be compared with each other, but hashed
    kinds = {kind: str(kind) for kind in dict.fromkeys(types)}
    odd = {kind for kind, name in kinds.items() if not NUMERIC.match(name)}
    if not odd:
        return
    suspects = [j for j, kind in enumerate(types) if kind in odd]
    found = [(j, problem) for j in suspects if (problem := _problem(_column(X, j), kinds[types[j]]))]
    if found:
        labels = list(names)
        first, (what, advice) = found[0]
        others = [repr(labels[j]) for j, _ in found[1:]]
        shown = ", ".join(others[:MOST_NAMED]) + (" and more" if len(others) > MOST_NAMED else "")
        more = f" {len(others)} more columns of X are not numeric: {shown}." if others else ""
        raise InvalidDataError(f"column {labels[first]!r} of X {what}; all columns must be numeric. {advice}.{more}")


def _column(X: Any, j: int) -> Any:
    """Column ``j`` of a data frame of pandas, polars or pyarrow."""
    if hasattr(X, "iloc"):
        return X.iloc[:, j]
    return X.to_series(j) if hasattr(X, "to_series") else X.column(j)


def _problem(column: Any, kind: str) -> tuple[str, str] | None:
    """(what is wrong with a column, what to do about it), or None if its values are numbers."""
    if DATE.match(kind):
        return f"contains dates or times (its type is {kind})", CONVERT
    values = np.asarray(column, dtype=object).ravel()
    try:
        values.astype(np.float64)
    except (TypeError, ValueError):
        pass
    else:
        return None
    row, value = next((i, value) for i, value in enumerate(values) if not _is_number(value))
    if hasattr(value, "isoformat") or hasattr(value, "total_seconds"):
        return f"contains dates or times ({value!r} in row {row})", CONVERT
    if isinstance(value, (str, bytes)):
        text = value if len(value) <= 40 else value[:37]
        what = "is categorical" if re.match("categor|enum|dictionary", kind, re.IGNORECASE) else "contains text"
        return f"{what} ({text!r} in row {row})", ENCODE
    kind_of_value = type(value).__name__
    return f"contains an object of type {kind_of_value} in row {row}", "Convert it to numbers, or drop it"


def _is_number(value: Any) -> bool:
    """Whether a value of an object column becomes a number; None becomes NaN."""
    try:
        float(np.nan if value is None else value)
    except (TypeError, ValueError):
        return False
    return True
