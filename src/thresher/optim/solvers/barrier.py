"""What the interior point methods share: the system of a step, and how far a step may go."""

from collections.abc import Iterable

import numpy as np
from scipy.linalg.lapack import dpotrf, dpotrs

Pairs = Iterable[tuple[np.ndarray, np.ndarray]]


class SmallerSide:
    """The inverse of  B B' + D  for B (n, m) and a positive diagonal D: over rows, or over columns if these are fewer.

    Over the columns it is that of  1 + B'D^-1 B.  Up to ``few`` rows it is always over rows. ``failed``: rounding
    errors forbid it.
    """

    def __init__(self, B: np.ndarray, D: np.ndarray, few: int = 0):
        self.B, self.D, self.by_rows = B, D, B.shape[0] <= max(B.shape[1], few)
        half = B if self.by_rows else (B / np.sqrt(D)[:, None]).T
        M = half @ half.T
        M[np.diag_indices_from(M)] += D if self.by_rows else 1.0
        self._factor, failed = dpotrf(M.T, lower=1, overwrite_a=1)  # symmetric, and in the order that is not copied
        self.failed = bool(failed) or not np.isfinite(np.diagonal(self._factor)).all()

    def times(self, right: np.ndarray) -> np.ndarray:
        """The inverse times a vector or columns; over the columns refined twice, since digits cancel there."""
        if self.by_rows:
            return dpotrs(self._factor, right, lower=1)[0]
        D = self.D if right.ndim == 1 else self.D[:, None]
        x, rest = np.zeros_like(right), right
        for _ in range(3):
            scaled = rest / D
            x = x + scaled - self.B @ dpotrs(self._factor, self.B.T @ scaled, lower=1)[0] / D
            rest = right - self.B @ (self.B.T @ x) - D * x
        return x


def longest(constraints: Pairs, changes: Pairs, most: float) -> float:
    """The longest step, up to ``most``, on which all values and multipliers stay positive; nan if one is not finite."""
    values = np.concatenate([part for pair in constraints for part in pair])
    change = np.concatenate([part for pair in changes for part in pair])
    if not np.isfinite(change).all():
        return np.nan
    falling = change < 0.0
    length = float((values[falling] / -change[falling]).min(initial=np.inf))
    return most if length > most else length
