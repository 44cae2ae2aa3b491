"""Laws of products that need linear terms: the best of those that may be taken, for all models in the same scans."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from tests.oracles import products as oracle
from thresher import Polynomial
from thresher.data.blocks.scaled import Scaling
from thresher.data.designs.memory import MemoryDesign
from thresher.data.designs.scaled import ScaledDesign
from thresher.data.designs.units import RankingRequest
from thresher.data.input.validation import as_design
from thresher.features.polynomial import spec as heredity
from thresher.features.polynomial.products import ProductDesign
from thresher.features.polynomial.spec import HereditaryTerms
from thresher.features.polynomial.terms import n_numbers, numbers_of, pairs_of, terms_of

STORAGES = {"dense": np.asarray, "csc": sparse.csc_array, "csr": sparse.csr_array}


def linear(columns):
    return numbers_of(np.asarray(columns), np.full(len(columns), -1))


def best_by_sorting(M, request, *, both):
    """Of all terms, written out in the columns of M."""
    squares = ((M.T @ request.V.T) ** 2).sum(axis=1)
    parents = {i for i, j in pairs_of(request.taken).tolist() if j < 0}
    rule = all if both else any
    for number, pair in enumerate(pairs_of(np.arange(M.shape[1])).tolist()):
        if pair[1] >= 0 and not rule(column in parents for column in pair):
            squares[number] = 0.0
    squares[request.exclude] = 0.0
    order = np.lexsort((np.arange(squares.size), -squares))[: request.size]
    order = order[squares[order] > 0.0]
    return order, squares[order]


def request_of(rng, design, p, size):
    """A model that has taken some linear terms and products of the first columns, in any order."""
    parents = rng.choice(p, rng.integers(0, min(p, 5)), replace=False)
    pairs = [(i, j) for i in parents.tolist() for j in parents.tolist() if i <= j and rng.random() < 0.3]
    taken = np.concatenate([linear(parents), numbers_of(*np.array(pairs).reshape(-1, 2).T)]).astype(np.int64)
    taken = rng.permutation(taken[design.take(taken).column_squares(np.ones(design.shape[0])) > 0.0])
    block = design.take(taken) if taken.size else None
    more = rng.integers(1, n_numbers(p), 3)
    exclude = np.union1d(taken, more)
    return RankingRequest(rng.standard_normal((rng.integers(1, 4), design.shape[0])), taken, block, size, exclude)


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**32), st.booleans(), st.sampled_from(list(STORAGES)), st.sampled_from([1, 60, 1 << 24]))
def test_the_best_that_may_be_taken_are_found(seed, both, storage, at_once):
    """Against all terms written out, for several models, in one scan or in many."""
    rng = np.random.default_rng(seed)
    n, p = 20, int(rng.integers(2, 9))
    X = rng.standard_normal((n, p)) * (rng.random((n, p)) < 0.7)
    X[:, rng.random(p) < 0.2] = 1.5  # constant columns have no products
    X[:, rng.random(p) < 0.2] = (rng.random(n) < 0.5)[:, None]  # of two values, no square
    polynomial = Polynomial(gamma=0.7, coef0=2.0, interaction_only=bool(rng.random() < 0.3))
    excluded = [int(rng.integers(p))] if rng.random() < 0.3 else []
    shift = X.mean(axis=0) if storage == "dense" and rng.random() < 0.5 else None
    factor = rng.random(p) + 0.5
    factor[np.ptp(X, axis=0) == 0.0] = 1.0 if shift is None else 0.0
    scaling = Scaling(factor, shift)
    base = ScaledDesign(as_design(STORAGES[storage](X)), scaling)
    design = ProductDesign(base, terms_of(base, polynomial, np.ones(n), excluded))
    Z = (X - (0.0 if shift is None else shift)) * scaling.factor
    M = oracle.written_out(polynomial, Z, X, excluded)
    requests = [request_of(rng, design, p, size) for size in (1, 4, 100)]
    scans, former = [], heredity.HEREDITY_ENTRIES
    heredity.HEREDITY_ENTRIES = at_once
    try:
        found = HereditaryTerms(design.width, both=both).eligible(
            design, requests, lambda what, *how: scans.append(what) or what.scan(*how)
        )
    finally:
        heredity.HEREDITY_ENTRIES = former
    assert all(what is base for what in scans)
    assert len(scans) == 1 or at_once < 1 << 24
    for request, (ids, squares) in zip(requests, found, strict=True):
        expected, brute = best_by_sorting(M, request, both=both)
        np.testing.assert_allclose(squares, brute, rtol=1e-8, atol=1e-18)
        ties = np.isclose(brute[1:], brute[:-1], rtol=1e-7).any()
        assert ties or ids.tolist() == expected.tolist()


def test_constant_columns_do_not_crowd_out_products():
    """Each of them scores more than any product, and none is a term together with another."""
    rng = np.random.default_rng(0)
    X = np.concatenate([rng.standard_normal((30, 4)), np.full((30, 40), 100.0)], axis=1)
    base = MemoryDesign(as_design(X).block)
    design = ProductDesign(base, terms_of(base, Polynomial(), np.ones(30)))
    taken = linear([1])
    v = rng.standard_normal((1, 30))
    request = RankingRequest(v - v.mean(), taken, design.take(taken), 3, np.union1d(taken, linear(range(4, 44))))
    units = HereditaryTerms(design.width, both=False)
    ((ids, _),) = units.eligible(design, [request], lambda what, *how: what.scan(*how))
    expected, _ = best_by_sorting(oracle.written_out(Polynomial(), X), request, both=False)
    assert ids.tolist() == expected.tolist()
    assert any(1 in pair for pair in pairs_of(ids).tolist())


def test_other_designs_are_refused():
    request = RankingRequest(np.ones((1, 4)), np.zeros(0, dtype=np.int64), None, 1, np.zeros(0, dtype=np.int64))
    with pytest.raises(TypeError, match="heredity is for products of columns, got MemoryDesign"):
        HereditaryTerms(3, both=True).eligible(as_design(np.eye(4)), [request], None)
