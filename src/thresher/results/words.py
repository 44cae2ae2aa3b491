"""Results in words: what a certificate proves, as commands and the demo say it."""

import math

from thresher.results.selection import Certificate
from thresher.results.trace import Turn

LEAST_PERCENT = 1e-4  # smaller ones are shown as this: what is shown is an upper bound
LOOSE = 0.1  # pick_gap above which the bound says little
NOT_SAID = "This says nothing about chance or new data: scikit-learn's permutation_test_score does."
WEAK = "The bound is loose here, as it is on noisy or correlated data; the pick may still be the best, or near it."


def percent(share: float) -> str:
    """A share that is an upper bound, as a percentage: rounded up to two significant digits."""
    value = max(100.0 * share, LEAST_PERCENT)
    unit = 10.0 ** (math.floor(math.log10(value)) - 1)
    return f"{float(f'{math.ceil(value / unit - 1e-9) * unit:.2g}'):.6g} %"


def proof(
    certificate: Certificate | None,
    n_columns: int,
    n_selected: int | None = None,
    *,
    n_forced: int = 0,
    each: bool = False,
    noun: str = "column",
    also: str = "",
) -> str:
    """What a certificate proves, in a sentence, what it does not say, and a hint where it is weak.

    It is about the training objective: how far that of the pick is from the best of its size, at most ``pick_gap`` as a
    share of the objective without features. That cannot go below zero, so 100 % is all that there is.

    Parameters
    ----------
    certificate : Certificate or None
        The certificate of a fit, if it has one.
    n_columns : int
        Number of columns of X, or of groups of them, that may be in the model.
    n_selected : int, default=None
        Number of features selected; None: the model was not restricted to a number, but by penalties.
    n_forced : int, default=0
        How many of the selected features had to be in the model.
    each : bool, default=False
        Whether each class has ``n_selected`` features of its own.
    noun : str, default="column"
        What is counted.
    also : str, default=""
        What is among those that are counted, in words.

    Returns
    -------
    str
        Two sentences, and a hint if ``pick_gap`` is above LOOSE.
    """
    left = math.inf if certificate is None else certificate.gap if n_selected == 0 else certificate.pick_gap
    if not math.isfinite(left):
        return "Nothing is proven of this model: no lower bound of the training objective is known."
    if n_selected == 0:
        without = "of what it is without features"
        return f"No {noun} is in the model: none lowers the training objective by more than {percent(left)} {without}."
    what = "weights" if n_selected is None else f"{n_selected:,}"
    details = [f"{n_forced:,} always included"] * (n_forced > 0) + ["for each class"] * each + [also] * bool(also)
    more = f" ({', '.join(details)})" if details else ""
    how, best = (", with these penalties,", "best") if n_selected is None else ("", "best of its size")
    hint = [WEAK] if n_selected is not None and left > LOOSE else []
    proven = (
        f"The training objective is within {percent(left)} of the {best}: no {what} of the {n_columns:,} {noun}s{more}"
        f"{how} could lower it further than that (100 %: the objective without features)."
    )
    return " ".join([proven, NOT_SAID, *hint])


def turn_details(turn: Turn, end: str) -> str:
    """What only some fits have, for progress bars: the share of columns visited, the cuts of a measure.

    Parameters
    ----------
    turn : Turn
        Where a fit stands.
    end : str
        What follows each of them.

    Returns
    -------
    str
        Empty for losses without cuts where features are no products, or all columns were looked at.
    """
    visited = "" if turn.visited == 1.0 else f"{100.0 * turn.visited:.2g} % of columns visited{end}"
    cuts = "" if turn.cuts == 0 else f"{turn.cuts} cuts, gap {turn.inner_gap:.1e} on the columns taken{end}"
    return visited + cuts
