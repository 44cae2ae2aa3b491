"""Kernels of one column, or of several together, as functions; and those of a model."""

from dataclasses import dataclass, replace

import numpy as np

from thresher.loops import alignment as loops

KERNELS = {"rbf": loops.RBF, "laplace": loops.LAPLACE, "polynomial": loops.POLYNOMIAL, "linear": loops.POLYNOMIAL}


@dataclass(frozen=True)
class ColumnKernel:
    """A kernel of points: ``gamma`` None is chosen for each column by its variance.

    rbf exp(-gamma (x - z)^2), laplace exp(-gamma |x - z|), polynomial (gamma x z + coef0)^degree, linear x z. Points
    are values, or rows of several: squares, absolute differences and products are then summed.
    """

    name: str = "rbf"
    gamma: float | None = None
    degree: int = 3
    coef0: float = 1.0

    @property
    def of_products(self) -> bool:
        """Whether the kernel depends on products of points; else on their differences, and is 1 for equal ones."""
        return self.name in ("polynomial", "linear")

    @property
    def settings(self) -> tuple[float, float, float]:
        """Kind, degree and constant, as the loops take them."""
        if self.name == "linear":
            return float(loops.POLYNOMIAL), 1.0, 0.0
        return float(KERNELS[self.name]), float(self.degree), float(self.coef0)

    @property
    def fixed_gamma(self) -> float:
        """The gamma of every column, NaN if it is chosen by the variance."""
        if self.name == "linear":  # one constant factor, which unit trace takes out
            return 1.0
        return np.nan if self.gamma is None else float(self.gamma)

    def with_gamma(self, gamma: float) -> "ColumnKernel":
        """The same kernel with another gamma."""
        return replace(self, gamma=gamma)

    def values(self, x: np.ndarray, z: np.ndarray) -> np.ndarray:
        """The kernel of points x with points z, (len(x), len(z))."""
        if self.of_products:
            return self._power(np.multiply.outer(x, z) if x.ndim == 1 else x @ z.T)
        exponents = self._exponents(x, z)
        return np.exp(exponents, out=exponents)

    def values_less_one(self, x: np.ndarray, z: np.ndarray) -> np.ndarray:
        """``values``, for rbf and laplace less 1: v'Kv with v that sums to zero is the same, and loses no digits."""
        if self.of_products:
            return self.values(x, z)
        exponents = self._exponents(x, z)
        return np.expm1(exponents, out=exponents)

    def _power(self, products: np.ndarray) -> np.ndarray:
        return products if self.name == "linear" else (self.fixed_gamma * products + self.coef0) ** self.degree

    def _exponents(self, x: np.ndarray, z: np.ndarray) -> np.ndarray:
        exponents = np.zeros((len(x), len(z)))
        for a, b in [(x, z)] if x.ndim == 1 else zip(x.T, z.T, strict=True):
            part = np.subtract.outer(a, b)
            exponents += np.multiply(part, part, out=part) if self.name == "rbf" else np.abs(part, out=part)
        exponents *= -self.fixed_gamma
        return exponents

    def diagonal(self, x: np.ndarray) -> np.ndarray:
        """The kernel of each point with itself."""
        if not self.of_products:
            return np.ones(len(x))
        return self._power(x * x if x.ndim == 1 else np.sum(x * x, axis=1))

    def anchored(self, x: np.ndarray, z: np.ndarray) -> np.ndarray:
        """(phi(x) - phi(0))'(phi(z) - phi(0)): zero at zero, and the same kernel once it is centred."""
        zero = np.zeros((1, *x.shape[1:]))
        to_zero = self.values_less_one(x, zero)
        from_zero = self.values_less_one(zero, z)
        return self.values_less_one(x, z) - to_zero - from_zero + self.values_less_one(zero, zero)

    def anchored_diagonal(self, x: np.ndarray) -> np.ndarray:
        """``anchored`` of each point with itself."""
        zero = np.zeros((1, *x.shape[1:]))
        to_zero = -2.0 * self.values_less_one(x, zero)[:, 0]
        if not self.of_products:
            return to_zero
        return self.diagonal(x) + to_zero + float(self.values(zero, zero)[0, 0])


@dataclass(frozen=True, eq=False)
class FittedKernels:
    """Kernels with their gammas, each of one column or more.

    Columns are laid out kernel by kernel: kernel k has the columns begins[k] to begins[k + 1] - 1.
    """

    kernels: tuple[ColumnKernel, ...]
    gammas: np.ndarray
    begins: np.ndarray

    def __len__(self) -> int:
        return self.gammas.size

    @property
    def n_columns(self) -> int:
        """Number of columns of all kernels."""
        return int(self.begins[-1])

    def kernel(self, k: int) -> ColumnKernel:
        """Kernel ``k``, with its gamma."""
        return self.kernels[k].with_gamma(float(self.gammas[k]))

    def columns(self, k: int) -> range:
        """The columns of kernel ``k``."""
        return range(int(self.begins[k]), int(self.begins[k + 1]))

    def take(self, places: np.ndarray) -> "FittedKernels":
        """Some of the kernels."""
        begins, _ = take_ranges(self.begins, places)
        return FittedKernels(tuple(self.kernels[k] for k in places.tolist()), self.gammas[places], begins)


def take_ranges(begins: np.ndarray, places: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(begins, members) of some of the ranges begins[k] to begins[k + 1] - 1, laid out one after the other."""
    sizes = begins[places + 1] - begins[places]
    new = np.concatenate([[0], np.cumsum(sizes)])
    return new, np.repeat(begins[places] - new[:-1], sizes) + np.arange(new[-1])
