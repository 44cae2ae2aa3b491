"""With a small C growth ends with features on which nothing was solved; elimination has cuts on all of them."""

import numpy as np
import pytest
from scipy import sparse

from tests.rule import fgm_by_rule


@pytest.mark.parametrize("loss", ["f1", "error"])
@pytest.mark.parametrize("seed", [0, 2])
def test_features_taken_after_the_last_solve_can_be_eliminated(loss, seed):
    rng = np.random.default_rng(seed)
    X = sparse.random_array((120, 200), density=0.08, rng=rng, format="csc")
    y = np.where(X[:, :3].sum(axis=1) + 0.1 * rng.standard_normal(120) > 0.35, 1, -1)
    clf = fgm_by_rule(5, loss=loss, C=10.0 / 120).fit(X, y)
    assert clf.selection_.features.size == 5
    certificate = clf.selection_.certificate
    assert certificate.lower_bound <= certificate.objective * (1.0 + 1e-9)


@pytest.mark.parametrize("elimination", [True, False])
def test_as_many_features_as_requested_where_none_gains_anything(elimination):
    """A rare class that does not depend on X: the objective is that without features, the number that requested."""
    rng = np.random.default_rng(2)
    X, y = rng.standard_normal((300, 40)), rng.random(300) < 0.05
    clf = fgm_by_rule(6, C=1e-3, loss="f1", elimination=elimination).fit(X, y)
    certificate = clf.selection_.certificate
    assert certificate.pick_objective == pytest.approx(certificate.at_zero, rel=1e-3)
    assert clf.selection_.features.size == 6
    assert np.unique(clf.decision_function(X)).size > 200
