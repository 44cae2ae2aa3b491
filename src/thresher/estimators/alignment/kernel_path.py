"""KernelPath, and the kernels, as users describe them: checked, and for the data of a fit."""

import functools
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from thresher.data.designs.base import Design
from thresher.estimators.shared import check
from thresher.families.alignment.divergences import DIVERGENCES, Divergence, GivenDivergence
from thresher.families.alignment.formulation import LARGEST_EPS, Formulation, auto_lambda2, lambda2_to_begin_with
from thresher.features.kernels.columns import LOOP_KINDS, ColumnKernel
from thresher.features.kernels.sources import (
    ColumnKernelSource,
    KernelList,
    KernelSource,
    ListedKernelSource,
    SameKernel,
)
from thresher.state import register

ENTRY = "a tuple of the name of a kernel and its columns, for example ('rbf', [0, 3])"
MOST_POINTS = 100_000  # of a path


@register
@dataclass(frozen=True, repr=False)
class KernelPath:
    """The path of generalised lp-KTA: weights of kernels for p from 2 down to 1.

    At each p the weights eta >= 0 of the kernels K_i, each centred and of unit trace, minimise

        lambda1 sum B_F(eta_i) + lambda2 sum eta_i^p - sum eta_i y'K_i y / n

    Parameters
    ----------
    lambda1 : float or "auto", default="auto"
        Weight of the divergence; "auto": lambda2 for "euclidean", a tenth of it for "kl". 0 needs ``p_end`` > 1.
    lambda2 : float, "auto" or list of these, default="auto"
        Weight of the norm, in units of alignments divided by n, which lie between 0 and 1. "auto": the tenth largest
        of them, of fewer than 100 kernels that of the top tenth, so that about ten features are left at p = 1. With
        ``AlignmentPathClassifier`` cross-validation chooses from a list; with its ``max_features`` and ``cv``, "auto"
        is a list of two: the second is such that the path begins with ``max_features`` features, whose weights then
        differ less.
    eps : float, default=1e-4
        Weights that are not above it are set to zero; below 1/e.
    p_start, p_end, step : float, default=2.0, 1.0, 0.01
        The values of p: from p_start down to p_end, which is at least 1.
    divergence : {"euclidean", "kl"} or object, default="euclidean"
        B_F: squares of differences from 0; generalised Kullback-Leibler divergence from 0.01; or an object with methods
        ``slope(eta)`` and ``curvature(eta)``, F' and F'' of arrays, and a number ``start``. Model files can hold the
        first two only.
    predictor : {0, 1, 2}, default=1
        Order of the predictor from point to point. The path does not depend on it, but the number of Newton steps does.

    Examples
    --------
    >>> from thresher import KernelPath
    >>> KernelPath(step=0.05, divergence="kl")
    KernelPath(step=0.05, divergence='kl')
    """

    lambda1: float | str = "auto"
    lambda2: Any = "auto"
    eps: float = 1e-4
    p_start: float = 2.0
    p_end: float = 1.0
    step: float = 0.01
    divergence: Any = "euclidean"
    predictor: int = 1

    def __post_init__(self) -> None:
        if isinstance(self.lambda2, (list, tuple, np.ndarray)):
            object.__setattr__(self, "lambda2", tuple(self.lambda2))
        check.ensure(self.lambda2s, "lambda2 is an empty list: pass a number, 'auto' or a list of these")
        as_strength("lambda1", self.lambda1)
        for lambda2 in self.lambda2s:
            as_strength("lambda2", lambda2)
            check.ensure(self.lambda1 != 0 or lambda2 != 0, "lambda1 and lambda2 must not both be 0")
        if check.as_positive("eps", self.eps) >= LARGEST_EPS:
            raise ValueError(
                f"eps must be below 1/e = {LARGEST_EPS:.4f}, since larger weights may rise as p falls; got {self.eps!r}"
            )
        self._check_norms()
        divergence_of(self.divergence)
        if not check.is_integer(self.predictor) or self.predictor not in (0, 1, 2):
            raise ValueError(f"predictor must be 0, 1 or 2, got {self.predictor!r}")

    def _check_norms(self) -> None:
        start = check.as_positive("p_start", self.p_start)
        end = check.as_positive("p_end", self.p_end)
        check.ensure(end >= 1.0, f"p_end must be at least 1, got {self.p_end!r}")
        check.ensure(start > end, f"p_start must be above p_end={self.p_end!r}, got {self.p_start!r}")
        if (start - end) / check.as_positive("step", self.step) > MOST_POINTS:
            raise ValueError(f"step={self.step!r} gives a path of more than {MOST_POINTS:,} points: use a larger step")
        if self.lambda1 == 0 and end == 1.0:
            raise ValueError("lambda1=0 needs p_end above 1: at p = 1 the problem has no solution; use p_end=1.01")

    def __repr__(self) -> str:
        values = [(field.name, getattr(self, field.name), field.default) for field in fields(self)]
        changed = [f"{name}={value!r}" for name, value, default in values if value != default]
        return f"KernelPath({', '.join(changed)})"

    @property
    def lambda2s(self) -> tuple[float | str, ...]:
        """All values of lambda2."""
        return self.lambda2 if isinstance(self.lambda2, tuple) else (self.lambda2,)


def as_strength(name: str, value: Any) -> Any:
    """A float that is not negative, or "auto"."""
    if isinstance(value, str) and value == "auto":
        return value
    check.ensure(check.is_real(value), f"{name} must be 'auto' or a non-negative number, got {value!r}")
    return check.as_non_negative(name, value)


def as_kernel_path(name: str, value: Any) -> KernelPath:
    """A KernelPath, by default ``KernelPath()``."""
    if value is not None and not isinstance(value, KernelPath):
        raise ValueError(f"{name} must be None or a KernelPath, for example KernelPath(step=0.05); got {value!r}")
    return KernelPath() if value is None else value


def divergence_of(given: Any) -> Divergence:
    """The Divergence of this name, or given by an object with F' and F''."""
    if isinstance(given, Divergence):
        return given
    if isinstance(given, str) and given in DIVERGENCES:
        return DIVERGENCES[given]()
    if not all(hasattr(given, name) for name in ("slope", "curvature", "start")):
        raise ValueError(
            f"divergence must be 'euclidean', 'kl' or an object with slope, curvature and start, got {given!r}"
        )
    return GivenDivergence(given)


@dataclass(frozen=True)
class BeginsWith:
    """As lambda2: such that the path begins with about ``count`` features; "auto" where there is no such lambda2."""

    count: int


def formulation_of(
    path: KernelPath, lambda2: float | str | BeginsWith, a: np.ndarray, *, exact: bool = False
) -> Formulation:
    """The Formulation for one of the lambda2 and for alignments ``a`` divided by n, from which "auto" follows."""
    lambda1 = None if isinstance(path.lambda1, str) else float(path.lambda1)
    divergence = divergence_of(path.divergence)
    strength = None if isinstance(lambda2, (str, BeginsWith)) else float(lambda2)
    if isinstance(lambda2, BeginsWith):
        strength = lambda2_to_begin_with(lambda2.count, a, lambda1, divergence, float(path.eps), float(path.p_start))
    if strength is None:
        strength = auto_lambda2(a)
    return Formulation(
        lambda1=divergence.ratio * (strength or auto_lambda2(a)) if lambda1 is None else lambda1,
        lambda2=strength,
        divergence=divergence,
        eps=float(path.eps),
        p_start=float(path.p_start),
        p_end=float(path.p_end),
        step=float(path.step),
        predictor=int(path.predictor),
        exact=exact,
    )


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
        return SameKernel(named(check.one_of("kernel", kernel, tuple(LOOP_KINDS))))
    check.ensure(kernel, "kernel is an empty list: pass the name of a kernel, or a list of (kernel, columns)")
    kernels, members = [], []
    for place, entry in enumerate(kernel):
        is_pair = isinstance(entry, (list, tuple)) and len(entry) == 2
        check.ensure(is_pair, f"kernel[{place}] must be {ENTRY}, got {entry!r}")
        kernels.append(named(check.one_of(f"the name in kernel[{place}]", entry[0], tuple(LOOP_KINDS))))
        members.append(_columns_of_entry(entry[1], place, n_features))
    begins = np.cumsum([0, *(columns.size for columns in members)])
    return KernelList(tuple(kernels), begins, np.concatenate(members))


def _columns_of_entry(given: Any, place: int, n_features: int | None) -> np.ndarray:
    """The columns of an entry of the list, sorted."""
    columns = np.atleast_1d(np.asarray(given))
    if columns.ndim != 1 or not columns.size or columns.dtype.kind not in "iu":
        raise ValueError(f"the columns of kernel[{place}] must be an integer or a list of integers, got {given!r}")
    ids = np.unique(columns).astype(np.int64)
    check.ensure(ids.size == columns.size, f"kernel[{place}] lists a column twice: {given!r}")
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
        count = len(layout.kernels)
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
    check.ensure(gammas.size == count, f"gamma has {gammas.size} values, but {needed}: pass one for each")
    return gammas
