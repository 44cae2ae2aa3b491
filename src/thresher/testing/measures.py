"""The laws of measures, against all labellings and rankings of a few samples."""

import itertools
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

from thresher.errors import InvalidDataError
from thresher.measures import Measure
from thresher.optim.measures.cuts import Cut
from thresher.testing.values import check_value, require, require_close

MOST_LABELLED, MOST_RANKED = 10, 7  # samples of which all labellings or rankings are tried
MANY_SAMPLES = 60  # samples where they are not


def check_measure(measure: Measure, *, random_state: int = 0) -> None:
    """Check the laws of a measure; raise an AssertionError that names the first one that does not hold.

    It is a frozen dataclass that pickles. Its loss is in [0, 1], and 0 where the prediction is perfect; its score is
    one less the loss of what the scores predict. The most violated labelling of up to 10 samples, or ranking of up to
    7, is that which brute force finds; of more samples no cutting cut is above the risk. Samples of weight 0 do not
    count; other weights are repetitions, or refused.

    Parameters
    ----------
    measure : Measure
        A value of a subclass of ``thresher.measures.Measure``.
    random_state : int, default=0
        Seed of the labels and scores that are tried.

    Examples
    --------
    >>> from thresher.measures import FBeta
    >>> from thresher.testing import check_measure
    >>> check_measure(FBeta(2.0))
    """
    check_value(measure, Measure, "measures")
    cases = small_cases(measure, np.random.default_rng(random_state))
    for law in LAWS:
        law(measure, cases, np.random.default_rng(random_state))


class Case(NamedTuple):
    """Labels of a few samples, all predictions of them that a measure allows, with their losses and directions."""

    y: np.ndarray
    predictions: np.ndarray
    losses: np.ndarray
    directions: np.ndarray

    @classmethod
    def of(cls, measure: Measure, y: np.ndarray) -> "Case":
        """All rankings, or all labellings, those with the right number of positives if that is fixed."""
        n, k = y.size, measure.n_predicted(int((y > 0).sum()), y.size)
        if measure.of_rankings:
            predictions = np.array(list(itertools.permutations(range(1, n + 1))), dtype=float)
        else:
            predictions = np.array(list(itertools.product((-1.0, 1.0), repeat=n)))
            predictions = predictions if k is None else predictions[(predictions > 0).sum(axis=1) == k]
        try:
            losses = np.array([measure.loss(y, each) for each in predictions])
        except InvalidDataError as error:
            raise AssertionError(f"{measure!r}: the loss must be defined for all predictions: {error}") from error
        return cls(y, predictions, losses, directions_of(measure, y, predictions))


def directions_of(measure: Measure, y: np.ndarray, predictions: np.ndarray) -> np.ndarray:
    """The v of each prediction, a row: the risk of scores s is the largest loss - v.s.

    Of a labelling v is (y - y') / (2 n), less its mean where the number of positives is fixed. Of a ranking it is the
    share of the pairs of a positive and a negative in wrong order that a sample is in, negative for negatives.
    """
    positive = y > 0
    if not measure.of_rankings:
        v = (y - predictions) / (2 * y.size)
        return v if measure.n_predicted(int(positive.sum()), y.size) is None else v - v.mean(axis=1, keepdims=True)
    swapped = predictions[:, positive, None] > predictions[:, None, ~positive]
    v = np.zeros(predictions.shape)
    v[:, positive] = swapped.mean(axis=2) / positive.sum()
    v[:, ~positive] = -swapped.mean(axis=1) / (~positive).sum()
    return v


def small_cases(measure: Measure, rng: np.random.Generator) -> list[Case]:
    """Labels of every number of samples that can be tried, and that is enough for the measure."""
    most = MOST_RANKED if measure.of_rankings else MOST_LABELLED
    labels = [random_labels(n, rng) for n in range(2, most + 1)]
    cases = [Case.of(measure, y) for y in labels if allows(measure, y)]
    if not cases:
        raise ValueError(
            f"{measure!r} needs more than the {most} samples that are tried: check it with other parameters"
        )
    return cases


def random_labels(n: int, rng: np.random.Generator) -> np.ndarray:
    """Random labels of both classes."""
    y = np.where(rng.random(n) < rng.choice([0.2, 0.5, 0.8]), 1.0, -1.0)
    y[rng.permutation(n)[:2]] = 1.0, -1.0
    return y


def scores_of(y: np.ndarray, rng: np.random.Generator) -> Iterator[np.ndarray]:
    """Scores with and without ties, good and bad, close and far apart."""
    noise = rng.standard_normal(y.size)
    yield np.zeros(y.size)
    yield np.round(noise)
    yield 0.5 * np.round(2.0 * noise + y)
    yield y * np.abs(np.round(noise, 1))
    yield -y * np.abs(noise)
    for size in (0.1, 1.0, 3.0, 100.0):
        yield size * (rng.standard_normal(y.size) + rng.choice([0.0, 0.5, 2.0]) * y)


def allows(measure: Measure, y: np.ndarray) -> bool:
    """Whether there are enough samples."""
    try:
        measure.n_predicted(int((y > 0).sum()), y.size)
    except ValueError:
        return False
    return True


def _losses_are_shares(measure: Measure, cases: list[Case], rng: np.random.Generator) -> None:
    for case in cases:
        inside = np.isfinite(case.losses) & (case.losses >= -1e-12) & (case.losses <= 1.0 + 1e-12)
        first = int(np.argmin(inside))
        numbers = f"of y = {case.y} and {case.predictions[first]} it is {case.losses[first]}"
        require(inside.all(), measure, "the loss must be in [0, 1]", numbers)
        perfect = ranks_of(case.y) if measure.of_rankings else case.y
        if np.equal(case.predictions, perfect).all(axis=1).any():
            law, of = "the loss of a perfect prediction must be 0", f"of {case.y} "
            require_close(measure.loss(case.y, perfect), 0.0, measure, law, 1e-12, of)


def ranks_of(scores: np.ndarray) -> np.ndarray:
    """1 for the largest score; of equal ones the lower row is first."""
    return np.argsort(np.argsort(-scores, kind="stable")) + 1.0


def random_samples(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Labels of samples too many to try all predictions of, and scores that say something about them."""
    y = random_labels(MANY_SAMPLES, rng)
    return y, rng.standard_normal(MANY_SAMPLES) + 0.5 * y


def _scores_are_one_less_the_loss(measure: Measure, cases: list[Case], rng: np.random.Generator) -> None:
    """Of the labels that scores give, or of their ranks where no two are equal."""
    for _ in range(20):
        y, scores = random_samples(rng)
        if allows(measure, y):
            predicted = ranks_of(scores) if measure.of_rankings else measure.label(scores, int((y > 0).sum()))
            expected = 1.0 - measure.loss(y, predicted)
            require_close(measure.score(y, scores), expected, measure, "score must be one less loss", 1e-12)


def _most_violated_is_that_of_brute_force(measure: Measure, cases: list[Case], rng: np.random.Generator) -> None:
    for case in cases:
        for scores in scores_of(case.y, rng):
            _check_search(measure, case, scores)


def _check_search(measure: Measure, case: Case, scores: np.ndarray) -> None:
    """The search at these scores against all predictions."""
    violations = case.losses - case.directions @ scores
    best = int(np.argmax(violations))
    found = measure.most_violated(case.y, scores)
    places = np.flatnonzero(np.equal(case.predictions, found).all(axis=1))
    require(places.size == 1, measure, "most_violated must be a prediction that the measure allows", f"got {found}")
    numbers = (
        f"of y = {case.y} and scores = {scores} brute force finds {case.predictions[best]}, violated by "
        f"{violations[best]}; got {found}, violated by {violations[places[0]]}"
    )
    near = violations[places[0]] >= violations[best] - _rounding(scores)
    require(near, measure, "most_violated must be what brute force finds", numbers)


def _cuts_are_those_of_the_most_violated(measure: Measure, cases: list[Case], rng: np.random.Generator) -> None:
    """Cuts found at other scores are constraints at these, too: the risk is the largest of all, and at least 0."""
    y = random_labels(MANY_SAMPLES, rng)
    oracle = measure.prepare(y)
    tried = [rng.standard_normal(MANY_SAMPLES) * 10.0 ** rng.uniform(-2, 2) + y * rng.uniform(0, 3) for _ in range(30)]
    cuts = [oracle.cut(scores) for scores in tried]
    for cut, scores in zip(cuts, tried, strict=True):
        worst, risk = measure.most_violated(y, scores), oracle.risk(scores)
        law = "a cut must have the loss and the direction of the most violated"
        _check_cut(cut, measure.loss(y, worst), directions_of(measure, y, worst[None])[0], measure, law, 1e-12)
        violations = [each.loss - float(each.vector() @ scores) for each in cuts]
        expected = max(0.0, cut.loss - float(cut.vector() @ scores))
        require_close(risk, expected, measure, "the risk must be that of the cut found, and at least 0")
        numbers = f"one found at other scores has {max(violations)}, the risk is {risk}"
        require(max(violations) <= risk + _rounding(scores), measure, "no cut may be above the risk", numbers)
    law = "the risk must be 0 where all scores are right by far"
    require_close(oracle.risk(1e6 * y), 0.0, measure, law)


def _check_cut(cut: Cut, loss: float, vector: np.ndarray, measure: Measure, law: str, rounding: float = 0.0) -> None:
    """The loss and the direction of a cut; ``rounding`` is of the loss."""
    require_close(cut.loss, loss, measure, law, rounding, "loss: ")
    require_close(cut.vector(), vector, measure, law, min(rounding, 1e-15), "direction: ")


def _rounding(scores: np.ndarray) -> float:
    return 1e-12 * (1.0 + float(np.abs(scores).max()))


def _samples_of_weight_zero_do_not_count(measure: Measure, cases: list[Case], rng: np.random.Generator) -> None:
    y, scores = random_samples(rng)
    used = rng.random(MANY_SAMPLES) < 0.7
    used[[np.argmax(y), np.argmin(y)]] = True
    law = "samples of weight 0 must not count"
    _check_repetitions(measure, y, scores, used.astype(np.int64), law, exact=True)
    found = measure.prepare(y, used.astype(float)).most_violated(scores)[used]
    require_close(found, measure.most_violated(y[used], scores[used]), measure, f"{law} in the search")


def _weights_are_repetitions_or_refused(measure: Measure, cases: list[Case], rng: np.random.Generator) -> None:
    y, scores = random_samples(rng)
    times = rng.integers(0, 4, MANY_SAMPLES)
    times[[np.argmax(y), np.argmin(y)]] = 1, 2
    if measure.is_weighted:
        _check_repetitions(measure, y, scores, times, "weights must be repetitions", exact=False)
    else:
        _refused("score", measure, measure.score, y, scores, times.astype(float))
        _refused("prepare", measure, measure.prepare, y, times.astype(float))


def _check_repetitions(
    measure: Measure, y: np.ndarray, scores: np.ndarray, times: np.ndarray, law: str, *, exact: bool
) -> None:
    """A sample of weight k is as good as k samples, in the score and in the search; not exactly for other than 0, 1."""
    repeated, weights = np.repeat(np.arange(y.size), times), times.astype(float)
    expected = measure.score(y[repeated], scores[repeated])
    allowed = 0.0 if exact else 1e-12
    require_close(measure.score(y, scores, weights), expected, measure, f"{law} in score", allowed)
    cut = measure.prepare(y[repeated]).cut(scores[repeated])
    vector = np.bincount(repeated, cut.vector(), y.size)
    for others in (scores, 5.0 - scores):
        found = measure.prepare(y, weights).cut(np.where(weights > 0.0, scores, others))
        _check_cut(found, cut.loss, vector, measure, f"{law} in the search", 0.01 * allowed)


def _refused(name: str, measure: Measure, method: Callable[..., Any], *given: np.ndarray) -> None:
    """A method must refuse what it is given."""
    try:
        method(*given)
    except InvalidDataError:
        return
    require(False, measure, f"{name} must refuse weights other than 0 and 1", "it takes them")


LAWS: tuple[Callable[[Measure, list[Case], np.random.Generator], None], ...] = (
    _losses_are_shares,
    _scores_are_one_less_the_loss,
    _most_violated_is_that_of_brute_force,
    _cuts_are_those_of_the_most_violated,
    _samples_of_weight_zero_do_not_count,
    _weights_are_repetitions_or_refused,
)
