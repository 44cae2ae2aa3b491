"""What a model file has of a SparseSVCPath besides its selection: the grid, and what cross-validation chose."""

from typing import Any

import numpy as np

from thresher.estimators.shared import INTEGER, REAL, Attribute
from thresher.results import Grid
from thresher.state import ArrayReader, ArrayWriter, fields, get_parts, integer, need, required

Supports = list[tuple[np.ndarray, np.ndarray]]


def get_grid(reader: ArrayReader, part: Any, name: str, path: Any) -> Grid:
    """The grid of a SparseSVCPath that has its classes."""
    across = () if path.classes_.size == 2 else (path.classes_.size,)
    return Grid.from_state(reader, part, path.n_features_in_, across)


def put_scores(writer: ArrayWriter, name: str, scores: np.ndarray) -> Any:
    """The scores of the folds, one row for each."""
    return writer.put(name, scores.reshape(len(scores), -1), "<f8")


def get_scores(reader: ArrayReader, part: Any, name: str, path: Any) -> np.ndarray:
    """The scores of a SparseSVCPath that has its grid."""
    grid = path.path_
    return reader.get(part, "<f8", (None, grid.alphas.size), name, finite=False).reshape(-1, *grid.shape)


def put_supports(writer: ArrayWriter, name: str, supports: Supports) -> Any:
    """The features of all models of each fold, end to end."""
    return [
        {
            "begins": writer.put(f"supports.{fold}.begins", begins, "<i8"),
            "ids": writer.put(f"supports.{fold}.ids", ids, "<i8"),
        }
        for fold, (begins, ids) in enumerate(supports)
    ]


def get_supports(reader: ArrayReader, part: Any, name: str, path: Any) -> Supports:
    """The features of a SparseSVCPath that has its grid."""
    need(isinstance(part, list), f"{name} must be a list")
    folds = [fields(fold, required("begins", "ids"), name) for fold in part]
    what, size, count = f"the features of {name}", path.path_.alphas.size, path.n_features_in_
    return [get_parts(reader, fold["begins"], fold["ids"], size, what, count=count) for fold in folds]


def get_point(reader: ArrayReader, part: Any, name: str, path: Any) -> tuple[int, int]:
    """The indices of a point."""
    need(isinstance(part, list) and len(part) == 2, f"{name} must be a pair")
    return integer(part[0], name), integer(part[1], name)


SAVED = {
    "n_iter_": INTEGER,
    "path_": Attribute(lambda writer, name, grid: grid.to_state(writer), get_grid),
    "scores_": Attribute(put_scores, get_scores, optional=True),
    "supports_": Attribute(put_supports, get_supports, optional=True),
    "best_index_": Attribute(lambda writer, name, point: [int(index) for index in point], get_point, optional=True),
    "best_score_": REAL._replace(optional=True),
}
