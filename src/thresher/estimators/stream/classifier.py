"""StreamClassifier: online selection under a budget, as a scikit-learn estimator."""

import math
from collections.abc import Callable, Iterable, Iterator
from typing import Any, ClassVar, NoReturn, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse
from sklearn.utils import check_random_state
from sklearn.utils.validation import column_or_1d

from thresher.data.designs.base import Design
from thresher.data.input.validation import check_columns
from thresher.data.rows.entries import check_size
from thresher.errors import UnsupportedDesignError, warn
from thresher.estimators.shared import SEEN, ColumnSelector, LinearClassifier, MatrixLike, StreamProgress, check
from thresher.estimators.stream.options import (
    STREAM_ATTRIBUTES,
    STREAM_CHECKS,
    StreamOptions,
    class_factors,
    stream_options,
)
from thresher.families.online.learners import Learners
from thresher.features.fitted_columns import ColumnFeatures, HashedFeatures, NumberedFeatures
from thresher.results import Milestone, Selection

ROWS_PER_CHUNK = 1 << 14  # rows of a batch that are prepared together


class StreamClassifier(ColumnSelector, LinearClassifier):
    """Online linear classifier that learns from a stream, one example at a time, with at most ``budget`` features.

    After every example the weights are truncated to the budget. The cost of an example depends on its non-zero values
    and on the budget, not on the number of features; each feature ever seen takes 50 to 100 bytes.

    Every example is predicted before it is learnt, so ``progressive_accuracy_`` is an unbiased estimate for data from
    the same stream. More than two classes are learnt one-vs-rest, each with its own budget.

    Parameters
    ----------
    budget : int or None, default=100
        Maximum number of features with non-zero weight, for each class. None, for "l1-arda" and "ada-fobos" only: as
        many as ``l1`` leaves.
    method : {"b-arda", "b-amd", "ofs", "sofs", "l1-arda", "ada-fobos"}, default="b-arda"
        How weights are learnt and truncated. "b-arda" is best on most data with a small budget, and as fast as the
        others if examples are sparse.
    loss : {"squared_hinge", "hinge", "logistic"}, default=None
        Loss function. None: the default of the method, hinge for "ofs", else squared hinge, max(0, 1 - y v)^2. "sofs"
        supports no other.
    step_size : float or list of floats, default=None
        Step size eta (not for "sofs"). None: 0.1.
    l2 : float or list of floats, default=None
        Weight lambda of the l2 penalty ("b-arda", "b-amd", "ofs"). None: 1e-4, for "ofs" 1e-2.
    l1 : float or list of floats, default=None
        Weight of the l1 penalty ("l1-arda", "ada-fobos"). None: 1e-3.
    gamma : float or list of floats, default=None
        Inverse learning rate of "sofs": the larger, the smaller its steps. None: 1.
    delta : float, default=0.01
        Added by the adaptive methods to the root of the sum of squared gradients.
    fit_intercept : bool, default=True
        Whether to fit an intercept, which is neither penalised nor truncated.
    open_ended : bool, default=False
        Whether a batch may have more columns than earlier ones; columns are then identified by number only.
    hash_bits : int, default=None
        Columns are hashed to 2^hash_bits ids, and colliding values are summed: memory is then bounded, and the features
        of ``selection_`` are hashed ids.
    class_weight : dict or "balanced", default=None
        Class weights, multiplied with the sample weights. "balanced": by the class counts so far.
    n_passes : int or "paper", default=10
        Number of passes of ``fit`` over X, each in a new random order; "paper": ceil(2 columns / rows).
        ``partial_fit`` passes over its batch once, in the given order.
    random_state : int, RandomState or None, default=0
        Seed of the random orders of ``fit``: two fits on the same data give the same bits. None: other orders in each
        fit, from numpy's global random state.
    verbose : int or callable, default=0
        1: examples per second, accuracy and features on one line, 2: on a new line each time. A callable is called with
        a ``Milestone`` and the examples per second.

    With lists of step sizes or penalties all combinations are trained in the same pass over the stream; the one with
    the lowest progressive loss is used.

    Attributes
    ----------
    selection_ : Selection
        ``features`` (sorted) and ``weights`` of the best setting so far; without a certificate, and without
        ``importance``, since no statistics of columns are kept: ``ranking`` is by |weight|.
    coef_, intercept_ : csr_array of shape (1, n_features) or (n_classes, n_features), ndarray
        Weights as a sparse matrix, and the intercept.
    classes_ : ndarray of shape (n_classes,)
        Class labels. In the binary case positive scores mean ``classes_[1]``.
    n_examples_ : int
        Number of examples learnt; those of weight zero do not count.
    progressive_accuracy_, progressive_loss_ : float
        Accuracy and mean loss (summed over classes) on the examples, each predicted before it was learnt.
    trace_ : list of Milestone
        Loss, accuracy, features and truncation error after 1, 2, 3, 4, 6, 8, 12, 16, 23, 32, ... examples.
    setting_, settings_ : dict, list of dict
        Best setting; all settings, each with its progressive loss and accuracy.
    n_features_seen_ : int
        Number of features with a non-zero value in some example.
    n_features_in_, feature_names_in_ : int, ndarray
        Number and, for data frames, names of the columns; with ``open_ended`` the largest number so far.

    Examples
    --------
    >>> from thresher import StreamClassifier
    >>> from thresher.datasets import make_wide
    >>> data = make_wide(4000, 500, n_relevant=5, random_state=0)
    >>> clf = StreamClassifier(budget=5)
    >>> for first in range(0, 4000, 100):
    ...     batch = slice(first, first + 100)
    ...     clf = clf.partial_fit(data.X[batch], data.y[batch], classes=[-1, 1])
    >>> clf.selection_.features, data.relevant
    (array([134, 153, 254, 316, 421]), array([134, 153, 254, 316, 421]))
    >>> clf.progressive_accuracy_ > 0.95, clf.trace_[-1].examples
    (True, 2897)
    """

    _state: Any  # Learners with classes and progress, or the Selection of a model file

    _saved: ClassVar = STREAM_ATTRIBUTES
    _checks: ClassVar = STREAM_CHECKS
    _proven: ClassVar[bool] = False

    def __init__(
        self, budget: int | None = 100, method: str = "b-arda", *, loss: str | None = None,
        step_size: float | list[float] | None = None, l2: float | list[float] | None = None,
        l1: float | list[float] | None = None, gamma: float | list[float] | None = None, delta: float = 0.01,
        fit_intercept: bool = True, open_ended: bool = False, hash_bits: int | None = None,
        class_weight: dict | str | None = None, n_passes: int | str = 10, random_state: Any = 0,
        verbose: int | Callable[..., Any] = 0,
    ):  # fmt: skip
        self._store(locals())

    def fit(self, X: MatrixLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Train from scratch, with ``n_passes`` passes over X, each in a random order.

        X is neither modified nor kept, but its entries are copied (of CSR only the column indices).

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n_samples, n_features)
            Samples.
        y : array-like of shape (n_samples,)
            Class labels.
        sample_weight : array-like of shape (n_samples,), default=None
            Sample weights; samples of weight zero are ignored.

        Returns
        -------
        self : StreamClassifier
            The fitted estimator.
        """
        options = self._checked_options()
        X, y = self._checked_batch(X, y, first=True, ensure_min_samples=2)
        classes, codes = check.classes_of(y)
        weights = check.row_weights(sample_weight, None, codes, classes)
        state, rng = self._untrained(options, classes), check_random_state(self.random_state)
        class_weights = class_factors(self.class_weight, weights, classes)
        X, codes, weights = check.with_weight(X, codes, weights)
        rows = state.prepared(*self._features_of(X.shape[1]).entries(X))
        n_passes = self.n_passes
        if n_passes == "paper":
            n_columns = state.slots.count if self._by_number else X.shape[1]
            n_passes = math.ceil(2 * n_columns / X.shape[0])
        state.progress = StreamProgress(n_passes * len(codes))
        self._forget(*SEEN)
        self._state = state
        self._widen(X, reset=True)

        def parts() -> Iterator[tuple]:
            for _ in range(n_passes):
                order = rng.permutation(len(codes))
                for begin in range(0, order.size, ROWS_PER_CHUNK):
                    yield rows, order[begin : begin + ROWS_PER_CHUNK], codes, weights

        try:
            self._learn(parts(), class_weights)
        finally:
            state.progress.finish(state, self.verbose)
        return self

    def partial_fit(
        self, X: MatrixLike, y: ArrayLike, classes: ArrayLike | None = None, sample_weight: ArrayLike | None = None
    ) -> Self:
        """Learn from a batch, one row at a time; a batch whose weights are all zero changes nothing.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n_samples, n_features)
            Samples, in the order in which they are learnt.
        y : array-like of shape (n_samples,)
            Class labels.
        classes : array-like of shape (n_classes,), default=None
            All class labels; required in the first call.
        sample_weight : array-like of shape (n_samples,), default=None
            Sample weights; samples of weight zero are ignored.

        Returns
        -------
        self : StreamClassifier
            The estimator.
        """
        first = not hasattr(self, "_state")
        options = self._checked_options()
        if not first and (getattr(self._state, "options", None) != options or self._state.diverged):
            raise ValueError(self._cannot_go_on(options))
        known = classes is not None or not first
        check.ensure(known, "classes must be passed on the first call to partial_fit: list all class labels")
        labels = np.unique(column_or_1d(classes)) if classes is not None else self.classes_
        if labels.size < 2:
            raise ValueError(f"classes must contain at least two labels, got {labels.tolist()}")
        if not first and not np.array_equal(labels, self.classes_):
            raise ValueError(f"classes={labels.tolist()} is not the same as in earlier calls, {self.classes_.tolist()}")
        X, given = self._checked_batch(X, y, first=first)
        codes, weights = check.codes_of(given, labels), check.sample_weights(sample_weight, X.shape[0])
        class_weights = class_factors(self.class_weight, weights, labels)
        if not weights.any():
            if first:
                self._forget()
                self.__dict__.pop("_library", None)
            return self
        X, codes, weights = check.with_weight(X, codes, weights)
        if first:
            self._state = self._untrained(options, labels)
        self._widen(X)

        def parts() -> Iterator[tuple]:
            for begin in range(0, codes.size, ROWS_PER_CHUNK):
                part = slice(begin, begin + ROWS_PER_CHUNK)
                rows = self._state.prepared(*self.fitted_features_.entries(X[part]))
                yield rows, np.arange(codes[part].size), codes[part], weights[part]

        self._learn(parts(), class_weights)
        return self

    def _learn(self, parts: Iterable[tuple], class_weights: Any) -> None:
        """Learn from parts, (rows, their order, codes, weights); what was learnt is kept if an error ends that."""
        state = self._state
        state.progress.begin(state)
        try:
            for part in parts:
                state.learn(*part, class_weights)
                state.progress(state, self.verbose)
        finally:
            self._set_learnt()

    @property
    def selection_(self) -> Selection:
        """The Selection of the best setting so far."""
        if not hasattr(self, "_state"):
            raise AttributeError("there is no selection_ yet: call fit or partial_fit first")
        return self._of_this_fit(self._state if isinstance(self._state, Selection) else self._state.selection)

    @selection_.setter
    def selection_(self, selection: Selection) -> None:
        self._state = selection  # of a model file: for prediction only, it cannot be trained further

    @property
    def n_features_seen_(self) -> int:
        """Number of features seen so far."""
        if not hasattr(getattr(self, "_state", None), "slots"):
            raise AttributeError("n_features_seen_ is only available after fit or partial_fit, not after load")
        return self._state.slots.count

    @property
    def diverged_(self) -> bool:
        """Whether training diverged: the loss of an example was not finite."""
        return bool(getattr(self._state, "diverged", False))

    def standing(self) -> Milestone:
        """Progressive loss, accuracy and number of features of the best setting so far.

        Returns
        -------
        Milestone
            The state after the examples so far.
        """
        if isinstance(self._state, Selection):
            raise AttributeError("standing is only available after fit or partial_fit, not after load")
        return self._state.standing

    def _set_learnt(self) -> None:
        """Set the fitted attributes that follow from the state."""
        state = self._state
        best = state.best
        self.n_examples_ = state.examples
        self.classes_ = state.classes
        self.setting_ = dict(state.settings[best])
        scores = [
            {"progressive_loss": float(state.loss(s)), "progressive_accuracy": float(state.accuracy(s))}
            for s in range(len(state.settings))
        ]
        self.settings_ = [setting | score for setting, score in zip(state.settings, scores, strict=True)]
        self.progressive_loss_ = scores[best]["progressive_loss"]
        self.progressive_accuracy_ = scores[best]["progressive_accuracy"]
        self.trace_ = list(state.records[best].milestones)

    def _checked_options(self) -> StreamOptions:
        return stream_options(self, super()._checked_options())

    def _untrained(self, options: StreamOptions, classes: np.ndarray) -> Any:
        """Learners with these options, with their classes and a progress line."""
        state: Any = Learners(options, classes.size)
        state.classes = classes
        state.progress = StreamProgress()
        return state

    def _cannot_go_on(self, options: StreamOptions) -> str:
        """Why training cannot continue."""
        if isinstance(self._state, Selection):
            return (
                "this model was loaded from a model file, which lacks the state needed to continue training; "
                "use a checkpoint (thresher.save_checkpoint, thresher.load_checkpoint) or call fit"
            )
        if self._state.diverged:
            return "training diverged in an earlier batch (non-finite loss): refit with a smaller step_size"
        old, new = vars(self._state.options), vars(options)
        changed = next(key for key in new if old[key] != new[key])
        name = " or ".join(old["settings"][0]) if changed == "settings" else changed
        return f"{name} cannot be changed between calls to partial_fit ({changed} was {old[changed]!r}): call fit"

    def _checked_batch(self, X: MatrixLike, y: ArrayLike, *, first: bool, **options: Any) -> tuple[Any, np.ndarray]:
        """(X, y), validated."""
        if self._by_number and first and hasattr(X, "columns"):
            message = "columns are identified by number, not by name: their order must stay the same"
            warn(message)
        X, labels = self._structured(X, reset=first, y=y, **options)
        names = None if self._by_number else getattr(self, "feature_names_in_", None)
        check_columns(X, ColumnFeatures(X.shape[1], column_names=names).shown_name)
        check_size(X)
        return X.tocsr() if sparse.issparse(X) else X, labels

    def _widen(self, X: Any, reset: bool = False) -> None:
        """Update the number of columns, which may grow if they are identified by number."""
        if self._by_number:
            self.n_features_in_ = X.shape[1] if reset else max(getattr(self, "n_features_in_", 0), X.shape[1])
            self.__dict__.pop("feature_names_in_", None)

    def _design_given(self, X: Design, **_: Any) -> NoReturn:
        raise UnsupportedDesignError(
            "StreamClassifier learns row by row, but a Design is read by columns: use FGMClassifier, or pass X itself"
        )

    @property
    def _by_number(self) -> bool:
        return self.open_ended or self.hash_bits is not None

    @property
    def fitted_features_(self) -> ColumnFeatures:
        """What the ids of features stand for: columns of X, columns by number only, or hashed columns."""
        return self._features_of(self.n_features_in_)

    def _features_of(self, n_columns: int) -> ColumnFeatures:
        if self.hash_bits is not None:
            return HashedFeatures(n_columns, self.hash_bits)
        if self.open_ended:
            return NumberedFeatures(n_columns)
        return ColumnFeatures(n_columns, column_names=getattr(self, "feature_names_in_", None))

    _why_no_importance = "a stream keeps no statistics of columns"

    def _sentences(self) -> list[str]:
        setting = ", ".join(f"{name} {value:g}" for name, value in self.setting_.items())
        progressive = (
            f"progressive accuracy {self.progressive_accuracy_:.4f}, progressive loss {self.progressive_loss_:.4g} "
            f"({setting})"
        )
        return [*super()._sentences(), progressive]

    def _origin(self) -> list[str]:
        if len(self.settings_) < 2:
            return []
        shown = (", ".join(f"{name} {value:.6g}" for name, value in each.items()) for each in self.settings_)
        return [f"setting: {setting}" for setting in shown]

    def _own_facts(self) -> dict[str, Any]:
        names = ("n_examples", "progressive_accuracy", "progressive_loss", "setting", "settings")
        return {name: getattr(self, f"{name}_") for name in names}
