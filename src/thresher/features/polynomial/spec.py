"""Products of columns as users describe them."""

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from thresher.data.designs.base import Design
from thresher.data.designs.units import EachColumn, Units
from thresher.data.input.scaling import choose_scale
from thresher.data.scan.pieces import Cost
from thresher.errors import InvalidDataError
from thresher.features.base import (
    Base,
    FeatureMap,
    Features,
    Restrictions,
    Samples,
    measured_spread,
    restricted_columns,
)
from thresher.features.fitted import FittedFeatures
from thresher.features.polynomial.design import ProductDesign, is_sparse
from thresher.features.polynomial.fitted import ProductFeatures
from thresher.features.polynomial.heredity import HereditaryTerms
from thresher.features.polynomial.numbers import inputs_of, n_numbers, numbers_of
from thresher.features.polynomial.terms import factors_of, terms_of
from thresher.state import register

TOO_LARGE, TOO_SMALL = 1e30, 1e-30  # the largest |x| of scaled columns whose products are made
HEREDITY = (None, "strong", "weak")


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
        for name, least in (("gamma", "positive"), ("coef0", "at least 0")):
            value = getattr(self, name)
            real = isinstance(value, (int, float, np.integer, np.floating)) and not isinstance(value, bool)
            if not (real and math.isfinite(value) and (value > 0.0 or (value == 0.0 and name == "coef0"))):
                raise ValueError(f"{name} must be a finite number, {least}; got {value!r}")
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

    @property
    def proof_note(self) -> str:
        """See FeatureMap."""
        return "" if self.heredity is None else " That counts terms which heredity does not allow, too."

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
            column = base.columns.called(int(columns.ids_in_X(np.argmax(size, keepdims=True))[0]))
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
