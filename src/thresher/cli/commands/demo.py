"""A demonstration: 100 of 32,768 features with a certificate, pixels of 3 and 8, groups, a rare class, bags, a stream.

All data is generated or bundled, nothing is downloaded. Takes well under a minute on two cores, most of it for the data
and for LIBLINEAR. Each part fits on a screen of 80 x 25 characters.
"""

import textwrap
import time

import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from sklearn.svm import LinearSVC

from thresher.cli.show import OUT
from thresher.datasets import make_wide
from thresher.estimators.alignment.classifier import AlignmentPathClassifier
from thresher.estimators.alignment.kernel_path import KernelPath
from thresher.estimators.fgm.classifier import FGMClassifier
from thresher.estimators.miles.classifier import MILESClassifier
from thresher.estimators.stream.classifier import StreamClassifier
from thresher.optim.measures.values import F1
from thresher.results import rounded

SAMPLES, COLUMNS, RELEVANT = 4096, 32_768, 100
FIRST_C = 0.0035  # where the search for LIBLINEAR's C starts, close to its end on this data
BAR, WIDTH = 40, 79  # characters: of a bar, and of a line


def say(text=""):
    """A line of the report."""
    OUT.print(text, markup=False)


def say_text(text):
    """A paragraph of the report."""
    say(textwrap.fill(text, WIDTH, initial_indent="   ", subsequent_indent="   "))


def seconds_of(model, X, y):
    """Seconds of a fit."""
    begun = time.perf_counter()
    model.fit(X, y)
    return time.perf_counter() - begun


def liblinear_with(wanted, X, y, tries=5):
    """(LIBLINEAR's l1-SVM, seconds of its fit), with a C, found by bisection, for ``wanted`` features up to 5 %."""
    low, high, C = 0.0, np.inf, FIRST_C
    for _ in range(tries):
        model = LinearSVC(penalty="l1", dual=False, C=C, random_state=0)
        seconds = seconds_of(model, X, y)
        selected = np.count_nonzero(model.coef_)
        if abs(selected - wanted) <= 0.05 * wanted:
            break
        low, high = (C, high) if selected < wanted else (low, C)
        C = (low + high) / 2 if low > 0 and np.isfinite(high) else C * (1.15 if selected < wanted else 0.87)
    return model, seconds


def wide():
    """100 of 32,768 columns, against LIBLINEAR."""
    say(f"1. Synthetic data: {SAMPLES} samples x {COLUMNS:,} features, {RELEVANT} of them relevant\n")
    train = make_wide(SAMPLES, COLUMNS, RELEVANT, dtype=np.float32, random_state=0)
    test = make_wide(2000, COLUMNS, relevant=train.relevant, weights=train.weights, dtype=np.float32, random_state=1)
    say(f"   {'':24}{'features':>10}{'relevant':>11}{'test accuracy':>22}{'seconds':>9}")
    clf = FGMClassifier(RELEVANT)
    for name in ("thresher, FGMClassifier", "LIBLINEAR, l1-SVM"):
        ours = name.startswith("thresher")
        fit = (clf, seconds_of(clf, train.X, train.y)) if ours else liblinear_with(RELEVANT, train.X, train.y)
        model, seconds = fit
        features, accuracy = np.unique(model.coef_.nonzero()[1]), model.score(test.X, test.y)
        true = np.isin(features, train.relevant).sum()
        say(f"   {name:24}{features.size:>10}{true:>11}{accuracy:>22.3f}{seconds:>9.2f}")
    say("   (thresher uses all cores, LIBLINEAR one, at a C with about as many features)\n")
    prove(clf)
    how_many(clf, test)


def prove(clf):
    """Print the certificate."""
    say_text(f"Certificate: {clf.proof()}")
    passes = rounded(clf.selection_.trace.passes)
    say(f"   Stop reason: {clf.selection_.stop_reason}. Passes over X: {passes}.\n")


def how_many(clf, test):
    """Accuracy against the number of features, all from the one fit."""
    say("   Accuracy against the number of features, from the same fit:\n")
    numbers = clf.path_.numbers
    for number in (RELEVANT // 8, RELEVANT // 4, RELEVANT // 2, RELEVANT, 2 * RELEVANT):
        number = int(numbers[np.abs(numbers - number).argmin()])
        accuracy = clf.at(number).score(test.X, test.y)
        say(f"   {number:>6} features  {accuracy:.3f}  {'█' * round(BAR * 2 * (accuracy - 0.5))}")
    say(f"   {'':15}  chance {' ' * (BAR - 7)}perfect\n")


def digits():
    """3 against 8 on the 8 x 8 images that come with scikit-learn."""
    pictures = load_digits()
    chosen = np.isin(pictures.target, (3, 8))
    X, X_new, y, y_new = train_test_split(
        pictures.data[chosen], pictures.target[chosen], test_size=0.5, stratify=pictures.target[chosen], random_state=0
    )
    clf = FGMClassifier(8)
    seconds = seconds_of(clf, X, y)
    say(f"2. Handwritten digits, 3 against 8: {len(y)} images of 8 x 8 pixels, {len(y_new)} for testing\n")
    marks = dict(zip(clf.selection_.features.tolist(), clf.selection_.weights.tolist(), strict=True))
    shades = np.digitize(X.mean(axis=0), (2, 5, 8, 11))
    for row in range(8):
        pixels = range(8 * row, 8 * row + 8)
        cells = [("8+" if marks[j] > 0 else "3+") if j in marks else 2 * " ·░▒▓"[shades[j]] for j in pixels]
        say("   " + "".join(cells))
    say()
    say_text(
        f"8+ and 3+: pixels where ink indicates that digit, shaded: mean. With these {len(marks)} of 64 pixels the "
        f"test accuracy is {clf.score(X_new, y_new):.1%}. Fitted in {seconds:.2f} s."
    )
    selection = clf.selection_
    best = [f"({j // 8 + 1}, {j % 8 + 1})" for j in selection.features[selection.ranking].tolist()]
    say_text(f"By importance, as (row, column): {', '.join(best)}.")
    say_text(clf.proof())


def groups():
    """5 of 400 blocks of columns."""
    say("\n3. Groups: 400 blocks of 5 columns, as one-hot variables are; 5 of them matter\n")
    rng = np.random.default_rng(3)
    train = make_wide(1000, 2000, relevant=np.arange(25), weights=rng.standard_normal(25), random_state=3)
    order = rng.permutation(400)
    clf = FGMClassifier(5, groups=np.repeat(order, 5))
    seconds = seconds_of(clf, train.X, train.y)
    chosen = np.asarray(clf.selection_.groups)
    true = np.isin(chosen, order[:5]).sum()
    say_text(
        f"{clf.selection_.stop_reason}, {true} of them right: {', '.join(map(str, chosen))}, with "
        f"{clf.selection_.features.size} columns. Fitted in {seconds:.2f} s."
    )
    say_text(clf.proof())


def products():
    """Two products that no single column shows."""
    rng = np.random.default_rng(4)
    X = rng.standard_normal((1000, 1000))
    y = X[:, 17] * X[:, 42] + X[:, 256] * X[:, 999] > 0.0
    say("\n4. Products: 500 samples of 1,000 columns; two of 501,500 terms decide\n")
    clf = FGMClassifier(2, feature_map="polynomial")
    seconds = seconds_of(clf, X[:500], y[:500])
    linear = FGMClassifier(2).fit(X[:500], y[:500])
    names = [name.replace("x", "column ").replace("*", " x ") for name in clf.get_feature_names_out()]
    say_text(
        f"Selected: {' and '.join(names)}; test accuracy {clf.score(X[500:], y[500:]):.1%} (with two single columns "
        f"{linear.score(X[500:], y[500:]):.1%}). Fitted in {seconds:.2f} s."
    )
    say_text(clf.proof())


def kernels():
    """Columns that matter by their square, which have no linear effect."""
    rng = np.random.default_rng(6)
    X = rng.standard_normal((600, 500))
    y = X[:, 40] ** 2 + X[:, 400] ** 2 > 1.5
    say("\n5. Kernels: 300 samples of 500 columns; the squares of two columns decide\n")
    clf = AlignmentPathClassifier(path=KernelPath(step=0.1), cv=3, max_features=50)
    seconds = seconds_of(clf, X[:300], y[:300])
    linear = FGMClassifier(2).fit(X[:300], y[:300])
    chosen = ", ".join(f"{j}" for j in clf.selection_.features[clf.selection_.ranking][:5].tolist())
    say_text(
        f"By kernel weight: column {chosen}{', ...' if clf.selection_.features.size > 5 else ''}; "
        f"{clf.selection_.features.size} selected; test accuracy {clf.score(X[300:], y[300:]):.1%} (of a linear model "
        f"{linear.score(X[300:], y[300:]):.1%}). Fitted, with cross-validation, in {seconds:.2f} s."
    )


def rare_class():
    """F1 as the loss, against the default with as many features."""
    rng, n = np.random.default_rng(5), 4000
    y = rng.random(2 * n) < 0.03
    X = rng.standard_normal((2 * n, 500))
    X[:, :10] += 0.8 * y[:, None]
    say(f"\n6. A rare class: {y[:n].sum()} of {n:,} samples, 500 columns, 10 of which matter\n")
    say(f"   {'loss':40}{'predicted':>11}{'test F1':>10}{'seconds':>9}")
    default, f1 = (FGMClassifier(10, loss=loss, elimination=False) for loss in ("squared_hinge", "f1"))
    times = [seconds_of(clf, X[:n], y[:n]) for clf in (default, f1)]
    tuned = default.decision_function(X[n:]) - best_threshold(default.decision_function(X[:n]), y[:n])
    rows = [("squared_hinge, the default", default.decision_function(X[n:]), f"{times[0]:.2f}"),
            ("... with the threshold moved for F1", tuned, ""),
            ("f1", f1.decision_function(X[n:]), f"{times[1]:.2f}")]  # fmt: skip
    for name, scores, seconds in rows:
        score = F1().score(np.where(y[n:], 1.0, -1.0), scores)
        say(f"   {name:40}{np.count_nonzero(scores > 0):>11}{score:>10.3f}{seconds:>9}")
    say()
    found = [int((clf.selection_.features < 10).sum()) for clf in (default, f1)]
    say_text(
        f"Of 10 selected columns {found[0]} and {found[1]} matter. Of {n:,} test samples {y[n:].sum()} are positive: "
        "the default predicts too few. Moving its threshold is the other way to mend that; compare both on your data."
    )


def best_threshold(scores, y):
    """The score above which F1 on the training data is best."""
    falling = np.sort(scores)[::-1]
    hits = np.cumsum(y[np.argsort(-scores, kind="stable")])
    best = int(np.argmax(hits / (np.arange(1, y.size + 1) + y.sum())))
    return 0.5 * (falling[best] + falling[min(best + 1, y.size - 1)])


def bags():
    """Bags with one telling row each, which is found again."""
    rng = np.random.default_rng(7)
    X, of_row = rng.standard_normal((4000, 20)), np.repeat(np.arange(400), 10)
    y = rng.random(400) < 0.5
    telling = np.flatnonzero(y) * 10 + rng.integers(0, 10, y.sum())
    X[telling] = 0.5 * X[telling] + np.where(np.arange(20) < 10, 1.5, 0.0)
    train, new = of_row < 200, of_row >= 200
    say("\n7. Bags: labels of 200 bags of 10 rows; one row decides in each positive bag\n")
    clf = MILESClassifier(5)
    begun = time.perf_counter()
    clf.fit(X[train], y[of_row[train]], bags=of_row[train])
    seconds = time.perf_counter() - begun
    added = clf.predict_instances(X[new], bags=of_row[new]).reshape(-1, 10)
    found = np.sum(added.argmax(axis=1)[y[200:]] == (telling % 10)[telling >= 2000])
    right = np.isin(clf.selection_.features, telling).sum()
    accuracy = clf.score(X[new], y[of_row[new]], bags=of_row[new])
    say_text(
        f"Of {len(of_row[train]):,} training rows 5 were selected, {right} of them telling ones. On 200 new bags the "
        f"accuracy is {accuracy:.1%}; in {found} of {y[200:].sum()} positive ones the row that adds "
        f"most is the telling one. Fitted in {seconds:.2f} s."
    )
    say_text(clf.proof())


def endless():
    """20 of 2,000 features from a stream that is not stored."""
    say("\n8. A stream: 32,000 examples of 2,000 features, each seen once; budget 20\n")
    first = make_wide(1, 2000, 20, random_state=2)
    clf, seconds = StreamClassifier(20), 0.0
    for seed in range(16):
        batch = make_wide(
            2000, 2000, relevant=first.relevant, weights=first.weights, dtype=np.float32, random_state=seed
        )
        begun = time.perf_counter()
        clf.partial_fit(batch.X, batch.y, classes=[-1, 1])
        seconds += time.perf_counter() - begun
        if seed in (0, 1, 3, 7, 15):
            true = np.isin(clf.selection_.features, first.relevant).sum()
            say(
                f"   {clf.n_examples_:>6,} examples: progressive accuracy {clf.progressive_accuracy_:.1%}, "
                f"{true} of {clf.selection_.features.size} features relevant"
            )
    say(f"   {clf.n_examples_ / seconds:,.0f} examples per second, of {first.X.shape[1]:,} values each.")


def run():
    """Run all parts, after small fits that compile the loops, so that compilation is not timed."""
    begun = time.perf_counter()
    for dtype in (np.float32, np.float64):
        small = make_wide(100, 200, 5, dtype=dtype)
        FGMClassifier(3).fit(small.X, small.y)
    StreamClassifier(3).fit(small.X.astype(np.float32), small.y)
    say(f"Loops compiled, or loaded from the cache: {time.perf_counter() - begun:.1f} s\n")
    wide()
    digits()
    groups()
    products()
    kernels()
    rare_class()
    bags()
    endless()
    say(f"\nTotal: {time.perf_counter() - begun:.0f} s.")
