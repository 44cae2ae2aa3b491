"""The commands and their options. Nothing heavy is imported before a command runs, so that --help answers at once."""

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
    later,
    positive,
    whole,
)  # fmt: skip


@app.command
def select(
    file: str,
    /,
    *,
    features: Features = None,
    C: Annotated[Literal["auto"] | float | None, Parameter(name="--C", group=MODEL, validator=positive)] = None,
    loss: Annotated[Literal["squared_hinge", "logistic"], Parameter(group=MODEL)] = "squared_hinge",
    support: Annotated[Literal["shared", "per_class"], Parameter(group=MODEL)] = "shared",
    growth_alone: Annotated[bool, Parameter(group=MODEL)] = False,
    scale: Annotated[Literal["auto", "std", "max", "unit", "none"], Parameter(group=MODEL)] = "auto",
    always: Annotated[list[str] | None, Parameter(group=MODEL, consume_multiple=False)] = None,
    tol: Annotated[float, Parameter(group=MODEL, validator=validators.Number(gte=0))] = 1e-3,
    max_time: Annotated[float | None, Parameter(group=MODEL, validator=positive)] = None,
    fitting: Fitting = FITTING,
    out: Annotated[str, Parameter(alias="-o", group=OUTPUT)] = "model.json",
    test: Annotated[str | None, Parameter(group=OUTPUT)] = None,
    test_labels: Annotated[str | None, Parameter(group=OUTPUT)] = None,
    reporting: Reporting = REPORTING,
    reading: Reading = READING,
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
        Weight of the loss against the penalty: 1.0 for these losses if not given; auto: chosen by five-fold
        cross-validation.
    loss
        squared_hinge is an SVM, logistic a logistic regression.
    support
        With more than two classes: one set of features for all, or one for each.
    growth_alone
        Only grow, without elimination: several times faster, and only the turns of growth on the path.
    scale
        How columns are scaled, without touching the data; auto leaves data with under 30 % non-zero values alone.
    always
        A feature that must be in the model, and counts in --features: by name, by index in svmlight text, else by
        column number from 0; may be repeated.
    tol
        Gap at which a model counts as optimal, as a share of the objective without features.
    max_time
        Seconds after which the best model so far is taken.
    out
        The model file to write.
    test
        Data on which every model of the path is scored: accuracy against number of features.
    test_labels
        Labels of the test data, if they are in a file of their own.
    fitting
        What every fit can be told.
    reading
        How the file is read.
    reporting
        How the command reports.
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
    screening
        Which safe tests remove features and samples; the result does not depend on it.
    tol
        Duality gap to reach at each point, as a share of the objective without features.
    max_time
        Seconds after which the points reached are written.
    out
        The model file to write.
    fitting
        What every fit can be told.
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
    """Learn from a stream, one line after the other, with a hard limit on the number of features.

    FILE is svmlight/LIBSVM text, plain, .gz or .bz2; without it standard input is read. Features are known by their
    indices, of any size; new ones may come at any time. Every line is judged before it is learnt from.

    ```
    zcat clicks.svm.gz | thresher stream --budget 100 --progressive --checkpoint state.npz --out model.json
    thresher stream --resume state.npz < more.svm
    thresher stream clicks.svm --step-size 0.01 --step-size 0.1 --l2 1e-4 --l2 1e-2
    ```

    Parameters
    ----------
    file
        The stream.
    budget
        How many features may have a weight, for each class; 100 if not given.
    method
        b-arda if not given: best on most data when features are few.
    loss
        squared_hinge if not given, hinge for ofs.
    step_size
        The step; may be repeated: settings learn side by side, the one with the least progressive loss is taken.
    l2
        Weight of the squared penalty (b-arda, b-amd, ofs); may be repeated.
    l1
        Weight of the absolute penalty (l1-arda, ada-fobos); may be repeated.
    gamma
        How slowly sofs learns; may be repeated.
    delta
        What the adaptive methods add to the root of the sum of squared gradients; 0.01 if not given.
    no_intercept
        Learn without a constant.
    balanced
        Give both large and small classes the same weight, by the counts so far.
    hash_bits
        Hash features to 2^N columns, so that memory has a limit.
    classes
        All labels, with commas: -1,1. Without it those of the first 10,000 lines; -1,1 and 0,1 are known at once.
    skip_bad
        Leave out lines that cannot be read, and count them; without it the first one ends the stream.
    checkpoint
        A file to write what has been learnt to, now and then and at the end; with --resume, that one if not given.
    every
        Examples between two checkpoints; there is also one each minute.
    resume
        A checkpoint to go on from; the options of the model are in it.
    skip_seen
        With --resume: the stream is the same, from its beginning; leave out the lines that were learnt from.
    out
        The model file to write at the end; model.json if not given, with --resume the one of before.
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
    reporting: Reporting = REPORTING,
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
