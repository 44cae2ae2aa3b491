"""``thresher inspect``: the content of a model file."""

from dataclasses import asdict, replace

import numpy as np

from thresher.cli.app import WrongUsage
from thresher.cli.files import Names, path_of
from thresher.cli.options.losses import little_gained, loss_facts, loss_in_words, measure_of, title_of
from thresher.cli.show import Reporter, add, counted, new_table, number_that_fit
from thresher.estimators.alignment.classifier import AlignmentPathClassifier
from thresher.estimators.fgm.classifier import FGMClassifier
from thresher.estimators.miles.classifier import MILESClassifier
from thresher.estimators.sparse_svm.path import SparseSVCPath
from thresher.estimators.stream.classifier import StreamClassifier
from thresher.features.kernels.fitted import KernelFeatures
from thresher.models import read as read_model
from thresher.results import format_ranges, rounded

GROUPS_SHOWN, PARAMETER_SHOWN, VALUES_SHOWN = 50, 100, 3
SCREENING = ("features_removed", "samples_removed", "screened")


def run(model, features, point, top, names_only, json):
    """Load the model file and show its content."""
    reporter = Reporter(False, json)
    if names_only and json:
        raise WrongUsage("--names-only and --json cannot be combined")
    with reporter.catching_warnings():
        loaded = chosen(read_model(path_of(model)), features, point)
    if names_only:
        names, listed = Names(loaded.names, loaded.source.index_base), Listed(loaded.estimator)
        for name in listed.names(names, listed.ranking[:top]):
            reporter.say(name)
        return 0
    describe(reporter, loaded, top=top)
    origin(reporter, loaded)
    reporter.report(model=path_of(model), **facts(loaded, top))
    return 0


def chosen(model, features, point):
    """The model with this number of features on its path, or at a point of its grid; itself if neither is given."""
    clf = model.estimator
    of_path = isinstance(clf, (FGMClassifier, MILESClassifier, AlignmentPathClassifier))
    if features is not None and not of_path:
        raise WrongUsage(
            "--features is for models of select and path" + "; for a grid use --point" * isinstance(clf, SparseSVCPath)
        )
    if point is not None and not isinstance(clf, SparseSVCPath):
        raise WrongUsage("--point is for models of grid" + "; for select and path use --features" * of_path)
    if features is not None:
        return replace(model, estimator=clf.at(features))
    return model if point is None else replace(model, estimator=clf.at(*point))


class Listed:
    """What is listed of a model: its features or, of a kernel, the inputs with the length of their weights."""

    def __init__(self, clf):
        selection, self.space = clf.selection_, clf.fitted_features_
        self.expanded, self.pairs = hasattr(clf, "expansion_"), selection.pairs
        self.signed = not isinstance(clf, AlignmentPathClassifier)  # whether weights speak for a class
        self.ids, self.weights = selection.features, selection.weights
        self.importance, self.ranking, self.noun = selection.importance, selection.ranking, "features"
        self.kernel_list = self.space.listed if isinstance(self.space, KernelFeatures) else None
        if self.kernel_list is not None:
            self.noun = "kernels"
        if self.expanded:
            self.ids, self.noun = clf.get_support(indices=True), "columns"
            place = np.searchsorted(self.ids, selection.features // clf.expansion_.size)
            squares = np.square(selection.weights).reshape(place.size, -1).sum(axis=1)
            self.weights = np.sqrt(np.bincount(place, weights=squares, minlength=self.ids.size))
            self.ranking = np.argsort(-self.weights, kind="stable")
        self.prototypes = None
        if isinstance(clf, MILESClassifier):
            lengths = np.linalg.norm(selection.weights.reshape(self.ids.size, -1), axis=1)
            self.noun, self.ranking = "different training instances", np.argsort(-lengths, kind="stable")
            self.prototypes = clf.instances_.take_dense(self.ids)

    def names(self, names, places):
        """What those at ``places`` are called."""
        if self.prototypes is not None:
            return [f"row {row}" for row in self.ids[places].tolist()]
        of = self.space.input_names if self.pairs is None and self.kernel_list is None else self.space.names
        return of(self.ids[places], names.of)

    def place(self, j):
        """Where the feature at ``j`` is found in X, for JSON: its column, or those of a product or of a kernel."""
        if self.prototypes is not None:
            return {"row": int(self.ids[j]), "values": self.prototypes[j].tolist()}
        if self.kernel_list is not None:
            return {"kernel": int(self.ids[j]), "columns": self.kernel_list.columns(self.ids[[j]]).tolist()}
        return {"column": int(self.ids[j])} if self.pairs is None else {"pair": self.pairs[j].tolist()}


def describe(reporter, model, top=None):
    """Show the features by importance, the certificate and the stop reason."""
    clf, names = model.estimator, Names(model.names, model.source.index_base)
    selection, listed = clf.selection_, Listed(clf)
    order, importance = listed.ranking, listed.importance
    shown = order if top is None else order[:top]
    binary, known = listed.weights.ndim == 1, ["importance"] * (importance is not None)
    heads = ["weight", "favours class"] if binary else [str(label) for label in clf.classes_]
    heads = ["length of weights"] if listed.expanded else heads if listed.signed else ["kernel weight"]
    of = "" if getattr(clf, "open_ended", False) else f"of {clf.n_features_in_:,} "
    of = of if selection.products is None else f"of {selection.products.n_candidates:,} "
    of = of if listed.kernel_list is None else f"of {listed.space.width:,} "
    head, tail = names.head, []
    if listed.prototypes is not None:
        of, head, tail = f"of {clf.instances_.n_candidates:,} ", "instance", ["values"]
    before, weighed, after = [["rank", head, *known]], [heads], [tail]  # rows of cells, the header first
    for rank, (place, name) in enumerate(zip(shown, listed.names(names, shown), strict=True), 1):
        weights = listed.weights[place]
        before.append([rank, name, *([] if importance is None else [f"{importance[place]:.4g}"])])
        after.append([] if listed.prototypes is None else [in_few(listed.prototypes[place])])
        if listed.expanded or not listed.signed:
            weighed.append([f"{weights:.6g}"])
        elif binary:
            weighed.append([f"{weights:+.6g}", clf.classes_[int(weights > 0)]])
        else:
            weighed.append([f"{weight:+.4g}" for weight in weights])
    classes = len(heads)
    if not binary:
        others = [*zip(*before, strict=True), *zip(*after, strict=True)]
        classes = number_that_fit(list(zip(*weighed, strict=True)), others, reporter.console.width)
    rows = [[*left, *cells[:classes], *right] for left, cells, right in zip(before, weighed, after, strict=True)]
    table = new_table(*rows[0], title=f"\n{listed.ids.size} {of}{listed.noun}")
    for row in rows[1:]:
        add(table, *row)
    reporter.table(table)
    if len(shown) < order.size:
        reporter.say(f"... and {order.size - len(shown)} more")
    if classes < len(heads):
        reporter.say(f"... and {counted(len(heads) - classes, 'more class')} (--json has all)")
    reporter.say(what_ranks(clf))
    if selection.groups is not None and selection.noun == "group":
        groups = [str(label) for label in selection.groups.tolist()]
        more = f", ... and {len(groups) - GROUPS_SHOWN} more" if len(groups) > GROUPS_SHOWN else ""
        reporter.say(f"{counted(len(groups), 'group')}: {', '.join(groups[:GROUPS_SHOWN])}{more}")
    say_certificate(reporter, clf)
    say_score(reporter, clf)


def in_few(values):
    """The first numbers of a row."""
    return " ".join(f"{value:.4g}" for value in values[:VALUES_SHOWN]) + " ..." * (values.size > VALUES_SHOWN)


def what_ranks(clf):
    """A line on what the features are ranked by."""
    if isinstance(clf, MILESClassifier):
        return "ranked by |weight|; importance: |weight| x standard deviation of the similarity over the training bags"
    if clf.selection_.importance is not None:
        what = "column" if clf.selection_.products is None else "product"
        return f"importance: |weight| x standard deviation of the {what}, on the training data"
    if hasattr(clf, "expansion_"):
        return f"ranked by the length of the weights of the {clf.expansion_.size} numbers that the kernel makes of each"
    if isinstance(clf, AlignmentPathClassifier):
        return "ranked by the weight of the feature's kernel"
    why = "a stream keeps no statistics of columns"
    if not isinstance(clf, StreamClassifier):
        why = "the file, of an earlier version, has no standard deviations of columns; fit again for importance"
    return f"ranked by |weight|, which depends on the units of a column: {why}"


def say_certificate(reporter, clf):
    """Print the stop reason and the certificate."""
    selection, certificate = clf.selection_, clf.selection_.certificate
    reporter.say(f"\nstop reason: {selection.stop_reason}")
    if isinstance(clf, StreamClassifier):
        reporter.say(
            f"progressive accuracy {clf.progressive_accuracy_:.4f}, progressive loss "
            f"{clf.progressive_loss_:.4g} ({', '.join(f'{name} {value:g}' for name, value in clf.setting_.items())})"
        )
        return
    reporter.say(f"certificate: {clf.proof()}")
    if isinstance(clf, AlignmentPathClassifier):
        left_out = clf.path_.deviation_bound[clf.point_]
        reporter.say(f"objective: {clf.path_.objective[clf.point_]:.6g}, at most {left_out:.2g} above its minimum")
        reporter.say(f"cost: {rounded(selection.trace.passes)} passes over the data")
        return
    reporter.say(
        f"training objective: {certificate.pick_objective:.6g} with these features, {certificate.at_zero:.6g} without "
        f"features; lower bound {certificate.pick_bound:.6g}"
    )
    if note := little_gained(clf):
        reporter.say(note)
    reporter.say(f"cost: {rounded(selection.trace.passes)} passes over the data; scale: {selection.scale}")


def say_score(reporter, clf):
    """Print the score that a model was chosen by, and that it is not an estimate for new data."""
    if not hasattr(clf, "scores_") and not isinstance(clf, AlignmentPathClassifier):
        return
    if isinstance(clf, AlignmentPathClassifier):
        if not hasattr(clf, "best_score_") or clf.point_ != clf.best_index_:
            return
        n_judged = np.count_nonzero(~np.isnan(clf.cv_results_["mean_test_score"]))
        score, measure, what = clf.best_score_, scoring_name(clf), f"the best of {n_judged:,} models"
    elif isinstance(clf, SparseSVCPath):
        score, measure, what = clf.best_score_, scoring_name(clf), f"the best of {clf.path_.alphas.size:,} points"
    else:
        tried = f"{clf.Cs_.size} values of C"
        if isinstance(clf, MILESClassifier):
            tried = f"{clf.Cs_.size * clf.sigmas_.size} pairs of sigma and C"
        measure = "accuracy" if measure_of(clf.loss) is None else title_of(clf.loss)
        score, what = clf.scores_.mean(axis=0).max(), f"the best of {tried}"
    reporter.say(
        f"cross-validation: {measure} {score:.4f}, {what}. It was chosen by this score, which is therefore too high: "
        "not\nan estimate for new data. For one, score samples that were not in the training data (thresher predict)."
    )


def scoring_name(path):
    """The name of the score that cross-validation maximises."""
    return path.scoring if isinstance(path.scoring, str) else "score"


def origin(reporter, model):
    """Show the source of the model, and what else its file contains."""
    document, clf = model.document, model.estimator
    defaults = type(clf)().get_params()
    changed = {k: v for k, v in clf.get_params().items() if repr(v) != repr(defaults[k])}
    reporter.say(f"type: {type(clf).__name__}; classes: {', '.join(map(str, clf.classes_[:20]))}")
    reporter.say(f"parameters: {', '.join(f'{k}={shortened(v)}' for k, v in changed.items()) or 'defaults'}")
    if isinstance(clf, FGMClassifier):
        reporter.say(f"loss: {loss_in_words(clf)}")
        reporter.say(f"C = {clf.C_:g}; path: {format_ranges(clf.path_.numbers)} {clf.selection_.noun}s")
    elif isinstance(clf, MILESClassifier):
        path = f"path: {format_ranges(clf.path_.numbers)} instances"
        reporter.say(f"sigma = {clf.sigma_:g}; C = {clf.C_:g}; {path}")
    elif isinstance(clf, SparseSVCPath):
        i, j = point_of(clf)
        reporter.say(f"grid: {clf.path_}; chosen: point {i}, {j}")
    elif isinstance(clf, StreamClassifier):
        say_settings(reporter, clf)
    elif isinstance(clf, AlignmentPathClassifier):
        reporter.say(f"C = {clf.C_:g}; path: {clf.path_}; p = {clf.path_.p[clf.point_]:g}")
    else:
        tested = "" if clf.screening not in ("auto", None) else "; no screening tests were run"
        reporter.say(f"removed: {clf.features_removed_:,} features, {clf.samples_removed_:,} samples{tested}")
    data, file = document["data"] or {}, model.source.file
    fingerprint = f"{data['rows']:,} x {data['columns']:,}, fingerprint {data['digest'][:16]}" if data else "unknown"
    fingerprint = f"{clf.n_examples_:,} examples" if isinstance(clf, StreamClassifier) else fingerprint
    reporter.say(f"data: {file + ', ' if file else ''}{fingerprint}")
    reporter.say(f"written: {document['written']} by thresher {document['versions']['thresher']}")


def shortened(value):
    """A parameter as a string that fits a line."""
    text = " ".join(repr(value).split())
    return text if len(text) <= PARAMETER_SHOWN else f"{text[:PARAMETER_SHOWN]}..."


def say_settings(reporter, clf):
    """Show the results of the settings of a stream, if there are several."""
    for setting in clf.settings_ if len(clf.settings_) > 1 else ():
        reporter.say(f"setting: {', '.join(f'{name} {value:.6g}' for name, value in setting.items())}")


def point_of(path):
    """(i, j) of the point that a SparseSVCPath predicts with: the best, or the last one solved."""
    return path.best_index_ if hasattr(path, "best_index_") else path.path_.last


def facts(model, top=None):
    """The same as JSON-serializable values."""
    clf, names = model.estimator, Names(model.names, model.source.index_base)
    selection, certificate, listed = clf.selection_, clf.selection_.certificate, Listed(clf)
    order, importance = listed.ranking[:top], listed.importance
    features = [
        {
            "rank": rank, **listed.place(j), "name": name,
            "importance": None if importance is None else float(importance[j]), "weight": listed.weights[j].tolist(),
        }
        for rank, (j, name) in enumerate(zip(order, listed.names(names, order), strict=True), 1)
    ]  # fmt: skip
    return {
        "n_features": listed.ids.size,
        "n_features_in": clf.n_features_in_,
        "classes": clf.classes_,
        "intercept": selection.intercept,
        "features": features,
        "ranked_by": "importance" if listed.prototypes is None and importance is not None else "weight",
        "stop_reason": selection.stop_reason,
        "scale": selection.scale,
        "certificate": None if certificate is None else {
            name: getattr(certificate, name)
            for name in (
                "objective", "lower_bound", "gap", "pick_objective", "pick_bound", "pick_gap", "at_zero",
            )
        },
        "proof": None if certificate is None else clf.proof(),
        "passes": selection.trace.passes,
        "source": asdict(model.source),
        "data": model.document["data"],
        "versions": model.document["versions"],
        **own_facts(clf),
    }  # fmt: skip


def own_facts(clf):
    """Values that only this type of model has."""
    if isinstance(clf, FGMClassifier):
        groups = {} if clf.selection_.groups is None else {"groups": clf.selection_.groups.tolist()}
        return loss_facts(clf.loss) | {"C": clf.C_, "path": clf.path_.numbers} | groups
    if isinstance(clf, MILESClassifier):
        candidates = {"n_candidates": clf.instances_.n_candidates}
        return loss_facts(clf.loss) | {"C": clf.C_, "sigma": clf.sigma_, "path": clf.path_.numbers} | candidates
    if isinstance(clf, StreamClassifier):
        names = ("n_examples", "progressive_accuracy", "progressive_loss", "setting", "settings")
        return {name: getattr(clf, f"{name}_") for name in names}
    if isinstance(clf, AlignmentPathClassifier):
        names = ("p", "n_features", "objective", "deviation_bound", "cv_score")
        scores = {"best_score": clf.best_score_} if hasattr(clf, "best_score_") else {}
        chosen_p = {"C": clf.C_, "p": clf.path_.p[clf.point_]} | scores
        return chosen_p | {"path": {name: getattr(clf.path_, name) for name in names}}
    if not isinstance(clf, SparseSVCPath):
        removed = {"features_removed": clf.features_removed_, "samples_removed": clf.samples_removed_}
        return {"alpha": clf.alpha, "beta": clf.beta} | removed
    results, (i, j) = clf.path_, point_of(clf)
    arrays = {name: getattr(results, name) for name in ("betas", "alphas", "gap", *SCREENING)}
    arrays |= {"selected": results.n_features}
    scores = {"scores": clf.scores_.mean(axis=0), "best_score": clf.best_score_} if hasattr(clf, "scores_") else {}
    return {"point": [i, j], "alpha": results.alphas[i, j], "beta": results.betas[i], "grid": arrays} | scores
