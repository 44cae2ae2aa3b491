"""FGMClassifier: the feature generating machine as a scikit-learn estimator."""

import functools
from collections.abc import Callable, Sequence
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.metaestimators import available_if

from thresher.errors import did_you_mean
from thresher.estimators.fgm.base import FGMBase, as_number, has_probabilities
from thresher.estimators.shared import ColumnSelector, MatrixLike, check, probabilities
from thresher.families.fgm.spec import ALL
from thresher.features.base import FeatureMap
from thresher.features.columns import Columns
from thresher.features.fitted import FittedFeatures
from thresher.features.fitted_columns import ColumnFeatures
from thresher.features.groups.spec import grouping
from thresher.features.known import WORDS, as_feature_map
from thresher.features.samples import Restrictions
from thresher.optim.measures.base import Measure
from thresher.optim.problems.loss import Loss
from thresher.results import counted

GROUPS_SHOWN = 50
NUMBERS = 'None, an integer >= 1, a fraction in (0, 1] or "all" (of measures)'
as_number_or_all = functools.partial(as_number, expected=NUMBERS)


class FGMClassifier(ColumnSelector, FGMBase):
    """Linear classifier on a few selected features, with a certificate of its training objective.

    Minimises 1/2 ||w||_B^2 + C sum_i weight_i loss(y_i (x_i'w + b)), where the B-support norm ||.||_B is a convex
    surrogate for "at most B features". Each turn scans X once, takes the B best features and solves on those taken.
    Growth goes beyond the requested number, then features are eliminated one by one. With a measure as the loss, C n xi
    takes the place of the sum, and xi bounds one less the measure on the n training samples. More than two classes are
    fitted one-vs-rest, in the same scans. Formulas and rules: docs/theory/fgm.md.

    Parameters
    ----------
    n_features_to_select : int, float, "all" or None, default=None
        Number of features, or a fraction of all; a FewerFeaturesWarning says why if fewer are selected. None: grow
        until the duality gap is within ``tol``. "all": no selection, as a baseline, for measures only.
    C : float, "auto" or None, default="auto"
        Weight of the loss relative to the penalty. None: 1.0, with a measure 1e6 / n. "auto": chosen from 0.01, 0.1, 1
        and 10 times that by cross-validation, on columns that all folds gather in the same scans; as None where there
        is no number of features, or nothing to hold out (``by_rule_``).
    cv : int, splitter or iterable of (train, test), default=None
        Cross-validation folds for "auto"; where nothing is chosen a warning says that it has no effect. An integer:
        so many, by class and by what rows hold, whatever their order; equal rows are held out together. None: 5, or as
        many as the smallest class has different rows.
    choose_rows : int, "auto" or None, default="auto"
        About how many rows "auto" compares on, where X has more and ``cv`` is not given as folds; each class has its
        share. None: all. "auto": 512 to 1024, by the work that each makes, but 50 of each class.
    scoring : str or callable, default=None
        What "auto" is chosen by, as in scikit-learn; where nothing is chosen a warning says that it has no effect.
        None: accuracy, or the measure that is the loss.
    loss : str, Loss or Measure, default="squared_hinge"
        "squared_hinge", "logistic", or one less a measure of the class ``classes_[1]`` (of each in turn if there are
        more than two): "error", "f1", "prbep", "auc", "average_precision"; or a value of ``thresher.losses`` or
        ``thresher.measures``, such as ``PrecisionAtK(50)``, or of your own. Measures take more time, and only "error"
        and "auc" take weights other than 0 and 1.
    feature_map : str or FeatureMap, default="columns"
        What is selected. "columns"; "polynomial": columns, squares and products of two; "intersection",
        "additive_chi2", "additive_gaussian": columns, each as the numbers of an additive kernel; or a value, such as
        ``Polynomial(heredity="strong")``, or a map of your own: see ``thresher.features.FeatureMap``.
    groups : array-like of shape (n_features,), list of lists, Groups or Tree, default=None
        Groups of columns that are selected together: a label for each column, or the columns of each group, or a tree.
        ``n_features_to_select`` then counts groups, ``always_include`` and ``exclude`` have their labels.
    per_class : bool, default=False
        With more than two classes: whether each has features of its own, instead of one set that all share.
    elimination : bool, "auto" or None, default="auto"
        Whether growth gathers more features than requested and elimination leaves that number. False: several times
        faster, but the path has only the turns of growth. None: True, with ``solver="apg"`` False. "auto": chosen by
        cross-validation, with C if that is "auto"; the path has every number below that selected in any case.
    n_candidates : int, float or "auto", default="auto"
        Number of features from which elimination starts, or a multiple (a float) of the requested number.
    features_per_turn : int or "auto", default="auto"
        Budget B, the number of features taken per turn. "auto": a tenth of the number to grow to, at most 100.
    tol : float, default=1e-3
        Duality gap at which a model has converged: (objective - lower_bound) / (objective at w = 0).
    max_iter : int, default=100
        Maximum number of turns.
    max_time : float, default=None
        Time limit in seconds, after which the model found so far is returned. At least one turn is run; half of the
        time is for what is chosen.
    scale : {"auto", "std", "max", "unit", None}, default="auto"
        How features are scaled: to standard deviation 1 (with an intercept also centred), magnitude 1 or norm 1.
        "auto": None for data with under 30 % non-zero entries, "max" if more than a fifth of the columns are zero in
        most samples, else "std"; of other feature maps what suits them.
    fit_intercept : bool, default=True
        Whether to fit an intercept b, which is not penalised.
    always_include : list of int or str, default=None
        Features that must be in the model, by number or data frame name; they count towards the requested number.
    exclude : list of int or str, default=None
        Features that must not be. The certificate and its bounds are about the others.
    debias : bool, default=False
        Refit a grown model with the penalty 1/2 ||w||^2, as elimination always does.
    solver : {"auto", "apg"}, default="auto"
        "apg": growth alone by sub-problem (30) and the stops of the paper, to compare with published results; for two
        classes and single columns.
    class_weight : dict or "balanced", default=None
        Class weights, multiplied with the sample weights.
    warm_start : bool, default=False
        Start from the features and weights of the last fit. C and elimination are chosen anew, unless they are given.
    n_jobs : int, default=None
        Number of threads. None: as many as are worthwhile (in scikit-learn: one), at most all cores available to the
        process; -1: all of these, -2: all but one. The result does not depend on it.
    verbose : int or callable, default=0
        1: a progress line on standard error, 2: one line per turn. A callable is called after each turn with the
        ``Turn`` and the number of features to gather, or None.

    Attributes
    ----------
    selection_ : Selection
        ``features`` (sorted), ``weights`` in the units of X, ``importance``, ``certificate``, ``stop_reason``, ...
    path_ : Path
        The models with other numbers of features, of growth and of elimination; ``at(number)`` returns the classifier
        of one. What the fit did not need of it is computed when it is first asked for.
    support_, ranking_ : ndarray of shape (n_features,)
        Mask of the selected features; ranks of all, as ``RFE`` has them.
    coef_ : csr_array of shape (1, n_features) or (n_classes, n_features)
        Weights as a sparse matrix.
    intercept_ : ndarray of shape (1,) or (n_classes,)
        Intercept; of F-beta and measures of an order of samples a threshold (docs/theory/measures.md).
    classes_ : ndarray of shape (n_classes,)
        Class labels. In the binary case positive scores mean ``classes_[1]``.
    C_, elimination_ : float, bool
        The C used, and whether features were eliminated.
    cv_results_ : dict
        If there was something to choose: the candidates and their scores, under the keys of ``GridSearchCV``. Those
        left out after some folds have NaN on the others; the best has rank 1, and its mean is not an estimate for new
        data, since the same folds chose: for that, cross-validate the whole estimator.
    best_index_, rule_index_ : int
        Which of these candidates was chosen, and which one is that of ``C=None, elimination=None``.
    by_rule_ : str
        Why the latter was taken for "auto" although nothing, or not all of it, was compared; else there is none.
    n_features_in_, feature_names_in_ : int, ndarray
        Number and, for data frames, names of the features seen in fit.
    n_iter_ : int
        Number of turns.
    fingerprint_ : dict
        ``rows``, ``columns`` and ``digest`` of the data, the same in any storage (docs/model-files.md).

    Examples
    --------
    >>> import numpy as np
    >>> from thresher import FGMClassifier
    >>> from thresher.datasets import make_wide
    >>> data = make_wide(300, 2000, n_relevant=5, random_state=0)
    >>> clf = FGMClassifier(n_features_to_select=5).fit(data.X, data.y)
    >>> clf.selection_.features, data.relevant
    (array([ 539,  615, 1021, 1272, 1697]), array([ 539,  615, 1021, 1272, 1697]))
    >>> rare = data.X[:, data.relevant] @ np.sign(data.weights) > 2.5      # 44 of 300 samples
    >>> FGMClassifier(n_features_to_select=5, loss="f1", elimination=False).fit(data.X, rare).selection_.features
    array([ 539,  615, 1021, 1272, 1697])
    """

    __metadata_request__fit: ClassVar = {"groups": False}  # a splitter outside may get them, unless asked for here, too
    _checks = FGMBase._checks | {
        "n_features_to_select": check.either({None: None, ALL: ALL}, as_number_or_all),
        "choose_rows": check.either({None: None, "auto": "auto"}, functools.partial(check.as_integer, least=10)),
    }

    def __init__(
        self, n_features_to_select: float | str | None = None, *, C: float | str | None = "auto", cv: Any = None,
        choose_rows: int | str | None = "auto", scoring: str | Callable[..., Any] | None = None,
        loss: str | Loss | Measure = "squared_hinge", feature_map: str | FeatureMap = "columns", groups: Any = None,
        per_class: bool = False, elimination: bool | str | None = "auto", n_candidates: float | str = "auto",
        features_per_turn: int | str = "auto", tol: float = 1e-3, max_iter: int = 100, max_time: float | None = None,
        scale: str | None = "auto", fit_intercept: bool = True, always_include: Sequence[int | str] | None = None,
        exclude: Sequence[int | str] | None = None, debias: bool = False, solver: str = "auto",
        class_weight: dict | str | None = None, warm_start: bool = False, n_jobs: int | None = None,
        verbose: int | Callable[..., Any] = 0,
    ):  # fmt: skip
        self._store(locals())

    def fit(
        self, X: MatrixLike, y: ArrayLike, sample_weight: ArrayLike | None = None, groups: ArrayLike | None = None
    ) -> Self:
        """Select features of X and fit the model on them.

        Cost: one pass over X for validation and statistics, one per turn and one more (as many again to choose C and
        elimination); memory for the features taken; with a measure also for each cut (typically ten to a few hundred)
        n / 8 bytes (of rankings 4 n) and 8 for each feature taken. X is neither modified nor kept.

        Parameters
        ----------
        X : array, sparse matrix, data frame or Design of shape (n_samples, n_features)
            Samples. A Design is read by its own workers, whatever ``n_jobs`` is.
        y : array-like of shape (n_samples,)
            Class labels.
        sample_weight : array-like of shape (n_samples,), default=None
            Sample weights. None: 1 for each sample.
        groups : array-like of shape (n_samples,), default=None
            Samples that belong together, such as those of a patient: the same number or string for each of them. They
            are held out together where C or elimination is chosen, and a splitter given as ``cv`` gets them. Not to be
            confused with the parameter ``groups``, which is about columns. Metadata routing hands them over after
            ``set_fit_request(groups=True)``.

        Returns
        -------
        self : FGMClassifier
            The fitted estimator.
        """
        return self._fit(X, y, sample_weight, groups=groups)

    @available_if(has_probabilities)
    def predict_proba(self, X: MatrixLike) -> Any:
        """Class probabilities, for ``loss="logistic"``.

        Parameters
        ----------
        X : array, sparse matrix, data frame or Design of shape (n_samples, n_features)
            Samples.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            In the order of ``classes_``; with more than two classes normalised so that each row sums to 1.
        """
        return probabilities(self.decision_function(X))

    def _sentences(self) -> list[str]:
        selection = self.selection_
        if selection.groups is None or selection.noun != "group":
            return super()._sentences()
        labels = [str(label) for label in selection.groups.tolist()]
        more = f", ... and {len(labels) - GROUPS_SHOWN} more" if len(labels) > GROUPS_SHOWN else ""
        groups = f"{counted(len(labels), 'group')}: {', '.join(labels[:GROUPS_SHOWN])}{more}"
        return [groups, *super()._sentences()]

    def _own_facts(self) -> dict[str, Any]:
        groups = self.selection_.groups
        return super()._own_facts() | ({} if groups is None else {"groups": groups.tolist()})

    def _feature_map(self) -> FeatureMap:
        return as_feature_map(self.feature_map)

    def _takes(self, fitted: FittedFeatures | None) -> bool:
        return fitted is not None and fitted.of_rows

    def _restrictions(self) -> Restrictions:
        return restrictions_of(self.always_include, self.exclude, self.groups, self._columns)

    def _checked_options(self) -> Any:
        given = super()._checked_options()
        if given.n_features_to_select != ALL:
            return given
        if not self._loss.selects_all:
            raise ValueError(
                f'n_features_to_select="all" is for measures; with loss={self.loss!r} use scikit-learn\'s LinearSVC or '
                "LogisticRegression, which solve that problem"
            )
        for name in ("groups", "always_include"):
            if getattr(self, name) is not None:
                raise ValueError(
                    f'{name} has no meaning with n_features_to_select="all": all features are in the model'
                )
        if not isinstance(self._feature_map(), Columns):
            raise ValueError(f'n_features_to_select="all" needs feature_map="columns", got {self.feature_map!r}')
        return given

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        given = self.feature_map
        known = isinstance(given, FeatureMap) or (isinstance(given, str) and given in WORDS)
        tags.input_tags.positive_only = known and as_feature_map(given).positive_only
        return tags


def restrictions_of(always_include: Any, exclude: Any, groups: Any, columns: ColumnFeatures) -> Restrictions:
    """The Restrictions on columns of X, or on ``groups`` of them, that users describe by names, numbers or labels."""
    labels: Any = columns.column_names
    numbered = functools.partial(
        check.column_numbers,
        n_features=columns.n_columns,
        places=None if labels is None else {label: number for number, label in enumerate(labels.tolist())},
    )
    given, noun, count = None, "column", columns.n_columns
    if groups is not None:
        given = grouping(groups, count, numbered, columns.shown_name)
        labels = given.labels
        noun, count = "group", labels.size
        numbered = functools.partial(group_numbers, labels=labels)
    forced = numbered("always_include", always_include)
    excluded = np.unique(numbered("exclude", exclude))
    both = forced[np.isin(forced, excluded)]
    if both.size:
        first = int(both[0])
        name = first if labels is None else labels[first : first + 1].tolist()[0]
        raise ValueError(f"{noun} {name!r} is in always_include and in exclude: remove it from one of them")
    check.ensure(
        excluded.size < count, f"exclude names all {count} {noun}s of X: at least one must be left to select from"
    )
    return Restrictions(forced, excluded, given)


def group_numbers(name: str, value: Any, labels: np.ndarray) -> np.ndarray:
    """Labels of groups as unique numbers in the order given."""
    places = {label: number for number, label in enumerate(labels.tolist())}
    given = [] if value is None else np.atleast_1d(np.asarray(value, dtype=object)).tolist()
    missing = next((label for label in given if label not in places), None)
    if missing is not None:
        raise ValueError(
            f"{name} contains {missing!r}, which is not the label of a group{did_you_mean(missing, places)}"
        )
    return np.array(list(dict.fromkeys(places[label] for label in given)), dtype=np.int64)
