"""The commands and their options. Nothing heavy is imported before a command runs, so that --help answers at once."""

import importlib
from typing import Annotated, Literal

from cyclopts import App, CycloptsError, Group, Parameter

from thresher._version import __version__

EXIT_CODES = """
Exit codes: 0 done; 1 a file or its data cannot be used; 2 wrong options; 130 interrupted with Ctrl-C, where select has
written the best model so far.
"""

app = App(
    name="thresher",
    help="Pick the few features that matter out of very wide data, with a proof of how good the pick is.",
    help_epilogue=EXIT_CODES,
    version=__version__,
    default_parameter=Parameter(negative=""),
)
FILES, MODEL, OUTPUT = Group("Reading", sort_key=1), Group("Model", sort_key=2), Group("Output", sort_key=3)

Kind = Annotated[Literal["svmlight", "npz", "npy", "csv", "parquet"] | None, Parameter(group=FILES)]
Text = Annotated[str | None, Parameter(group=FILES)]
Words = Annotated[list[str] | None, Parameter(group=FILES, consume_multiple=False)]
Flag = Annotated[bool, Parameter(group=OUTPUT)]


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
    features: Annotated[int | None, Parameter(alias="-k", group=MODEL)] = None,
    C: Annotated[Literal["auto"] | float, Parameter(name="--C", group=MODEL)] = 1.0,
    loss: Annotated[Literal["squared_hinge", "logistic"], Parameter(group=MODEL)] = "squared_hinge",
    support: Annotated[Literal["shared", "per_class"], Parameter(group=MODEL)] = "shared",
    growth_alone: Annotated[bool, Parameter(group=MODEL)] = False,
    scale: Annotated[Literal["auto", "std", "max", "unit", "none"], Parameter(group=MODEL)] = "auto",
    balanced: Annotated[bool, Parameter(group=MODEL)] = False,
    always: Annotated[list[str] | None, Parameter(group=MODEL, consume_multiple=False)] = None,
    tol: Annotated[float, Parameter(group=MODEL)] = 1e-3,
    max_time: Annotated[float | None, Parameter(group=MODEL)] = None,
    jobs: Annotated[int | None, Parameter(alias="-j", group=MODEL)] = None,
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
    index_base: Annotated[Literal[0, 1] | None, Parameter(group=FILES)] = None,
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
        How columns are scaled, without touching the data; auto leaves sparse data alone.
    balanced
        Give both large and small classes the same weight.
    always
        A feature that must be in the model, by name or by its number (its index in svmlight text); may be repeated.
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
def predict(
    model: str,
    file: str,
    /,
    *,
    features: Annotated[int | None, Parameter(alias="-k", group=MODEL)] = None,
    out: Annotated[str | None, Parameter(alias="-o", group=OUTPUT)] = None,
    scores: Flag = False,
    quiet: Flag = False,
    json: Flag = False,
    jobs: Annotated[int | None, Parameter(alias="-j", group=MODEL)] = None,
    kind: Kind = None,
    labels: Text = None,
    label_column: Text = None,
    ignore: Words = None,
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
        Use the model with so many features, out of the path.
    out
        Write the predicted classes there, one a line; - for standard output.
    scores
        Write the scores behind each class, too, after tabs.
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
        A column to leave out; may be repeated. Columns that the model has never seen are left out anyway.
    """
    return later("predict", **locals())


@app.command
def inspect(
    model: str,
    /,
    *,
    features: Annotated[int | None, Parameter(alias="-k", group=MODEL)] = None,
    top: Annotated[int | None, Parameter(group=OUTPUT)] = None,
    json: Flag = False,
):
    """Show what is in a model file: features by weight, the certificate, why it stopped, where it comes from.

    ```
    thresher inspect model.json --top 20
    ```

    Parameters
    ----------
    model
        The model file.
    features
        Show the model with so many features, out of the path.
    top
        Show only so many of the heaviest features.
    json
        Report as JSON on standard output.
    """
    return later("inspect", **locals())


@app.command
def demo():
    """Run the main job on data made on the spot: about a minute, no files, no network."""
    return later("demo")
