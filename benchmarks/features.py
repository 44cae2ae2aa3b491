"""The features of a fit, for what is timed without the fit."""

import numpy as np

from thresher.features.fitted_columns import ColumnFeatures
from thresher.features.samples import Base, Restrictions, Samples
from thresher.results import Trace


def features_of(X, y, feature_map, workers, scale="auto"):
    """The Features that a fit of ``feature_map`` with an intercept makes of X."""
    ones = np.ones(y.size)
    samples = Samples(X, (y > 0).astype(int), ones)
    columns = ColumnFeatures(X.shape[1])
    to_csc = feature_map.reads_columns
    base = Base.read(samples, columns, samples.y, ones, workers, Trace(), scale=scale, to_csc=to_csc)
    return feature_map.on(base, samples, Restrictions(), scale=scale, centre=True)
