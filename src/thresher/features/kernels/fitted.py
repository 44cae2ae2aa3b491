"""What new data needs of kernels that users list."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from thresher.features.fitted import Label, MadeFeatures
from thresher.features.kernels.sources import KernelList


@dataclass(frozen=True, eq=False)
class KernelFeatures(MadeFeatures):
    """Kernels of columns that users put together: a feature is a kernel, its inputs are its columns."""

    listed: KernelList = field(repr=False)

    @property
    def width(self) -> int:
        """See FittedFeatures."""
        return self.listed.n_kernels

    @property
    def n_listed(self) -> int | None:
        """See FittedFeatures."""
        return self.width

    @property
    def plural(self) -> str:
        """See FittedFeatures."""
        return "kernels"

    def places(self, ids: np.ndarray) -> list[dict[str, Any]]:
        """See FittedFeatures."""
        return [{"kernel": int(k), "columns": self.listed.columns(np.array([k])).tolist()} for k in ids]

    def inputs(self, ids: np.ndarray) -> np.ndarray:
        """See FittedFeatures."""
        return np.unique(self.listed.columns(ids))

    def names(self, ids: Sequence[int] | np.ndarray, label: Label) -> list[str]:
        """See FittedFeatures: the kernel, and its columns."""
        return [self._name(int(k), label) for k in ids]

    def _name(self, k: int, label: Label) -> str:
        columns = self.listed.columns(np.array([k])).tolist()
        return f"{self.listed.kernels[k].name}({', '.join(label(j) for j in columns)})"

    def columns(self, X: Any, ids: np.ndarray) -> Any:
        """Raise TypeError: a kernel is not a column."""
        raise TypeError("kernels have no columns of their own: take the columns that they are made of")

    def scores(self, X: Any, ids: np.ndarray, weights: np.ndarray, intercept: float | np.ndarray) -> np.ndarray:
        """Raise TypeError: weights of kernels are not those of a linear model."""
        raise TypeError("kernels have no linear scores")
