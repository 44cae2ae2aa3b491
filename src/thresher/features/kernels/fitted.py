"""What new data needs of kernels that users list."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, NoReturn

import numpy as np

from thresher.features.fitted import Label, MadeFeatures
from thresher.features.kernels.sources import KernelList


@dataclass(frozen=True, eq=False)
class KernelFeatures(MadeFeatures):
    """Kernels of columns that users put together: a feature is a kernel, its inputs are its columns."""

    listed: KernelList = field(repr=False)
    plural: ClassVar[str] = "kernels"

    @property
    def width(self) -> int:
        """See FittedFeatures."""
        return self.listed.n_kernels

    @property
    def n_listed(self) -> int | None:
        """See FittedFeatures."""
        return self.width

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

    def block(self, columns: Any, inputs: np.ndarray, ids: np.ndarray) -> NoReturn:
        """Raise TypeError: a kernel is not a column."""
        raise TypeError("kernels have no columns of their own: take the columns that they are made of")
