"""What is selected: one package for each kind of feature; and the base classes for a kind of your own.

A feature map of your own is a frozen dataclass that derives from ``FeatureMap`` or, for numbers made of single columns,
from ``AdditiveKernel``; ``thresher.testing.check_feature_map`` checks the laws that fits rely on. Model files have
values of your own classes once these are known to them: classes that derive from ``FittedFeatures`` by their definition
with a ``kind``, other frozen dataclasses by ``register``.
"""

import importlib
from typing import TYPE_CHECKING, Any

from thresher.state import register

if TYPE_CHECKING:  # type checkers and editors cannot follow __getattr__
    from thresher.data.blocks.dense import DenseBlock
    from thresher.data.designs.base import Design
    from thresher.data.designs.made import MadeDesign
    from thresher.data.designs.units import EachColumn, GroupUnits, Units
    from thresher.data.scan.pieces import Cost, Generated
    from thresher.data.scan.sources import reference
    from thresher.features.additive.spec import AdditiveKernel
    from thresher.features.base import FeatureMap, Features, column_units, measured_spread
    from thresher.features.expanded import EachInput, ExpandedDesign, ExpandedFeatures, ExpandedUnits, expanded_units
    from thresher.features.fitted import FittedFeatures
    from thresher.features.fitted_columns import ColumnFeatures, MadeFeatures
    from thresher.features.samples import Base, Restrictions, Samples

_MODULES = {
    "AdditiveKernel": "thresher.features.additive.spec",
    "Base": "thresher.features.samples",
    "ColumnFeatures": "thresher.features.fitted_columns",
    "Cost": "thresher.data.scan.pieces",
    "DenseBlock": "thresher.data.blocks.dense",
    "Design": "thresher.data.designs.base",
    "EachColumn": "thresher.data.designs.units",
    "EachInput": "thresher.features.expanded",
    "ExpandedDesign": "thresher.features.expanded",
    "ExpandedFeatures": "thresher.features.expanded",
    "ExpandedUnits": "thresher.features.expanded",
    "FeatureMap": "thresher.features.base",
    "Features": "thresher.features.base",
    "FittedFeatures": "thresher.features.fitted",
    "Generated": "thresher.data.scan.pieces",
    "GroupUnits": "thresher.data.designs.units",
    "MadeDesign": "thresher.data.designs.made",
    "MadeFeatures": "thresher.features.fitted_columns",
    "Restrictions": "thresher.features.samples",
    "Samples": "thresher.features.samples",
    "Units": "thresher.data.designs.units",
    "column_units": "thresher.features.base",
    "expanded_units": "thresher.features.expanded",
    "measured_spread": "thresher.features.base",
    "reference": "thresher.data.scan.sources",
}

__all__ = [
    "AdditiveKernel",
    "Base",
    "ColumnFeatures",
    "Cost",
    "DenseBlock",
    "Design",
    "EachColumn",
    "EachInput",
    "ExpandedDesign",
    "ExpandedFeatures",
    "ExpandedUnits",
    "FeatureMap",
    "Features",
    "FittedFeatures",
    "Generated",
    "GroupUnits",
    "MadeDesign",
    "MadeFeatures",
    "Restrictions",
    "Samples",
    "Units",
    "column_units",
    "expanded_units",
    "measured_spread",
    "reference",
    "register",
]


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return getattr(importlib.import_module(_MODULES[name]), name)
    raise AttributeError(f"module 'thresher.features' has no attribute {name!r}")
