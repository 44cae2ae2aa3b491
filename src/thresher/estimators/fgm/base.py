"""The fit of all estimators that select by FGM, each of them a feature map; the choice of C and of variants."""

import copy
import functools
import sys
from abc import abstractmethod
from dataclasses import replace
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from thresher.data.input.validation import count_columns
from thresher.data.workers import ONE_BLAS_THREAD, Workers, count_workers
from thresher.errors import FewerFeaturesWarning, warn
from thresher.estimators.fgm.choice import (
    LATE,
    PLACE,
    Choice,
    Ground,
    Wish,
    choose,
)
from thresher.estimators.fgm.sentences import against_the_rule, proven, shortfalls, varied
from thresher.estimators.shared import (
    BOOLEAN,
    CV_RESULTS,
    INTEGER,
    REAL,
    SEEN,
    TEXT,
    LinearClassifier,
    MatrixLike,
    Progress,
    check,
)
from thresher.families.fgm.fit import Starts, select
from thresher.families.fgm.spec import ALL, FitPlan, FitSpec
from thresher.features.base import Earlier, FeatureMap, Features
from thresher.features.instances.bags import grouped
from thresher.features.samples import Base, Restrictions, Samples
from thresher.optim.named_values import LossOrMeasure
from thresher.optim.problems.named import as_loss, is_logistic
from thresher.results import Path, Selection, Trace, counted, format_ranges
from thresher.targets import words
from thresher.targets.classes import ClassTarget

COMPARED = ("cv_results_", "best_index_", "rule_index_")
FIT_ANEW = "fit a new estimator or set warm_start=False"
NUMBER_SHARES = (sys.float_info.min, 1.0)
CANDIDATE_FACTORS = (1.0, sys.float_info.max)
as_number = functools.partial(
    check.count_or_ratio, ratios=NUMBER_SHARES, expected="None, an integer >= 1, a fraction in (0, 1]"
)
as_candidates = functools.partial(
    check.count_or_ratio, ratios=CANDIDATE_FACTORS, expected="'auto', an integer >= 1 or a factor >= 1.0"
)


class FGMBase(LinearClassifier):
    """A classifier that selects by FGM. Subclasses have the parameters checked here, and ``_feature_map``.

    ``number_parameter`` is the constructor parameter with the number of features to select.
    """

    number_parameter = "n_features_to_select"
    fit_intercept: bool = True
    debias: bool = False
    solver: str = "auto"
    _chosen_by = "--features"
    _inner_tol: ClassVar[float | None] = None  # accuracy of each turn's problem; None: by rule
    _compares_in_full: ClassVar[bool] = False  # see FitSpec
    _saved: ClassVar = {
        "C_": REAL,
        "elimination_": BOOLEAN._replace(optional=True),
        "n_iter_": INTEGER,
        "cv_results_": CV_RESULTS,
        "best_index_": PLACE,
        "rule_index_": PLACE,
        "by_rule_": TEXT._replace(optional=True),
    }
    _checks: ClassVar = {
        "C": check.either({None: None, "auto": "auto"}, check.as_positive),
        "scale": check.SCALE,
        "per_class": check.as_boolean,
        "elimination": check.either({None: None, "auto": "auto"}, check.as_boolean),
        "n_candidates": check.either({"auto": None}, as_candidates),
        "features_per_turn": check.either({"auto": None}, check.as_integer),
        "tol": check.as_non_negative,
        "max_iter": check.as_integer,
        "max_time": check.OPTIONAL_POSITIVE,
        "solver": functools.partial(check.one_of, options=("auto", "apg")),
        "verbose": check.as_verbosity,
    }

    # what subclasses say

    @abstractmethod
    def _feature_map(self) -> FeatureMap:
        """What is selected; ValueError if the parameters describe nothing."""

    def _restrictions(self) -> Restrictions:
        """What must be selected and what must not, when X has been seen; by default nothing."""
        return Restrictions()

    # the fit

    def _fit(
        self, X: MatrixLike, y: ArrayLike, sample_weight: ArrayLike | None, *, bags: ArrayLike | None = None,
        groups: ArrayLike | None = None,
    ) -> Self:  # fmt: skip
        """Select features of X and fit the model on them; ``groups`` has the rows that are held out together."""
        trace = Trace()
        given = self._checked_options()
        feature_map, spec = self._feature_map(), self._spec(given, trace)
        with Workers(count_workers(self.n_jobs)) as workers, ONE_BLAS_THREAD:
            is_warm = self._is_warm(X)
            X, y = self._structured(X, reset=True, y=y, ensure_min_samples=2)
            restrictions = self._restrictions()
            feature_map.check(self.scale, restrictions)
            weights = check.sample_weights(sample_weight, X.shape[0])
            together = None if groups is None else grouped(groups, X.shape[0], "groups").bags.codes
            samples = feature_map.samples(X, np.asarray(y), weights, bags)
            target = self._target(samples)
            base = Base.read(
                samples, self._columns, target.digested, target.weights, workers, trace,
                scale=self.scale, keep=restrictions.columns, to_csc=feature_map.reads_columns,
            )  # fmt: skip
            centre = bool(self.fit_intercept)
            made = functools.partial(feature_map.on, restrictions=restrictions, scale=self.scale, centre=centre)
            whole = Ground(base, samples, target, base.content, together, made)
            spec.wanted(whole.features)  # raises now rather than after a choice
            choice = choose(whole, spec, self._wish(given), trace)
            fingerprint = base.fingerprint
            del base, whole  # statistics of all columns take more memory than what the features need of them
            features = choice.features
            plan = choice.spec.on(features, target)
            starts = self._starts(features, target) if is_warm else None
            progress = Progress(self.verbose, plan.target and plan.target * target.n_models, features.units.noun)
            selection = select(features, target.problems(choice.C), plan, trace, starts, progress)
            progress.finish(selection)
        self._set(selection, target, plan, choice, fingerprint)
        self._warn_of_leak(X, target.codes)
        return self

    def _wish(self, given: Any) -> Wish:
        """What is asked for of a choice."""
        return Wish(
            given.C, given.elimination, getattr(given, "choose_rows", None), self.cv, self.scoring,
            needs_elimination=bool(self._feature_map().needs_elimination), parameter=self.number_parameter,
            owner=type(self).__name__,
        )  # fmt: skip

    def _set(
        self,
        selection: Selection,
        target: ClassTarget,
        plan: FitPlan,
        choice: Choice,
        fingerprint: dict,
    ) -> None:
        """The fitted attributes; a fit that Ctrl-C ended raises KeyboardInterrupt once they are set."""
        self._forget(*SEEN)
        self.classes_ = target.classes
        self.C_ = choice.C
        self.elimination_ = plan.gathers
        self.fingerprint_ = fingerprint
        if choice.results is not None:
            self.cv_results_, self.best_index_, self.rule_index_ = choice.results, choice.best, choice.usual
        if choice.by_rule:
            self.by_rule_ = choice.by_rule
        self.selection_ = self._of_this_fit(replace(selection, scale=choice.features.scale))
        self.n_iter_ = max(1, len(selection.trace.turns) - 1)
        if selection.interrupted:
            raise KeyboardInterrupt
        if choice.by_rule == LATE:
            kind = "elimination" if choice.spec.elimination else "growth alone"
            warn(f"{LATE}: C = {choice.C:g} and {kind} by rule", ConvergenceWarning)
        models = target.classes.tolist() if target.n_models > 1 else [None]
        for message in shortfalls(self.selection_, choice.features, plan, models):
            warn(message, FewerFeaturesWarning)

    # what is asked of parameters

    def _checked_options(self) -> Any:
        given = super()._checked_options()
        as_loss(self.loss)
        feature_map = self._feature_map()
        needs = feature_map.needs_elimination
        if needs and given.elimination is False:
            raise ValueError(f"{needs} needs elimination, which keeps it: set elimination=True (omit --no-elimination)")
        if needs and getattr(given, self.number_parameter) is None:
            raise ValueError(f"{needs} needs a number of features: set {self.number_parameter} (--features)")
        check.ensure(
            given.solver != "apg" or given.elimination is not True,
            'solver="apg" is the algorithm of the paper, which has no elimination: set elimination=False',
        )
        feature_map.check(self.scale, Restrictions())
        return given

    def _spec(self, given: Any, trace: Trace) -> FitSpec:
        """How the fit is wanted, by the checked parameters."""
        return FitSpec(
            number=getattr(given, self.number_parameter),
            elimination=given.solver != "apg" if given.elimination in (None, "auto") else given.elimination,
            n_candidates=given.n_candidates,
            features_per_turn=given.features_per_turn,
            tol=given.tol,
            inner_tol=self._inner_tol,
            max_turns=given.max_iter,
            deadline=None if given.max_time is None else self._deadline(trace),
            debias=bool(self.debias),
            literal=given.solver == "apg",
            compares_in_full=self._compares_in_full,
            parameter=self.number_parameter,
        )

    def _target(self, samples: Samples) -> ClassTarget:
        """What is predicted, with the loss."""
        classes, codes = check.classes_of(samples.y)
        weights = check.row_weights(samples.weights, self.class_weight, codes, classes)
        self._loss.check_weights(weights)
        per_class = bool(self.per_class) and classes.size > 2
        return ClassTarget(classes, codes, weights, self._loss, bool(self.fit_intercept), per_class)

    def _is_warm(self, X: MatrixLike) -> bool:
        """Whether the fit starts from the last one; ValueError if X has another number of columns than that saw."""
        if not (self.warm_start and hasattr(self, "selection_")):
            return False
        n_columns = count_columns(X)
        if n_columns != self.n_features_in_:
            raise ValueError(
                f"warm_start=True, but X has {n_columns} features and the last fit saw {self.n_features_in_}: "
                + FIT_ANEW
            )
        return True

    def _starts(self, features: Features, target: ClassTarget) -> Starts | None:
        """Where each problem starts: from the features and weights of the last fit; None if it selected others."""
        selection, labels = self.selection_, self._labels
        known: Any = selection.fitted_features
        if not features.continues(known):
            return None
        check.ensure(
            target.labels.n_outputs == labels.n_outputs,
            f"warm_start=True, but y has {target.labels} and the last fit saw {labels}: {FIT_ANEW}",
        )

        def starts(most: int | None) -> list[Earlier]:
            units, weights = features.start(selection, most)
            return target.by_model(units, weights, grouped=features.units.grouped)

        return starts

    # what a fitted model says

    @property
    def path_(self) -> Path:
        """Models with other numbers of features."""
        return self.selection_.path

    def at(self, number: int) -> Self:
        """A fitted copy with a given number of features, taken from ``path_``: nothing is refitted, X is not needed.

        Parameters
        ----------
        number : int
            Number of features; one of ``path_.numbers``.

        Returns
        -------
        self
            A copy of this estimator, fitted with exactly this number of features. It has no ``cv_results_``, which are
            about the number asked for.
        """
        check_is_fitted(self)
        check.ensure(check.is_integer(number), f"number must be an integer, got {number!r}")
        try:
            selection = self.selection_.at(int(number))
        except ValueError as error:
            if not len(self.path_):
                raise
            wanted = getattr(self, self.number_parameter)
            grown = wanted not in (None, ALL) and getattr(self, "elimination_", True) is False
            every = "; with elimination=True (--elimination) the path has every number" if grown else ""
            raise ValueError(
                f"{error}. For another number fit again with {self.number_parameter} (--features){every}"
            ) from None
        fitted = copy.copy(self)
        if not np.array_equal(selection.features, self.selection_.features):  # candidates were compared for that one
            for name in COMPARED:
                fitted.__dict__.pop(name, None)
        setattr(fitted, self.number_parameter, int(number))
        fitted.selection_ = selection
        return fitted

    def _alone(self) -> Self:
        alone, selection = copy.copy(self), self.selection_
        fitted = self.fitted_features_.only(selection.features, selection.units)
        alone.selection_ = replace(selection, path=Path(), fitted_features=fitted)
        return alone

    def proof(self) -> str:
        """What the certificate of the fit proves, and what it does not say.

        It is about the training objective: how near the selected features are to the best of equally many. A small
        share does not say that the model is better than chance, and a large one does not say that the pick is poor:
        on noisy data and with correlated columns the bound is weak. ``sklearn.model_selection.permutation_test_score``
        tells a model from chance, a test set what it does on new data.

        Returns
        -------
        str
            How much of the training objective any equally many features could still take off, and what C and
            elimination were chosen from.
        """
        check_is_fitted(self)
        results = self._compared
        chosen = f"Chosen by cross-validation: {results}." if results else ""
        return " ".join(filter(None, [self._proof(), chosen]))

    def _proof(self) -> str:
        """What the certificate proves."""
        wanted, always_include = getattr(self, self.number_parameter), getattr(self, "always_include", None)
        each = bool(self.per_class) and self.classes_.size > 2
        needs = self._feature_map().needs_elimination
        also = f"also those that {needs} does not allow" if needs else ""
        return proven(self.selection_, wanted, always_include, each=each, also=also)

    @property
    def _loss(self) -> LossOrMeasure:
        """What is minimised."""
        return as_loss(self.loss)

    def _notes(self) -> list[str]:
        certificate: Any = self.selection_.certificate
        note = words.little_gained(self._loss, certificate.pick_objective, certificate.at_zero)
        return [note] if note else []

    @property
    def _score_name(self) -> str:
        return self.scoring or (self._loss.title if self._loss.judges else "accuracy")

    @property
    def _compared(self) -> str:
        best = super()._compared
        known = best and hasattr(self, "best_index_") and hasattr(self, "rule_index_")
        return best + (against_the_rule(self.cv_results_, self.best_index_, self.rule_index_) if known else "")

    @property
    def _candidates(self) -> str:
        *names, last = varied(self.cv_results_)
        n_folds = sum(key.startswith("split") for key in self.cv_results_)
        what = f"combinations of {', '.join(names)} and {last}" if names else f"values of {last}"
        means = self.cv_results_["mean_test_score"]
        scores = [column for key, column in self.cv_results_.items() if key.startswith("split")]
        lasted = int(np.count_nonzero(~np.isnan(scores).any(axis=0)))
        some = f", {lasted} of them by all" if 0 < lasted < means.size else ""
        return f"{what} by {counted(n_folds, 'fold')}{some}"

    def _origin(self) -> list[str]:
        numbers = self.path_.numbers
        path = f"path: {format_ranges(numbers)} {self._noun}s" if numbers.size else "without a path"
        return [f"loss: {words.in_words(self._loss, self.classes_)}", f"{self._settings()}; {path}"]

    @property
    def _noun(self) -> str:
        """What is counted on the path."""
        return self.selection_.noun

    def _settings(self) -> str:
        """The values that were chosen or follow from rules."""
        eliminated, why = getattr(self, "elimination_", True), getattr(self, "by_rule_", "")
        C, kind = f"C = {self.C_:g}", "" if eliminated else "no elimination"
        if why and self.elimination == "auto":
            joint = " and " if self.C == "auto" else ", "
            return f"{C}{joint}{'elimination' if eliminated else 'growth alone'} by rule: {why}"
        by_rule = " by rule" if why and self.C == "auto" else ""
        return ", ".join(filter(None, [C + by_rule, kind])) + (f": {why}" if by_rule else "")

    def _own_facts(self) -> dict[str, Any]:
        chosen = {"C": self.C_, "elimination": getattr(self, "elimination_", None)}
        how = {"compared": self._compared or None, "by_rule": getattr(self, "by_rule_", None)}
        return words.facts_of(self._loss) | chosen | how | {"path": self.path_.numbers}


def has_probabilities(estimator: FGMBase) -> bool:
    """Whether scores are log odds."""
    return is_logistic(estimator.loss)
