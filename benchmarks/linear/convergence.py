"""Figures 1 and 5 of paper 1 as tables: exact against inexact inner problems, and what a shift is worth."""

import time
import warnings
from contextlib import contextmanager
from typing import NamedTuple
from unittest import mock

from benchmarks import alone
from benchmarks.book import table
from benchmarks.rule import fgm_by_rule
from thresher import FGMClassifier
from thresher.datasets import make_wide
from thresher.errors import FewerFeaturesWarning
from thresher.optim.solvers import newton

C = 10.0
INNER = {"exact 1e-6": 1e-6, "inexact 1e-3": 1e-3, "auto": "auto"}
SHIFT = 4.0


class Sizes(NamedTuple):
    """The made data, how many features are grown, B by turns, and rounds of timing."""

    rows: int
    columns: int
    relevant: int
    wanted: int
    per_turn: tuple[int, ...]
    repeats: int


FULL, QUICK = Sizes(2048, 4096, 100, 300, (10, 30, 50), 3), Sizes(256, 512, 20, 40, (5, 10), 1)


class Fit(NamedTuple):
    """A fitted classifier, its seconds, and what was spent inside the turns."""

    classifier: FGMClassifier
    seconds: float
    newton_steps: int

    @property
    def trace(self):
        return self.classifier.selection_.trace

    @property
    def relative_objectives(self):
        """Objective after each turn over the objective without features; the first is 1."""
        at_zero = self.classifier.selection_.certificate.at_zero
        return [turn.objective / at_zero for turn in self.trace.turns]


@contextmanager
def counted_steps():
    """Collect the steps of every inner solve, which the trace does not keep."""
    steps, solve = [], newton.solve

    def counting(*args, **options):
        found = solve(*args, **options)
        steps.append(found.iterations)
        return found

    with mock.patch.object(newton, "solve", counting):
        yield steps


def fitted(data, sizes, per_turn, *, inner_tol=None, **options):
    """One timed fit that is not stopped by its gap before all turns are done."""
    turns = sizes.wanted // per_turn
    classifier = fgm_by_rule(
        sizes.wanted, C=C, elimination=False, features_per_turn=per_turn, tol=0.0, max_iter=turns, **options
    )
    classifier._inner_tol = inner_tol
    with counted_steps() as steps, warnings.catch_warnings():
        warnings.simplefilter("ignore", FewerFeaturesWarning)  # some of the columns taken get no weight
        start = time.perf_counter()
        classifier.fit(data.X, data.y)
        seconds = time.perf_counter() - start
    return Fit(classifier, seconds, sum(steps))


def fitted_in_turn(data, sizes, per_turn, variants):
    """For each variant the fit of median seconds, of ``sizes.repeats`` interleaved rounds."""
    fits = {name: [] for name in variants}
    for _ in range(sizes.repeats):
        for name, options in variants.items():
            fits[name].append(fitted(data, sizes, per_turn, **options))
    return {name: sorted(done, key=lambda fit: fit.seconds)[len(done) // 2] for name, done in fits.items()}


def by_turn(curves, digits):
    """A line for each turn and a column for each fit; a fit that ended earlier leaves its cells empty."""
    longest = max(len(curve) for curve in curves.values())
    lines = []
    for turn in range(1, longest):
        cells = [f"{curve[turn]:.{digits}f}" if turn < len(curve) else "" for curve in curves.values()]
        lines.append([turn, *cells])
    return table(["turn", *curves], lines)


def work_row(per_turn, name, fit):
    """A line of the table of costs."""
    turns = fit.trace.turns
    return (
        per_turn,
        name,
        len(turns) - 1,
        turns[-1].features,
        f"{fit.relative_objectives[-1]:.5f}",
        f"{turns[-1].gap:.1e}",
        f"{fit.seconds:.2f}",
        f"{fit.trace.seconds['solve']:.2f}",
        fit.newton_steps,
    )


def exact_and_inexact(sizes):
    """Figure 1."""
    data = make_wide(sizes.rows, sizes.columns, sizes.relevant)
    fitted(data, sizes, sizes.per_turn[0])  # compiles
    variants = {name: {"inner_tol": tol} for name, tol in INNER.items()}
    costs, curves = [], []
    for per_turn in sizes.per_turn:
        fits = fitted_in_turn(data, sizes, per_turn, variants)
        costs += [work_row(per_turn, name, fit) for name, fit in fits.items()]
        relative = {name: fit.relative_objectives for name, fit in fits.items()}
        title = f"Objective over its value without features, B = {per_turn}:"
        curves.append(f"{title}\n\n{by_turn(relative, 5)}")
        print(*costs[-len(fits) :], sep="\n", flush=True)
    header = ("B", "inner_tol", "turns", "features", "objective", "gap", "s", "solve s", "Newton steps")
    return "\n\n".join([table(header, costs), *curves])


def with_and_without_shift(sizes):
    """Figure 5, and the accuracy on as many new samples."""
    data = make_wide(sizes.rows, sizes.columns, sizes.relevant, shift=SHIFT)
    test = make_wide(
        sizes.rows, sizes.columns, shift=SHIFT, relevant=data.relevant, weights=data.weights, random_state=1
    )
    variants = {f"fit_intercept={yes}": {"fit_intercept": yes} for yes in (True, False)}
    fits = fitted_in_turn(data, sizes, sizes.per_turn[1], variants)
    lines = []
    for name, fit in fits.items():
        accuracy, seconds = f"{fit.classifier.score(test.X, test.y):.4f}", f"{fit.seconds:.2f}"
        first, last = fit.trace.turns[0], fit.trace.turns[-1]
        objectives = f"{last.objective:.1f}", f"{first.objective:.1f}"
        lines.append((name, last.features, *objectives, accuracy, seconds))
    header = ("variant", "features", "objective", "without features", "test accuracy", "s")
    # not relative: without a shift the objective at zero is another one
    curves = {name: [turn.objective for turn in fit.trace.turns] for name, fit in fits.items()}
    return f"{table(header, lines)}\n\nObjective after each turn:\n\n{by_turn(curves, 1)}"


def report(quick=False):
    """The section of docs/benchmarks.md."""
    sizes = QUICK if quick else FULL
    made = f"make_wide({sizes.rows}, {sizes.columns}, n_relevant={sizes.relevant})"
    explained = (
        f"`{made}`, C = {C:g}, {sizes.wanted} features, growth alone, as many turns as B needs for them. "
        "Newton steps are the inner iterations of all turns. "
        f"Seconds are medians of {sizes.repeats} interleaved rounds."
    )
    shifted = f"The same data with labels sign(Xw - {SHIFT:g}), B = {sizes.per_turn[1]}."
    parts = ["## Convergence"]
    parts += ["### Exact and inexact turns (paper 1, figure 1)", explained, exact_and_inexact(sizes)]
    parts += ["### With and without a shift (paper 1, figure 5)", shifted, with_and_without_shift(sizes)]
    return "\n\n".join(parts)


if __name__ == "__main__":
    alone.run(report, __doc__)
