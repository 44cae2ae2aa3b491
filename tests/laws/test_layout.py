"""Laws of layouts: which coordinates are a unit, whatever their columns and classes."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from thresher.optim.penalties.layout import PLAIN, Layout
from thresher.optim.penalties.norms import KSupport

layouts = st.builds(
    lambda sizes, classes, grouped: (Layout(np.array(sizes) if grouped else None, classes), sum(sizes)),
    st.lists(st.integers(1, 4), min_size=1, max_size=6),
    st.integers(1, 3),
    st.booleans(),
)


def members(layout, columns):
    """The coordinates of each unit, by plain loops."""
    of_column = layout.unit_of(np.arange(columns))
    units = [[] for _ in range(layout.count(columns))]
    for c in range(layout.classes):
        for j in range(columns):
            units[of_column[j]].append(c * columns + j)
    return units


@settings(max_examples=80, deadline=None)
@given(layouts, st.integers(0, 2**32))
def test_sums_over_units_are_those_of_their_coordinates(made, seed):
    layout, columns = made
    rng = np.random.default_rng(seed)
    v, w = rng.standard_normal((2, columns * layout.classes))
    units = members(layout, columns)
    np.testing.assert_allclose(layout.dots(v, w), [v[u] @ w[u] for u in units])
    np.testing.assert_allclose(layout.squares(w), [w[u] @ w[u] for u in units])
    np.testing.assert_allclose(layout.lengths(w), [np.linalg.norm(w[u]) for u in units])
    numbers = rng.standard_normal(len(units))
    spread = layout.spread(numbers)
    assert all((spread[u] == number).all() for u, number in zip(units, numbers, strict=True))
    np.testing.assert_array_equal(layout.first(spread), numbers)


@settings(max_examples=80, deadline=None)
@given(layouts, st.integers(0, 2**32))
def test_units_are_taken_with_all_their_columns(made, seed):
    layout, columns = made
    count = layout.count(columns)
    keep = np.random.default_rng(seed).permutation(count)[: max(1, count // 2)]
    positions, unit_of = layout.columns(keep), layout.unit_of(np.arange(columns))
    expected = np.concatenate([np.flatnonzero(unit_of == unit) for unit in keep])
    np.testing.assert_array_equal(positions, expected)
    fewer = layout.take(keep)
    assert fewer.count(positions.size) == keep.size
    again = np.repeat(np.arange(keep.size), np.bincount(unit_of)[keep])
    np.testing.assert_array_equal(fewer.unit_of(np.arange(positions.size)), again)


def test_joined_layouts_go_on_where_the_first_ends():
    joined = Layout(np.array([2, 1]), 3).joined(np.array([3]))
    assert joined.sizes.tolist() == [2, 1, 3]
    assert joined.classes == 3
    assert PLAIN.joined(None) is PLAIN


@settings(max_examples=60, deadline=None)
@given(layouts, st.integers(1, 5), st.floats(0.05, 5.0), st.integers(0, 2**32))
def test_the_proximal_map_of_units_is_a_minimum(made, k, step, seed):
    """No better point around; and the conjugate satisfies Fenchel and Young's inequality, with equality at the prox."""
    layout, columns = made
    rng = np.random.default_rng(seed)
    penalty, u = KSupport(k, layout=layout), rng.standard_normal(columns * layout.classes)
    w = penalty.prox(u, step)

    def objective(x):
        return 0.5 * float((x - u) @ (x - u)) + step * penalty.value(x)

    best = objective(w)
    for _ in range(20):
        assert objective(w + 1e-3 * rng.standard_normal(w.size)) >= best - 1e-12
    c = (u - w) / step
    np.testing.assert_allclose(penalty.value(w) + penalty.conjugate(c), c @ w, rtol=1e-9, atol=1e-12)
