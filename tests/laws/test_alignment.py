"""Laws of alignments: those of written-out kernels, and the same bits from every storage, thread and piece."""

import tracemalloc

import numpy as np
import pytest
from scipy import sparse

from tests.laws.designs import COLUMNS_OF_X, DESIGNS, CutDesign, MappedDesign, written_out
from tests.laws.storages import STORED, matrix
from tests.oracles import alignment as oracle
from thresher.data import workers as workers_module
from thresher.data.blocks import base
from thresher.data.blocks.compressed import CscBlock, CsrBlock
from thresher.data.blocks.scaled import Scaling
from thresher.data.designs.memory import MemoryDesign
from thresher.data.designs.scaled import ScaledDesign
from thresher.data.scan.reducers import Collect
from thresher.data.workers import Workers
from thresher.errors import InvalidDataError
from thresher.features.kernels.columns import LOOP_KINDS, ColumnKernel, sorted_columns
from thresher.features.kernels.sources import Alignment, alignments_of, with_gammas
from thresher.loops import alignment as loops

X = matrix(60, 30, seed=7)
rng = np.random.default_rng(8)
y = np.where(rng.random(60) < 0.4, 1.0, -1.0)
WEIGHTS = {"equal": np.ones(60), "some": rng.integers(0, 4, 60).astype(float), "real": rng.random(60)}
WAYS = {
    "rbf": ColumnKernel("rbf"), "rbf, fixed": ColumnKernel("rbf", 0.3), "laplace": ColumnKernel("laplace"),
    "laplace, fixed": ColumnKernel("laplace", 2.0), "polynomial": ColumnKernel("polynomial"),
    "degree 2": ColumnKernel("polynomial", 0.7, 2, 0.5), "homogeneous": ColumnKernel("polynomial", 1.0, 2, 0.0),
    "linear": ColumnKernel("linear"),
}  # fmt: skip


def expected(kernel, X, y, w):
    options = {} if kernel.name != "polynomial" else {"degree": kernel.degree, "coef0": kernel.coef0}
    return np.array([oracle.alignment(kernel.name, x, y, w, kernel.gamma, **options) for x in X.T])


def scores(design, kernel, y=y, w=WEIGHTS["equal"]):
    return design.scan(Alignment(y, kernel, w), Collect(design.width))


@pytest.mark.parametrize("weights", WEIGHTS)
@pytest.mark.parametrize("way", WAYS)
def test_alignments_are_those_of_written_out_kernels(way, weights):
    kernel, w = WAYS[way], WEIGHTS[weights]
    found = alignments_of(MemoryDesign(STORED["csc_int32"](X)), y, kernel, w)
    np.testing.assert_allclose(found.values[0], expected(kernel, X, y, w), rtol=1e-9, atol=1e-9)
    traces = [oracle.base_kernel(kernel.name, x, w, kernel.gamma, **_options(kernel))[1] for x in X.T]
    np.testing.assert_allclose(found.trace, traces, rtol=1e-9, atol=1e-9)
    assert found.values[0, 3] == found.values[0, 5] == 0.0, "constant columns"


def _options(kernel):
    return {} if kernel.name != "polynomial" else {"degree": kernel.degree, "coef0": kernel.coef0}


@pytest.mark.parametrize("way", WAYS)
def test_every_storage_gives_the_same_bits(way):
    w = WEIGHTS["some"]
    reference = scores(MemoryDesign(STORED["dense_C_float64"](X)), WAYS[way], w=w)
    assert np.any(reference > 0.0)
    for name, make in STORED.items():
        assert np.array_equal(scores(MemoryDesign(make(X)), WAYS[way], w=w), reference), name


def test_threads_and_pieces_change_no_bit(monkeypatch, tmp_path):
    targets = np.stack([y, -y, rng.standard_normal(60)], axis=1)
    kernel = WAYS["rbf"]
    reference = scores(MemoryDesign(STORED["csr_int32"](X)), kernel, targets)
    monkeypatch.setattr(workers_module, "SMALL", 0)
    for at_a_time in (base.PART_VALUES, 5):
        monkeypatch.setattr(base, "PART_VALUES", at_a_time)
        for name in ("csr_int32", "csc_int32", "dense_F_float64"):
            for count in (1, 2, 3):
                with Workers(count) as workers:
                    assert np.array_equal(scores(MemoryDesign(STORED[name](X, workers)), kernel, targets), reference)
    assert np.array_equal(scores(MappedDesign(X, tmp_path), kernel, targets), reference)
    assert np.array_equal(scores(CutDesign(STORED["csc_int32"](X), [0, 1, 9, 30]), kernel, targets), reference)


@pytest.mark.parametrize("storage", ["csr_int32", "csr_int64_float32"])
def test_slices_of_rows_do_not_read_all_indices(storage, monkeypatch):
    """Columns are found by bisection in the rows: taking them would read all of X for every slice."""
    kept = X.astype(np.float32).astype(float) if "float32" in storage else X
    whole = scores(MemoryDesign(STORED["csc_int32"](kept)), WAYS["rbf"], w=WEIGHTS["some"])
    block = STORED[storage](X)
    assert isinstance(block, CsrBlock)
    monkeypatch.setattr(base, "PART_VALUES", 20)
    monkeypatch.setattr(CsrBlock, "take", None)
    slices = list(sorted_columns(block, 3, 30, WEIGHTS["some"] > 0.0))
    assert len(slices) > 5
    assert slices[0][0] == 3
    assert np.array_equal(scores(MemoryDesign(block), WAYS["rbf"], w=WEIGHTS["some"]), whole)


@pytest.mark.parametrize("name", COLUMNS_OF_X, ids=str)
def test_every_place_where_columns_live_is_scored(name, tmp_path, monkeypatch):
    """Computed, mapped, scaled, in other processes: by formula, and with the same bits for any threads."""
    small, labels = matrix(40, 17, seed=4), np.where(np.arange(40) % 3 == 0, 1.0, -1.0)
    whole, w = written_out(name, small), rng.integers(0, 3, 40).astype(float)
    found = alignments_of(DESIGNS[name](small, workers_module.SERIAL, tmp_path), labels, WAYS["rbf"], w)
    np.testing.assert_allclose(found.values[0], expected(WAYS["rbf"], whole, labels, w), rtol=1e-6, atol=1e-7)
    monkeypatch.setattr(workers_module, "SMALL", 0)
    with Workers(2) as workers:
        again = alignments_of(DESIGNS[name](small, workers, tmp_path), labels, WAYS["rbf"], w)
    assert all(np.array_equal(mine, theirs) for mine, theirs in zip(found, again, strict=True))


def test_sparse_columns_are_never_made_dense():
    """2,000 x 100,000 with 200,000 entries would be 1.6 GB; what is held is in proportion to the entries."""
    wide = sparse.random_array((2000, 100_000), density=1e-3, rng=0, format="csc")
    labels = np.where(np.arange(2000) % 2 == 0, 1.0, -1.0)
    for block in (CscBlock, CsrBlock):
        part = wide if block is CscBlock else wide.tocsr()
        design = MemoryDesign(block(part.shape, part.indptr, part.indices, part.data))
        alignments_of(MemoryDesign(design.block.take(np.arange(3))), labels, WAYS["rbf"], np.ones(2000))
        tracemalloc.start()
        alignments_of(design, labels, WAYS["rbf"], np.ones(2000))
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert peak < 60e6, block


@pytest.mark.parametrize("gamma", [None, 1e-3, 1.0, 1e3, 1e6])
def test_fast_sums_are_as_accurate_as_stated(gamma):
    """Continuous columns, one with far outliers: more distinct values than are summed over pairs."""
    Z = rng.standard_normal((400, 3))
    Z[:5, 1] *= 1e3
    Z[:, 2] = np.exp(3 * Z[:, 2])
    labels, kernel = np.sign(Z[:, 0] ** 2 - 1.0), ColumnKernel("rbf", gamma)
    w = rng.random(400)
    found = alignments_of(MemoryDesign(STORED["dense_F_float64"](Z)), labels, kernel, w)
    np.testing.assert_allclose(found.values[0], expected(kernel, Z, labels, w), rtol=1e-9, atol=1e-9 * w.sum())


@pytest.mark.parametrize("gamma", [1e-6, 1e-9, 1e-13])
def test_fast_sums_of_small_gammas_lose_no_digits(gamma):
    """1 - K is then tiny beside 1: the reference is written out less 1, which does not change the centred kernel."""
    z, w = rng.standard_normal(400), rng.random(400)
    labels = np.sign(z + rng.standard_normal(400))
    K = oracle.centred(np.expm1(-gamma * np.subtract.outer(z, z) ** 2), w)
    reference = (w * labels) @ K @ (w * labels) / (w @ np.diag(K))
    found = alignments_of(MemoryDesign(STORED["dense_F_float64"](z[:, None])), labels, ColumnKernel("rbf", gamma), w)
    np.testing.assert_allclose(found.values[0], [reference], rtol=1e-9)


def test_many_distinct_values_that_repeat():
    """More than are summed over pairs, each in several rows, and a sparse column among them."""
    Z = np.round(rng.standard_normal((900, 3)), 2)
    Z[rng.random(900) < 0.5, 2] = 0.0
    assert min(np.unique(column).size for column in Z.T) > loops.PAIRED_VALUES
    found = alignments_of(MemoryDesign(STORED["csc_int32"](Z)), np.sign(Z[:, 0] - 0.1), WAYS["rbf"], np.ones(900))
    np.testing.assert_allclose(
        found.values[0], expected(WAYS["rbf"], Z, np.sign(Z[:, 0] - 0.1), np.ones(900)), rtol=1e-9
    )


def test_integer_weights_count_as_repeated_rows():
    w = WEIGHTS["some"].astype(int)
    for kernel in WAYS.values():
        weighted = alignments_of(MemoryDesign(STORED["csc_int32"](X)), y, kernel, w.astype(float))
        repeated = MemoryDesign(STORED["csc_int32"](np.repeat(X, w, axis=0)))
        many = alignments_of(repeated, np.repeat(y, w), kernel, np.ones(w.sum()))
        np.testing.assert_allclose(weighted.values, many.values, rtol=1e-10, atol=1e-10)


def test_rows_without_weight_do_not_count():
    w, other = WEIGHTS["some"], X.copy()
    other[w == 0.0] = 77.0
    for kernel in WAYS.values():
        found = [scores(MemoryDesign(STORED[name](Z)), kernel, w=w) for name in ("csc_int32", "dense_C_float64")
                 for Z in (X, other)]  # fmt: skip
        for each in found[1:]:
            assert np.array_equal(each, found[0])


def test_scaled_columns_are_scored_as_scaled():
    factor, shift = 1.0 + np.arange(30) / 10, np.arange(30) - 7.5
    design = ScaledDesign(MemoryDesign(STORED["csr_int32"](X)), Scaling(factor, shift))
    for kernel in WAYS.values():
        found = alignments_of(design, y, kernel, np.ones(60)).values[0]
        np.testing.assert_allclose(found, expected(kernel, (X - shift) * factor, y, np.ones(60)), rtol=1e-8, atol=1e-9)


def test_each_column_may_have_its_own_gamma():
    gammas = 0.1 * (1.0 + np.arange(30))
    for name in LOOP_KINDS:
        design, kernel = with_gammas(MemoryDesign(STORED["csc_int32"](X)), ColumnKernel(name), gammas)
        found = alignments_of(design, y, kernel, np.ones(60)).values[0]
        many = zip(X.T, gammas, strict=True)
        one_by_one = [oracle.alignment(name, x, y, np.ones(60), gamma) for x, gamma in many]
        np.testing.assert_allclose(found, one_by_one, rtol=1e-9, atol=1e-9)


def test_powers_that_overflow_are_refused():
    huge = MemoryDesign(STORED["dense_C_float64"](np.outer(np.arange(60.0), [1.0, 1e120])))
    with pytest.raises(InvalidDataError, match="the kernel of column 1 is not finite"):
        alignments_of(huge, y, WAYS["degree 2"], np.ones(60))
    same = alignments_of(huge, y, WAYS["rbf"], np.ones(60)).values[0]
    np.testing.assert_allclose(same[0], same[1], rtol=1e-12)


def test_alignments_lie_between_zero_and_the_number_of_samples():
    found = alignments_of(MemoryDesign(STORED["csc_int32"](np.outer(y, np.ones(3)))), y, WAYS["rbf"], np.ones(60))
    largest = np.sum((y - y.mean()) ** 2)
    np.testing.assert_allclose(found.values[0], largest, rtol=1e-12)
