"""A feature map from outside: the sign and the logarithm of each column, selected as a pair."""

from dataclasses import dataclass

import numpy as np

from thresher.features import (
    DenseBlock,
    ExpandedDesign,
    ExpandedFeatures,
    FeatureMap,
    Features,
    expanded_units,
    register,
)


def pairs(columns):
    """Sign and logarithm of each column, side by side."""
    return np.stack([np.sign(columns), np.log1p(np.abs(columns))], axis=2).reshape(columns.shape[0], -1)


class SignLogDesign(ExpandedDesign):
    def numbers_of(self, inputs):
        return DenseBlock(pairs(self.base.take(inputs).toarray()))


@dataclass(frozen=True, eq=False)
class FittedSignLog(ExpandedFeatures, kind="sign_log"):
    size = 2

    def numbers_of(self, columns, inputs):
        return DenseBlock(pairs(columns.toarray() if hasattr(columns, "toarray") else columns))

    def names(self, ids, label):
        return [f"{('sign', 'log')[j % 2]}({label(j // 2)})" for j in np.asarray(ids).tolist()]


@register
@dataclass(frozen=True)
class SignLog(FeatureMap):
    def on(self, base, samples, restrictions, *, scale, centre):
        design = SignLogDesign(base.design, size=2)
        return Features(design=design, fitted_type=FittedSignLog, **expanded_units(base, design, restrictions))
