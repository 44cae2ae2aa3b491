"""What a default fit chooses, and what that costs: next to the rule, a search over the class, and peers with folds."""

import sys
import time
import warnings
from functools import partial
from typing import NamedTuple

import numpy as np
from scipy import sparse
from sklearn.datasets import make_classification
from sklearn.feature_selection import RFECV
from sklearn.linear_model import LogisticRegressionCV
from sklearn.model_selection import GridSearchCV, train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler, StandardScaler
from sklearn.svm import LinearSVC

from benchmarks import alone
from benchmarks.book import table
from benchmarks.linear.data import real_set
from benchmarks.linear.own import correlated_blocks, with_noise
from benchmarks.rule import fgm_by_rule
from benchmarks.timing import peak_growth
from thresher import FGMClassifier
from thresher.datasets import make_wide
from thresher.estimators.fgm.choice import CS

L1_CS = np.logspace(-3, 2, 11)
GENES = ("prostate", "colon", "leukemia", "breast_colon", "arcene")
TEXT = ("dexter", "basehock", "relathe", "farm_ads")
NUMBERS, SPLITS = (10, 30), 1
TRAINED = 0.6  # share of the rows
RULE, CHOSEN, SEARCH = "by rule", "chosen", "search over the class"
COST_HEAD = (
    "data", "features", "by rule, s", "chosen, s", "search, s", "chosen / rule", "chosen / search",
    "passes: rule, chosen", "MiB: rule, chosen", "C, elimination: chosen, search",
)  # fmt: skip


class Case(NamedTuple):
    """A table, split in two."""

    X: object
    y: np.ndarray
    X_test: object
    y_test: np.ndarray


def wide(seed):
    """144 training rows of 4,000 columns, ten of which matter."""
    data = make_wide(240, 4000, 10, random_state=seed)
    return data.X, data.y


def hardly_apart(seed):
    """Fifteen informative columns of 1,000, whose classes are hardly apart."""
    return make_classification(800, 1000, n_informative=15, n_redundant=0, class_sep=0.6, random_state=seed)


def of_length_one(name):
    """A text set with rows of length one."""
    X, y = real_set(name)
    X = sparse.csr_matrix(X, dtype=np.float64)
    length = np.sqrt(np.asarray(X.multiply(X).sum(axis=1)).ravel())
    return sparse.csr_matrix(sparse.diags(1.0 / np.where(length > 0.0, length, 1.0)) @ X), y


def tables(quick):
    """{group: {name: function that makes (X, y)}} of what is there."""
    made = {f"make_wide(240, 4000, 10), seed {seed}": partial(wide, seed) for seed in (201, 202, 203)}
    made |= {f"correlated blocks, 600 x 900, seed {seed}": partial(correlated_blocks, seed) for seed in (31, 32)}
    made |= {f"make_classification(800, 1000), seed {seed}": partial(hardly_apart, seed) for seed in (41, 42)}
    made |= {"breast cancer, 1,000 columns of noise": partial(with_noise, 5)}
    if quick:
        return {"made": dict(list(made.items())[:1])}
    genes = {name: partial(real_set, name) for name in GENES if real_set(name) is not None}
    text = {name: partial(of_length_one, name) for name in TEXT if real_set(name) is not None}
    return {"made": made, "genes": genes, "text": text}


def cases(make, splits):
    """The Cases of a table."""
    X, y = make()
    for split in range(splits):
        train, test = train_test_split(np.arange(len(y)), train_size=TRAINED, stratify=y, random_state=1000 + split)
        yield Case(X[train], y[train], X[test], y[test])


def search_over_the_class(number):
    """What a careful user would do."""
    return GridSearchCV(fgm_by_rule(number), {"C": list(CS), "elimination": [True, False]}, cv=5)


def scaled(X, model):
    """A peer on columns of spread one; those of text keep their zeros."""
    return make_pipeline(MaxAbsScaler() if sparse.issparse(X) else StandardScaler(), model)


def l1_svm(X):
    """LIBLINEAR's l1-SVM, C by five folds."""
    svm = LinearSVC(penalty="l1", dual=False, max_iter=5000, random_state=0)
    return GridSearchCV(scaled(X, svm), {"linearsvc__C": L1_CS}, cv=5)


def l1_logistic(X):
    """LIBLINEAR's l1 logistic regression, C by five folds."""
    return scaled(X, LogisticRegressionCV(Cs=L1_CS, penalty="l1", solver="liblinear", cv=5))


def rfecv(X):
    """scikit-learn's RFE, a tenth of the columns a step, the number by five folds."""
    return scaled(X, RFECV(LinearSVC(dual="auto", random_state=0), step=0.1, cv=5))


OURS = {RULE: fgm_by_rule, CHOSEN: FGMClassifier, SEARCH: search_over_the_class}
PEERS = {"l1-SVM": l1_svm, "l1-LR": l1_logistic, "RFECV": rfecv}


def timed(model, X, y):
    """Seconds of a fit."""
    start = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(X, y)
    return time.perf_counter() - start


def judged(model, case):
    """Accuracy of one and the same SVM on the columns of a model."""
    ids = model.get_support(indices=True)
    svm = LinearSVC(C=1.0, dual="auto", random_state=0).fit(case.X[:, ids], case.y)
    return svm.score(case.X_test[:, ids], case.y_test)


def accuracies(make, splits, numbers):
    """{contestant: (accuracy, seconds)} of a table, means; with those of the judge."""
    found = {}
    for case in cases(make, splits):
        for number in numbers:
            for name, of in OURS.items():
                model = of(number)
                seconds = timed(model, case.X, case.y)
                found.setdefault(name, []).append((model.score(case.X_test, case.y_test), seconds))
                if name != SEARCH:
                    found.setdefault(f"{name}, judge", []).append((judged(model, case), 0.0))
        for name, of in PEERS.items():
            model = of(case.X)
            seconds = timed(model, case.X, case.y)
            found.setdefault(name, []).append((model.score(case.X_test, case.y_test), seconds))
    return {name: np.mean(values, axis=0) for name, values in found.items()}


def accuracy_section(quick):
    """Tables of accuracies and of seconds."""
    splits, numbers = (1, (10,)) if quick else (SPLITS, NUMBERS)
    lines, seconds, who = [], [], [*OURS, *PEERS, f"{RULE}, judge", f"{CHOSEN}, judge"]
    for group, made in tables(quick).items():
        of_group = []
        for name, make in made.items():
            found = accuracies(make, splits, numbers)
            of_group.append(np.array([found[each] for each in who]))
            lines.append((name, *(f"{100.0 * value:.1f}" for value in of_group[-1][:, 0])))
            print(*lines[-1], file=sys.stderr, flush=True)
        if of_group:
            means = np.mean(of_group, axis=0)
            lines.append((f"**{group}, mean of {len(made)}**", *(f"**{100.0 * value:.1f}**" for value in means[:, 0])))
            seconds.append((group, *(f"{value:.2f}" for value in means[: len(OURS) + len(PEERS), 1])))
    text = (
        f"Accuracy in per cent on the rows left out ({1.0 - TRAINED:.0%}), means over "
        f"{' and '.join(map(str, numbers))} features (splits: {splits}): `FGMClassifier` by rule (C = 1, elimination), "
        "as it is by default, and with C and elimination from `GridSearchCV`; l1-SVM, l1 logistic regression and RFECV "
        "with as many columns as their folds choose. The judge is one linear SVM (C = 1) on the columns picked. Then "
        "seconds of a fit, means."
    )
    heads = ("table", *who), ("tables", *who[: len(OURS) + len(PEERS)])
    return f"### What is chosen\n\n{text}\n\n{table(heads[0], lines)}\n\n{table(heads[1], seconds)}"


def sizes(quick):
    """(name, X, y, features asked for, whether the search is run)."""
    rows, columns = (200, 2000) if quick else (500, 20_000)
    made = make_wide(rows, columns, n_relevant=20, dtype=np.float32)
    yield f"made, {rows} x {columns}", made.X, made.y, 20, True
    if quick:
        return
    for name in ("colon", "dexter"):
        found = real_set(name)
        if found is not None:
            yield name, *found, 20, True
    made = make_wide(4096, 4096, 300, random_state=1)
    yield "made, 4096 x 4096", made.X, made.y, 20, False
    made = make_wide(8192, 65536, 100, random_state=1, dtype=np.float32)
    yield "made, 8192 x 65536, float32", made.X, made.y, 50, False
    found = real_set("news20_bigram")
    if found is not None:
        yield "news20_bigram", *found, 100, False


def cost_line(name, X, y, number, searches, rounds=3):
    """A line of the table of costs."""
    fits = [partial(of, number) for of in (fgm_by_rule, FGMClassifier)]
    for make in fits:
        timed(make(), X, y)  # compiles, and touches its pages
    seconds = np.median([[timed(make(), X, y) for make in fits] for _ in range(rounds)], axis=0)
    models = [make() for make in fits]
    memory = [peak_growth(partial(timed, model, X, y)) / 2**20 for model in models]
    passes = [model.selection_.trace.passes for model in models]
    picks, search = f"{models[1].C_:g}, {models[1].elimination_}", "-"
    ratio = "-"
    if searches:
        found = search_over_the_class(number)
        search = timed(found, X, y)
        ratio, search = f"{seconds[1] / search:.2f}", f"{search:.2f}"
        picks += f"; {found.best_params_['C']:g}, {found.best_params_['elimination']}"
    return (
        name, number, *(f"{each:.2f}" for each in seconds), search, f"{seconds[1] / seconds[0]:.2f}", ratio,
        ", ".join(f"{each:.0f}" for each in passes), ", ".join(f"{each:.0f}" for each in memory), picks,
    )  # fmt: skip


def report(quick=False):
    """The section of docs/benchmarks.md."""
    lines = []
    for each in sizes(quick):
        lines.append(cost_line(*each))
        print(*lines[-1], file=sys.stderr, flush=True)
    text = (
        "A fit that chooses C and elimination next to one by rule, and to `GridSearchCV` over all values of both: "
        "median of three runs in turn (the search runs once), passes over X, and by how much memory grows. Of the "
        "three large ones some rows are compared."
    )
    costs = f"### What choosing costs\n\n{text}\n\n{table(COST_HEAD, lines)}"
    return f"## C and elimination by cross-validation\n\n{accuracy_section(quick)}\n\n{costs}"


if __name__ == "__main__":
    alone.run(report, __doc__)
