"""The base class of all estimators: X is validated here once, and read through FittedFeatures from then on."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils import assert_all_finite, check_array, check_consistent_length, check_X_y
from sklearn.utils.validation import check_is_fitted, column_or_1d, validate_data

from thresher.data.designs.base import Design
from thresher.data.designs.memory import MemoryDesign
from thresher.data.input.validation import check_columns, check_given, checked_sparse, stored_block
from thresher.data.workers import Workers, count_workers
from thresher.errors import InvalidDataError, brief
from thresher.estimators.shared.frames import library_of, only_needed
from thresher.estimators.shared.parameters import Check, check_labels
from thresher.estimators.shared.suspicions import MOST_COLUMNS, warn_of_index, warn_of_leak
from thresher.features.fitted import FittedFeatures
from thresher.features.fitted_columns import ColumnFeatures
from thresher.results import Selection, Trace, rounded
from thresher.results.description import Description, Listing
from thresher.results.words import proof
from thresher.state import ArrayReader, ArrayWriter, boolean, integer, real, string
from thresher.targets.base import Labels
from thresher.targets.classes import ClassLabels

FLOAT_DTYPES = (np.float64, np.float32)
CERTIFICATE_FACTS = ("objective", "lower_bound", "gap", "pick_objective", "pick_bound", "pick_gap", "at_zero")
NO_STATISTICS = "the standard deviations of the features are unknown (in files of earlier versions: fit again)"
SEEN = ("n_features_in_", "feature_names_in_")  # what is known of X before a fit

MatrixLike = Any  # X as users pass it: array-like, sparse matrix, data frame or Design; validated here


class Attribute(NamedTuple):
    """How a fitted attribute is written to a model file and read from it.

    ``put(writer, name, value)`` returns a part of a document; ``get(reader, part, name, estimator)`` returns the value.
    The estimator then has its parameters, features, target and selection, and the attributes before this one.
    """

    put: Callable[[ArrayWriter, str, Any], Any]
    get: Callable[[ArrayReader, Any, str, Any], Any]
    optional: bool = False  # whether it may be missing


REAL = Attribute(lambda writer, name, value: float(value), lambda reader, part, name, estimator: real(part, name))
BOOLEAN = Attribute(lambda writer, name, value: bool(value), lambda reader, part, name, estimator: boolean(part, name))
TEXT = Attribute(lambda writer, name, value: str(value), lambda reader, part, name, estimator: string(part, name))
INTEGER = Attribute(lambda writer, name, value: int(value), lambda reader, part, name, estimator: integer(part, name))


@contextmanager
def text_named() -> Iterator[None]:
    """Say what to do about text in X, of which numpy would show all."""
    try:
        yield
    except ValueError as error:
        _, failed, text = str(error).partition("could not convert string to float: ")
        if not failed:
            raise
        text = text.removeprefix("np.str_(").strip("'\")")
        raise InvalidDataError(
            f"X contains text, could not convert string to float: {brief(text)}. All values must be numbers: encode "
            "documents with scikit-learn's TfidfVectorizer, categories with its OneHotEncoder"
        ) from None


class FeatureEstimator(TransformerMixin, BaseEstimator):
    """An estimator that selects features; ``fit`` sets ``selection_``."""

    classes_: np.ndarray
    n_features_in_: int
    selection_: Selection
    _checks: ClassVar[Mapping[str, Check]] = {}  # of parameters, each on its own
    _saved: ClassVar[Mapping[str, Attribute]] = {}  # fitted attributes that model files have besides the selection
    _proven: ClassVar[bool] = True  # whether the selection has a certificate
    _linear: ClassVar[bool] = True  # whether weights are coefficients: with many classes one for each
    _loss: Any = None  # what was minimised, if it is a loss or a measure of users
    _chosen_by: str | None = None  # the option of commands that chooses a model of the path
    _why_no_importance = NO_STATISTICS
    _library: str | None = None  # of the data frame fitted on

    @property
    def _labels(self) -> Labels:
        """What predictions are made of."""
        return ClassLabels(self.classes_)

    @_labels.setter
    def _labels(self, labels: Any) -> None:
        self.classes_ = labels.classes

    def _store(self, arguments: dict[str, Any]) -> None:
        """Keep the parameters as they were given: ``arguments`` are the ``locals()`` of ``__init__``."""
        self.__dict__.update({name: value for name, value in arguments.items() if name != "self"})

    def _checked_options(self) -> Any:
        """The parameters of ``_checks`` as a fit uses them; ValueError if one is invalid, whatever the data are."""
        return SimpleNamespace(**{name: check(name, getattr(self, name)) for name, check in self._checks.items()})

    def _deadline(self, trace: Trace) -> float:
        """When to stop, on the clock of ``time.perf_counter``."""
        return np.inf if self.max_time is None else trace.begun + float(self.max_time)

    def _forget(self, *but: str) -> None:
        """Remove the fitted attributes, except for some."""
        for name in [name for name in vars(self) if name.endswith("_") and name not in but]:
            delattr(self, name)

    def _takes(self, fitted: FittedFeatures | None) -> bool:
        """Whether a model file may have these features; None: they follow from the parameters."""
        return fitted is None

    def _restore(self) -> None:
        """Set what follows from the attributes that were read; ValueError if they are inconsistent."""

    def _alone(self) -> "FeatureEstimator":
        """The estimator as a model file without a path has it; by default it has none."""
        return self

    def _of_this_fit(self, selection: Selection) -> Selection:
        """The selection with what is known besides: its features, classes, and the library of the data frame."""
        fitted = selection.fitted_features
        return replace(
            selection,
            fitted_features=self.fitted_features_ if fitted is None else fitted,
            classes=self.classes_ if self._linear else None,
            library=self._library,
        )

    @property
    def fitted_features_(self) -> FittedFeatures:
        """What the ids of features stand for; known once ``fit`` has seen X."""
        known: Any = getattr(getattr(self, "selection_", None), "fitted_features", None)
        return self._columns if known is None else known

    @property
    def _columns(self) -> ColumnFeatures:
        """The columns of X."""
        return ColumnFeatures(self.n_features_in_, column_names=getattr(self, "feature_names_in_", None))

    @property
    def _by_number(self) -> bool:
        """Whether columns are identified by number only, however many a matrix has."""
        return False

    def checked(self, X: MatrixLike) -> Any:
        """Validate the structure of X, as ``predict`` does; values are checked where they are used.

        Parameters
        ----------
        X : array, sparse matrix, data frame or Design of shape (n_samples, n_features)
            Data with the features seen in fit.

        Returns
        -------
        ndarray, sparse matrix or Design
            X as floats, with valid structure. Features that are not selected may contain NaN and infinity.
        """
        return self._checked(X)

    def _checked(self, X: MatrixLike, dtype: Any = FLOAT_DTYPES, *, needed: np.ndarray | None = None) -> Any:
        """As ``checked``; if columns ``needed`` (sorted) are given, a data frame with these names may lack others.

        It may also have others, in any order; but if it has exactly the columns of fit, their order must be the same.
        """
        check_is_fitted(self)
        names = getattr(self, "feature_names_in_", None)
        part = None if needed is None or names is None else only_needed(X, names, needed)
        if part is None:
            return self._structured(X, reset=False, dtype=dtype)
        check_given(part)
        columns = check_array(part, dtype=dtype, accept_sparse=("csr", "csc"), ensure_all_finite=False, input_name="X")
        return MemoryDesign(stored_block(columns), needed, n_columns=self.n_features_in_)

    def _check_selected(self, columns: Any) -> None:
        """Raise InvalidDataError if ``columns``, the selected inputs of X, are not finite, naming the first."""
        fitted = self.fitted_features_
        inputs = fitted.inputs(self.selection_.features)
        check_columns(columns, lambda place: fitted.shown_name(int(inputs[place])))

    def _structured(self, X: MatrixLike, *, reset: bool, dtype: Any = FLOAT_DTYPES, **options: Any) -> Any:
        """X as a float array or a valid CSR or CSC matrix, perhaps not finite; with ``y`` in the options (X, labels).

        The number and names of columns must be those seen in fit, unless columns are identified by number only. A
        Design is taken as it is.
        """
        check_given(X)
        if "y" in options:
            check_labels(options["y"])
        if reset:
            self._library = library_of(X)
        if isinstance(X, Design):
            return self._design_given(X, reset=reset, **options)
        if sparse.issparse(X):
            with Workers(count_workers(getattr(self, "n_jobs", 1))) as workers:  # of one thread without the parameter
                X = checked_sparse(X, workers)
        options |= {"dtype": dtype, "accept_sparse": ("csr", "csc"), "ensure_all_finite": False}
        with text_named():
            if not self._by_number:
                checked = validate_data(self, X, reset=reset, **options)
            elif "y" in options:
                return check_X_y(X, estimator=self, **options)
            else:
                return check_array(X, input_name="X", **options)
        if reset and "y" in options:
            parts = [] if sparse.issparse(checked[0]) else [checked[0]]
            warn_of_index(parts, getattr(self, "feature_names_in_", None))
        return checked

    def _warn_of_leak(self, X: Any, codes: np.ndarray) -> None:
        """Warn of a selected column of X, as it was fitted on, that alone separates the classes.

        Designs that are not in memory are not read again: every pass over them is in the trace.
        """
        fitted, selection = self.fitted_features_, self.selection_
        if (isinstance(X, Design) and not X.in_memory) or not fitted.of_rows or not selection.features.size:
            return
        first = np.sort(selection.features[selection.ranking[:MOST_COLUMNS]])
        inputs = fitted.inputs(first)
        columns: Any = fitted.input_columns(X, inputs)
        columns = columns if sparse.issparse(columns) else np.asarray(columns)
        parts = (columns[:, place : place + 1] for place in range(inputs.size))
        each = (part.toarray()[:, 0] if sparse.issparse(part) else part[:, 0] for part in parts)
        warn_of_leak(zip(inputs.tolist(), each, strict=True), codes, fitted.shown_name)

    def _design_given(self, X: Design, *, reset: bool, y: Any = None, **_: Any) -> Any:
        """A Design passed as X, or with ``y`` (design, labels)."""
        if reset:
            self.n_features_in_ = X.n_columns
            self.__dict__.pop("feature_names_in_", None)
        self._columns.check(X)
        if y is None:
            return X
        y = column_or_1d(y, warn=True)
        if y.dtype.kind == "f":
            assert_all_finite(y, input_name="y")
        check_consistent_length(X, y)
        return X, y

    # what a fitted model says of itself

    def describe(self, label: Callable[[int], str] | None = None) -> Description:
        """What the fitted model says of itself: what was selected, why the fit ended, what is proven.

        Parameters
        ----------
        label : callable, default=None
            Names a column of X by its number; None: the names of the data frame fitted on, or x0, x1, ...

        Returns
        -------
        Description
            Values, sentences and a table; ``facts`` are JSON-serializable.
        """
        check_is_fitted(self)
        listing = self._listing(self.fitted_features_.column_name if label is None else label)
        return Description(
            listing,
            self.classes_.tolist(),
            self._sentences(),
            self._score_sentence(),
            self._origin(),
            self._facts(listing),
        )

    def proof(self) -> str:
        """What the certificate of the fit proves, and what it does not say.

        It is about the training objective, not about chance or new data: for these use
        ``sklearn.model_selection.permutation_test_score`` and a test set.

        Returns
        -------
        str
            How much of the training objective another model of the same kind could still take off.
        """
        check_is_fitted(self)
        return self._proof()

    def _proof(self) -> str:
        """What the certificate proves."""
        return proof(self.selection_.certificate, self.fitted_features_.width)

    def _listing(self, label: Callable[[int], str]) -> Listing:
        """What was selected."""
        return self.fitted_features_.listing(self.selection_, label, self._why_no_importance)

    def _sentences(self) -> list[str]:
        """Why the fit ended, and what is proven."""
        selection, certificate = self.selection_, self.selection_.certificate
        lines = [f"stop reason: {selection.stop_reason}"]
        if certificate is None:
            return lines
        lines.append(f"certificate: {self._proof()}")
        lines.append(
            f"training objective: {certificate.pick_objective:.6g} with these features, {certificate.at_zero:.6g} "
            f"without features; lower bound {certificate.pick_bound:.6g}"
        )
        lines += self._notes()
        return [*lines, f"cost: {rounded(selection.trace.passes)} passes over the data; scale: {selection.scale}"]

    def _notes(self) -> list[str]:
        """Additional notes on the certificate."""
        return []

    def _score_sentence(self) -> str:
        """The score that a model was chosen by, and that it is no estimate for new data; empty: there is none."""
        compared = self._compared
        if not compared:
            return ""
        return (
            f"cross-validation: {compared}. It was chosen by this score, which is therefore too high: not\nan estimate "
            "for new data. For one, score samples that were not in the training data (thresher predict)."
        )

    @property
    def _compared(self) -> str:
        """The score of the model chosen, and what it was chosen from; empty: nothing has a score."""
        means = self.cv_results_["mean_test_score"] if hasattr(self, "cv_results_") else np.zeros(0)
        if np.isnan(means).all():
            return ""
        name = self._score_name if isinstance(self._score_name, str) else "score"
        best = means[self.cv_results_["rank_test_score"].argmin()]  # means of those left out are over fewer folds
        return f"{name} {best:.4f}, the best of {np.count_nonzero(~np.isnan(means)):,} {self._candidates}"

    @property
    def _score_name(self) -> Any:
        """The score that cross-validation maximises: its name, or a callable."""
        return self.scoring

    @property
    def _candidates(self) -> str:
        """What cross-validation chooses from."""
        return "points"

    def _origin(self) -> list[str]:
        """How the model was fitted."""
        return []

    def _facts(self, listing: Listing) -> dict[str, Any]:
        """All facts, as JSON-serializable values."""
        selection, certificate = self.selection_, self.selection_.certificate
        bounds = None if certificate is None else {name: getattr(certificate, name) for name in CERTIFICATE_FACTS}
        return {
            "n_features": listing.size,
            "n_features_in": self.n_features_in_,
            "classes": self.classes_,
            "intercept": selection.intercept,
            "ranked_by": "weight" if listing.importance is None or listing.details is not None else "importance",
            "stop_reason": selection.stop_reason,
            "scale": selection.scale,
            "certificate": bounds,
            "proof": None if certificate is None else self._proof(),
            "passes": selection.trace.passes,
            **self._own_facts(),
        }

    def _own_facts(self) -> dict[str, Any]:
        """Those that only this kind of model has."""
        return {}

    if not TYPE_CHECKING:  # for type checkers an unknown attribute stays an error

        def __getattr__(self, name):
            """The error of an attribute that is not available; of probabilities with what to do."""
            if name == "predict_proba":
                raise AttributeError(
                    f"this {type(self).__name__} has no attribute 'predict_proba': FGMClassifier and MILESClassifier "
                    'have it with loss="logistic"; for others use scikit-learn\'s CalibratedClassifierCV(clf)'
                )
            return object.__getattribute__(self, name)  # raises again

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "selection_")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags
