"""StreamClassifier: online selection under a budget, as a scikit-learn estimator."""

import warnings
from collections.abc import Callable
from typing import Any, NoReturn, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse
from sklearn.utils import assert_all_finite, check_array, check_random_state, check_X_y
from sklearn.utils.validation import check_is_fitted, column_or_1d

from thresher.data.design import Design
from thresher.data.door import checked_sparse
from thresher.data.space import ColumnSpace, HashedSpace, NumberedSpace
from thresher.data.stream import check_size
from thresher.errors import InvalidDataError, UnsupportedDesignError
from thresher.estimators import parameters as check
from thresher.estimators.base import FLOATS, MatrixLike
from thresher.estimators.progress import StreamProgress
from thresher.estimators.selector import SelectorClassifier
from thresher.estimators.stream_options import learner_options, number_of_passes
from thresher.families.online import Learners
from thresher.results import Milestone, Selection

AT_ONCE = 1 << 14  # rows of a batch that are laid out at a time
LIGHTEST, HEAVIEST = 1e-60, 1e20  # weight of an example


class StreamClassifier(SelectorClassifier):
    """Linear classifier that learns from a stream, one example after the other, and has at most ``budget`` features.

    After every example the weights are cut back to the budget. What an example costs depends on its own non-zero values
    and on the budget, not on how many features there are; each feature that was ever seen takes 50 to 100 bytes.

    Every example is judged before it is learnt from, so ``progressive_accuracy_`` is an honest estimate for data that
    come in the same way. More than two classes are learnt one against the rest, each with a budget of its own.

    Parameters
    ----------
    budget : int or None, default=100
        The number of features that may have a weight, for each class. None, for "l1-arda" and "ada-fobos" alone: as
        many as ``l1`` leaves.
    method : {"b-arda", "b-amd", "ofs", "sofs", "l1-arda", "ada-fobos"}, default="b-arda"
        How weights are learnt and cut. "b-arda" is best on most data with few features, and as fast as the others where
        examples are sparse.
    loss : {"squared_hinge", "hinge", "logistic"}, default=None
        None: the method's own, hinge for "ofs", else squared hinge, max(0, 1 - y v)^2. "sofs" has no other.
    step_size : float or list of floats, default=None
        The step eta (not for "sofs"). None: 0.1.
    l2 : float or list of floats, default=None
        Weight lambda of the squared penalty ("b-arda", "b-amd", "ofs"). None: 1e-4, for "ofs" 1e-2.
    l1 : float or list of floats, default=None
        Weight of the absolute penalty ("l1-arda", "ada-fobos"). None: 1e-3.
    gamma : float or list of floats, default=None
        How slowly "sofs" learns. None: 1.
    delta : float, default=0.01
        What the adaptive methods add to the root of the sum of squared gradients.
    fit_intercept : bool, default=True
        Whether there is a constant, which is neither penalised nor cut.
    open_ended : bool, default=False
        Whether a batch may have more columns than those before; columns are then told apart by number alone.
    hash_bits : int, default=None
        Columns are mapped to 2^hash_bits by a hash, values that meet are added up: memory has a limit then, and
        ``selection_`` speaks of hashed columns.
    class_weight : dict or "balanced", default=None
        Weights of the classes, multiplied with those of the samples. "balanced": by the counts so far.
    n_passes : int or "paper", default=10
        How often ``fit`` goes through X, each time in another random order; "paper": ceil(2 columns / rows).
        ``partial_fit`` goes through its batch once, in the order given.
    random_state : int, RandomState or None, default=None
        Order of the passes of ``fit``.
    verbose : int or callable, default=0
        1 shows examples per second, accuracy and features on one line, 2 on a new one each time; a function is called
        with a ``Milestone`` and the examples per second.

    Lists of step sizes or penalties are tried side by side on one reading of the stream; the least progressive loss
    chooses.

    Attributes
    ----------
    selection_ : Selection
        ``features`` (sorted) and ``weights`` of the best setting so far. It has no certificate.
    coef_, intercept_ : csr_array of shape (1, n_features) or (n_classes, n_features), ndarray
        The same as a sparse matrix.
    classes_ : ndarray of shape (n_classes,)
        The labels; of two, positive scores speak for the second.
    n_examples_ : int
        Examples learnt from; those of weight zero do not count.
    progressive_accuracy_, progressive_loss_ : float
        Share of the examples that were right before they were learnt from, and their mean loss (summed over classes).
    trace_ : list of Milestone
        Loss, accuracy, features and truncation error after 1, 2, 3, 4, 6, 8, 12, 16, 23, 32, ... examples.
    setting_, settings_ : dict, list of dict
        The best setting; all settings with the progressive loss and accuracy of each.
    n_features_seen_ : int
        Features that had a value other than zero in some example.
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

    _state: Any  # StreamLearners, or Frozen where it came from a model file

    def __init__(
        self, budget: int | None = 100, method: str = "b-arda", *, loss: str | None = None,
        step_size: float | list[float] | None = None, l2: float | list[float] | None = None,
        l1: float | list[float] | None = None, gamma: float | list[float] | None = None, delta: float = 0.01,
        fit_intercept: bool = True, open_ended: bool = False, hash_bits: int | None = None,
        class_weight: dict | str | None = None, n_passes: int | str = 10, random_state: Any = None,
        verbose: int | Callable[..., Any] = 0,
    ):  # fmt: skip
        self.budget = budget
        self.method = method
        self.loss = loss
        self.step_size = step_size
        self.l2 = l2
        self.l1 = l1
        self.gamma = gamma
        self.delta = delta
        self.fit_intercept = fit_intercept
        self.open_ended = open_ended
        self.hash_bits = hash_bits
        self.class_weight = class_weight
        self.n_passes = n_passes
        self.random_state = random_state
        self.verbose = verbose

    def fit(self, X: MatrixLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Forget what was learnt, and go through X ``n_passes`` times, each time in a random order.

        X is neither changed nor kept, but its entries are copied (of CSR only their columns).

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n_samples, n_features)
            The samples.
        y : array-like of shape (n_samples,)
            Their labels.
        sample_weight : array-like of shape (n_samples,), default=None
            Their weights; samples without weight are left out.

        Returns
        -------
        self : StreamClassifier
            The fitted estimator.
        """
        self._checked_options()
        X, y = self._checked_batch(X, y, first=True, ensure_min_samples=2)
        classes, codes = check.classes_of(y)
        weights = check.row_weights(sample_weight, None, codes, classes)
        state, rng = self._begun(classes), check_random_state(self.random_state)
        each = self._checked_weights(weights, classes)
        X, codes, weights = check.with_weight(X, codes, weights)
        rows = state.prepared(*self._space_of(X.shape[1]).entries(X))
        n_columns = state.slots.count if self._by_number else X.shape[1]
        passes = number_of_passes(self.n_passes, X.shape[0], n_columns)
        state.progress = StreamProgress(passes * len(codes))
        self._forget("n_features_in_", "feature_names_in_")
        self._state = state
        self._widen(X, anew=True)
        state.progress.begin(state)
        try:
            for _ in range(passes):
                order = rng.permutation(len(codes))
                for first in range(0, order.size, AT_ONCE):
                    state.learn(rows, order[first : first + AT_ONCE], codes, weights, each)
                    state.progress(state, self.verbose)
        finally:
            self._set_learnt()
            state.progress.close(state, self.verbose)
        return self

    def partial_fit(
        self, X: MatrixLike, y: ArrayLike, classes: ArrayLike | None = None, sample_weight: ArrayLike | None = None
    ) -> Self:
        """Learn from a batch, one row after the other; a batch whose weights are all zero changes nothing.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n_samples, n_features)
            The samples, in the order in which they are learnt from.
        y : array-like of shape (n_samples,)
            Their labels.
        classes : array-like of shape (n_classes,), default=None
            All labels there will be; needed in the first call.
        sample_weight : array-like of shape (n_samples,), default=None
            Their weights; samples without weight are left out.

        Returns
        -------
        self : StreamClassifier
            The estimator.
        """
        first = not hasattr(self, "_state")
        options = self._checked_options()
        if not first and (getattr(self._state, "options", None) != options or self._state.diverged):
            raise ValueError(self._cannot_go_on(options))
        if first and classes is None:
            raise ValueError("classes must be passed on the first call to partial_fit: all labels there will be")
        labels = np.unique(column_or_1d(classes)) if classes is not None else self.classes_
        if labels.size < 2:
            raise ValueError(f"classes must hold two labels or more, got {labels.tolist()}")
        if not first and not np.array_equal(labels, self.classes_):
            raise ValueError(f"classes={labels.tolist()} are not those of before, {self.classes_.tolist()}")
        X, given = self._checked_batch(X, y, first=first)
        codes, weights = check.codes_of(given, labels), check.sample_weights(sample_weight, X.shape[0])
        each = self._checked_weights(weights, labels)
        if not weights.any():
            return self._undone(first)
        X, codes, weights = check.with_weight(X, codes, weights)
        state = self._state = self._begun(labels) if first else self._state
        self._widen(X)
        state.progress.begin(state)
        try:
            for begin in range(0, codes.size, AT_ONCE):
                part = slice(begin, min(codes.size, begin + AT_ONCE))
                rows = state.prepared(*self.space_.entries(X[part]))
                state.learn(rows, np.arange(part.stop - begin), codes[part], weights[part], each)
                state.progress(state, self.verbose)
        finally:
            self._set_learnt()
        return self

    @property
    def selection_(self) -> Selection:  # type: ignore[override]  # worked out when asked for, never set
        """The Selection of the best setting so far."""
        if not hasattr(self, "_state"):
            raise AttributeError("there is no selection_ yet: call fit or partial_fit first")
        return self._state.selection

    @property
    def coef_(self) -> sparse.csr_array:
        """Its weights as a sparse matrix."""
        return self._coefficients(self.selection_)[0]

    @property
    def intercept_(self) -> np.ndarray:  # type: ignore[override]  # follows from selection_
        """Its intercepts."""
        return self._coefficients(self.selection_)[1]

    @property
    def n_features_seen_(self) -> int:
        """Features met so far."""
        if not hasattr(getattr(self, "_state", None), "slots"):
            raise AttributeError("n_features_seen_ is known after fit and partial_fit alone, not of a model file")
        return self._state.slots.count

    @property
    def diverged_(self) -> bool:
        """Whether the loss of an example was not finite: nothing can be learnt on then."""
        return bool(getattr(self._state, "diverged", False))

    def standing(self) -> Milestone:
        """Where the best setting stands now.

        Returns
        -------
        Milestone
            Loss, accuracy and features after the examples so far.
        """
        if isinstance(self._state, Frozen):
            raise AttributeError("standing is known after fit and partial_fit alone, not of a model file")
        return self._state.standing

    def _set_selection(self, selection: Selection) -> None:
        """Of a model file: it can be predicted with, and not be learnt on."""
        self._state = Frozen(selection)

    def _set_learnt(self) -> None:
        state, self.n_examples_ = self._state, self._state.examples
        self.classes_, best = state.classes, state.best
        self.setting_ = dict(state.settings[best])
        self.settings_ = [
            each | {"progressive_loss": float(state.loss(s)), "progressive_accuracy": float(state.accuracy(s))}
            for s, each in enumerate(state.settings)
        ]
        self.progressive_loss_, self.progressive_accuracy_ = float(state.loss(best)), float(state.accuracy(best))
        self.trace_ = list(state.records[best].milestones)

    def _checked_options(self) -> dict[str, Any]:
        """What the learners are made of; raises for parameters that cannot be, before any work is done."""
        return learner_options(self)

    def _begun(self, classes: np.ndarray) -> "StreamLearners":
        """Learners that know nothing yet."""
        options = self._checked_options()
        own = {key: value for key, value in options.items() if key not in ("hash_bits", "open_ended")}
        state = StreamLearners(n_classes=classes.size, **own)
        state.options, state.classes, state.progress = options, classes, StreamProgress()
        return state

    def _cannot_go_on(self, options: dict[str, Any]) -> str:
        if isinstance(self._state, Frozen):
            return (
                "this model came from a model file, which does not hold what is needed to learn on; "
                "take a checkpoint (thresher.save_checkpoint, thresher.load_checkpoint), or fit anew"
            )
        if self._state.diverged:
            return "training diverged in an earlier batch (non-finite loss): refit with a smaller step_size"
        old = self._state.options
        changed = next(key for key in options if old[key] != options[key])
        name = " or ".join(old["settings"][0]) if changed == "settings" else changed
        return f"{name} cannot be changed after learning began ({changed} was {old[changed]!r}): fit anew"

    def _forget(self, *but: str) -> None:
        for name in [name for name in vars(self) if (name.endswith("_") or name == "_state") and name not in but]:
            delattr(self, name)

    def _undone(self, first: bool) -> Self:
        """A batch without weight: nothing has happened."""
        if first:
            self._forget()
        return self

    def _checked_batch(
        self, X: MatrixLike, y: ArrayLike, *, first: bool, **options: Any
    ) -> tuple[Any, np.ndarray]:
        """(X, y) with structure and numbers that can be trusted."""
        if self._by_number:
            X = checked_sparse(X) if sparse.issparse(X) else X
            options |= {"dtype": FLOATS, "accept_sparse": ("csr", "csc"), "ensure_all_finite": False}
            if first and hasattr(X, "columns"):
                message = "columns are told apart by number, not by name: their order must stay the same"
                warnings.warn(message, UserWarning, stacklevel=3)
            X, labels = check_X_y(X, y, estimator=self, **options)
        else:
            X, labels = self._structured(X, reset=first, y=y, **options)
        assert_all_finite(X.data if sparse.issparse(X) else X, input_name="X")
        check_size(X)
        return X.tocsr() if sparse.issparse(X) else X, labels

    def _checked_weights(self, weights: np.ndarray, classes: np.ndarray) -> np.ndarray | str | None:
        """Weights of the classes: a number for each, "balanced", or None. None of all weights may be too large."""
        each: Any = self.class_weight
        if each is None or isinstance(each, str):
            check.one_of("class_weight", each, (None, "balanced"))
        else:
            each = check.class_weights(each, classes)
        largest = float(weights.max(initial=0.0)) * (float(each.max()) if isinstance(each, np.ndarray) else 1.0)
        positive = weights[weights > 0.0]
        least = float(positive.min(initial=np.inf)) * (float(each.min()) if isinstance(each, np.ndarray) else 1.0)
        for weight in (largest, least):
            if 0.0 < weight < LIGHTEST or HEAVIEST < weight < np.inf:
                raise InvalidDataError(
                    f"an example has the weight {weight:.3g}; it must lie between {LIGHTEST:g} and {HEAVIEST:g}"
                )
        return each

    def _widen(self, X: Any, anew: bool = False) -> None:
        """Columns that are told apart by number may be more than before."""
        if self._by_number:
            self.n_features_in_ = X.shape[1] if anew else max(getattr(self, "n_features_in_", 0), X.shape[1])
            self.__dict__.pop("feature_names_in_", None)

    def _checked(self, X: MatrixLike, dtype: Any = FLOATS) -> Any:
        if not self._by_number:
            return super()._checked(X, dtype)
        check_is_fitted(self)
        X = checked_sparse(X) if sparse.issparse(X) else X
        return check_array(X, accept_sparse=("csr", "csc"), dtype=dtype, input_name="X")

    def _design_given(self, X: Design, **_: Any) -> NoReturn:
        raise UnsupportedDesignError(
            "StreamClassifier learns row by row, but a Design is read by columns: use FGMClassifier, or give X itself"
        )

    @property
    def _by_number(self) -> bool:
        """Whether columns are told apart by their numbers alone, however many a matrix has."""
        return self.open_ended or self.hash_bits is not None

    @property
    def space_(self) -> ColumnSpace:
        """What the ids of features stand for: columns of X, by number alone, or hashed."""
        return self._space_of(self.n_features_in_)

    def _space_of(self, n_columns: int) -> ColumnSpace:
        if self.hash_bits is not None:
            return HashedSpace(n_columns, self.hash_bits)
        return (NumberedSpace if self.open_ended else ColumnSpace)(n_columns)


class StreamLearners(Learners):
    """Learners with what a StreamClassifier knows of them: checked options, labels, and how far the stream has come."""

    options: dict[str, Any]
    classes: np.ndarray
    progress: StreamProgress


class Frozen:
    """What a model file knows of a stream: where it ended."""

    def __init__(self, selection: Selection):
        self.selection = selection
