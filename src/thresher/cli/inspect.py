"""``thresher inspect``: a model file in words."""

from dataclasses import asdict, replace

from thresher.cli.app import WrongUsage
from thresher.cli.files import Names, by_weight, path_of
from thresher.cli.show import Voice, add, grid
from thresher.estimators.fgm import FGMClassifier
from thresher.estimators.sparse_svm_path import SparseSVCPath
from thresher.estimators.stream import StreamClassifier
from thresher.models import read as read_model
from thresher.results import format_ranges

CLASSES_SHOWN = 6
REMOVED = ("features_removed", "samples_removed")


def run(model, features, point, top, names_only, json):
    """Read the file and show what is in it."""
    voice = Voice(False, json)
    if names_only and json:
        raise WrongUsage("--names-only and --json are two kinds of output; take one")
    with voice.heard():
        found = chosen(read_model(path_of(model)), features, point)
    if names_only:
        names, selection = Names(found.names, found.source.index_base), found.estimator.selection_
        for name in names.features(found.estimator.space_, selection.features[by_weight(selection)[:top]]):
            voice.say(name)
        return 0
    describe(voice, found, top=top)
    origin(voice, found)
    voice.report(model=path_of(model), **facts(found, top))
    return 0


def chosen(model, features, point):
    """The model with so many features out of its path, or at a point of its grid; itself if neither is asked for."""
    clf = model.estimator
    if features is not None and not isinstance(clf, FGMClassifier):
        raise WrongUsage(
            "--features is for models of select" + "; of a grid take --point" * isinstance(clf, SparseSVCPath)
        )
    if point is not None and not isinstance(clf, SparseSVCPath):
        raise WrongUsage(
            "--point is for models of grid" + "; of select take --features" * isinstance(clf, FGMClassifier)
        )
    if features is not None:
        return replace(model, estimator=clf.at(features))
    return model if point is None else replace(model, estimator=clf.at(*point))


def describe(voice, model, top=None):
    """The features by weight, the certificate and the reason to stop."""
    clf, names = model.estimator, Names(model.names, model.source.index_base)
    selection = clf.selection_
    order = by_weight(selection)
    shown = order if top is None else order[:top]
    two = selection.weights.ndim == 1
    heads = ["weight", "speaks for"] if two else [str(label) for label in clf.classes_[:CLASSES_SHOWN]]
    of = "" if getattr(clf, "open_ended", False) else f"of {clf.n_features_in_:,} "
    table = grid("rank", names.head, *heads, title=f"\n{selection.features.size} {of}features")
    called = names.features(clf.space_, selection.features[shown])
    for rank, (at, name) in enumerate(zip(shown, called, strict=True), 1):
        weights = selection.weights[at]
        if two:
            add(table, rank, name, f"{weights:+.6g}", clf.classes_[int(weights > 0)])
        else:
            add(table, rank, name, *(f"{weight:+.6g}" for weight in weights[:CLASSES_SHOWN]))
    voice.table(table)
    if len(shown) < order.size:
        voice.say(f"... and {order.size - len(shown)} more")
    say_proof(voice, clf)


def say_proof(voice, clf):
    """The certificate in words."""
    selection, own = clf.selection_, clf.selection_.certificate
    voice.say(f"\nwhy it stopped: {selection.stop_reason}")
    if isinstance(clf, StreamClassifier):
        voice.say(
            f"each example before it was learnt: accuracy {clf.progressive_accuracy_:.4f}, loss "
            f"{clf.progressive_loss_:.4g} ({', '.join(f'{name} {value:g}' for name, value in clf.setting_.items())})"
        )
        return
    if isinstance(clf, FGMClassifier):
        voice.say(
            f"proof: no model on equally many features has an objective below {own.pick_bound:.6g}; this one has "
            f"{own.pick_objective:.6g}, one without any {own.at_zero:.6g}: at most {own.pick_gap:.1%} of that is to be "
            "won"
        )
    else:
        voice.say(
            f"proof: no model with these penalties has an objective more than {own.objective - own.lower_bound:.1e} "
            f"below this one's {own.objective:.6g}; one without features has {own.at_zero:.6g}"
        )
    scale = "as they are" if selection.scale is None else f"scaled by {selection.scale}"
    voice.say(f"cost: {selection.trace.passes:.3g} passes over the data; columns {scale}")


def origin(voice, model):
    """Where the model comes from, and what else its file holds."""
    document, clf = model.document, model.estimator
    changed = {k: v for k, v in clf.get_params().items() if v != type(clf)().get_params()[k]}
    voice.say(f"type: {type(clf).__name__}; classes: {', '.join(map(str, clf.classes_[:20]))}")
    voice.say(f"parameters: {', '.join(f'{k}={v!r}' for k, v in changed.items()) or 'defaults'}")
    if isinstance(clf, FGMClassifier):
        voice.say(f"C = {clf.C_:g}; path: {format_ranges(clf.path_.numbers)} features")
    elif isinstance(clf, SparseSVCPath):
        i, j = place_of(clf)
        voice.say(f"grid: {clf.path_}; chosen: point {i}, {j}")
    elif isinstance(clf, StreamClassifier):
        say_settings(voice, clf)
    else:
        voice.say(f"removed: {clf.features_removed_:,} features, {clf.samples_removed_:,} samples")
    data, file = document["data"] or {}, model.source.file
    fingerprint = f"{data['rows']:,} x {data['columns']:,}, fingerprint {data['digest'][:16]}" if data else "unknown"
    fingerprint = f"{clf.n_examples_:,} examples" if isinstance(clf, StreamClassifier) else fingerprint
    voice.say(f"data: {file + ', ' if file else ''}{fingerprint}")
    voice.say(f"written: {document['written']} by thresher {document['versions']['thresher']}")


def say_settings(voice, clf):
    """What each setting of a stream came to, if there were several."""
    for each in clf.settings_ if len(clf.settings_) > 1 else ():
        voice.say(f"setting: {', '.join(f'{name} {value:.6g}' for name, value in each.items())}")


def place_of(path):
    """(i, j) of the point that a SparseSVCPath predicts with: the best, or the last one reached."""
    return path.best_index_ if hasattr(path, "best_index_") else path.path_.last


def facts(model, top=None):
    """The same for machines."""
    clf, names = model.estimator, Names(model.names, model.source.index_base)
    selection, own = clf.selection_, clf.selection_.certificate
    order = by_weight(selection)[:top]
    called = names.features(clf.space_, selection.features[order])
    listed = [
        {"rank": rank, "column": int(selection.features[at]), "name": name, "weight": selection.weights[at].tolist()}
        for rank, (at, name) in enumerate(zip(order, called, strict=True), 1)
    ]
    return {
        "n_features": selection.features.size,
        "n_features_in": clf.n_features_in_,
        "classes": clf.classes_,
        "intercept": selection.intercept,
        "features": listed,
        "stop_reason": selection.stop_reason,
        "scale": selection.scale,
        "certificate": None if own is None else {
            "objective": own.objective, "lower_bound": own.lower_bound, "gap": own.gap,
            "pick_objective": own.pick_objective, "pick_bound": own.pick_bound, "pick_gap": own.pick_gap,
            "at_zero": own.at_zero,
        },
        "passes": selection.trace.passes,
        "source": asdict(model.source),
        "data": model.document["data"],
        "versions": model.document["versions"],
        **own_facts(clf),
    }  # fmt: skip


def own_facts(clf):
    """What only this type of model has."""
    if isinstance(clf, FGMClassifier):
        return {"C": clf.C_, "path": clf.path_.numbers}
    if isinstance(clf, StreamClassifier):
        names = ("n_examples", "progressive_accuracy", "progressive_loss", "setting", "settings")
        return {name: getattr(clf, f"{name}_") for name in names}
    if not isinstance(clf, SparseSVCPath):
        removed = {"features_removed": clf.features_removed_, "samples_removed": clf.samples_removed_}
        return {"alpha": clf.alpha, "beta": clf.beta} | removed
    own, (i, j) = clf.path_, place_of(clf)
    arrays = {name: getattr(own, name) for name in ("betas", "alphas", "gap", *REMOVED)} | {"selected": own.n_features}
    scores = {"scores": clf.scores_.mean(axis=0), "best_score": clf.best_score_} if hasattr(clf, "scores_") else {}
    return {"point": [i, j], "alpha": own.alphas[i, j], "beta": own.betas[i], "grid": arrays} | scores
