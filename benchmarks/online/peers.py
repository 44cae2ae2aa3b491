"""Others on the same stream: Vowpal Wabbit with l1, and river's logistic regression with l1 or with a selection."""

import re
import tempfile
from pathlib import Path

import numpy as np
import vowpalwabbit
from river import feature_selection, linear_model, optim, stats

from benchmarks.online.judge import Run, right, timed

VW_GRID = [(loss, rate) for loss in ("logistic", "hinge", "squared") for rate in (0.05, 0.5, 5.0)]
RIVER_GRID = [10.0**-k for k in range(1, 8)]
BITS = 18  # more than there are columns: numbers are their own hash values


def orders(data, seed):
    """Rows in the orders of ``StreamClassifier.fit``."""
    rng = np.random.RandomState(seed)
    for _ in range(data.passes):
        yield from rng.permutation(data.y.size).tolist()


# ------------------------------------------------------------------------------------------------------- Vowpal Wabbit


def lines(X, y=None):
    """Rows as its text format has them."""
    for i in range(X.shape[0]):
        row = slice(X.indptr[i], X.indptr[i + 1])
        entries = " ".join(f"{j}:{v:.9g}" for j, v in zip(X.indices[row].tolist(), X.data[row].tolist(), strict=True))
        yield f"| {entries}" if y is None else f"{int(y[i])} | {entries}"


class Wabbit:
    """Vowpal Wabbit, normalised and adaptive as it is by default; truncated gradients for l1."""

    def __init__(self, loss, rate, l1=0.0):
        self.folder = tempfile.TemporaryDirectory()
        self.model = Path(self.folder.name) / "weights.txt"
        options = f"--noconstant -b {BITS} --loss_function {loss} -l {rate} --l1 {l1} --readable_model {self.model}"
        self.vw = vowpalwabbit.Workspace(f"--quiet {options}", enable_logging=False)

    def learn(self, data, seed):
        """Parse every row once, learn from it in every pass; the share that was right before it was learnt from."""
        examples, hits = [self.vw.parse(line) for line in lines(data.X, data.y)], 0
        positive = (data.y > 0.0).tolist()
        for i in orders(data, seed):
            self.vw.learn(examples[i])
            hits += (examples[i].get_simplelabel_prediction() > 0.0) == positive[i]
        for example in examples:
            self.vw.finish_example(example)
        return hits / data.rounds

    def scores(self, X):
        found = []
        for line in lines(X):
            example = self.vw.parse(line)
            found.append(self.vw.predict(example))
            self.vw.finish_example(example)
        return found

    def close(self):
        """Number of weights: those above the shrinkage that is due, which it applies when it predicts."""
        self.vw.finish()
        text = self.model.read_text()
        due = re.search(r"^l1_state (\S+)$", text, re.MULTILINE)
        weights = [float(value) for value in re.findall(r"^\d+:(\S+)", text, re.MULTILINE)]
        self.folder.cleanup()
        return sum(abs(weight) > float(due.group(1) if due else 0.0) for weight in weights)


def wabbit_choice(data):
    """(loss, rate) with the most progressive accuracy in one pass without l1."""
    found = {}
    for setting in VW_GRID:
        model = Wabbit(*setting)
        found[setting] = model.learn(data._replace(passes=1), 0)
        model.close()
    return max(VW_GRID, key=found.get)


def wabbit(data, seed, setting, l1):
    """A Run; parsing the text, once, is on the clock."""
    model = Wabbit(*setting, l1)
    _, seconds = timed(lambda: model.learn(data, seed))
    accuracy = right(model.scores(data.X_test), data.y_test)
    return Run(accuracy, model.close(), seconds / data.rounds)


# --------------------------------------------------------------------------------------------------------------- river


def dicts(X):
    """Rows as river has them."""
    for i in range(X.shape[0]):
        row = slice(X.indptr[i], X.indptr[i + 1])
        yield dict(zip(X.indices[row].tolist(), X.data[row].tolist(), strict=True))


class River:
    """Logistic regression by SGD, with l1 or on the k features most correlated with the label so far."""

    def __init__(self, rate, l1=0.0, k=None):
        self.model = linear_model.LogisticRegression(optimizer=optim.SGD(rate), l1=l1, intercept_lr=0.0)
        self.picks = None if k is None else feature_selection.SelectKBest(similarity=stats.PearsonCorr(), k=k)

    def learn(self, rows, y, order):
        """Share that was right before it was learnt from."""
        hits, count, positive = 0, 0, (y > 0.0).tolist()
        for i in order:
            x = self.picked(rows[i])
            hits += (self.model.predict_proba_one(x)[True] > 0.5) == positive[i]
            count += 1
            if self.picks is not None:
                self.picks.learn_one(rows[i], positive[i])
                x = self.picked(rows[i])
            self.model.learn_one(x, positive[i])
        return hits / count

    def picked(self, x):
        return x if self.picks is None else self.picks.transform_one(x)

    def scores(self, X):
        return [self.model.predict_proba_one(self.picked(x))[True] - 0.5 for x in dicts(X)]

    @property
    def features(self):
        """Weights that take part in predictions."""
        weights = {j: w for j, w in self.model.weights.items() if w != 0.0}
        return len(weights) if self.picks is None else len(self.picked(weights))


def river_choice(data):
    """The rate with the most progressive accuracy in one pass without l1."""
    rows, one = list(dicts(data.X)), data._replace(passes=1)
    return max(RIVER_GRID, key=lambda rate: River(rate).learn(rows, data.y, orders(one, 0)))


def river(data, seed, rate, l1=0.0, k=None):
    """A Run; the dicts are made off the clock."""
    rows, model = list(dicts(data.X)), River(rate, l1, k)
    _, seconds = timed(lambda: model.learn(rows, data.y, orders(data, seed)))
    return Run(right(model.scores(data.X_test), data.y_test), model.features, seconds / data.rounds)
