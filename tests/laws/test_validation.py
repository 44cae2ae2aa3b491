"""Malformed input ends in a clear exception at every public entry, and never in a signal: shown in child processes."""

import itertools
import subprocess
import sys
import textwrap

import numpy as np
import pytest
from scipy import sparse

from tests.rule import fgm_by_rule
from thresher.data.input.validation import checked_sparse
from thresher.data.workers import Workers
from thresher.errors import InvalidDataError, InvalidDataTypeError

N, P = 30, 40
INT32_MAX = 2**31 - 1


def sound(kind="csr", index=np.int32, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((N, P)) * (rng.random((N, P)) < 0.5)
    S = (sparse.csr_array if kind == "csr" else sparse.csc_array)(X)
    S.indices, S.indptr = S.indices.astype(index), S.indptr.astype(index)
    return S


def broken(kind, index, change):
    """A matrix whose arrays were changed behind scipy's back."""
    S = sound(kind, index)
    arrays = {"data": S.data.copy(), "indices": S.indices.copy(), "indptr": S.indptr.copy()}
    CHANGES[change](arrays, S.shape[1] if kind == "csr" else S.shape[0])
    for name, array in arrays.items():
        setattr(S, name, array)
    return S


def _set(name, at, value):
    def change(arrays, width):
        arrays[name][at] = width if value == "width" else value

    return change


def _cut(name, by):
    def change(arrays, _):
        arrays[name] = arrays[name][:-by] if by > 0 else np.append(arrays[name], arrays[name][:-by])

    return change


def _as(name, dtype):
    def change(arrays, _):
        arrays[name] = arrays[name].astype(dtype)

    return change


CHANGES = {
    "index_equals_width": _set("indices", 7, "width"),
    "index_negative": _set("indices", 7, -1),
    "index_int32_max": _set("indices", 7, INT32_MAX),
    "indptr_decreases": _set("indptr", 5, 0),
    "indptr_jumps_out": _set("indptr", 5, 10**6),
    "indptr_negative": _set("indptr", 5, -3),
    "indptr_not_from_zero": _set("indptr", 0, 1),
    "indptr_ends_early": _set("indptr", -1, 3),
    "indptr_ends_late": _set("indptr", -1, 10**6),
    "indptr_short": _cut("indptr", 1),
    "indptr_long": _cut("indptr", -1),
    "data_short": _cut("data", 2),
    "data_long": _cut("data", -2),
    "indices_short": _cut("indices", 2),
    "indices_long": _cut("indices", -2),
    "indices_float": _as("indices", np.float64),
    "indptr_float": _as("indptr", np.float64),
    "indices_unsigned": _as("indices", np.uint32),
    "data_nan": _set("data", slice(None), np.nan),  # in every column: those that are not selected may have it
    "data_inf": _set("data", slice(None), -np.inf),
    "data_complex": _as("data", complex),
}
ENTRIES = ("fit", "fit_transform", "predict", "decision_function", "transform", "inverse_transform", "score")

CHILD = textwrap.dedent("""
    import sys, warnings
    warnings.simplefilter("ignore")
    import numpy as np
    sys.path.insert(0, {root!r})
    from tests.laws import test_validation as validation_laws
    from thresher import FGMClassifier
    y = np.arange(validation_laws.N) % 2
    fitted = FGMClassifier(5).fit(validation_laws.sound(), y)
    for kind in ("csr", "csc"):
        for index in (np.int32, np.int64):
            for change in validation_laws.CHANGES:
                X = validation_laws.broken(kind, index, change)
                for entry in validation_laws.ENTRIES:
                    print("begin", kind, index.__name__, change, entry, flush=True)
                    try:
                        if entry in ("fit", "fit_transform"):
                            getattr(FGMClassifier(5), entry)(X, y)
                        elif entry == "score":
                            fitted.score(X, y)
                        else:
                            getattr(fitted, entry)(X)
                    except (ValueError, TypeError) as error:
                        assert len(str(error)) > 10, error
                        print("refused", flush=True)
                    else:
                        print("ACCEPTED", flush=True)
""")


def odd_input():
    """Name: (X, y, parameters) that no entry may accept, or only ``fit`` refuses when X itself is sound."""
    X, y = sound().toarray(), np.arange(N) % 2
    nan, inf = X.copy(), X.astype(np.float32)
    nan[3], inf[3] = np.nan, np.inf  # in every column: those that are not selected may have it
    return {
        "nan": (nan, y, {}),
        "inf_fortran_float32": (np.asfortranarray(inf), y, {}),
        "empty": (X[:0], y[:0], {}),
        "no_columns": (X[:, :0], y, {}),
        "one_dimension": (X[0], y, {}),
        "three_dimensions": (X[None], y, {}),
        "too_few_columns": (X[:, :-1], y[:-1], {}),
        "words": (np.full((N, P), "gene"), y, {}),
        "only_fit_one_class": (X, np.ones(N), {}),
        "only_fit_wrong_length": (X, y[:-1], {}),
        "only_fit_too_many_features": (X, y, {"n_features_to_select": P + 1}),
        "only_fit_nan_label": (X, np.where(y > 0, np.nan, 0.0), {}),
    }


ODD_CHILD = textwrap.dedent("""
    import sys, warnings
    warnings.simplefilter("ignore")
    sys.path.insert(0, {root!r})
    import numpy as np
    from tests.laws import test_validation as validation_laws
    from thresher import FGMClassifier
    fitted = FGMClassifier(5).fit(validation_laws.sound().toarray(), np.arange(validation_laws.N) % 2)
    for name, (X, y, parameters) in validation_laws.odd_input().items():
        entries = ("fit", "fit_transform") if name.startswith("only_fit") else validation_laws.ENTRIES
        for entry in entries:
            print("begin", name, entry, flush=True)
            try:
                if entry in ("fit", "fit_transform"):
                    getattr(FGMClassifier(**parameters), entry)(X, y)
                elif entry == "score":
                    fitted.score(X, y)
                else:
                    getattr(fitted, entry)(X)
            except (ValueError, TypeError) as error:
                assert len(str(error)) > 10, error
                print("refused", flush=True)
            else:
                print("ACCEPTED", flush=True)
""")


def test_odd_dense_input_is_refused_at_every_entry(request):
    code = ODD_CHILD.format(root=str(request.config.rootpath))
    child = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=300)
    lines = child.stdout.splitlines()
    assert child.returncode == 0, f"died at {lines[-1:]}: {child.stderr[-2000:]}"
    accepted = [begin for begin, end in zip(lines[::2], lines[1::2], strict=True) if end == "ACCEPTED"]
    assert accepted == []
    assert len(lines) == 2 * (8 * len(ENTRIES) + 4 * 2)


def test_dimensions_beyond_all_memory_are_refused():
    S = sound("csc")
    fitted = fgm_by_rule(5).fit(S, np.arange(N) % 2)
    S._shape = (2**62, P)
    for entry in ("predict", "transform", "decision_function"):
        with pytest.raises(InvalidDataError, match="at most 281474976710656 are supported"):
            getattr(fitted, entry)(S)


def test_every_broken_matrix_is_refused_at_every_entry(request):
    code = CHILD.format(root=str(request.config.rootpath))
    child = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=300)
    lines = child.stdout.splitlines()
    assert child.returncode == 0, f"died at {lines[-1:]}: {child.stderr[-2000:]}"
    accepted = [begin for begin, end in zip(lines[::2], lines[1::2], strict=True) if end == "ACCEPTED"]
    assert accepted == []
    assert len(lines) == 2 * 2 * 2 * len(CHANGES) * len(ENTRIES)


@pytest.mark.parametrize("kind", ["csr", "csc"])
def test_unsorted_and_repeated_indices_are_legal(kind):
    """Shuffled rows give the same model; repeated entries count as their sum, as scipy reads them."""
    S = sound(kind)
    rng = np.random.default_rng(1)
    order = np.concatenate([rng.permutation(np.arange(a, b)) for a, b in zip(S.indptr[:-1], S.indptr[1:], strict=True)])
    shuffled = type(S)((S.data[order], S.indices[order], S.indptr), shape=S.shape)
    halves = type(S)((np.repeat(S.data / 2, 2), np.repeat(S.indices, 2), 2 * S.indptr), shape=S.shape)
    y = np.arange(N) % 2
    expected = fgm_by_rule(6, scale="max").fit(S, y)
    for other in (shuffled, halves):
        before = other.indices.copy()
        found = fgm_by_rule(6, scale="max").fit(other, y)
        assert np.array_equal(found.selection_.features, expected.selection_.features)
        np.testing.assert_allclose(found.selection_.weights, expected.selection_.weights, rtol=1e-9)
        np.testing.assert_allclose(found.decision_function(other), expected.decision_function(S), rtol=1e-9)
        assert np.array_equal(before, other.indices), "the user's matrix was changed"


def test_a_sound_matrix_is_not_copied():
    S = sound()
    assert checked_sparse(S) is S


@pytest.mark.parametrize("count", [1, 2, 7])
def test_threads_find_the_same_faults(count, monkeypatch):
    """The first of two indices out of range, however the rows are shared; a single unsorted row at either end."""
    monkeypatch.setattr("thresher.data.workers.SMALL", 0)
    monkeypatch.setattr("thresher.data.input.validation.LOOKED_AT", 16)
    with Workers(count) as workers:
        spoilt = sound().copy()
        first, last = spoilt.nnz // 3, spoilt.nnz - 1
        spoilt.indices[[first, last]] = P
        with pytest.raises(InvalidDataError, match=rf"X.indices\[{first}\] is {P}"):
            checked_sparse(spoilt, workers)
        for row in (0, N - 1):
            unsorted = sound().copy()
            entries = slice(unsorted.indptr[row], unsorted.indptr[row + 1])
            unsorted.indices[entries] = unsorted.indices[entries][::-1].copy()
            assert np.all(np.diff(unsorted.indices[entries]) < 0)
            assert unsorted[[row]].nnz > 1
            found = checked_sparse(unsorted, workers)
            assert np.all(np.diff(found.indices[entries]) > 0)
        assert checked_sparse(sound(), workers).nnz == sound().nnz


@pytest.mark.parametrize("at_a_time", [1, 3, 1000])
def test_rows_that_are_not_sorted_are_found_wherever_they_are(at_a_time, monkeypatch):
    """Against a look at each row: empty rows, rows that begin where a piece ends, equal and falling indices."""
    monkeypatch.setattr("thresher.data.input.validation.LOOKED_AT", at_a_time)
    rng = np.random.default_rng(3)
    for _ in range(200):
        lengths = rng.integers(0, 4, 6)
        indptr = np.concatenate([[0], np.cumsum(lengths)]).astype(rng.choice([np.int32, np.int64]))
        indices = rng.integers(0, 9, indptr[-1]).astype(indptr.dtype)
        X = sparse.csr_array((np.ones(indices.size), indices, indptr), shape=(6, 9))
        rows = [indices[a:b] for a, b in itertools.pairwise(indptr)]
        canonical = all(np.all(np.diff(row) > 0) for row in rows)
        assert (checked_sparse(X) is X) == canonical


@pytest.mark.parametrize("format", ["coo", "bsr", "lil", "dok", "dia"])
def test_other_formats_are_converted(format):
    S = sound()
    y = np.arange(N) % 2
    found = fgm_by_rule(6).fit(S.asformat(format), y)
    assert np.array_equal(found.selection_.features, fgm_by_rule(6).fit(S, y).selection_.features)


def test_broken_triplets_and_blocks_are_refused():
    coo = sound().tocoo()
    coo.col = np.where(np.arange(coo.nnz) == 3, P, coo.col)
    with pytest.raises(InvalidDataError, match="between 0 and 39, got values from 0 to 40"):
        fgm_by_rule().fit(coo, np.arange(N) % 2)
    bsr = sound().tobsr((2, 2))
    bsr.indices = np.where(np.arange(bsr.indices.size) == 3, P, bsr.indices)
    with pytest.raises(InvalidDataError, match="block column"):
        fgm_by_rule().fit(bsr, np.arange(N) % 2)


@pytest.mark.parametrize("bad", [np.nan, np.inf])
@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_dense_nan_and_inf_name_the_column(bad, order, dtype):
    X = np.array(sound().toarray(), order=order, dtype=dtype)
    X[3, 17] = bad
    with pytest.raises(InvalidDataError, match="first in column 17; 1 of 40 columns"):
        fgm_by_rule().fit(X, np.arange(N) % 2)


def test_messages_say_what_and_where():
    with pytest.raises(InvalidDataError, match=r"X.indices\[7\] is 40, but column indices must be between 0 and 39"):
        checked_sparse(broken("csr", np.int32, "index_equals_width"))
    with pytest.raises(InvalidDataError, match="must not decrease, but does so at position 5"):
        checked_sparse(broken("csr", np.int32, "indptr_decreases"))
    with pytest.raises(InvalidDataTypeError, match=r"must be a 1-D array of int32 or int64 .*, got float64"):
        checked_sparse(broken("csr", np.int32, "indices_float"))


def test_values_near_the_limits_of_float64_do_not_raise():
    X = sound().toarray()
    X[:, 0] *= 1e150
    X[:, 1] *= 1e-300
    clf = fgm_by_rule(5, scale="max").fit(X, np.arange(N) % 2)
    assert np.all(np.isfinite(clf.selection_.weights))
    for scale in ("std", "unit", None):
        with pytest.raises(InvalidDataError, match=r"column 0 of X contains a value of magnitude .* use scale='max'"):
            fgm_by_rule(5, scale=scale).fit(X, np.arange(N) % 2)
