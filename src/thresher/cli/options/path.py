"""The command ``path`` and its options; see ``options``."""

from dataclasses import dataclass
from typing import Annotated, Literal

from cyclopts import Parameter, validators

from thresher.cli.app import (
    FITTING,
    MODEL,
    OUTPUT,
    READING,
    REPORTING,
    Count,
    Fitting,
    Reading,
    Reporting,
    app,
    later,
    positive_number,
    to_integer,
)  # fmt: skip

Positive = Annotated[float | None, Parameter(group=MODEL, validator=positive_number)]


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class KernelOptions:
    """The kernels, and the path of their weights.

    Parameters
    ----------
    kernel
        Kernel of each feature.
    gamma
        Parameter of the kernel; if not given, chosen for each column by its variance.
    divergence
        What keeps the weights of the kernels near their start: squared differences, or Kullback-Leibler.
    lambda2
        Weight of the norm; if not given, such that about ten features are left at the end. With --cv and
        --max-features cross-validation also tries one with which the path begins with that many features.
    eps
        Kernels whose weight has fallen to this are left out; below 1/e.
    step
        By how much the norm p falls from point to point, from 2 to 1.
    """

    kernel: Annotated[Literal["rbf", "laplace", "polynomial", "linear"], Parameter(group=MODEL)] = "rbf"
    gamma: Positive = None
    divergence: Annotated[Literal["euclidean", "kl"], Parameter(group=MODEL)] = "euclidean"
    lambda2: Positive = None
    eps: Annotated[float, Parameter(group=MODEL, validator=positive_number)] = 1e-4
    step: Annotated[float, Parameter(group=MODEL, validator=validators.Number(gt=0, lte=1))] = 0.01


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class SvmOptions:
    """The point of the path to use, and the SVM on its features.

    Parameters
    ----------
    C
        Penalty of the SVM; if not given, 0.3, 3 or 30 as cross-validation chooses, without it 10.
    cv
        Number of cross-validation folds to choose the point for predict; if not given, the last point is used.
    scoring
        Score that cross-validation maximises, by its name in scikit-learn: accuracy, balanced_accuracy, roc_auc, ...
    max_features
        The most features that a point may have to be judged and used; if not given, without --cv any number, with it
        as many as take 256 MiB as explicit columns of their kernels in all folds, or 50 if these take more.
    svm
        What is trained on the selected features: an SVM on the learnt kernel, of at most 20,000 samples, or a linear
        one on explicit columns of the kernels.
    max_time
        Time limit in seconds, after which the best point judged so far is used.
    """

    C: Annotated[float | None, Parameter(name="--C", group=MODEL, validator=positive_number)] = None
    cv: Annotated[int | None, Parameter(group=MODEL, converter=to_integer, validator=validators.Number(gte=2))] = None
    scoring: Annotated[str, Parameter(group=MODEL)] = "accuracy"
    max_features: Annotated[int | None, Parameter(group=MODEL), Count] = None
    svm: Annotated[Literal["kernel", "linear"], Parameter(group=MODEL)] = "kernel"
    max_time: Positive = None


KERNELS, SVM = KernelOptions(), SvmOptions()


@app.command
def path(
    file: str,
    /,
    *,
    kernels: KernelOptions = KERNELS,
    svm: SvmOptions = SVM,
    fitting: Fitting = FITTING,
    out: Annotated[str, Parameter(alias="-o", group=OUTPUT)] = "path.json",
    store_training_columns: Annotated[bool, Parameter(group=OUTPUT, negative="--no-store-training-columns")] = True,
    reporting: Reporting = REPORTING,
    reading: Reading = READING,
):
    """Select features by non-linear kernels, one for each: the whole path from many features to few.

    FILE is svmlight/LIBSVM text (plain, .gz, .bz2, or - for standard input), .npz, .npy, .csv, .tsv or .parquet.

    ```
    thresher path data.npz --kernel rbf --cv 5 --max-features 200 --out path.json
    thresher predict path.json test.npz --features 50
    thresher inspect path.json --features 20
    ```

    Parameters
    ----------
    file
        Training data.
    kernels
        The kernels, and the path of their weights.
    svm
        The point of the path to use, and the SVM on its features.
    fitting
        Options of every fit.
    out
        Model file to write.
    store_training_columns
        Whether the model file has the training columns of the whole path, which --features of predict and inspect
        needs, or the support rows of the selected columns alone.
    reporting
        How the command reports.
    reading
        How the file is read.
    """
    return later("path", **locals())
