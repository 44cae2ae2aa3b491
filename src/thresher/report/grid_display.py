"""GridDisplay: heat maps over the grid of a fitted SparseSVCPath."""

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from thresher.report.drawing import cell_edges, count_ticks, plain_ticks, pyplot, ring, score_name

LEAST_GAP = np.finfo(float).eps  # smaller gaps, of models in closed form, are rounding
DRAWN_TESTS = ("ifs", "iss")  # rows of the rejection ratios: tests of features, of samples
REMOVED = ("scaling", "features_removed", "samples_removed")  # maps of what screening tests have proven
PANEL = 2.4, 2.3  # inches of a panel where there are many


MAPS = {  # title, label of the colour bar
    "scaling": ("Samples × features removed by screening", "Scaling ratio"),
    "selected": ("Size of the models", "Number of features"),
    "gap": ("Duality gap", r"$\log_{10}$ of the relative gap"),
    "score": ("Cross-validated score", "Mean score"),
    "features_removed": ("Features removed by screening", "Share of all features"),
    "samples_removed": ("Samples removed by screening", "Share of all samples"),
    "rejections": ("Rejection ratios", "Share of what is inactive in the solution"),
}


@dataclass(kw_only=True, eq=False, repr=False)
class GridDisplay:
    """A heat map over the grid of a SparseSVCPath: alpha on the x-axis, beta on the y-axis.

    Use ``from_estimator`` to make one; the values drawn are then kept in the attributes.

    Parameters
    ----------
    what : {"scaling", "selected", "gap", "score", "features_removed", "samples_removed", "rejections"}
        What the values show.
    values : masked array of shape (n_betas, n_alphas)
        A value for each point; masked points are left white. For "rejections" a dict with such an array for each run of
        a test, of shape (runs, n_betas, n_alphas), under "ifs" (features) and "iss" (samples), or one of them.
    x, y : ndarray of shape (n_alphas,) and (n_betas,), default=None
        Coordinates of the points, all positive, ascending or descending. None: their indices in the grid.
    x_name, y_name : str, default="alpha", "beta"
        Labels of the axes.
    best : tuple (i, j), default=None
        A point to draw a ring around.
    best_name : str, default="best"
        Its description, below the title.
    label : str, default=None
        Label of the colour bar. None: chosen by ``what``.
    least : float, default=None
        Lower end of the colours. None: the smallest value, for "rejections" and "selected" 0.

    Attributes
    ----------
    figure_ : matplotlib Figure
        The figure.
    ax_, axes_ : matplotlib Axes, ndarray of them of shape (rows, columns)
        The (first) map and all maps; None in rows with fewer maps than others.
    image_, images_ : matplotlib QuadMesh, ndarray of them
        The drawn images.
    best_, bests_ : matplotlib Line2D, ndarray of them
        The rings; None if there is no best point.
    colorbar_ : matplotlib Colorbar
        The colour bar, shared by all maps.

    Examples
    --------
    >>> from thresher import GridDisplay, SparseSVCPath
    >>> from thresher.datasets import make_wide
    >>> data = make_wide(200, 500, n_relevant=5, random_state=0)
    >>> path = SparseSVCPath(n_betas=4, n_alphas=5).fit(data.X, data.y)
    >>> display = GridDisplay.from_estimator(path, "selected")
    >>> display.values[:, -1].tolist() == path.path_.n_features[:, -1].tolist()
    True
    """

    what: str
    values: Any
    x: np.ndarray | None = None
    y: np.ndarray | None = None
    x_name: str = "alpha"
    y_name: str = "beta"
    best: tuple[int, int] | None = None
    best_name: str = "best"
    label: str | None = None
    least: float | None = None

    @classmethod
    def from_estimator(cls, estimator: Any, what: str = "selected", ax: Any = None, **kwargs: Any) -> Self:
        """Draw a quantity at each point of the grid of a fitted estimator.

        Points that were not solved are left white, as are, in maps of what screening removed, points where nothing was
        tested (by default no tests are run: fit with ``screening="gap"``). The axes are alpha / alpha_max(beta) and
        beta / beta_max, or alpha and beta if they were passed to the estimator; indices in the grid if the rows cannot
        share an axis.

        Parameters
        ----------
        estimator : fitted SparseSVCPath
            The estimator.
        what : str, default="selected"
            * "scaling": scaling ratio, the share of samples x features that was removed by screening;
            * "features_removed", "samples_removed": share of the features, of the samples, that was removed;
            * "selected": number of selected features, in logarithmic colours;
            * "gap": log10 of the duality gap (at least the machine precision);
            * "score": mean score of the folds; needs ``cv``; the colours start at the worst point with features;
            * "rejections": of each run of the tests of features (IFS, first row) and of samples (ISS, second row), the
              share that it removed of what is inactive in the solution. Points where the test was not run, for example
              where the model has a closed form, are left white. Binary only. ``screening="sifs"`` runs these tests.
        ax : matplotlib Axes, default=None
            Axes to draw on; for "rejections" an array of them, (rows, columns). None: a new figure.
        **kwargs
            As in ``plot``.

        Returns
        -------
        GridDisplay
            Drawn, with the values in its attributes.
        """
        pyplot(cls.__name__)  # raise first if matplotlib is missing, as scikit-learn does
        _check_what(what)
        grid = _grid_of(estimator)
        x, x_name = _alphas(grid.alphas, given=getattr(estimator, "alphas", None) is not None)
        y, y_name = _betas(grid.betas, given=getattr(estimator, "betas", None) is not None)
        values, best = _values(estimator, grid, what), getattr(estimator, "best_index_", None)
        options: dict[str, Any] = {}
        if best is not None:
            count = int(grid.n_features[best])
            options["best_name"] = f"best mean score: {estimator.best_score_:.3g}, {count} feature{'s' * (count != 1)}"
        if what == "score":
            name = score_name(estimator.scoring)
            options["label"] = f"Mean {name[0].lower()}{name[1:]} of {len(estimator.scores_)} folds"
            options["least"] = values[grid.n_features > 0].min() if grid.n_features.any() else None
        display = cls(what=what, values=values, x=x, y=y, x_name=x_name, y_name=y_name, best=best, **options)
        return display.plot(ax=ax, **kwargs)

    def plot(self, ax: Any = None, *, runs: int = 4, **kwargs: Any) -> Self:
        """Draw the map, or the maps.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Axes to draw on; for "rejections" an array of them, (rows, columns). None: a new figure.
        runs : int, default=4
            With "rejections": maximum number of runs of a test to draw.
        **kwargs
            Passed to matplotlib's ``pcolormesh``, for example ``cmap``, ``vmin`` or ``vmax``.

        Returns
        -------
        self : GridDisplay
            The display, drawn.
        """
        _check_what(self.what)
        plt = pyplot(type(self).__name__)
        rows, title = self._rows(runs)
        style = self._style(kwargs)
        shape = len(rows), max(len(row) for row in rows)
        self.axes_ = _new_axes(plt, shape) if ax is None else _given_axes(ax, shape)
        self.images_, self.bests_ = np.full(shape, None), np.full(shape, None)
        for i, j in np.ndindex(shape):
            if j >= len(rows[i]):
                self.axes_[i, j].set_axis_off()
                self.axes_[i, j] = None
                continue
            name, values = rows[i][j]
            self.images_[i, j], self.bests_[i, j] = self._map(self.axes_[i, j], values, style)
            lowest = all(len(row) <= j for row in rows[i + 1 :])
            self._label(self.axes_[i, j], name, lowest, first=j == 0)
        self.ax_, self.figure_ = self.axes_[0, 0], self.axes_[0, 0].figure
        self.image_, self.best_ = self.images_[0, 0], self.bests_[0, 0]
        if self.what == "rejections" and ax is None:
            self.figure_.suptitle(title)
        elif self.what != "rejections":
            self.ax_.set_title(title)
        self.colorbar_ = self._colorbar()
        return self

    def _rows(self, runs):
        """([[(name, values) of each map] of each row], title); the name is empty where there is one map."""
        title, _ = MAPS[self.what]
        note = "" if self.best is None else f"\n$\\bigcirc$ {self.best_name}"
        if self.what != "rejections":
            return [[("", self.values)]], title + note
        if runs < 1:
            raise ValueError(f"runs must be >= 1, got {runs!r}")
        most = max(len(ratios) for ratios in self.values.values())
        rows = [
            [(f"{rule.upper()}, run {run}", part) for run, part in enumerate(self.values[rule][:runs], start=1)]
            for rule in DRAWN_TESTS
            if len(self.values.get(rule, ()))
        ]
        return rows, title + (f", runs 1 to {runs} of {most}" if most > runs else "") + note

    def _style(self, kwargs):
        """Options of ``pcolormesh``: one range of colours for all maps."""
        style = {"cmap": "viridis", **kwargs}
        if "norm" in style:
            return style
        limits: dict[str, Any] = {} if self.least is None else {"vmin": self.least}
        if self.what == "rejections":
            limits = {"vmin": 0.0, "vmax": 1.0, **limits}
        if self.what != "selected":
            return {**limits, **style}
        from matplotlib.colors import SymLogNorm  # pyplot has been imported

        limits = {"vmin": 0, "vmax": max(1, int(np.ma.max(self.values))), **limits}
        given = {name: style.pop(name, None) for name in limits}
        limits |= {name: limit for name, limit in given.items() if limit is not None}
        style["norm"] = SymLogNorm(1.0, linscale=0.3, **limits)  # logarithmic, but with a colour for no feature at all
        return style

    def _map(self, ax, values, style):
        """(image, ring) drawn on ``ax``."""
        x = np.arange(values.shape[1]) if self.x is None else np.asarray(self.x)
        y = np.arange(values.shape[0]) if self.y is None else np.asarray(self.y)
        plain_ticks(ax, ax.xaxis, self.x is not None, few=self.what == "rejections" and x.max() >= 10 * x.min())
        plain_ticks(ax, ax.yaxis, self.y is not None)
        image = ax.pcolormesh(cell_edges(x, self.x is not None), cell_edges(y, self.y is not None), values, **style)
        if self.best is None:
            return image, None
        return image, ring(ax, x[self.best[1]], y[self.best[0]], small=self.what == "rejections")

    def _label(self, ax, name, lowest, first):
        """Label the outer axes."""
        ax.set_title(name, fontsize="medium")
        if lowest:
            ax.set_xlabel(self.x_name)
        if first:
            ax.set_ylabel(self.y_name)
        ax.tick_params(labelbottom=lowest, labelleft=first)

    def _colorbar(self):
        axes = [ax for ax in self.axes_.flat if ax is not None]
        norm, drawn = self.image_.norm, [image.get_array() for image in self.images_.flat if image is not None]
        # bool: of a map without any value both are masked
        beyond = bool(min(map(np.ma.min, drawn)) < norm.vmin), bool(max(map(np.ma.max, drawn)) > norm.vmax)
        extend = {(False, False): "neither", (True, False): "min", (False, True): "max"}.get(beyond, "both")
        label = MAPS[self.what][1] if self.label is None else self.label
        bar = self.figure_.colorbar(self.image_, ax=axes if len(axes) > 1 else axes[0], label=label, extend=extend)
        if self.what == "selected":
            count_ticks(bar)
        elif hasattr(bar.formatter, "set_useOffset"):
            bar.formatter.set_useOffset(False)  # 0.998, not 0.008 + 0.99
        return bar


def _check_what(what):
    if not (isinstance(what, str) and what in MAPS):
        raise ValueError(f"what must be one of {', '.join(map(repr, MAPS))}; got {what!r}")


def _grid_of(estimator):
    """The grid of a fitted estimator; ValueError if it has none."""
    check_is_fitted(estimator)
    grid = getattr(estimator, "path_", None)
    if not (hasattr(grid, "alphas") and hasattr(grid, "betas")):
        raise ValueError(
            f"{type(estimator).__name__} has no grid: GridDisplay expects a fitted SparseSVCPath (for a pipeline, pass "
            "its last step)"
        )
    return grid


def _alphas(alphas, given):
    """(coordinates of the columns on the x-axis or None, label)."""
    if given and np.all(alphas == alphas[:1]):
        places, name = alphas[0], r"$\alpha$"
    else:
        shares = alphas / alphas.max(axis=1, keepdims=True)
        places = shares[0] if np.allclose(shares, shares[:1], rtol=1e-6, atol=0.0) else None
        name = r"$\alpha$ / largest $\alpha$ given for each $\beta$" if given else r"$\alpha\;/\;\alpha_{\max}(\beta)$"
    return (places, name) if _in_order(places) else (None, r"Index of $\alpha$ in the grid")


def _betas(betas, given):
    """(coordinates of the rows on the y-axis or None, label)."""
    places, name = (betas, r"$\beta$") if given else (betas / betas.max(), r"$\beta\;/\;\beta_{\max}$")
    return (places, name) if _in_order(places) else (None, r"Index of $\beta$ in the grid")


def _in_order(places):
    """Whether there are coordinates, strictly increasing or decreasing."""
    return places is not None and abs(np.sign(np.diff(places)).sum()) == places.size - 1


def _values(estimator, grid, what):
    """The values to draw, masked where they are missing."""
    if what == "rejections":
        return _rejections(grid)
    quantities = {
        "scaling": grid.scaling_ratio,
        "selected": grid.n_features,
        "gap": np.log10(np.fmax(grid.gap, LEAST_GAP)),
        "features_removed": grid.features_removed / grid.n_features_in,
        "samples_removed": grid.samples_removed / grid.n_samples,
    }
    if hasattr(estimator, "scores_"):
        quantities["score"] = estimator.scores_.mean(axis=0)
    if what not in quantities:
        why = "fit with cv" if getattr(estimator, "cv", None) is None else "the fit stopped before cross-validation"
        raise ValueError(f"what='score' needs cross-validation scores, but there are none: {why}")
    missing = ~(grid.solved & grid.screened) if what in REMOVED else ~grid.solved
    return np.ma.array(quantities[what], mask=missing)


def _rejections(grid):
    """{rule: masked array (runs, n_betas, n_alphas)} of the tests that were run."""
    if grid.n_classes > 2:
        others = ", ".join(repr(kind) for kind in MAPS if kind != "rejections")
        raise ValueError(f"what='rejections' needs two classes, got {grid.n_classes}: use one of {others}")
    ratios_of = {}
    for rule in DRAWN_TESTS:
        ratios, tested = grid.rejections(rule), grid.tested(rule)
        if tested.any():
            ratios_of[rule] = np.ma.array(ratios, mask=np.broadcast_to(~tested, ratios.shape))
    if not ratios_of:
        raise ValueError("what='rejections' needs runs of ISS or IFS, but there are none: fit with screening='sifs'")
    return ratios_of


def _new_axes(plt, shape):
    """New axes: one of matplotlib's default size, or many in rows."""
    rows, columns = shape
    size = {} if shape == (1, 1) else {"figsize": (1.2 + columns * PANEL[0], 0.6 + rows * PANEL[1])}
    return plt.subplots(rows, columns, squeeze=False, layout="constrained", **size)[1]


def _given_axes(ax, shape):
    axes = np.array(ax, dtype=object)
    if axes.size != shape[0] * shape[1]:
        raise ValueError(f"ax must contain {shape[0]} x {shape[1]} Axes, one for each map; got {axes.size}")
    return axes.reshape(shape)
