"""Which kernels there are: the parameters kernel, gamma, degree and coef0, checked."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from thresher.data.designs.base import Design
from thresher.estimators.shared import parameters as check
from thresher.features.kernels.columns import LOOP_KINDS, ColumnKernel
from thresher.features.kernels.sources import (
    ColumnKernelSource,
    KernelList,
    KernelSource,
    ListedKernelSource,
    SameKernel,
)

ENTRY = "a tuple of the name of a kernel and its columns, for example ('rbf', [0, 3])"


@dataclass(frozen=True, eq=False)
class KernelChoice:
    """The parameters of the same names. Methods raise a ValueError that names one that is invalid."""

    kernel: Any
    gamma: Any
    degree: Any
    coef0: Any

    @property
    def is_list(self) -> bool:
        """Whether ``kernel`` lists kernels with their columns instead of naming that of every column."""
        return isinstance(self.kernel, (list, tuple))

    def layout(self, n_features: int | None = None) -> SameKernel | KernelList:
        """The kernels, checked against the number of features if it is known."""
        return self._listed(n_features) if self.is_list else SameKernel(self._kernel(self.kernel, "kernel"))

    def _kernel(self, name: Any, parameter: str) -> ColumnKernel:
        check.one_of(parameter, name, tuple(LOOP_KINDS))
        if isinstance(self.gamma, str):
            check.one_of("gamma", self.gamma, ("scale",))
        fixed = check.positive("gamma", self.gamma) if check.is_real(self.gamma) else None
        degree = check.integer("degree", self.degree)
        return ColumnKernel(name, fixed, degree, check.positive("coef0", self.coef0, zero=True))

    def _listed(self, n_features: int | None) -> KernelList:
        if not len(self.kernel):
            raise ValueError("kernel is an empty list: pass the name of a kernel, or a list of (kernel, columns)")
        kernels, members = [], []
        for place, entry in enumerate(self.kernel):
            if not isinstance(entry, (list, tuple)) or len(entry) != 2:
                raise ValueError(f"kernel[{place}] must be {ENTRY}, got {entry!r}")
            kernels.append(self._kernel(entry[0], f"the name in kernel[{place}]"))
            members.append(_columns_of_entry(entry[1], place, n_features))
        begins = np.cumsum([0, *(columns.size for columns in members)])
        return KernelList(tuple(kernels), begins, np.concatenate(members))

    def source(self, design: Design) -> KernelSource:
        """X with these kernels."""
        layout = self.layout(design.n_columns)
        if isinstance(layout, KernelList):
            gammas = self._given_gammas(len(layout.kernels), "kernel lists", "kernels")
            return ListedKernelSource(design, layout, gammas)
        gammas = self._given_gammas(design.n_columns, "X has", "features")
        if gammas is not None:
            gammas = gammas[design.ids_in_X(np.arange(design.width))]
        return ColumnKernelSource(design, layout.kernel, gammas)

    def _given_gammas(self, count: int, has: str, noun: str) -> np.ndarray | None:
        """One gamma for each kernel, if ``gamma`` is an array."""
        if isinstance(self.gamma, str) or check.is_real(self.gamma):
            return None
        gammas = check.penalties("gamma", self.gamma, (1,))
        if gammas.size != count:
            raise ValueError(f"gamma has {gammas.size} values, but {has} {count} {noun}: pass one for each")
        return gammas


def _columns_of_entry(given: Any, place: int, n_features: int | None) -> np.ndarray:
    """The columns of an entry of the list, sorted."""
    columns = np.atleast_1d(np.asarray(given))
    if columns.ndim != 1 or not columns.size or columns.dtype.kind not in "iu":
        raise ValueError(f"the columns of kernel[{place}] must be an integer or a list of integers, got {given!r}")
    ids = np.unique(columns).astype(np.int64)
    if ids.size < columns.size:
        raise ValueError(f"kernel[{place}] lists a column twice: {given!r}")
    if ids[0] < 0 or (n_features is not None and ids[-1] >= n_features):
        wrong = int(ids[0] if ids[0] < 0 else ids[-1])
        known = "columns are numbered from 0"
        if n_features is not None:
            known = f"X has {n_features} features, numbered from 0"
        raise ValueError(f"kernel[{place}] has the column {wrong}, which does not exist: {known}")
    return ids
