"""Many fits at once: no abort, no hang, the same bits as one after the other."""

import multiprocessing
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from threadpoolctl import threadpool_info

from tests.rule import fgm_by_rule
from thresher import AlignmentPathClassifier, KernelPath, SparseSVC, SparseSVCPath, StreamClassifier
from thresher.data import workers
from thresher.datasets import make_wide

DATA = make_wide(400, 800, n_relevant=10, random_state=0)
SMALL = make_wide(200, 300, n_relevant=10, random_state=1)
FEW = np.where(np.abs(SMALL.X) > 0.8, SMALL.X, 0.0)  # two entries of five
STORAGES = {
    "C": np.ascontiguousarray(FEW),
    "F": np.asfortranarray(FEW),
    "csr": sparse.csr_array(FEW),
    "csc": sparse.csc_array(FEW),
}
FITS = {
    "FGMClassifier": fgm_by_rule(10, n_candidates=2.0),
    "SparseSVC": SparseSVC(1e-2, 0.05, n_jobs=2, scale=None, fit_intercept=False),
    "SparseSVCPath": SparseSVCPath(
        2, 2, beta_ratio=0.3, alpha_ratio=0.1, cv=2, n_jobs=2, scale=None, fit_intercept=False
    ),
    "StreamClassifier": StreamClassifier(10, random_state=0),
    "AlignmentPathClassifier": AlignmentPathClassifier(path=KernelPath(step=0.5), cv=2, C=1.0, n_jobs=2),
}


@pytest.fixture
def threads_always(monkeypatch):
    """Threads inside each fit are used however small the work."""
    monkeypatch.setattr(workers, "SMALL", 0)


def model_of_a_fit(name, storage="C", **parameters):
    """What a fit finds: features, weights, intercept and, of a grid, the weights of all its points."""
    clf = clone(FITS[name]).set_params(**parameters).fit(STORAGES[storage], SMALL.y)
    found = [clf.selection_.features, clf.selection_.weights]
    if isinstance(clf, AlignmentPathClassifier):
        return [*found, clf.svm_.dual, clf.svm_.intercept, clf.path_.values, clf.path_.alignments]
    found.append(clf.intercept_)
    if isinstance(clf, SparseSVCPath):
        found += [clf.path_.ids, clf.path_.weights, clf.path_.gap, clf.scores_]
    return found


def assert_same_bits(found, expected):
    assert len(found) == len(expected)
    for mine, theirs in zip(found, expected, strict=True):
        assert mine.dtype == theirs.dtype
        assert np.array_equal(mine, theirs)


@pytest.mark.parametrize("storage", ["C", "csr"])
@pytest.mark.parametrize("name", FITS)
def test_fits_in_many_threads_equal_one(name, storage, threads_always):
    expected, blas = model_of_a_fit(name, storage), [lib["num_threads"] for lib in threadpool_info()]
    assert expected[0].size >= 5
    together = threading.Barrier(8, timeout=120)

    def fit(_):
        together.wait()
        return model_of_a_fit(name, storage)

    with ThreadPoolExecutor(8) as pool:
        for found in pool.map(fit, range(8), timeout=120):
            assert_same_bits(found, expected)
    assert [lib["num_threads"] for lib in threadpool_info()] == blas, "BLAS keeps the number of threads it had"


def test_different_estimators_at_once_do_not_meet(threads_always):
    """Estimators of all kinds share threads, the limit on BLAS and compiled loops, and nothing else."""
    names = list(FITS) * 2
    expected = {name: model_of_a_fit(name, "csr") for name in FITS}
    with ThreadPoolExecutor(len(names)) as pool:
        found = list(pool.map(lambda name: model_of_a_fit(name, "csr"), names, timeout=120))
    for name, model in zip(names, found, strict=True):
        assert_same_bits(model, expected[name])


@pytest.mark.parametrize("storage", STORAGES)
@pytest.mark.parametrize("name", [name for name in FITS if "n_jobs" in FITS[name].get_params()])
def test_any_number_of_threads_gives_the_same_bits(name, storage, threads_always):
    expected = model_of_a_fit(name, storage, n_jobs=1)
    for count in (2, 4):
        assert_same_bits(model_of_a_fit(name, storage, n_jobs=count), expected)


@pytest.mark.parametrize("storage", STORAGES)
@pytest.mark.parametrize("name", FITS)
def test_read_only_maps_of_files_give_the_same_bits(name, storage, tmp_path, monkeypatch):
    expected, X = model_of_a_fit(name, storage), STORAGES[storage]
    parts = (X.data, X.indices, X.indptr) if sparse.issparse(X) else (X,)
    for number, part in enumerate(parts):
        np.save(tmp_path / f"{number}.npy", part)
    mapped = [np.load(tmp_path / f"{number}.npy", mmap_mode="r") for number in range(len(parts))]
    assert not any(part.flags.writeable for part in mapped)
    stored = type(X)(tuple(mapped), shape=X.shape) if sparse.issparse(X) else mapped[0]
    assert not (stored.data if sparse.issparse(X) else stored).flags.writeable
    monkeypatch.setitem(STORAGES, storage, stored)
    assert_same_bits(model_of_a_fit(name, storage), expected)


def test_blas_stays_at_one_thread_until_the_last_fit_ends():
    """The first of two fits ends first: what the other computes afterwards must not round differently."""

    def blas():
        return [lib["num_threads"] for lib in threadpool_info() if lib["user_api"] == "blas"]

    before, inside, go = blas(), threading.Event(), threading.Event()

    def first():
        with workers.ONE_BLAS_THREAD:
            inside.set()
            go.wait(60)

    thread = threading.Thread(target=first)
    thread.start()
    inside.wait(60)
    with workers.ONE_BLAS_THREAD:
        go.set()
        thread.join(60)
        assert set(blas()) == {1}
    assert blas() == before


@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
@pytest.mark.parametrize("name", FITS)
def test_fork_after_fit(name, threads_always):
    expected = model_of_a_fit(name)
    with multiprocessing.get_context("fork").Pool(2) as pool:
        for found in pool.map_async(model_of_a_fit, [name] * 2).get(120):
            assert_same_bits(found, expected)


def most_at_once(counts):
    """A wrapper of functions that notes in ``counts`` how many threads run some, and how many did at most."""
    lock, inside = threading.Lock(), threading.local()

    def wrapped(function):
        def noted(*task):
            if getattr(inside, "some", False):  # a task of a task
                return function(*task)
            inside.some = True
            with lock:
                counts["now"] += 1
                counts["most"] = max(counts["most"], counts["now"])
            try:
                time.sleep(0.001)  # long enough for all threads to begin
                return function(*task)
            finally:
                inside.some = False
                with lock:
                    counts["now"] -= 1

        return noted

    return wrapped


def test_no_more_threads_than_asked(threads_always, monkeypatch):
    counts = {"now": 0, "most": 0}
    original, noted = workers.Workers.map, most_at_once(counts)

    def watched(self, function, tasks, *, entries):
        return original(self, noted(function), tasks, entries=entries)

    monkeypatch.setattr(workers.Workers, "map", watched)
    fgm_by_rule(10, elimination=False, n_jobs=2).fit(DATA.X, DATA.y)
    assert counts["most"] == 2


@pytest.mark.parametrize("method", ["map", "stream"])
@pytest.mark.parametrize(("entries", "threads"), [(0, 1), (3999, 1), (4000, 2), (9500, 3), (1e9, 4), (np.inf, 4)])
def test_work_decides_how_many_threads_pay(method, entries, threads, monkeypatch):
    monkeypatch.setattr(workers, "SMALL", 1000)
    counts, tasks = {"now": 0, "most": 0}, [(i,) for i in range(12)]
    with workers.Workers(4) as four:
        assert four.share(entries) == threads
        found = list(getattr(four, method)(most_at_once(counts)(lambda i: i * i), tasks, entries=entries))
    assert found == [i * i for i in range(12)]
    assert counts["most"] == threads


@pytest.mark.parametrize("here", [False, True])
def test_after_an_error_nothing_new_begins(here, monkeypatch):
    """Whether the calling thread fails or another one."""
    monkeypatch.setattr(workers, "SMALL", 0)
    begun, caller, both = [], threading.current_thread(), threading.Barrier(2, timeout=60)

    def fails_once(i):
        begun.append(i)
        if len(begun) <= 2:
            both.wait()
        if (threading.current_thread() is caller) == here:
            raise ZeroDivisionError(i)
        time.sleep(0.05)  # the other one has failed when this one is done

    with workers.Workers(2) as two, pytest.raises(ZeroDivisionError):
        two.map(fails_once, [(i,) for i in range(50)], entries=100)
    assert len(begun) == 2


def test_cores_granted(monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    assert workers.count_workers(None) == 1
    monkeypatch.setenv("OMP_NUM_THREADS", "junk")
    assert workers.count_workers(None) >= 1
    assert workers.count_workers(None, pays=False) == 1
    assert workers.count_workers(3, pays=False) == 3
    assert workers.count_workers(3) == 3
    assert workers.count_workers(-1) == workers.granted_cores()
