"""The command ``predict`` and its options; see ``options``."""

from dataclasses import dataclass
from typing import Annotated

from cyclopts import Parameter

from thresher.cli.app import (
    OUTPUT,
    REPORTING,
    FeatureCount,
    FileKind,
    Flag,
    Imports,
    IndexBase,
    Jobs,
    Point,
    Reporting,
    Text,
    Words,
    app,
    later,
)  # fmt: skip


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class Predictions:
    """What is written.

    Parameters
    ----------
    out
        File to write the predicted classes to, one per line; - for standard output. Of bags: a line for each, its name
        and its class.
    scores
        Also write scores, separated by tabs: positive for the second of two classes, else one per class, sorted.
    probabilities
        Like --scores, but probabilities of all classes in sorted order; for models with --loss logistic.
    instances
        Of bags: write a line for each row instead, its bag and what the row adds to the scores of the bag.
    """

    out: Annotated[str | None, Parameter(alias="-o", group=OUTPUT)] = None
    scores: Flag = False
    probabilities: Flag = False
    instances: Flag = False


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class NewData:
    """How data for a model is read.

    Parameters
    ----------
    kind
        Format of FILE; inferred from its extension if not given.
    labels
        A file of labels, if they are not in FILE.
    label_column
        Name of the label column, if it is not that of the training data.
    bag_column
        Name of the column or array of bags, if it is not that of the training data.
    ignore
        Columns to ignore, by name: a,b or a b, or repeated. Columns that the model does not use are ignored anyway.
    index_base
        Index of the first feature in svmlight text, if it is not that of the training data.
    """

    kind: FileKind = None
    labels: Text = None
    label_column: Text = None
    bag_column: Text = None
    ignore: Words = None
    index_base: IndexBase = None


PREDICTIONS, NEW_DATA = Predictions(), NewData()


@app.command
def predict(
    model: str,
    file: str,
    /,
    *,
    features: FeatureCount = None,
    point: Point = None,
    predictions: Predictions = PREDICTIONS,
    reporting: Reporting = REPORTING,
    jobs: Jobs = None,
    data: NewData = NEW_DATA,
    imports: Imports = None,
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
    predictions
        What is written.
    jobs
        Number of threads that read text.
    data
        How the data is read.
    imports
        A module of your own, here or installed, with classes that the model has; may be repeated.
    reporting
        How the command reports.
    """
    return later("predict", **locals())
