"""Columns of X as features, one by one or in groups."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from thresher.data.designs.units import EachColumn, Units
from thresher.features.base import (
    Base,
    Earlier,
    FeatureMap,
    Features,
    Grouping,
    Restrictions,
    Samples,
    labels_of,
    restricted_columns,
    restricted_groups,
    spread_on,
)
from thresher.features.fitted import FittedFeatures
from thresher.features.fitted_columns import ColumnFeatures
from thresher.features.regrouped import start_of_groups
from thresher.results import Selection


@dataclass(frozen=True, kw_only=True)
class SelectedColumns(Features):
    """Columns, or ``grouping`` of them; ``std`` has their standard deviations before scaling."""

    std: np.ndarray
    grouping: Grouping | None = None

    def fitted(self, ids: np.ndarray, units: np.ndarray) -> ColumnFeatures:
        """See Features."""
        labels = None
        if self.grouping is not None:
            labels = labels_of(self.units, units, self.grouping.labels)
        return ColumnFeatures(
            self.columns.n_columns,
            n_candidates=self.n_candidates,
            spread=spread_on(self.design, ids, self.std),
            labels=labels,
            column_names=self.columns.column_names,
        )

    def continues(self, fitted: FittedFeatures) -> bool:
        """See Features."""
        return isinstance(fitted, ColumnFeatures)

    def start(self, selection: Selection, most: int | None) -> Earlier:
        """See Features: groups are recognised by their labels."""
        if self.grouping is None:
            return super().start(selection, most)
        return start_of_groups(self, self.grouping.labels, selection, most)


@dataclass(frozen=True)
class Columns(FeatureMap):
    """The columns of X themselves."""

    word: ClassVar[str] = "columns"

    def on(
        self, base: Base, samples: Samples, restrictions: Restrictions, *, scale: str | None, centre: bool
    ) -> SelectedColumns:
        """See FeatureMap."""
        design, scale = base.scaled(scale, centre=centre)
        grouping = restrictions.grouping
        if grouping is None:
            units: Units = EachColumn(design.width)
            n_units = base.columns.n_columns
            restricted = restricted_columns(design, restrictions)
        else:
            units = grouping.units(design)
            n_units = grouping.labels.size
            restricted = restricted_groups(units, restrictions)
        return SelectedColumns(
            design=design,
            units=units,
            columns=base.columns,
            scale=scale,
            n_candidates=n_units - restrictions.excluded.size,
            n_units=n_units,
            **restricted,
            std=base.spread,
            grouping=grouping,
        )
