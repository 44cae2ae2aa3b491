"""Threads that run compiled loops over pieces of data."""

import collections
import math
import numbers
import os
import signal
import threading
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any, Protocol, Self

import joblib
from threadpoolctl import ThreadpoolController

SMALL = 1 << 20  # products (entries of dense columns times vectors) for which waking another thread pays off
WINDOW = 3  # pieces per thread that are running or queued


def granted_cores() -> int:
    """Number of cores this process may use: those of the machine, limited by cgroup, affinity and OMP_NUM_THREADS.

    joblib's worker processes get their share through OMP_NUM_THREADS, so nested parallelism does not oversubscribe.
    """
    cores = joblib.cpu_count()
    limit = os.environ.get("OMP_NUM_THREADS", "").split(",")[0].strip()
    return max(1, min(cores, int(limit))) if limit.isdigit() and int(limit) > 0 else cores


def count_workers(n_jobs: int | None, *, pays: bool = True) -> int:
    """Number of threads for scikit-learn's ``n_jobs``, the same rule in every estimator.

    None means as many as are useful: all available cores, of which ``Workers`` uses as many as each task pays for, or
    one thread if the caller knows that more do not pay off (``pays=False``). -1 means all available cores, -2 all but
    one.
    """
    if n_jobs is None:
        return granted_cores() if pays else 1
    if isinstance(n_jobs, bool) or not isinstance(n_jobs, numbers.Integral) or n_jobs == 0:
        raise ValueError(f"n_jobs must be None or a non-zero integer, got {n_jobs!r}")
    return int(n_jobs) if n_jobs > 0 else max(1, granted_cores() + 1 + int(n_jobs))


class _OneBlasThread:
    """Limits BLAS to one thread inside the context; the previous limit is restored when the last context exits.

    The matrices that solvers factor are small. Several BLAS threads gain nothing on them, wait for each other on a
    busy machine, and round differently from one. Most builds of BLAS have one limit for the process, which only the
    thread that set it may lift: so a dedicated thread sets it, waits and lifts it. OpenMP builds have a limit for each
    thread: so every context sets that, too.
    """

    def __init__(self) -> None:
        self._per_thread = threading.local()
        self._reset()
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=self._reset)  # the child does not have the threads of the parent

    def _reset(self) -> None:
        self._lock, self._inside = threading.Lock(), 0
        self._keeper: threading.Thread | None = None
        self._leave = threading.Event()

    def __enter__(self) -> None:
        with self._lock:
            if self._inside == 0:
                held, self._leave = threading.Event(), threading.Event()
                self._keeper = threading.Thread(target=_hold, args=(held, self._leave), daemon=True)
                self._keeper.start()
                held.wait()
            self._inside += 1
        limit = ThreadpoolController().limit(limits=1, user_api="blas")
        limit.__enter__()
        self._per_thread.limits = [*getattr(self._per_thread, "limits", ()), limit]

    def __exit__(self, *error: Any) -> None:
        self._per_thread.limits.pop().__exit__(*error)
        with self._lock:
            self._inside -= 1
            if self._inside == 0:
                self._leave.set()
                if self._keeper is not None:
                    self._keeper.join()


def _hold(held: threading.Event, leave: threading.Event) -> None:
    """Limit BLAS, set ``held``, and lift the limit when ``leave`` is set."""
    with ThreadpoolController().limit(limits=1, user_api="blas"):
        held.set()
        leave.wait()


ONE_BLAS_THREAD = _OneBlasThread()


class Runner(Protocol):
    """What runs the pieces of a scan: threads, processes or other machines.

    Pickled, as a part of what is shipped, it becomes one that runs pieces where it arrives.
    """

    @property
    def parallelism(self) -> int:
        """How many pieces run at once, at most."""

    def ship(self, source: Any) -> Callable[[], Any] | None:
        """How workers in other processes get ``source``, which pieces refer to: a small function that can be pickled.

        Each of them calls it once. What was shipped can be removed when the source goes. None: there are no such
        workers.
        """

    def stream(
        self, function: Callable[..., Any], tasks: Iterable[tuple], *, entries: float
    ) -> Generator[Any, None, None]:
        """Yield function(*task) for each of ``tasks``, in order, with a window of a few at a time.

        ``entries`` is the number of products that all of them form: values read, times vectors.
        """


class Workers:
    """At most ``parallelism`` threads, which exist from the first large task to ``close()``.

    How many of them a task gets depends on its work alone, so that a small task takes no longer on a large machine.
    """

    def __init__(self, parallelism: int = 1):
        self.parallelism = parallelism
        self._pool: ThreadPoolExecutor | None = None
        self._lock = threading.Lock()

    def ship(self, source: Any) -> None:
        """See Runner: threads have what this process has."""
        return None

    def share(self, entries: float) -> int:
        """Number of threads that ``entries`` (times vectors) pay for, at least one.

        They are woken one after the other, so t threads take entries / t + t * SMALL, least at the root of the ratio.
        """
        return max(1, int(min(self.parallelism, math.sqrt(entries / max(1, SMALL)))))

    def map(self, function: Callable[..., Any], tasks: Sequence[tuple], *, entries: float) -> list[Any]:
        """[function(*task) for task in tasks], on as many threads as ``entries`` pay for, this one among them."""
        threads = min(len(tasks), self.share(entries))
        if threads < 2:
            return [function(*task) for task in tasks]
        results: list[Any] = [None] * len(tasks)
        left = collections.deque(range(len(tasks)))

        def work() -> None:
            """Run tasks until none is left; on an error or Ctrl-C nothing that has not begun is run."""
            while True:
                try:
                    index = left.popleft()
                except IndexError:
                    return
                try:
                    results[index] = function(*tasks[index])
                except BaseException:
                    left.clear()
                    raise

        futures = [self._threads().submit(work) for _ in range(threads - 1)]
        try:
            work()
            for future in futures:
                if not future.cancel():  # not begun: nothing is left to do, and inside a task it might never begin
                    future.result()
        finally:
            left.clear()
        return results

    def _threads(self) -> ThreadPoolExecutor:
        with self._lock:  # two fits may share a design, and so its threads
            if self._pool is None:
                self._pool = ThreadPoolExecutor(self.parallelism, thread_name_prefix="thresher")
            return self._pool

    def stream(
        self, function: Callable[..., Any], tasks: Iterable[tuple], *, entries: float
    ) -> Generator[Any, None, None]:
        """Yield function(*task) for each of ``tasks``, in order; on as many threads as ``entries`` pay for.

        At most WINDOW tasks per thread are taken from ``tasks`` ahead of what has been yielded. If not all threads pay
        off, only as many tasks as should run at once are taken.
        """
        threads = self.share(entries)
        if threads < 2:
            for task in tasks:
                yield function(*task)
            return
        window = WINDOW * threads if threads == self.parallelism else threads
        futures: collections.deque[Future[Any]] = collections.deque()
        try:
            for task in tasks:
                futures.append(self._threads().submit(function, *task))
                if len(futures) == window:
                    yield futures.popleft().result()
            while futures:
                yield futures.popleft().result()
        finally:  # after an error or Ctrl-C nothing that has not begun is run
            for future in futures:
                future.cancel()

    def cut(
        self, length: int, *, threads: int, per_worker: int = 1, grain: int = 1, at_least: int = 1
    ) -> list[tuple[int, int]]:
        """[0, length) in at most ``threads * per_worker`` ranges of about equal length, multiples of ``grain``.

        There are ``at_least`` ranges if that is more; the grain then gets finer.
        """
        grain = min(grain, max(1, length // at_least))
        pieces = max(1, min(max(threads * per_worker, at_least), -(-length // grain)))
        step = max(grain, -(-length // pieces // grain) * grain)
        return [(lo, min(lo + step, length)) for lo in range(0, length, step)]

    def close(self) -> None:
        """Stop the threads; the object can be used again."""
        with self._lock:
            pool, self._pool = self._pool, None
        if pool is not None:
            pool.shutdown(wait=True, cancel_futures=True)

    def __reduce__(self) -> tuple:
        """A copy elsewhere starts threads of its own."""
        return Workers, (self.parallelism,)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()


SERIAL = Workers(1)


def threads_of(runner: Runner) -> Workers:
    """The threads of this process among what runs the pieces of a scan: none besides this one, if it has no threads."""
    return runner if isinstance(runner, Workers) else SERIAL


@contextmanager
def unbroken() -> Iterator[None]:
    """Defer Ctrl-C and SIGTERM until the (short) block is done, so that related state is updated as a whole."""
    received: list[int] = []
    before: dict[signal.Signals, Any] = {}
    if threading.current_thread() is threading.main_thread():
        for kind in (signal.SIGINT, signal.SIGTERM):
            if signal.getsignal(kind) is not None:  # None: not installed from Python, cannot be restored
                before[kind] = signal.signal(kind, lambda number, _: received.append(number))
    try:
        yield
    finally:
        for kind, handler in before.items():
            signal.signal(kind, handler)
        if received:
            signal.raise_signal(received[0])
