"""Sections 8.2 and 8.3 of paper 1: FGM and its rivals on made data, wide, sparse, shifted, and long."""

import time
from typing import NamedTuple

import numpy as np
from scipy import sparse
from sklearn.svm import LinearSVC

from benchmarks import alone
from benchmarks.book import table
from benchmarks.linear import rivals
from benchmarks.linear.rivals import Refitted, Strengths, features_of, quiet_fit, with_about
from benchmarks.rule import fgm_by_rule
from thresher.datasets import WideData, make_wide

SHIFT, DENSITIES, SPARSE_BELOW = 4.0, (0.08, 0.1, 0.3, 0.5, 0.8, 1.0), 0.5
FACTORS, TURNED = 20, 0.1  # of the long data: common factors of its columns, and share of wrong labels


class Size(NamedTuple):
    """Made data, features asked for (and relevant), where C of the l1 models is looked for, epochs of SGD.

    ``known``: the C's were found beforehand, by a few fits, and are taken as they are, for a search takes long.
    """

    rows: int
    columns: int
    wanted: int
    dtype: type
    near: Strengths
    epochs: int
    known: bool = False

    @property
    def name(self):
        return f"{self.rows} x {self.columns} {np.dtype(self.dtype).name}"


class Plan(NamedTuple):
    """Sizes of the sections, and how long and how often is fitted."""

    main: tuple[Size, ...]
    long: Size
    thin: Size
    counts: tuple[int, ...]
    shifted: tuple[int, ...]
    per_turn: tuple[int, ...]
    strengths: tuple[float, ...]
    limit: float
    repeats: int


SQUARE = Size(4096, 4096, 300, np.float64, Strengths(0.00513, 0.0213), 20)
FULL = Plan(
    main=(SQUARE, Size(8192, 65536, 300, np.float32, Strengths(None, 0.0103, 1 / 1.17), 5, known=True)),
    long=Size(100_000, 2000, 100, np.float32, Strengths(0.0216, 0.09), 5, known=True),
    thin=Size(4096, 16384, 300, np.float64, Strengths(None, 0.0167), 10),
    counts=(25, 50, 100, 150, 200, 250, 300, 400),
    shifted=(100, 200, 300),
    per_turn=(2, 5, 10, 20, 30, 40, 60, 100, 300),
    strengths=(0.01, 0.1, 1.0, 10.0, 100.0),
    limit=60.0,
    repeats=3,
)
QUICK = Plan(
    main=(Size(512, 1024, 40, np.float64, Strengths(0.013, 0.052), 5),),
    long=Size(2000, 200, 20, np.float32, Strengths(0.13, 0.5), 2),
    thin=Size(256, 1024, 20, np.float64, Strengths(None, 0.075), 2),
    counts=(20, 40),
    shifted=(40,),
    per_turn=(5, 40),
    strengths=(5.0, 500.0),
    limit=10.0,
    repeats=1,
)


def wide(size, density=1.0, shift=0.0):
    """(train, test) of make_wide; CSR below half density, as a user would have it."""
    options = {"density": density, "shift": shift, "dtype": size.dtype}
    train = make_wide(size.rows, size.columns, size.wanted, random_state=0, **options)
    same = {"relevant": train.relevant, "weights": train.weights}
    test = make_wide(min(4096, 4 * size.rows), size.columns, random_state=1, **same, **options)
    if density < SPARSE_BELOW:
        train, test = (data._replace(X=sparse.csr_array(data.X)) for data in (train, test))
    return train, test


def long(size, seed=0):
    """(train, test) made to be like epsilon: columns with common factors, rows of length one, some wrong labels."""
    rng, tests = np.random.default_rng(seed), size.rows // 5
    relevant = np.sort(rng.choice(size.columns, size.wanted, replace=False))
    weights = rng.uniform(0.0, 1.0, size.wanted) * rng.choice((-1.0, 1.0), size.wanted)
    loadings = 0.3 * rng.standard_normal((FACTORS, size.columns), dtype=np.float32)
    X = rng.standard_normal((size.rows + tests, size.columns), dtype=np.float32)
    for lo in range(0, X.shape[0], 4096):
        part = X[lo : lo + 4096]
        part += rng.standard_normal((part.shape[0], FACTORS), dtype=np.float32) @ loadings
        part /= np.linalg.norm(part, axis=1, keepdims=True)
    turned = rng.random(X.shape[0]) < TURNED
    y = np.where((X[:, relevant] @ weights > 0) ^ turned, 1, -1)
    parts = slice(size.rows), slice(size.rows, None)
    return tuple(WideData(X[rows].astype(size.dtype, copy=False), y[rows], relevant, weights) for rows in parts)


def strengths_for(size, train):
    """C's at which the l1 models end within 3 % of the number wanted; celer speaks for all with logistic loss."""
    if size.known:
        return size.near
    svm = None if size.near.svm is None else with_about(size.wanted, rivals.l1_svm(), train, size.near.svm)
    double = train._replace(X=train.X.astype(np.float64, copy=False))
    return Strengths(svm, with_about(size.wanted, rivals.celer_lr(), double, size.near.lr))


HEAD = ("model", "features", "true ones", "test accuracy", "seconds", "l1-LR = 1", "passes", "memory beyond X, MiB")


def compared(size, train, test, plan, chosen=None):
    """Outcome of every contestant, or of the ``chosen`` ones, by name."""
    strengths = strengths_for(size, train)
    every = {
        **rivals.fgms(size.wanted),
        **rivals.l1_models(strengths, train, size.epochs),
        **rivals.other_models(size.wanted, train),
    }
    some = {name: rival for name, rival in every.items() if chosen is None or name in chosen}
    return rivals.outcomes(some, train, test, plan.limit, plan.repeats)


def yardstick(found):
    """Seconds of LIBLINEAR's l1-LR; where there are none, of the next solver of the same problem that ended."""
    solvers = ("LIBLINEAR", "celer", "skglm", "SAGA", "SGD")
    ended = [found[f"l1-LR, {solver}"].seconds for solver in solvers if f"l1-LR, {solver}" in found]
    return next((seconds for seconds in ended if np.isfinite(seconds)), np.nan)


def main_lines(found, train):
    """Lines of the main table."""
    unit = yardstick(found)
    for name, one in found.items():
        if one.verdict:
            yield (name, "", "", "", one.verdict, "", "", "")
        else:
            ratio = f"{one.seconds / unit:.2f}" if np.isfinite(unit) else ""
            passes = "-" if one.passes is None else f"{one.passes:.1f}"
            memory = f"{one.memory / 2**20:.0f} ({one.memory / rivals.bytes_of(train.X):.2f} of X)"
            hits, accuracy = true_ones(one.features, train), f"{one.accuracy:.3f}"
            yield (name, one.features.size, hits, accuracy, f"{one.seconds:.2f}", ratio, passes, memory)


def true_ones(features, train):
    return int(np.isin(features, train.relevant).sum())


def by_density(plan):
    """Figure 4, at fewer columns."""
    shown = {}
    for density in DENSITIES:
        train, test = wide(plan.thin, density)
        near = Strengths(None, plan.thin.near.lr / density**0.5)
        chosen = {name for name in rivals.fgms(1) if "logistic" in name} | {"l1-LR, LIBLINEAR", "l1-LR, celer"}
        chosen |= {"l1-LR, SGD"}
        shown[density] = compared(plan.thin._replace(near=near), train, test, plan, chosen)
        shown[density] = {name: density_cell(one, train) for name, one in shown[density].items()}
    names = list(shown[DENSITIES[0]])
    lines = [(f"{density:g}", *(found[name] for name in names)) for density, found in shown.items()]
    return table(("density", *names), lines)


def density_cell(one, train):
    return one.verdict or f"{one.accuracy:.3f} ({true_ones(one.features, train)}), {one.seconds:.2f} s"


def scored(model, train, test):
    """'accuracy (true ones)' of a model, fitted here."""
    quiet_fit(model, train)
    return said(model, train, test)


def said(model, train, test):
    return f"{np.mean(model.predict(test.X) == test.y):.3f} ({true_ones(features_of(model), train)})"


def by_number(plan, train, test):
    """Figures 2 (a) to (c): accuracy and true ones against the number of features."""
    near, lines = plan.main[0].near, []
    for wanted in plan.counts:
        svm = with_about(wanted, rivals.l1_svm(), train, near.svm)
        lr = with_about(wanted, rivals.l1_lr(), train, near.lr)
        near = Strengths(svm, lr)
        models = {
            "FGM": fgm_by_rule(wanted),
            "FGM, growth alone": fgm_by_rule(wanted, elimination=False),
            "FGM, logistic": fgm_by_rule(wanted, loss="logistic"),
            "l1-SVM": rivals.l1_svm(svm),
            "l1-SVM, de-biased": Refitted(rivals.l1_svm(svm), LinearSVC(C=20.0, dual=False)),
            "l1-LR": rivals.l1_lr(lr),
        }
        lines.append((wanted, *(scored(model, train, test) for model in models.values())))
    return table(("features", *models), lines)


def stations(model):
    """Numbers of features at which the fit of ``model`` stopped on its way back from too many."""
    return [station.features.size for station in model.path_ if station.phase == "thresh"]


def along(plan, train, test, most=12):
    """The models that one fit passes while it takes features out again."""
    model = quiet_fit(fgm_by_rule(plan.main[0].wanted), train)
    counts = stations(model)
    kept = sorted({counts[i] for i in np.linspace(0, len(counts) - 1, min(most, len(counts))).astype(int)})
    return table(("features", "accuracy (true ones)"), [(k, said(model.at(k), train, test)) for k in kept])


def sensitivity(plan, train, test, option, values):
    """Figures 10 to 12: one line for each value of an option."""
    lines = []
    for value in values:
        model = fgm_by_rule(plan.main[0].wanted, elimination=False, max_iter=1000, **{option: value})
        start = time.perf_counter()
        quiet_fit(model, train)
        seconds = time.perf_counter() - start
        cells = model.selection_.features.size, said(model, train, test), model.n_iter_
        lines.append((f"{value:g}", *cells, f"{model.selection_.trace.passes:.1f}", f"{seconds:.2f}"))
    return table((option, "features", "accuracy (true ones)", "turns", "passes", "seconds"), lines)


def with_shift(plan):
    """Figure 6 (a)."""
    train, test = wide(plan.main[0], shift=SHIFT)
    lines, near = [], {True: plan.main[0].near.svm, False: plan.main[0].near.svm}
    for wanted in plan.shifted:
        cells = [scored(fgm_by_rule(wanted, fit_intercept=shift), train, test) for shift in (True, False)]
        for shift in (True, False):
            near[shift] = with_about(wanted, rivals.l1_svm(fit_intercept=shift), train, near[shift])
            cells.append(scored(rivals.l1_svm(near[shift], fit_intercept=shift), train, test))
        lines.append((wanted, *cells))
    return table(("features", "FGM with shift", "FGM without", "l1-SVM with shift", "l1-SVM without"), lines)


def report(quick=False):
    """The section of docs/benchmarks.md."""
    plan = QUICK if quick else FULL
    parts = ["## FGM and others on made data (paper 1, sections 8.2 and 8.3)", explained(plan)]
    for size in plan.main:
        train, test = wide(size)
        parts += [f"### {size.name} (figures 2 and 3)", main_table(size, train, test, plan)]
    train, test = long(plan.long)
    parts += [f"### Many more rows than columns: {plan.long.name}", LONG_TEXT]
    parts += [main_table(plan.long, train, test, plan)]
    parts += ["### By density (figure 4)", density_text(plan), by_density(plan)]
    parts += [f"### With a shift of {SHIFT:g} (figure 6)", SHIFT_TEXT, with_shift(plan)]
    train, test = wide(plan.main[0])
    parts += ["### By number of features (figure 2)", NUMBER_TEXT, by_number(plan, train, test)]
    parts += [ALONG_TEXT, along(plan, train, test)]
    parts += ["### Sensitivity to B (figures 11 and 12)", f"{plan.main[0].name}, squared hinge, growth alone."]
    parts += [sensitivity(plan, train, test, "features_per_turn", plan.per_turn)]
    parts += [
        "### Sensitivity to C (figure 10)",
        f"{plan.main[0].name}, squared hinge, growth alone; the default is 1.",
    ]
    parts += [sensitivity(plan, train, test, "C", plan.strengths)]
    return "\n\n".join(parts)


def main_table(size, train, test, plan):
    return table(HEAD, main_lines(compared(size, train, test, plan), train))


def explained(plan):
    """How the main tables were made."""
    return (
        "Gaussian X with as many relevant columns as are asked for. C of the l1 models is found off the clock so that "
        "they end within 3 % of that number: once for l1-SVM, and once for the solvers of l1-LR, whose problem is the "
        "same (LIBLINEAR penalises the shift, celer has none); SGD, which does not get to the optimum, may end "
        "elsewhere. De-biased: a plain SVM or LR, C = 20, on the columns that the l1 model chose. All else has its "
        "defaults, but SVM on all columns is solved in the dual unless rows are more, and SGD runs for "
        f"{' or '.join(str(size.epochs) for size in plan.main)} epochs of constant steps, tuned for that on "
        "smaller data of this kind with its test accuracy in view, which favours it: with default steps it is far "
        "worse. Passes of SGD and SAGA are epochs. FGM uses all cores unless told otherwise; "
        "the others know only one. Every model is first fitted in a process forked from the one that holds the data, "
        f"where memory is measured and which is ended after {plan.limit:g} s. Fits of under {rivals.FAST:g} s are then "
        f"repeated in one process: seconds are medians of {plan.repeats} interleaved rounds there, and for longer fits "
        "those of the first. The column after them divides by the seconds of l1-LR: of LIBLINEAR or, where it did not "
        "end, of the next solver which did. Memory is the peak of anonymous pages. No memory: X, the test set and what "
        "the model needs are over 24 GiB, or over what the machine has free. LIBLINEAR keeps 16 bytes an entry, "
        "its l1 solvers a transposed copy of as many, beside the copy in float64 that scikit-learn makes."
    )


LONG_TEXT = (
    f"Made to be like epsilon: {FACTORS} factors in all columns, rows of length one, weights of both signs, "
    f"{TURNED:.0%} of the labels turned over (so that {1 - TURNED:.2f} is the best accuracy)."
)
SHIFT_TEXT = "Accuracy (true ones). Labels sign(Xw - 4); l1-SVM within 3 % of the number of features."
NUMBER_TEXT = "Accuracy (true ones). The l1 models are within 3 % of the number of features."
ALONG_TEXT = "The models that one fit of FGM passes while it takes features out again, `model.at(k)`:"


def density_text(plan):
    size = plan.thin
    return (
        f"{size.rows} x {size.columns} (the paper: 8192 x 65536), {size.wanted} features; accuracy (true ones), "
        f"seconds. X is CSR where under {SPARSE_BELOW:g} of its entries are there. SGD: {size.epochs} epochs."
    )


if __name__ == "__main__":
    alone.run(report, __doc__)
