"""The command ``select`` and its options; see ``options``."""

from dataclasses import dataclass
from typing import Annotated, Literal, get_args

from cyclopts import Parameter, validators

from thresher.cli.app import (
    FITTING,
    MODEL,
    OUTPUT,
    READING,
    REPORTING,
    Fitting,
    Reading,
    Reporting,
    Text,
    app,
    later,
    positive_number,
    to_integer,
)  # fmt: skip

Losses = Literal[
    "squared_hinge", "logistic", "error", "f1", "fbeta", "prbep", "precision_at_k", "recall_at_k", "auc",
    "average_precision",
]  # fmt: skip
FeatureMaps = Literal["columns", "polynomial", "intersection", "additive_chi2", "additive_gaussian"]


def word_or_path(words):
    """A validator: one of the words, or module:Name, which the command imports."""

    def check(_, value):
        if value not in get_args(words) and ":" not in value:
            known = ", ".join(f'"{word}"' for word in get_args(words))
            raise ValueError(f"Choose from: {known}, or module:Name for one of your own.")

    return check


def integer_or_all(kind, tokens):
    """An integer, or the word all."""
    return "all" if tokens[0].value == "all" else to_integer(kind, tokens)


def at_least_one_or_all(kind, value):
    """Require an integer >= 1, or the word all."""
    if value != "all":
        validators.Number(gte=1)(kind, value)


def number_or_auto(kind, tokens):
    """An integer, a number with a decimal point, or the word auto."""
    text = tokens[0].value
    if text == "auto":
        return text
    return int(text) if text.isdigit() else float(text)


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class ModelOptions:
    """The model to fit.

    Parameters
    ----------
    features
        Number of features to select (of groups with --groups or --tree, of training rows with --bag-column); if not
        given, growth stops when the duality gap is within --tol. all: no selection, for the --loss of a measure, to
        compare with.
    C
        Weight of the loss relative to the penalty; auto: chosen by five-fold cross-validation for the number of
        --features; rule: nothing is chosen, but 1.0 taken, or for a measure a million divided by the number of rows.
    loss
        What is minimised: squared_hinge (an SVM), logistic (logistic regression), or one less a measure: error (the
        accuracy), f1, fbeta, prbep (precision where it equals recall), precision_at_k, recall_at_k, auc (area under the
        ROC curve), average_precision. For a rare class try f1; where only the best of a list count, precision_at_k.
        A loss or measure of your own: module:Name, a value or a class in a module, here or installed.
    at
        With --loss precision_at_k and recall_at_k: how many samples with the largest scores count, as a number, or as a
        multiple of the number of positives: 50, 2p, 0.5p.
    beta
        With --loss fbeta: recall counts beta times as much as precision.
    per_class
        With more than two classes: one set of features for each, instead of one that all share.
    sigma
        With --bag-column: width of the similarity of rows; auto, the median distance, if not given; search: chosen from
        multiples of it by cross-validation.
    elimination
        Gather more features than wanted and eliminate; without, growth alone selects: several times faster, but only
        its turns are on the path. If neither is given, it is chosen by cross-validation, too, unless --C rule.
    n_candidates
        Where elimination starts: a number of features, or a multiple of --features such as 2.0.
    scale
        How features are scaled; auto does not scale data with under 30 % non-zero values (with --bag-column: std).
    feature_map
        What is selected: columns; polynomial: products of two columns, squares and columns, a model that is quadratic
        in the columns; or columns of which an additive kernel makes several numbers each: intersection and
        additive_chi2, for values that are not negative, or additive_gaussian. A map of your own: module:Name.
    heredity
        With --feature-map polynomial: select a product only if both (strong) or one (weak) of its columns are selected,
        too.
    groups
        A csv file of groups of columns that are selected together, with the header column,group and a line for each
        column of each group. Columns are named as for --always.
    tree
        A csv file of a tree of columns, with the header node,parent; the parent of a root is empty, and a node with the
        name of a column is that column. Each node is the group of all columns below it.
    ungrouped
        What happens to columns that are not in the file of --groups: an error; each is a group of its own; or they are
        never selected.
    always
        A feature that must be in the model, and counts towards --features: by name, by index in svmlight text, else by
        column number from 0; may be repeated. With --groups or --tree a group or a node, by name.
    exclude
        A feature that must not be in the model, named as for --always; may be repeated. Unlike columns under --ignore
        it is read, and stays a column of the data that the model expects.
    tol
        Duality gap at which a model has converged, relative to the objective without features.
    max_time
        Time limit in seconds, after which the best model so far is saved.
    """

    features: Annotated[
        int | Literal["all"] | None,
        Parameter(alias="-k", group=MODEL, converter=integer_or_all, validator=at_least_one_or_all),
    ] = None
    C: Annotated[Literal["auto", "rule"] | float, Parameter(name="--C", group=MODEL, validator=positive_number)] = (
        "auto"
    )
    loss: Annotated[Losses | str, Parameter(group=MODEL, validator=word_or_path(Losses))] = "squared_hinge"
    at: Annotated[str | None, Parameter(group=MODEL)] = None
    beta: Annotated[float | None, Parameter(group=MODEL, validator=positive_number)] = None
    per_class: Annotated[bool, Parameter(group=MODEL)] = False
    sigma: Annotated[Literal["auto", "search"] | float | None, Parameter(group=MODEL, validator=positive_number)] = None
    elimination: Annotated[bool | None, Parameter(group=MODEL, negative="--no-elimination")] = None
    n_candidates: Annotated[
        Literal["auto"] | int | float, Parameter(group=MODEL, converter=number_or_auto, validator=positive_number)
    ] = "auto"
    scale: Annotated[Literal["auto", "std", "max", "unit", "none"], Parameter(group=MODEL)] = "auto"
    feature_map: Annotated[FeatureMaps | str, Parameter(group=MODEL, validator=word_or_path(FeatureMaps))] = "columns"
    heredity: Annotated[Literal["none", "strong", "weak"], Parameter(group=MODEL)] = "none"
    groups: Annotated[str | None, Parameter(group=MODEL)] = None
    tree: Annotated[str | None, Parameter(group=MODEL)] = None
    ungrouped: Annotated[Literal["error", "single", "drop"], Parameter(group=MODEL)] = "error"
    always: Annotated[list[str] | None, Parameter(group=MODEL, consume_multiple=False)] = None
    exclude: Annotated[list[str] | None, Parameter(group=MODEL, consume_multiple=False)] = None
    tol: Annotated[float, Parameter(group=MODEL, validator=validators.Number(gte=0))] = 1e-3
    max_time: Annotated[float | None, Parameter(group=MODEL, validator=positive_number)] = None


MODEL_OPTIONS = ModelOptions()


@app.command
def select(
    file: str,
    /,
    *,
    model: ModelOptions = MODEL_OPTIONS,
    fitting: Fitting = FITTING,
    out: Annotated[str, Parameter(alias="-o", group=OUTPUT)] = "model.json",
    test: Annotated[str | None, Parameter(group=OUTPUT)] = None,
    test_labels: Annotated[str | None, Parameter(group=OUTPUT)] = None,
    reporting: Reporting = REPORTING,
    reading: Reading = READING,
    bag_column: Text = None,
):
    """Select features, fit a linear classifier on them, and save both to a model file.

    FILE is svmlight/LIBSVM text (plain, .gz, .bz2, or - for standard input), .npz, .npy, .csv, .tsv or .parquet.

    ```
    thresher select train.svm --features 300 --out model.json
    thresher select genes.csv --label-column tumour --ignore sample -k 20 --test more_genes.csv
    thresher select rare.svm -k 100 --loss recall_at_k --at 2p
    zcat clicks.gz | thresher select - -k 100 --C rule --json
    thresher select regions.csv --bag-column image -k 50
    ```

    Parameters
    ----------
    file
        Training data.
    model
        The model to fit.
    out
        Model file to write.
    test
        Test data: every model of the path is scored on it, accuracy (and the measure) against number of features.
    test_labels
        A file with the labels of the test data, if they are not in it.
    fitting
        Options of every fit.
    reading
        How the file is read.
    reporting
        How the command reports.
    bag_column
        Name of the column of a csv or Parquet file, or of the array of an .npz file, with the bag of each row: labels
        belong to bags, and training rows are selected that explain them.
    """
    return later("select", **locals())
