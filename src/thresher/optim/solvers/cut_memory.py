"""The planes that a bundle method has found, and their products with the columns: what a solve leaves to the next."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np

from thresher.data.blocks.base import Block
from thresher.optim.measures.cuts import Plane
from thresher.optim.problems.cuts import PlaneProblem

IN_USE = 0.95  # of all weights: the planes that have this share of them are in use
PATIENCE = 6  # iterations with progress that a plane is kept without use
KEPT = 0.5  # of the trace of GG' that must be left of what was summed up
TINY = np.finfo(float).tiny
VECTORS = 1 << 24  # entries of the vectors of planes that are written out at a time


class Columns(Protocol):
    """What is needed of a block here."""

    shape: tuple[int, int]

    def correlate(self, V: np.ndarray) -> np.ndarray:
        """X'V."""

    def combine(self, W: np.ndarray) -> np.ndarray:
        """XW."""

    def of_a_class(self) -> "Columns":
        """The columns of each class, which are the same."""


@dataclass(frozen=True)
class Bundle:
    """The planes of one class, their products with the columns, and how long each has not been in use.

    ``largest`` has the largest |product| that each column has had. ``Q`` is GG', where it has been asked for, and
    ``summed`` its trace when it was last summed up. Where the shift is a variable, the first two planes are those of
    the labellings that are all positive and all negative, which are always kept: they take up what is left of
    sums'a = 0.
    """

    planes: tuple[Plane, ...]
    G: np.ndarray
    age: np.ndarray
    largest: np.ndarray
    Q: np.ndarray | None = None
    summed: float = 0.0

    @property
    def losses(self) -> np.ndarray:
        """The loss of each plane."""
        return np.array([plane.loss for plane in self.planes])

    @property
    def sums(self) -> np.ndarray:
        """The sum of each plane's vector."""
        return np.array([plane.lean for plane in self.planes])

    @classmethod
    def empty(cls, problem: PlaneProblem, c: int, block: Columns) -> "Bundle":
        """The bundle with which the first solve begins."""
        width = block.shape[1]
        bundle = cls((), np.zeros((0, width)), np.zeros(0, dtype=np.int64), np.zeros(width))
        if not problem.shifted:
            return bundle
        return bundle.joined([problem.oracles[c].everything(positive=sign) for sign in (True, False)], block)

    def joined(self, planes: Sequence[Plane], block: Columns) -> "Bundle":
        """With more planes; those that are there already are not added, but begin anew."""
        known = {plane.key: at for at, plane in enumerate(self.planes)}
        age, new = self.age.copy(), {}
        for plane in planes:
            if plane.key in known:
                age[known[plane.key]] = 0
            elif plane.loss > 0.0 or plane.vector().any():  # without loss, but not y where more than P are counted
                new[plane.key] = plane
        if not new:
            return replace(self, age=age)
        more = products(list(new.values()), block)
        G, Q, summed = np.vstack([self.G, more]), None, 0.0
        if self.Q is not None:
            beside = G[len(age) :] @ G.T
            Q = np.block([[self.Q, beside[:, : len(age)].T], [beside]])
            summed = self.summed + float(beside[:, len(age) :].trace())
        age = np.append(age, np.zeros(len(new), dtype=np.int64))
        return Bundle((*self.planes, *new.values()), G, age, np.maximum(self.largest, sizes(more)), Q, summed)

    def on(self, block: Columns) -> "Bundle":
        """On a block with more columns after those that were there."""
        known = self.G.shape[1]
        if known == block.shape[1]:
            return self
        if not isinstance(block, Block):  # columns that cannot be taken apart
            G = products(self.planes, block)
            return replace(self, G=G, largest=sizes(G), Q=None)
        more = products(self.planes, block.take(np.arange(known, block.shape[1])))
        return replace(self, G=np.hstack([self.G, more]), largest=np.append(self.largest, sizes(more)), Q=None)

    def fewer_columns(self, columns: np.ndarray) -> "Bundle":
        """On some of the columns: GG' loses one rank with each that leaves.

        It is summed up anew when half of it is gone, since digits are lost with it. Columns that were taken after the
        last solve have no products yet: then all are computed anew.
        """
        if columns.size and columns.max() >= self.G.shape[1]:
            return replace(self, G=self.G[:, :0], largest=self.largest[:0], Q=None)
        G, Q = np.ascontiguousarray(self.G[:, columns]), None
        if self.Q is not None:
            left = np.delete(self.G, columns, axis=1)
            Q = self.Q - left @ left.T
            Q = Q if Q.trace() > KEPT * self.summed else None
        return replace(self, G=G, largest=self.largest[columns], Q=Q)

    def gram(self) -> "Bundle":
        """With GG'."""
        if self.Q is not None:
            return self
        Q = self.G @ self.G.T
        return replace(self, Q=Q, summed=float(Q.trace()))

    def used(self, a: np.ndarray, always: int, progress: bool) -> "Bundle":
        """Without the planes that have not been in use for long; the first ``always`` stay.

        Only iterations with ``progress`` count: where there is none, planes that were left out would come again.
        """
        heaviest = np.argsort(-a, kind="stable")
        in_use = np.empty(a.size, dtype=bool)
        in_use[heaviest] = np.cumsum(a[heaviest]) - a[heaviest] < IN_USE * a.sum()
        age = np.where(in_use, 0, self.age + progress)
        keep = (age < PATIENCE) | (np.arange(a.size) < always)
        if keep.all():
            return replace(self, age=age)
        planes, Q, summed = tuple(plane for plane, stays in zip(self.planes, keep, strict=True) if stays), None, 0.0
        if self.Q is not None:
            Q = self.Q[np.ix_(keep, keep)]
            summed = self.summed * float(Q.trace()) / max(float(self.Q.trace()), TINY)
        return Bundle(planes, self.G[keep], age[keep], self.largest, Q, summed)


class Memory(tuple[Bundle, ...]):
    """The bundle of each class: what a solve passes on to the next."""

    def on(self, block: Block) -> "Memory":
        """On a block with more columns after those that were there."""
        return Memory(bundle.on(block) for bundle in self)

    @property
    def n_planes(self) -> int:
        """Number of planes of all classes."""
        return sum(len(bundle.planes) for bundle in self)

    def fewer_columns(self, columns: np.ndarray) -> "Memory":
        """See Divisible."""
        return Memory(bundle.fewer_columns(columns) for bundle in self)

    def of_class(self, c: int) -> "Memory":
        """See Divisible."""
        return Memory(self[c : c + 1])

    def joined(self, others: "Sequence[Memory]") -> "Memory":
        """See Divisible."""
        return Memory(bundle for memory in (self, *others) for bundle in memory)


def products(planes: Sequence[Plane], block: Columns) -> np.ndarray:
    """The products of the planes' vectors with the columns, (planes, columns)."""
    step, out = max(1, VECTORS // max(block.shape[0], 1)), np.zeros((len(planes), block.shape[1]))
    for lo in range(0, len(planes), step):
        vectors = np.array([plane.vector() for plane in planes[lo : lo + step]])
        out[lo : lo + step] = block.correlate(vectors.T).T
    return out


def sizes(G: np.ndarray) -> np.ndarray:
    """The largest |value| of each column."""
    return np.abs(G).max(axis=0, initial=0.0)
