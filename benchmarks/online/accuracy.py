"""Paper 4, figures 1 and 2: test accuracy against the budget, held against a literal port of the methods."""

from functools import partial

from benchmarks import alone
from benchmarks.book import table
from benchmarks.online import reference
from benchmarks.online.contestants import AT, GRIDS, OTHERS_AT, choice, classifier, run, told
from benchmarks.online.data import sets
from benchmarks.online.judge import RULE, SEEDS, agrees, peak, score
from benchmarks.sifs.runner import pinned

METHODS = reference.METHODS
OWN = {"dexter"}  # settings are the authors'


def settings_of(data):
    """{method: setting}: the authors' for dexter, else chosen on the training stream."""
    if data.name in OWN:
        return {method: reference.setting(data.name, method) for method in METHODS}
    return {method: choice(data, method) for method in METHODS}


def scores_of(data, settings, known=None):
    """{(method, budget): Score}; ``known`` has those that were run already with the same settings."""
    found = dict(known or {})
    for method, setting in settings.items():
        for budget in data.budgets:
            if (method, budget) not in found:
                contestant = partial(run, method=method, budget=budget, setting=setting)
                found[method, budget] = score(contestant, data)
                print(data.name, method, setting, budget, found[method, budget], flush=True)
    return found


def cell(data, method, budget, found):
    """A Score beside its Reference."""
    ref = reference.accuracy(data.name, budget, method)
    if ref is None:
        return f"{found} (-)"
    mark = "" if agrees(found, ref, data.y_test.size) else " **differs**"
    return f"{found} ({ref}){mark}"


def rows_of(data, found):
    """Accuracies, a row for each budget."""
    for budget in data.budgets:
        yield (data.name, budget, *(cell(data, method, budget, found[method, budget]) for method in METHODS))


def counted(data, found):
    """(cells that agree, cells with a reference)."""
    pairs = [(score, reference.accuracy(data.name, budget, method)) for (method, budget), score in found.items()]
    pairs = [(score, ref) for score, ref in pairs if ref is not None]
    return sum(agrees(score, ref, data.y_test.size) for score, ref in pairs), len(pairs)


def order_of(data, found):
    """Where B-ARDA is not the best, in words; "" where it is everywhere."""
    above = []
    for budget in data.budgets:
        best = max(METHODS[1:], key=lambda method: found[method, budget].mean)
        lead = found[best, budget].mean - found["b-arda", budget].mean
        if lead > 0.0:
            above.append(f"{best} {lead:.2f} above at {budget}")
    return f"{data.name}: {'; '.join(above)}" if above else f"{data.name}: B-ARDA best at every budget"


def cost_rows(data, settings, found):
    """Microseconds an example at each budget, and memory of a short fit."""
    for method in METHODS:
        micros = (f"{found[method, budget].micros:.1f}" for budget in data.budgets)
        model = classifier(method, data.budgets[2], n_passes=2, **settings[method])
        grown = peak(partial(model.fit, data.X, data.y))
        yield (f"{data.name} ({data.size})", method, *micros, f"{grown:.1f}")


def setting_rows(data, settings):
    """What was chosen here and there."""
    for method in METHODS:
        other = reference.setting(data.name, method)
        same = "yes" if told(other) == told(settings[method]) else "no"
        yield (data.name, method, told(settings[method]), told(other), same)


def about():
    """How it was measured."""
    points = ", ".join(f"{method} {_points(grid)}" for method, grid in GRIDS.items())
    return (
        f"Accuracy on the sets' own test parts, %, mean ± sd over {len(SEEDS)} random orders, of StreamClassifier "
        "without intercept, delta = 0.01, ceil(2 d / n) passes as in the paper (farm_ads 10 instead of 34). In "
        "brackets: the same for a literal port in C++ (numpy permutations of the same seeds, farm_ads one "
        "run; arcene 201 passes there, as the authors count the label as a column, and 200 here). Agreement is "
        f"{RULE}; for farm_ads sd_ref is taken to be ours. Settings: on dexter the authors' own; elsewhere the most "
        "accurate progressively (test-then-train on the training stream; test rows have no part in it) of a coarse "
        f"grid ({points} points), all of which learn side by side at budget {OTHERS_AT[0]} in {OTHERS_AT[1]} passes "
        f"(farm_ads {AT['farm_ads'][0]}, {AT['farm_ads'][1]} pass). Progressive loss, by which StreamClassifier itself "
        "chooses, agrees with the port's choices in fewer cases: it wants smaller steps, above all on arcene, where "
        "values go to 999 and early losses to thousands. Accuracy rather than loss, and the number of passes (of 1, 3, "
        "5, 10; on farm_ads of 1, 3), were themselves picked because they came nearest to the port's choices."
    )


def _points(grid):
    count = 1
    for values in grid.values():
        count *= len(values)
    return count


def tables(quick):
    """The tables by name, and lines that say what came out."""
    out = {"own": [], "theirs": [], "settings": [], "costs": []}
    orders, agree = [], {"own": [0, 0], "theirs": [0, 0]}
    for data in sets(quick, ("dexter", "basehock") if quick else ("arcene", "dexter", "basehock", "farm_ads")):
        settings = settings_of(data)
        theirs = {method: reference.setting(data.name, method) for method in METHODS}
        found = scores_of(data, settings)
        same = {key: value for key, value in found.items() if told(settings[key[0]]) == told(theirs[key[0]])}
        again = scores_of(data, theirs, same)
        out["own"].extend(rows_of(data, found))
        out["theirs"].extend(rows_of(data, again))
        out["settings"].extend(setting_rows(data, settings))
        out["costs"].extend(cost_rows(data, settings, found))
        orders.append(order_of(data, found))
        for name, scores in (("own", found), ("theirs", again)):
            agree[name] = [a + b for a, b in zip(agree[name], counted(data, scores), strict=True)]
    return out, orders, agree


def report(quick=False):
    """The section of docs/benchmarks.md."""
    with pinned():
        out, orders, agree = tables(quick)
    header = ("data", "budget", *METHODS)
    said = {name: f"{a} of {b} numbers agree." for name, (a, b) in agree.items()}
    order = (
        "In the paper B-ARDA is best at every budget. Here, by means (the test rows alone make 1 to 1.5 points "
        f"uncertain, on arcene 4): {'. '.join(orders)}."
    )
    costs = ("data", "method", *(f"{place} budget" for place in ("1st", "2nd", "3rd", "4th", "5th")), "peak MiB")
    return "\n\n".join(
        [
            "### Accuracy by budget (paper 4, figures 1 and 2)",
            about(),
            f"With the settings chosen here: {said['own']}",
            table(header, out["own"]),
            order,
            f"With the settings of the port, so that nothing but rounding and ties differs: {said['theirs']}",
            table(header, out["theirs"]),
            "Settings, (step_size, l2) or gamma:",
            table(("data", "method", "here", "port", "same"), out["settings"]),
            "Microseconds of the processor an example at each of the budgets above: the whole of `fit` by all rounds, "
            "medians over the orders, one core. Peak: growth of memory during a fit of two passes, 3rd budget.",
            table(costs, out["costs"]),
        ]
    )


if __name__ == "__main__":
    alone.run(report, __doc__)
