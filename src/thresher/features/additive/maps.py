"""Maps of columns to numbers: what they know of columns, the numbers in a scan, and what new data needs of them."""

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Self

import numpy as np
from scipy import sparse

from thresher.data.blocks.base import Block
from thresher.data.designs.base import Design
from thresher.data.designs.scaled import ScaledDesign
from thresher.data.input.validation import stored_block
from thresher.data.scan.pieces import Cost
from thresher.errors import InvalidDataError
from thresher.features.base import FeatureMap, Features
from thresher.features.expanded import ExpandedDesign, ExpandedFeatures, expanded_units
from thresher.features.fitted import FittedFeatures, Label
from thresher.features.samples import Base, Restrictions, Samples
from thresher.results.description import Listing
from thresher.state import INT64, integer, need, need_floats, need_ids, register


@register
@dataclass(frozen=True, eq=False)
class Inputs:
    """What the maps of some inputs need: x is (x - centre) * factor on its scale, and ``largest`` the training max |x|.

    ``edges`` (inputs, D + 1) are those of the levels of Intersection where they are values of the training data.
    """

    factor: np.ndarray
    centre: np.ndarray
    largest: np.ndarray
    edges: np.ndarray | None = None

    def take(self, ids: np.ndarray | slice) -> "Inputs":
        """Those of the inputs ``ids``."""
        edges = None if self.edges is None else self.edges[ids]
        return Inputs(self.factor[ids], self.centre[ids], self.largest[ids], edges)

    def check(self, count: int, size: int) -> None:
        """Raise Damaged unless the fields, which may be of any type, belong to ``count`` maps to ``size`` numbers."""
        need_floats(self.factor, "factor of the inputs", (count,), least=0.0)
        need_floats(self.centre, "centre of the inputs", (count,))
        need_floats(self.largest, "largest of the inputs", (count,), least=0.0)
        if self.edges is not None:
            need_floats(self.edges, "edges of the inputs", (count, size + 1))
            rising = bool((self.edges[:, 0] == 0.0).all() and (np.diff(self.edges, axis=1) >= 0.0).all())
            need(rising, "edges of the inputs must begin at 0 and not decrease")


def check_signs(word: str, columns: Block, shown_name: Callable[[int], str]) -> None:
    """Raise InvalidDataError for a negative value; ``word`` is the feature map, ``shown_name`` names a column."""
    _, indptr, rows, values = columns.stored_columns(0, columns.shape[1])
    if values.min(initial=0.0) >= 0.0:
        return
    entry = int(np.argmax(values < 0.0))
    place = int(np.searchsorted(indptr, entry, side="right")) - 1
    raise InvalidDataError(
        f"Negative values in data: column {shown_name(place)} of X has the value {values[entry]:g} in row "
        f'{rows[entry]}, but feature_map="{word}" is for values that are not negative: shift the column, or use '
        'feature_map="additive_gaussian"'
    )


@dataclass(frozen=True)
class InputMap(FeatureMap):
    """A map that makes some numbers of each column, which are selected together.

    ``positive_only``: values must not be negative; ``auto_scale`` is what ``scale="auto"`` means.
    """

    positive_only: ClassVar[bool] = True
    auto_scale: ClassVar[str] = "max"
    written_down: ClassVar[bool] = True  # whether blocks write all numbers down

    @abstractmethod
    def size(self, n_samples: int) -> int:
        """How many numbers a column becomes.

        Parameters
        ----------
        n_samples : int
            Samples of the fit.

        Returns
        -------
        int
            The same for each column.
        """

    def sizes(self) -> range:
        """All that ``size`` can be.

        Returns
        -------
        range
            By default one number, which does not depend on the samples.
        """
        return range(self.size(2), self.size(2) + 1)

    @abstractmethod
    def block(self, columns: Block, inputs: Inputs, size: int) -> Block:
        """The numbers of columns.

        Parameters
        ----------
        columns : Block
            The columns, values as given.
        inputs : Inputs
            What is known of them.
        size : int
            Numbers of each.

        Returns
        -------
        Block
            Of ``size`` times as many columns, those of the first input first.
        """

    def learns(self, n_samples: int) -> bool:
        """Whether the map needs values of the training data besides its statistics: see ``learnt``.

        Parameters
        ----------
        n_samples : int
            Samples of the fit.

        Returns
        -------
        bool
            By default it does not.
        """
        return False

    def learnt(self, columns: Block, inputs: Inputs) -> Inputs:
        """What the map takes from the values of the training data.

        Parameters
        ----------
        columns : Block
            Columns of the training data, values as given.
        inputs : Inputs
            What is known of them.

        Returns
        -------
        Inputs
            ``inputs`` with what is learnt; by default nothing.
        """
        return inputs

    def check(self, scale: str | None, restrictions: Restrictions) -> None:
        """See FeatureMap: values that must not be negative cannot be centred."""
        if scale == "std" and self.positive_only:
            raise ValueError(
                f'feature_map="{self.word}" needs values that are not negative, but scale="std" centres them; use '
                'scale="auto", which means "max" here, "unit" or None'
            )

    def on(
        self, base: Base, samples: Samples, restrictions: Restrictions, *, scale: str | None, centre: bool
    ) -> "MappedColumns":
        """See FeatureMap; values stay those of X as given: the scale enters the maps."""
        on_scale, scale = base.scaled(self.auto_scale if scale == "auto" else scale, centre=centre)
        given, factor = on_scale, np.ones(on_scale.width)
        if isinstance(on_scale, ScaledDesign):
            given, factor = on_scale.base, on_scale.scaling.factor
            if on_scale.scaling.shift is not None and self.positive_only:
                raise InvalidDataError(
                    f'feature_map="{self.word}" is for values that are not negative, but the Design given as X shifts '
                    "its columns: scale them without a shift"
                )
        design = MappedDesign(given, self, Inputs(factor, base.mean, base.largest.copy()), base.columns.shown_name)
        return MappedColumns(design=design, scale=scale, **expanded_units(base, design, restrictions))


class MappedDesign(ExpandedDesign):
    """The numbers that ``kernel`` makes of the columns of ``base``, raw values; ``shown_name`` names a column of X."""

    def __init__(self, base: Design, kernel: InputMap, inputs: Inputs, shown_name: Callable[[int], str] = str):
        size = kernel.size(base.shape[0])
        super().__init__(base, size, size if kernel.written_down else 1)
        self.kernel, self.inputs, self.shown_name = kernel, inputs, shown_name

    def learnt(self, ids: np.ndarray, columns: Block | None = None) -> Inputs:
        """What the maps of the inputs ``ids`` need; their ``columns`` are read if that is more than is known."""
        inputs = self.inputs.take(ids)
        if not self.kernel.learns(self.shape[0]):
            return inputs
        return self.kernel.learnt(self.base.take(ids) if columns is None else columns, inputs)

    def numbers_of(self, inputs: np.ndarray) -> Block:
        """See ExpandedDesign."""
        columns, in_X = self.base.take(inputs), self.base.ids_in_X(inputs)
        if self.kernel.positive_only:
            check_signs(self.kernel.word, columns, lambda place: self.shown_name(int(in_X[place])))
        return self.kernel.block(columns, self.learnt(inputs, columns), self.size)


@dataclass(frozen=True, eq=False)
class MappedFeatures(ExpandedFeatures, kind="inputs"):
    """Numbers that a kernel makes of columns of X, and what its maps of the selected ones learnt from the data.

    Parameters
    ----------
    kernel : InputMap
        The kernel.
    size : int
        Numbers of an input.
    known : ndarray of int64
        The columns of X that are known, sorted: those of all models on the path.
    maps : Inputs
        What the maps of these columns need.
    """

    kernel: InputMap
    size: int
    known: np.ndarray
    maps: Inputs = field(repr=False)

    def check_parts(self) -> None:
        """See FittedFeatures."""
        size = integer(self.size, "size of the inputs", 1)
        need(self.n_columns * size < INT64, "there are too many numbers of inputs")
        need(size in self.kernel.sizes(), f"size {size} of the inputs does not match their kernel")
        known = need_ids(self.known, "columns of the inputs", self.n_columns)
        need(isinstance(self.maps, Inputs), "the maps of the inputs are missing")
        self.maps.check(known.size, size)

    def covers(self, ids: np.ndarray) -> bool:
        """See FittedFeatures."""
        return bool(np.isin(self.inputs(ids), self.known).all())

    def only(self, ids: np.ndarray, units: np.ndarray | None) -> Self:
        """See FittedFeatures."""
        known = self.inputs(ids)
        maps = self.maps.take(np.searchsorted(self.known, known))
        return replace(super().only(ids, units), known=known, maps=maps)

    def listing(self, selection: Any, label: Label, unknown: str) -> Listing:
        """See FittedFeatures: columns, by the length of their weights."""
        inputs = self.inputs(selection.features)
        place = np.searchsorted(inputs, self.numbering.blocks(selection.features))
        squares = np.square(selection.weights).reshape(place.size, -1).sum(axis=1)
        lengths = np.sqrt(np.bincount(place, weights=squares, minlength=inputs.size))
        order = np.argsort(-lengths, kind="stable")
        return Listing(
            "columns",
            self.input_names(inputs[order], label),
            self.places(inputs[order]),
            lengths[order],
            n_candidates=self.n_listed,
            weight="length of weights",
            ranked_by=f"ranked by the length of the weights of the {self.size} numbers that the kernel makes of each",
        )

    def check_inputs(self, columns: Any, shown_name: Callable[[int], str]) -> None:
        """See MadeFeatures: some kernels are for values that are not negative."""
        super().check_inputs(columns, shown_name)
        values = columns.data if sparse.issparse(columns) else columns
        if self.kernel.positive_only and values.min(initial=0.0) < 0.0:
            check_signs(self.kernel.word, stored_block(columns), shown_name)

    def numbers_of(self, columns: Any, inputs: np.ndarray) -> Block:
        """See ExpandedFeatures."""
        return self.kernel.block(stored_block(columns), self.maps.take(np.searchsorted(self.known, inputs)), self.size)


@dataclass(frozen=True, kw_only=True)
class MappedColumns(Features):
    """The numbers that a kernel makes of columns."""

    design: MappedDesign
    fitted_type: type[FittedFeatures] = MappedFeatures

    def parts(self, ids: np.ndarray) -> dict[str, Any]:
        """See Features."""
        design = self.design
        here = np.unique(design.numbering.blocks(ids))
        known = design.base.ids_in_X(here)
        return {"kernel": design.kernel, "size": design.size, "known": known, "maps": design.learnt(here)}

    def fitted_cost(self, ids: np.ndarray) -> Cost:
        """See Features."""
        return self.design.take_cost(ids) if self.design.kernel.learns(self.design.shape[0]) else Cost(0.0, 0)

    def continues(self, fitted: FittedFeatures) -> bool:
        """See Features: the same kernel, with as many numbers."""
        if not isinstance(fitted, MappedFeatures):
            return False
        return fitted.kernel == self.design.kernel and fitted.size == self.design.size
