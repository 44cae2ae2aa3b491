"""Ours: StreamClassifier with the settings of the paper's comparisons, chosen on the training stream."""

from benchmarks.online.judge import Run, right, timed
from thresher import StreamClassifier

L2 = (1e-2, 1e-4, 1e-6)
GRIDS = {
    "b-arda": {"step_size": [10.0**-k for k in range(1, 7)], "l2": list(L2)},
    "b-amd": {"step_size": [10.0**-k for k in range(1, 7)], "l2": list(L2)},
    "ofs": {"step_size": [10.0**-k for k in range(1, 8)], "l2": list(L2)},
    "sofs": {"gamma": [10.0**k for k in range(-2, 8)]},
}
AT = {"farm_ads": (500, 1)}  # budget and passes of the choice
OTHERS_AT = (300, 5)


def classifier(method, budget, seed=0, **setting):
    """A StreamClassifier as the paper has it: no intercept."""
    return StreamClassifier(budget, method, fit_intercept=False, delta=0.01, random_state=seed, **setting)


def run(data, seed, method, budget, setting):
    """All passes in the orders of one seed."""
    model = classifier(method, budget, seed, n_passes=data.passes, **setting)
    _, seconds = timed(lambda: model.fit(data.X, data.y))
    accuracy = right(model.decision_function(data.X_test), data.y_test)
    return Run(accuracy, model.selection_.features.size, seconds / data.rounds)


def choice(data, method):
    """The first setting of the grid with the most progressive accuracy: test rows have no part in it."""
    budget, passes = AT.get(data.name, OTHERS_AT)
    model = classifier(method, budget, n_passes=min(passes, data.passes), **GRIDS[method]).fit(data.X, data.y)
    best = max(model.settings_, key=lambda each: each["progressive_accuracy"])
    return {key: value for key, value in best.items() if not key.startswith("progressive")}


def told(setting):
    """A setting in words."""
    return ", ".join(f"{value:.3g}" for value in setting.values())
