"""The tables that the experiments on made and on real data share."""

from benchmarks.book import table
from benchmarks.sifs.runner import CONTESTANTS, REPEATS, SHORT, SMOOTHING, TOL

DETAILS = (
    "data", "rules", "screening s", "all s", "passes over X", "Newton steps", "largest gap", "scaling before",
    "scaling in the end", "static: features", "static: samples", "gap-safe: features", "gap-safe: samples",
)  # fmt: skip


def called(name):
    """How a set of rules is named in a table."""
    return "solver alone" if name is None else name


def header():
    """Of the table of seconds."""
    return ("data", *(called(name) for name in CONTESTANTS))


def seconds_row(data, runs):
    """Seconds of each set of rules, and how many times as fast as the solver alone they are."""
    alone = runs.get(None)
    return (f"{data.name} ({data.size})", *(_seconds(run, alone) for run in (runs.get(name) for name in CONTESTANTS)))


def _seconds(run, alone):
    if run is None:
        return "-"
    if not run.complete:
        return f"> {run.seconds:.0f} ({run.points} of {run.asked} points)"
    speed = f" (x {alone.seconds / run.seconds:.2f})" if alone is not None and alone.complete else ""
    return f"{run.seconds:.2f}{speed}"


def detail_rows(data, runs):
    """What every set of rules did."""
    for name, run in runs.items():
        shares = (run.scaling_before, run.scaling, *run.static, *run.gap_safe)
        yield (
            data.name, called(name), f"{run.screening:.2f}", f"{run.seconds:.2f}", f"{run.passes:.0f}", run.steps,
            f"{run.gap:.1e}", *(f"{100.0 * share:.2f} %" for share in shares),
        )  # fmt: skip


def both(rows, details):
    """The table of seconds and that of details."""
    return [table(header(), rows), table(DETAILS, details)]


def method(grid):
    """How it was measured."""
    return (
        f"{grid.points} points: {grid.betas} betas from the largest to {grid.beta_ratio:g} of it, for each "
        f"{grid.alphas} alphas from the largest to {grid.alpha_ratio:g} of that; smoothing = {SMOOTHING:g}, no "
        f"intercept, relative gap {TOL:.0e} of the whole problem (the paper states neither). All columns of the table "
        "use the same solver, Newton's method warm-started from the point before, and differ in the rules; auto, the "
        "default, is the solver alone, measured once more. The first beta has "
        "w = 0 and costs nothing. Seconds are of the processor, on one core and with one thread, since the machine was "
        "not alone; arranging X by rows and by columns is in them. In brackets: seconds of the solver alone / seconds. "
        f"Medians of {REPEATS} interleaved rounds, one round for runs over {SHORT:g} s."
    )


def legend():
    """What the columns of the details mean."""
    return (
        "Shares are means over the points that had to be solved. Scaling: share of samples x features removed, before "
        "the first step of a solve and after its end (the gap-safe tests run once more with the solution, which shows "
        "what is inactive but saves nothing). Static and gap-safe: share of all features with weight zero, and of all "
        "samples off the margin, that these tests found; gap-safe ones are asked first where there are both. Passes "
        "count stored numbers looked at, in those of X; work on a part that was copied counts with the size of that "
        "part, and products inside the copied part of a Newton system do not count."
    )
