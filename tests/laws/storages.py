"""One list of ways to store the same matrix: every law of blocks and designs runs on all of them."""

import itertools

import numpy as np
from scipy import sparse

from thresher.data.blocks.compressed import CscBlock, CsrBlock
from thresher.data.blocks.dense import ArrayBlock, DenseBlock
from thresher.data.blocks.repeated import RepeatedBlock
from thresher.data.blocks.scaled import ScaledBlock, Scaling
from thresher.data.blocks.stacked import StackedBlock
from thresher.data.workers import SERIAL


def matrix(n=37, p=23, density=0.4, seed=0):
    """A matrix exact in float32, with an empty column, a full one and a constant one."""
    rng = np.random.default_rng(seed)
    X = np.round(rng.standard_normal((n, p)) * 64) / 64
    X[rng.random((n, p)) > density] = 0.0
    if p > 5:
        X[:, 3] = 0.0
        X[:, 4] = rng.integers(1, 9, n)
        X[:, 5] = 2.5
    return X


def _compressed(kind, dtype, index):
    def make(X, workers=SERIAL):
        S = (sparse.csc_array if kind is CscBlock else sparse.csr_array)(X.astype(dtype))
        return kind(X.shape, S.indptr.astype(index), S.indices.astype(index), S.data, workers)

    return make


def _dense(order, dtype):
    return lambda X, workers=SERIAL: DenseBlock(np.array(X, dtype=dtype, order=order), workers)


def _scaled(make, *, shifted):
    def made(X, workers=SERIAL):
        factor, shift = 2.0 ** np.arange(-3, X.shape[1] - 3).clip(-3, 3), np.round(X.mean(axis=0) * 16) / 16
        raw = X / factor + (shift if shifted else 0.0)
        return ScaledBlock(make(raw, workers), Scaling(factor, shift if shifted else None))

    return made


def _stacked(make):
    def made(X, workers=SERIAL):
        cuts = [0, X.shape[1] // 3, X.shape[1] // 2, X.shape[1]]
        return StackedBlock([make(X[:, a:b], workers) for a, b in itertools.pairwise(cuts)])

    return made


STORED = {
    "dense_C_float64": _dense("C", np.float64),
    "dense_F_float64": _dense("F", np.float64),
    "dense_C_float32": _dense("C", np.float32),
    "dense_F_float32": _dense("F", np.float32),
    "csc_int32": _compressed(CscBlock, np.float64, np.int32),
    "csc_int64_float32": _compressed(CscBlock, np.float32, np.int64),
    "csr_int32": _compressed(CsrBlock, np.float64, np.int32),
    "csr_int64_float32": _compressed(CsrBlock, np.float32, np.int64),
}
BLOCKS = STORED | {
    "scaled_dense_C": _scaled(STORED["dense_C_float64"], shifted=True),
    "scaled_csr": _scaled(STORED["csr_int32"], shifted=False),
    "shifted_csc": _scaled(STORED["csc_int32"], shifted=True),
    "stacked_dense_F": _stacked(STORED["dense_F_float32"]),
    "stacked_dense_C": _stacked(STORED["dense_C_float64"]),
    "stacked_csc": _stacked(STORED["csc_int32"]),
    "stacked_csr": _stacked(STORED["csr_int32"]),
    "array": lambda X, workers=SERIAL: ArrayBlock(X, workers),
    "repeated_once": lambda X, workers=SERIAL: RepeatedBlock(STORED["csc_int32"](X, workers), 1),
}
# Storages that can be copied into another order, in which rows lie apart where columns did, or columns where rows did.
TWO_ORDERS = ("csc_int32", "csc_int64_float32", "csr_int32", "csr_int64_float32")
