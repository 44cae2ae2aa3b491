"""The values of (alpha, beta) of a grid, and larger grids whose models are penalised less."""

from dataclasses import dataclass, replace
from typing import Self

import numpy as np

from thresher.families.sparse_svm.points import first_alpha
from thresher.families.sparse_svm.svm import largest_beta

BETA_RATIO, ALPHA_RATIO = 0.05, 1e-3  # smallest over largest value, where nothing else is asked for
SMALLEST_BETA, SMALLEST_ALPHA = 1e-3, 1e-6  # the same in a grid that was extended: it is not extended further
NEAR_END = 0.05  # share of the values, but at least one, that counts as the end
EXTENSION = 1 / 3  # share of the values that an extension adds


@dataclass(frozen=True)
class Penalties:
    """The grid: ``alphas[i]`` are those of ``betas[i]``.

    Parameters
    ----------
    betas : ndarray of shape (n_betas,)
        The values of beta, from the largest on.
    alphas : ndarray of shape (n_betas, n_alphas)
        The values of alpha, from the largest on.
    beta_step, alpha_step : float or None
        The factor from a value to the next one that an extension adds; None: there is no extension.
    """

    betas: np.ndarray
    alphas: np.ndarray
    beta_step: float | None = None
    alpha_step: float | None = None

    @property
    def shape(self) -> tuple[int, int]:
        """(n_betas, n_alphas)."""
        return self.alphas.shape

    def extended(self, best: tuple[int, int], svms) -> Self | None:
        """A grid with more alphas, or else more betas, if the ``best`` point is at that end; None if it is not."""
        i, j = best
        n_betas, n_alphas = self.shape
        first = self.alphas[-1, 0]
        if self.alpha_step and is_near_end(j, n_alphas) and self.alphas[-1, -1] > SMALLEST_ALPHA * first:
            more = np.multiply.outer(self.alphas[:, -1], further(self.alpha_step, n_alphas))
            return replace(self, alphas=np.column_stack([self.alphas, more]))
        if self.beta_step and is_near_end(i, n_betas) and self.betas[-1] > SMALLEST_BETA * self.betas[0]:
            betas = self.betas[-1] * further(self.beta_step, n_betas)
            tops = [max(first_alpha(svm, beta) for svm in svms) or first for beta in betas]
            more = np.multiply.outer(tops, self.alphas[-1] / first)
            return replace(self, betas=np.concatenate([self.betas, betas]), alphas=np.vstack([self.alphas, more]))
        return None


def is_near_end(index: int, size: int) -> bool:
    """Whether an index is among the last NEAR_END of ``size``."""
    return index >= size - max(1, int(NEAR_END * size))


def further(step: float, size: int) -> np.ndarray:
    """The values that an extension adds to ``size`` of them, as multiples of the last."""
    return step ** np.arange(1, 1 + max(1, int(EXTENSION * size)))


def grid_of(svms, n_betas, n_alphas, beta_ratio=None, alpha_ratio=None, betas=None, alphas=None) -> Penalties:
    """The Penalties given, or logarithmic ones from the largest with a model, which may be extended if no ratio is.

    The largest beta has w = 0 for every alpha: its alphas are those of the next beta, or 1 where there is none.
    """
    made = betas is None and alphas is None
    if betas is None:
        most = max(largest_beta(svm) for svm in svms) or 1.0  # zero: w = 0 for every beta
        ratio = beta_ratio or BETA_RATIO
        betas = most * (np.geomspace(1.0, ratio, n_betas) if n_betas > 1 else np.array([ratio]))
    if alphas is None:
        tops = [max(first_alpha(svm, beta) for svm in svms) for beta in betas]
        later = [next((top for top in tops[i:] if top > 0.0), 1.0) for i in range(len(tops))]
        alphas = np.multiply.outer(later, np.geomspace(1.0, alpha_ratio or ALPHA_RATIO, n_alphas))
    return Penalties(
        np.asarray(betas, dtype=np.float64),
        np.broadcast_to(alphas, (len(betas), np.shape(alphas)[-1])).copy(),
        beta_step=BETA_RATIO ** (1.0 / max(1, n_betas - 1)) if made and beta_ratio is None else None,
        alpha_step=ALPHA_RATIO ** (1.0 / max(1, n_alphas - 1)) if made and alpha_ratio is None else None,
    )
