"""Many fits at once: no abort, no hang, the same bits as one after the other."""

import multiprocessing
import threading

import numpy as np
import pytest
from threadpoolctl import threadpool_info

from thresher import FGMClassifier
from thresher.data import workers
from thresher.datasets import make_wide

DATA = make_wide(400, 800, n_relevant=10, random_state=0)


def weights_of_a_fit(_=None):
    return FGMClassifier(10, overshoot=2.0).fit(DATA.X, DATA.y).selection_.weights


def test_fits_in_many_threads_equal_one(monkeypatch):
    monkeypatch.setattr(workers, "SMALL", 0)  # use threads inside each fit too
    expected, blas = weights_of_a_fit(), [lib["num_threads"] for lib in threadpool_info()]
    found = [None] * 8
    threads = [threading.Thread(target=lambda i=i: found.__setitem__(i, weights_of_a_fit())) for i in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)
    assert all(np.array_equal(weights, expected) for weights in found)
    assert [lib["num_threads"] for lib in threadpool_info()] == blas, "BLAS keeps the number of threads it had"


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
def test_fork_after_fit(monkeypatch):
    monkeypatch.setattr(workers, "SMALL", 0)
    expected = weights_of_a_fit()
    with multiprocessing.get_context("fork").Pool(2) as pool:
        for weights in pool.map_async(weights_of_a_fit, range(2)).get(120):
            assert np.array_equal(weights, expected)


def test_no_more_threads_than_asked(monkeypatch):
    monkeypatch.setattr(workers, "SMALL", 0)
    seen = set()
    original = workers.Workers.map

    def watched(self, function, tasks, *, entries):
        def noted(*task):
            seen.add(threading.current_thread().name)
            return function(*task)

        return original(self, noted, tasks, entries=entries)

    monkeypatch.setattr(workers.Workers, "map", watched)
    FGMClassifier(10, n_jobs=2).fit(DATA.X, DATA.y)
    assert len({name for name in seen if name.startswith("thresher")}) == 2


def test_cores_granted(monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    assert workers.count_workers(None) == 1
    monkeypatch.setenv("OMP_NUM_THREADS", "junk")
    assert workers.count_workers(None) >= 1
    assert workers.count_workers(None, pays=False) == 1
    assert workers.count_workers(3, pays=False) == 3
    assert workers.count_workers(3) == 3
    assert workers.count_workers(-1) == workers.granted_cores()
