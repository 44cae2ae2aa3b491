"""The cuts that a bundle method has found, and their products with the columns: what a solve leaves to the next."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np

from thresher.data.blocks.base import Block
from thresher.optim.measures.cuts import Cut
from thresher.optim.problems.cuts import CutProblem

USED_SHARE = 0.95  # of all weights: the cuts that have this share of them are in use
MOST_UNUSED = 6  # iterations with progress that a cut is kept without use
KEPT_TRACE = 0.5  # of the trace of GG' that must be left of what was summed up
LEAST_TRACE = np.finfo(float).tiny
VECTOR_ENTRIES = 1 << 24  # entries of the vectors of cuts that are written out at a time


class ColumnProducts(Protocol):
    """What is needed of a block here."""

    shape: tuple[int, int]

    def correlate(self, V: np.ndarray) -> np.ndarray:
        """X'V."""

    def combine(self, W: np.ndarray) -> np.ndarray:
        """XW."""

    def of_a_class(self) -> "ColumnProducts":
        """The columns of each class, which are the same."""


@dataclass(frozen=True)
class Bundle:
    """The cuts of one class, their products with the columns, and how long each has not been in use.

    ``largest`` has the largest |product| that each column has had. ``Q`` is GG', where it has been asked for, and
    ``summed`` its trace when it was last summed up. Where the shift is a variable, the first two cuts are those of
    the labellings that are all positive and all negative, which are always kept: they take up what is left of
    sums'a = 0.
    """

    cuts: tuple[Cut, ...]
    G: np.ndarray
    age: np.ndarray
    largest: np.ndarray
    Q: np.ndarray | None = None
    summed: float = 0.0

    @property
    def losses(self) -> np.ndarray:
        """The loss of each cut."""
        return np.array([cut.loss for cut in self.cuts])

    @property
    def sums(self) -> np.ndarray:
        """The sum of each cut's vector."""
        return np.array([cut.vector_sum for cut in self.cuts])

    @classmethod
    def empty(cls, problem: CutProblem, c: int, block: ColumnProducts) -> "Bundle":
        """The bundle with which the first solve begins."""
        width = block.shape[1]
        bundle = cls((), np.zeros((0, width)), np.zeros(0, dtype=np.int64), np.zeros(width))
        if not problem.shifted:
            return bundle
        return bundle.joined([problem.oracles[c].uniform_cut(positive=sign) for sign in (True, False)], block)

    def joined(self, cuts: Sequence[Cut], block: ColumnProducts) -> "Bundle":
        """With more cuts; those that are known already are not added, but their age is 0 again."""
        known = {cut.key: at for at, cut in enumerate(self.cuts)}
        age, new = self.age.copy(), {}
        for cut in cuts:
            if cut.key in known:
                age[known[cut.key]] = 0
            elif cut.loss > 0.0 or cut.vector().any():  # without loss, but not y where more than P are counted
                new[cut.key] = cut
        if not new:
            return replace(self, age=age)
        more = cut_products(list(new.values()), block)
        G, Q, summed = np.vstack([self.G, more]), None, 0.0
        if self.Q is not None:
            beside = G[len(age) :] @ G.T
            Q = np.block([[self.Q, beside[:, : len(age)].T], [beside]])
            summed = self.summed + float(beside[:, len(age) :].trace())
        age = np.append(age, np.zeros(len(new), dtype=np.int64))
        largest = np.maximum(self.largest, np.abs(more).max(axis=0))
        return Bundle((*self.cuts, *new.values()), G, age, largest, Q, summed)

    def on(self, block: ColumnProducts) -> "Bundle":
        """On a block with more columns after those that were there."""
        known = self.G.shape[1]
        if known == block.shape[1]:
            return self
        if not isinstance(block, Block):  # columns that cannot be taken apart
            return replace(self, G=self.G[:, :0], largest=self.largest[:0]).with_columns(block)
        return self.with_columns(block.take(np.arange(known, block.shape[1])))

    def with_columns(self, block: ColumnProducts) -> "Bundle":
        """With the columns of ``block`` after those that were there."""
        more = cut_products(self.cuts, block)
        largest = np.append(self.largest, np.abs(more).max(axis=0, initial=0.0))
        return replace(self, G=np.hstack([self.G, more]), largest=largest, Q=None)

    def fewer_columns(self, columns: np.ndarray) -> "Bundle":
        """On some of the columns: GG' loses one rank with each that leaves.

        It is recomputed when half of the columns have left, since subtracting them loses digits. Columns that were
        taken after the last solve have no products yet: then all are computed anew.
        """
        if columns.size and columns.max() >= self.G.shape[1]:
            return replace(self, G=self.G[:, :0], largest=self.largest[:0], Q=None)
        G, Q = np.ascontiguousarray(self.G[:, columns]), None
        if self.Q is not None:
            left = np.delete(self.G, columns, axis=1)
            Q = self.Q - left @ left.T
            Q = Q if Q.trace() > KEPT_TRACE * self.summed else None
        return replace(self, G=G, largest=self.largest[columns], Q=Q)

    def gram(self) -> "Bundle":
        """With GG'."""
        if self.Q is not None:
            return self
        Q = self.G @ self.G.T
        return replace(self, Q=Q, summed=float(Q.trace()))

    def used(self, a: np.ndarray, always: int, progress: bool) -> "Bundle":
        """Without the cuts that have not been in use for long; the first ``always`` stay.

        Only iterations with ``progress`` count: where there is none, cuts that were left out would come again.
        """
        heaviest = np.argsort(-a, kind="stable")
        in_use = np.empty(a.size, dtype=bool)
        in_use[heaviest] = np.cumsum(a[heaviest]) - a[heaviest] < USED_SHARE * a.sum()
        age = np.where(in_use, 0, self.age + progress)
        keep = (age < MOST_UNUSED) | (np.arange(a.size) < always)
        if keep.all():
            return replace(self, age=age)
        cuts, Q, summed = tuple(cut for cut, stays in zip(self.cuts, keep, strict=True) if stays), None, 0.0
        if self.Q is not None:
            Q = self.Q[np.ix_(keep, keep)]
            summed = self.summed * float(Q.trace()) / max(float(self.Q.trace()), LEAST_TRACE)
        return Bundle(cuts, self.G[keep], age[keep], self.largest, Q, summed)


class CutMemory(tuple[Bundle, ...]):
    """The bundle of each class: what a solve passes on to the next."""

    def on(self, block: ColumnProducts) -> "CutMemory":
        """On a block with more columns after those that were there."""
        return CutMemory(bundle.on(block) for bundle in self)

    @property
    def n_cuts(self) -> int:
        """Number of cuts of all classes."""
        return sum(len(bundle.cuts) for bundle in self)

    def fewer_columns(self, columns: np.ndarray) -> "CutMemory":
        """See Divisible."""
        return CutMemory(bundle.fewer_columns(columns) for bundle in self)

    def of_class(self, c: int) -> "CutMemory":
        """See Divisible."""
        return CutMemory(self[c : c + 1])

    def joined(self, others: "Sequence[CutMemory]") -> "CutMemory":
        """See Divisible."""
        return CutMemory(bundle for memory in (self, *others) for bundle in memory)


def cut_products(cuts: Sequence[Cut], block: ColumnProducts) -> np.ndarray:
    """The products of the cuts' vectors with the columns, (cuts, columns)."""
    step, out = max(1, VECTOR_ENTRIES // max(block.shape[0], 1)), np.zeros((len(cuts), block.shape[1]))
    for lo in range(0, len(cuts), step):
        out[lo : lo + step] = block.correlate(np.array([cut.vector() for cut in cuts[lo : lo + step]]).T).T
    return out
