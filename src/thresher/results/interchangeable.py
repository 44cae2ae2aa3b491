"""Features that could stand in for selected ones, by number and by name."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from scipy import sparse
from scipy.sparse.csgraph import connected_components

from thresher.errors import did_you_mean


@dataclass(frozen=True, eq=False, repr=False)
class Interchangeable:
    """For each selected feature the others that are correlated with it.

    Parameters
    ----------
    features : ndarray of int64
        The selected features, sorted.
    others : tuple of ndarray of int64
        For each of ``features`` the features that were not selected and are correlated with it, the closest first.
    correlations : tuple of ndarray of float64
        Their correlations, in the same order; negative where one falls as the other rises.
    min_correlation : float
        The smallest |correlation| that was asked for.
    pairs : ndarray of int64 of shape (n_pairs, 2)
        Pairs of selected features that are correlated with each other.
    closest : tuple (feature, other, float), default=None
        Where no other feature is correlated with a selected one: which come closest, by number, and their
        |correlation|. None: some are, or none varies.
    names : mapping of int to str, default=None
        Names of all these features; None: columns have no names.
    """

    features: np.ndarray
    others: tuple[np.ndarray, ...]
    correlations: tuple[np.ndarray, ...]
    min_correlation: float
    pairs: np.ndarray
    closest: tuple[int, int, float] | None = None
    names: Mapping[int, str] | None = None

    def of(self, feature: int | str) -> tuple[np.ndarray, np.ndarray]:
        """The features that are interchangeable with one that was selected.

        Parameters
        ----------
        feature : int or str
            A selected feature, by number or by name.

        Returns
        -------
        others : ndarray of int64 or of str
            The features, the closest first: by name if ``feature`` is a name.
        correlations : ndarray of float64
            Their correlations with ``feature``.

        Raises
        ------
        ValueError
            If the feature was not selected.
        """
        place = self._place(feature)
        others = self.others[place]
        return (self._named(others) if isinstance(feature, str) else others), self.correlations[place]

    @property
    def modules(self) -> tuple[np.ndarray, ...]:
        """Sets of features that stand for each other, the largest first, by name where columns have names.

        A module has the features that are linked by correlations of at least ``min_correlation``, at least one of them
        selected; features on their own are in none.
        """
        ids = np.unique(np.concatenate([self.features, *self.others]))
        sizes = [others.size for others in self.others]
        one = np.searchsorted(ids, np.concatenate([np.repeat(self.features, sizes), self.pairs[:, 0]]))
        other = np.searchsorted(ids, np.concatenate([*self.others, self.pairs[:, 1]]))
        links = sparse.coo_array((np.ones(one.size), (one, other)), shape=(ids.size, ids.size))
        count, module = connected_components(links, directed=False)
        parts = [ids[module == number] for number in range(count)]
        parts = sorted((part for part in parts if part.size > 1), key=lambda part: -part.size)
        return tuple(part if self.names is None else self._named(part) for part in parts)

    def _place(self, feature: int | str) -> int:
        """Where a selected feature is among ``features``."""
        if isinstance(feature, str):
            if self.names is None:
                raise ValueError(f"the columns of X have no names: pass the number of a feature, not {feature!r}")
            names = self._named(self.features).tolist()
            if feature in names:
                return names.index(feature)
            near = did_you_mean(feature, names) or "; ``features`` has the numbers of those that were"
            raise ValueError(f"feature {feature!r} was not selected{near}")
        place = int(np.searchsorted(self.features, feature))
        if place == self.features.size or self.features[place] != feature:
            raise ValueError(f"feature {feature!r} was not selected; ``features`` has those that were")
        return place

    def _named(self, ids: np.ndarray) -> np.ndarray:
        """The names of features."""
        names = self.names or {}
        return np.array([names[number] for number in ids.tolist()], dtype=object)

    def __repr__(self) -> str:
        found = sum(others.size > 0 for others in self.others)
        if found:
            modules = len(self.modules)
            return (
                f"Interchangeable({found} of {self.features.size} selected features have others with |correlation| >= "
                f"{self.min_correlation:g}, in {modules} module{'s' * (modules != 1)})"
            )
        nearest = ""
        if self.closest is not None:
            one, other = (self.names[j] if self.names else j for j in self.closest[:2])
            nearest = f"; the largest is {self.closest[2]:.3g}, of {one!r} with {other!r}"
        return (
            f"Interchangeable(no other feature has a |correlation| >= {self.min_correlation:g} with a selected "
            f"one{nearest})"
        )
