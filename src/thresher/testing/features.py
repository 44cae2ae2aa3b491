"""The laws of feature maps."""

import pickle
from typing import Any

import numpy as np

from thresher.data.input.validation import as_design
from thresher.data.scan.reducers import Collect
from thresher.data.scan.scores import Correlation
from thresher.data.workers import SERIAL, Workers
from thresher.features.base import FeatureMap, Features
from thresher.features.fitted_columns import ColumnFeatures
from thresher.features.samples import Base, Restrictions, Samples
from thresher.results import Trace
from thresher.testing.values import require

MOST_PIECE_BYTES = 700  # of a pickled piece: a reference, and where it begins and ends
CLOSE: dict[str, Any] = {"rtol": 1e-9, "atol": 1e-9}


def check_feature_map(feature_map: FeatureMap, X: Any = None, random_state: int = 0) -> None:
    """Check the laws that fits rely on; the first that does not hold raises an AssertionError with the numbers.

    Parameters
    ----------
    feature_map : FeatureMap
        A map of features of rows.
    X : ndarray of shape (n_samples, n_features), default=None
        Data that the map can be used on; None: random numbers, which are positive if the map says so.
    random_state : int, default=0
        Seed of what is random.

    Examples
    --------
    >>> from thresher import Polynomial
    >>> from thresher.testing import check_feature_map
    >>> check_feature_map(Polynomial())
    """
    rng = np.random.default_rng(random_state)
    if X is None:
        X = rng.standard_normal((40, 9))
        X = np.abs(X) if feature_map.positive_only else X
    copies = feature_map, pickle.loads(pickle.dumps(feature_map))
    require(copies[0] == copies[1], feature_map, "it must be equal to its pickled copy", f"got {copies[1]!r}")
    features = _on(feature_map, X, Workers(1))
    _takes_what_it_scans(feature_map, features, rng)
    _pieces_are_references(feature_map, features)
    _units_have_members(feature_map, features)
    _new_data_gives_the_same(feature_map, features, X)


def _on(feature_map: FeatureMap, X: np.ndarray, workers: Workers) -> Features:
    """The features of X, without restrictions."""
    n_rows = X.shape[0]
    samples = feature_map.samples(X, np.arange(n_rows) % 2, np.ones(n_rows), None)
    columns = ColumnFeatures(X.shape[1])
    labels, weights = samples.y.astype(np.int64), samples.weights
    base = Base.read(
        samples, columns, labels, weights, workers, Trace(), scale="auto", to_csc=feature_map.reads_columns
    )
    return feature_map.on(base, Samples(X, samples.y, weights), Restrictions(), scale="auto", centre=True)


def _takes_what_it_scans(feature_map: FeatureMap, features: Features, rng: np.random.Generator) -> None:
    """The scores of a scan are those of the columns that are taken, and copies of a take agree."""
    design = features.design
    ids = np.arange(design.width)
    v = rng.standard_normal(design.shape[0])
    if design.prunes:  # a scan keeps only the best
        taken = design.take(ids[:5])
        require(taken.shape == (design.shape[0], 5), feature_map, "take must give each column", f"got {taken.shape}")
        return
    scores = design.scan(Correlation(v), Collect(design.width))[:, 0]
    expected = design.take(ids).correlate(v[:, None])[:, 0]
    close = np.allclose(scores, expected, **CLOSE)
    require(close, feature_map, "a scan must give the products of the columns taken", f"{scores} and {expected}")
    some = rng.permutation(ids)[:3]
    same = np.allclose(design.take(some).toarray(), design.take(ids).toarray()[:, some], **CLOSE)
    require(same, feature_map, "take must give columns in the order asked for", f"ids {some.tolist()}")


def _pieces_are_references(feature_map: FeatureMap, features: Features) -> None:
    """Pieces are small when they are pickled, whatever the size of X: they do not carry it."""
    for piece in features.design.pieces():
        size = len(pickle.dumps(piece))
        require(
            size <= MOST_PIECE_BYTES,
            feature_map,
            f"a pickled piece must have at most {MOST_PIECE_BYTES} bytes",
            f"got {size}",
        )


def _units_have_members(feature_map: FeatureMap, features: Features) -> None:
    """Each unit has columns of the design."""
    units, width = features.units, features.design.width
    members = units.members(np.arange(min(units.count, 20)))
    inside = bool(((members.columns >= 0) & (members.columns < width)).all())
    require(inside, feature_map, "units must have columns of the design", f"got {members.columns} of {width}")
    required = features.n_candidates >= 1 and features.n_units >= features.n_candidates
    numbers = f"got {features.n_candidates} of {features.n_units}"
    require(required, feature_map, "there must be candidates, not more than units", numbers)


def _new_data_gives_the_same(feature_map: FeatureMap, features: Features, X: np.ndarray) -> None:
    """FittedFeatures make of X what the design has of it, up to the scale of weights; names and parts agree."""
    design, units = features.design, features.units
    chosen = np.arange(1, min(units.count, 4))  # number 0 may be a constant
    ids = np.unique(units.members(chosen).columns)
    in_X = design.ids_in_X(ids)
    fitted = features.fitted(ids, chosen)
    weights, offset = design.in_units_of_X(ids, np.ones(ids.size))
    scores = fitted.scores(X, in_X, weights, offset)
    expected = design.take(ids).combine(np.ones(ids.size))
    close = np.allclose(scores, expected, rtol=1e-7, atol=1e-7)
    require(close, feature_map, "new data must get the scores of the design", f"{scores[:3]} and {expected[:3]}")
    names = fitted.names(in_X, lambda j: f"x{j}")
    distinct = len(names) == ids.size and len(set(names)) == ids.size
    require(distinct, feature_map, "each feature must have a name of its own", f"got {names}")
    require(fitted.covers(in_X), feature_map, "fitted features must cover the ids that they were made for", f"{in_X}")
    inside = as_design(X, SERIAL).holds(fitted.inputs(in_X)).all() if fitted.copies else True
    require(inside, feature_map, "inputs must be columns of X", f"got {fitted.inputs(in_X)}")
