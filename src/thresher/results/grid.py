"""Grid: the models of a SparseSVCPath over (beta, alpha), and what screening removed at each point."""

import numbers
from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from thresher.results.spread import Spread, WithImportance
from thresher.results.weights import SparseRows, sparse_rows

RULES = ("gap", "iss", "ifs", "ends")
PER_POINT = ("gap", "objective", "features_removed", "samples_removed", "inactive_samples", "steps")
RULE, FEATURES, SAMPLES = range(3)  # columns of Grid.tests


@dataclass(frozen=True)
class GridPoint(WithImportance):
    """The model at one point of a grid.

    Parameters
    ----------
    features : ndarray of int64
        The features, sorted.
    weights : ndarray of shape (n_features,) or (n_features, n_classes)
        Their weights, in the units of X.
    intercept : float or ndarray of shape (n_classes,)
        The intercept.
    alpha : float
        Weight of the squared penalty.
    beta : float
        Weight of the absolute penalty.
    gap : float
        Duality gap as a share of the objective at w = 0.
    objective : float
        The objective.
    spread : Spread, default=None
        Standard deviations of the columns, from which ``importance`` and ``ranking`` follow; None: not known.
    """

    features: np.ndarray
    weights: np.ndarray
    intercept: float | np.ndarray
    alpha: float
    beta: float
    gap: float
    objective: float
    spread: Spread | None = field(default=None, repr=False)


@dataclass(frozen=True)
class Grid:
    """The models of a SparseSVCPath at all points of its grid. A point that was not reached has gap nan.

    The models lie end to end: point number s = i n_alphas + j has the features ``ids[begins[s]:begins[s + 1]]``; the
    safe tests that were run lie in the same way.

    Parameters
    ----------
    betas : ndarray of shape (n_betas,)
        The values of beta.
    alphas : ndarray of shape (n_betas, n_alphas)
        The values of alpha.
    gap : ndarray of shape (n_betas, n_alphas)
        Duality gaps of the whole problem as shares of 1 - gamma/2; with many classes the largest of them.
    objective : ndarray of shape (n_betas, n_alphas)
        Objectives; with many classes their sum.
    features_removed, samples_removed : ndarray of int of shape (n_betas, n_alphas)
        How many were proven to have weight zero, or to lie off the margin, before and during the solve; with many
        classes in all of them. Where no test was run (see ``screened``) only columns that were left out as empty count.
    inactive_samples : ndarray of int of shape (n_betas, n_alphas)
        How many samples lie off the margin in the solution.
    steps : ndarray of int of shape (n_betas, n_alphas)
        Steps of the solver.
    intercepts : ndarray of shape (n_betas, n_alphas) or (n_betas, n_alphas, n_classes)
        The intercepts.
    begins : ndarray of int of shape (n_points + 1,)
        Where the model of each point begins in ``ids`` and ``weights``.
    ids : ndarray of int64
        The features of all models.
    weights : ndarray of shape (n_ids,) or (n_ids, n_classes)
        Their weights, in the units of X.
    test_begins : ndarray of int of shape (n_points + 1,)
        Where the tests of each point begin in ``tests``.
    tests : ndarray of int of shape (n_tests, 3)
        The rule of each test (a place in RULES), and how many features and samples it removed first.
    n_samples, n_features_in : int
        Numbers of rows (with weight) and of columns of X.
    spread : Spread, default=None
        Standard deviations of all columns in ``ids``; None: not known.
    """

    betas: np.ndarray
    alphas: np.ndarray
    gap: np.ndarray
    objective: np.ndarray
    features_removed: np.ndarray
    samples_removed: np.ndarray
    inactive_samples: np.ndarray
    steps: np.ndarray
    intercepts: np.ndarray
    begins: np.ndarray
    ids: np.ndarray
    weights: np.ndarray
    test_begins: np.ndarray
    tests: np.ndarray
    n_samples: int
    n_features_in: int
    spread: Spread | None = None

    def __len__(self) -> int:
        """Number of points, including those that were not solved."""
        return self.alphas.size

    @property
    def shape(self) -> tuple[int, int]:
        """(n_betas, n_alphas)."""
        return self.alphas.shape

    @property
    def solved(self) -> np.ndarray:
        """Mask of the points that were solved."""
        return ~np.isnan(self.gap)

    @property
    def n_features(self) -> np.ndarray:
        """Number of features with a non-zero weight (in any class) at each point: int64, (n_betas, n_alphas)."""
        return np.diff(self.begins).reshape(self.shape)

    def feature_sets(self) -> Iterator[np.ndarray]:
        """The features of each point, from the points with the fewest to those with the most."""
        for s in np.argsort(np.diff(self.begins), kind="stable"):
            yield self.ids[self.begins[s] : self.begins[s + 1]]

    @property
    def screened(self) -> np.ndarray:
        """Mask of the points where screening tests were run, or whose model is known in closed form."""
        return (np.diff(self.test_begins) > 0).reshape(self.shape)

    @property
    def scaling_ratio(self) -> np.ndarray:
        """Share of the n_samples x n_features entries that was removed: 1 - (n - removed) (p - removed) / (n p)."""
        rows, columns = self.n_samples - self.samples_removed, self.n_features_in - self.features_removed
        return 1.0 - (rows / self.n_samples) * (columns / self.n_features_in)

    def position(self, i: int, j: int) -> int:
        """The position of a point in the concatenated arrays.

        Parameters
        ----------
        i, j : int
            Indices of its beta and its alpha; negative ones count from the end.

        Returns
        -------
        int
            i n_alphas + j, with non-negative i and j.

        Raises
        ------
        ValueError
            If an index is out of range, or the point was not solved.
        """
        n_betas, n_alphas = self.shape
        for name, index, size in (("i", i, n_betas), ("j", j, n_alphas)):
            if isinstance(index, bool) or not isinstance(index, numbers.Integral):
                raise ValueError(f"{name} must be an integer, got {index!r}")
            if not -size <= index < size:
                raise ValueError(f"{name}={index!r} is outside the grid of {n_betas} betas x {n_alphas} alphas")
        s = (i % n_betas) * n_alphas + j % n_alphas
        if not self.solved.flat[s]:
            raise ValueError(f"point ({i}, {j}) of the grid was not solved: the fit stopped early")
        return s

    def at(self, i: int, j: int) -> GridPoint:
        """The model at point (i, j).

        Parameters
        ----------
        i, j : int
            Indices of its beta and its alpha; negative ones count from the end.

        Returns
        -------
        GridPoint
            ``features``, ``weights``, ``intercept``, ``alpha``, ``beta``, ``gap``, ``objective`` and ``importance``.

        Raises
        ------
        ValueError
            If an index is out of range, or the point was not solved.
        """
        s = self.position(i, j)
        part, intercept = slice(self.begins[s], self.begins[s + 1]), self.intercepts.reshape(-1, *self.across)[s]
        return GridPoint(
            self.ids[part],
            self.weights[part],
            intercept.copy() if self.across else float(intercept),
            float(self.alphas.flat[s]),
            float(self.betas[s // self.shape[1]]),
            float(self.gap.flat[s]),
            float(self.objective.flat[s]),
            self.spread,
        )

    @property
    def last(self) -> tuple[int, int]:
        """(i, j) of the last point that was solved."""
        return divmod(int(np.flatnonzero(self.solved)[-1]), self.shape[1])

    @property
    def across(self) -> tuple[int, ...]:
        """() for two classes, else (n_classes,)."""
        return self.weights.shape[1:]

    @property
    def n_classes(self) -> int:
        """Number of classes."""
        return self.across[0] if self.across else 2

    def coef(self, i: int, j: int) -> SparseRows:
        """The weights at a point, sparse.

        Parameters
        ----------
        i, j : int
            The point, as in ``at``.

        Returns
        -------
        csr_array of shape (1, n_features_in) or (n_classes, n_features_in)
            One row for two classes, else one for each.
        """
        point = self.at(i, j)
        return sparse_rows(point.features, point.weights, self.n_features_in)

    def tested(self, rule: str) -> np.ndarray:
        """Whether a test was run at each point.

        Parameters
        ----------
        rule : {"gap", "iss", "ifs", "ends"}
            The screening test: gap-safe, of samples, of features, or closed forms at the ends of the grid.

        Returns
        -------
        ndarray of bool of shape (n_betas, n_alphas)
            True where it was run; with more than two classes, for the first class.
        """
        runs = self.tests[:, RULE] == RULES.index(_checked_rule(rule))
        points = np.repeat(np.arange(len(self)), np.diff(self.test_begins))
        return (np.bincount(points[runs], minlength=len(self)) > 0).reshape(self.shape)

    def rejections(self, rule: str) -> np.ndarray:
        """Rejection ratios of each run of a test, for two classes: the share of the inactive ones that it removed.

        Parameters
        ----------
        rule : {"gap", "iss", "ifs", "ends"}
            The test; "iss" counts samples, the others features.

        Returns
        -------
        ndarray of shape (runs, n_betas, n_alphas)
            The first run comes first; 0 where there was none.
        """
        if self.across:
            raise ValueError("rejection ratios are available for binary classification only")
        wanted, column = RULES.index(_checked_rule(rule)), SAMPLES if rule == "iss" else FEATURES
        inactive = self.inactive_samples if rule == "iss" else self.n_features_in - self.n_features
        runs = []
        for s in range(len(self)):
            tests = self.tests[self.test_begins[s] : self.test_begins[s + 1]]
            runs.append(tests[tests[:, RULE] == wanted, column])
        removed = np.zeros((max(map(len, runs), default=0), len(self)))
        for s, counts in enumerate(runs):
            removed[: len(counts), s] = counts
        return removed.reshape(-1, *self.shape) / np.maximum(1, inactive)

    def __repr__(self) -> str:
        n_betas, n_alphas = self.shape
        return (
            f"Grid({n_betas} betas x {n_alphas} alphas, {int(self.solved.sum())} points solved; features "
            f"{int(self.n_features.min(initial=0))} to {int(self.n_features.max(initial=0))})"
        )


def _checked_rule(rule: str) -> str:
    if rule not in RULES:
        raise ValueError(f"rule must be one of {', '.join(map(repr, RULES))}, got {rule!r}")
    return rule
