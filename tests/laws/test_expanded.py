"""Laws of additive kernels: maps near their kernels, blocks that write nothing down, scores equal to brute force."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from tests.laws.storages import STORED, matrix
from tests.oracles import kernels as oracle
from thresher import AdditiveChi2, AdditiveGaussian, Intersection, InvalidDataError
from thresher.data import workers as workers_module
from thresher.data.blocks.compressed import CscBlock
from thresher.data.blocks.dense import DenseBlock, densified
from thresher.data.designs.memory import MemoryDesign
from thresher.data.input.validation import as_design
from thresher.data.scan.scores import Correlation
from thresher.data.workers import Workers
from thresher.features import expanded as expanded_module
from thresher.features.additive.maps import Inputs, MappedDesign
from thresher.features.additive.step_encoding import StepBlock
from thresher.features.columns import Columns
from thresher.features.expanded import EachInput, ExpandedUnits
from thresher.features.groups.spec import grouping
from thresher.features.known import as_feature_map
from thresher.features.samples import Restrictions

X = np.abs(matrix(60, 11, seed=5))
KERNELS = [Intersection(9), Intersection(7, 0.5), Intersection(300), AdditiveChi2(), AdditiveGaussian()]
NONE = np.zeros(0, dtype=np.int64)


def inputs_of(A):
    """Factor, mean and largest of the columns."""
    largest = A.max(axis=0, initial=0.0)
    return 1.0 / np.where(largest > 0.0, largest, 1.0), A.mean(axis=0), largest


def design_of(A, kernel, storage="csc_int32", workers=workers_module.SERIAL):
    return MappedDesign(MemoryDesign(STORED[storage](A, workers)), kernel, Inputs(*inputs_of(A)))


def column(kernel, x, largest=None, mean=0.0):
    """The numbers of values x of one column, as a model has them after a fit on values up to ``largest``."""
    inputs = Inputs(np.ones(1), np.full(1, mean), np.full(1, x.max() if largest is None else largest))
    return kernel.block(DenseBlock(np.asfortranarray(x[:, None])), inputs, kernel.size(10**6)).toarray()


# the kernels


@pytest.mark.parametrize("power", [1.0, 0.5, 2.0])
def test_intersection_is_over_by_at_most_a_step(power):
    x = np.random.default_rng(0).random(300)
    kernel = Intersection(50, power)
    phi = column(kernel, x)
    error = phi @ phi.T - oracle.values_of(kernel, x, x)
    assert error.min() >= -1e-12
    assert error.max() <= x.max() ** power / 50 + 1e-12
    assert column(Intersection(300), x, largest=5.0).shape == (300, 300)


@pytest.mark.parametrize("power", [1.0, 0.5])
def test_intersection_is_exact_where_samples_are_few(power):
    rng = np.random.default_rng(1)
    A = np.round(rng.random((40, 3)), 1) * (rng.random((40, 3)) < 0.7)  # with ties and zeros
    kernel = Intersection(100, power)
    design = design_of(A, kernel)
    assert design.size == 40
    phi = design.take(np.arange(design.width)).toarray()
    expected = sum(oracle.values_of(kernel, x, x) for x in (A * inputs_of(A)[0]).T)
    np.testing.assert_allclose(phi @ phi.T, expected, atol=1e-12)


def test_values_above_the_largest_one_count_as_it():
    x = np.array([0.0, 0.3, 1.0, 2.0, 7.5])
    for kernel in (Intersection(10), AdditiveChi2()):
        phi = column(kernel, x, largest=1.0)
        np.testing.assert_array_equal(phi[3:], phi[[2, 2]])
    far = column(AdditiveGaussian(), np.array([2.75, 3.0, 1e9, -2.75, -40.0]))
    np.testing.assert_allclose(far[:3], far[[0, 0, 0]], atol=1e-12)
    np.testing.assert_allclose(far[3:], far[[3, 3]], atol=1e-12)


@pytest.mark.parametrize(("order", "error"), [(2, 0.013), (3, 0.006), (4, 0.003), (5, 0.0016), (6, 9e-4), (7, 5e-4)])
def test_error_of_chi_squared(order, error):
    """Relative to the larger value, which is 1 here."""
    kernel, x = AdditiveChi2(order), np.concatenate([[0.0], np.geomspace(1e-8, 1.0, 2000)])
    phi = column(kernel, x)
    assert phi.shape[1] == 2 * order + 1
    wrong = np.abs(phi @ phi[-1] - oracle.values_of(kernel, x, x[-1:])[:, 0])
    assert wrong.max() <= error


@pytest.mark.parametrize("gamma", [0.5, 3.0])
@pytest.mark.parametrize("frequencies", [3, 5, 10])
def test_error_of_gaussian(frequencies, gamma):
    """phi(x) - phi(0): with phi(0) added again, the kernel less a constant."""
    kernel, sigma = AdditiveGaussian(gamma, frequencies), 1.0 / np.sqrt(2.0 * gamma)
    reach = (0.9 * frequencies - 1.75) * sigma
    x = 4.0 + np.linspace(-reach, reach, 401)
    phi = column(kernel, x, mean=4.0)
    squares = (phi**2).sum(axis=1)
    found = squares[:, None] + squares - 2.0 * phi @ phi.T  # distances: a constant vector cancels
    wrong = found - (2.0 - 2.0 * oracle.values_of(kernel, x, x))
    assert np.abs(wrong).max() <= 2 * 0.0023 + 2 * 2e-4
    assert phi.shape[1] == 2 * frequencies


@pytest.mark.parametrize("kernel", KERNELS, ids=str)
def test_storages_agree_to_the_bit_and_with_the_formulas(kernel):
    expected = oracle.written_out(kernel, X, *inputs_of(X))
    found = [design_of(X.astype(np.float32).astype(float), kernel, name) for name in STORED]
    found = [design.take(np.arange(design.width)).toarray() for design in found]
    np.testing.assert_allclose(found[0], expected, atol=1e-12)
    for other in found[1:]:
        np.testing.assert_array_equal(other, found[0])
    assert (found[0].reshape(60, 11, -1)[X == 0.0] == 0.0).all(), "zeros stay zero"


# blocks


def step_block(workers=workers_module.SERIAL, levels=9, n=60):
    block = design_of(np.abs(matrix(n, 11, seed=5)), Intersection(levels), workers=workers).take(np.arange(11 * levels))
    assert isinstance(block, StepBlock)
    return block


@pytest.mark.parametrize("levels", [1, 9, 300])
@pytest.mark.parametrize("k", [None, 1, 5])
def test_products_of_step_blocks(levels, k):
    block = step_block(levels=levels, n=400)
    A, rng = block.toarray(), np.random.default_rng(0)
    assert block.levels.dtype == (np.uint8 if levels < 256 else np.uint16)
    V, W = (rng.standard_normal(size if k is None else (size, k)) for size in A.shape)
    np.testing.assert_allclose(block.correlate(V), A.T @ V, atol=1e-10)
    np.testing.assert_allclose(block.combine(W), A @ W, atol=1e-10)
    rows, columns = rng.random(A.shape[0]), rng.random(A.shape[1])
    np.testing.assert_allclose(block.column_squares(rows), rows @ A**2, atol=1e-10)
    np.testing.assert_allclose(block.row_squares(columns), A**2 @ columns, atol=1e-10)
    if levels == 9:
        np.testing.assert_allclose(block.gram(rows), (A.T * rows) @ A, atol=1e-9)
        np.testing.assert_allclose(block.row_gram(), A @ A.T, atol=1e-9)


def test_any_range_and_any_threads_give_the_same_bits(monkeypatch):
    monkeypatch.setattr(workers_module, "SMALL", 0)
    rng, whole = np.random.default_rng(0), step_block()
    V, W = rng.standard_normal((60, 3)), rng.standard_normal((99, 2))
    for count in (2, 3):
        with Workers(count) as workers:
            other = step_block(workers)
            assert all(lo % 9 == 0 for lo, _ in other.column_ranges())
            np.testing.assert_array_equal(other.correlate(V), whole.correlate(V))
            np.testing.assert_array_equal(other.combine(W), whole.combine(W))
    for lo, hi in itertools.combinations([0, 1, 8, 9, 30, 45, 99], 2):
        out = np.zeros((3, hi - lo))
        whole.correlate_into(np.ascontiguousarray(V.T), lo, hi, out)
        np.testing.assert_array_equal(out.T, whole.correlate(V)[lo:hi])
    for lo, hi in itertools.combinations([0, 7, 31, 60], 2):
        out = np.zeros((2, hi - lo))
        whole.combine_into(np.ascontiguousarray(W.T), lo, hi, out)
        np.testing.assert_array_equal(out.T, whole.combine(W)[lo:hi])


@pytest.mark.parametrize("ids", [[], [4], [17, 3, 98], [*range(18, 27), *range(9)], [*range(9), *range(9)]])
def test_parts_of_step_blocks(ids):
    block, rows = step_block(), np.array([1, 5, 59])
    A, ids = block.toarray(), np.array(ids, dtype=np.int64)
    taken = block.take(ids)
    np.testing.assert_array_equal(taken.toarray(), A[:, ids])
    assert isinstance(taken, StepBlock) == (ids.size % 9 == 0)
    np.testing.assert_array_equal(block.take_rows(rows).toarray(), A[rows])
    joined = block.take(np.arange(9)).joined(block.take(np.arange(27, 45)))
    np.testing.assert_array_equal(joined.toarray(), np.concatenate([A[:, :9], A[:, 27:45]], axis=1))
    np.testing.assert_array_equal(densified(block, 10**6).toarray(), A)
    assert densified(block, 10) is block


# designs and units


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**32), st.sampled_from(KERNELS), st.integers(1, 6), st.booleans(), st.sampled_from([10**6, 40]))
def test_scores_equal_brute_force(seed, kernel, size, grouped, most):
    """Of inputs and of groups of inputs, whatever the pieces; a design may omit columns of zeros."""
    rng = np.random.default_rng(seed)
    A = rng.random((12, 8)) * (rng.random((12, 8)) < 0.6) * (rng.random(8) < 0.8)
    V, labels = rng.standard_normal((12, 2)), rng.integers(0, 3, 8)
    there = np.flatnonzero(A.any(axis=0))
    full, parts = inputs_of(A), Inputs(*(part[there] for part in inputs_of(A)))
    csc = sparse.csc_array(A[:, there])
    base = MemoryDesign(CscBlock(csc.shape, csc.indptr, csc.indices, csc.data), ids=there, n_columns=8)
    design, old = MappedDesign(base, kernel, parts), expanded_module.MOST_NUMBERS
    squares = ((oracle.written_out(kernel, A, *full).T @ V) ** 2).sum(axis=1).reshape(8, -1).sum(axis=1)
    if grouped:
        found = grouping(labels, 8, lambda *_: None)
        inner, scores = found.units(base), np.array([squares[labels == g].mean() for g in found.labels])
    else:
        inner, scores = EachInput(there.size), squares[there]
    units = ExpandedUnits(inner, design.size)
    expanded_module.MOST_NUMBERS = most
    try:
        best, found_scores = units.ranked(design.scan(Correlation(V), units.reducer(size, NONE)), size, NONE)
    finally:
        expanded_module.MOST_NUMBERS = old
    wanted = np.sort(scores[scores > 0.0])[::-1][:size]
    np.testing.assert_allclose(found_scores, wanted, rtol=1e-9)
    np.testing.assert_allclose(scores[best], wanted, rtol=1e-9)
    if best.size:
        columns, sizes = units.members(best[:1])
        assert columns.size == sizes[0] == design.take(columns).shape[1]
        inputs = np.unique(design.ids_in_X(columns) // design.size)
        np.testing.assert_array_equal(design.ids_here(design.ids_in_X(columns)), columns)
        wanted_inputs = there[labels[there] == found.labels[best[0]]] if grouped else there[best[:1]]
        np.testing.assert_array_equal(inputs, wanted_inputs)


def test_a_matrix_by_rows_costs_a_pass_for_each_piece(monkeypatch):
    monkeypatch.setattr(expanded_module, "MOST_NUMBERS", 30)
    by_rows, by_columns = (MappedDesign(as_design(make(X)), Intersection(9), Inputs(*inputs_of(X)))
                           for make in (sparse.csr_array, sparse.csc_array))  # fmt: skip
    pieces = list(by_rows.pieces())
    assert len(pieces) > 3
    assert by_rows.scan_cost().passes == len(pieces)
    assert by_columns.scan_cost().passes == 1.0
    assert by_columns.take_cost(np.arange(18)).passes == pytest.approx(2 / 11)
    np.testing.assert_array_equal(
        *(design.scan(Correlation(np.arange(60.0)), scores_of_inputs(design)) for design in (by_rows, by_columns))
    )


def scores_of_inputs(design):
    return ExpandedUnits(EachInput(11), design.size).reducer(3, NONE)


def test_negative_values_are_refused_by_name():
    B = X.copy()
    B[7, 6] = -0.5
    for name in STORED:
        design = MappedDesign(MemoryDesign(STORED[name](B)), Intersection(9), Inputs(*inputs_of(X)), "<{}>".format)
        with pytest.raises(InvalidDataError, match=r"column <6> of X has the value -0.5 in row 7.*intersection"):
            design.take(np.arange(design.width))


@pytest.mark.parametrize(
    ("make", "match"),
    [
        (lambda: Intersection(0), "levels must be an integer from 1 to 65535, got 0"),
        (lambda: Intersection(2.5), "levels must be an integer"),
        (lambda: Intersection(power=0), "power must be a positive number, got 0"),
        (lambda: AdditiveChi2(8), "order must be an integer from 2 to 7, got 8"),
        (lambda: AdditiveGaussian(-1.0), "gamma must be a positive number, got -1.0"),
        (lambda: AdditiveGaussian(frequencies=2), "frequencies must be an integer from 3"),
        (lambda: as_feature_map("rbf"), "feature_map must be one of .*got 'rbf'"),
        (lambda: as_feature_map(3), "feature_map must be one of"),
        (lambda: as_feature_map(Intersection), "feature_map must be one of"),
        (lambda: Intersection().check("std", Restrictions()), 'scale="std" centres them'),
    ],
)
def test_invalid_kernels(make, match):
    with pytest.raises(ValueError, match=match):
        make()


def test_words_are_short_for_kernels():
    assert as_feature_map("columns") == Columns()
    assert as_feature_map("intersection") == Intersection()
    assert as_feature_map("additive_chi2") == AdditiveChi2()
    assert as_feature_map(AdditiveGaussian(2.0)) == AdditiveGaussian(2.0)
    words = ("intersection", "additive_gaussian")
    assert [as_feature_map(word).auto_scale for word in words] == ["max", "std"]
    AdditiveGaussian().check("std", Restrictions())  # values may be negative
