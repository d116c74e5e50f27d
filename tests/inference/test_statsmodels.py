"""Agreement with statsmodels, on its own data sets."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from mercer import GLM, LinearRegression, summary
from mercer.families import Binomial, InverseGaussian, NegativeBinomial, Tweedie
from mercer.inference import Summary

sm = pytest.importorskip("statsmodels.api")
pytestmark = pytest.mark.filterwarnings("ignore:.*(converge|overflow|freq_weights|domain|DomainWarning).*")

links = sm.families.links


def data(name: str) -> tuple[Any, Any]:
    loaded = getattr(sm.datasets, name).load()
    return np.asarray(loaded.exog, dtype=float), np.asarray(loaded.endog, dtype=float)


def constant_first(X: Any) -> Any:
    return sm.add_constant(X, has_constant="add")


#: data set, our family and link, theirs
CASES = {
    "gamma": ("scotland", "gamma", "inverse", lambda: sm.families.Gamma()),
    "gamma, log": ("scotland", "gamma", "log", lambda: sm.families.Gamma(links.Log())),
    "inverse gaussian, log": ("scotland", InverseGaussian(), "log", lambda: sm.families.InverseGaussian(links.Log())),
    "gaussian": ("longley", "gaussian", "identity", lambda: sm.families.Gaussian()),
    "gaussian, log": ("scotland", "gaussian", "log", lambda: sm.families.Gaussian(links.Log())),
    "logit": ("spector", "bernoulli", "logit", lambda: sm.families.Binomial()),
    "probit": ("spector", "bernoulli", "probit", lambda: sm.families.Binomial(links.Probit())),
    "cloglog": ("spector", "bernoulli", "cloglog", lambda: sm.families.Binomial(links.CLogLog())),
    "poisson": ("randhie", "poisson", "log", lambda: sm.families.Poisson()),
    "negative binomial": ("randhie", NegativeBinomial(2.0), "log", lambda: sm.families.NegativeBinomial(alpha=0.5)),
    "tweedie": ("scotland", Tweedie(1.5), "log", lambda: sm.families.Tweedie(links.Log(), var_power=1.5)),
}


@pytest.fixture(scope="module", params=CASES)
def case(request: pytest.FixtureRequest) -> tuple[Any, Any, Any, Any]:
    """Our fitted model with its data, and their model."""
    name, family, link, theirs = CASES[request.param]
    X, y = data(name)
    return GLM(family, link, tol=1e-10).fit(X, y), X, y, sm.GLM(y, constant_first(X), family=theirs())


def fitted(theirs: Any, **options: Any) -> Any:
    return theirs.fit(tol=1e-10, tol_criterion="params", maxiter=300, **options)


def assert_same_table(ours: Summary, theirs: Any) -> None:
    np.testing.assert_allclose(ours.coefficients, theirs.params, rtol=1e-6)
    np.testing.assert_allclose(ours.standard_errors, theirs.bse, rtol=1e-6)
    np.testing.assert_allclose(ours.statistics, theirs.tvalues, rtol=1e-6)
    np.testing.assert_allclose(ours.p_values, theirs.pvalues, rtol=1e-6, atol=1e-12)
    np.testing.assert_allclose(ours.intervals, theirs.conf_int(), rtol=1e-6, atol=1e-12)


def test_the_table_agrees_with_statsmodels(case: tuple[Any, Any, Any, Any]) -> None:
    model, X, y, theirs = case
    ours = summary(model, X, y)
    assert_same_table(ours, fitted(theirs, use_t=ours.statistic == "t"))


def test_robust_errors(case: tuple[Any, Any, Any, Any]) -> None:
    """HC1 to HC3 of statsmodels are for least squares only: its GLM has HC0 for each of them."""
    model, X, y, theirs = case
    ours = summary(model, X, y, covariance="HC0")
    assert_same_table(ours, fitted(theirs, cov_type="HC0", use_t=ours.statistic == "t"))


def test_clustered_errors(case: tuple[Any, Any, Any, Any]) -> None:
    model, X, y, theirs = case
    clusters = np.arange(len(y)) // 3
    ours = summary(model, X, y, covariance="cluster", clusters=clusters)
    options = {"cov_type": "cluster", "cov_kwds": {"groups": clusters}, "use_t": ours.statistic == "t"}
    assert_same_table(ours, fitted(theirs, **options))


def test_criteria(case: tuple[Any, Any, Any, Any]) -> None:
    model, X, y, theirs = case
    ours, reference = summary(model, X, y).criteria, fitted(theirs)
    assert ours.deviance == pytest.approx(reference.deviance, rel=1e-6)
    assert ours.pearson == pytest.approx(reference.pearson_chi2, rel=1e-6)
    assert ours.null_deviance == pytest.approx(reference.null_deviance, rel=1e-6)
    assert ours.dispersion == pytest.approx(reference.scale, rel=1e-6)
    assert ours.residual_freedom == reference.df_resid
    if np.isfinite(reference.llf):
        assert ours.log_likelihood == pytest.approx(reference.llf, rel=1e-6)
        assert ours.aic == pytest.approx(reference.aic, rel=1e-6)
        assert ours.bic == pytest.approx(reference.bic_llf, rel=1e-6)


def test_wald_and_score_tests(case: tuple[Any, Any, Any, Any]) -> None:
    model, X, y, theirs = case
    ours, reference = summary(model, X, y), fitted(theirs)
    wald = ours.wald_test(["x0", "x1"])
    expected = reference.wald_test(np.eye(X.shape[1] + 1)[1:3], use_f=ours.statistic == "t", scalar=True)
    assert wald.statistic == pytest.approx(expected.statistic, rel=1e-6)
    assert wald.p_value == pytest.approx(expected.pvalue, rel=1e-5)
    with_constant = constant_first(X)
    smaller = fitted(sm.GLM(y, np.delete(with_constant, [1, 2], axis=1), family=theirs.family))
    score = ours.score_test(["x0", "x1"])
    expected = smaller.score_test(exog_extra=with_constant[:, 1:3], observed=False)
    assert score.statistic == pytest.approx(float(np.squeeze(expected.statistic)), rel=1e-5)
    ratio = ours.likelihood_ratio_test(["x0", "x1"])
    drop = (smaller.deviance - reference.deviance) / reference.scale
    assert ratio.statistic * (1 if ours.statistic == "z" else 2) == pytest.approx(drop, rel=1e-5)


def test_means_of_new_rows(case: tuple[Any, Any, Any, Any]) -> None:
    model, X, y, theirs = case
    ours = summary(model, X, y)
    with np.errstate(divide="ignore"):
        reference = fitted(theirs, use_t=ours.statistic == "t").get_prediction(constant_first(X[:5])).summary_frame()
    interval = ours.predict_interval(X[:5])
    np.testing.assert_allclose(interval.mean, reference["mean"], rtol=1e-6)
    ends = np.sort(reference[["mean_ci_lower", "mean_ci_upper"]], axis=1)  # theirs are the wrong way round for 1/μ
    np.testing.assert_allclose(np.column_stack([interval.lower, interval.upper]), ends, rtol=1e-6)


@pytest.mark.parametrize("kind", ["HC0", "HC1", "HC2", "HC3"])
def test_every_robust_error_of_a_linear_regression(kind: str) -> None:
    X, y = data("longley")
    ours = summary(LinearRegression().fit(X, y), X, y, covariance=kind)
    assert_same_table(ours, sm.OLS(y, constant_first(X)).fit(cov_type=kind, use_t=True))


def test_figures_of_a_linear_regression() -> None:
    X, y = data("longley")
    ours, theirs = summary(LinearRegression().fit(X, y), X, y), sm.OLS(y, constant_first(X)).fit()
    assert_same_table(ours, theirs)
    assert ours.criteria.r2_deviance == pytest.approx(theirs.rsquared, rel=1e-9)
    assert ours.criteria.aic == pytest.approx(theirs.aic, rel=1e-9)
    assert ours.criteria.bic == pytest.approx(theirs.bic, rel=1e-9)
    ratio = ours.likelihood_ratio_test([f"x{j}" for j in range(6)])
    assert ratio.statistic == pytest.approx(theirs.fvalue, rel=1e-6)
    assert ratio.p_value == pytest.approx(theirs.f_pvalue, rel=1e-6)
    reference = theirs.get_prediction(constant_first(X[:4])).summary_frame(alpha=0.1)
    mean, observation = (ours.predict_interval(X[:4], 0.9, kind=kind) for kind in ("mean", "observation"))
    np.testing.assert_allclose(mean.lower, reference["mean_ci_lower"], rtol=1e-9)
    np.testing.assert_allclose(observation.lower, reference["obs_ci_lower"], rtol=1e-9)
    np.testing.assert_allclose(observation.upper, reference["obs_ci_upper"], rtol=1e-9)


@pytest.mark.parametrize("kind", ["frequency", "precision"])
@pytest.mark.parametrize("covariance", ["model", "HC0"])
def test_weights_of_both_kinds(kind: str, covariance: str) -> None:
    X, y = data("scotland")
    weight = np.arange(len(y)) % 3 + 1.0
    ours = summary(
        GLM("gamma", "log", weight_kind=kind, tol=1e-10).fit(X, y, sample_weight=weight),
        X,
        y,
        sample_weight=weight,
        covariance=covariance,
    )
    given = {"freq_weights" if kind == "frequency" else "var_weights": weight}
    theirs = sm.GLM(y, constant_first(X), family=sm.families.Gamma(links.Log()), **given)
    options = {} if covariance == "model" else {"cov_type": covariance}
    reference = fitted(theirs, use_t=True, **options)
    assert_same_table(ours, reference)
    assert ours.criteria.dispersion == pytest.approx(reference.scale, rel=1e-6)
    assert ours.criteria.log_likelihood == pytest.approx(reference.llf, rel=1e-6)


def test_a_negative_binomial_whose_r_is_estimated() -> None:
    """Standard errors are those at the r found; theirs, of the joint likelihood, have the observed information."""
    X, y = data("randhie")
    X, y = X[::10], y[::10]
    model = GLM("negative_binomial", tol=1e-10).fit(X, y)
    ours = summary(model, X, y)
    family = sm.families.NegativeBinomial(alpha=1 / model.family_.r)
    assert_same_table(ours, fitted(sm.GLM(y, constant_first(X), family=family)))
    joint = sm.NegativeBinomial(y, constant_first(X)).fit(disp=0, maxiter=200, gtol=1e-8)
    np.testing.assert_allclose(ours.standard_errors, joint.bse[:-1], rtol=0.05)
    assert ours.criteria.log_likelihood == pytest.approx(joint.llf, rel=1e-8)
    assert ours.criteria.aic == pytest.approx(joint.aic, rel=1e-8)
    assert ours.criteria.bic == pytest.approx(joint.bic, rel=1e-8)


@pytest.mark.parametrize(("link", "theirs"), [("logit", "Logit"), ("probit", "Probit"), ("log", "Poisson")])
def test_discrete_models(link: str, theirs: str) -> None:
    """The `fair` data of statsmodels: whether there was an affair, and its extent."""
    X, y = data("fair")
    y = np.round(y) if theirs == "Poisson" else (y > 0).astype(float)
    model = GLM("poisson" if theirs == "Poisson" else "bernoulli", link, tol=1e-10).fit(X, y)
    reference = getattr(sm, theirs)(y, constant_first(X)).fit(disp=0, method="newton", tol=1e-10)
    ours = summary(model, X, y)
    np.testing.assert_allclose(ours.coefficients, reference.params, rtol=1e-6)
    assert ours.criteria.aic == pytest.approx(reference.aic, rel=1e-6)
    assert ours.criteria.r2_mcfadden == pytest.approx(reference.prsquared, rel=1e-6)
    whole = ours.likelihood_ratio_test([f"x{j}" for j in range(X.shape[1])])
    assert whole.statistic == pytest.approx(reference.llr, rel=1e-6)
    if theirs != "Probit":  # their probit has the observed information
        np.testing.assert_allclose(ours.standard_errors, reference.bse, rtol=1e-6)
    robust = getattr(sm, theirs)(y, constant_first(X)).fit(disp=0, method="newton", tol=1e-10, cov_type="HC0")
    np.testing.assert_allclose(summary(model, X, y, covariance="HC0").standard_errors, robust.bse, rtol=1e-6)


def test_offset_and_exposure() -> None:
    X, y = data("randhie")
    exposure = 1 + np.arange(len(y)) % 5
    ours = summary(GLM("poisson").fit(X, y, exposure=exposure), X, y, exposure=exposure)
    reference = fitted(sm.GLM(y, constant_first(X), family=sm.families.Poisson(), exposure=exposure))
    assert_same_table(ours, reference)
    assert ours.criteria.null_deviance == pytest.approx(reference.null_deviance, rel=1e-6)
    assert ours.criteria.r2_mcfadden == pytest.approx(reference.pseudo_rsquared("mcf"), rel=1e-6)


def test_binomial_counts() -> None:
    X, y = data("spector")
    counts = 2 * y + 1
    ours = summary(GLM(Binomial(4)).fit(X, counts), X, counts)
    reference = fitted(sm.GLM(np.column_stack([counts, 4 - counts]), constant_first(X), family=sm.families.Binomial()))
    assert_same_table(ours, reference)
    assert ours.criteria.deviance == pytest.approx(reference.deviance, rel=1e-6)
    assert ours.criteria.log_likelihood == pytest.approx(reference.llf, rel=1e-6)
    assert ours.criteria.r2_cox_snell == pytest.approx(reference.pseudo_rsquared("cs"), rel=1e-6)


def test_successes_and_failures_as_rows_with_frequencies() -> None:
    """The binomial example of statsmodels: 303 districts with 8 to 4,000 pupils each."""
    X, y = data("star98")
    rows, labels, weight = np.vstack([X, X]), np.repeat([1, 0], len(X)), np.concatenate([y[:, 0], y[:, 1]])
    ours = summary(GLM("bernoulli").fit(rows, labels, sample_weight=weight), rows, labels, sample_weight=weight)
    assert_same_table(ours, fitted(sm.GLM(y, constant_first(X), family=sm.families.Binomial())))


@pytest.mark.parametrize("covariance", ["model", "HC0"])
def test_classes(covariance: str) -> None:
    X, y = data("anes96")
    y = y.astype(int)
    model = GLM("categorical", reference=0).fit(X, y)
    ours = summary(model, X, y, covariance=covariance)
    options = {} if covariance == "model" else {"cov_type": covariance}
    theirs = sm.MNLogit(y, constant_first(X)).fit(disp=0, method="newton", tol=1e-12, **options)
    np.testing.assert_allclose(ours.coefficients, np.asarray(theirs.params).T.ravel(), rtol=1e-6)
    np.testing.assert_allclose(ours.standard_errors, np.asarray(theirs.bse).T.ravel(), rtol=1e-6)
    np.testing.assert_allclose(ours.p_values, np.asarray(theirs.pvalues).T.ravel(), rtol=1e-6, atol=1e-12)
    assert ours.criteria.log_likelihood == pytest.approx(theirs.llf, rel=1e-6)
    assert ours.criteria.null_log_likelihood == pytest.approx(theirs.llnull, rel=1e-6)
    assert ours.criteria.r2_mcfadden == pytest.approx(theirs.prsquared, rel=1e-6)
    assert ours.criteria.aic == pytest.approx(theirs.aic, rel=1e-6)
    assert ours.criteria.bic == pytest.approx(theirs.bic, rel=1e-6)
