"""Figure 15: groups of ten columns of Gaussian noise, a hundred of which made the labels.

Every contestant selects about as many groups as are true, from a matrix in a file that is mapped into memory. The
group lasso is solved for penalties from large to small until it has enough groups; the seconds are those of the last
solve (of adelie, which has warm starts along a path, of the path). adelie runs in an environment of its own:
ADELIE_PYTHON names its Python.
"""

import json
import os
import subprocess
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

import numpy as np
from sklearn.linear_model import LogisticRegression

from benchmarks import alone
from benchmarks.book import table
from benchmarks.children import in_child
from benchmarks.rule import fgm_by_rule
from benchmarks.timing import peak_growth

LIMIT = 150  # seconds for one contestant, with the search for its penalty
STEPS = 16  # penalties that are tried to find the one with enough groups
ADELIE = Path(__file__).with_name("adelie_job.py")


class Sizes(NamedTuple):
    """A matrix of ``rows`` x ``groups`` times ``size`` columns; ``true`` groups make the labels."""

    rows: int
    groups: int
    size: int
    true: int
    tests: int


FULL, QUARTER = Sizes(4096, 40_000, 10, 100, 2000), Sizes(4096, 10_000, 10, 100, 2000)
QUICK = Sizes(512, 400, 5, 10, 500)


class Found(NamedTuple):
    """Groups in the model, best first, with weights of all columns and the seconds that it took."""

    groups: np.ndarray
    weights: np.ndarray
    intercept: float
    seconds: float


class Data(NamedTuple):
    """X in Fortran order, float32; labels; the group of each column; true groups; and data to test on."""

    path: str
    X: np.ndarray
    y: np.ndarray
    of: np.ndarray
    true: np.ndarray
    test_X: np.ndarray
    test_y: np.ndarray


def made(sizes, folder, seed=0):
    """The Data in a file, as the paper makes it: y = sign(Xw), all weights of the true groups standard normal."""
    rng = np.random.default_rng(seed)
    p = sizes.groups * sizes.size
    path = str(Path(folder) / "X.npy")
    X = np.lib.format.open_memmap(path, "w+", np.float32, (sizes.rows, p), fortran_order=True)
    for lo in range(0, p, 4096):
        X[:, lo : lo + 4096] = rng.standard_normal((min(4096, p - lo), sizes.rows), dtype=np.float32).T
    X.flush()
    true = np.sort(rng.permutation(sizes.groups)[: sizes.true])
    of = np.repeat(np.arange(sizes.groups), sizes.size)
    columns = np.flatnonzero(np.isin(of, true))
    w = rng.standard_normal(columns.size)
    test_X = np.lib.format.open_memmap(f"{path}.test", "w+", np.float32, (sizes.tests, p), fortran_order=True)
    for lo in range(0, p, 4096):
        test_X[:, lo : lo + 4096] = rng.standard_normal((min(4096, p - lo), sizes.tests), dtype=np.float32).T
    X = np.load(path, mmap_mode="r")
    return Data(path, X, np.sign(X[:, columns] @ w), of, true, test_X, np.sign(test_X[:, columns] @ w))


def thresher_fit(data, number, **options):
    """FGM by rule. A small fit before it loads the compiled loops: compiling is counted for no contestant."""
    fgm_by_rule(2, groups=data.of[:200], **options).fit(data.X[:200, :200], data.y[:200])
    begun = time.perf_counter()
    clf = fgm_by_rule(number, groups=data.of, **options).fit(data.X, data.y)
    seconds, weights = time.perf_counter() - begun, np.zeros(data.of.size)
    weights[clf.selection_.features] = clf.selection_.weights
    return Found(by_length(weights, data.of), weights, float(clf.selection_.intercept), seconds)


def skglm_fit(data, number):
    """Group lasso by block coordinate descent on working sets, logistic loss."""
    from skglm.datafits import LogisticGroup
    from skglm.penalties import WeightedGroupL2
    from skglm.solvers import GroupBCD

    X = np.asfortranarray(data.X, dtype=np.float64)  # its datafits for groups know no other dtype
    size, p = int((data.of == 0).sum()), data.of.size
    pointers = np.arange(0, p + 1, size, dtype=np.int32)
    indices, count = np.arange(p, dtype=np.int32), p // size
    most = largest_penalty(data, size)

    def solved(penalty, last):
        solver = GroupBCD(tol=1e-4 * most, fit_intercept=True, max_iter=100)
        datafit = LogisticGroup(pointers, indices)
        weights = WeightedGroupL2(penalty, np.ones(count), pointers, indices)
        begun = time.perf_counter()
        w = solver.solve(X, data.y, datafit, weights)[0]
        return w[:p], float(w[p]), time.perf_counter() - begun

    return down_the_path(data, number, most, solved)


def fista_fit(data, number):
    """Group lasso by accelerated proximal gradient with restarts, logistic loss, plain numpy."""
    size = int((data.of == 0).sum())
    most, n = largest_penalty(data, size), data.y.size
    steepness = 0.25 * (1.0 + np.sqrt(data.of.size / n)) ** 2  # of a Gaussian matrix, over n

    def solved(penalty, last):
        begun = time.perf_counter()
        w, b = (np.zeros(data.of.size, dtype=np.float32), 0.0) if last is None else last
        v, t, last = w, 1.0, np.inf
        for _ in range(200):
            margins = data.y * (data.X @ v + b)
            pull = data.y / (1.0 + np.exp(margins)) / n
            u = v + (data.X.T @ pull.astype(np.float32)) / steepness
            b += pull.sum() / 0.25
            length = np.sqrt((u.reshape(-1, size) ** 2).sum(axis=1))
            shrunk = np.maximum(0.0, 1.0 - penalty / steepness / np.maximum(length, 1e-30)).astype(np.float32)
            new = u * np.repeat(shrunk, size)
            change = float(np.abs(new - w).max())
            t, before = 0.5 * (1.0 + np.sqrt(1.0 + 4.0 * t * t)), t
            if (v - new) @ (new - w) > 0.0:
                t = before = 1.0
            v, w = new + np.float32((before - 1.0) / t) * (new - w), new
            if change <= 1e-4 * max(1e-30, float(np.abs(w).max())) and change <= last:
                break
            last = change
        return w, b, time.perf_counter() - begun

    return down_the_path(data, number, most, solved)


def adelie_fit(data, number):
    """Group lasso along a path, in another environment; None where there is none."""
    python = os.environ.get("ADELIE_PYTHON")
    if not python:
        raise RuntimeError("ADELIE_PYTHON is not set")
    labels = Path(data.path).with_name("y.npy")
    np.save(labels, data.y)
    job = [python, str(ADELIE), data.path, str(labels), str(int((data.of == 0).sum())), str(number)]
    done = subprocess.run(job, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(done.stderr.strip().splitlines()[-1])
    told = json.loads(done.stdout.splitlines()[-1])
    weights = np.zeros(data.of.size)
    weights[told["columns"]] = told["weights"]
    return Found(by_length(weights, data.of), weights, told["intercept"], told["seconds"])


def largest_penalty(data, size):
    """The penalty from which on all weights are zero."""
    pull = (data.y - data.y.mean()) * 0.5 / data.y.size
    c = data.X.T @ pull.astype(np.float32)
    return float(np.sqrt((c.reshape(-1, size) ** 2).sum(axis=1)).max())


def down_the_path(data, number, most, solved):
    """The first of a few penalties with as many groups as wanted."""
    last = None  # (weights, intercept) of the penalty before, for solvers that start there
    for penalty in most * np.geomspace(0.95, 0.1, STEPS):
        w, b, seconds = solved(penalty, last)
        last = w, b
        order = by_length(np.asarray(w, dtype=np.float64), data.of)
        if order.size >= number:
            break
    return Found(order, np.asarray(w, dtype=np.float64), b, seconds)


def by_length(weights, of):
    """Groups with a weight, the longest first."""
    length = np.sqrt(np.bincount(of, weights=weights**2))
    return np.argsort(-length, kind="stable")[: np.count_nonzero(length)]


def judged(name, data, number, fit):
    """A row of the table."""

    def measured():
        answer = []
        grew = peak_growth(lambda: answer.append(fit(data, number)), pause=0.02)
        found = answer[0]
        best = found.groups[:number]
        columns = np.flatnonzero(np.isin(data.of, best))
        own = np.mean(np.sign(data.test_X @ found.weights.astype(np.float32) + found.intercept) == data.test_y)
        again = LogisticRegression(C=1.0, max_iter=500).fit(data.X[:, columns], data.y)
        same = again.score(data.test_X[:, columns], data.test_y)
        return found.groups.size, int(np.isin(best, data.true).sum()), own, same, found.seconds, grew

    answer, why = in_child(measured, LIMIT)
    if answer is None:
        return [name, why, "", "", "", "", ""], None
    groups, true, own, same, seconds, grew = answer
    row = [name, groups, f"{true} of {number}", f"{own:.4f}", f"{same:.4f}", f"{seconds:.1f}", f"{grew / 2**20:,.0f}"]
    return row, seconds


CONTESTANTS = {
    "FGM (default)": thresher_fit,
    "FGM, a fifth a turn": lambda data, number: thresher_fit(data, number, features_per_turn=number // 5),
    "FGM, a third a turn": lambda data, number: thresher_fit(data, number, features_per_turn=-(-number // 3)),
    "FGM, with elimination": lambda data, number: thresher_fit(data, number, n_candidates=1.2),
    "FGM, logistic": lambda data, number: thresher_fit(data, number, loss="logistic"),
    "group lasso, skglm": skglm_fit,
    "group lasso, adelie": adelie_fit,
    "group lasso, FISTA": fista_fit,
}


def report(quick=False):
    """Tables of figure 15 at as many groups as are true, and of a quarter of it."""
    return "\n\n".join(measured(sizes) for sizes in ((QUICK,) if quick else (FULL, QUARTER)))


def measured(sizes):
    """The table of one size."""
    with tempfile.TemporaryDirectory(dir=os.environ.get("THRESHER_BENCH_FOLDER")) as folder:
        data = made(sizes, folder)
        rows = []
        for name, fit in CONTESTANTS.items():
            if sizes is QUICK and name == "group lasso, adelie" and not os.environ.get("ADELIE_PYTHON"):
                continue
            rows.append(judged(name, data, sizes.true, fit))
            print(rows[-1][0], flush=True)
    first = rows[0][1]
    lines = [[*row, "" if seconds is None or not first else f"{seconds / first:.1f}"] for row, seconds in rows]
    head = ("", "groups in the model", "true among the first", "accuracy", "accuracy of l2-LR on them", "s", "MiB")
    p = sizes.groups * sizes.size
    return (
        f"### Groups: {sizes.rows} x {p:,} (float32), {sizes.groups:,} groups of {sizes.size}, {sizes.true} true\n\n"
        f"{table((*head, 'time / ours'), lines)}\n\nAs figure 15 of the paper at {sizes.true} groups; accuracy on "
        f"{sizes.tests} new samples. MiB: memory beside X, which is a file mapped into memory (of adelie, in a process "
        "of its own, not counted). Group lasso: the first of a few penalties with as many groups; seconds of that "
        "solve alone, of adelie of its path up to there."
    )


if __name__ == "__main__":
    alone.run(report, __doc__)
