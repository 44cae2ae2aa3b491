"""Laws of units that need others: what is left always has what it needs, and the lightest that may go go first."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from thresher.features.polynomial.spec import HereditaryTerms
from thresher.features.polynomial.terms import n_numbers, numbers_of, pairs_of
from thresher.optim.elimination.rules import Needs


def closed(left, others, both):
    """Whether every unit that is left has both (or one) of those that it needs."""
    for unit in left:
        asked = {other for other in others[unit] if other >= 0}
        there = asked & left
        if asked and not (there == asked if both else there):
            return False
    return True


def one_by_one(units, others, both, order, count):
    """Remove the first in the order whose removal leaves nobody without what is needed, again and again."""
    left = set(units.tolist())
    for _ in range(count):
        there = (unit for unit in units[order].tolist() if unit in left)
        left.discard(next(unit for unit in there if closed(left - {unit}, others, both)))
    return sorted(np.flatnonzero(~np.isin(units, list(left))).tolist())


@settings(max_examples=300, deadline=None)
@given(st.integers(1, 9), st.integers(0, 12), st.booleans(), st.integers(0, 2**32))
def test_the_lightest_that_nobody_needs_go_first(n_linear, n_products, both, seed):
    rng = np.random.default_rng(seed)
    parents = rng.integers(0, n_linear, (n_products, 2))
    others = np.concatenate([np.full((n_linear, 2), -1), parents])
    units = np.arange(len(others))
    if rng.random() < 0.5 and not both:  # some parents are not there: under weak heredity the other one is enough
        others[n_linear:, 1] = np.where(rng.random(n_products) < 0.3, -1, others[n_linear:, 1])
    order, count = rng.permutation(units.size), int(rng.integers(0, units.size + 1))
    found = Needs(others, both).first(units, order, count)
    assert found.tolist() == one_by_one(units, others, both, order, count)


def test_a_subset_is_numbered_by_its_positions():
    others = np.array([[-1, -1], [-1, -1], [0, 1], [1, 1]])
    left = np.array([1, 3])  # the square of 1, and 1
    assert Needs(others, True).first(left, np.array([0, 1]), 1).tolist() == [1]
    assert Needs(others, True).first(left, np.array([0, 1]), 2).tolist() == [0, 1]


@pytest.mark.parametrize("both", [True, False])
def test_products_need_their_linear_terms(both):
    linear = lambda column: int(numbers_of(np.array(column), np.array(-1)))  # noqa: E731
    product = lambda i, j: int(numbers_of(np.array(i), np.array(j)))  # noqa: E731
    units = np.array([product(2, 5), linear(5), product(5, 5), linear(2), product(7, 2)])
    others, rule = HereditaryTerms(n_numbers(9), both=both).needed(units)
    assert rule is both
    assert [set(row.tolist()) for row in others] == [{3, 1}, {-1}, {1}, {-1}, {3, -1}]
    assert pairs_of(units).tolist()[4] == [2, 7]
