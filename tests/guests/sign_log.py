"""A feature map from outside: the sign and the logarithm of each column, selected as a pair."""

from dataclasses import dataclass

import numpy as np

from thresher.features import (
    Cost,
    DenseBlock,
    Design,
    EachInput,
    ExpandedUnits,
    FeatureMap,
    Features,
    Generated,
    MadeFeatures,
    labels_of,
    reference,
    register,
    restricted_columns,
)


def pairs(columns):
    """Sign and logarithm of each column, side by side."""
    return np.stack([np.sign(columns), np.log1p(np.abs(columns))], axis=2).reshape(columns.shape[0], -1)


class SignLogDesign(Design):
    def __init__(self, base):
        self.base, self.workers, self.entry_cost = base, base.workers, 20
        self.shape, self.dtype = (base.shape[0], 2 * base.width), np.dtype(np.float64)
        self.nbytes, self.entries = base.nbytes, 2 * base.shape[0] * base.width

    def block(self, lo, hi):
        return self.take(np.arange(lo, hi))

    def pieces(self, vectors=1):
        for first in range(0, self.width, 64):
            yield Generated(reference(self, self.workers), first, min(64, self.width - first))

    def take(self, ids):
        inputs, place = np.unique(np.asarray(ids) // 2, return_inverse=True)
        made = pairs(self.base.take(inputs).toarray())
        return DenseBlock(np.asfortranarray(made[:, 2 * place + np.asarray(ids) % 2]))

    def take_cost(self, ids):
        return Cost(*self.base.take_cost(np.unique(ids // 2)))


@dataclass(frozen=True, kw_only=True)
class SignLogFeatures(Features):
    def fitted(self, ids, units):
        labels = labels_of(self.units, units, np.arange(self.n_units))
        return FittedSignLog(
            self.columns.n_columns, n_candidates=self.n_candidates, labels=labels,
            column_names=self.columns.column_names,
        )  # fmt: skip

    def continues(self, fitted):
        return False  # a fit with warm_start begins anew


@register
@dataclass(frozen=True)
class SignLog(FeatureMap):
    def on(self, base, samples, restrictions, *, scale, centre):
        return SignLogFeatures(
            design=SignLogDesign(base.design), units=ExpandedUnits(EachInput(base.design.width), 2), scale=None,
            columns=base.columns, n_units=base.design.width, n_candidates=base.design.width,
            **restricted_columns(base.design, restrictions),
        )  # fmt: skip


@dataclass(frozen=True, eq=False)
class FittedSignLog(MadeFeatures, kind="sign_log"):
    width = property(lambda self: 2 * self.n_columns)

    def inputs(self, ids):
        return np.unique(ids // 2)

    def names(self, ids, label):
        return [f"{('sign', 'log')[j % 2]}({label(j // 2)})" for j in np.asarray(ids).tolist()]

    def columns(self, X, ids):
        inputs, columns = self._inputs_of(X, ids)
        dense = columns.toarray() if hasattr(columns, "toarray") else columns
        return pairs(dense)[:, 2 * np.searchsorted(inputs, ids // 2) + ids % 2]
