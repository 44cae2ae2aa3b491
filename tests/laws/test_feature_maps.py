"""Laws of feature maps: our own keep what is asked of those from outside, and broken copies are seen."""

from dataclasses import dataclass, replace

import numpy as np
import pytest

from tests.guests.sign_log import FittedSignLog, SignLog, SignLogDesign
from thresher import AdditiveChi2, AdditiveGaussian, Intersection, Polynomial
from thresher.features.columns import Columns
from thresher.testing import check_feature_map


@pytest.mark.parametrize(
    "feature_map",
    [Columns(), Polynomial(), Polynomial(heredity="weak"), Intersection(6), AdditiveChi2(), AdditiveGaussian()],
    ids=repr,
)
def test_our_own_keep_the_laws(feature_map):
    check_feature_map(feature_map)


class Disordered(SignLogDesign):
    def take(self, ids):
        return super().take(np.sort(ids))


class Carrying(SignLogDesign):
    def pieces(self, vectors=1):
        for piece in super().pieces(vectors):
            yield replace(piece, source=Carried(self.base.take(np.arange(self.base.width)).toarray(), piece.source))


@dataclass(frozen=True, eq=False)
class Carried:
    X: np.ndarray
    source: object

    def open(self):
        return self.source.open()


@dataclass(frozen=True)
class Broken(SignLog):
    design: type = SignLogDesign

    def on(self, base, samples, restrictions, *, scale, centre):
        made = super().on(base, samples, restrictions, scale=scale, centre=centre)
        return replace(made, design=self.design(base.design, size=2))


@pytest.mark.parametrize(
    ("design", "law"), [(Disordered, "in the order asked for"), (Carrying, "a pickled piece must have at most")]
)
def test_broken_designs_are_seen(design, law):
    with pytest.raises(AssertionError, match=law):
        check_feature_map(Broken(design))


def test_new_data_that_gets_other_scores_is_seen(monkeypatch):
    monkeypatch.setattr(FittedSignLog, "scores", lambda self, X, ids, weights, intercept: np.zeros(len(X)))
    with pytest.raises(AssertionError, match="new data must get the scores of the design"):
        check_feature_map(SignLog())
