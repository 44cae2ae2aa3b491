"""Products as units that need linear terms: strong heredity needs those of both columns, weak heredity one of them."""

import numpy as np

from thresher.data.designs.base import Design
from thresher.data.designs.units import EachColumn
from thresher.data.scan.reducers import Ranked, Split, TopK, best_first, distinct
from thresher.data.scan.scores import Correlation
from thresher.features.polynomial.design import ProductDesign
from thresher.features.polynomial.numbers import numbers_of, pairs_of

AT_A_TIME = 8  # columns whose products with all others are scored in one scan


class HereditaryTerms(EachColumn):
    """Every term is a unit; ``both``: products need the linear terms of both columns, else of one."""

    def __init__(self, count: int, *, both: bool):
        super().__init__(count)
        self.both = both

    def eligible(self, design: Design, V: np.ndarray, taken: np.ndarray, size: int, exclude: np.ndarray) -> Ranked:
        """See Units: linear terms, and products of columns whose linear terms are taken."""
        if not isinstance(design, ProductDesign):
            raise TypeError(f"heredity is for products of columns, got {type(design).__name__}")
        pairs = pairs_of(taken)
        there = pairs[pairs[:, 1] < 0, 0]
        (found,) = design.within(there if self.both else there[:0], there).scan(
            Correlation(V.T), TopK(size, exclude, summed=True)
        )
        lists = [found]
        for lo in range(0, 0 if self.both else there.size, AT_A_TIME):
            lists += _with_all(design, V, there[lo : lo + AT_A_TIME], size, exclude)
        ids, squares = (np.concatenate(parts) for parts in zip(*lists, strict=True))
        ids, first = np.unique(ids, return_index=True)
        order = best_first(squares[first], ids)[:size]
        return ids[order], squares[first][order]

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


def _with_all(
    design: ProductDesign, V: np.ndarray, columns: np.ndarray, size: int, exclude: np.ndarray
) -> list[Ranked]:
    """The best products of each of ``columns`` with any other column."""
    z, k = design.base.take(columns).toarray(), len(V)
    vectors = np.concatenate([V * column for column in z.T])
    gone = distinct(exclude)
    more = size + gone.size + 1  # those that are left out afterwards are found, too
    reducer = Split([TopK(more, summed=True)] * columns.size, [k] * columns.size)
    found = []
    for i, ((others, squares),) in zip(columns, design.base.scan(Correlation(vectors.T), reducer), strict=True):
        ids = numbers_of(np.full_like(others, i), others)
        keep = (others != i) & design.terms.product[others] & design.terms.product[i] & ~np.isin(ids, gone)
        found.append((ids[keep], squares[keep] * design.polynomial.product_factor**2))
    return found
