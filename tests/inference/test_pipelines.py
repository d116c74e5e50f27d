"""Summaries of pipelines, formulas and tables with categories, and the figures of a fit, against statsmodels."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from mercer import GLM, Lasso, LinearRegression, LogisticRegression, Ridge, TableFeatures, summary
from mercer._errors import InferenceError

sm = pytest.importorskip("statsmodels.api")
smf = pytest.importorskip("statsmodels.formula.api")

ROWS = 120


@pytest.fixture(scope="module")
def people() -> pd.DataFrame:
    rng = np.random.default_rng(0)
    age, city = rng.normal(40, 12, ROWS), rng.choice(["Bonn", "Jena", "Ulm"], ROWS)
    income = rng.gamma(3, 1000, ROWS)
    eta = 0.03 * age + 2e-4 * income + np.where(city == "Ulm", 0.8, 0.0) - 2
    return pd.DataFrame(
        {
            "age": age,
            "income": income,
            "city": city,
            "cost": eta + rng.normal(size=ROWS),
            "visits": rng.poisson(np.exp(eta / 2)),
            "ill": rng.random(ROWS) < 1 / (1 + np.exp(-eta)),
            "claim": rng.gamma(2, np.exp(eta / 2) / 2),
            "times": rng.integers(1, 4, ROWS),
        }
    )


COLUMNS = ["age", "income", "city"]
#: of statsmodels -> of mercer
NAMES = {"Intercept": "(intercept)", "city[T.Jena]": "city[Jena]", "city[T.Ulm]": "city[Ulm]"}


def same_coefficients(ours: Any, theirs: Any, rtol: float = 1e-6) -> None:
    frame = ours.frame().set_index("term")
    assert len(frame) == len(theirs.params)
    for name in theirs.params.index:
        row = frame.loc[NAMES.get(name, name)]
        assert_allclose(row.coefficient, theirs.params[name], rtol=rtol, err_msg=name)
        assert_allclose(row.standard_error, theirs.bse[name], rtol=rtol, err_msg=name)
        assert_allclose(row.p_value, theirs.pvalues[name], rtol=1e-4, err_msg=name)


def same_least_squares(ours: Any, theirs: Any) -> None:
    assert_allclose(ours.r2, theirs.rsquared, rtol=1e-9)
    assert_allclose(ours.r2_adjusted, theirs.rsquared_adj, rtol=1e-9)
    assert_allclose(ours.f_statistic, theirs.fvalue, rtol=1e-7)
    assert_allclose(ours.f_p_value, theirs.f_pvalue, rtol=1e-6)
    assert_allclose(ours.residual_standard_error, np.sqrt(theirs.scale), rtol=1e-9)
    table = ours.criteria
    assert (table.observations, table.model_freedom, table.residual_freedom) == (
        theirs.nobs,
        theirs.df_model,
        theirs.df_resid,
    )
    assert np.isnan(table.chi2_statistic)


@pytest.mark.parametrize("model", [LinearRegression(), GLM()], ids=lambda model: type(model).__name__)
@pytest.mark.parametrize("scale", [True, False])
@pytest.mark.filterwarnings("ignore::mercer.errors.CollinearWarning")
def test_coefficients_of_table_features_are_in_units_of_the_columns(
    people: pd.DataFrame, model: Any, scale: bool
) -> None:
    X, y = people[COLUMNS], people["cost"]
    ours = summary(make_pipeline(TableFeatures(scale=scale), model).fit(X, y), X, y)
    theirs = smf.ols("cost ~ age + income + city", people).fit()
    same_coefficients(ours, theirs)
    same_least_squares(ours, theirs)
    assert_allclose([ours.criteria.aic, ours.criteria.bic], [theirs.aic, theirs.bic])
    assert "Reference levels: city[Bonn]." in str(ours)
    assert f"R² {theirs.rsquared:.4g}, adjusted R² {theirs.rsquared_adj:.4g}; residual standard error" in str(ours)
    assert f"F(4, 115) = {theirs.fvalue:.4g}" in str(ours)
    figures = ours.criteria_frame().set_index("figure").value
    assert_allclose(figures[["r2", "f_statistic", "deviance"]], [theirs.rsquared, theirs.fvalue, theirs.ssr])
    # tests and intervals are about the same coefficients
    wald = theirs.wald_test("city[T.Jena] = 0, city[T.Ulm] = 0", scalar=True)
    assert_allclose(ours.wald_test(["city[Jena]", "city[Ulm]"]).p_value, wald.pvalue, rtol=1e-6)
    assert_allclose(ours.likelihood_ratio_test(["city[Jena]", "city[Ulm]"]).p_value, wald.pvalue, rtol=1e-5)
    new = theirs.get_prediction(people[:3]).summary_frame()
    interval = ours.predict_interval(X[:3])
    assert_allclose(interval.lower, new["mean_ci_lower"], rtol=1e-7)
    assert_allclose(ours.predict_interval(X[:3], kind="observation").upper, new["obs_ci_upper"], rtol=1e-7)


@pytest.mark.filterwarnings("ignore::mercer.errors.CollinearWarning")
def test_gaps_and_dates_of_a_pipeline(people: pd.DataFrame) -> None:
    rng = np.random.default_rng(1)
    age = people["age"].where(rng.random(ROWS) < 0.8)
    day = pd.Timestamp("2024-01-01") + pd.to_timedelta(rng.integers(0, 31, ROWS), unit="D")
    X, y = pd.DataFrame({"age": age, "day": day, "city": people["city"]}), people["cost"]
    pipeline = make_pipeline(TableFeatures(kinds={"day": "date"}), LinearRegression()).fit(X, y)
    table = summary(pipeline, X, y)
    days = (day - day.min()).days
    dummies = pd.get_dummies(pd.DataFrame({"w": day.day_name(), "c": X["city"]}), drop_first=True).astype(float)
    by_hand = pd.DataFrame({"age": age.fillna(age.mean()), "gap": age.isna().astype(float), "day": days})
    theirs = sm.OLS(y, sm.add_constant(pd.concat([by_hand, dummies], axis=1))).fit()
    same_least_squares(table, theirs)
    row = table.frame().set_index("term")
    for ours, name in {"age": "age", "age[missing]": "gap", "day[days]": "day", "city[Ulm]": "c_Ulm"}.items():
        assert_allclose(
            row.loc[ours, ["coefficient", "standard_error"]].astype(float), [theirs.params[name], theirs.bse[name]]
        )
    assert "Coefficients are per unit of the columns" in str(table)


@pytest.mark.parametrize("kind", ["HC0", "HC1", "HC2", "HC3"])
@pytest.mark.filterwarnings("ignore::mercer.errors.CollinearWarning")
def test_robust_errors_and_the_robust_f_of_a_pipeline(people: pd.DataFrame, kind: str) -> None:
    X, y = people[COLUMNS], people["cost"]
    ours = summary(make_pipeline(TableFeatures(), LinearRegression()).fit(X, y), X, y, covariance=kind)
    theirs = smf.ols("cost ~ age + income + city", people).fit(cov_type=kind, use_t=True)
    same_coefficients(ours, theirs)
    assert_allclose([ours.f_statistic, ours.f_p_value], [theirs.fvalue, theirs.f_pvalue], rtol=1e-5)


@pytest.mark.filterwarnings("ignore::mercer.errors.CollinearWarning")
def test_weights_are_repeated_rows_or_precisions(people: pd.DataFrame) -> None:
    X, y, times = people[COLUMNS], people["cost"], people["times"]
    repeated = people.loc[people.index.repeat(times)]
    pipeline = make_pipeline(TableFeatures(), LinearRegression()).fit(X, y, linearregression__sample_weight=times)
    ours, theirs = summary(pipeline, X, y, sample_weight=times), smf.ols("cost ~ age + income + city", repeated).fit()
    same_coefficients(ours, theirs)
    same_least_squares(ours, theirs)
    pipeline = make_pipeline(TableFeatures(), GLM(weight_kind="precision")).fit(X, y, glm__sample_weight=times)
    ours = summary(pipeline, X, y, sample_weight=times)
    theirs = smf.wls("cost ~ age + income + city", people, weights=times).fit()
    same_coefficients(ours, theirs)
    same_least_squares(ours, theirs)


@pytest.mark.parametrize("formula", ["age + income + city", "log(income) + age * city", "age - 1"])
def test_formulas(people: pd.DataFrame, formula: str) -> None:
    pytest.importorskip("formulaic")
    X, y = people[COLUMNS], people["cost"]
    model = LinearRegression(fit_intercept="- 1" not in formula)
    ours = summary(make_pipeline(TableFeatures(formula=formula), model).fit(X, y), X, y)
    theirs = smf.ols(f"cost ~ {formula}".replace("log", "np.log"), people).fit()
    same_least_squares(ours, theirs)
    coefficients = dict(zip(ours.names, ours.coefficients, strict=True))
    for name, value in theirs.params.items():
        assert_allclose(
            coefficients[{"Intercept": "(intercept)"}.get(name, name.replace("np.log", "log"))], value, rtol=1e-6
        )


@pytest.mark.parametrize(
    ("target", "family", "theirs"),
    [
        ("visits", GLM("poisson"), sm.families.Poisson()),
        ("ill", GLM("bernoulli"), sm.families.Binomial()),
        ("claim", GLM("gamma", "log"), sm.families.Gamma(sm.families.links.Log())),
    ],
)
@pytest.mark.filterwarnings("ignore::mercer.errors.CollinearWarning")
def test_figures_of_glms(people: pd.DataFrame, target: str, family: Any, theirs: Any) -> None:
    X, y = people[COLUMNS], people[target]
    table = summary(make_pipeline(TableFeatures(), family).fit(X, y), X, y)
    data = people.assign(ill=people["ill"].astype(int))
    fit = smf.glm(f"{target} ~ age + income + city", data, family=theirs).fit(tol=1e-12)
    for name in fit.params.index:
        row = table.frame().set_index("term").loc[NAMES.get(name, name)]
        assert_allclose([row.coefficient, row.standard_error], [fit.params[name], fit.bse[name]], rtol=1e-5)
    ours = table.criteria
    assert_allclose([ours.deviance, ours.null_deviance], [fit.deviance, fit.null_deviance], rtol=1e-8)
    assert_allclose([ours.dispersion, ours.pearson], [fit.scale, fit.pearson_chi2], rtol=1e-6)
    assert (ours.residual_freedom, ours.model_freedom) == (fit.df_resid, fit.df_model)
    assert np.isnan([table.r2, table.r2_adjusted, table.residual_standard_error]).all()
    text = str(table)
    assert f"Deviance {fit.deviance:.6g} on 115 degrees of freedom, of {fit.null_deviance:.6g} without columns" in text
    if target == "claim":
        f = (fit.null_deviance - fit.deviance) / fit.df_model / fit.scale
        assert_allclose(table.f_statistic, f, rtol=1e-6)
        return
    assert_allclose([ours.aic, ours.bic], [fit.aic, fit.bic_llf], rtol=1e-7)
    assert_allclose(ours.chi2_statistic, 2 * (fit.llf - fit.llnull), rtol=1e-6)
    assert f"All columns against none: χ²(4) = {ours.chi2_statistic:.4g}" in text


def test_residuals(people: pd.DataFrame) -> None:
    X, y = people[["age", "income"]], people["visits"]
    table = summary(GLM("poisson").fit(X, y), X, y)
    theirs = sm.GLM(y, sm.add_constant(X), family=sm.families.Poisson()).fit(tol=1e-12)
    for kind in ("deviance", "pearson", "response"):
        assert_allclose(table.residuals(kind), getattr(theirs, f"resid_{kind}"), rtol=1e-6, atol=1e-8)
    with pytest.raises(InferenceError, match="not 'raw'"):
        table.residuals("raw")
    classes = summary(GLM("categorical").fit(X, people["city"]), X, people["city"])
    with pytest.raises(InferenceError, match="classes have no mean"):
        classes.residuals()


def test_other_transformers_have_their_names(people: pd.DataFrame) -> None:
    X, y = people[["age", "income"]], people["cost"]
    table = summary(make_pipeline(StandardScaler(), LinearRegression()).fit(X, y), X, y)
    theirs = sm.OLS(y, sm.add_constant(StandardScaler().set_output(transform="pandas").fit_transform(X))).fit()
    assert table.names == ("(intercept)", "age", "income")
    assert_allclose(table.coefficients, theirs.params)
    same_least_squares(table, theirs)


@pytest.mark.filterwarnings("ignore::mercer.errors.CollinearWarning")
def test_classes_have_a_coefficient_for_each_column_and_class(people: pd.DataFrame) -> None:
    X, y = people[COLUMNS], pd.qcut(people["cost"], 3, labels=["low", "mid", "top"]).astype(str)
    table = summary(make_pipeline(TableFeatures(), GLM("categorical", reference="low")).fit(X, y), X, y)
    codes = y.map({"low": 0, "mid": 1, "top": 2})
    theirs = smf.mnlogit("codes ~ age + income + city", people.assign(codes=codes)).fit(disp=0, tol=1e-12)
    frame = table.frame().set_index("term")
    for number, label in enumerate(["mid", "top"]):
        for name in theirs.params.index:
            row = frame.loc[f"{label}: {NAMES.get(name, name)}"]
            assert_allclose(row.coefficient, theirs.params[number][name], rtol=1e-4)
            assert_allclose(row.standard_error, theirs.bse[number][name], rtol=1e-4)
    assert_allclose(table.criteria.chi2_statistic, theirs.llr, rtol=1e-6)
    assert table.criteria.model_freedom == theirs.df_model


def test_penalties_and_models_without_a_summary(people: pd.DataFrame) -> None:
    X, y = people[COLUMNS], people["cost"]
    table = summary(make_pipeline(TableFeatures(), Ridge(2.0)).fit(X, y), X, y)
    assert table.posterior
    assert np.isnan([table.f_statistic, table.f_p_value]).all()
    assert {"city[Bonn]", "city[Jena]", "city[Ulm]"} < set(table.names)  # a prior determines all levels
    assert "there are no p-values" in str(table)
    scaled = make_pipeline(TableFeatures(), LogisticRegression()).fit(X, people["ill"])
    posterior = summary(scaled, X, people["ill"])
    deviation = X["age"].std(ddof=0)
    assert_allclose(posterior.coefficients[1], scaled[-1].coef_[0, 0] / deviation)
    with pytest.raises(InferenceError, match="no standard errors after an L1 penalty"):
        summary(make_pipeline(TableFeatures(), Lasso(0.1)).fit(X, y), X, y)
    from sklearn.linear_model import LinearRegression as Other

    with pytest.raises(InferenceError, match="and pipelines that end in one of them, not for LinearRegression"):
        summary(make_pipeline(TableFeatures(output="array"), Other()).fit(X, y), X, y)
