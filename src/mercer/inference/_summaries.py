"""`summary`: standard errors, tests and intervals of the coefficients of a fitted model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.stats import norm, t

from mercer._errors import InferenceError
from mercer._typing import Array
from mercer.base.prediction_interval import PredictionInterval
from mercer.data.frame_like import frame_like
from mercer.inference import _hypotheses as hypotheses
from mercer.inference._covariance import Covariance, compute_covariance
from mercer.inference._criteria import Criteria, compute_criteria
from mercer.inference._fitted import FittedModel, MeanRows
from mercer.inference._hypotheses import HypothesisTest, find_position, parse_hypothesis
from mercer.inference._prediction import interval_of_mean, interval_of_observation
from mercer.inference._profile import interval_quantile, profile_interval
from mercer.inference.reading import FitReading, read_fit
from mercer.report import Field, Grid, grid_html

#: distance from the optimum in standard errors above which a summary has a note
FAR_FROM_OPTIMUM = 0.1


def summary(
    model: Any,
    X: Any,
    y: Any,
    *,
    sample_weight: Any = None,
    offset: Any = None,
    exposure: Any = None,
    covariance: str = "model",
    clusters: Any = None,
    level: float = 0.95,
) -> Summary:
    """Compute standard errors, tests and intervals of a fitted model's coefficients.

    The model is not changed: all figures are computed anew from the data.

    Parameters
    ----------
    model : fitted estimator
        `GLM`, `LinearRegression`, `Ridge`, `RidgeCV`, `LogisticRegression`, `LogisticRegressionCV`,
        `PoissonRegressor`, `GammaRegressor` or `TweedieRegressor`, or a pipeline that ends in one of them. After an L2
        penalty the summary is of the posterior: standard deviations, and no p-values. In a pipeline with
        `TableFeatures`, coefficients are those of the columns in their own units, and, without a penalty, levels of a
        category are compared with the first one.
    X, y : array-like, sparse matrix or data frame; array-like
        The data that the model was fitted to.
    sample_weight, offset, exposure : array-like of shape (n_samples,), default=None
        The same as in `fit`. Weights are frequencies, where a weight of 2 means two equal rows, except those of a
        `GLM(weight_kind="precision")`.
    covariance : {"model", "HC0", "HC1", "HC2", "HC3", "cluster"}, default="model"
        Estimator of the covariance of the coefficients: by the model, by the residual of each row (robust against a
        wrong variance), or by those of each cluster (also robust against dependence within clusters).
    clusters : array-like of shape (n_samples,), default=None
        For "cluster": the cluster of each row.
    level : float, default=0.95
        Probability of the intervals.

    Returns
    -------
    summary : Summary
        `.frame()` has a row for each coefficient, `.criteria` has the figures of the whole fit (R², F, residual
        standard error, deviance, AIC, …); `print` shows both. Tests, profile and prediction intervals are methods.

    Raises
    ------
    InferenceError
        After an L1 penalty, since no standard error accounts for its choice of columns.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import GLM, summary
    >>> hours, visitors = np.array([[1.0], [2.0], [3.0], [4.0]]), [2, 5, 7, 16]
    >>> table = summary(GLM("poisson").fit(hours, visitors), hours, visitors)
    >>> table.standard_errors.round(3)
    array([0.65 , 0.193])
    >>> print(table.wald_test("x0"))
    Wald test of x0 = 0: χ²(1) = 11.52, p = 0.0006902
    """
    reading = read_fit(model, X, y, sample_weight=sample_weight, offset=offset, exposure=exposure)
    covariance_ = compute_covariance(reading.fitted, covariance, clusters)
    interval_quantile(covariance_, level)  # raises an error for a level that is not between 0 and 1
    return Summary(reading, covariance_, compute_criteria(reading.fitted, covariance_), level)


@dataclass(frozen=True, eq=False, repr=False)
class Summary:
    """Coefficients with their uncertainty, as a frame, or as text by `print` and in notebooks.

    The intercept comes first. Statistics are Student's t if the dispersion was estimated, otherwise normal (z).

    Examples
    --------
    >>> from mercer import LinearRegression, summary
    >>> X, y = [[0.0], [1.0], [2.0], [3.0]], [1.0, 2.0, 2.0, 4.0]
    >>> results = summary(LinearRegression().fit(X, y), X, y)
    >>> results.names, results.coefficients.round(2), results.standard_errors.round(2)
    (('(intercept)', 'x0'), array([0.9, 0.9]), array([0.49, 0.26]))
    """

    _reading: FitReading
    _covariance: Covariance
    criteria: Criteria
    level: float

    @property
    def _fitted(self) -> FittedModel:
        return self._reading.fitted

    @property
    def posterior(self) -> bool:
        """True if the model had a normal prior (L2), so that the summary is of the posterior."""
        return self._fitted.is_penalised

    @property
    def names(self) -> tuple[str, ...]:
        return self._fitted.names

    @property
    def coefficients(self) -> Array:
        return self._fitted.coefficients

    @property
    def covariance(self) -> Array:
        """Covariance of the coefficients; NaN for those that the data do not determine."""
        return self._covariance.matrix

    @property
    def standard_errors(self) -> Array:
        """Standard errors or, for a posterior, standard deviations."""
        return np.asarray(np.sqrt(np.diagonal(self.covariance)))

    @property
    def statistic(self) -> str:
        """Distribution of the statistics under a coefficient of zero: "t" or "z"."""
        return "z" if self._covariance.freedom is None else "t"

    @property
    def statistics(self) -> Array:
        """Coefficients divided by their standard errors."""
        self._check_no_posterior("test statistics")
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.asarray(self.coefficients / self.standard_errors)

    @property
    def p_values(self) -> Array:
        """Two-sided p-values of coefficients of zero."""
        size, freedom = np.abs(self.statistics), self._covariance.freedom
        return np.asarray(2 * (norm.sf(size) if freedom is None else t.sf(size, freedom)))

    @property
    def intervals(self) -> Array:
        """Lower and upper ends, of shape (n_coefficients, 2); for a posterior, of its credible intervals."""
        half = interval_quantile(self._covariance, self.level) * self.standard_errors
        return np.column_stack([self.coefficients - half, self.coefficients + half])

    def columns(self) -> dict[str, Array]:
        """Return the frame as a dictionary of arrays."""
        columns = {"term": np.array(self.names), "coefficient": self.coefficients}
        if self.posterior:
            columns |= {"posterior_sd": self.standard_errors}
        else:
            columns |= {"standard_error": self.standard_errors, self.statistic: self.statistics}
            columns |= {"p_value": self.p_values}
        lower, upper = self.intervals.T
        return columns | {"lower": lower, "upper": upper}

    def frame(self, library: str = "pandas") -> Any:
        """Return a frame of any library ("pandas", "polars", "pyarrow", …) with one row for each coefficient."""
        columns = self.columns()
        return frame_like(list(columns), list(columns.values()), library)

    @property
    def r2(self) -> float:
        """R² of a linear regression; NaN for other models, whose `criteria` have `r2_deviance`."""
        return self.criteria.r2

    @property
    def r2_adjusted(self) -> float:
        """R² with unbiased estimates of both variances."""
        return self.criteria.r2_adjusted

    @property
    def f_statistic(self) -> float:
        """F of all columns against none; NaN if the dispersion is known, see `criteria.chi2_statistic`."""
        return self.criteria.f_statistic

    @property
    def f_p_value(self) -> float:
        """p-value of `f_statistic`."""
        return self.criteria.f_p_value

    @property
    def residual_standard_error(self) -> float:
        """Standard deviation of the residuals of a linear regression."""
        return self.criteria.residual_standard_error

    def criteria_frame(self, library: str = "pandas") -> Any:
        """Return the figures of the fit as a frame: one row for each of `criteria` that exists, by name."""
        figures = {name: float(value) for name, value in self.criteria._asdict().items() if not np.isnan(value)}
        return frame_like(["figure", "value"], [np.array(list(figures)), np.array(list(figures.values()))], library)

    def residuals(self, kind: str = "deviance") -> Array:
        """Return the residuals of the responses.

        Parameters
        ----------
        kind : {"deviance", "pearson", "response"}, default="deviance"
            The signed square root of the deviance of a row; the distance from the mean over the standard deviation of
            the family; or the distance itself, for successes among trials the distance of the shares.

        Returns
        -------
        residuals : ndarray of shape (n_samples,)
        """
        rows, y, eta = self._fitted.rows, self._fitted.observations.y, self._fitted.eta
        if not isinstance(rows, MeanRows):
            raise InferenceError("classes have no mean, so that residuals are not defined; fit two of them at a time.")
        each = self._fitted.each if self._fitted.frequency else self._fitted.weight
        distance = y - rows.response.mean(eta[:, 0])
        if kind == "response":
            return np.asarray(distance)
        if kind not in ("deviance", "pearson"):
            raise InferenceError(f'kind is "deviance", "pearson" or "response", not {kind!r}.')
        squares = 2 * rows.losses(y, eta) if kind == "deviance" else rows.pearson(y, eta)
        return np.asarray(np.sign(distance) * np.sqrt(each * squares))

    def wald_test(self, hypothesis: str | Sequence[str] | Array, values: float | Array = 0.0) -> HypothesisTest:
        """Test coefficients by their distance from `values`, relative to the covariance of this summary.

        Parameters
        ----------
        hypothesis : str, sequence of str, or array of shape (q, n_coefficients)
            Coefficients by name, or linear combinations of all of them.
        values : float or array of shape (q,), default=0
            Values under the hypothesis.

        Returns
        -------
        test : HypothesisTest
        """
        self._check_no_posterior("tests")
        return hypotheses.wald_test(self._fitted, self._covariance, self._hypothesis(hypothesis, values))

    def likelihood_ratio_test(
        self, hypothesis: str | Sequence[str] | Array, values: float | Array = 0.0
    ) -> HypothesisTest:
        """Test coefficients by how much worse the best fit under the hypothesis is; parameters as in `wald_test`."""
        self._check_no_posterior("tests")
        return hypotheses.likelihood_ratio_test(self._fitted, self._covariance, self._hypothesis(hypothesis, values))

    def score_test(self, hypothesis: str | Sequence[str] | Array, values: float | Array = 0.0) -> HypothesisTest:
        """Test coefficients by the slope of the likelihood at the best fit under the hypothesis; see `wald_test`."""
        self._check_no_posterior("tests")
        return hypotheses.score_test(self._fitted, self._covariance, self._hypothesis(hypothesis, values))

    def profile_interval(self, term: str, level: float | None = None) -> tuple[float, float]:
        """Return the values of a coefficient that a likelihood ratio test does not reject.

        Parameters
        ----------
        term : str
            Name of the coefficient.
        level : float, default=None
            Probability of the interval; that of the summary if not given.

        Returns
        -------
        (lower, upper) : floats
            Ends of the interval; infinite if the likelihood does not decrease far enough.
        """
        self._check_no_posterior("profile intervals")
        position = find_position(term, self.names)
        return profile_interval(self._fitted, self._covariance, position, self._level(level))

    def predict_interval(
        self, X: Any, level: float | None = None, *, kind: str = "mean", offset: Any = None, exposure: Any = None
    ) -> PredictionInterval:
        """Return intervals for the mean of new rows, or for a new observation of each.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame
            Rows like those of the fit.
        level : float, default=None
            Probability of the interval; that of the summary if not given.
        kind : {"mean", "observation"}, default="mean"
            Quantity of the interval. That of an observation includes its own variance and that of the mean.
        offset, exposure : array-like of shape (n_samples,), default=None
            As in `predict`.

        Returns
        -------
        interval : PredictionInterval
            Mean, lower and upper end for each row; `.frame()` as in `Summary`. Ends are NaN if the rows of the fit do
            not determine the mean: columns that were collinear there are not in the new rows.
        """
        if kind not in ("mean", "observation"):
            raise InferenceError(f'kind is "mean" or "observation", not {kind!r}.')
        predict = interval_of_mean if kind == "mean" else interval_of_observation
        return predict(self._reading.predictor(X, offset, exposure), self._covariance, self._level(level))

    def _level(self, level: float | None) -> float:
        return self.level if level is None else level

    def _hypothesis(self, about: Any, values: Any) -> hypotheses.Hypothesis:
        return parse_hypothesis(self.names, about, values)

    def _check_no_posterior(self, what: str) -> None:
        if self.posterior:
            raise InferenceError(
                f"there are no {what} after an L2 penalty: the estimate is the mode of a posterior, biased towards the "
                "prior mean, and no sampling distribution is known for it. Use the posterior's standard deviations and "
                "intervals, or refit without a penalty."
            )

    def grid(self) -> Grid:
        """Return the summary as a record to print."""
        forms = {"term": "", "p_value": ".3g", self.statistic: ".3f"}
        columns = self.columns()
        ends = {"lower": f"{(1 - self.level) / 2:.3g}", "upper": f"{(1 + self.level) / 2:.3g}"}
        fields = tuple(Field(ends.get(name, name.replace("_", " ")), forms.get(name, "#.5g")) for name in columns)
        rows = tuple(zip(*(column.tolist() for column in columns.values()), strict=True))
        return Grid(self._fitted.title, fields, rows, tuple(self._notes()))

    def _notes(self) -> list[str]:
        criteria = self.criteria
        size = f"{criteria.observations:g} observations, {criteria.parameters:.4g} parameters"
        likelihood = f"Log likelihood {criteria.log_likelihood:.6g}, AIC {criteria.aic:.6g}, BIC {criteria.bic:.6g}."
        if np.isnan(criteria.residual_standard_error):
            freedom = f"{criteria.residual_freedom:.6g} degrees of freedom"
            explained = f"{criteria.null_deviance:.6g} without columns ({criteria.r2_deviance:.1%} explained)"
            notes = [
                f"{size}; dispersion {criteria.dispersion:.5g}.",
                f"Deviance {criteria.deviance:.6g} on {freedom}, of {explained}.",
            ]
        else:
            error = f"{criteria.residual_standard_error:.5g} on {criteria.residual_freedom:.6g} degrees of freedom"
            notes = [
                f"{size}.",
                f"R² {criteria.r2:.4g}, adjusted R² {criteria.r2_adjusted:.4g}; residual standard error {error}.",
            ]
        if not np.isnan(criteria.f_statistic):
            law = f"F({criteria.model_freedom:g}, {self._covariance.freedom:g})"
            notes.append(f"All columns against none: {law} = {criteria.f_statistic:.4g}, p = {criteria.f_p_value:.3g}.")
        if not np.isnan(criteria.chi2_statistic):
            law = f"χ²({criteria.model_freedom:g})"
            notes.append(
                f"All columns against none: {law} = {criteria.chi2_statistic:.4g}, p = {criteria.chi2_p_value:.3g}."
            )
        notes.append(likelihood)
        if self.posterior:
            notes.append("Posterior under the normal prior that the L2 penalty stands for; there are no p-values.")
        elif self._covariance.kind != "model":
            notes.append(f"Standard errors: robust ({self._covariance.kind}).")
        lost = [name for name, known in zip(self.names, self._covariance.determined, strict=True) if not known]
        if lost:
            notes.append(f"Not determined by the data, because columns are collinear: {', '.join(lost[:10])}.")
        if self._covariance.distance > FAR_FROM_OPTIMUM:
            notes.append(
                f"The coefficients are {self._covariance.distance:.2g} standard errors away from the optimum for these "
                "data: are they those of the fit, with the same weights and offset, and has it converged?"
            )
        return [*notes, *self._reading.notes]

    def __str__(self) -> str:
        return str(self.grid())

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return grid_html(self.grid())
