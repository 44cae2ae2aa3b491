"""Products of columns as users describe them."""

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

HEREDITY = (None, "strong", "weak")


@dataclass(frozen=True)
class Polynomial:
    """Products of two columns, squares and linear terms: the features of the kernel (gamma x'z + coef0)^2.

    None of them is written down but those that a fit takes. Squares of columns with two values are left out, since they
    repeat linear terms, and so are products with constant columns.

    Parameters
    ----------
    gamma : float, default=1.0
        Factor of x'z in the kernel. Before features are compared, products are multiplied by sqrt(2) gamma, squares by
        gamma and linear terms by sqrt(2 gamma coef0).
    coef0 : float, default=1.0
        Constant of the kernel: the larger, the more linear terms are preferred. 0: there are none.
    interaction_only : bool, default=False
        Whether to leave squares out.
    heredity : {None, "strong", "weak"}, default=None
        Whether a product may be selected only if both ("strong") or one ("weak") of its columns are selected as
        linear terms.

    Examples
    --------
    >>> import numpy as np
    >>> from thresher import FGMClassifier, Polynomial
    >>> X = np.random.default_rng(0).standard_normal((300, 40))
    >>> y = X[:, 7] * X[:, 30] > 0                       # no single column shows it
    >>> FGMClassifier(1, features=Polynomial(interaction_only=True)).fit(X, y).selection_.pairs
    array([[ 7, 30]])
    """

    gamma: float = 1.0
    coef0: float = 1.0
    interaction_only: bool = False
    heredity: str | None = None
    word: ClassVar[str] = "polynomial"

    def __post_init__(self) -> None:
        for name, least in (("gamma", "positive"), ("coef0", "at least 0")):
            value = getattr(self, name)
            real = isinstance(value, (int, float, np.integer, np.floating)) and not isinstance(value, bool)
            if not (real and math.isfinite(value) and (value > 0.0 or (value == 0.0 and name == "coef0"))):
                raise ValueError(f"{name} must be a finite number, {least}; got {value!r}")
        if not isinstance(self.interaction_only, (bool, np.bool_)):
            raise ValueError(f"interaction_only must be True or False, got {self.interaction_only!r}")
        if self.heredity not in HEREDITY:
            raise ValueError(f"heredity must be one of {HEREDITY}, got {self.heredity!r}")
        if self.heredity is not None and self.coef0 == 0.0:
            raise ValueError(
                f'heredity="{self.heredity}" needs linear terms, but coef0=0 leaves them out: set coef0 to a positive '
                "number"
            )

    def factors(self, pairs: np.ndarray) -> np.ndarray:
        """What the kernel multiplies features by.

        Parameters
        ----------
        pairs : ndarray of int64 of shape (n_features, 2)
            Columns of each feature, as in ``selection_.pairs``.

        Returns
        -------
        ndarray of float64
            The factor of each.
        """
        first, second = pairs.T
        product, square, linear = self.product_factor, float(self.gamma), self.linear_factor
        return np.where(second < 0, linear, np.where(first == second, square, product))

    @property
    def product_factor(self) -> float:
        """That of a product of two columns."""
        return math.sqrt(2.0) * float(self.gamma)

    @property
    def linear_factor(self) -> float:
        """That of a linear term."""
        return math.sqrt(2.0 * float(self.gamma) * float(self.coef0))
