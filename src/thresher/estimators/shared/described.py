"""What a fitted estimator says of itself: the hooks that each estimator fills, and ``describe``, which asks them."""

from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from thresher.estimators.shared.base import FeatureEstimator
from thresher.results import rounded
from thresher.results.description import Description, Listing
from thresher.results.words import proof

CERTIFICATE_FACTS = ("objective", "lower_bound", "gap", "pick_objective", "pick_bound", "pick_gap", "at_zero")
NO_STATISTICS = "the file, of an earlier version, has no standard deviations of columns; fit again for importance"


class Described(FeatureEstimator):
    """A classifier that says of itself what was selected, why its fit ended and what is proven."""

    classes_: np.ndarray
    _why_no_importance = NO_STATISTICS
    _criterion: Any = None  # what was minimised, if it is a loss or a measure of users
    _chosen_by: str | None = None  # the option of commands that chooses a model of the path

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
        if label is None:
            names = getattr(self, "feature_names_in_", None)
            label = (lambda j: f"x{j}") if names is None else (lambda j: str(names[j]))
        listing = self._listing(label)
        score, facts = self._score_sentence(), self._facts(listing)
        return Description(listing, self.classes_.tolist(), self._sentences(), score, self._origin(), facts)

    def proof(self) -> str:
        """What the certificate of the fit proves, as a sentence. It is about the training data, not about new data.

        Returns
        -------
        str
            How much of the training objective another model of the same kind could still take off.
        """
        check_is_fitted(self)
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
        lines.append(f"certificate: {self.proof()}")
        lines.append(
            f"training objective: {certificate.pick_objective:.6g} with these features, {certificate.at_zero:.6g} "
            f"without features; lower bound {certificate.pick_bound:.6g}"
        )
        lines += self._notes()
        passes = rounded(selection.trace.passes)
        return [*lines, f"cost: {passes} passes over the data; scale: {selection.scale}"]

    def _notes(self) -> list[str]:
        """What else is to be said of the certificate."""
        return []

    def _score_sentence(self) -> str:
        """The score that a model was chosen by, and that it is no estimate for new data; empty: there is none."""
        return ""

    def _origin(self) -> list[str]:
        """How the model was fitted."""
        return []

    def _facts(self, listing: Listing) -> dict[str, Any]:
        """All that is said, as JSON-serializable values."""
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
            "proof": None if certificate is None else self.proof(),
            "passes": selection.trace.passes,
            **self._own_facts(),
        }

    def _own_facts(self) -> dict[str, Any]:
        """Those that only this kind of model has."""
        return {}


def chosen_by(scoring: Any, score: float, what: str) -> str:
    """The sentence on the score that a model was chosen by; ``scoring`` is its name or a callable."""
    name = scoring if isinstance(scoring, str) else "score"
    return (
        f"cross-validation: {name} {score:.4f}, {what}. It was chosen by this score, which is therefore too high: "
        "not\nan estimate for new data. For one, score samples that were not in the training data (thresher predict)."
    )
