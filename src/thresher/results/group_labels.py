"""Labels of selected groups."""

from dataclasses import dataclass

import numpy as np

from thresher.errors import InconsistentResultError


@dataclass(frozen=True)
class GroupLabels:
    """What a user calls some of the groups of a fit: labels, places in a list, or nodes of a tree.

    Parameters
    ----------
    units : ndarray of int64
        Numbers of the groups in the fit, sorted.
    labels : ndarray of shape (n_units,)
        Their labels: integers or strings.
    n_candidates : int
        How many groups could be selected.
    noun : str, default="group"
        What one is called: a group, or an input, which a kernel makes several numbers of.
    """

    units: np.ndarray
    labels: np.ndarray
    n_candidates: int
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
