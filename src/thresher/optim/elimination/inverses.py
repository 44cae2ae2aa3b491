"""The inverse of the second derivative  H = 1 + X'DX  on columns that leave one after the other, on the smaller side.

With an intercept the best shift is eliminated:  H = 1 + X'(D - dd'/sum d)X, d the diagonal of D. ``ByColumns`` has the
inverse itself, m x m. ``ByRows`` has a factor of  1 + D^1/2 XX' D^1/2  on the rows with curvature, and gets products
with the inverse from it. Both are kept up to date by the rows whose curvature changed and the columns that left, as far
as that is less work than computing them anew. Columns are those of a block; those that have left count as zero.
"""

from abc import ABC, abstractmethod

import numpy as np
from scipy.linalg.blas import dgemm
from scipy.linalg.lapack import dpotrf, dpotri, dpotrs

from thresher.data.blocks.base import Block
from thresher.optim.solvers.dual_active_set import scaled_gram

INVERSE_ERROR = 1e-9  # relative error of an inverse from which on it is computed anew
LEAST_DIAGONAL = 1e-6  # an entry on the diagonal of the inverse below this may be a rounding error


class Inverse(ABC):
    """The inverse for one problem. ``D`` is the curvature that it belongs to, ``left`` the columns that are left."""

    def __init__(self, columns: Block, left: np.ndarray, *, shifted: bool):
        self.columns, self.left, self.shifted = columns, left, shifted
        self.D = np.zeros(columns.shape[0])

    @abstractmethod
    def work(self, D: np.ndarray) -> float:
        """Multiplications that ``refresh(D)`` takes."""

    @abstractmethod
    def refresh(self, D: np.ndarray) -> None:
        """Change to the curvature D."""

    @abstractmethod
    def times(self, r: np.ndarray) -> np.ndarray:
        """The inverse times r, which is zero where columns have left."""

    @abstractmethod
    def column(self, j: int) -> np.ndarray:
        """Column j of the inverse, perhaps with more entries after it; ``drop`` gets vectors of this length."""

    @abstractmethod
    def drop(self, left: np.ndarray, U: np.ndarray) -> None:
        """Only ``left`` is left: the inverse becomes inverse - UU'."""

    def floor(self, j: int) -> float:
        """A lower bound of the inverse at (j, j)."""
        x = self.columns.take(np.array([j])).toarray()[:, 0]
        return 1.0 / (1.0 + float(self.D @ (x * x)))

    def compact(self, columns: Block, kept: np.ndarray) -> None:
        """The block is now ``columns``: those at the positions ``kept``, which contain all that are left."""
        self.columns, self.left = columns, self.left[kept]


class ByColumns(Inverse):
    """The inverse as a matrix, with one more row and column if there is an intercept.

    ``plain`` is X'DX for the curvature ``counted``, from which the inverse is computed anew.
    """

    def __init__(self, columns: Block, left: np.ndarray, *, shifted: bool):
        super().__init__(columns, left, shifted=shifted)
        m = columns.shape[1]
        self.plain, self.counted, self.error = np.zeros((m, m)), self.D, 0.0
        self.G = np.zeros((m + shifted,) * 2, order="F")
        self._anew()

    def work(self, D: np.ndarray) -> float:
        """See Inverse."""
        changed = int(np.count_nonzero(D != self.D))
        return min(self._update_work(changed), self._anew_work(D)) if changed else 0.0

    def _update_work(self, changed: int) -> float:
        m = self.G.shape[0]
        return 2.0 * changed * m * (m + changed)

    def _anew_work(self, D: np.ndarray) -> float:
        m = float(np.count_nonzero(self.left))
        rows = min(np.count_nonzero(self.counted != D), np.count_nonzero(D))
        return m * m * (m + rows)

    def refresh(self, D: np.ndarray) -> None:
        """See Inverse."""
        rows = np.flatnonzero(D != self.D)
        if rows.size == 0:
            return
        change, before = D[rows] - self.D[rows], self.D
        is_less_work = self._update_work(rows.size) < self._anew_work(D)
        self.D = D
        if not (is_less_work and before.any() and D.any() and self._update(rows, change)):
            self._anew()

    def _update(self, rows: np.ndarray, change: np.ndarray) -> bool:
        """Woodbury's formula for rows whose curvature changed; False if rounding errors forbid it.

        Rows that almost determine a weight leave a small eigenvalue, by which errors grow.
        """
        A = self.columns.take_rows(rows).toarray()
        if self.shifted:
            A = np.concatenate([A, np.ones((rows.size, 1))], axis=1)
        A *= np.sqrt(np.abs(change))[:, None]
        P = self.G @ A.T
        S = A @ P
        S[np.diag_indices_from(S)] += np.sign(change)
        values, vectors = np.linalg.eigh(S)
        self.error = (self.error + np.finfo(float).eps) * max(1.0, 1.0 / np.abs(values).min())
        if not self.error <= INVERSE_ERROR:
            return False
        P = P @ vectors
        self.G = dgemm(-1.0, P, P / values, trans_b=1, beta=1.0, c=self.G, overwrite_c=1)
        return True

    def _anew(self) -> None:
        self.error = 0.0
        change = self.D - self.counted
        if 2 * np.count_nonzero(change) > np.count_nonzero(self.D):
            self.plain = self.columns.gram(self.D)
        else:
            self.plain += self.columns.gram(change)
        self.counted = self.D
        left = np.flatnonzero(self.left)
        H = self.plain[np.ix_(left, left)]
        H[np.diag_indices_from(H)] += 1.0
        self.G[:] = 0.0
        if not self.shifted:
            self.G[np.ix_(left, left)] = inverted(H)
            return
        total = float(self.D.sum())
        mean = self.columns.correlate(self.D)[left] / total if total > 0.0 else np.zeros(left.size)
        H -= np.multiply.outer(mean, mean * total)
        self.G[np.ix_(left, left)] = inverse = inverted(H)
        self.G[left, -1] = self.G[-1, left] = -(inverse @ mean)
        self.G[-1, -1] = (1.0 / total if total > 0.0 else 1.0) + float(mean @ (inverse @ mean))

    def times(self, r: np.ndarray) -> np.ndarray:
        """See Inverse."""
        return self.G[: r.size, : r.size] @ r

    def column(self, j: int) -> np.ndarray:
        """See Inverse."""
        return self.G[:, j]

    def drop(self, left: np.ndarray, U: np.ndarray) -> None:
        """See Inverse."""
        gone = np.flatnonzero(self.left & ~left)
        self.G = dgemm(-1.0, U, U, trans_b=1, beta=1.0, c=self.G, overwrite_c=1)
        self.G[gone] = 0.0
        self.G[:, gone] = 0.0
        self.left = left

    def compact(self, columns: Block, kept: np.ndarray) -> None:
        """See Inverse."""
        super().compact(columns, kept)
        self.plain = self.plain[np.ix_(kept, kept)]
        kept = np.append(kept, self.G.shape[0] - 1) if self.shifted else kept
        self.G = np.asfortranarray(self.G[np.ix_(kept, kept)])


class ByRows(Inverse):
    """The inverse through  1 + D^1/2 K D^1/2,  K = XX': Woodbury's formula, without ever dividing by D.

    What leaves K is subtracted; once that is more than what is left, K is summed anew: subtraction loses digits.
    """

    def __init__(self, columns: Block, left: np.ndarray, *, shifted: bool):
        super().__init__(columns, left, shifted=shifted)
        self._sum_anew()

    def _sum_anew(self) -> None:
        self.K = self.columns.take(np.flatnonzero(self.left)).row_gram()
        self.subtracted = 0.0
        self._factor: tuple | None = None

    def work(self, D: np.ndarray) -> float:
        """See Inverse."""
        return np.count_nonzero(D) ** 3 / 3.0

    def refresh(self, D: np.ndarray) -> None:
        """See Inverse."""
        self.D, self._factor = D, None

    def _factored(self) -> tuple:
        """(rows with curvature, square roots of it, factor, unit vector along the shift, inverse times that)."""
        if self._factor is None:
            rows = np.flatnonzero(self.D)
            root = np.sqrt(self.D[rows])
            factor = _cholesky(scaled_gram(self.K, rows, root)) if rows.size else None
            along = root / np.sqrt(root @ root) if self.shifted and rows.size else None
            self._factor = rows, root, factor, along, None if along is None else dpotrs(factor, along, lower=1)[0]
        return self._factor

    def times(self, r: np.ndarray) -> np.ndarray:
        """See Inverse."""
        return r - self._correction(self.columns.combine(r))

    def column(self, j: int) -> np.ndarray:
        """See Inverse."""
        out = -self._correction(self.columns.take(np.array([j])).toarray()[:, 0])
        out[j] += 1.0
        return out

    def _correction(self, z: np.ndarray) -> np.ndarray:
        """X' D^1/2 (1 + D^1/2 K D^1/2)^-1 D^1/2 z, with the best shift eliminated."""
        rows, root, factor, along, solved = self._factored()
        v = np.zeros(z.size)
        if rows.size:
            p = dpotrs(factor, root * z[rows], lower=1)[0]
            if along is not None:
                p -= solved * ((along @ p) / (along @ solved))
            v[rows] = root * p
        return np.where(self.left, self.columns.correlate(v), 0.0)

    def drop(self, left: np.ndarray, U: np.ndarray) -> None:
        """See Inverse."""
        gone = self.columns.take(np.flatnonzero(self.left & ~left)).toarray()
        self.left, self._factor = left, None
        self.K -= gone @ gone.T
        self.subtracted += float(np.einsum("ij,ij", gone, gone))
        if self.subtracted > float(self.K.trace()):
            self._sum_anew()


def _cholesky(H: np.ndarray) -> np.ndarray:
    """The lower factor of a symmetric matrix whose eigenvalues are at least 1, up to rounding.

    If large entries make it numerically singular, the smallest sufficient multiple of the identity is added.
    """
    more, rounding = 0.0, np.finfo(float).eps * H.diagonal().max(initial=1.0)
    factor, failed = dpotrf(H, lower=1)
    while failed:
        more = max(rounding, 10.0 * more)
        factor, failed = dpotrf(H + more * np.eye(H.shape[0]), lower=1)
    return factor


def inverted(H: np.ndarray) -> np.ndarray:
    """The inverse of a symmetric matrix whose eigenvalues are at least 1, up to rounding: see ``_cholesky``."""
    half, _ = dpotri(_cholesky(H), lower=1, overwrite_c=1)
    half = np.tril(half)
    return half + np.tril(half, -1).T
