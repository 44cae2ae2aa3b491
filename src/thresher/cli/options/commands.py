"""The commands and their options. Nothing heavy is imported before a command runs, so that --help is fast."""

from typing import Annotated, Literal

from cyclopts import Parameter, validators

from thresher.cli.app import (
    FITTING,
    MODEL,
    OUTPUT,
    READING,
    REPORTING,
    Count,
    FeatureCount,
    Fitting,
    Flag,
    Imports,
    Point,
    Reading,
    Reporting,
    app,
    later,
    positive_number,
    to_integer,
)  # fmt: skip
from thresher.cli.docstrings import restore
from thresher.cli.options.path import path  # noqa: F401 (a command)
from thresher.cli.options.predict import predict  # noqa: F401 (a command)
from thresher.cli.options.select import select  # noqa: F401 (a command)
from thresher.cli.options.stream import stream  # noqa: F401 (a command)


@app.command
def grid(
    file: str,
    /,
    *,
    betas: Annotated[int, Parameter(group=MODEL), Count] = 10,
    alphas: Annotated[int, Parameter(group=MODEL), Count] = 100,
    cv: Annotated[int | None, Parameter(group=MODEL, converter=to_integer, validator=validators.Number(gte=2))] = None,
    scoring: Annotated[str, Parameter(group=MODEL)] = "accuracy",
    smoothing: Annotated[float, Parameter(group=MODEL, validator=validators.Number(gt=0, lt=1))] = 0.5,
    no_intercept: Annotated[bool, Parameter(group=MODEL)] = False,
    scale: Annotated[Literal["auto", "std", "max", "unit", "none"], Parameter(group=MODEL)] = "auto",
    screening: Annotated[
        Literal["auto", "sifs+gap", "sifs", "iss", "ifs", "gap", "none"], Parameter(group=MODEL)
    ] = "auto",
    tol: Annotated[float, Parameter(group=MODEL, validator=positive_number)] = 1e-6,
    max_time: Annotated[float | None, Parameter(group=MODEL, validator=positive_number)] = None,
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
        Number of values of beta, the l1 penalty: from the largest, at which all weights are zero, to 0.05 times that;
        with --cv more of them as long as the best point is at the end.
    alphas
        Number of values of alpha, the l2 penalty, for each beta: from the largest down to 0.001 times that; with --cv
        more of them as long as the best point is at the end.
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
def inspect(
    model: str,
    /,
    *,
    features: FeatureCount = None,
    point: Point = None,
    top: Annotated[int | None, Parameter(group=OUTPUT), Count] = None,
    names_only: Flag = False,
    json: Flag = False,
    imports: Imports = None,
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
    imports
        A module of your own, here or installed, with classes that the model has; may be repeated.
    """
    return later("inspect", **locals())


@app.command
def demo():
    """Run a demonstration on generated data: under a minute, no files, no network."""
    return later("demo")


@app.command
def warmup(*, cache: Annotated[str, Parameter(group=OUTPUT)]):
    """Compile the loops that first calls need, into a folder that later processes read them from.

    For machines where the home folder cannot be written, such as containers and nodes of a cluster, and where every new
    process would compile them again. It takes a minute or two.

    ```
    thresher warmup --cache /scratch/thresher
    export NUMBA_CACHE_DIR=/scratch/thresher
    ```

    Parameters
    ----------
    cache
        Folder to write to; it is made if there is none.
    """
    return later("warmup", **locals())


restore()
