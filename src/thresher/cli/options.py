"""The commands and their options. Nothing heavy is imported before a command runs, so that --help answers at once."""

import importlib
import math
from typing import Annotated, Literal

from cyclopts import App, CycloptsError, Group, Parameter, validators
from rich.console import Console

from thresher._version import __version__

EXIT_CODES = """
Exit codes: 0 done; 1 a file or its data cannot be used; 2 wrong options; 130 interrupted (Ctrl-C, SIGTERM), where
select and grid have written what they had, if there was one.
"""


class Pipe(Console):
    """A console whose reader may have seen enough."""

    def on_broken_pipe(self):
        """Leave it to ``start``."""
        raise BrokenPipeError


def whole(_, tokens):
    """A whole number; others are not rounded."""
    if not tokens[0].value.lstrip("+-").isdigit():
        raise ValueError(f"{tokens[0].value!r} is no whole number")
    return int(tokens[0].value)


def at_least_one(_, value):
    """Counts begin at 1."""
    if value is not None and value < 1:
        raise ValueError("must be at least 1")


def at_least_two(_, value):
    """One fold is none."""
    if value is not None and value < 2:
        raise ValueError("must be at least 2")


def positive(_, value):
    """A finite number above zero; words have been checked."""
    if not (value is None or isinstance(value, str) or (math.isfinite(value) and value > 0)):
        raise ValueError("must be a finite number above 0")


app = App(
    name="thresher",
    help="Pick the few features that matter out of very wide data, with a proof of how good the pick is.",
    help_epilogue=EXIT_CODES,
    version=__version__,
    default_parameter=Parameter(negative=""),
    console=Pipe(),
    suppress_keyboard_interrupt=False,
)
FILES, MODEL, OUTPUT = Group("Reading", sort_key=1), Group("Model", sort_key=2), Group("Output", sort_key=3)

Kind = Annotated[Literal["svmlight", "npz", "npy", "csv", "parquet"] | None, Parameter(group=FILES)]
Text = Annotated[str | None, Parameter(group=FILES)]
Words = Annotated[list[str] | None, Parameter(group=FILES, consume_multiple=False)]
Flag = Annotated[bool, Parameter(group=OUTPUT)]
Count = Parameter(converter=whole, validator=at_least_one)
Features = Annotated[int | None, Parameter(alias="-k", group=MODEL), Count]
Jobs = Annotated[int | None, Parameter(alias="-j", group=MODEL), Count]
Point = Annotated[tuple[int, int] | None, Parameter(group=MODEL)]
IndexBase = Annotated[Literal[0, 1] | None, Parameter(group=FILES)]


class WrongUsage(Exception):
    """Options that do not fit."""


def run(arguments):
    """Parse, run the command, and return its exit code."""
    try:
        return app(arguments, exit_on_error=False, print_error=False, result_action="return_value") or 0
    except CycloptsError as error:
        raise WrongUsage(error) from None


def later(module, **options):
    """Import ``thresher.cli.<module>`` and run it."""
    return importlib.import_module(f"thresher.cli.{module}").run(**options)


@app.command
def select(
    file: str,
    /,
    *,
    features: Features = None,
    C: Annotated[Literal["auto"] | float, Parameter(name="--C", group=MODEL, validator=positive)] = 1.0,
    loss: Annotated[Literal["squared_hinge", "logistic"], Parameter(group=MODEL)] = "squared_hinge",
    support: Annotated[Literal["shared", "per_class"], Parameter(group=MODEL)] = "shared",
    growth_alone: Annotated[bool, Parameter(group=MODEL)] = False,
    scale: Annotated[Literal["auto", "std", "max", "unit", "none"], Parameter(group=MODEL)] = "auto",
    balanced: Annotated[bool, Parameter(group=MODEL)] = False,
    always: Annotated[list[str] | None, Parameter(group=MODEL, consume_multiple=False)] = None,
    tol: Annotated[float, Parameter(group=MODEL, validator=validators.Number(gte=0))] = 1e-3,
    max_time: Annotated[float | None, Parameter(group=MODEL, validator=positive)] = None,
    jobs: Jobs = None,
    out: Annotated[str, Parameter(alias="-o", group=OUTPUT)] = "model.json",
    test: Annotated[str | None, Parameter(group=OUTPUT)] = None,
    test_labels: Annotated[str | None, Parameter(group=OUTPUT)] = None,
    quiet: Flag = False,
    json: Flag = False,
    kind: Kind = None,
    labels: Text = None,
    label_column: Text = None,
    ignore: Words = None,
    names: Text = None,
    index_base: IndexBase = None,
):
    """Pick features, fit a linear classifier on them, and write both to a model file.

    FILE is svmlight/LIBSVM text (plain, .gz, .bz2, or - for standard input), .npz, .npy, .csv, .tsv or .parquet.

    ```
    thresher select train.svm --features 300 --out model.json
    thresher select genes.csv --label-column tumour --ignore sample -k 20 --test more_genes.csv
    zcat clicks.gz | thresher select - -k 100 --C auto --json
    ```

    Parameters
    ----------
    file
        The training data.
    features
        How many features to pick; without it growth ends when the gap is within --tol.
    C
        Weight of the loss against the penalty; auto: chosen by five-fold cross-validation.
    loss
        squared_hinge is an SVM, logistic a logistic regression.
    support
        With more than two classes: one set of features for all, or one for each.
    growth_alone
        Only grow, without elimination: several times faster, and only the turns of growth on the path.
    scale
        How columns are scaled, without touching the data; auto leaves data with under 30 % non-zero values alone.
    balanced
        Give both large and small classes the same weight.
    always
        A feature that must be in the model, and counts in --features: by name, by index in svmlight text, else by
        column number from 0; may be repeated.
    tol
        Gap at which a model counts as optimal, as a share of the objective without features.
    max_time
        Seconds after which the best model so far is taken.
    jobs
        Threads; all cores if not given.
    out
        The model file to write.
    test
        Data on which every model of the path is scored: accuracy against number of features.
    test_labels
        Labels of the test data, if they are in a file of their own.
    quiet
        Say nothing but warnings and errors.
    json
        Report as JSON on standard output.
    kind
        What the file is, if its name does not tell.
    labels
        A file of labels, if they are not in FILE: .npy, or text with one a line.
    label_column
        The column with the labels in csv and Parquet files ("label" if not given).
    ignore
        A column of a csv or Parquet file to leave out; may be repeated.
    names
        A text file with the names of the features, one a line.
    index_base
        Index of the first feature in svmlight text: 0 if any is 0, else 1, if not given.
    """
    return later("select", **locals())


@app.command
def grid(
    file: str,
    /,
    *,
    betas: Annotated[int, Parameter(group=MODEL), Count] = 10,
    alphas: Annotated[int, Parameter(group=MODEL), Count] = 100,
    cv: Annotated[int | None, Parameter(group=MODEL, converter=whole, validator=at_least_two)] = None,
    scoring: Annotated[str, Parameter(group=MODEL)] = "accuracy",
    gamma: Annotated[float, Parameter(group=MODEL, validator=validators.Number(gt=0, lt=1))] = 0.5,
    intercept: Annotated[bool, Parameter(group=MODEL)] = False,
    scale: Annotated[Literal["auto", "std", "max", "unit", "none"], Parameter(group=MODEL)] = "none",
    balanced: Annotated[bool, Parameter(group=MODEL)] = False,
    screening: Annotated[
        Literal["auto", "sifs+gap", "sifs", "iss", "ifs", "gap", "none"], Parameter(group=MODEL)
    ] = "auto",
    tol: Annotated[float, Parameter(group=MODEL, validator=positive)] = 1e-6,
    max_time: Annotated[float | None, Parameter(group=MODEL, validator=positive)] = None,
    jobs: Jobs = None,
    out: Annotated[str, Parameter(alias="-o", group=OUTPUT)] = "grid.json",
    quiet: Flag = False,
    json: Flag = False,
    kind: Kind = None,
    labels: Text = None,
    label_column: Text = None,
    ignore: Words = None,
    names: Text = None,
    index_base: IndexBase = None,
):
    """Fit sparse SVMs over a whole grid of penalties, and write all of them to a model file.

    FILE is svmlight/LIBSVM text (plain, .gz, .bz2, or - for standard input), .npz, .npy, .csv, .tsv or .parquet.

    ```
    thresher grid train.svm --cv 5 --out grid.json
    thresher predict grid.json test.svm
    thresher inspect grid.json --point 4 60
    ```

    Parameters
    ----------
    file
        The training data.
    betas
        How many values of beta, the penalty that makes weights zero: from the largest, where all are, to 0.05 of it.
    alphas
        How many values of alpha, the squared penalty, for each beta; from the largest down to 0.01 of it.
    cv
        Folds of a cross-validation that picks the point to predict with; without it that is the last one.
    scoring
        What the cross-validation looks at: accuracy, balanced_accuracy, f1, roc_auc, ... as scikit-learn names them.
    gamma
        Width of the smooth part of the hinge, between 0 and 1.
    intercept
        Fit a shift, too.
    scale
        How columns are scaled, without touching the data.
    balanced
        Give both large and small classes the same weight.
    screening
        Which safe tests remove features and samples; the result does not depend on it.
    tol
        Duality gap to reach at each point, as a share of the objective without features.
    max_time
        Seconds after which the points reached are written.
    jobs
        Threads; if not given one, or for large data all cores.
    out
        The model file to write.
    quiet
        Say nothing but warnings and errors.
    json
        Report as JSON on standard output.
    kind
        What the file is, if its name does not tell.
    labels
        A file of labels, if they are not in FILE: .npy, or text with one a line.
    label_column
        The column with the labels in csv and Parquet files ("label" if not given).
    ignore
        A column of a csv or Parquet file to leave out; may be repeated.
    names
        A text file with the names of the features, one a line.
    index_base
        Index of the first feature in svmlight text: 0 if any is 0, else 1, if not given.
    """
    return later("grid", **locals())


@app.command
def predict(
    model: str,
    file: str,
    /,
    *,
    features: Features = None,
    point: Point = None,
    out: Annotated[str | None, Parameter(alias="-o", group=OUTPUT)] = None,
    scores: Flag = False,
    probabilities: Flag = False,
    quiet: Flag = False,
    json: Flag = False,
    jobs: Jobs = None,
    kind: Kind = None,
    labels: Text = None,
    label_column: Text = None,
    ignore: Words = None,
    index_base: IndexBase = None,
):
    """Predict with a model file, and report how right it is where the data has labels.

    ```
    thresher predict model.json test.svm
    thresher predict model.json new.csv --out predictions.txt --scores
    ```

    Parameters
    ----------
    model
        The model file.
    file
        The data, of any kind that select reads; columns of csv and Parquet files are found by their names.
    features
        Use the model with so many features, out of the path of select.
    point
        Use the model at this point of a grid: the numbers of its beta and of its alpha, from 0.
    out
        Write the predicted classes there, one a line; - for standard output.
    scores
        Write scores, too, after tabs: above 0 for the second class of two, else one for each class in sorted order.
    probabilities
        As --scores, but probabilities of all classes in sorted order; for models with --loss logistic.
    quiet
        Say nothing but warnings and errors.
    json
        Report as JSON on standard output.
    jobs
        Threads that read text.
    kind
        What the file is, if its name does not tell.
    labels
        A file of labels, if they are not in FILE.
    label_column
        The column with the labels, if it is not that of the training data.
    ignore
        A column to leave out; may be repeated. Columns that the model does not use are left out anyway.
    index_base
        Index of the first feature in svmlight text, if it is not that of the training data.
    """
    return later("predict", **locals())


@app.command
def inspect(
    model: str,
    /,
    *,
    features: Features = None,
    point: Point = None,
    top: Annotated[int | None, Parameter(group=OUTPUT), Count] = None,
    names_only: Flag = False,
    json: Flag = False,
):
    """Show what is in a model file: features by weight, the certificate, why it stopped, where it comes from.

    ```
    thresher inspect model.json --top 20
    thresher inspect model.json --names-only > features.txt
    ```

    Parameters
    ----------
    model
        The model file.
    features
        Show the model with so many features, out of the path of select.
    point
        Show the model at this point of a grid: the numbers of its beta and of its alpha, from 0.
    top
        Show only so many of the heaviest features.
    names_only
        Print the names of the features and nothing else, one a line, the heaviest first.
    json
        Report as JSON on standard output.
    """
    return later("inspect", **locals())


@app.command
def demo():
    """Run the main job on data made on the spot: about a minute, no files, no network."""
    return later("demo")
