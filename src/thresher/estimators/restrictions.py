"""Which columns a fit must select, and which it may not."""

from typing import Any, NamedTuple

import numpy as np

from thresher.data.design import Design
from thresher.data.space import Space
from thresher.errors import InvalidDataError
from thresher.estimators import parameters as check


class Restrictions(NamedTuple):
    """Columns of X that must be in the model, in the order given, and those that must not, sorted."""

    forced: np.ndarray
    excluded: np.ndarray

    def in_design(self, design: Design) -> dict[str, tuple[int, ...]]:
        """The same in the numbers of a design, as fgm() takes them; a Design given as X may omit columns of zeros."""
        missing = self.forced[~design.holds(self.forced)]
        if missing.size:
            raise InvalidDataError(
                f"always_include contains column {missing[0]}, which has only zeros and is not in the Design given as X"
            )
        excluded = design.ids_here(self.excluded[design.holds(self.excluded)])
        return {"forced": tuple(design.ids_here(self.forced).tolist()), "exclude": tuple(excluded.tolist())}


def restrictions(always_include: Any, exclude: Any, space: Space, names: np.ndarray | None) -> Restrictions:
    """The validated parameters ``always_include`` and ``exclude``; ``names`` are those of a data frame, or None."""
    forced = check.column_numbers("always_include", always_include, space.n_columns, names)
    excluded = np.unique(check.column_numbers("exclude", exclude, space.n_columns, names))
    both = forced[np.isin(forced, excluded)]
    if both.size:
        name = int(both[0]) if names is None else names[both[0]]
        raise ValueError(f"column {name!r} is in always_include and in exclude: remove it from one of them")
    if excluded.size >= space.width:
        raise ValueError(f"exclude names all {space.width} columns of X: at least one must be left to select from")
    return Restrictions(forced, excluded)


def n_features_wanted(value: Any, given: Restrictions, width: int) -> int | None:
    """n_features_to_select as a number of features that the restrictions allow, or None; a fraction is one of all."""
    wanted, most = check.n_features_wanted(value, width), width - given.excluded.size
    if wanted is None:
        return None
    if wanted > most:
        if check.is_integer(value):
            raise ValueError(f"n_features_to_select={value}, but exclude leaves only {most} of the {width} columns")
        wanted = most
    if given.forced.size > wanted:
        raise ValueError(f"always_include names {given.forced.size} columns, but n_features_to_select is {wanted}")
    return wanted
