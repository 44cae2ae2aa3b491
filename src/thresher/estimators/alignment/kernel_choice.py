"""Which kernels there are: the parameters kernel, gamma, degree and coef0, checked."""

import functools
from typing import Any

import numpy as np

from thresher.data.designs.base import Design
from thresher.estimators.shared import parameters as check
from thresher.features.kernels.column_kernel import KERNELS, ColumnKernel
from thresher.features.kernels.sources import (
    ColumnKernelSource,
    KernelList,
    KernelSource,
    ListedKernelSource,
    SameKernel,
)

ENTRY = "a tuple of the name of a kernel and its columns, for example ('rbf', [0, 3])"


def kernel_layout(
    kernel: Any, gamma: Any, degree: Any, coef0: Any, n_features: int | None = None
) -> SameKernel | KernelList:
    """The kernels that users describe, checked against the number of features if it is known."""
    if isinstance(gamma, str):
        check.one_of("gamma", gamma, ("scale",))
    named = functools.partial(
        ColumnKernel,
        gamma=check.as_positive("gamma", gamma) if check.is_real(gamma) else None,
        degree=check.as_integer("degree", degree),
        coef0=check.as_non_negative("coef0", coef0),
    )
    if not isinstance(kernel, (list, tuple)):
        return SameKernel(named(check.one_of("kernel", kernel, tuple(KERNELS))))
    if not kernel:
        raise ValueError("kernel is an empty list: pass the name of a kernel, or a list of (kernel, columns)")
    kernels, members = [], []
    for place, entry in enumerate(kernel):
        if not isinstance(entry, (list, tuple)) or len(entry) != 2:
            raise ValueError(f"kernel[{place}] must be {ENTRY}, got {entry!r}")
        kernels.append(named(check.one_of(f"the name in kernel[{place}]", entry[0], tuple(KERNELS))))
        members.append(_columns_of_entry(entry[1], place, n_features))
    begins = np.cumsum([0, *(columns.size for columns in members)])
    return KernelList(tuple(kernels), begins, np.concatenate(members))


def _columns_of_entry(given: Any, place: int, n_features: int | None) -> np.ndarray:
    """The columns of an entry of the list, sorted."""
    columns = np.atleast_1d(np.asarray(given))
    if columns.ndim != 1 or not columns.size or columns.dtype.kind not in "iu":
        raise ValueError(f"the columns of kernel[{place}] must be an integer or a list of integers, got {given!r}")
    ids = np.unique(columns).astype(np.int64)
    if ids.size < columns.size:
        raise ValueError(f"kernel[{place}] lists a column twice: {given!r}")
    unknown = ids[(ids < 0) | (ids >= (np.inf if n_features is None else n_features))]
    if unknown.size:
        known = "columns are numbered from 0"
        if n_features is not None:
            known = f"X has {n_features} features, numbered from 0"
        raise ValueError(f"kernel[{place}] has the column {unknown[0]}, which does not exist: {known}")
    return ids


def kernel_source(layout: SameKernel | KernelList, gamma: Any, design: Design) -> KernelSource:
    """X with these kernels, each with a gamma of its own if ``gamma`` is an array."""
    if isinstance(layout, KernelList):
        count = layout.n_kernels
        return ListedKernelSource(design, layout, _given_gammas(gamma, count, f"kernel lists {count} kernels"))
    gammas = _given_gammas(gamma, design.n_columns, f"X has {design.n_columns} features")
    if gammas is not None:
        gammas = gammas[design.ids_in_X(np.arange(design.width))]
    return ColumnKernelSource(design, layout.kernel, gammas)


def _given_gammas(gamma: Any, count: int, needed: str) -> np.ndarray | None:
    """One gamma for each kernel, if ``gamma`` is an array."""
    if isinstance(gamma, str) or check.is_real(gamma):
        return None
    gammas = check.penalties("gamma", gamma, (1,))
    if gammas.size != count:
        raise ValueError(f"gamma has {gammas.size} values, but {needed}: pass one for each")
    return gammas
