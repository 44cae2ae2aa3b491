"""Laws of groups: scores equal brute force in every storage, and pruning a tree changes nothing but the work."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.laws.designs import COLUMNS_OF_X, DESIGNS, CutDesign, written_out
from tests.laws.storages import matrix
from thresher.data.blocks.dense import DenseBlock
from thresher.data.input.validation import as_design
from thresher.data.scan.scores import Correlation
from thresher.data.workers import SERIAL, Workers
from thresher.estimators.shared.parameters import column_numbers
from thresher.features.groups.spec import Groups, Tree, grouping

SMALL_X = matrix(40, 17, seed=4)
WEIGHTS = st.sampled_from(["size", "none", "random"])


def grouping_of(given, p):
    return grouping(given, p, lambda name, value: column_numbers(name, value, p, None))


def lists(rng, p, count):
    """Lists that overlap, of every size, and that cover all columns; some come twice."""
    groups = [np.sort(rng.permutation(p)[: rng.integers(1, p + 1)]) for _ in range(count)]
    return [*groups, groups[0], np.arange(p)]


def parents(rng, nodes):
    """A forest: every node but the last few roots has a parent with a higher number, in a random order."""
    parent = np.array([rng.integers(v + 1, nodes + 1) for v in range(nodes)])
    name = rng.permutation(nodes)  # what number each node gets
    shuffled = np.empty(nodes, dtype=np.int64)
    shuffled[name] = np.where(parent == nodes, -1, name[np.minimum(parent, nodes - 1)])
    return shuffled


def below(parent, node, columns):
    """Columns at or below a node, by climbing from each."""
    found = []
    for j, at in enumerate(columns):
        while at not in (-1, node):
            at = parent[at]
        if at == node:
            found.append(j)
    return found


def assert_best(found, units, groups, squares, size, exclude=()):
    """``found`` are the best groups by brute force, ties by number; of groups with equal columns one takes part."""
    chosen, scores = found
    everything = np.array([squares[list(group)].sum() for group in groups]) / units.omega
    free = np.setdiff1d(np.arange(len(groups)), units.dominated)
    kept = {tuple(groups[g]): g for g in free}
    assert len(kept) == free.size == len(set(map(tuple, groups)))
    assert all(units.omega[kept[tuple(groups[g])]] <= units.omega[g] for g in units.dominated)
    best = sorted((g for g in free if g not in exclude and everything[g] > 0.0), key=lambda g: -everything[g])[:size]
    np.testing.assert_allclose(scores, everything[best], rtol=1e-12)
    np.testing.assert_allclose(scores, everything[chosen], rtol=1e-12)
    assert len(set(chosen.tolist())) == chosen.size
    assert not np.isin(chosen, exclude).any()
    ties = np.flatnonzero(np.diff(scores) == 0.0)
    assert (chosen[ties] < chosen[ties + 1]).all(), "of equal scores the lower number comes first"


def drawn_weights(rng, kind, count):
    return rng.uniform(0.3, 4.0, count) if kind == "random" else kind


@settings(max_examples=120, deadline=None)
@given(st.integers(0, 2**32), st.integers(1, 12), st.integers(0, 6), WEIGHTS, st.integers(0, 8))
def test_scores_of_lists_equal_brute_force(seed, p, count, kind, size):
    rng = np.random.default_rng(seed)
    X, V = rng.standard_normal((9, p)), rng.standard_normal((9, 2))
    groups = lists(rng, p, count) if count else [[j] for j in range(p)]
    found = grouping_of(Groups(groups, drawn_weights(rng, kind, len(groups))), p)
    design = as_design(X)
    units = found.units(design)
    exclude = np.flatnonzero(rng.random(len(groups)) < 0.2)
    result = design.scan(Correlation(V), units.reducer(size, exclude))
    squares = ((X.T @ V) ** 2).sum(axis=1)
    assert_best(units.ranked(result, size, exclude), units, groups, squares, size, exclude)


@settings(max_examples=120, deadline=None)
@given(st.integers(0, 2**32), st.integers(1, 10), st.integers(0, 14), WEIGHTS, st.integers(0, 8), st.booleans())
def test_scores_of_trees_equal_brute_force(seed, p, inner, kind, size, leaves):
    """Columns are the first nodes, or are put at random ones, inner ones too; some nodes have no columns."""
    rng = np.random.default_rng(seed)
    parent = parents(rng, p + inner)
    node = np.arange(p) if leaves else rng.integers(0, p + inner, p)
    X, v = rng.standard_normal((9, p)) * (rng.random(p) < 0.8), rng.standard_normal(9)
    found = grouping_of(Tree(parent, None if leaves else node, drawn_weights(rng, kind, p + inner)), p)
    groups = [below(parent, label, node) for label in found.labels]
    assert all(groups), "a node without columns is not a group"
    assert sum(bool(below(parent, v, node)) for v in range(p + inner)) == len(groups)
    design = as_design(X)
    units = found.units(design)
    exclude = np.flatnonzero(rng.random(len(groups)) < 0.2)
    squares = (X.T @ v) ** 2
    result = design.scan(Correlation(v), units.reducer(size, exclude))
    assert_best(units.ranked(result, size, exclude), units, groups, squares, size, exclude)
    everything = np.arange(len(groups))
    columns, sizes = units.members(everything)
    parts = np.split(columns, np.cumsum(sizes)[:-1])
    assert [sorted(part.tolist()) for part in parts] == groups


def test_pruning_visits_fewer_nodes_and_changes_nothing():
    rng = np.random.default_rng(0)
    depth, p = 12, 1 << 12
    parent = np.concatenate([p + np.arange(p) // 2, p + (p >> 1) + np.arange(p - 2) // 2, [-1]])[: 2 * p - 1]
    squares = rng.standard_normal(p) ** 2
    squares[:4] += 1000.0
    units = grouping_of(Tree(parent, weights="size"), p).units(as_design(np.zeros((2, p))))
    pruned, visited = units.ranked(squares, 5, np.zeros(0, dtype=np.int64)), units.visited
    units._least[:] = 1e-300  # nothing can be skipped then
    whole = units.ranked(squares, 5, np.zeros(0, dtype=np.int64))
    np.testing.assert_array_equal(pruned[0], whole[0])
    np.testing.assert_array_equal(pruned[1], whole[1])
    assert units.visited == 2 * p - 1
    assert visited <= 40 * depth, visited


@pytest.mark.parametrize("name", COLUMNS_OF_X)
@pytest.mark.parametrize("kind", ["lists", "tree"])
def test_every_place_of_the_columns_gives_the_same_bits(name, kind, tmp_path):
    """Pieces, threads and processes change nothing; a design without columns of zeros has the other groups."""
    whole = written_out(name, SMALL_X)
    rng, p = np.random.default_rng(3), whole.shape[1]
    V = rng.standard_normal((40, 3))
    if kind == "lists":
        found = grouping_of(Groups(lists(rng, p, 9), rng.uniform(0.5, 2.0, 11)), p)
    else:
        found = grouping_of(Tree(parents(rng, p + 20)), p)
    none = np.zeros(0, dtype=np.int64)

    def ranked(design, units):
        return units.ranked(design.scan(Correlation(V), units.reducer(6, none)), 6, none)

    if name == "very_wide":  # its columns are the multiples of 3: labels say so
        here = DESIGNS[name](SMALL_X, SERIAL, tmp_path)
        found = grouping_of(np.arange(here.n_columns) // 12, here.n_columns)
        units = found.units(here)
        squares = np.zeros(here.n_columns)
        squares[here.ids] = ((whole.T @ V) ** 2).sum(axis=1)
        groups = [tuple(range(g, min(g + 12, here.n_columns))) for g in range(0, here.n_columns, 12)]
        assert_best(ranked(here, units), units, groups, squares, 6)
        return
    expected = None
    with Workers(3) as three:
        for workers in (SERIAL, three):
            design = DESIGNS[name](SMALL_X, workers, tmp_path)
            got = ranked(design, found.units(design))
            expected = got if expected is None else expected
            np.testing.assert_array_equal(got[0], expected[0])
            np.testing.assert_array_equal(got[1], expected[1])
    np.testing.assert_allclose(expected[1][0], _scores(found, design, whole, V).max(), rtol=1e-6)


def _scores(found, design, whole, V):
    units, squares = found.units(design), ((whole.T @ V) ** 2).sum(axis=1)
    members = [units.members(np.array([g])).columns for g in range(units.count)]
    scores = np.array([squares[columns].sum() for columns in members]) / units.omega
    scores[units.dominated] = 0.0
    return scores


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 2**32), st.data())
def test_cuts_of_the_columns_change_no_bit(seed, data):
    rng = np.random.default_rng(seed)
    block = DenseBlock(np.asfortranarray(rng.standard_normal((11, 13))))
    V = rng.standard_normal((11, 2))
    found = grouping_of(lists(rng, 13, 5), 13)
    inner = data.draw(st.sets(st.integers(1, 12)))
    none = np.zeros(0, dtype=np.int64)
    results = []
    for cuts in ([0, 13], sorted({0, 13} | inner)):
        design = CutDesign(block, cuts)
        units = found.units(design)
        results.append(units.ranked(design.scan(Correlation(V), units.reducer(4, none)), 4, none))
    np.testing.assert_array_equal(results[0][0], results[1][0])
    np.testing.assert_array_equal(results[0][1], results[1][1])
