"""The main job, start to end: 100 features out of 32,768 columns with a proof, pixels that tell 3 from 8, a stream.

Everything is made or bundled, nothing is downloaded. Takes about a minute on two cores, most of it for the rival.
"""

import time

import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from sklearn.svm import LinearSVC

from thresher.cli.show import OUT
from thresher.datasets import make_wide
from thresher.estimators.fgm import FGMClassifier
from thresher.estimators.stream import StreamClassifier

SAMPLES, COLUMNS, RELEVANT = 4096, 32_768, 100
NEAR = 0.0035  # where the search for the rival's C begins: on this data it ends close by
BAR = 40  # characters


def say(text=""):
    """A line of the report."""
    OUT.print(text, markup=False)


def seconds_of(model, X, y):
    """Seconds of the faster of two fits: the first also pays for fresh memory."""
    seconds = []
    for _ in range(2):
        begun = time.perf_counter()
        model.fit(X, y)
        seconds.append(time.perf_counter() - begun)
    return min(seconds)


def rival_with(wanted, X, y, tries=5):
    """LIBLINEAR's l1-SVM with the C, found by bisection, that leaves it ``wanted`` features or 5 % more or fewer."""
    low, high, C = 0.0, np.inf, NEAR
    for _ in range(tries):
        model = LinearSVC(penalty="l1", dual=False, C=C, random_state=0).fit(X, y)
        found = np.count_nonzero(model.coef_)
        if abs(found - wanted) <= 0.05 * wanted:
            break
        low, high = (C, high) if found < wanted else (low, C)
        C = (low + high) / 2 if low > 0 and np.isfinite(high) else C * (1.15 if found < wanted else 0.87)
    return model


def wide():
    """100 of 32,768 columns, against LIBLINEAR."""
    say(f"1. Made data: {SAMPLES} samples x {COLUMNS:,} columns; {RELEVANT} of them decide the label\n")
    train = make_wide(SAMPLES, COLUMNS, RELEVANT, dtype=np.float32, random_state=0)
    test = make_wide(2000, COLUMNS, relevant=train.relevant, weights=train.weights, dtype=np.float32, random_state=1)
    say("   Looking for the C with which LIBLINEAR's l1-SVM has as many features, which takes a while ...\n")
    clf, rival = FGMClassifier(RELEVANT), rival_with(RELEVANT, train.X, train.y)
    say(f"   {'':24}{'features':>10}{'true ones':>11}{'accuracy on new data':>22}{'seconds':>9}")
    for name, model in (("thresher, FGMClassifier", clf), ("LIBLINEAR, l1-SVM", rival)):
        seconds = seconds_of(model, train.X, train.y)
        features, accuracy = np.unique(model.coef_.nonzero()[1]), model.score(test.X, test.y)
        true = np.isin(features, train.relevant).sum()
        say(f"   {name:24}{features.size:>10}{true:>11}{accuracy:>22.3f}{seconds:>9.2f}")
    say("   (the faster of two fits, without the search; thresher uses all cores, LIBLINEAR one)\n")
    prove(clf)
    how_many(clf, test)


def prove(clf):
    """The certificate in words."""
    picked, certificate, trace = clf.selection_, clf.selection_.certificate, clf.selection_.trace
    say(
        f"   Proof: no {picked.features.size} of the {COLUMNS:,} columns have an objective below "
        f"{certificate.pick_bound:.1f}; these have {certificate.pick_objective:.1f}, and\n   a model without columns "
        f"{certificate.at_zero:.1f}: at most {certificate.pick_gap:.1%} of that could still be gained.\n"
        f"   Why it stopped: {picked.stop_reason}. It read X {trace.passes:.1f} times.\n"
    )


def how_many(clf, test):
    """Accuracy against the number of features, all from the one fit."""
    say("   How many features do you need? The same fit knows, without another:\n")
    numbers = clf.path_.numbers
    for number in (RELEVANT // 8, RELEVANT // 4, RELEVANT // 2, RELEVANT, 2 * RELEVANT):
        number = int(numbers[np.abs(numbers - number).argmin()])
        accuracy = clf.at(number).score(test.X, test.y)
        say(f"   {number:>6} features  {accuracy:.3f}  {'█' * round(BAR * 2 * (accuracy - 0.5))}")
    say(f"   {'':15}  chance {' ' * (BAR - 7)}perfect\n")


def digits():
    """3 against 8 on the 8 x 8 pictures that come with scikit-learn."""
    pictures = load_digits()
    chosen = np.isin(pictures.target, (3, 8))
    X, X_new, y, y_new = train_test_split(
        pictures.data[chosen], pictures.target[chosen], test_size=0.5, stratify=pictures.target[chosen], random_state=0
    )
    clf = FGMClassifier(8)
    seconds = seconds_of(clf, X, y)
    say(f"2. Handwritten digits, 3 against 8: {len(y)} pictures of 8 x 8 pixels, {len(y_new)} to test on\n")
    marks = dict(zip(clf.selection_.features.tolist(), clf.selection_.weights.tolist(), strict=True))
    shades = np.digitize(X.mean(axis=0), (2, 5, 8, 11))
    for row in range(8):
        pixels = range(8 * row, 8 * row + 8)
        cells = [("8+" if marks[j] > 0 else "3+") if j in marks else 2 * " ·░▒▓"[shades[j]] for j in pixels]
        say("   " + "".join(cells))
    say(f"\n   8+ where ink speaks for 8, 3+ for 3, shaded: mean ink of both. With these {len(marks)} pixels of 64,")
    say(f"   {clf.score(X_new, y_new):.1%} of the new pictures are told apart. Fitted in {seconds:.2f} s.")


def stream():
    """20 features of 2,000 from a stream of which nothing is kept."""
    say("\n3. A stream: 32,000 examples with 2,000 features, each looked at once; at most 20 may have a weight\n")
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
                f"   {clf.n_examples_:>6,} examples: {clf.progressive_accuracy_:.1%} right before they were learnt, "
                f"{true} of {clf.selection_.features.size} features true"
            )
    say(f"   {clf.n_examples_ / seconds:,.0f} examples a second, of {first.X.shape[1]:,} values each.")


def run():
    """All, after a small fit that compiles the loops, so that the seconds are those of the work."""
    begun = time.perf_counter()
    for dtype in (np.float32, np.float64):
        small = make_wide(100, 200, 5, dtype=dtype)
        FGMClassifier(3).fit(small.X, small.y)
    StreamClassifier(3).fit(small.X.astype(np.float32), small.y)
    say(f"Loops compiled, or fetched from the last run: {time.perf_counter() - begun:.1f} s\n")
    wide()
    digits()
    stream()
    say(f"\nAll in all {time.perf_counter() - begun:.0f} s.")
