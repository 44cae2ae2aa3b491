"""Folds: which samples are held out together.

Those of an integer follow from what samples hold, not from their order: docs/theory/fgm.md.
"""

import importlib
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from thresher.errors import warn
from thresher.estimators.shared.parameters import as_integer, ensure
from thresher.features.samples import Content
from thresher.loops.digests import mixed

FOLDS = 5  # without cv, if there are enough different samples
NUDGE = 1e-9  # where a fold begins within so little, as a share of a fold, rounding does not decide
DECIMALS = 12  # shares that are equal to so many are tied


def held_out_parts(
    cv: Any, codes: np.ndarray, weights: np.ndarray, content: Content, groups: np.ndarray | None = None
) -> list[np.ndarray]:
    """Sample numbers of each fold's test set. Samples of weight zero are in none, so they have no influence.

    Parameters
    ----------
    cv : int, splitter, iterable of (train, test) or None
        An integer is the number of folds, which follow from what samples hold; None: FOLDS, or as many as there can be.
    codes : ndarray of int64 of shape (n_samples,)
        The class of each sample.
    weights : ndarray of shape (n_samples,)
        The weight of each.
    content : Content
        What the samples hold.
    groups : ndarray of int64 of shape (n_samples,), default=None
        The group of each sample: those of a group are in one fold. None: each is dealt on its own.
    """
    rows = np.flatnonzero(weights > 0)
    if hasattr(cv, "split"):
        # loaded on demand: it takes a tenth of a second, and most fits hold nothing out
        check_cv = importlib.import_module("sklearn.model_selection").check_cv
        given = () if groups is None else (groups[rows],)
        splits = check_cv(cv, codes[rows], classifier=True).split(rows, codes[rows], *given)
        pairs = [(rows[train], rows[test]) for train, test in splits]
    elif hasattr(cv, "__iter__") and getattr(cv, "shape", None) != ():
        if groups is not None:
            warn("groups has no effect, since cv lists the folds: leave one of them out")
        pairs = [(np.arange(codes.size)[train], np.arange(codes.size)[test]) for train, test in cv]
    else:
        count = None if cv is None else as_integer("cv", cv, least=2)
        dealt = Dealt.of(rows, codes, weights, content, groups).folds(count)
        pairs = [(rows[dealt != fold], rows[dealt == fold]) for fold in range(int(dealt.max()) + 1)]
    folds = [_test_part(fold, *pair, weights > 0, codes) for fold, pair in enumerate(pairs)]
    ensure(folds, "cv yields no folds: it is empty or exhausted; pass an integer, a splitter or a list")
    return folds


def rarest_class(
    codes: np.ndarray, weights: np.ndarray, content: Content, groups: np.ndarray | None = None
) -> tuple[int, int]:
    """(the class with the fewest different samples of a positive weight, how many it has): there can be so many folds.

    With groups that with the fewest groups. Parameters as in ``held_out_parts``.
    """
    rows = np.flatnonzero(weights > 0)
    counts = Dealt.of(rows, codes, weights, content, groups).counts
    rarest = int(counts.argmin())
    return int(np.unique(codes[rows])[rarest]), int(counts[rarest])


class Sample(NamedTuple):
    """Some samples that stand for all: their numbers, sorted, and by what their weights are to be multiplied."""

    rows: np.ndarray
    factors: np.ndarray


def sampled(number: int, least: int, codes: np.ndarray, weights: np.ndarray, content: Content) -> Sample | None:
    """About ``number`` different samples, and all that are equal to them; None: there are no more.

    Each class has the share that it has of all, but ``least`` samples if it has so many; their factors make up for it.
    They follow from what samples hold, not from their order. Other parameters as in ``held_out_parts``.
    """
    rows = np.flatnonzero(weights > 0)
    found = Dealt.of(rows, codes, weights, content, None).first(number, least)
    return None if found is None else Sample(rows[found.rows], found.factors)


def _test_part(fold: int, train: np.ndarray, test: np.ndarray, counts: np.ndarray, codes: np.ndarray) -> np.ndarray:
    """The test samples of a fold among those that count, ascending; ValueError if the fold is of no use."""
    trained, tested = np.zeros(codes.size, dtype=bool), np.zeros(codes.size, dtype=bool)
    trained[train] = tested[test] = True
    trained, tested = trained & counts, tested & counts
    ensure(tested.any(), f"fold {fold} of cv has no test sample with a weight above zero")
    if not np.array_equal(trained, counts & ~tested):
        raise ValueError(f"fold {fold} of cv must split all samples into a training set and a test set")
    there, known = (np.bincount(codes[some], minlength=codes.max() + 1) > 0 for some in (counts, trained))
    if np.any(there & ~known):
        raise ValueError(f"the training set of fold {fold} of cv is missing a class: use other folds")
    return np.flatnonzero(tested)


@dataclass(frozen=True, eq=False)
class Dealt:
    """Samples with a positive weight that are dealt to folds: class, weight, digest and, if any, group of each.

    Equal samples are dealt together, as one that has their weight: so integer weights are the same as repeated samples.
    """

    codes: np.ndarray
    weights: np.ndarray
    digests: np.ndarray
    groups: np.ndarray | None = None

    @classmethod
    def of(
        cls, rows: np.ndarray, codes: np.ndarray, weights: np.ndarray, content: Content, groups: np.ndarray | None
    ) -> "Dealt":
        """Some samples, as in ``held_out_parts``."""
        own = None if groups is None else _numbered(groups[rows])
        scaled = np.ldexp(weights[rows], -np.frexp(weights.max())[1])  # exact, and their sum does not overflow
        return cls(_numbered(codes[rows]), scaled, mixed(content.digests[rows]), own)

    @cached_property
    def _order(self) -> np.ndarray:
        """The samples by class and digest, of equals by weight: a sum in this order does not depend on any other."""
        return np.lexsort((self.weights, self.digests, self.codes))

    @cached_property
    def _starts(self) -> np.ndarray:
        """Where each different sample begins in that order."""
        codes, digests = self.codes[self._order], self.digests[self._order]
        changes = (codes[1:] != codes[:-1]) | (digests[1:] != digests[:-1])
        return np.concatenate([[0], 1 + np.flatnonzero(changes)])

    @property
    def _classes(self) -> np.ndarray:
        """The class of each different sample, ascending."""
        return self.codes[self._order[self._starts]]

    @cached_property
    def counts(self) -> np.ndarray:
        """How many different samples, or groups, each class has; there can be as many folds as the rarest has."""
        if self.groups is None:
            return np.bincount(self._classes)
        return np.count_nonzero(self._shares_of_groups, axis=0)

    def folds(self, count: int | None) -> np.ndarray:
        """Which of ``count`` folds holds each sample out; None: FOLDS, or as many as there can be."""
        most, what = int(self.counts.min()), "different samples" if self.groups is None else "groups of samples"
        if count is None:
            ensure(most > 1, f"nothing can be held out: a class has only {most} {what}, and two folds need two of each")
            count = min(FOLDS, most)
        if count > most:
            raise ValueError(
                f"cv={count} cannot be greater than the number of {what} in each class, but the smallest has {most}: "
                "use fewer folds"
            )
        return self._folds_of_samples(count) if self.groups is None else self._folds_of_groups(count)[self.groups]

    def first(self, number: int, least: int) -> Sample | None:
        """The first samples of each class in the order of digests: see ``sampled``."""
        counts = np.bincount(self._classes)
        if counts.sum() <= number:
            return None
        shares = counts * (number / counts.sum())
        kept = np.minimum(counts, np.maximum(least, np.ceil(shares)))
        factors = np.where(kept > np.ceil(shares), shares / kept, 1.0)
        place = np.arange(self._starts.size) - np.repeat(np.cumsum(counts) - counts, counts)
        chosen = np.repeat(place < kept[self._classes], np.diff(self._starts, append=self.codes.size))
        rows = np.sort(self._order[chosen])
        return Sample(rows, factors[self.codes[rows]])

    def _folds_of_samples(self, count: int) -> np.ndarray:
        """The fold of each sample: classes, in the order of digests, are cut into folds of about equal weight.

        What has samples in several classes is dealt after that, as groups are.
        """
        of_each, classes = np.add.reduceat(self.weights[self._order], self._starts), self._classes
        folds, held = np.empty(of_each.size, dtype=np.int64), np.zeros((count, int(classes.max()) + 1))
        shares = of_each / np.bincount(classes, of_each)[classes]
        digests, of_digest, times = np.unique(
            self.digests[self._order[self._starts]], return_inverse=True, return_counts=True
        )
        alone = times[of_digest] == 1
        for code, own in enumerate(np.split(np.arange(classes.size), np.flatnonzero(np.diff(classes)) + 1)):
            own = own[alone[own]]
            if own.size:  # classes begin at different folds: those with one sample more are not the same in all
                folds[own] = (_cut(of_each[own], count) + code) % count
                np.add.at(held[:, code], folds[own], shares[own])
        if not alone.all():
            several = np.flatnonzero(times > 1)
            table = np.zeros((digests.size, held.shape[1]))
            table[of_digest, classes] = shares
            dealt = np.zeros(digests.size, dtype=np.int64)
            dealt[several] = _dealt(table[several], digests[several], held)
            folds[~alone] = dealt[of_digest[~alone]]
        out = np.empty(self.codes.size, dtype=np.int64)
        out[self._order] = np.repeat(folds, np.diff(self._starts, append=self.codes.size))
        return out

    @cached_property
    def _shares_of_groups(self) -> np.ndarray:
        """(groups, classes): which share of the weight of a class each group has."""
        groups: Any = self.groups
        shares = np.zeros((int(groups.max()) + 1, int(self.codes.max()) + 1))
        np.add.at(shares, (groups[self._order], self.codes[self._order]), self.weights[self._order])
        return shares / shares.sum(axis=0)

    def _folds_of_groups(self, count: int) -> np.ndarray:
        """The fold of each group."""
        shares = self._shares_of_groups
        return _dealt(shares, self._digests_of_groups, np.zeros((count, shares.shape[1])))

    @property
    def _digests_of_groups(self) -> np.ndarray:
        """A digest for each group, of its different samples in any order."""
        groups: Any = self.groups
        order = np.lexsort((self.digests, self.codes, groups))
        each = np.stack([groups[order], self.codes[order], self.digests[order].view(np.int64)])
        first = np.concatenate([[True], (each[:, 1:] != each[:, :-1]).any(axis=0)])
        kept, out = order[first], np.zeros(int(groups.max()) + 1, dtype=np.uint64)
        np.add.at(out, groups[kept], mixed(self.digests[kept] + self.codes[kept].astype(np.uint64)))
        return out


def _dealt(shares: np.ndarray, digests: np.ndarray, held: np.ndarray) -> np.ndarray:
    """The fold of each group: the largest first, each to where its classes have the least weight so far.

    ``shares`` (groups, classes) are those of the weight of each class, ``held`` (folds, classes) what folds have
    already. If a fold would get all of a class, those with the most classes come first.
    """
    size, spread = -shares.sum(axis=1).round(DECIMALS), -np.count_nonzero(shares, axis=1)
    for order in (np.lexsort((digests, size)), np.lexsort((digests, size, spread))):
        folds, now = np.empty(digests.size, dtype=np.int64), held.copy()
        for group in order.tolist():
            own = shares[group]
            all_of_one = ((now + own)[:, own > 0.0] >= 1.0 - NUDGE).any(axis=1)
            worse = (now @ own).round(DECIMALS)  # what squares of shares grow by, but for what is the same
            folds[group] = np.lexsort((now.sum(axis=1).round(DECIMALS), worse, all_of_one))[0]
            now[folds[group]] += own
        if now.max() < 1.0 - NUDGE:
            break
    return folds


def _numbered(values: np.ndarray) -> np.ndarray:
    """Integers from 0, as new ones without gaps, in the same order."""
    return (np.cumsum(np.bincount(values) > 0) - 1)[values]


def _cut(weights: np.ndarray, count: int) -> np.ndarray:
    """The fold of each different sample of a class, by the place of its middle on the line of their weights.

    Where that leaves a fold empty, since few samples have most of the weight, by number.
    """
    ends = np.cumsum(weights)
    middles = (ends - 0.5 * weights) / ends[-1]
    folds = np.minimum(np.floor(count * middles + NUDGE), count - 1).astype(np.int64)
    if not np.bincount(folds, minlength=count).all():
        folds = (2 * np.arange(weights.size) + 1) * count // (2 * weights.size)
    return folds
