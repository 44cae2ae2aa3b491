"""Which kernels there are: the parameters kernel, gamma, degree and coef0, checked."""

from typing import Any

import numpy as np

from thresher.data.designs.base import Design
from thresher.estimators.shared import parameters as check
from thresher.features.kernels.alignment import KERNELS, ColumnKernel
from thresher.features.kernels.units import ColumnKernels, GivenKernels, KernelSource, Units

ENTRY = "a tuple of the name of a kernel and its columns, for example ('rbf', [0, 3])"


def is_list(kernel: Any) -> bool:
    """Whether ``kernel`` lists units instead of naming the kernel of every column."""
    return isinstance(kernel, (list, tuple))


def checked_kernel(kernel: Any, gamma: Any, degree: Any, coef0: Any, called: str = "kernel") -> ColumnKernel:
    """The kernel of each column; ValueError names a parameter that is invalid."""
    check.one_of(called, kernel, tuple(KERNELS))
    if isinstance(gamma, str):
        check.one_of("gamma", gamma, ("scale",))
    fixed = check.positive("gamma", gamma) if check.is_real(gamma) else None
    return ColumnKernel(kernel, fixed, check.integer("degree", degree), check.positive("coef0", coef0, zero=True))


def checked_units(kernel: Any, gamma: Any, degree: Any, coef0: Any, n_features: int | None = None) -> Units:
    """The units of a list of (kernel, columns); ValueError names an entry that is invalid."""
    if not len(kernel):
        raise ValueError("kernel is an empty list: pass the name of a kernel, or a list of (kernel, columns)")
    kernels, members = [], []
    for place, entry in enumerate(kernel):
        if not isinstance(entry, (list, tuple)) or len(entry) != 2:
            raise ValueError(f"kernel[{place}] must be {ENTRY}, got {entry!r}")
        kernels.append(checked_kernel(entry[0], gamma, degree, coef0, f"the name in kernel[{place}]"))
        members.append(_columns(entry[1], place, n_features))
    begins = np.concatenate([[0], np.cumsum([each.size for each in members])])
    return Units(tuple(kernels), begins, np.concatenate(members))


def _columns(given: Any, place: int, n_features: int | None) -> np.ndarray:
    """The columns of an entry, sorted."""
    columns = np.atleast_1d(np.asarray(given))
    if columns.ndim != 1 or not columns.size or columns.dtype.kind not in "iu":
        raise ValueError(f"the columns of kernel[{place}] must be an integer or a list of integers, got {given!r}")
    ids = np.unique(columns).astype(np.int64)
    if ids.size < columns.size:
        raise ValueError(f"kernel[{place}] lists a column twice: {given!r}")
    if ids[0] < 0 or (n_features is not None and ids[-1] >= n_features):
        wrong = ids[0] if ids[0] < 0 else ids[-1]
        size = "" if n_features is None else f": X has {n_features} features, numbered from 0"
        raise ValueError(f"kernel[{place}] has the column {int(wrong)}, which there is not{size}")
    return ids


def kernel_source(kernel: Any, gamma: Any, degree: Any, coef0: Any, design: Design) -> KernelSource:
    """X with the kernels of its columns, or of the units that ``kernel`` lists; ValueError if these do not fit X."""
    if is_list(kernel):
        units = checked_units(kernel, gamma, degree, coef0, design.n_columns)
        return GivenKernels(design, units, _given_gammas(gamma, len(units.kernels), "kernel lists", "kernels"))
    gammas = _given_gammas(gamma, design.n_columns, "X has", "features")
    if gammas is not None:
        gammas = gammas[design.ids_in_X(np.arange(design.width))]
    return ColumnKernels(design, checked_kernel(kernel, gamma, degree, coef0), gammas)


def _given_gammas(gamma: Any, count: int, has: str, what: str) -> np.ndarray | None:
    """One gamma for each feature, if ``gamma`` is an array; ValueError if these are not as many."""
    if isinstance(gamma, str) or check.is_real(gamma):
        return None
    gammas = check.penalties("gamma", gamma, (1,))
    if gammas.size != count:
        raise ValueError(f"gamma has {gammas.size} values, but {has} {count} {what}: pass one for each")
    return gammas
