"""Outlier detection by density, with conformal p-values and a bound on the false discovery rate."""

from __future__ import annotations

from dataclasses import replace
from math import ceil
from numbers import Real
from typing import Any, ClassVar, Literal, NamedTuple, Self

import numpy as np
from sklearn.base import BaseEstimator, OutlierMixin, clone
from sklearn.utils import get_tags
from sklearn.utils._param_validation import HasMethods, Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from mercer._errors import CalibrationWarning, DataError, NoDensityError
from mercer._stored import floats, integers, part_of, real, sequence, stored
from mercer._typing import Array
from mercer._warn import warn
from mercer.base import DESCRIBES_ROWS, traits
from mercer.base.fitted_fields import FITTED
from mercer.base.sources import fits_sources
from mercer.base.validation import check_table, move_to_main_memory, restore_on_failure
from mercer.decision._conformal import conformal_p_values, least_p_value, leave_one_out_p_values, score_threshold
from mercer.decision.wrapped import FitPart, split
from mercer.families.base import as_generator
from mercer.optim.certificate import Certificate
from mercer.report.wording import format_count


def clone_density(density: Any) -> Any:
    """Return a copy of the density, or the default density for None."""
    if density is None:
        from mercer.density import KernelDensity

        return KernelDensity(bandwidth="scott-scaled")
    if not hasattr(density, "log_density"):
        raise NoDensityError(
            f"{type(density).__name__} has no `log_density`, which scores the rows; use KernelDensity(), "
            "HistogramDensity(), or a generative classifier such as NaiveBayes()."
        )
    return clone(density)


def fit_density(density: Any, X: Any, y: Any) -> Any:
    """Return a fitted copy of the density."""
    copy = clone_density(density)
    if y is None and get_tags(copy).target_tags.required:
        raise DataError(
            f"{type(copy).__name__} consists of a density for each class and requires y. Pass the class of every row "
            "(NaiveBayes and KernelBayes accept one class for all rows: zeros), or use KernelDensity(), which has no "
            "classes."
        )
    return copy.fit(X, y)


def log_densities(density: Any, X: Any) -> Array:
    """Return the log densities of rows in double precision."""
    return np.asarray(density.log_density(X), dtype=np.float64)


def warn_of_idle_fit(calibration: Array, fdr: float) -> None:
    """Warn if the calibration rows are too few to flag any row."""
    if (least := least_p_value(calibration)) > fdr:
        _warn_of_calibration(
            f"no row can be flagged: with {format_count(len(calibration), 'calibration row')} the smallest p-value is "
            f"{least:.3g}, which is above fdr={fdr:g}.",
            calibration,
            ceil(1 / fdr) - 1,
            "or allow more false discoveries (fdr=…)",
        )


def warn_of_idle_batch(p: Array, calibration: Array, fdr: float) -> None:
    """Warn if no row of a batch was flagged although some have the smallest possible p-value."""
    least, m = least_p_value(calibration), len(p)
    k = int(np.count_nonzero(p == least))
    if k and least <= fdr:  # otherwise `warn_of_idle_fit` has warned
        _warn_of_calibration(
            f"no row was flagged, though {k} of {m} have the smallest p-value that {len(calibration)} calibration rows "
            f"allow: {least:.3g} is above fdr · {k}/{m} = {fdr * k / m:.3g}.",
            calibration,
            ceil(m / (k * fdr)) - 1,
            "or use p_values, which test each row alone",
        )


def _warn_of_calibration(what: str, calibration: Array, needed: int, otherwise: str) -> None:
    """Warn with advice: more calibration rows, or a smoother density if it is 0 at some of them."""
    zero = int(np.count_nonzero(np.isneginf(calibration)))
    if zero:
        remedy = (
            f"The density is also 0 at {zero} of the calibration rows, so more of them would not help: use a smoother "
            f"density, such as KernelDensity() with a kernel of infinite support, {otherwise}."
        )
    else:
        remedy = (
            f"Use {needed:,} calibration rows or more: give more rows, hold out a larger share of them "
            f"(calibration=…), {otherwise}."
        )
    warn(f"{what} {remedy}", CalibrationWarning)


def adjusted_p_values(p: Any) -> Array:
    """Return min over k ≥ rank of p₍ₖ₎ m/k, the lowest level at which Benjamini and Hochberg reject each hypothesis.

    Parameters
    ----------
    p : array-like of shape (m,)
        The p-value of each test.

    Returns
    -------
    adjusted : ndarray of shape (m,)
        Adjusted p-values in the order of `p`, at most 1.

    Examples
    --------
    >>> adjusted_p_values([0.01, 0.04, 0.03, 0.9])
    array([0.04      , 0.05333333, 0.05333333, 0.9       ])
    """
    values = np.asarray(p, dtype=float)
    if values.ndim != 1 or not ((values >= 0) & (values <= 1)).all():
        raise DataError("p-values must be numbers from 0 to 1 in one dimension; check how these were computed.")
    order = np.argsort(values)[::-1]
    scaled = values[order] * len(values) / np.arange(len(values), 0, -1)
    result = np.empty_like(values)
    result[order] = np.minimum(np.minimum.accumulate(scaled), 1.0)
    return result


def benjamini_hochberg(p: Any, level: float) -> Array:
    """Select the tests to reject, of which on average at most the share `level` is a false discovery.

    These are the k smallest p-values, for the largest k with p₍ₖ₎ ≤ level · k/m. The bound holds for p-values that are
    independent or positively dependent on each true hypothesis, as conformal ones are.

    Parameters
    ----------
    p : array-like of shape (m,)
        The p-value of each test.
    level : float
        The allowed false discovery rate.

    Returns
    -------
    positive : ndarray of shape (m,), bool
        Whether each test is selected, in the order of `p`.

    Examples
    --------
    >>> benjamini_hochberg([0.01, 0.04, 0.03, 0.9], level=0.06)
    array([ True,  True,  True, False])
    """
    return np.asarray(adjusted_p_values(p) <= level)


@stored(rows=integers("n"), scores=floats("n"), p_values=floats("n"))
class Ranking(NamedTuple):
    """The rows of a fit, the most unusual first: positions, scores, and p-values among each other.

    Examples
    --------
    >>> from mercer import DensityOutliers
    >>> heights = [[0.1 * i] for i in range(40)] + [[99.0]]
    >>> int(DensityOutliers(random_state=0).fit(heights).ranking().rows[0])
    40
    """

    rows: Array
    scores: Array
    p_values: Array


@traits(
    "density",
    no_counterpart=DESCRIBES_ROWS,
)
@stored(
    **FITTED,
    offset_=real(),
    density_=part_of(),
    calibration_scores_=floats("n"),
    _parts=sequence(".", part_of(FitPart)),
)
class DensityOutliers(OutlierMixin, BaseEstimator):
    """Detect outliers as rows of low density, with p-values and a bound on false discoveries instead of a quota.

    A density is fitted on a part of the rows and scores the others. The conformal p-value of a new row is the rank of
    its log density among these scores; it is uniform if the row comes from the distribution of the rows of the fit.
    `predict` flags rows by Benjamini and Hochberg's rule, so that *of the rows flagged in a batch* on average at most
    the share `fdr` is regular. It tests a batch as a whole: the result for a row depends on the other rows.
    `decision_function` tests each row alone, with a rate `fdr` of false alarms among regular rows.

    The guarantee is about new rows and assumes that the rows of the fit are regular. Outliers among them that score low
    make the p-values too large, i.e. conservative.

    Parameters
    ----------
    density : estimator with `log_density`, default=None
        Estimator that scores rows: `KernelDensity`, `HistogramDensity`, or a generative classifier such as
        `NaiveBayes`, `GaussianDiscriminant` or `KernelBayes`, which needs y. By default `KernelDensity` with a
        bandwidth that scales with the data.
    method : {"split-conformal", "leave-one-out"}, default="split-conformal"
        Calibration rows: a held-out part of the rows, which the bound on false discoveries requires; or all rows, each
        scored by the density of the others. With "leave-one-out" rows are flagged as by `decision_function`, and there
        is no bound on false discoveries.
    fdr : float, default=0.05
        The allowed share of regular rows among the flagged rows.
    calibration : float, default=0.5
        The share of rows held out. To flag k of m new rows, at least m/(k · fdr) − 1 rows must be held out.
    random_state : int, RandomState or Generator, default=None
        Determines which rows are held out.

    Attributes
    ----------
    density_ : estimator
        The fitted density.
    calibration_scores_ : ndarray
        Log densities of the calibration rows.
    offset_ : float
        `decision_function` is `score_samples` minus this value: a row below it has a p-value of at most `fdr`.
    certificate_ : Certificate
        Evidence for the result.
    plan_ : Plan
        The path that the fit of the density took.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import DensityOutliers
    >>> X = np.random.default_rng(0).normal(size=(400, 2))
    >>> model = DensityOutliers(random_state=0).fit(X)
    >>> model.predict([[0.0, 0.0], [0.5, -1.0], [5.0, 5.0]])
    array([ 1,  1, -1])
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "density": [HasMethods(["fit"]), None],
        "method": [StrOptions({"split-conformal", "leave-one-out"})],
        "fdr": [Interval(Real, 0, 1, closed="neither")],
        "calibration": [Interval(Real, 0, 1, closed="neither")],
        "random_state": ["random_state", np.random.Generator],
    }

    def __init__(
        self,
        density: Any = None,
        *,
        method: str = "split-conformal",
        fdr: float = 0.05,
        calibration: float = 0.5,
        random_state: Any = None,
    ) -> None:
        self.density = density
        self.method = method
        self.fdr = fdr
        self.calibration = calibration
        self.random_state = random_state

    # Fitting.

    @fits_sources
    def fit(self, X: Any, y: Any = None) -> Self:
        """Fit the density and compute the calibration scores.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
            Regular rows, in any form that the density accepts.
        y : array-like of shape (n_samples,), default=None
            Class labels, for a density that is a classifier.

        Returns
        -------
        self : object
            The fitted detector.
        """
        with restore_on_failure(self):
            self._validate_params()
            X, y = move_to_main_memory(type(self).__name__, X=X, y=y)  # splitting needs rows that can be indexed
            table, y = check_table(self, X, y, reset=True)
            if table.n_rows < 2:
                raise DataError("n_samples=1 leaves no calibration rows; give two rows or more.")
            if self.method == "leave-one-out":
                self._fit_leaving_one_out(X, y)
            else:
                self._fit_split(X, y, table.n_rows)
            self.offset_ = score_threshold(self.calibration_scores_, self.fdr)
            self.certificate_ = Certificate.closed_form("p-values are ranks among scores of regular rows")
            self.plan_ = replace(self.density_.plan_, path=f"{self.method}; {self.density_.plan_.path}")
        warn_of_idle_fit(self.calibration_scores_, self.fdr)
        return self

    def _fit_split(self, X: Any, y: Any, n: int) -> None:
        rng = as_generator(self.random_state)
        learnt, held = split(X, y, n, held_out=self.calibration, rng=rng)
        try:
            self.density_ = fit_density(self.density, learnt.X, learnt.y)
            self.calibration_scores_ = log_densities(self.density_, held.X)
        except DataError as error:
            fit_density(self.density, X, y)  # raises the error with row numbers of all rows, if they cause it
            raise type(error)(
                f"{error} This is about {len(learnt.rows)} of the {n} rows: calibration={self.calibration:g} holds "
                "out the others."
            ) from None
        self._parts: tuple[FitPart, ...] = (learnt, held)

    def _fit_leaving_one_out(self, X: Any, y: Any) -> None:
        density = clone_density(self.density)
        if not hasattr(density, "leave_one_out_log_density"):
            raise NoDensityError(
                f"{type(density).__name__} has no `leave_one_out_log_density`; use KernelDensity(), or "
                'method="split-conformal", which accepts any density.'
            )
        self._parts = ()
        self.density_ = fit_density(self.density, X, y)
        self.calibration_scores_ = np.asarray(self.density_.leave_one_out_log_density(), dtype=float)

    # Tests of new rows.

    def score_samples(self, X: Any) -> Array:
        """Return the log density of every row.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
            Rows to score.

        Returns
        -------
        scores : ndarray of shape (n_samples,)
            Log densities; low for unusual rows.
        """
        check_is_fitted(self)
        return log_densities(self.density_, X)

    def p_values(self, X: Any, *, ties: Literal["safe", "random"] = "safe") -> Array:
        """Return the conformal p-value of every row: P(p ≤ t) ≤ t for a regular row.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
            Rows to test; not those of the fit.
        ties : {"safe", "random"}, default="safe"
            "safe": multiples of 1/(n + 1), which are conservative. "random": drawn at random between these, so that the
            p-value of a regular row is exactly uniform.

        Returns
        -------
        p : ndarray of shape (n_samples,)
            P-values; approximate with the method "leave-one-out".
        """
        if ties not in ("safe", "random"):
            raise ValueError(f'ties must be "safe" or "random"; got {ties!r}.')
        rng = as_generator(self.random_state) if ties == "random" else None
        return conformal_p_values(self.score_samples(X), self.calibration_scores_, rng=rng)

    def decision_function(self, X: Any) -> Array:
        """Return log density minus `offset_`: negative if a row, tested alone, has a p-value of at most `fdr`.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
            Rows to test.

        Returns
        -------
        decision : ndarray of shape (n_samples,)
            Positive for regular rows, except for about the share `fdr` of them: `predict` flags fewer in a batch.
        """
        with np.errstate(invalid="ignore"):
            decision = self.score_samples(X) - self.offset_
        return np.where(np.isnan(decision), 0.0, decision)  # score and offset may both be −inf

    def predict(self, X: Any) -> Array:
        """Return −1 for outliers and 1 for regular rows.

        If no row can be flagged because there are too few calibration rows, a `CalibrationWarning` has the number
        needed.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
            A batch of new rows. With the method "split-conformal" on average at most the share `fdr` of the flagged
            rows is regular; a row may be flagged in one batch and not in another.

        Returns
        -------
        y : ndarray of shape (n_samples,)
            −1 or 1.
        """
        p_values = self.p_values(X)
        flagged = self._flag(p_values)
        if not flagged.any():
            warn_of_idle_batch(p_values, self.calibration_scores_, self.fdr)
        return np.where(flagged, -1, 1)

    def _flag(self, p_values: Array) -> Array:
        """Return which rows of a batch are outliers."""
        if self.method == "leave-one-out":
            return np.asarray(p_values <= self.fdr)
        return benjamini_hochberg(p_values, self.fdr)

    def _score_flagged_below(self, p_values: Array) -> float:
        """Return the score below which rows of a batch are flagged; if none is flagged, below which one would be."""
        if self.method == "leave-one-out":
            return float(self.offset_)
        flagged = p_values[self._flag(p_values)]
        return score_threshold(self.calibration_scores_, flagged.max() if flagged.size else self.fdr / len(p_values))

    # Tests of the rows of the fit.

    def fit_predict(self, X: Any, y: Any = None) -> Array:
        """Fit, and flag the most unusual share `fdr` of the same rows.

        Each row is scored by a density fitted without it. There is no bound on false discoveries, because the rows are
        their own calibration. Regular rows are flagged at a rate of at most `fdr`.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
            Rows to fit and to test.
        y : array-like of shape (n_samples,), default=None
            Class labels, for a density that is a classifier.

        Returns
        -------
        y : ndarray of shape (n_samples,)
            −1 for outliers, 1 for regular rows.
        """
        rows, _, p_values = self.fit(X, y).ranking()
        flagged = np.zeros(len(rows), dtype=bool)
        flagged[rows[p_values <= self.fdr]] = True
        return np.where(flagged, -1, 1)

    def ranking(self) -> Ranking:
        """Return the rows of the fit, the most unusual first, each scored by a density fitted without it.

        Returns
        -------
        ranking : Ranking
            `rows` (positions), `scores` and `p_values`, the ranks among rows scored by the same density, which do not
            bound false discoveries. With the method "split-conformal" the held-out rows are scored by `density_`, and
            the others by a density of the held-out rows.
        """
        check_is_fitted(self)
        scores, p_values = self._score_training_rows()
        order = np.argsort(scores, kind="stable")
        return Ranking(order, scores[order], p_values[order])

    def _score_training_rows(self) -> tuple[Array, Array]:
        """Return scores and p-values of the rows of the fit, in their order."""
        if not self._parts:
            return self.calibration_scores_, leave_one_out_p_values(self.calibration_scores_)
        learnt, held = self._parts
        of_learnt = log_densities(fit_density(self.density, held.X, held.y), learnt.X)
        scores, p_values = np.empty((2, len(learnt.rows) + len(held.rows)))
        for rows, values in ((learnt.rows, of_learnt), (held.rows, self.calibration_scores_)):
            scores[rows], p_values[rows] = values, leave_one_out_p_values(values)
        return scores, p_values

    def plot(self, X: Any = None, *, ax: Any = None) -> Any:
        """Plot the log densities in ascending order and mark the flagged rows.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features), default=None
            New rows, tested as one batch; the plot shows the score below which they are flagged. By default the rows of
            the fit, which `fit_predict` tests in two parts.
        ax : matplotlib.axes.Axes, default=None
            Axes to draw on.

        Returns
        -------
        ax : matplotlib.axes.Axes
            The axes with the plot.
        """
        from mercer.report.plots import outlier_ranking

        check_is_fitted(self)
        if X is None:
            scores, p_values = self._score_training_rows()
            return outlier_ranking(scores, p_values <= self.fdr, ax=ax, name="log density")
        scores = self.score_samples(X)
        p_values = conformal_p_values(scores, self.calibration_scores_)
        below = self._score_flagged_below(p_values)
        return outlier_ranking(scores, self._flag(p_values), threshold=below, ax=ax, name="log density")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags = get_tags(clone_density(self.density)).input_tags
        return tags
