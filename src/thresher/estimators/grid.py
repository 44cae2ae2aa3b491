"""Grid: the models of a SparseSVCPath over (beta, alpha), and what screening removed at each point."""

import numbers
from dataclasses import dataclass

import numpy as np
from scipy import sparse

RULES = ("gap", "iss", "ifs", "ends")
PER_POINT = ("gap", "objective", "features_removed", "samples_removed", "inactive_samples", "steps")


@dataclass(frozen=True)
class Grid:
    """Arrays of shape (n_betas, n_alphas), but ``betas`` of shape (n_betas,); a point that was not reached has gap nan.

    ``gap`` is the duality gap of the whole problem as a share of 1 - gamma/2 (with many classes the largest of them),
    ``objective`` the objective (their sum). ``features_removed`` and ``samples_removed`` count what was proven to have
    weight zero, or to lie off the margin, before and during the solve; with many classes what is so in all of them.
    ``inactive_samples`` counts the samples that lie off the margin in the solution; ``steps`` those of the solver.

    The models lie end to end: point number s = i n_alphas + j has the features ``ids[begins[s]:begins[s + 1]]``. So
    do the tests: its ``rule`` (a place in RULES), how many features and samples it removed first.
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
    n_features: int

    @property
    def shape(self):
        """(n_betas, n_alphas)."""
        return self.alphas.shape

    @property
    def solved(self):
        """Which points were reached."""
        return ~np.isnan(self.gap)

    @property
    def selected(self):
        """Number of features with a weight, of any class."""
        return np.diff(self.begins).reshape(self.shape)

    @property
    def scaling_ratio(self):
        """Share of the samples x features that was removed: 1 - (n - removed) (p - removed) / (n p)."""
        rows, columns = self.n_samples - self.samples_removed, self.n_features - self.features_removed
        return 1.0 - (rows / self.n_samples) * (columns / self.n_features)

    def number(self, i, j):
        """The point (i, j), counted along the grid; negative numbers count from the end."""
        n_betas, n_alphas = self.shape
        for name, place, size in (("i", i, n_betas), ("j", j, n_alphas)):
            if isinstance(place, bool) or not isinstance(place, numbers.Integral):
                raise ValueError(f"{name} must be a whole number, got {place!r}")
            if not -size <= place < size:
                raise ValueError(f"{name}={place!r} is outside the grid of {n_betas} betas x {n_alphas} alphas")
        s = (i % n_betas) * n_alphas + j % n_alphas
        if not self.solved.flat[s]:
            raise ValueError(f"the point ({i}, {j}) was not reached: the fit was ended before")
        return s

    def model(self, i, j):
        """(features, weights, intercept) at point (i, j)."""
        s = self.number(i, j)
        part, intercept = slice(self.begins[s], self.begins[s + 1]), self.intercepts.reshape(-1, *self.across)[s]
        return self.ids[part], self.weights[part], intercept.copy() if self.across else float(intercept)

    @property
    def across(self):
        """() for two classes, else (n_classes,)."""
        return self.weights.shape[1:]

    def coef(self, i, j):
        """The weights at point (i, j), as a sparse row, or with many classes one row for each."""
        ids, weights, _ = self.model(i, j)
        rows = sparse.csr_array(weights[None] if weights.ndim == 1 else weights.T)
        rows.eliminate_zeros()
        return sparse.csr_array((rows.data, ids[rows.indices], rows.indptr), shape=(rows.shape[0], self.n_features))

    def rejections(self, rule):
        """Rejection ratios of each run of a test, (runs, n_betas, n_alphas): its share of what is inactive.

        ``rule`` is "iss" (samples), "ifs" or "gap" (features); the first run comes first. For two classes.
        """
        if self.across:
            raise ValueError("rejection ratios are kept for two classes only")
        if rule not in RULES:
            raise ValueError(f"rule must be one of {', '.join(map(repr, RULES))}; got {rule!r}")
        column, wanted = (2 if rule == "iss" else 1), RULES.index(rule)
        inactive = self.inactive_samples if rule == "iss" else self.n_features - self.selected
        runs = []
        for s in range(self.alphas.size):
            own = self.tests[self.test_begins[s] : self.test_begins[s + 1]]
            runs.append(own[own[:, 0] == wanted, column])
        found = np.zeros((max(map(len, runs), default=0), self.alphas.size))
        for s, counts in enumerate(runs):
            found[: len(counts), s] = counts
        return found.reshape(-1, *self.shape) / np.maximum(1, inactive)

    def __repr__(self):
        n_betas, n_alphas = self.shape
        return (
            f"Grid({n_betas} betas x {n_alphas} alphas, {int(self.solved.sum())} points solved; features "
            f"{int(self.selected.min(initial=0))} to {int(self.selected.max(initial=0))})"
        )


class GridMaker:
    """Collects the points of a walk over a grid."""

    def __init__(self, betas, alphas, svms, design, n_features):
        self.betas, self.alphas, self.svms, self.design, self.n_features = betas, alphas, svms, design, n_features
        self.across = () if len(svms) == 1 else (len(svms),)
        size = alphas.size
        self.per_point = {name: np.zeros(size, dtype=np.int64) for name in PER_POINT}
        self.per_point |= {"gap": np.full(size, np.nan), "objective": np.full(size, np.nan)}
        self.intercepts = np.zeros((size, *self.across))
        self.ids, self.weights, self.tests = [[None] * size for _ in range(3)]

    def add(self, i, j, points):
        """Note the points of all classes at (i, j)."""
        s, per = i * self.alphas.shape[1] + j, self.per_point
        empty = self.n_features - self.design.shape[1]  # columns that the design leaves out, since they hold nothing
        rows = self.svms[0].rows
        idle, settled = (
            np.logical_and.reduce(masks)
            for masks in zip(*((p.found.idle, p.found.settled) for p in points), strict=True)
        )
        per["objective"][s] = sum(objective(svm, point) for svm, point in zip(self.svms, points, strict=True))
        per["features_removed"][s] = np.count_nonzero(idle) + empty
        per["samples_removed"][s] = np.count_nonzero(settled & rows)
        off = np.logical_and.reduce([(p.z >= 1.0) | (p.z <= 1.0 - self.svms[0].gamma) for p in points])
        per["inactive_samples"][s] = np.count_nonzero(off & rows)
        per["steps"][s] = sum(point.steps for point in points)
        self.ids[s], self.weights[s], self.intercepts[s] = in_units_of_X(self.design, points)
        self.tests[s] = [(RULES.index(rule), *counts) for rule, *counts in points[0].found.log]
        per["gap"][s] = max(point.gap for point in points) / self.svms[0].at_zero  # last: now the point is there

    def grid(self):
        """The Grid of what was noted."""
        shape = self.alphas.shape
        none = np.zeros(0, dtype=np.int64), np.zeros((0, *self.across))
        ids = [none[0] if each is None else each for each in self.ids]
        weights = [none[1] if each is None else each for each in self.weights]
        tests = [np.array(each or [], dtype=np.int64).reshape(-1, 3) for each in self.tests]
        return Grid(
            self.betas, self.alphas, *(self.per_point[name].reshape(shape) for name in PER_POINT),
            self.intercepts.reshape(*shape, *self.across), ends(ids), np.concatenate(ids), np.concatenate(weights),
            ends(tests), np.concatenate(tests), int(np.count_nonzero(self.svms[0].rows)), int(self.n_features),
        )  # fmt: skip


def ends(parts):
    """Where each of the parts begins when they are laid end to end, and where the last one ends."""
    return np.concatenate([[0], np.cumsum([len(part) for part in parts], dtype=np.int64)])


def objective(svm, point):
    """The primal objective of a point."""
    slack = 1.0 - point.z
    theta = np.clip(slack / svm.gamma, 0.0, 1.0)
    loss = float(svm.cost @ (theta * (slack - 0.5 * svm.gamma * theta)))
    return loss + 0.5 * point.alpha * point.length**2 + point.beta * float(np.abs(point.weights).sum())


def in_units_of_X(design, points):
    """(features in X, sorted; their weights; intercept) of the points of all classes."""
    ids = points[0].ids if len(points) == 1 else np.unique(np.concatenate([point.ids for point in points]))
    W = np.zeros((ids.size, len(points)))
    for column, point in enumerate(points):
        W[np.searchsorted(ids, point.ids), column] = point.weights
    weights, offset = design.in_units_of_X(ids, W)
    intercept = np.array([point.b for point in points]) + offset
    features = design.numbers_in_X(ids)
    return (features, weights[:, 0], float(intercept[0])) if len(points) == 1 else (features, weights, intercept)
