"""Paths of models that were fitted for a measure."""

import numpy as np
import pytest
from scipy import sparse

from tests.rule import fgm_by_rule, miles_by_rule
from thresher import PrecisionAtK


def test_columns_that_growth_took_last_and_did_not_solve_for():
    """Their products with the cuts are computed when the path is: each station is the optimum on its columns."""
    rng = np.random.default_rng(5)
    X = np.round(rng.standard_normal((160, 30)), 3)
    y = np.where(X[:, :3].sum(axis=1) + 0.5 * rng.standard_normal(160) > 2.2, 1, -1)[:100]
    X, options = sparse.csr_array(X[:100]), {"C": 10.0, "loss": PrecisionAtK(5), "scale": "std"}
    clf = fgm_by_rule(2, **options).fit(X, y)
    numbers = clf.path_.numbers.tolist()
    assert max(numbers) > 2
    for number in numbers:
        station = clf.path_.at(number)
        alone = fgm_by_rule(number, **options).fit(X[:, station.features], y)
        assert station.objective == pytest.approx(
            alone.selection_.certificate.pick_objective, abs=2e-3 * alone.selection_.certificate.at_zero
        )


@pytest.mark.parametrize("estimator", [fgm_by_rule, miles_by_rule], ids=["FGM", "MILES"])
def test_elimination_begins_with_few_more_columns_than_wanted(estimator):
    """n_candidates="auto" is 1.2 with a measure, whatever is grown for the path."""
    rng = np.random.default_rng(3)
    X = rng.standard_normal((80, 200) if estimator is fgm_by_rule else (80, 3))
    y = np.where(X[:, 0] + 0.3 * rng.standard_normal(80) > 0.8, 1, -1)
    auto, same = (estimator(10, loss="f1", **given).fit(X, y) for given in ({}, {"n_candidates": 1.2}))
    assert max(turn.taken for turn in auto.selection_.trace.turns) == 12
    np.testing.assert_array_equal(auto.selection_.features, same.selection_.features)
    np.testing.assert_array_equal(auto.selection_.weights, same.selection_.weights)
