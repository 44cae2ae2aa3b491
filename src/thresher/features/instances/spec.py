"""BagSimilarity: bags of rows, and the training rows that they are similar to, as features."""

from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np
from scipy import sparse

from thresher.data.designs.base import Design
from thresher.data.designs.units import EachColumn
from thresher.data.scan.pieces import Cost
from thresher.errors import InvalidDataError
from thresher.features.base import (
    Earlier,
    FeatureMap,
    Features,
    by_output,
    check_number,
    largest_model,
    measured_spread,
)
from thresher.features.fitted import FittedFeatures
from thresher.features.instances.bags import Bags, grouped
from thresher.features.instances.design import (
    BagDesign,
    BagDistances,
    Instances,
    by_rows,
    instances_of,
)
from thresher.features.instances.fitted import InstanceFeatures, Prototypes, median_distance
from thresher.features.samples import Base, Restrictions, Samples
from thresher.results import Selection

RULES = ("auto", "search")  # words for sigma: the median distance, or one of its multiples
MULTIPLES = (0.5, 1.0, 2.0)


@dataclass(frozen=True)
class BagSimilarity(FeatureMap):
    """Similarities of bags to training instances: the largest exp(-distance^2 / (2 sigma^2)) over the rows of a bag.

    Parameters
    ----------
    sigma : float, "auto" or "search", default="auto"
        Width of the similarity, on the scale of the columns. "auto": the median distance between different training
        instances, within bags if each bag has two. "search": 0.5, 1 or 2 times that, chosen by cross-validation.
    """

    sigma: float | str = "auto"
    reads_columns: ClassVar[bool] = False

    def __post_init__(self) -> None:
        if not isinstance(self.sigma, str):
            check_number("sigma", self.sigma)
        elif self.sigma not in RULES:
            raise ValueError(f"sigma must be one of {', '.join(map(repr, RULES))} or a number; got {self.sigma!r}")

    def samples(self, X: Any, y: np.ndarray, weights: np.ndarray, bags: Any) -> Samples:
        """See FeatureMap: bags; without them each row is one."""
        rows = by_rows(X)
        own = grouped(bags, rows.shape[0])
        if own.names.size < 2:
            raise InvalidDataError("bags has only one value: at least two bags, of different labels, are needed")
        return Samples(rows, own.each("y", y), own.each("sample_weight", weights), own.bags.codes)

    def on(
        self, base: Base, samples: Samples, restrictions: Restrictions, *, scale: str | None, centre: bool
    ) -> "SelectedInstances":
        """See FeatureMap; a sparse X is scaled, not centred, which distances do not depend on."""
        X, owner = samples.X, samples.owner
        bags = Bags(np.arange(X.shape[0]) if owner is None else owner, samples.y.size)
        on_scale, scale = base.scaled(scale, centre=not sparse.issparse(X))
        factor = _factor(on_scale, scale, base.spread)
        with base.trace.step("arrange"):
            instances = instances_of(X, base.weights)
            sigmas = self._sigmas(X, bags, instances, base.weights, factor)
            distances = BagDistances(X, bags, factor, instances.rows, base.design.workers, keep=len(sigmas) > 1)
        count = instances.rows.size
        return SelectedInstances(
            design=BagDesign(distances, sigmas[0]),
            units=EachInstance(count),
            columns=base.columns,
            scale=scale,
            n_candidates=count,
            n_units=count,
            weights=base.sample_weights,
            instances=instances,
            sigmas=sigmas,
        )

    def _sigmas(
        self, X: Any, bags: Bags, instances: Instances, row_weights: np.ndarray, factor: np.ndarray | None
    ) -> tuple[float, ...]:
        """The values of sigma to choose from; one, if it is a number or the rule."""
        if not isinstance(self.sigma, str):
            return (float(self.sigma),)
        median = median_distance(X, instances, bags, row_weights, factor)
        return (median,) if self.sigma == "auto" else tuple(multiple * median for multiple in MULTIPLES)


class EachInstance(EachColumn):
    """Every column is the similarity to an instance, which is what is counted."""

    noun = "instance"


@dataclass(frozen=True, kw_only=True)
class SelectedInstances(Features):
    """Similarities of one width to ``instances``, of bags with ``weights``; ``sigmas``: widths to choose from."""

    design: BagDesign
    fitted_type: type[FittedFeatures] = InstanceFeatures
    weights: np.ndarray
    instances: Instances
    sigmas: tuple[float, ...]

    @property
    def candidates_text(self) -> str:
        """See Features."""
        return "different training instances"

    @property
    def settings(self) -> list[dict[str, float]]:
        """See Features: one for each width."""
        return [{"sigma": sigma} for sigma in self.sigmas]

    def varied(self, setting: dict[str, float]) -> Self:
        """See Features."""
        return replace(self, design=BagDesign(self.design.distances, setting["sigma"]))

    def barred(self, held_out: np.ndarray) -> tuple[int, ...]:
        """See Features: the instances of the bags that are held out."""
        return self.instances.only_in(self.design.distances.bags, held_out)

    def parts(self, ids: np.ndarray) -> dict[str, Any]:
        """See Features."""
        distances, rows = self.design.distances, self.design.ids_in_X(ids)
        X = distances.X
        values = sparse.csr_array(X[rows]) if sparse.issparse(X) else X[rows]
        prototypes = Prototypes(
            rows, values.astype(np.float64), self.design.sigma, distances.factor, X.shape[0], distances.bags.count
        )
        return {"prototypes": prototypes, "spread": measured_spread(self.design, ids, self.weights)}

    def fitted_cost(self, ids: np.ndarray) -> Cost:
        """See Features: the similarities are taken once more, for their standard deviations."""
        return self.design.take_cost(ids)

    def start(self, selection: Selection, most: int | None) -> Earlier:
        """See Features: the instances of the earlier fit that are equal to rows of X."""
        known = selection.fitted_features.prototypes  # type: ignore[union-attr]  # those of InstanceFeatures
        model = largest_model(selection, most)
        places = self.instances.places(self.design.distances.X, known.values)
        here = places[np.searchsorted(known.rows, model.features)]
        return here[here >= 0], by_output(model.weights)[here >= 0]


def _factor(design: Design, scale: str | None, spread: np.ndarray) -> np.ndarray | None:
    """What each column of X is multiplied with on the scale of a design, whose columns have these deviations.

    Constant columns have no standard deviation to be divided by: with "std" they do not count, in any storage of X.
    """
    if design.scaling is None:
        return None
    factor = np.full(design.n_columns, 0.0 if scale == "std" else 1.0)  # of columns of zeros, which a design may omit
    own = design.scaling.factor
    if scale == "std":
        own = np.where(spread > 0.0, own, 0.0)
    factor[design.ids_in_X(np.arange(design.width))] = own
    return factor
