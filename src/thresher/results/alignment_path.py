"""The selection path of kernel alignment: weights of the kernels for every p."""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from itertools import pairwise

import numpy as np

from thresher.results.known import consistent
from thresher.results.points import AlignmentPoint
from thresher.results.weights import SparseRows, sparse_points
from thresher.state import steps_inside


@dataclass(frozen=True, eq=False)
class AlignmentPath:
    """Weights of the kernels of all features, for p from 2 down to 1: the number of features falls from point to point.

    Parameters
    ----------
    p : ndarray of shape (n_points,)
        The norms, descending.
    begins : ndarray of int64 of shape (n_points + 1,)
        Where the features of each point begin.
    ids : ndarray of int64
        Features of all points, one after the other, sorted within each.
    values : ndarray
        Their weights.
    objective : ndarray of shape (n_points,)
        Value of the formulation at each point.
    deviation_bound : ndarray of shape (n_points,)
        By how much each may exceed the minimum, since weights below eps were set to zero.
    alignments : ndarray of shape (n_features,)
        Alignment of each kernel with the labels, divided by the number of samples: between 0 and 1.
    lambda1, lambda2, eps : float
        Weight of the divergence, weight of the norm, and the weight below which a kernel is left out.
    zero_objective : float
        Value of the formulation without any kernel.
    cv_score : ndarray of shape (n_points,), default=None
        Mean score of the folds at each point, NaN where there is none; None without cross-validation.
    """

    p: np.ndarray
    begins: np.ndarray
    ids: np.ndarray = field(repr=False)
    values: np.ndarray = field(repr=False)
    objective: np.ndarray = field(repr=False)
    deviation_bound: np.ndarray = field(repr=False)
    alignments: np.ndarray = field(repr=False)
    lambda1: float = 1.0
    lambda2: float = 1.0
    eps: float = 1e-4
    zero_objective: float = 0.0
    cv_score: np.ndarray | None = field(default=None, repr=False)

    def __len__(self) -> int:
        return self.p.size

    def __repr__(self) -> str:
        if not len(self):
            return "AlignmentPath(no points)"
        n = self.n_features
        return f"AlignmentPath({len(self)} points, p {self.p[0]:g} to {self.p[-1]:g}; features {n[0]:,} to {n[-1]:,})"

    @property
    def n_features(self) -> np.ndarray:
        """Number of features of each point."""
        return np.diff(self.begins)

    def feature_sets(self) -> Iterator[np.ndarray]:
        """The features of each point, the last point first.

        Returns
        -------
        iterator of ndarray of int64
            Sorted features.
        """
        for k in reversed(range(len(self))):
            yield self.ids[self.begins[k] : self.begins[k + 1]]

    @property
    def numbers(self) -> np.ndarray:
        """Numbers of features that points have, in ascending order, without 0."""
        return np.unique(self.n_features[self.n_features > 0])

    @property
    def weights(self) -> SparseRows:
        """Weights of the kernels, sparse, (n_points, n_features)."""
        return sparse_points(self.begins, self.ids, self.values, self.alignments.size)

    def point(self, index: int) -> AlignmentPoint:
        """A point by its place.

        Parameters
        ----------
        index : int
            From 0, the largest p; negative ones count from the end.

        Returns
        -------
        AlignmentPoint
            The point.

        Raises
        ------
        ValueError
            If there is no such point.
        """
        if not -len(self) <= index < len(self):
            raise ValueError(f"the path has {len(self)} points, so there is no point {index}")
        index %= len(self)
        part = slice(int(self.begins[index]), int(self.begins[index + 1]))
        return AlignmentPoint(
            p=float(self.p[index]),
            features=self.ids[part],
            weights=self.values[part],
            objective=float(self.objective[index]),
            deviation_bound=float(self.deviation_bound[index]),
        )

    def only(self, index: int) -> "AlignmentPath":
        """A path of one of the points alone.

        Parameters
        ----------
        index : int
            The point, as in ``point``.

        Returns
        -------
        AlignmentPath
            With the alignments of all features.
        """
        point, at = self.point(index), [index % len(self)]
        return replace(
            self,
            p=self.p[at],
            begins=np.array([0, point.features.size]),
            ids=point.features,
            values=point.weights,
            objective=self.objective[at],
            deviation_bound=self.deviation_bound[at],
            cv_score=None if self.cv_score is None else self.cv_score[at],
        )

    def place(self, number: int) -> int:
        """Where the number of features has fallen to at most ``number``.

        Parameters
        ----------
        number : int
            The largest number of features.

        Returns
        -------
        int
            The first point with at most so many features, and at least one.

        Raises
        ------
        ValueError
            If no point has so few.
        """
        fits = np.flatnonzero((self.n_features <= number) & (self.n_features > 0))
        if not fits.size:
            fewest = f"the fewest are {self.numbers[0]:,}" if self.numbers.size else "no point has any"
            most = max(1, number)
            at_p_1 = ", or with p_end=1" if self.p.size and self.p[-1] > 1.0 else ""
            raise ValueError(
                f"no point of the path has between 1 and {number!r} features; {fewest}. For fewer fit again with "
                f"max_features={most} and cv=5 (--max-features {most} --cv 5), or with a larger lambda2 (--lambda2) "
                f"than the {self.lambda2:.3g} of this path{at_p_1}"
            )
        return int(fits[0])

    def at(self, number: int) -> AlignmentPoint:
        """The point with at most a given number of features.

        Parameters
        ----------
        number : int
            The largest number of features.

        Returns
        -------
        AlignmentPoint
            The first with at most so many, and at least one.

        Raises
        ------
        ValueError
            If no point has so few.
        """
        return self.point(self.place(number))

    def check(self) -> None:
        """Check that arrays fit together, features are sorted, and that none that was left out returns.

        Raises
        ------
        InconsistentResultError
            If that is not so.
        """
        n, begins = len(self), self.begins
        counts = np.diff(begins)
        same_length = self.objective.shape == self.deviation_bound.shape == self.p.shape == (n,)
        consistent(same_length and begins.shape == (n + 1,), "the arrays of the path have different lengths")
        complete = n > 0 and begins[0] == 0 and begins[-1] == self.ids.size == self.values.size
        ordered = complete and bool((counts >= 0).all() and (np.diff(self.p) < 0).all())
        consistent(ordered, "the path is out of order")
        consistent(bool((np.diff(counts) <= 0).all()), "the number of features rises along the path")
        numbers = np.concatenate([self.objective, self.deviation_bound, self.values, self.alignments])
        consistent(bool(np.isfinite(numbers).all()), "the path contains NaN or infinity")
        consistent(bool((self.values > 0.0).all()), "a weight of the path is not positive")
        known = self.ids.size == 0 or (self.ids.min() >= 0 and self.ids.max() < self.alignments.size)
        consistent(bool(known), "the path has a feature that X does not have")
        rising = (np.diff(self.ids) > 0)[steps_inside(begins)]
        consistent(bool(rising.all()), "features of a point are not sorted and unique")
        for ids, more_ids in pairwise(self.feature_sets()):
            kept = bool(np.isin(ids, more_ids, assume_unique=True).all())
            consistent(kept, "a feature that was left out returns to the path")
        scored = self.cv_score is None or self.cv_score.shape == (n,)
        consistent(scored, "the scores of the path have a different length")
