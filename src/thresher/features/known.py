"""The feature maps that have a name, and what users may pass as ``feature_map``."""

from typing import Any

from thresher.features.additive.spec import AdditiveChi2, AdditiveGaussian, Intersection
from thresher.features.base import FeatureMap
from thresher.features.columns import Columns
from thresher.features.polynomial.spec import Polynomial

KNOWN: tuple[type[FeatureMap], ...] = (Columns, Polynomial, Intersection, AdditiveChi2, AdditiveGaussian)
WORDS = {known.word: known for known in KNOWN}


def as_feature_map(given: Any) -> FeatureMap:
    """The FeatureMap that ``given`` is, or is short for; ValueError for anything else."""
    if isinstance(given, FeatureMap):
        return given
    if isinstance(given, str) and given in WORDS:
        return WORDS[given]()
    words = ", ".join(map(repr, WORDS))
    raise ValueError(f"feature_map must be one of {words}, or a FeatureMap such as Polynomial(...); got {given!r}")
