"""``thresher inspect``: the content of a model file, as the model describes itself."""

from dataclasses import asdict, replace

from thresher.cli.app import WrongUsage
from thresher.cli.files import Names
from thresher.cli.imports import import_all
from thresher.cli.show import Reporter, number_that_fit
from thresher.models import read as read_model
from thresher.results import counted

PARAMETER_SHOWN = 100
FEATURES_SHOWN = 20  # by the commands that fit


def run(model, features, point, top, names_only, json, imports):
    """Load the model file and show its content."""
    reporter = Reporter(False, json)
    if names_only and json:
        raise WrongUsage("--names-only and --json cannot be combined")
    import_all(imports)
    with reporter.catching_warnings():
        loaded = chosen(read_model(model), features, point)
    if names_only:
        for name in description_of(loaded).listing.names[:top]:
            reporter.say(name)
        return 0
    describe(reporter, loaded, top=top)
    origin(reporter, loaded)
    reporter.report(model=model, **facts(loaded, top))
    return 0


def chosen(model, features, point):
    """The model with this number of features on its path, or at a point of its grid; itself if neither is given."""
    if features is None and point is None:
        return model
    clf = model.estimator
    wanted, option, other = (features, "--features", "--point") if point is None else (point, "--point", "--features")
    if clf._chosen_by != option:
        command = "select and path" if option == "--features" else "grid"
        hint = f"; for this model use {other}" if clf._chosen_by == other else ""
        raise WrongUsage(f"{option} is for models of {command}{hint}")
    return replace(model, estimator=clf.at(wanted) if option == "--features" else clf.at(*wanted))


def description_of(model):
    """What a model says of itself, with the names of columns that its file has."""
    return model.estimator.describe(Names(model.names, model.source.index_base).of)


def describe(reporter, model, top=None):
    """Show what was selected, by importance, why the fit ended, and what is proven."""
    description = description_of(model)
    listing, classes = description.listing, description.classes
    head = Names(model.names, model.source.index_base).head
    before, weights, after = zip(*listing.table(classes, head, top), strict=True)
    n_weights = len(weights[0])
    if listing.weights.ndim > 1:
        others = [*zip(*before, strict=True), *zip(*after, strict=True)]
        n_weights = number_that_fit(list(zip(*weights, strict=True)), others, reporter.console.width)
    heads, *rows = ([*left, *own[:n_weights], *right] for left, own, right in zip(before, weights, after, strict=True))
    reporter.table(heads, rows, f"\n{listing.title}")
    if len(rows) < listing.size:
        reporter.say(f"... and {listing.size - len(rows)} more")
    if n_weights < len(weights[0]):
        reporter.say(f"... and {counted(len(weights[0]) - n_weights, 'more class')} (--json has all)")
    reporter.say(f"{listing.ranked_by}\n")
    for sentence in [*description.sentences, *filter(None, [description.score])]:
        reporter.say(sentence)


def origin(reporter, model):
    """Show how the model was fitted and on what, and what else its file contains."""
    document, clf = model.document, model.estimator
    defaults = type(clf)().get_params()
    changed = {k: v for k, v in clf.get_params().items() if repr(v) != repr(defaults[k])}
    reporter.say(f"type: {type(clf).__name__}; classes: {', '.join(map(str, clf.classes_[:20]))}")
    reporter.say(f"parameters: {', '.join(f'{k}={shortened(v)}' for k, v in changed.items()) or 'defaults'}")
    description = description_of(model)
    for line in description.origin:
        reporter.say(line)
    data, file = document["data"] or {}, model.source.file
    read = "unknown"
    if data:
        read = f"{data['rows']:,} x {data['columns']:,}, fingerprint {data['digest'][:16]}"
    elif "n_examples" in description.facts:
        read = f"{description.facts['n_examples']:,} examples"
    reporter.say(f"data: {file + ', ' if file else ''}{read}")
    version = document["versions"]["thresher"]
    reporter.say(f"written: {document['written']}{f' by thresher {version}' if version else ''}")


def shortened(value):
    """A parameter as a string that fits a line."""
    text = " ".join(repr(value).split())
    return text if len(text) <= PARAMETER_SHOWN else f"{text[:PARAMETER_SHOWN]}..."


def facts(model, top=None):
    """The same as JSON-serializable values."""
    description = description_of(model)
    return description.facts | {
        "features": description.listing.records(top),
        "source": asdict(model.source),
        "data": model.document["data"],
        "versions": model.document["versions"],
    }
