"""Grid: the models of a SparseSVCPath over (beta, alpha), and what screening removed at each point."""

import numbers
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from thresher.results.known import Spread
from thresher.results.points import GridPoint, ProvenInactive
from thresher.results.weights import SparseRows, sparse_rows
from thresher.state import ArrayReader, ArrayWriter, fields, get_begins, get_parts, integer, need, required

SAFE_TESTS = ("gap", "iss", "ifs", "ends")
COUNTS = ("features_removed", "samples_removed", "inactive_samples", "steps")
PER_POINT = ("gap", "objective", *COUNTS)
GRID_DTYPES = dict.fromkeys(("betas", "alphas", "gap", "objective", "weights"), "<f8") | dict.fromkeys(
    (*COUNTS, "begins", "ids", "test_begins", "tests"), "<i8"
)
GRID_FIELDS = required(*GRID_DTYPES, "intercepts", "n_samples") | {"spread": None}
TEST, FEATURES, SAMPLES = range(3)  # columns of Grid.tests


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
        Duality gaps of the whole problem as shares of 1 - smoothing/2, the objective at w = 0; with many classes the
        largest of them.
    objective : ndarray of shape (n_betas, n_alphas)
        Objectives; with many classes their sum.
    features_removed, samples_removed : ndarray of int of shape (n_betas, n_alphas)
        How many were proven to have weight zero, or to lie off the margin, before and during the solve; with many
        classes in all of them. Where no test was run (see ``screened``) only columns that were left out as empty count.
        ``at(i, j).proven_inactive`` says which they are.
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
        Which test it was (a place in SAFE_TESTS), and how many features and samples it removed first.
    n_samples, n_features_in : int
        Numbers of rows (with weight) and of columns of X.
    spread : Spread, default=None
        Standard deviations of all columns in ``ids``; None: not known.
    proven_inactive : tuple, default=None
        A ProvenInactive for each point, None where it was not solved; None: not known, as in a model that was loaded.
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
    proven_inactive: tuple[ProvenInactive | None, ...] | None = None

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
        """The features of each point, from the points with the fewest to those with the most.

        Returns
        -------
        iterator of ndarray of int64
            Sorted features.
        """
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
            ``features``, ``weights``, ``intercept``, ``alpha``, ``beta``, ``gap``, ``objective``,
            ``proven_inactive`` and ``importance``.

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
            None if self.proven_inactive is None else self.proven_inactive[s],
        )

    def to_state(self, writer: ArrayWriter) -> dict[str, Any]:
        """As a part of a document.

        Parameters
        ----------
        writer : ArrayWriter
            Takes the arrays.

        Returns
        -------
        dict
            What ``from_state`` takes.
        """
        state = {name: writer.put(f"grid.{name}", getattr(self, name), dtype) for name, dtype in GRID_DTYPES.items()}
        state["intercepts"] = writer.put("grid.intercepts", self.intercepts.reshape(-1, *self.across), "<f8")
        state["n_samples"] = int(self.n_samples)
        state["spread"] = None if self.spread is None else self.spread.to_state(writer, "grid.spread")
        return state

    @classmethod
    def from_state(cls, reader: ArrayReader, state: Any, n_features: int, across: tuple[int, ...]) -> Self:
        """The Grid that ``to_state`` was called on.

        Parameters
        ----------
        reader : ArrayReader
            Has the arrays.
        state : dict
            The part of a document, which is validated.
        n_features : int
            Number of columns of X.
        across : tuple of int
            As the attribute of that name.

        Returns
        -------
        Grid
            With arrays of the right shapes, and ids in range.
        """
        state = fields(state, GRID_FIELDS, "path_")
        betas = reader.get(state["betas"], "<f8", (None,), "betas")
        alphas = reader.get(state["alphas"], "<f8", (betas.size, None), "alphas")
        size = alphas.size
        valid = size > 0 and bool((betas > 0).all() and (alphas > 0).all())
        need(valid, "betas and alphas of the grid must be positive and not empty")
        per_point: dict[str, Any] = {
            name: reader.get(state[name], GRID_DTYPES[name], alphas.shape, f"{name} of the grid", finite=name in COUNTS)
            for name in PER_POINT
        }
        need(all(bool((per_point[name] >= 0).all()) for name in COUNTS), "the grid contains a negative count")
        intercepts = reader.get(state["intercepts"], "<f8", (size, *across), "intercepts of the grid")
        begins, ids = get_parts(
            reader, state["begins"], state["ids"], size, "the features of the grid", count=n_features
        )
        tests = reader.get(state["tests"], "<i8", (None, 3), "tests of the grid")
        need(bool(((tests >= 0) & (tests[:, :1] < len(SAFE_TESTS))).all()), "the grid contains an unknown test")
        spread = state["spread"]
        if spread is not None:
            spread = Spread.from_state(reader, spread, n_features, "spread of the grid")
            need(spread.covers(ids), "the spread of the grid lacks a feature")
        return cls(
            betas,
            alphas,
            **per_point,
            intercepts=intercepts.reshape(*alphas.shape, *across),
            begins=begins,
            ids=ids,
            weights=reader.get(state["weights"], "<f8", (ids.size, *across), "weights of the grid"),
            test_begins=get_begins(reader, state["test_begins"], size, len(tests), "the tests of the grid"),
            tests=tests,
            n_samples=integer(state["n_samples"], "n_samples of the grid", 1),
            n_features_in=n_features,
            spread=spread,
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
        points, _ = self._runs(rule)
        return (np.bincount(points, minlength=len(self)) > 0).reshape(self.shape)

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
        points, runs = self._runs(rule)
        counts_samples = rule == "iss"
        inactive = self.inactive_samples if counts_samples else self.n_features_in - self.n_features
        number = np.arange(points.size) - np.searchsorted(points, points)  # of the run among those of its point
        removed = np.zeros((number.max(initial=-1) + 1, len(self)))
        removed[number, points] = runs[:, SAMPLES if counts_samples else FEATURES]
        return removed.reshape(-1, *self.shape) / np.maximum(1, inactive)

    def _runs(self, rule: str) -> tuple[np.ndarray, np.ndarray]:
        """(points, rows of ``tests``) of all runs of a test, in order; ValueError if there is no such test."""
        if rule not in SAFE_TESTS:
            raise ValueError(f"rule must be one of {', '.join(map(repr, SAFE_TESTS))}, got {rule!r}")
        points = np.repeat(np.arange(len(self)), np.diff(self.test_begins))
        runs = self.tests[:, TEST] == SAFE_TESTS.index(rule)
        return points[runs], self.tests[runs]

    def __repr__(self) -> str:
        n_betas, n_alphas = self.shape
        return (
            f"Grid({n_betas} betas x {n_alphas} alphas, {int(self.solved.sum())} points solved; features "
            f"{int(self.n_features.min(initial=0))} to {int(self.n_features.max(initial=0))})"
        )
