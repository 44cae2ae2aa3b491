"""The plot of the contest on real data: accuracy against the number of columns, a panel for each set."""

import numpy as np

from benchmarks.book import PAGE
from benchmarks.linear.contestants import RANKED

PLOT = PAGE.parent / "benchmarks-real.svg"
ACROSS = 4  # panels
OURS = ("#b2182b", "#ef8a62", "#762a83", "#c2a5cf")  # FGM, two losses, threshed and grown
OTHERS = ("#1b7837", "#5aae61", "#a6dba0", "#2166ac", "#999999", "#d9a400")


def draw(done, ks, path=PLOT):
    """Write the plot, as SVG that depends on the results alone."""
    import matplotlib

    matplotlib.use("Agg")
    matplotlib.rcParams.update({"svg.hashsalt": "thresher", "svg.fonttype": "none", "font.size": 8})
    import matplotlib.pyplot as plt

    down = -(-(len(done) + 1) // ACROSS)
    figure, panels = plt.subplots(down, ACROSS, figsize=(3.0 * ACROSS, 2.4 * down), squeeze=False)
    for axes, one in zip(panels.flat, done, strict=False):
        lines = panel(axes, one, ks)
    for axes in panels.flat[len(done) :]:
        axes.axis("off")
    panels.flat[len(done)].legend(handles=lines, loc="center left", fontsize=7, frameon=False)
    figure.supylabel("accuracy of one linear SVM on the columns picked, %", x=0.0, fontsize=8)
    figure.tight_layout()
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, metadata={"Date": None})
    plt.close(figure)


def panel(axes, one, ks):
    """The lines of one set."""
    lines = []
    for i, (who, colour) in enumerate(zip(RANKED, OURS + OTHERS, strict=True)):
        wide = 1.8 if i == 0 else 1.0
        dash = "--" if "grown" in who else "-"
        lines += axes.plot(ks, one.same[i], dash, color=colour, lw=wide, marker=".", ms=3, label=who, zorder=10 - i)
    if np.isfinite(one.on_all):
        lines.append(axes.axhline(one.on_all, color="black", lw=0.8, ls=":", label="SVM on all columns"))
    axes.set_xscale("log")
    axes.set_xticks(ks, [str(k) for k in ks])
    axes.minorticks_off()
    axes.set_title(f"{one.name} ({one.size[0]:,} x {one.size[1]:,})", fontsize=8)
    axes.grid(alpha=0.3)
    return lines
