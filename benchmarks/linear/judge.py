"""The judge of the contest on real data: chooses C inside the training part, fits under a limit, scores the picks."""

import math
import time
from functools import partial
from typing import NamedTuple

import numpy as np
from sklearn.svm import LinearSVC

from benchmarks.children import in_child
from benchmarks.linear.contestants import ALL
from benchmarks.linear.cuts import Cut, columns, parted
from benchmarks.timing import peak_growth

HELD_OUT = 0.25  # of the training rows, to choose C by
LOWEST, HIGHEST = -20.0, 12.0  # log2 C where a search begins
TRIES = 16  # fits for each k at most, in a search
TRY = 60.0  # seconds of one of them; those that take longer have far too many columns
NEAR = 1.02  # times k columns end a search
AGAIN = 1.0  # seconds up to which a fit is timed a second time, when its pages have been touched


class Part(NamedTuple):
    """Training and test rows, and the training rows parted once more."""

    cut: Cut
    inner: Cut


class Fit(NamedTuple):
    """What a child tells: {k: Model}, seconds and bytes; or why there is nothing."""

    models: dict
    seconds: float = math.nan  # of the processor
    memory: int = 0
    wall: float = math.nan
    verdict: str = ""


class Result(NamedTuple):
    """One contestant at one k on one split."""

    k: int
    C: float | None = None
    features: list = ()
    own: float | None = None  # accuracy of its own model, in per cent
    same: float | None = None  # accuracy of one and the same SVM on its columns
    seconds: float | None = None  # of the processor: other jobs on the machine count for little
    memory: int | None = None
    wall: float | None = None  # seconds
    verdict: str = ""


def parts(X, y, splits, test=1 / 3):
    """The first Parts of a problem: always the same ones."""
    for cut in parted(X, y, 3, test, most=splits):
        yield Part(cut, next(parted(cut.X, cut.y, 1, HELD_OUT)))


def judged(cut, ids):
    """Accuracy in per cent on the test rows of one and the same SVM; of the larger class where nothing was picked."""
    if not len(ids):
        common = 1.0 if np.mean(cut.y) > 0.0 else -1.0
        return 100.0 * float(np.mean(cut.y_test == common))
    return 100.0 * LinearSVC(C=1.0, dual=False).fit(columns(cut.X, ids), cut.y).score(
        columns(cut.X_test, ids), cut.y_test
    )


def results(one, part, ks, limit):
    """The Results of a contestant for every k in ``ks``, as they come."""
    if one.way == "searched":
        yield from searched(one, part.cut, ks, limit)
        return
    Cs, verdict = choice(one, part.inner, ks, limit)
    if verdict:
        yield from (Result(k, verdict=verdict) for k in ks)
        return
    fits = {C: clocked(one, part.cut, ks, C, limit) for C in dict.fromkeys(Cs.values())}
    yield from (result(fits[Cs[k]], part.cut, k, Cs[k]) for k in ks)


def choice(one, inner, ks, limit):
    """({k: the C with the best model on the rows held out}, "") or, if the first C cannot be fitted, ({}, why)."""
    if len(one.Cs) == 1:
        return dict.fromkeys(ks, one.Cs[0]), ""
    scores = {}
    for C in one.Cs:
        models, verdict = in_child(partial(one.fit, inner.X, inner.y, ks, C), limit)
        if models is not None:
            scores[C] = {k: models[k].accuracy(inner.X_test, inner.y_test) for k in ks}
        elif one.Cs[0] == C:
            return {}, verdict
    return {k: max(scores, key=lambda C: (scores[C][k], -C)) for k in ks}, ""


def clocked(one, cut, ks, C, limit):
    """The Fit on the training rows, in a child, with seconds and memory."""
    told, verdict = in_child(partial(_measured, partial(one.fit, cut.X, cut.y, ks, C)), limit)
    return Fit({}, verdict=verdict) if told is None else Fit(*told)


def _measured(call):
    """In the child: (what ``call()`` gives, seconds of the processor, bytes, seconds of the clock on the wall)."""
    found = []
    memory = peak_growth(lambda: found.append(_timed(call)), pause=0.005)
    if found[0][2] < AGAIN:
        found.append(_timed(call))
    models, seconds, wall = found[-1]
    return models, seconds, memory, wall


def _timed(call):
    """(What ``call()`` gives, seconds of the processor, seconds of the clock on the wall)."""
    begun = time.process_time(), time.perf_counter()
    models = call()
    return models, time.process_time() - begun[0], time.perf_counter() - begun[1]


def result(fit, cut, k, C):
    """The Result of a Fit at k."""
    if fit.verdict:
        return Result(k, C, verdict=fit.verdict)
    model = fit.models[k]
    own = model.accuracy(cut.X_test, cut.y_test)
    if k == ALL:
        return Result(k, C, (), own, None, fit.seconds, fit.memory, fit.wall)
    same = judged(cut, model.features)
    return Result(k, C, model.features.tolist(), own, same, fit.seconds, fit.memory, fit.wall)


def searched(one, cut, ks, limit):
    """Results of a contestant whose C follows from k; the search is off the clock, the fit at the end of it on it."""
    known = {}  # log2 C: Model, or None where it could not be fitted
    for k in ks:
        place = found_place(one, cut, k, known, limit)
        if place is None or (None in known.values() and counted(known, place) < k):
            yield Result(k, verdict=f"over {limit:g} s")
            continue
        fit = clocked(one, cut, (k,), 2.0**place, limit)
        if not fit.verdict:
            fit = fit._replace(models={k: fit.models[k].heaviest(k)})
        yield result(fit, cut, k, 2.0**place)


def found_place(one, cut, k, known, limit):
    """log2 of the smallest C known to give k columns, after a search; of most columns where none gives so many."""
    for _ in range(TRIES):
        low, high = bracket(known, k)
        if counted(known, high) <= NEAR * k or high - low < 0.005 or low > HIGHEST - 0.5:
            break
        place = between(known, low, high, k)
        models, _ = in_child(partial(one.fit, cut.X, cut.y, (k,), 2.0**place), min(limit, TRY))
        known[place] = models[k] if models else None
    enough = [place for place, model in known.items() if model is not None and model.features.size >= k]
    fewer = [place for place, model in known.items() if model is not None]
    most = max(fewer, key=lambda place: (known[place].features.size, -place), default=None)
    return min(enough, default=most)


def counted(known, place):
    """Columns at a place; infinitely many where it is not known or could not be fitted."""
    model = known.get(place)
    return math.inf if model is None else model.features.size


def bracket(known, k):
    """(last place with too few columns, first with enough)."""
    high = min((place for place in known if counted(known, place) >= k), default=HIGHEST)
    return max((place for place in known if place < high and counted(known, place) < k), default=LOWEST), high


def between(known, low, high, k):
    """Where to look next: where log(columns), as a line between both ends, is a little above log(k); else half-way."""
    few, many = counted(known, low), counted(known, high)
    share = 0.5
    if 0 < few < math.inf and many < math.inf:
        share = min(0.9, max(0.1, math.log(k * (1.0 + NEAR) / 2.0 / few) / math.log(many / few)))
    return low + share * (high - low)
