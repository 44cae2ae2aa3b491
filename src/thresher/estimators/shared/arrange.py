"""From a validated X to a scaled design: the pass that looks at every entry once."""

import functools
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from thresher.data.designs.base import Design
from thresher.data.input.fingerprint import fingerprint
from thresher.data.input.scaling import choose_scale, scaled, spread_of
from thresher.data.input.validation import check_finite
from thresher.data.workers import Workers
from thresher.errors import InvalidDataError, UnsupportedDesignError
from thresher.features.additive.design import expanded
from thresher.features.additive.spec import Kernel
from thresher.features.columns import Space
from thresher.features.polynomial.design import is_sparse, products_of
from thresher.features.polynomial.spec import Polynomial
from thresher.loops.moments import LARGEST, SUM
from thresher.results import Trace


class Arranged(NamedTuple):
    """The scaled features of X, which scale that is, a digest of the data, and the largest |x| in it.

    ``spread`` has the standard deviations of the features as given, before scaling, or returns those of some; None
    where features are not selected one by one.
    """

    design: Design
    scale: str | None
    fingerprint: dict
    largest: float
    spread: np.ndarray | Callable[[np.ndarray], np.ndarray] | None


def arranged(
    space: Space,
    X: Any,
    codes: np.ndarray,
    weights: np.ndarray,
    scale: str | None,
    workers: Workers,
    trace: Trace,
    *,
    centre: bool,
    keep: ArrayLike = (),
    to_csc: bool = False,
    kernel: Kernel | Polynomial | None = None,
    exclude: ArrayLike = (),
) -> Arranged:
    """The Arranged of X, with features that ``kernel`` makes; raises InvalidDataError if an entry is not finite.

    No product is made of the columns ``exclude`` of X.
    """
    with trace.step("arrange"):
        design = space.design(X, workers, keep=keep, to_csc=to_csc)
    if design.prunes:
        raise UnsupportedDesignError(
            "X is a Design of products: give the Design of the columns they are made of, with features='polynomial'"
        )
    if design.scaling is not None and scale is not None:
        raise InvalidDataError(f"the Design is already scaled: set scale=None, got {scale!r}")
    with trace.step("validate", *design.check_cost()):
        anchor, table = design.statistics(weights)
    check_finite(table, design, space.called)
    digest = fingerprint(design, table, codes, space.n_columns)
    total = weights.sum()
    if isinstance(kernel, Polynomial):
        scale = scale_for_products(design, scale, table, total, centre=centre)
    design, scale = scaled(design, anchor, table, total, scale, centre=centre, n_features=space.n_columns)
    largest = float(table[LARGEST].max(initial=0.0))
    if kernel is None:
        return Arranged(design, scale, digest, largest, spread_of(table, total))
    if isinstance(kernel, Polynomial):
        with trace.step("validate", *design.scan_cost()):
            made = products_of(design, kernel, weights, exclude, table[LARGEST], space.called)
        return Arranged(made, scale, digest, largest, functools.partial(made.spread, weights=weights))
    features = expanded(design, kernel, anchor + table[SUM] / total, table[LARGEST].copy(), space.called)
    return Arranged(features, scale, digest, largest, None)


def scale_for_products(
    design: Design, scale: str | None, table: np.ndarray, total: float, *, centre: bool
) -> str | None:
    """The scale of columns whose products are features: sparse ones are not centred, dense ones are.

    "auto" leaves data with few non-zero entries as it is, as for columns.
    """
    chosen = choose_scale(table, total, table.shape[1]) if scale == "auto" and design.scaling is None else scale
    if not is_sparse(design):
        return "std" if scale == "auto" and chosen == "max" else chosen
    if scale == "std" and centre:
        raise InvalidDataError(
            'scale="std" centres the columns, and products of centred sparse columns are not sparse: use scale="max", '
            '"unit" or None, fit_intercept=False, or a dense X'
        )
    return "max" if scale == "auto" and chosen == "std" else chosen
