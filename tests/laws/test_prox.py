"""Laws of the proximal maps: against a conic solver, Moreau's identity, no better point near by, closed forms."""

import numpy as np
import pytest

from tests.oracles import convex
from thresher.optim.penalties import prox
from thresher.optim.penalties.layout import Layout
from thresher.optim.penalties.norms import GroupSum, KSupport

rng = np.random.default_rng(4)
VECTORS = {
    "plain": rng.standard_normal(9),
    "ties": np.array([1.0, -1.0, 1.0, 0.5, 0.5, 0.0, -0.5, 2.0, 2.0]),
    "one_large": np.array([4.0, 0.1, 0.1, 0.1, -0.2, 0.05]),
    "few": np.array([0.0, 3.0, 0.0, -1.0]),
    "zero": np.zeros(4),
    "tiny": rng.standard_normal(7) * 1e-9,
    "long": rng.standard_normal(400) * rng.uniform(0, 1, 400) ** 4,
}


@pytest.mark.parametrize("name", ["plain", "ties", "one_large", "few"])
@pytest.mark.parametrize("k", [1, 2, 3])
@pytest.mark.parametrize("step", [0.05, 1.0, 30.0])
def test_prox_k_support_equals_the_conic_solver(name, k, step):
    u = VECTORS[name]
    np.testing.assert_allclose(
        KSupport(k).prox(u, step), convex.prox_k_support(u, k, step), atol=2e-6 * np.abs(u).max()
    )


@pytest.mark.parametrize("step", [0.05, 1.0, 30.0])
def test_prox_group_sum_equals_the_conic_solver(step):
    u, groups = rng.standard_normal(9), [[0, 1], [2, 3, 4], [5], [6, 7, 8]]
    found = prox.prox_squared_group_sum(u, np.array([0, 2, 5, 6]), step)
    np.testing.assert_allclose(found, convex.prox_group_sum(u, groups, step), atol=1e-6)


@pytest.mark.parametrize("name", VECTORS)
@pytest.mark.parametrize("k", [1, 3, 50])
def test_closed_form_of_the_norm_equals_its_definition(name, k):
    w = VECTORS[name][:12]
    definition = convex.k_support_squared(w / (np.abs(w).max() or 1.0), k) * np.abs(w).max() ** 2
    assert prox.k_support_norm_squared(w, k) == pytest.approx(definition, rel=1e-7, abs=1e-25)


@pytest.mark.parametrize(
    "penalty", [KSupport(1), KSupport(3), KSupport(3, forced=2), KSupport(500), GroupSum((2, 2), 0)]
)
@pytest.mark.parametrize("name", VECTORS)
@pytest.mark.parametrize("step", [1e-6, 0.3, 1e4])
def test_moreau_and_fenchel(penalty, name, step):
    """u = prox(u) + step c, c a subgradient at prox(u): value + conjugate = inner product; no point does better."""
    u = VECTORS[name][:4] if isinstance(penalty, GroupSum) else VECTORS[name]
    w = penalty.prox(u, step)
    c = (u - w) / step
    scale = max(np.abs(u).max() ** 2, 1e-300) / step
    assert penalty.value(w) + penalty.conjugate(c) == pytest.approx(c @ w, abs=1e-9 * scale)

    def objective(x):
        return 0.5 * (x - u) @ (x - u) + step * penalty.value(x)

    for _ in range(20):
        other = w + rng.standard_normal(u.size) * rng.choice([1e-6, 1e-3, 0.3]) * (np.abs(u).max() or 1.0)
        assert objective(w) <= objective(other) + 1e-12 * max(objective(other), 1e-30)


@pytest.mark.parametrize("name", ["plain", "ties", "long", "one_large"])
@pytest.mark.parametrize("k", [1, 2, 4])
def test_piece_describes_the_penalty_around_the_prox(name, k):
    penalty, u = KSupport(k), VECTORS[name]
    w = penalty.prox(u, 0.7)
    full, level, share = penalty.piece(u, 0.7)
    assert not w[~(full | level)].any()
    on_piece = 0.5 * (w[full] @ w[full]) + (0.5 * np.abs(w[level]).sum() ** 2 / share if level.any() else 0.0)
    assert penalty.value(w) == pytest.approx(on_piece, rel=1e-10)


def test_large_budget_is_the_plain_square():
    w = rng.standard_normal(8)
    assert prox.k_support_norm_squared(w, 8) == pytest.approx(w @ w)
    np.testing.assert_allclose(KSupport(8).prox(w, 0.5), w / 1.5)
    assert prox.k_support_norm_squared(w, 1) == pytest.approx(np.abs(w).sum() ** 2)


@pytest.mark.parametrize("k", [1, 2, 3])
@pytest.mark.parametrize("step", [0.05, 1.0, 30.0])
def test_prox_of_groups_equals_the_conic_solver(k, step):
    """Of groups of different sizes, whose lengths are those of the k-support norm."""
    sizes = np.array([1, 3, 2, 4, 1])
    u = np.random.default_rng(k).standard_normal(11)
    groups = np.split(np.arange(11), np.cumsum(sizes)[:-1])
    found = KSupport(k, layout=Layout(sizes)).prox(u, step)
    np.testing.assert_allclose(found, convex.prox_groups(u, groups, np.ones(5), k, step), atol=2e-6)


@pytest.mark.parametrize("k", [1, 3])
@pytest.mark.parametrize("step", [0.05, 1.0, 30.0])
def test_weights_of_groups_act_as_columns_divided_by_their_roots(k, step):
    """The scaling of the weighted map is clip(t sqrt(omega) ||u|| - step omega, 0, 1), in original coordinates."""
    sizes, rng = np.array([1, 3, 2, 4, 1]), np.random.default_rng(k)
    u, omega = rng.standard_normal(11), rng.uniform(0.3, 3.0, 5)
    groups = np.split(np.arange(11), np.cumsum(sizes)[:-1])
    w = convex.prox_groups(u, groups, omega, k, step)
    length, shrunk = (np.sqrt(np.add.reduceat(v**2, np.cumsum(sizes) - sizes)) for v in (u, w))
    d = step * omega * shrunk / np.maximum(length - shrunk, 1e-12)  # of w_g = u_g d_g / (d_g + step omega_g)
    np.testing.assert_allclose(d.clip(0.0, 1.0).sum(), k, atol=1e-3)
    inside = (d > 1e-3) & (d < 1.0 - 1e-3)
    t = (d + step * omega) / (np.sqrt(omega) * length)
    np.testing.assert_allclose(t[inside], t[inside][0] if inside.any() else 0.0, rtol=1e-3)
    scaled = KSupport(k, layout=Layout(sizes))  # the same norm of lengths, in coordinates v = sqrt(omega) w
    roots = np.repeat(np.sqrt(omega), sizes)
    weighted = 0.5 * step * float((omega * shrunk**2 / np.maximum(d.clip(0.0, 1.0), 1e-12)).sum())
    assert step * scaled.value(roots * w) == pytest.approx(weighted, rel=1e-3)
