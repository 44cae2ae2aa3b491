"""What losses and measures have in common: values with a name, some with a parameter, that say how they are used."""

from abc import ABC, abstractmethod
from numbers import Real
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

if TYPE_CHECKING:
    from thresher.optim.problems.margins import Problem


class LossOrMeasure(ABC):
    """What a fit minimises. Its ``name`` is that of the class, unless the class sets another one.

    ``judges``: whether models are scored by it, else by accuracy. ``is_weighted``: whether it takes all sample weights.
    ``selects_all``: whether models of all features can be fitted. ``candidate_factor``: how many times as many
    candidates as features elimination starts from; None: the general rule.
    """

    name: ClassVar[str]
    judges: ClassVar[bool] = False
    is_weighted: ClassVar[bool] = True
    selects_all: ClassVar[bool] = False
    candidate_factor: ClassVar[float | None] = None

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        if "name" not in cls.__dict__:
            cls.name = cls.__name__

    @property
    def title(self) -> str:
        """The name in words."""
        return self.name.replace("_", " ")

    @property
    def explained_title(self) -> str:
        """The title, with an explanation where it needs one."""
        return self.title

    @abstractmethod
    def default_C(self, weights: np.ndarray) -> float:
        """The C that None stands for.

        Parameters
        ----------
        weights : ndarray of shape (n_samples,)
            Weights of the samples.

        Returns
        -------
        float
            The weight of the loss.
        """

    def check_weights(self, weights: np.ndarray) -> None:  # noqa: B027 (a loss of margins takes all)
        """Raise InvalidDataError for sample weights that it does not take, ValueError for too few samples with one.

        Parameters
        ----------
        weights : ndarray of shape (n_samples,)
            Weights of the samples.
        """

    def of_share(self, share: float) -> Self:
        """The loss for a part of the samples, such as a fold.

        Parameters
        ----------
        share : float
            The size of the part relative to all samples.

        Returns
        -------
        Loss or Measure
            The value itself, unless it counts samples.
        """
        return self

    @abstractmethod
    def problem(
        self, y: np.ndarray, cost: np.ndarray, fit_intercept: bool, classes: int = 1, share: float = 1.0
    ) -> "Problem":
        """The problem of labels and costs, for the solvers.

        Parameters
        ----------
        y, cost : ndarray of shape (classes * n_samples,)
            Labels -1.0 and +1.0 and costs of the samples, class after class.
        fit_intercept : bool
            Whether the model has an intercept.
        classes : int, default=1
            Number of classes, each against all others.
        share : float, default=1.0
            The share of all samples that these are.

        Returns
        -------
        Problem
            Everything but the columns and the penalty.
        """


def is_positive(value: Any) -> bool:
    """Whether a parameter is a finite number above 0."""
    return isinstance(value, Real) and not isinstance(value, bool) and 0.0 < float(value) < np.inf
