"""How the columns of a design are numbered, and in what units they are, where X is as given."""

from abc import ABC, abstractmethod
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from thresher.data.blocks.base import Block
from thresher.data.blocks.native import put_columns


class PartOfX(ABC):
    """Columns of X as given, perhaps on another scale, and perhaps without some of zeros.

    They have the numbers 0..p-1 here; ``ids`` (None or sorted int64) gives their column indices in X if some are left
    out.
    """

    ids: np.ndarray | None = None

    @abstractmethod
    def take(self, ids: np.ndarray) -> Block:
        """Columns, in memory.

        Parameters
        ----------
        ids : ndarray of int64
            Numbers of the columns in this design.

        Returns
        -------
        Block
            The columns, in the order of ``ids``.
        """

    def in_units_of_X(self, ids: np.ndarray, w: np.ndarray) -> tuple[np.ndarray, float | np.ndarray]:
        """Weights on columns of X as given that score as others do on the columns of this design.

        Parameters
        ----------
        ids : ndarray of int64
            Numbers of the columns in this design.
        w : ndarray of shape (n_ids,) or (n_ids, n_classes)
            Weights on the columns here.

        Returns
        -------
        weights : ndarray
            Of the shape of ``w``.
        offset : float or ndarray of shape (n_classes,)
            What is to be added to the scores.
        """
        return w, 0.0

    def in_units_here(self, ids: np.ndarray, weights: np.ndarray) -> np.ndarray:
        """Weights on the columns here that score as others do on X as given: the inverse of ``in_units_of_X``.

        Parameters
        ----------
        ids : ndarray of int64
            Numbers of the columns in this design.
        weights : ndarray of shape (n_ids,) or (n_ids, n_classes)
            Weights on the columns of X as given.

        Returns
        -------
        ndarray
            Of the shape of ``weights``.
        """
        return weights

    def take_as_given(self, ids: np.ndarray) -> tuple[Block, np.ndarray]:
        """Columns of X as given, before scaling.

        Parameters
        ----------
        ids : ndarray of int64
            Numbers of the columns in X, sorted.

        Returns
        -------
        block : Block
            The columns ``ids[known]``; all entries of the others are zero.
        known : ndarray of int64
            Positions in ``ids``.
        """
        known = np.flatnonzero(self.holds(ids))
        return self.take(self.ids_here(ids[known])), known

    def as_given(self, ids: np.ndarray) -> Any:
        """Columns of X as given.

        Parameters
        ----------
        ids : ndarray of int64
            Numbers of the columns in X, sorted.

        Returns
        -------
        ndarray or sparse matrix of shape (n_samples, n_ids)
            The columns.
        """
        block, known = self.take_as_given(ids)
        return put_columns(block.native(), known, len(ids)) if known.size < len(ids) else block.native()

    def holds(self, ids: ArrayLike) -> np.ndarray:
        """Which columns of X are in this design; the others have only zeros.

        Parameters
        ----------
        ids : array-like of int
            Numbers of the columns in X.

        Returns
        -------
        ndarray of bool
            One for each of ``ids``.
        """
        ids = np.asarray(ids, dtype=np.int64)
        return np.ones(ids.shape, dtype=bool) if self.ids is None else np.isin(ids, self.ids)

    def ids_in_X(self, ids: ArrayLike) -> np.ndarray:
        """Numbers in X of features of this design.

        Parameters
        ----------
        ids : array-like of int
            Numbers of the columns in this design.

        Returns
        -------
        ndarray of int64
            Numbers of the columns in X.
        """
        ids = np.asarray(ids, dtype=np.int64)
        return ids if self.ids is None else self.ids[ids]

    def ids_here(self, ids: ArrayLike) -> np.ndarray:
        """Numbers in this design of columns of X.

        Parameters
        ----------
        ids : array-like of int
            Numbers of the columns in X.

        Returns
        -------
        ndarray of int64
            Numbers of the columns in this design.

        Raises
        ------
        KeyError
            If the design leaves one of the columns out, since it has no non-zero entry.
        """
        ids = np.asarray(ids, dtype=np.int64)
        if self.ids is None:
            return ids
        positions = np.searchsorted(self.ids, ids)
        known = (positions < self.ids.size) & (self.ids[np.minimum(positions, self.ids.size - 1)] == ids)
        if not known.all():
            raise KeyError(f"column {int(ids[~known][0])} contains only zeros")
        return positions
