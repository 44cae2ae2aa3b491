"""Where a fit with ``warm_start=True`` starts: the features and weights of the last one."""

from dataclasses import dataclass
from typing import Any, Self

from thresher.data.input.validation import count_columns
from thresher.families.fgm.fit import Starts
from thresher.features.base import Earlier, Features
from thresher.results import Selection
from thresher.targets.base import Labels, Target

REMEDY = "fit a new estimator or set warm_start=False"


@dataclass(frozen=True)
class Previous:
    """The last fit: its selection, its number of columns, and what it predicts."""

    selection: Selection
    n_columns: int
    labels: Labels

    def seen(self, X: Any) -> Self:
        """Itself; raises ValueError if X has another number of columns than the last fit saw."""
        n_columns = count_columns(X)
        if n_columns != self.n_columns:
            raise ValueError(
                f"warm_start=True, but X has {n_columns} features and the last fit saw {self.n_columns}: {REMEDY}"
            )
        return self

    def starts(self, features: Features, target: Target) -> Starts | None:
        """Where each problem of a fit starts; None if the last fit selected other features.

        Raises ValueError if the last fit had another number of scores for a sample.
        """
        known: Any = self.selection.fitted_features
        if not features.continues(known):
            return None
        if target.labels.n_outputs != self.labels.n_outputs:
            raise ValueError(f"warm_start=True, but y has {target.labels} and the last fit saw {self.labels}: {REMEDY}")

        def starts(most: int | None) -> list[Earlier]:
            units, weights = features.start(self.selection, most)
            return target.by_model(units, weights, grouped=features.units.grouped)

        return starts
