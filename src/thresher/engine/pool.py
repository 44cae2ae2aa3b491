"""Units that are in memory as a matrix of their own, on which models are grown and eliminated without reading X."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from thresher.data.blocks.base import Block
from thresher.data.designs.memory import MemoryDesign
from thresher.data.designs.units import Members, SumOfSquares, Units, largest_positive
from thresher.data.scan.reducers import Ranked, Reducer, TopK
from thresher.data.workers import SERIAL
from thresher.engine.working_set import WorkingSet
from thresher.optim.penalties.layout import Layout
from thresher.optim.problems.margins import Problem


class PooledUnits(Units):
    """The units ``ids`` of ``units``, numbered from 0; their columns are those that ``take`` gives."""

    def __init__(self, units: Units, ids: np.ndarray):
        self.count, self.grouped, self.noun, self.mean_size = ids.size, units.grouped, units.noun, units.mean_size
        self.units, self.ids = units, ids
        self.layout = Layout(units.members(ids).sizes)

    def reducer(self, size: int, exclude: np.ndarray) -> Reducer:
        """See Units."""
        if self.layout.sizes is None:
            return TopK(size, exclude=exclude, summed=True)
        return SumOfSquares(int(self.layout.sizes.sum()))

    def ranked(self, result: Any, size: int, exclude: np.ndarray) -> Ranked:
        """See Units."""
        if self.layout.sizes is None:
            return result[0]
        sums = np.add.reduceat(result, self.layout.starts)
        sums[exclude] = 0.0
        return largest_positive(sums, size)

    def members(self, units: np.ndarray) -> Members:
        """See Units."""
        sizes = self.layout.sizes
        return Members(self.layout.columns(units), None if sizes is None else sizes[units])

    def roots(self, units: np.ndarray) -> None:
        """See Units."""
        return None

    def needed(self, units: np.ndarray) -> tuple[np.ndarray, bool] | None:
        """See Units."""
        return self.units.needed(self.ids[units])


class Pool:
    """Some units of a fit with their columns: ``units`` and ``forced`` number them from 0, ``design`` has the columns.

    It is worked on by one thread: several pools may be, at once.

    Parameters
    ----------
    units : Units
        All units of the fit.
    ids : ndarray of int64
        Those that are here, sorted.
    block : Block
        What ``units.take`` gives for them.
    forced : sequence of int
        Units of the fit that must be selected, all of them here.
    """

    def __init__(self, units: Units, ids: np.ndarray, block: Block, forced: Sequence[int]):
        self.units = PooledUnits(units, ids)
        self.design = MemoryDesign(block)
        self.design.workers = SERIAL
        self.of_fit = forced
        self.forced = tuple(np.searchsorted(ids, np.asarray(forced, dtype=np.int64)).tolist())

    def part(self, ids: np.ndarray) -> "Pool":
        """Some of the units of the fit that are here, all forced ones among them, sorted."""
        columns = self.units.members(np.searchsorted(self.units.ids, ids)).columns
        return Pool(self.units.units, ids, self.design.take(columns), self.of_fit)

    def taken(self, ids: np.ndarray, problem: Problem) -> WorkingSet:
        """Some units of the fit, all forced ones among them, at weight zero; the forced ones come first."""
        forced = np.asarray(self.forced, dtype=np.int64)
        order = np.concatenate([forced, np.setdiff1d(np.searchsorted(self.units.ids, ids), forced)])
        members = self.units.members(order)
        block = self.design.take(members.columns)
        taken = WorkingSet.nothing(problem, grouped=self.units.grouped).joined(order, members, block)
        return replace(taken, forced=forced.size)
