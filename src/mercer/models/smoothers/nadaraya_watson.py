"""Nadaraya–Watson regression: the mean of the values around a point, weighted by a kernel."""

from __future__ import annotations

from collections.abc import Iterator

from mercer._stored import part_of, stored
from mercer.base import Candidate, Question, traits
from mercer.models.smoothers._regressor import KernelRegressor
from mercer.models.smoothers._smoother import COMPARED_WIDTHS, FITTED_REGRESSOR_SMOOTHER, MOST_COMPARED_ROWS
from mercer.smoothing.regression import LocalMeans

#: columns up to which it takes part in a comparison: to choose the widths takes long
MOST_COLUMNS = 6


def _candidates(question: Question) -> Iterator[Candidate]:
    """Yield a model of few columns, whose width is chosen by folds where rows of a group belong together."""
    if question.is_numeric and not question.has_texts and question.columns <= MOST_COLUMNS:
        search = None if question.inner is None else ("bandwidth", COMPARED_WIDTHS)
        yield Candidate(NadarayaWatson(), 50, "numbers", search=search, fill=True, most_rows=MOST_COMPARED_ROWS)


@traits(
    "regression",
    kind="density",
    columns="points",
    candidates=_candidates,
    export="mercer.export.kernels.nadaraya_watson",
    cost="mercer.models.costs.work.windows",
)
@stored(**FITTED_REGRESSOR_SMOOTHER, _fit=part_of(LocalMeans, n="n"))
class NadarayaWatson(KernelRegressor):
    """Kernel regression, m̂(x) = Σ_j K_h(x − x_j) y_j / Σ_j K_h(x − x_j): the mean of p(y|x) by Parzen windows.

    Parameters
    ----------
    kernel : str or SmoothingKernel, default="gaussian"
        "gaussian", "epanechnikov", "uniform" (or "tophat"), "triangular", "biweight", "triweight", "cosine",
        "exponential", or a kernel of `mercer.smoothing`, which may be a product over columns instead of radial.
    bandwidth : "leave-one-out", float, array-like, Bandwidth, rule or its name, default="leave-one-out"
        How wide the kernel is. "leave-one-out" minimises the mean squared error of each row predicted from all others,
        first over one width for all columns in proportion to their standard deviations, then over a width for each
        column (up to 10 columns; a column that says nothing gets a very large one). With more than 1000 rows, this
        search uses 1000 of them; a common factor is then chosen for the fit of all rows, by leaving out each in turn
        or, with more than about 14,000 rows, a sample of them (at least 1000) such that a width is tried in a fraction
        of a second. A number h, one for each column, or the matrix Σ (of squared units: a number h means h² I) are
        taken as they are; a name such as "scott-scaled" or "plugin" is a rule for the density of X. Ctrl-C keeps the
        best widths so far.
    categorical : None, "auto" or array-like of int or str, default=None
        Columns that are categories, by position or name; "auto" takes those of text, categories or bools. Their kernel
        is Aitchison and Aitken's: 1 − λ for the same level and λ/(levels − 1) for another. A level that was not there
        in the fit differs from all rows alike, so that the other columns decide.
    mismatch : "leave-one-out", float or array-like, default="leave-one-out"
        λ of the categorical columns, from 0 (levels have nothing to say about each other) to 1 − 1/levels (levels make
        no difference); chosen together with the bandwidth if not given.
    out_of_reach : {"nearest", "mean", "nan", "error"}, default="nearest"
        The answer where all weights are zero, which happens to kernels that end: the value of the nearest row in units
        of the bandwidth, the mean of all values, NaN, or an error. The Gaussian and exponential kernels reach
        everywhere, however far: sums are taken in log space.

    Attributes
    ----------
    bandwidth_ : Bandwidth or None
        The bandwidth used; None if all columns are categorical.
    mismatch_ : ndarray of shape (n_categorical,) or None
        λ of the categorical columns.
    bandwidth_choice_ : WidthChoice or None
        What leaving rows out has chosen, with the `criterion` curve and the `error` as a share of the variance of y
        (for several outputs the mean of these shares); None if everything was given.
    leave_one_out_predictions_ : ndarray of shape (n_samples,) or (n_samples, n_outputs)
        Prediction for every row from all others.
    n_features_in_ : int
        Number of columns.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of columns, if X has names that are all strings.
    certificate_ : Certificate
        How we know that this is the answer.
    plan_ : Plan
        Which path the fit took.

    See Also
    --------
    LocalLinear : Fits a line instead of a mean, which has no bias at the ends.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import NadarayaWatson
    >>> x = np.linspace(0, 6, 60)
    >>> model = NadarayaWatson().fit(x[:, None], np.sin(x))
    >>> model.predict([[1.5]]).round(2)
    array([1.])
    """
