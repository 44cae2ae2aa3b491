"""The fit of all estimators that select by FGM: each is a feature map, and what users call its parameters."""

import warnings
from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from thresher.data.input.scaling import SCALES
from thresher.data.workers import ONE_BLAS_THREAD, Workers, count_workers
from thresher.errors import FewerFeaturesWarning
from thresher.estimators.fgm.choice import Choice, Folds, values_of_C
from thresher.estimators.fgm.sentences import proven, shortfalls
from thresher.estimators.fgm.warm_start import Previous
from thresher.estimators.shared import parameters as check
from thresher.estimators.shared.base import MatrixLike
from thresher.estimators.shared.cv_results import CV_RESULTS
from thresher.estimators.shared.described import Described, chosen_by, scoring_name
from thresher.estimators.shared.folds import held_out_parts
from thresher.estimators.shared.linear import PathClassifier
from thresher.estimators.shared.progress import Progress
from thresher.estimators.shared.saved import INTEGER, REAL, Attribute
from thresher.estimators.shared.scoring import fold_scorer
from thresher.families.fgm.fit import select
from thresher.families.fgm.spec import ALL, FitPlan, FitSpec
from thresher.features.base import FeatureMap, Features
from thresher.features.samples import Base, Restrictions, Samples
from thresher.optim.named_values import LossOrMeasure
from thresher.optim.problems.named import as_loss, is_logistic
from thresher.results import Path, Selection, Trace, format_ranges
from thresher.targets import words
from thresher.targets.classes import ClassLabels, ClassTarget

SOLVERS = ("auto", "apg")


class FGMBase(Described, PathClassifier):
    """A classifier that selects by FGM. Subclasses have the parameters read here, and ``_feature_map``."""

    loss: Any
    per_class: bool
    path_: Path
    fit_intercept: bool = True
    debias: bool = False
    solver: str = "auto"
    _chosen_by = "--features"
    _inner_tol: ClassVar[float | None] = None  # accuracy of each turn's problem; None: by rule
    _saved: ClassVar[Mapping[str, Attribute]] = {"C_": REAL, "n_iter_": INTEGER, "cv_results_": CV_RESULTS}

    # what subclasses say

    @abstractmethod
    def _feature_map(self) -> FeatureMap:
        """What is selected; ValueError if the parameters describe nothing."""

    def _restrictions(self) -> Restrictions:
        """What must be selected and what must not, when X has been seen; by default nothing."""
        return Restrictions()

    # the fit

    def _fit(self, X: MatrixLike, y: ArrayLike, sample_weight: ArrayLike | None, bags: ArrayLike | None = None) -> Self:
        """Select features of X and fit the model on them."""
        trace = Trace()
        feature_map, spec, C = self._feature_map(), self._spec(trace), self._checked_C()
        with Workers(count_workers(self.n_jobs)) as workers, ONE_BLAS_THREAD:
            previous = self._previous(X)
            X, y = self._structured(X, reset=True, y=y, ensure_min_samples=2)
            restrictions = self._restrictions()
            feature_map.check(self.scale, restrictions)
            weights = check.sample_weights(sample_weight, X.shape[0])
            samples = feature_map.samples(X, np.asarray(y), weights, bags)
            target = self._target(samples)
            base = Base.read(
                samples, self._columns, target.digested, target.weights, workers, trace,
                scale=self.scale, keep=restrictions.columns, to_csc=feature_map.reads_columns,
            )  # fmt: skip
            features = feature_map.on(base, samples, restrictions, scale=self.scale, centre=bool(self.fit_intercept))
            fingerprint = base.fingerprint
            del base  # its statistics of all columns take more memory than what the features need of them
            spec.wanted(features)  # raises now rather than after a choice
            choice = self._choice(features, target, spec, C, trace)
            features, plan = choice.features, spec.on(choice.features, target)
            starts = None if previous is None else previous.starts(features, target)
            progress = Progress(self.verbose, plan.target and plan.target * target.n_models, features.units.noun)
            selection = select(features, target.problems(choice.C), plan, trace, starts, progress)
            progress.close(selection)
        self._set(selection, features, target, plan, choice, fingerprint)
        return self

    def _choice(self, features: Features, target: ClassTarget, spec: FitSpec, C: Any, trace: Trace) -> Choice:
        """The features and the C of the fit."""
        Cs = values_of_C(C, target)
        if len(Cs) == 1 and len(features.settings) == 1:
            return Choice(features, Cs[0])
        folds = held_out_parts(self.cv, target.strata, target.weights)
        judge = target.score
        if self.scoring is not None:
            n_outputs, owner = target.labels.n_outputs, type(self).__name__
            y = target.classes[target.codes]
            score = fold_scorer(self.scoring, target.classes, y, n_outputs, folds, target.weights, owner)

            def judge(scores: np.ndarray, test: np.ndarray) -> float:
                return score(scores[:, 0] if n_outputs == 1 else scores, test)

        return Folds(folds, target, trace, judge).chosen(features, Cs, spec)

    def _set(
        self,
        selection: Selection,
        features: Features,
        target: ClassTarget,
        plan: FitPlan,
        choice: Choice,
        fingerprint: dict,
    ) -> None:
        """The fitted attributes; a fit that Ctrl-C ended raises KeyboardInterrupt once they are set."""
        self.classes_, self.C_, self.fingerprint_ = target.classes, choice.C, fingerprint
        self.__dict__.pop("cv_results_", None)
        if choice.results is not None:
            self.cv_results_ = choice.results
        self._set_selection(replace(selection, scale=features.scale))
        self.n_iter_ = max(1, len(selection.trace.turns) - 1)
        if selection.interrupted:
            raise KeyboardInterrupt
        models = target.classes.tolist() if target.n_models > 1 else [None]
        for message in shortfalls(self.selection_, features, plan, models):
            warnings.warn(message, FewerFeaturesWarning, stacklevel=4)  # of the call of fit

    # what is asked of parameters

    def _checked_options(self) -> None:
        """Raise ValueError for parameters that can be found invalid without the data."""
        self._checked_C()
        self._spec(Trace())

    def _spec(self, trace: Trace) -> FitSpec:
        """The parameters that can be validated without the data; ValueError if one of them is invalid."""
        as_loss(self.loss)
        check.one_of("scale", self.scale, SCALES)
        check.boolean("per_class", self.per_class)
        check.boolean("elimination", self.elimination)
        check.one_of("solver", self.solver, SOLVERS)
        if not callable(self.verbose):
            check.integer("verbose", int(self.verbose) if isinstance(self.verbose, bool) else self.verbose, least=0)
        spec = FitSpec(
            number=self._number(),
            elimination=bool(self.elimination),
            n_candidates=self._checked_candidates(),
            features_per_turn=check.unless_auto("features_per_turn", self.features_per_turn, check.integer),
            tol=check.positive("tol", self.tol, zero=True),
            inner_tol=self._inner_tol,
            max_turns=check.integer("max_iter", self.max_iter),
            deadline=None if self.max_time is None else trace.begun + check.positive("max_time", self.max_time),
            debias=bool(self.debias),
            literal=self.solver == "apg",
            parameter=self.number_parameter,
        )
        self._check_together(spec)
        return spec

    def _check_together(self, spec: FitSpec) -> None:
        """Raise ValueError for parameters that do not go together."""
        needs = self._feature_map().needs_elimination
        if needs and not spec.elimination:
            raise ValueError(f"{needs} needs elimination, which keeps it: set elimination=True (no --growth-alone)")
        if needs and spec.number is None:
            raise ValueError(f"{needs} needs a number of features: set {self.number_parameter} (--features)")
        if spec.literal and spec.elimination:
            raise ValueError(
                'solver="apg" is the algorithm of the paper, which has no elimination: set elimination=False'
            )
        self._feature_map().check(self.scale, Restrictions())

    def _number(self) -> float | str | None:
        """The number of features as a number of Python, None or "all"; ValueError for anything else."""
        value = getattr(self, self.number_parameter)
        if value is None:
            return None
        if check.is_integer(value) and value >= 1:
            return int(value)
        if check.is_real(value) and not check.is_integer(value) and 0 < value <= 1:
            return float(value)
        if isinstance(value, str) and value == ALL and self._selects_all:
            return ALL
        also = ' or "all" (of measures)' if self._selects_all else ""
        raise ValueError(
            f"{self.number_parameter} must be None, an integer >= 1, a fraction in (0, 1]{also}, got {value!r}"
        )

    _selects_all: ClassVar[bool] = False  # whether the number may be "all"

    def _checked_candidates(self) -> float | None:
        """``n_candidates`` as an integer, a factor, or None for "auto"."""
        value = self.n_candidates
        if isinstance(value, str) and value == "auto":
            return None
        if check.is_integer(value) and value >= 1:
            return int(value)
        if check.is_real(value) and not check.is_integer(value) and 1.0 <= value < np.inf:
            return float(value)
        raise ValueError(f"n_candidates must be 'auto', an integer >= 1 or a factor >= 1.0, got {value!r}")

    def _checked_C(self) -> float | str | None:
        """C as a float, "auto", or None for that of the loss."""
        if self.C is None or (isinstance(self.C, str) and self.C == "auto"):
            return self.C
        return check.positive("C", self.C)

    def _target(self, samples: Samples) -> ClassTarget:
        """What is predicted, with the loss."""
        classes, codes = check.classes_of(samples.y)
        weights = check.row_weights(samples.weights, self.class_weight, codes, classes)
        self._loss.check_weights(weights)
        per_class = bool(self.per_class) and classes.size > 2
        return ClassTarget(classes, codes, weights, self._loss, bool(self.fit_intercept), per_class)

    def _previous(self, X: MatrixLike) -> Previous | None:
        """The last fit if this one starts from it; checked before anything is overwritten."""
        if not (self.warm_start and hasattr(self, "selection_")):
            return None
        return Previous(self.selection_, self.n_features_in_, ClassLabels(self.classes_)).seen(X)

    # what a fitted model says

    def proof(self) -> str:
        """What the certificate of the fit proves, as a sentence. It is about the training data, not about new data.

        Returns
        -------
        str
            How much of the training objective any equally many features could still take off.
        """
        check_is_fitted(self)
        wanted, always_include = getattr(self, self.number_parameter), getattr(self, "always_include", None)
        each = bool(self.per_class) and self.classes_.size > 2
        needs = self._feature_map().needs_elimination
        note = f" That counts {self.fitted_features_.candidate}s which {needs} does not allow, too." if needs else ""
        return proven(self.selection_, wanted, always_include, each=each) + note

    @property
    def _loss(self) -> LossOrMeasure:
        """What is minimised."""
        return as_loss(self.loss)

    def _notes(self) -> list[str]:
        certificate: Any = self.selection_.certificate
        note = words.little_gained(self._loss, certificate.pick_objective, certificate.at_zero)
        return [note] if note else []

    def _score_sentence(self) -> str:
        if not hasattr(self, "cv_results_"):
            return ""
        params, means = self.cv_results_["params"], self.cv_results_["mean_test_score"]
        name = self._loss.title if self._loss.judges else "accuracy"
        name = name if self.scoring is None else scoring_name(self.scoring)
        tried = f"{len(params)} values of C" if len(params[0]) == 1 else f"{len(params)} pairs of sigma and C"
        return chosen_by(name, float(means.max()), f"the best of {tried}")

    def _origin(self) -> list[str]:
        numbers = format_ranges(self.path_.numbers)
        return [
            f"loss: {words.in_words(self._loss, self.classes_)}",
            f"{self._settings()}; path: {numbers} {self._noun}s",
        ]

    @property
    def _noun(self) -> str:
        """What is counted on the path."""
        return self.selection_.noun

    def _settings(self) -> str:
        """The values that were chosen or follow from rules."""
        return f"C = {self.C_:g}"

    def _own_facts(self) -> dict[str, Any]:
        return words.facts_of(self._loss) | {"C": self.C_, "path": self.path_.numbers}


def has_probabilities(estimator: FGMBase) -> bool:
    """Whether scores are log odds."""
    return is_logistic(estimator.loss)
