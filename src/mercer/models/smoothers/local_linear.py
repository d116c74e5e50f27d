"""Local linear regression: the line that fits the values around a point best, weighted by a kernel."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar

from sklearn.utils.validation import check_is_fitted

from mercer._stored import part_of, stored
from mercer._typing import Array
from mercer.base import Candidate, Question, traits
from mercer.models.smoothers._regressor import KernelRegressor
from mercer.models.smoothers._smoother import COMPARED_WIDTHS, FITTED_REGRESSOR_SMOOTHER, MOST_COMPARED_ROWS
from mercer.smoothing.local_lines import LocalLines
from mercer.smoothing.regression import LocalFit

#: columns up to which it takes part in a comparison: to choose the widths takes long
MOST_COLUMNS = 2


def _candidates(question: Question) -> Iterator[Candidate]:
    """Yield a model of few columns, whose width is chosen by folds where rows of a group belong together."""
    if question.is_numeric and not question.has_texts and question.columns <= MOST_COLUMNS:
        search = None if question.inner is None else ("bandwidth", COMPARED_WIDTHS)
        yield Candidate(LocalLinear(), 51, "numbers", search=search, fill=True, most_rows=MOST_COMPARED_ROWS)


@traits(
    "regression",
    kind="density",
    columns="points",
    candidates=_candidates,
    export="mercer.export.kernels.local_linear",
    cost="mercer.models.costs.work.windows",
)
@stored(**FITTED_REGRESSOR_SMOOTHER, _fit=part_of(LocalLines, n="n"))
class LocalLinear(KernelRegressor):
    """Local linear regression: m̂(x) = a, where a + bᵀ(x_j − x) fits y_j best with the weights K_h(x − x_j).

    It reproduces linear functions exactly, whatever the bandwidth, and has none of the bias of a local mean at the ends
    of the data. Where the points in reach do not determine a slope (there are too few, or they lie in a plane), it is 0
    in the directions in which they do not differ: a single point in reach is the answer, as in `NadarayaWatson`. A line
    through a few points that are close together is extended as far as it is asked for. Where a kernel of limited reach
    has hardly any points, that may lead far away from all values seen; the Gaussian kernel, or a larger bandwidth,
    avoids it.

    Parameters
    ----------
    kernel : str or SmoothingKernel, default="gaussian"
        "gaussian", "epanechnikov", "uniform" (or "tophat"), "triangular", "biweight", "triweight", "cosine",
        "exponential", or a kernel of `mercer.smoothing`.
    bandwidth : "leave-one-out", float, array-like, Bandwidth, rule or its name, default="leave-one-out"
        How wide the kernel is; see `NadarayaWatson`.
    categorical : None, "auto" or array-like of int or str, default=None
        Columns that are categories; see `NadarayaWatson`. They have weights, but no slopes.
    mismatch : "leave-one-out", float or array-like, default="leave-one-out"
        λ of the categorical columns; see `NadarayaWatson`.
    out_of_reach : {"nearest", "mean", "nan", "error"}, default="nearest"
        The answer where all weights are zero; see `NadarayaWatson`.

    Attributes
    ----------
    bandwidth_ : Bandwidth or None
        The bandwidth used; None if all columns are categorical.
    mismatch_ : ndarray of shape (n_categorical,) or None
        λ of the categorical columns.
    bandwidth_choice_ : WidthChoice or None
        What leaving rows out has chosen; see `NadarayaWatson`.
    leave_one_out_predictions_ : ndarray of shape (n_samples,) or (n_samples, n_outputs)
        Prediction for every row from all others: y_i − (y_i − ŷ_i)/(1 − ℓ_ii), ℓ_ii the weight of the row in its own
        prediction.
    n_features_in_ : int
        Number of columns.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of columns, if X has names that are all strings.
    certificate_ : Certificate
        How we know that this is the answer.
    plan_ : Plan
        Which path the fit took.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import LocalLinear
    >>> x = np.linspace(0, 6, 60)
    >>> model = LocalLinear(bandwidth=0.3).fit(x[:, None], 2 * x + 1)
    >>> model.predict([[0.0], [7.0]]).round(6), model.coef([[3.0]]).round(6)
    (array([ 1., 15.]), array([[2.]]))
    """

    _local: ClassVar[type[LocalFit]] = LocalLines
    _what: ClassVar[str] = "the value of a line that solves weighted normal equations"

    def coef(self, X: Any) -> Array:
        """Slopes of the local lines.

        Parameters
        ----------
        X : array-like or data frame of shape (n_queries, n_features)
            Where.

        Returns
        -------
        slopes : ndarray of shape (n_queries, n_numbers) or (n_queries, n_outputs, n_numbers)
            ∂m̂/∂x_j of the line at x in the units of the columns, those of numbers in their order; NaN where no row of
            the fit is in reach.
        """
        check_is_fitted(self)
        rows = self._read(X, reset=False)
        assert isinstance(self._fit, LocalLines)
        slopes = self._fit.slopes(rows)
        return slopes if self._y_shape else slopes[:, 0]
