"""Products as units that need linear terms: strong heredity needs those of both columns, weak heredity one of them."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from thresher.data.designs.base import Design
from thresher.data.designs.units import EachColumn, RankingRequest, Scan
from thresher.data.scan.reducers import Ranked, Split, TopK, best_first
from thresher.data.scan.scores import Correlation
from thresher.features.polynomial.design import ProductDesign
from thresher.features.polynomial.numbers import numbers_of, pairs_of

MOST_ENTRIES = 1 << 24  # of all vectors of a scan; where there would be more, there are several scans


class HereditaryTerms(EachColumn):
    """Every term is a unit; ``both``: products need the linear terms of both columns, else of one."""

    def __init__(self, count: int, *, both: bool):
        super().__init__(count)
        self.both = both

    def eligible(self, design: Design, requests: Sequence[RankingRequest], scan: Scan) -> list[Ranked]:
        """See Units: linear terms, and products of columns whose linear terms are taken.

        One scan of the columns finds the linear terms for all models and, under weak heredity, the products with each
        column whose linear term is taken. Under strong heredity both columns are in memory.
        """
        if not isinstance(design, ProductDesign):
            raise TypeError(f"heredity is for products of columns, got {type(design).__name__}")
        found: list[list[Ranked]] = [[] for _ in requests]
        searches = []
        for request, lists in zip(requests, found, strict=True):
            parents = _parents(design, request)
            searches.append(Search(design, request, lists))
            if self.both:
                lists.append(_products_in_memory(design, request, parents))
            else:
                searches += [Search(design, request, lists, int(place)) for place in parents]
        widest = max(len(request.V) for request in requests)
        at_a_time = max(1, MOST_ENTRIES // max(1, widest * design.shape[0]))
        for lo in range(0, len(searches), at_a_time):
            some = searches[lo : lo + at_a_time]
            vectors = [search.vectors() for search in some]
            reducer = Split([search.reducer() for search in some], [len(V) for V in vectors])
            results = scan(design.base, Correlation(np.concatenate(vectors).T), reducer)
            for search, (best,) in zip(some, results, strict=True):
                search.keep(*best)
        return [_best(lists, request.size) for lists, request in zip(found, requests, strict=True)]

    def needed(self, units: np.ndarray) -> tuple[np.ndarray, bool]:
        """See Units."""
        pairs = pairs_of(units)
        order = np.argsort(units)
        products = pairs[:, 1] >= 0
        others = np.full(pairs.shape, -1, dtype=np.int64)
        for side in range(2):
            linear = numbers_of(pairs[products, side], np.full(np.count_nonzero(products), -1))
            place = np.minimum(np.searchsorted(units[order], linear), units.size - 1)
            others[products, side] = np.where(units[order[place]] == linear, order[place], -1)
        return others, self.both


@dataclass(frozen=True, eq=False)
class Search:
    """The best linear terms for a model, or the best products with the column of a linear term that it has taken.

    ``place`` is that of this term among the units taken, None for linear terms. What is found is added to ``lists``.
    """

    design: ProductDesign
    request: RankingRequest
    lists: list[Ranked]
    place: int | None = None

    def vectors(self) -> np.ndarray:
        """The vectors that columns are scanned for: those of the model, times the column."""
        if self.place is None or self.request.columns is None:
            return self.request.V
        column = self.request.columns.take(np.array([self.place])).toarray()[:, 0]
        return self.request.V * (column / self.design.polynomial.linear_factor)

    def reducer(self) -> TopK:
        """Keeps the best columns: as many as wanted, and as many as may be left out afterwards."""
        terms = self.design.terms
        there = terms.linear if self.place is None else terms.product
        size = self.request.size + self.request.exclude.size + 1
        return TopK(size, np.flatnonzero(~there), summed=True)

    def keep(self, columns: np.ndarray, squares: np.ndarray) -> None:
        """Keep the terms made of ``columns``, which have these squared scores."""
        own = -1 if self.place is None else int(pairs_of(self.request.taken[[self.place]])[0, 0])
        pairs = np.stack([columns, np.full_like(columns, own)], axis=1)
        factors = self.design.polynomial.factors(pairs)
        self.lists.append(_allowed(self.design, self.request, pairs, squares * factors**2))


def _parents(design: ProductDesign, request: RankingRequest) -> np.ndarray:
    """Places among the units taken of linear terms whose columns have products."""
    first, second = pairs_of(request.taken).T
    return np.flatnonzero((second < 0) & design.terms.product[first])


def _products_in_memory(design: ProductDesign, request: RankingRequest, parents: np.ndarray) -> Ranked:
    """All products and squares of the columns of ``parents``."""
    columns, (i, j) = pairs_of(request.taken[parents])[:, 0], np.triu_indices(parents.size)
    squares = np.zeros(i.size)
    if request.columns is not None and parents.size:
        block = request.columns.take(parents)
        for v in request.V:
            squares += block.gram(v)[i, j] ** 2
    pairs = np.stack([columns[i], columns[j]], axis=1)
    factors = design.polynomial.factors(pairs) / design.polynomial.linear_factor**2
    return _allowed(design, request, pairs, squares * factors**2)


def _allowed(design: ProductDesign, request: RankingRequest, pairs: np.ndarray, squares: np.ndarray) -> Ranked:
    """The terms of some pairs that are not left out and have a score."""
    first, second = pairs.T
    numbers = numbers_of(first, second)
    there = (first != second) | design.terms.square[first]
    keep = there & (squares > 0.0) & ~np.isin(numbers, request.exclude)
    return numbers[keep], squares[keep]


def _best(lists: list[Ranked], size: int) -> Ranked:
    """The best of all lists, in which a term may be twice."""
    ids, squares = (np.concatenate(parts) for parts in zip(*lists, strict=True))
    ids, first = np.unique(ids, return_index=True)
    order = best_first(squares[first], ids)[:size]
    return ids[order], squares[first][order]
