"""``support_`` and ``ranking_``, as scikit-learn's ``RFE`` has them, of all that selects."""

from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from thresher.estimators.shared.base import FeatureEstimator

WIDEST_MASK = 2**36  # features


class RankedInputs(FeatureEstimator):
    """A mask and ranks of the inputs of features: of columns of X, or of the training rows of bags."""

    @property
    def support_(self) -> np.ndarray:
        """Mask of what is selected, bool: of columns of X as ``get_support()`` returns it, of bags of training rows."""
        check_is_fitted(self)
        mask = self._for_each_input("a mask over", bool)
        mask[self._selected_inputs] = True
        return mask

    @property
    def ranking_(self) -> np.ndarray:
        """Ranks of the columns of X or, of bags, of the training rows, int64: 1 of those that are selected, as in RFE.

        Others have 2, 3, ... in the order in which the models on ``path_`` come to have them; those that no model has
        share the last rank. ``selection_.ranking`` orders the selected features by importance instead.
        """
        check_is_fitted(self)
        ranks = self._for_each_input("a ranking of", np.int64)
        ranks[self._selected_inputs] = last = 1
        path = getattr(self, "path_", None)
        for features in [] if path is None else path.feature_sets():
            inputs = self.fitted_features_.inputs(features)
            unranked = inputs[ranks[inputs] == 0]
            if unranked.size:
                last += 1
                ranks[unranked] = last
        ranks[ranks == 0] = last + 1
        return ranks

    def _for_each_input(self, what: str, dtype: Any) -> np.ndarray:
        """An array of zeros with an entry for each input."""
        width = self.fitted_features_.n_inputs
        if width > WIDEST_MASK:
            raise ValueError(f"{what} {width:,} features does not fit in memory: use get_support(indices=True)")
        return np.zeros(width, dtype=dtype)

    @property
    def _selected_inputs(self) -> np.ndarray:
        """What the selected features are made of; where these are columns of X, what ``transform`` returns."""
        return self.fitted_features_.inputs(self.selection_.features)
