"""What the results of the contest on real data add up to: means over splits, ranks, stability."""

from itertools import combinations
from typing import NamedTuple

import numpy as np
from scipy.stats import rankdata

from benchmarks.linear.contestants import ALL, ON_ALL, RANKED


class Standing(NamedTuple):
    """One set; the arrays have axes contestant, k. Where a fit did not end, there is NaN."""

    name: str
    size: tuple[int, int]  # rows, columns
    splits: int
    own: np.ndarray  # accuracy in per cent
    same: np.ndarray
    stability: np.ndarray
    seconds: np.ndarray
    memory: np.ndarray  # bytes
    found: np.ndarray  # columns picked
    verdicts: dict  # (contestant, k): why there is nothing
    on_all: float  # accuracy of the SVM on all columns


def standing(records, name, ks, splits):
    """The Standing on a set, of the splits that every contestant has been through; None if there are none."""
    through = [
        split for split in range(splits) if all(records.get(name, split, who, k) for who in RANKED for k in ks)
    ]  # fmt: skip
    if not through:
        return None
    fields = np.full((6, len(RANKED), len(ks)), np.nan)
    verdicts = {}
    for i, who in enumerate(RANKED):
        for j, k in enumerate(ks):
            results = [records.get(name, split, who, k) for split in through]
            bad = [one.verdict for one in results if one.verdict]
            if bad:
                verdicts[who, k] = bad[0]
            else:
                fields[:, i, j] = summed(results)
    every = [records.get(name, split, ON_ALL, ALL) for split in through]
    on_all = np.mean([one.own for one in every if one and not one.verdict]) if any(every) else np.nan
    return Standing(name, records.sizes[name], len(through), *fields, verdicts, float(on_all))


def summed(results):
    """Numbers of one contestant at one k, over the splits, in the order of Standing."""
    return (
        np.mean([one.own for one in results]),
        np.mean([one.same for one in results]),
        stability([one.features for one in results]),
        np.median([one.seconds for one in results]),
        max(one.memory for one in results),
        np.mean([len(one.features) for one in results]),
    )


def stability(picks):
    """Mean over all pairs of picks of columns in both / columns in either; NaN of one pick."""
    shares = []
    for one, other in combinations(map(set, picks), 2):
        either = len(one | other)
        shares.append(len(one & other) / either if either else 1.0)
    return np.mean(shares) if shares else np.nan


def ranks(accuracies):
    """Ranks of contestants by set and k, from 1, the best; equals share theirs, and those that did not end are last.

    The axes are set, contestant, k.
    """
    return rankdata(-np.nan_to_num(np.round(accuracies, 6), nan=-1.0), axis=1)
