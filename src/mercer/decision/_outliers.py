"""Outliers: rows of low density, flagged with a bound on how many of the flagged are usual ones."""

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
from mercer.base.validation import checked_table, in_main_memory, old_state_on_failure
from mercer.decision._conformal import conformal_p_values, least_p_value, ranks_among_themselves, threshold
from mercer.decision.wrapped import FitPart, split
from mercer.families.base import as_generator
from mercer.optim.certificate import Certificate
from mercer.report.wording import counted

# Densities as a detector of outliers needs them: copies of what was given, fitted on some rows.


def unfitted(density: Any) -> Any:
    """A copy of the density, or the one to use if there is none."""
    if density is None:
        from mercer.density import KernelDensity

        return KernelDensity(bandwidth="scott-scaled")
    if not hasattr(density, "log_density"):
        raise NoDensityError(
            f"{type(density).__name__} has no `log_density`, so that it cannot tell a usual row from another; "
            "use KernelDensity(), HistogramDensity(), or a generative classifier such as NaiveBayes()."
        )
    return clone(density)


def fitted(density: Any, X: Any, y: Any) -> Any:
    """A copy of the density, fitted."""
    copy = unfitted(density)
    if y is None and get_tags(copy).target_tags.required:
        raise DataError(
            f"{type(copy).__name__} is made of a density for each class and requires y. Pass the class of every row "
            "(NaiveBayes and KernelBayes will do with one for all: zeros), or use KernelDensity(), which has no "
            "classes."
        )
    return copy.fit(X, y)


def log_densities(density: Any, X: Any) -> Array:
    """Of a fitted density, as numbers of double precision."""
    return np.asarray(density.log_density(X), dtype=np.float64)


# What cannot be flagged, however strange, because there is too little to compare it with.


def warn_of_idle_fit(calibration: Array, fdr: float) -> None:
    """Say so where no row will ever be flagged."""
    if (least := least_p_value(calibration)) > fdr:
        _warn(
            f"no row can be flagged: among {counted(len(calibration), 'row')} to compare with the smallest p-value is "
            f"{least:.3g}, which is above fdr={fdr:g}.",
            calibration,
            ceil(1 / fdr) - 1,
            "or allow more false discoveries (fdr=…)",
        )


def warn_of_idle_batch(p: Array, calibration: Array, fdr: float) -> None:
    """Say so where rows of a batch, none of which was flagged, are as strange as the comparison can tell."""
    least, m = least_p_value(calibration), len(p)
    k = int(np.count_nonzero(p == least))
    if k and least <= fdr:  # else the fit has said so
        _warn(
            f"no row was flagged, though {k} of {m} scored as low as {len(calibration)} rows to compare with can tell: "
            f"their p-value of {least:.3g} is above fdr · {k}/{m} = {fdr * k / m:.3g}.",
            calibration,
            ceil(m / (k * fdr)) - 1,
            "or look at p_values, which judge each row alone",
        )


def _warn(what: str, calibration: Array, needed: int, otherwise: str) -> None:
    zero = int(np.count_nonzero(np.isneginf(calibration)))
    if zero:
        remedy = (
            f"The density is 0 at {zero} of these rows, too, so that more of them would not help: use a smoother one, "
            f"such as KernelDensity() with a kernel that does not end, {otherwise}."
        )
    else:
        remedy = (
            f"Compare with {needed:,} or more: give more rows, hold out a larger share of them (calibration=…), "
            f"{otherwise}."
        )
    warn(f"{what} {remedy}", CalibrationWarning)


# Many tests at once: how many of those that are called positive are wrong.


def adjusted_p_values(p: Any) -> Array:
    """min over k ≥ rank of p₍ₖ₎ m/k: the least level at which Benjamini and Hochberg call each test positive.

    Parameters
    ----------
    p : array-like of shape (m,)
        The p-value of each test.

    Returns
    -------
    adjusted : ndarray of shape (m,)
        In the order of `p`, at most 1.

    Examples
    --------
    >>> adjusted_p_values([0.01, 0.04, 0.03, 0.9])
    array([0.04      , 0.05333333, 0.05333333, 0.9       ])
    """
    values = np.asarray(p, dtype=float)
    if values.ndim != 1 or not ((values >= 0) & (values <= 1)).all():
        raise DataError("p-values are numbers from 0 to 1 in one dimension; look at how these were computed.")
    order = np.argsort(values)[::-1]
    scaled = values[order] * len(values) / np.arange(len(values), 0, -1)
    result = np.empty_like(values)
    result[order] = np.minimum(np.minimum.accumulate(scaled), 1.0)
    return result


def benjamini_hochberg(p: Any, level: float) -> Array:
    """Which tests are positive: on average over batches, at most the share `level` of these is so by mistake.

    The k smallest p-values, for the largest k with p₍ₖ₎ ≤ level · k/m. This holds for p-values that are independent or
    positively dependent on each true hypothesis, as conformal ones are.

    Parameters
    ----------
    p : array-like of shape (m,)
        The p-value of each test.
    level : float
        The false discovery rate that is allowed.

    Returns
    -------
    positive : ndarray of shape (m,), bool
        In the order of `p`.

    Examples
    --------
    >>> benjamini_hochberg([0.01, 0.04, 0.03, 0.9], level=0.06)
    array([ True,  True,  True, False])
    """
    return np.asarray(adjusted_p_values(p) <= level)


@stored(rows=integers("n"), scores=floats("n"), p_values=floats("n"))
class Ranking(NamedTuple):
    """The rows of a fit, the most unusual first: their positions, scores, and p-values among each other.

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
    """Outliers as rows of low density, with p-values and a bound on false discoveries instead of a guessed quota.

    A density learns from a part of the rows and scores the others. A new row is as strange as its log density is low
    among these: its conformal p-value is uniform if it comes from the distribution of the rows of the fit. `predict`
    flags by Benjamini and Hochberg's rule, so that *of the rows flagged in a batch* at most the share `fdr` is usual,
    on average. It judges a batch as a whole: the answer for a row depends on the others asked about with it.
    `decision_function` judges each row alone, at a rate `fdr` of false alarms among usual rows.

    The promise is about new rows, and assumes that the rows of the fit are usual ones. Outliers among them that score
    low make the p-values too large, which errs on the safe side.

    Parameters
    ----------
    density : estimator with `log_density`, default=None
        What scores rows: `KernelDensity`, `HistogramDensity`, or a generative classifier such as `NaiveBayes`,
        `GaussianDiscriminant` or `KernelBayes`, which needs y. `KernelDensity` with a bandwidth that scales with the
        data, if not given.
    method : {"split-conformal", "leave-one-out"}, default="split-conformal"
        Rows to compare with: some that are held out, which is what the bound on false discoveries rests on; or all
        rows, each scored by the density of the others, which wastes none. Then flags are those of `decision_function`,
        and nothing is promised about false discoveries.
    fdr : float, default=0.05
        The share of usual rows that is allowed among the rows flagged.
    calibration : float, default=0.5
        The share of rows held out. To flag k of m new rows, at least m/(k · fdr) − 1 rows have to be held out.
    random_state : int, RandomState or Generator, default=None
        Which rows are held out.

    Attributes
    ----------
    density_ : estimator
        The fitted density.
    calibration_scores_ : ndarray
        Log densities of the rows that others are compared with.
    offset_ : float
        `decision_function` is `score_samples` minus this: a row below it has a p-value of at most `fdr`.
    certificate_ : Certificate
        How we know that this is the answer.
    plan_ : Plan
        Which path the fit of the density took.

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

    # Learning.

    @fits_sources
    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn what is usual.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
            Usual rows, of whatever kind the density takes.
        y : array-like of shape (n_samples,), default=None
            Class labels, for a density that is a classifier's.

        Returns
        -------
        self : object
            The fitted detector.
        """
        with old_state_on_failure(self):
            self._validate_params()
            X, y = in_main_memory(type(self).__name__, X=X, y=y)  # of what is split, rows have to be taken
            table, y = checked_table(self, X, y, reset=True)
            if table.n_rows < 2:
                raise DataError("n_samples=1 leaves nothing to compare a row with; give two rows or more.")
            if self.method == "leave-one-out":
                self._fit_leaving_one_out(X, y)
            else:
                self._fit_split(X, y, table.n_rows)
            self.offset_ = threshold(self.calibration_scores_, self.fdr)
            self.certificate_ = Certificate.closed_form("p-values are ranks among scores of usual rows")
            self.plan_ = replace(self.density_.plan_, path=f"{self.method}; {self.density_.plan_.path}")
        warn_of_idle_fit(self.calibration_scores_, self.fdr)
        return self

    def _fit_split(self, X: Any, y: Any, n: int) -> None:
        rng = as_generator(self.random_state)
        learnt, held = split(X, y, n, held_out=self.calibration, rng=rng)
        try:
            self.density_ = fitted(self.density, learnt.X, learnt.y)
            self.calibration_scores_ = log_densities(self.density_, held.X)
        except DataError as refusal:
            fitted(self.density, X, y)  # tells what is wrong by its place among all rows
            raise type(refusal)(
                f"{refusal} This is about {len(learnt.rows)} of the {n} rows: calibration={self.calibration:g} holds "
                "out the others."
            ) from None
        self._parts: tuple[FitPart, ...] = (learnt, held)

    def _fit_leaving_one_out(self, X: Any, y: Any) -> None:
        density = unfitted(self.density)
        if not hasattr(density, "leave_one_out_log_density"):
            raise NoDensityError(
                f"{type(density).__name__} has no `leave_one_out_log_density`; use KernelDensity(), or "
                'method="split-conformal", which does with any density.'
            )
        self._parts = ()
        self.density_ = fitted(self.density, X, y)
        self.calibration_scores_ = np.asarray(self.density_.leave_one_out_log_density(), dtype=float)

    # Judging new rows.

    def score_samples(self, X: Any) -> Array:
        """Log density of every row.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
            Rows to score.

        Returns
        -------
        scores : ndarray of shape (n_samples,)
            Low where a row is unusual.
        """
        check_is_fitted(self)
        return log_densities(self.density_, X)

    def p_values(self, X: Any, *, ties: Literal["safe", "random"] = "safe") -> Array:
        """How unusual every row is: for a usual one, P(p ≤ t) ≤ t.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
            Rows to judge; not those of the fit.
        ties : {"safe", "random"}, default="safe"
            Multiples of 1/(n + 1), which are no smaller than they have to be; or drawn at random between them, so that
            the p-value of a usual row is exactly uniform.

        Returns
        -------
        p : ndarray of shape (n_samples,)
            With the method "leave-one-out" approximate.
        """
        if ties not in ("safe", "random"):
            raise ValueError(f'ties is "safe" or "random"; got {ties!r}.')
        rng = as_generator(self.random_state) if ties == "random" else None
        return conformal_p_values(self.score_samples(X), self.calibration_scores_, rng=rng)

    def decision_function(self, X: Any) -> Array:
        """Log density minus `offset_`: below 0 where a row, judged alone, has a p-value of at most `fdr`.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
            Rows to judge.

        Returns
        -------
        decision : ndarray of shape (n_samples,)
            Positive for usual rows. About `fdr` of them are negative: `predict` flags fewer in a batch.
        """
        return self._decisions(self.score_samples(X))

    def _decisions(self, scores: Array) -> Array:
        with np.errstate(invalid="ignore"):
            decision = scores - self.offset_
        return np.where(np.isnan(decision), 0.0, decision)  # −inf, where nothing is too low

    def predict(self, X: Any) -> Array:
        """−1 for outliers, 1 for usual rows.

        A `CalibrationWarning` says how many rows to compare with would be needed where too few are the reason that
        nothing is flagged.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
            A batch of new rows. With the method "split-conformal" at most the share `fdr` of those flagged is usual, on
            average; a row may be flagged in one batch and not in another.

        Returns
        -------
        y : ndarray of shape (n_samples,)
            −1 or 1.
        """
        p_values = self.p_values(X)
        flagged = self._flagged(p_values)
        if not flagged.any():
            warn_of_idle_batch(p_values, self.calibration_scores_, self.fdr)
        return _signs(flagged)

    def _flagged(self, p_values: Array) -> Array:
        """Which rows of a batch are outliers."""
        if self.method == "leave-one-out":
            return np.asarray(p_values <= self.fdr)
        return benjamini_hochberg(p_values, self.fdr)

    def _score_flagged_below(self, p_values: Array) -> float:
        """The score below which rows of a batch are flagged; where none is, below which one would be."""
        if self.method == "leave-one-out":
            return float(self.offset_)
        flagged = p_values[self._flagged(p_values)]
        return threshold(self.calibration_scores_, flagged.max() if flagged.size else self.fdr / len(p_values))

    # Judging the rows of the fit.

    def fit_predict(self, X: Any, y: Any = None) -> Array:
        """Fit, and flag those of the same rows that are among the most unusual share `fdr`.

        Each row is scored by a density that has not seen it. Nothing is promised about false discoveries: rows that are
        their own standard cannot be found unusual as a whole. Usual rows are flagged at a rate of at most `fdr`.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
            Rows to learn from and to judge.
        y : array-like of shape (n_samples,), default=None
            Class labels, for a density that is a classifier's.

        Returns
        -------
        y : ndarray of shape (n_samples,)
            −1 for outliers, 1 for usual rows.
        """
        rows, _, p_values = self.fit(X, y).ranking()
        flagged = np.zeros(len(rows), dtype=bool)
        flagged[rows[p_values <= self.fdr]] = True
        return _signs(flagged)

    def ranking(self) -> Ranking:
        """The rows of the fit, the most unusual first, each scored by a density that has not seen it.

        Returns
        -------
        ranking : Ranking
            `rows` (positions), `scores` and `p_values`: ranks among rows scored alike, for looking at and not for a
            bound on false discoveries. With the method "split-conformal" the rows held out are scored by `density_`,
            the others by a density of the rows held out.
        """
        check_is_fitted(self)
        scores, p_values = self._among_themselves()
        order = np.argsort(scores, kind="stable")
        return Ranking(order, scores[order], p_values[order])

    def _among_themselves(self) -> tuple[Array, Array]:
        """Scores and p-values of the rows of the fit, in their order."""
        if not self._parts:
            return self.calibration_scores_, ranks_among_themselves(self.calibration_scores_)
        learnt, held = self._parts
        of_learnt = log_densities(fitted(self.density, held.X, held.y), learnt.X)
        scores, p_values = np.empty((2, len(learnt.rows) + len(held.rows)))
        for rows, values in ((learnt.rows, of_learnt), (held.rows, self.calibration_scores_)):
            scores[rows], p_values[rows] = values, ranks_among_themselves(values)
        return scores, p_values

    def plot(self, X: Any = None, *, ax: Any = None) -> Any:
        """Log densities in ascending order, those flagged marked.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features), default=None
            New rows, judged as one batch, with the score below which they are flagged; those of the fit, which
            `fit_predict` judges in two parts, if not given.
        ax : matplotlib.axes.Axes, default=None
            Where to draw.

        Returns
        -------
        ax : matplotlib.axes.Axes
            What was drawn on.
        """
        from mercer.report.plots import outlier_ranking

        check_is_fitted(self)
        if X is None:
            scores, p_values = self._among_themselves()
            return outlier_ranking(scores, p_values <= self.fdr, ax=ax, name="log density")
        scores = self.score_samples(X)
        p_values = conformal_p_values(scores, self.calibration_scores_)
        below = self._score_flagged_below(p_values)
        return outlier_ranking(scores, self._flagged(p_values), threshold=below, ax=ax, name="log density")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags = get_tags(unfitted(self.density)).input_tags
        return tags


def _signs(flagged: Array) -> Array:
    return np.where(flagged, -1, 1)
