"""Target: what is predicted, for the samples of a fit; Labels: what is left of it after the fit."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, ClassVar, Self

import numpy as np

from thresher.optim.named_values import LossOrMeasure
from thresher.optim.problems.margins import Problem
from thresher.state import ArrayReader, ArrayWriter, OfKind

LEAST_COST, MOST_COST = 1e-60, 1e60  # of all samples together


class Labels(OfKind, ABC):
    """What a fitted model predicts: turns scores into predictions. In model files it has the key ``target``.

    ``str`` says what it is, such as "3 classes".
    """

    kinds: ClassVar[dict[str, type]] = {}

    @property
    @abstractmethod
    def n_outputs(self) -> int:
        """Scores of a sample."""

    @abstractmethod
    def predict(self, scores: np.ndarray) -> np.ndarray:
        """Predictions of samples.

        Parameters
        ----------
        scores : ndarray of shape (n_samples,) or (n_samples, n_outputs)
            Scores of a model.

        Returns
        -------
        ndarray of shape (n_samples,)
            One prediction for each.
        """

    @abstractmethod
    def to_state(self, writer: ArrayWriter) -> dict[str, Any]:
        """As a part of a model document.

        Parameters
        ----------
        writer : ArrayWriter
            Takes the arrays.

        Returns
        -------
        dict
            What ``from_state`` takes.
        """

    @classmethod
    def from_state(cls, reader: ArrayReader, state: Any) -> "Labels":
        """The Labels that ``to_state`` was called on.

        Parameters
        ----------
        reader : ArrayReader
            Has the arrays.
        state : dict
            The part of a document, which is validated.

        Returns
        -------
        Labels
            Of the class whose kind the state names.
        """
        return cls.class_of(state, "target").from_state(reader, state)


class Target(ABC):
    """What is predicted, with the loss of it: made of the labels and weights of samples, before features are known.

    Parameters
    ----------
    weights : ndarray of shape (n_samples,)
        Weights of the samples; those of weight zero do not count.
    loss : Loss or Measure
        What is minimised.
    """

    weights: np.ndarray
    loss: LossOrMeasure

    @property
    @abstractmethod
    def labels(self) -> Labels:
        """What the model will predict."""

    @property
    @abstractmethod
    def n_models(self) -> int:
        """Models with features of their own."""

    @property
    @abstractmethod
    def digested(self) -> np.ndarray:
        """The labels as numbers, for the fingerprint of the data: integers of classes, else float64."""

    @property
    @abstractmethod
    def strata(self) -> np.ndarray | None:
        """What folds are balanced by: the class of each sample; None: nothing."""

    @property
    def default_C(self) -> float:
        """The C that None stands for."""
        return self.loss.default_C(self.weights)

    @property
    def candidate_factor(self) -> float | None:
        """How many times as many candidates as features elimination starts from; None: by the general rule."""
        return self.loss.candidate_factor

    @abstractmethod
    def problems(self, C: float, held_out: np.ndarray | None = None) -> list[Problem]:
        """The problems to solve, one for each model.

        Parameters
        ----------
        C : float
            Weight of the loss.
        held_out : ndarray of int64, default=None
            Samples that have no cost, and so no influence.

        Returns
        -------
        list of Problem
            One for each model.
        """

    @abstractmethod
    def of_samples(self, samples: np.ndarray, weights: np.ndarray) -> Self:
        """The same for some of the samples.

        Parameters
        ----------
        samples : ndarray of int64
            Their numbers, sorted without duplicates.
        weights : ndarray of shape (n_some,)
            Their weights.

        Returns
        -------
        Target
            What counts samples counts as large a share of these.
        """

    def check_folds(self, folds: Sequence[np.ndarray]) -> None:  # noqa: B027 (optional)
        """Raise InvalidDataError if a fold cannot be judged: before anything is solved on it.

        Parameters
        ----------
        folds : sequence of ndarray of int64
            The samples that each fold holds out.
        """

    @abstractmethod
    def score(self, scores: np.ndarray, test: np.ndarray) -> float:
        """How well some samples are predicted: the larger, the better.

        Parameters
        ----------
        scores : ndarray of shape (n_samples, n_outputs)
            Scores of all samples.
        test : ndarray of int64
            The samples to be judged.

        Returns
        -------
        float
            What the loss stands for: accuracy, or a measure.
        """

    def by_model(self, units: np.ndarray, W: np.ndarray, *, grouped: bool) -> list[tuple[np.ndarray, np.ndarray]]:
        """(units, weights (columns, outputs)) of each model, of an earlier fit with weights W (columns, outputs)."""
        if self.n_models == 1:
            return [(units, W)]
        if grouped:
            return [(units, w[:, None]) for w in W.T]
        return [(units[w != 0.0], w[w != 0.0, None]) for w in W.T]

    def costs(self, C: float, held_out: np.ndarray | None = None) -> np.ndarray:
        """C times the weight of each sample, zero of those held out.

        Raises ValueError if squares of scores would overflow float64.
        """
        cost = C * self.weights
        if not LEAST_COST <= cost.sum() <= MOST_COST:
            raise ValueError(
                f"the sum of C times the sample weights is {cost.sum():.1e}; it must be between {LEAST_COST:g} and "
                f"{MOST_COST:g}: use another C or rescale sample_weight"
            )
        if held_out is not None:
            cost[held_out] = 0.0
        return cost
