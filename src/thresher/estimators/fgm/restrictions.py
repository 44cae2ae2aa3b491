"""What a fit may select: columns or groups of them, which of these it must select, and which it may not."""

from typing import Any

import numpy as np

from thresher.data.designs.base import Design
from thresher.data.designs.units import Units
from thresher.errors import InvalidDataError, did_you_mean
from thresher.estimators.shared import parameters as check
from thresher.features.additive.design import ExpandedDesign
from thresher.features.columns import Space
from thresher.features.groups.spec import ColumnNumbers, Grouping, grouping
from thresher.features.groups.units import EachInput, ExpandedUnits
from thresher.features.polynomial.design import ProductDesign
from thresher.features.polynomial.heredity import HereditaryTerms
from thresher.features.polynomial.spec import Polynomial
from thresher.results.products import n_numbers, numbers_of


class Candidates:
    """The ``count`` columns or groups of X that a fit selects from.

    ``forced`` ones must be in the model, in the order given, ``excluded`` ones must not (sorted). ``names`` are those
    of a data frame, or None. A kernel makes ``size`` numbers of each column; None: there is no such kernel. With
    ``polynomial``, what is selected are products: ``forced`` are linear terms, ``excluded`` columns are in no product.
    """

    def __init__(
        self, always_include: Any, exclude: Any, space: Space, names: np.ndarray | None, groups: Any = None,
        size: int | None = None, polynomial: Polynomial | None = None,
    ):  # fmt: skip
        self.grouping: Grouping | None = None
        self.size, self.polynomial, self._n_columns = size, polynomial, space.n_columns
        if groups is None:
            self.noun, self.count = "column", space.n_columns
            self.forced = check.column_numbers("always_include", always_include, space.n_columns, names)
            excluded = check.column_numbers("exclude", exclude, space.n_columns, names)
        else:
            self.grouping = grouping(groups, space.n_columns, _numbers(space.n_columns, names), space.called)
            self.noun, self.count = "group", self.grouping.labels.size
            self.forced = group_numbers("always_include", always_include, self.grouping.labels)
            excluded = group_numbers("exclude", exclude, self.grouping.labels)
        self.excluded = np.unique(excluded)
        both = self.forced[np.isin(self.forced, self.excluded)]
        if both.size:
            name = self._called(int(both[0]), names)
            raise ValueError(f"{self.noun} {name!r} is in always_include and in exclude: remove it from one of them")
        if self.excluded.size >= self.count:
            raise ValueError(
                f"exclude names all {self.count} {self.noun}s of X: at least one must be left to select from"
            )
        if polynomial is not None:
            self._check_products(always_include, groups)
            self.noun, self.count = "feature", n_numbers(self.count) - 1

    def _check_products(self, always_include: Any, groups: Any) -> None:
        if groups is not None:
            raise ValueError('groups and features="polynomial" cannot be combined: products are selected one by one')
        if always_include is not None and self.polynomial is not None and self.polynomial.coef0 == 0.0:
            raise ValueError("always_include needs linear terms, but Polynomial(coef0=0) has none")

    def _called(self, number: int, names: np.ndarray | None) -> Any:
        if self.grouping is not None:
            return self.grouping.labels[number : number + 1].tolist()[0]
        return number if names is None else names[number]

    @property
    def columns(self) -> np.ndarray:
        """Columns of X that a design must keep, even if they have only zeros."""
        return self.forced if self.grouping is None else self.grouping.columns

    @property
    def available(self) -> int:
        """How many there are to select from."""
        if self.polynomial is not None:
            return n_numbers(self._n_columns - self.excluded.size) - 1
        return self.count - self.excluded.size

    @property
    def mean_size(self) -> float:
        """Features of a candidate."""
        return (self.size or 1) * (1.0 if self.grouping is None else self.grouping.mean_size)

    def wanted(self, value: Any) -> int | None:
        """n_features_to_select as a number that the restrictions allow, or None; a fraction is one of all."""
        wanted, most = self._number(value), self.available
        if wanted is None:
            return None
        if wanted > most:
            if check.is_integer(value):
                raise ValueError(
                    f"n_features_to_select={value}, but exclude leaves only {most} of the {self.count} {self.noun}s"
                )
            wanted = most
        if self.forced.size > wanted:
            raise ValueError(
                f"always_include names {self.forced.size} {self.noun}s, but n_features_to_select is {wanted}"
            )
        return wanted

    def _number(self, value: Any) -> int | None:
        return check.n_features_wanted(value, self.count, "feature" if self.grouping is None else self.noun)

    def in_design(self, design: Design) -> dict[str, Any]:
        """Units, what they are called, forced and excluded ones as fgm() takes them.

        A Design given as X may omit columns of zeros.
        """
        forced, excluded, inputs = self.forced, self.excluded, design
        units: Units | None = None
        labels = None if self.grouping is None else self.grouping.labels
        if isinstance(design, ExpandedDesign) and self.size is not None:
            inputs = design.base
            each = EachInput(inputs.width) if self.grouping is None else self.grouping.units(inputs)
            units = ExpandedUnits(each, design.size)
            labels = inputs.ids_in_X(np.arange(inputs.width)) if labels is None else labels
        elif isinstance(design, ProductDesign):
            inputs = design.base
            if design.polynomial.heredity is not None:
                units = HereditaryTerms(design.width, both=design.polynomial.heredity == "strong")
        elif self.grouping is not None:
            units = self.grouping.units(design)
        if self.grouping is None:
            missing = forced[~inputs.holds(forced)]
            if missing.size:
                raise InvalidDataError(
                    f"always_include contains column {missing[0]}, which has only zeros and is not in the Design given "
                    "as X"
                )
            forced, excluded = inputs.ids_here(forced), inputs.ids_here(excluded[inputs.holds(excluded)])
            if self.polynomial is not None:  # linear terms; excluded columns make no products at all
                forced, excluded = numbers_of(forced, np.full_like(forced, -1)), excluded[:0]
        elif self.grouping is not None and units is not None and not np.all(units.members(forced).sizes):
            raise InvalidDataError(
                "always_include contains a group that has only columns of zeros, which are not in the Design given as X"
            )
        restricted = {"forced": tuple(forced.tolist()), "exclude": tuple(excluded.tolist())}
        return restricted | {"units": units, "labels": labels}


def _numbers(n_columns: int, names: np.ndarray | None) -> ColumnNumbers:
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
