"""What a fit must select and what it must not, as users say it: names or numbers of columns, labels of groups."""

from typing import Any

import numpy as np

from thresher.errors import did_you_mean
from thresher.estimators.shared import parameters as check
from thresher.features.fitted_columns import ColumnFeatures
from thresher.features.groups.spec import ColumnNumbers, grouping
from thresher.features.samples import Restrictions


def restrictions_of(always_include: Any, exclude: Any, groups: Any, columns: ColumnFeatures) -> Restrictions:
    """The Restrictions on columns of X, or on ``groups`` of them, that users describe."""
    n_columns = columns.n_columns
    names: Any = columns.column_names
    given, noun, count = None, "column", n_columns
    if groups is None:
        forced = check.column_numbers("always_include", always_include, n_columns, names)
        excluded = check.column_numbers("exclude", exclude, n_columns, names)
    else:
        given = grouping(groups, n_columns, _numbers(n_columns, names), columns.shown_name)
        noun, names, count = "group", given.labels, given.labels.size
        forced = group_numbers("always_include", always_include, given.labels)
        excluded = group_numbers("exclude", exclude, given.labels)
    excluded = np.unique(excluded)
    both = forced[np.isin(forced, excluded)]
    if both.size:
        first = int(both[0])
        name = first if names is None else names[first : first + 1].tolist()[0]
        raise ValueError(f"{noun} {name!r} is in always_include and in exclude: remove it from one of them")
    if excluded.size >= count:
        raise ValueError(f"exclude names all {count} {noun}s of X: at least one must be left to select from")
    return Restrictions(forced, excluded, given)


def _numbers(n_columns: int, names: Any) -> ColumnNumbers:
    """Columns by number or name as numbers; the names are looked up in a table that is made once."""
    place = {} if names is None else {name: j for j, name in enumerate(names.tolist())}

    def numbers(what: str, given: Any) -> np.ndarray:
        given = [given] if isinstance(given, str) or np.ndim(given) == 0 else given
        known = [place.get(column, column) if isinstance(column, str) else column for column in given]
        wrong = any(isinstance(column, str) for column in known)
        return check.column_numbers(what, given if wrong else known, n_columns, names)

    return numbers


def group_numbers(name: str, value: Any, labels: np.ndarray) -> np.ndarray:
    """Labels of groups as unique numbers in the order given."""
    if value is None:
        return np.zeros(0, dtype=np.int64)
    place = {label: number for number, label in enumerate(labels.tolist())}
    given = [value] if isinstance(value, str) or np.ndim(value) == 0 else list(np.asarray(value, dtype=object))
    missing = next((label for label in given if label not in place), None)
    if missing is not None:
        hint = did_you_mean(missing, place)
        raise ValueError(f"{name} contains {missing!r}, which is not the label of a group{hint}")
    return np.array(list(dict.fromkeys(place[label] for label in given)), dtype=np.int64)
