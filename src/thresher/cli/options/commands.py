"""The commands and their options. Nothing heavy is imported before a command runs, so that --help is fast."""

from typing import Annotated, Literal

from cyclopts import Parameter, validators

from thresher.cli.app import (
    FILES,
    FITTING,
    MODEL,
    OUTPUT,
    READING,
    REPORTING,
    Count,
    Features,
    Fitting,
    Flag,
    IndexBase,
    Jobs,
    Kind,
    Loss,
    Method,
    Numbers,
    Point,
    Reading,
    Reporting,
    Text,
    Words,
    app,
    at_least_two,
    integer,
    later,
    positive,
)  # fmt: skip
from thresher.cli.docstrings import restored
from thresher.cli.options.path import path  # noqa: F401 (a command)
from thresher.cli.options.select import select  # noqa: F401 (a command)


@app.command
def grid(
    file: str,
    /,
    *,
    betas: Annotated[int, Parameter(group=MODEL), Count] = 10,
    alphas: Annotated[int, Parameter(group=MODEL), Count] = 100,
    cv: Annotated[int | None, Parameter(group=MODEL, converter=integer, validator=at_least_two)] = None,
    scoring: Annotated[str, Parameter(group=MODEL)] = "accuracy",
    smoothing: Annotated[float, Parameter(group=MODEL, validator=validators.Number(gt=0, lt=1))] = 0.5,
    no_intercept: Annotated[bool, Parameter(group=MODEL)] = False,
    scale: Annotated[Literal["auto", "std", "max", "unit", "none"], Parameter(group=MODEL)] = "auto",
    screening: Annotated[
        Literal["auto", "sifs+gap", "sifs", "iss", "ifs", "gap", "none"], Parameter(group=MODEL)
    ] = "auto",
    tol: Annotated[float, Parameter(group=MODEL, validator=positive)] = 1e-6,
    max_time: Annotated[float | None, Parameter(group=MODEL, validator=positive)] = None,
    fitting: Fitting = FITTING,
    out: Annotated[str, Parameter(alias="-o", group=OUTPUT)] = "grid.json",
    reporting: Reporting = REPORTING,
    reading: Reading = READING,
):
    """Fit sparse SVMs over a grid of penalties, and save all of them to a model file.

    FILE is svmlight/LIBSVM text (plain, .gz, .bz2, or - for standard input), .npz, .npy, .csv, .tsv or .parquet.

    ```
    thresher grid train.svm --cv 5 --out grid.json
    thresher predict grid.json test.svm
    thresher inspect grid.json --point 4 60
    ```

    Parameters
    ----------
    file
        Training data.
    betas
        Number of values of beta, the l1 penalty: from the largest, at which all weights are zero, to 0.05 times that.
    alphas
        Number of values of alpha, the l2 penalty, for each beta: from the largest down to 0.01 times that.
    cv
        Number of cross-validation folds to choose the point for predict; if not given, the last point is used.
    scoring
        Score that cross-validation maximises, by its name in scikit-learn: accuracy, balanced_accuracy, roc_auc, ...
    smoothing
        Width of the smooth part of the hinge loss, between 0 and 1.
    no_intercept
        Do not fit an intercept.
    scale
        How features are scaled; auto does not scale data with under 30 % non-zero values.
    screening
        Which safe screening tests remove features and, with --no-intercept, samples; auto: none, which is fastest. The
        models are the same.
    tol
        Duality gap to reach at each point, relative to the objective without features.
    max_time
        Time limit in seconds, after which the points solved so far are saved.
    out
        Model file to write.
    fitting
        Options of every fit.
    reading
        How the file is read.
    reporting
        How the command reports.
    """
    return later("grid", **locals())


@app.command
def stream(
    file: str = "-",
    /,
    *,
    budget: Annotated[int | None, Parameter(group=MODEL), Count] = None,
    method: Method = None,
    loss: Loss = None,
    step_size: Numbers = None,
    l2: Numbers = None,
    l1: Numbers = None,
    gamma: Numbers = None,
    delta: Annotated[float | None, Parameter(group=MODEL, validator=positive)] = None,
    no_intercept: Annotated[bool, Parameter(group=MODEL)] = False,
    balanced: Annotated[bool, Parameter(group=MODEL)] = False,
    hash_bits: Annotated[int | None, Parameter(group=MODEL), Count] = None,
    classes: Annotated[str | None, Parameter(group=FILES, allow_leading_hyphen=True)] = None,
    skip_bad: Annotated[bool, Parameter(group=FILES)] = False,
    checkpoint: Annotated[str | None, Parameter(group=OUTPUT)] = None,
    every: Annotated[int, Parameter(group=OUTPUT), Count] = 100_000,
    resume: Annotated[str | None, Parameter(group=FILES)] = None,
    skip_seen: Annotated[bool, Parameter(group=FILES)] = False,
    out: Annotated[str | None, Parameter(alias="-o", group=OUTPUT)] = None,
    progressive: Flag = False,
    reporting: Reporting = REPORTING,
):
    """Learn from a stream, one line at a time, with a hard limit on the number of features.

    FILE is svmlight/LIBSVM text, plain, .gz or .bz2; without it standard input is read. Features are identified by
    their indices, of any size; new ones may appear at any time. Every line is predicted before it is learnt.

    ```
    zcat clicks.svm.gz | thresher stream --budget 100 --progressive --checkpoint state.npz --out model.json
    thresher stream --resume state.npz < more.svm
    thresher stream clicks.svm --step-size 0.01 --step-size 0.1 --l2 1e-4 --l2 1e-2
    ```

    Parameters
    ----------
    file
        The stream; standard input if not given.
    budget
        Maximum number of features with non-zero weight, for each class; 100 if not given.
    method
        Learning method; b-arda if not given, which is best on most data with a small budget.
    loss
        Loss function; squared_hinge if not given, hinge for ofs.
    step_size
        Step size; may be repeated: all settings are trained, the one with the lowest progressive loss is used.
    l2
        Weight of the l2 penalty (b-arda, b-amd, ofs); may be repeated.
    l1
        Weight of the l1 penalty (l1-arda, ada-fobos); may be repeated.
    gamma
        Inverse learning rate of sofs; may be repeated.
    delta
        Added by the adaptive methods to the root of the sum of squared gradients; 0.01 if not given.
    no_intercept
        Do not fit an intercept.
    balanced
        Weight classes inversely to their size so far (class_weight="balanced").
    hash_bits
        Hash features to 2^N ids, so that memory is bounded.
    classes
        All class labels, separated by commas: -1,1. If not given, those of the first 10,000 lines; -1,1 and 0,1 are
        recognised at once.
    skip_bad
        Skip and count lines that cannot be parsed; otherwise the first one ends the stream with an error.
    checkpoint
        Checkpoint file to write regularly and at the end; if not given, that of --resume.
    every
        Number of examples between two checkpoints; there is also one every minute.
    resume
        Checkpoint to continue from; it contains the options of the model.
    skip_seen
        With --resume: the stream is the same, from its beginning; skip the lines that were already learnt.
    out
        Model file to write at the end; model.json if not given, with --resume that of the previous run.
    progressive
        Show loss, accuracy and features after 1, 2, 3, 4, 6, 8, ... examples.
    reporting
        How the command reports.
    """
    return later("stream", **locals())


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
    instances: Flag = False,
    reporting: Reporting = REPORTING,
    jobs: Jobs = None,
    kind: Kind = None,
    labels: Text = None,
    label_column: Text = None,
    bag_column: Text = None,
    ignore: Words = None,
    index_base: IndexBase = None,
):
    """Predict with a model file, and report the accuracy, and the measure of --loss, if the data has labels.

    ```
    thresher predict model.json test.svm
    thresher predict model.json new.csv --out predictions.txt --scores
    ```

    Parameters
    ----------
    model
        Model file.
    file
        Data, in any format that select reads; columns of csv and Parquet files are matched by name.
    features
        Use the model with this number of features from the path of select; of path, with at most so many.
    point
        Use the model at this point of a grid: the indices of its beta and its alpha, from 0.
    out
        File to write the predicted classes to, one per line; - for standard output. Of bags: a line for each, its name
        and its class.
    scores
        Also write scores, separated by tabs: positive for the second of two classes, else one per class, sorted.
    probabilities
        Like --scores, but probabilities of all classes in sorted order; for models with --loss logistic.
    instances
        Of bags: write a line for each row instead, its bag and what the row adds to the scores of the bag.
    jobs
        Number of threads that read text.
    kind
        Format of FILE; inferred from its extension if not given.
    labels
        A file of labels, if they are not in FILE.
    label_column
        Name of the label column, if it is not that of the training data.
    bag_column
        Name of the column or array of bags, if it is not that of the training data.
    ignore
        Name of a column to ignore; may be repeated. Columns that the model does not use are ignored anyway.
    index_base
        Index of the first feature in svmlight text, if it is not that of the training data.
    reporting
        How the command reports.
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
    """Show the content of a model file: features by importance, certificate, stop reason and source.

    ```
    thresher inspect model.json --top 20
    thresher inspect model.json --names-only > features.txt
    ```

    Parameters
    ----------
    model
        Model file.
    features
        Show the model with this number of features from the path of select; of path, with at most so many.
    point
        Show the model at this point of a grid: the indices of its beta and its alpha, from 0.
    top
        Show only this many features, the most important ones.
    names_only
        Print only the feature names, one per line, the most important first.
    json
        Print the report as JSON on standard output.
    """
    return later("inspect", **locals())


@app.command
def demo():
    """Run a demonstration on generated data: under a minute, no files, no network."""
    return later("demo")


restored(globals())
