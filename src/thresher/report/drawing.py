"""What displays are drawn with: matplotlib, loaded when something is drawn; names of scores, ticks, cells, rings."""

from typing import Any

import numpy as np


def pyplot(display: str) -> Any:
    """matplotlib.pyplot for the display of this name; imported here since it is heavy and optional."""
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise ImportError(f"{display} needs matplotlib to draw: pip install matplotlib") from error
    return plt


def score_name(scoring: Any) -> str:
    """The label of an axis with scores."""
    if callable(scoring):
        return getattr(scoring, "__name__", "Score")
    words = (scoring or "accuracy").replace("neg_", "negative ").replace("_", " ")
    return words[0].upper() + words[1:]


def cell_edges(places: np.ndarray, log: bool) -> np.ndarray:
    """The edges of the cells around the places: half way between them, with ``log`` on a logarithmic scale."""
    steps = np.log(places) if log else np.asarray(places, dtype=float)
    if steps.size == 1:
        edges = steps[0] + np.array([-0.5, 0.5])
    else:
        halves = np.diff(steps) / 2.0
        edges = np.concatenate([steps[:1] - halves[:1], steps[:-1] + halves, steps[-1:] + halves[-1:]])
    return np.exp(edges) if log else edges


def count_ticks(bar: Any) -> None:
    """0, 1, 10, ... on a colour bar with logarithmic colours, and numbers between them if there is room."""
    from matplotlib.ticker import NullLocator, StrMethodFormatter, SymmetricalLogLocator

    subs = (1.0, 2.0, 5.0) if bar.norm.vmax < 1000 else (1.0,)
    bar.set_ticks(SymmetricalLogLocator(base=10.0, linthresh=1.0, subs=subs))
    bar.ax.yaxis.set_minor_locator(NullLocator())
    bar.ax.yaxis.set_major_formatter(StrMethodFormatter("{x:.0f}"))  # 100, not 10 to the 2


def plain_ticks(ax: Any, axis: Any, log: bool, few: bool = False) -> None:
    """1, 2, 5 (if ``few`` 1) times powers of ten in plain numbers on a logarithmic axis; integers otherwise."""
    from matplotlib.ticker import LogLocator, MaxNLocator, NullFormatter

    if not log:
        axis.set_major_locator(MaxNLocator(integer=True))
        return
    (ax.set_xscale if axis is ax.xaxis else ax.set_yscale)("log")
    axis.set_major_locator(LogLocator(subs=(1.0,) if few else (1.0, 2.0, 5.0)))
    axis.set_major_formatter("{x:g}")
    axis.set_minor_formatter(NullFormatter())


def ring(ax: Any, x: float, y: float, small: bool) -> Any:
    """A ring around a point, visible on dark and light colours."""
    from matplotlib.patheffects import Normal, withStroke

    style = {"marker": "o", "markerfacecolor": "none", "markeredgecolor": "white", "linestyle": "none", "zorder": 3}
    size, width = (6, 1) if small else (10, 2)
    halo = [withStroke(linewidth=2 * width, foreground="black"), Normal()]
    return ax.plot([x], [y], markersize=size, markeredgewidth=width, path_effects=halo, clip_on=False, **style)[0]
