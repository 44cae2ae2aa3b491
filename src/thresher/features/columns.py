"""Columns of X as features, one by one or in groups."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from thresher.data.designs.units import EachColumn
from thresher.features.base import FeatureMap, Features, column_units
from thresher.features.fitted import FittedFeatures
from thresher.features.fitted_columns import ColumnFeatures
from thresher.features.samples import Base, Restrictions, Samples
from thresher.results import Spread


@dataclass(frozen=True, kw_only=True)
class SelectedColumns(Features):
    """Columns, or groups of them; ``std`` has their standard deviations before scaling."""

    fitted_type: type[FittedFeatures] = ColumnFeatures
    std: np.ndarray

    def parts(self, ids: np.ndarray) -> dict[str, Any]:
        """See Features."""
        return {"spread": Spread(self.design.ids_in_X(ids), self.std[ids])}


@dataclass(frozen=True)
class Columns(FeatureMap):
    """The columns of X themselves."""

    word: ClassVar[str] = "columns"

    def on(
        self, base: Base, samples: Samples, restrictions: Restrictions, *, scale: str | None, centre: bool
    ) -> SelectedColumns:
        """See FeatureMap."""
        design, scale = base.scaled(scale, centre=centre)
        units = column_units(base, design, restrictions, EachColumn(design.width))
        return SelectedColumns(design=design, scale=scale, std=base.spread, **units)
