"""Products of columns as users describe them, and as units that need linear terms."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from thresher.data.designs.base import Design
from thresher.data.designs.units import EachColumn, RankingRequest, Scan, Units
from thresher.data.input.scaling import choose_scale
from thresher.data.scan.pieces import Cost
from thresher.data.scan.reducers import Ranked, Split, TopK, best_first
from thresher.data.scan.scores import Correlation
from thresher.errors import InvalidDataError
from thresher.features.base import FeatureMap, Features, check_number, measured_spread, restricted_columns
from thresher.features.fitted import FittedFeatures
from thresher.features.polynomial.products import ProductDesign, ProductFeatures, is_sparse
from thresher.features.polynomial.terms import factors_of, inputs_of, n_numbers, numbers_of, pairs_of, terms_of
from thresher.features.samples import Base, Restrictions, Samples
from thresher.state import register

TOO_LARGE, TOO_SMALL = 1e30, 1e-30  # the largest |x| of scaled columns whose products are made
HEREDITY = (None, "strong", "weak")
HEREDITY_ENTRIES = 1 << 24  # of all vectors of a scan; where there would be more, there are several scans


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
        found = [[_products_in_memory(design, request)] if self.both else [] for request in requests]
        searches = []
        for request, lists in zip(requests, found, strict=True):
            places = [] if self.both else _parents(design, request).tolist()
            searches += [Search(design, request, lists, place) for place in (None, *places)]
        widest = max(len(request.V) for request in requests)
        at_a_time = max(1, HEREDITY_ENTRIES // max(1, widest * design.shape[0]))
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
    place: int | None

    def vectors(self) -> np.ndarray:
        """The vectors that columns are scanned for: those of the model, times the column."""
        if self.place is None or self.request.columns is None:
            return self.request.V
        column = self.request.columns.take(np.array([self.place])).toarray()[:, 0]
        return self.request.V * (column / self.design.polynomial.linear_factor)

    def reducer(self) -> TopK:
        """Keeps the best columns: as many as wanted, and as many as may be left out afterwards."""
        terms = self.design.terms
        eligible = terms.linear if self.place is None else terms.product
        size = self.request.size + self.request.exclude.size + 1
        return TopK(size, np.flatnonzero(~eligible), summed=True)

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


def _products_in_memory(design: ProductDesign, request: RankingRequest) -> Ranked:
    """All products and squares of the columns whose linear terms are taken."""
    parents = _parents(design, request)
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
    known = (first != second) | design.terms.square[first]
    keep = known & (squares > 0.0) & ~np.isin(numbers, request.exclude)
    return numbers[keep], squares[keep]


def _best(lists: list[Ranked], size: int) -> Ranked:
    """The best of all lists, in which a term may be twice."""
    ids, squares = (np.concatenate(parts) for parts in zip(*lists, strict=True))
    ids, first = np.unique(ids, return_index=True)
    order = best_first(squares[first], ids)[:size]
    return ids[order], squares[first][order]


@register
@dataclass(frozen=True)
class Polynomial(FeatureMap):
    """Products of two columns, squares and linear terms: the features of the kernel (gamma x'z + coef0)^2.

    None of them is written down but those that a fit takes. Squares of columns with two values are left out, since they
    repeat linear terms, and so are products with constant columns.

    Parameters
    ----------
    gamma : float, default=1.0
        Factor of x'z in the kernel. Before features are compared, products are multiplied by sqrt(2) gamma, squares by
        gamma and linear terms by sqrt(2 gamma coef0).
    coef0 : float, default=1.0
        Constant of the kernel: the larger, the more linear terms are preferred. 0: there are none.
    interaction_only : bool, default=False
        Whether to leave squares out.
    heredity : {None, "strong", "weak"}, default=None
        Whether a product may be selected only if both ("strong") or one ("weak") of its columns are selected as
        linear terms.

    Examples
    --------
    >>> import numpy as np
    >>> from thresher import FGMClassifier, Polynomial
    >>> X = np.random.default_rng(0).standard_normal((300, 40))
    >>> y = X[:, 7] * X[:, 30] > 0                       # no single column shows it
    >>> FGMClassifier(1, feature_map=Polynomial(interaction_only=True)).fit(X, y).selection_.pairs
    array([[ 7, 30]])
    """

    gamma: float = 1.0
    coef0: float = 1.0
    interaction_only: bool = False
    heredity: str | None = None
    word: ClassVar[str] = "polynomial"

    def __post_init__(self) -> None:
        check_number("gamma", self.gamma)
        check_number("coef0", self.coef0, zero=True)
        if not isinstance(self.interaction_only, (bool, np.bool_)):
            raise ValueError(f"interaction_only must be True or False, got {self.interaction_only!r}")
        if self.heredity not in HEREDITY:
            raise ValueError(f"heredity must be one of {HEREDITY}, got {self.heredity!r}")
        if self.heredity is not None and self.coef0 == 0.0:
            raise ValueError(
                f'heredity="{self.heredity}" needs linear terms, but coef0=0 leaves them out: set coef0 to a positive '
                "number"
            )

    def factors(self, pairs: np.ndarray) -> np.ndarray:
        """What the kernel multiplies features by.

        Parameters
        ----------
        pairs : ndarray of int64 of shape (n_features, 2)
            Columns of each feature, as in ``selection_.pairs``.

        Returns
        -------
        ndarray of float64
            The factor of each.
        """
        first, second = pairs.T
        product, square, linear = self.product_factor, float(self.gamma), self.linear_factor
        return np.where(second < 0, linear, np.where(first == second, square, product))

    @property
    def product_factor(self) -> float:
        """That of a product of two columns."""
        return math.sqrt(2.0) * float(self.gamma)

    @property
    def linear_factor(self) -> float:
        """That of a linear term."""
        return math.sqrt(2.0 * float(self.gamma) * float(self.coef0))

    @property
    def needs_elimination(self) -> str:
        """See FeatureMap."""
        return "" if self.heredity is None else "heredity"

    def check(self, scale: str | None, restrictions: Restrictions) -> None:
        """See FeatureMap."""
        if restrictions.grouping is not None:
            raise ValueError('groups and feature_map="polynomial" cannot be combined: products are selected one by one')
        if restrictions.forced.size and self.coef0 == 0.0:
            raise ValueError("always_include needs linear terms, but Polynomial(coef0=0) has none")

    def on(
        self, base: Base, samples: Samples, restrictions: Restrictions, *, scale: str | None, centre: bool
    ) -> "SelectedProducts":
        """See FeatureMap: ``forced`` are linear terms, columns that are excluded are in no product."""
        columns, scale = base.scaled(self._scale(base, scale, centre=centre), centre=centre)
        with base.trace.step("validate", *_first_look(columns)):
            design = self._products(columns, base, restrictions)
        linear, _ = restricted_columns(columns, restrictions)
        units: Units = EachColumn(design.width)
        if self.heredity is not None:
            units = HereditaryTerms(design.width, both=self.heredity == "strong")
        n_columns = base.columns.n_columns
        return SelectedProducts(
            design=design,
            units=units,
            columns=base.columns,
            scale=scale,
            n_candidates=n_numbers(n_columns - restrictions.excluded.size) - 1,
            n_units=n_numbers(n_columns) - 1,
            forced=tuple(numbers_of(linear, np.full_like(linear, -1)).tolist()),
            weights=base.weights,
        )

    def _scale(self, base: Base, scale: str | None, *, centre: bool) -> str | None:
        """The scale of columns whose products are features: sparse ones are not centred, dense ones are.

        "auto" leaves data with few non-zero entries as it is, as for columns.
        """
        design, table = base.design, base.table
        chosen = scale
        if scale == "auto" and design.scaling is None:
            chosen = choose_scale(table, base.total, table.shape[1])
        if not is_sparse(design):
            return "std" if scale == "auto" and chosen == "max" else chosen
        if scale == "std" and centre:
            raise InvalidDataError(
                'scale="std" centres the columns, and products of centred sparse columns are not sparse: use '
                'scale="max", "unit" or None, fit_intercept=False, or a dense X'
            )
        return "max" if scale == "auto" and chosen == "std" else chosen

    def _products(self, columns: Design, base: Base, restrictions: Restrictions) -> ProductDesign:
        """The products of ``columns``, those on the scale, except of the columns that are excluded."""
        if columns.n_columns < 2:
            raise InvalidDataError('X has 1 feature(s): products need at least two columns; use feature_map="columns"')
        size = base.largest * factors_of(columns, np.arange(columns.width))
        most = float(size.max(initial=0.0))
        if most > TOO_LARGE or 0.0 < most < TOO_SMALL:
            column = base.columns.shown_name(int(columns.ids_in_X(np.argmax(size, keepdims=True))[0]))
            raise InvalidDataError(
                f"column {column} of X has values of up to {most:.3g} on the scale of the fit, the largest of all: "
                f"their products are too {'large' if most > 1.0 else 'small'} to be computed; use scale='max'"
            )
        _, excluded = restricted_columns(columns, restrictions)
        return ProductDesign(columns, terms_of(columns, self, base.weights, excluded))


def _first_look(columns: Design) -> Cost:
    """What is read before the first scan of products, or once in it.

    A pass for the terms that there are; a column, three times, for how it is stored; a pass for dense ones in tiles.
    """
    once, column = columns.scan_cost(), columns.take_cost(np.zeros(1, dtype=np.int64))
    times = 1 if is_sparse(columns) else 2
    return Cost(times * once.passes + 3 * column.passes, times * once.bytes + 3 * column.bytes)


@dataclass(frozen=True, kw_only=True)
class SelectedProducts(Features):
    """Products of columns; ``weights`` are those of the rows."""

    design: ProductDesign
    fitted_type: type[FittedFeatures] = ProductFeatures
    weights: np.ndarray

    def parts(self, ids: np.ndarray) -> dict[str, Any]:
        """See Features."""
        columns, inputs = self.design.base, inputs_of(ids)
        shift = None if columns.scaling is None else columns.scaling.take(inputs).shift
        return {
            "known": columns.ids_in_X(inputs),
            "shift": np.zeros(inputs.size) if shift is None else shift,
            "factor": factors_of(columns, inputs),
            "n_candidates": self.design.terms.count,
            "spread": measured_spread(self.design, ids, self.weights),
        }

    def fitted_cost(self, ids: np.ndarray) -> Cost:
        """See Features: the features are made once more, for their standard deviations."""
        return self.design.take_cost(ids)
