"""GLM: laws that any fit obeys, inputs it must refuse, and what it says about itself."""

from __future__ import annotations

import pickle
import warnings
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone, is_classifier, is_regressor
from sklearn.model_selection import GridSearchCV
from sklearn.utils.estimator_checks import parametrize_with_checks

import mercer
from mercer import GLM, TweedieRegressor
from mercer._errors import (
    CollinearWarning,
    DataError,
    FamilyError,
    LinkError,
    NonFiniteError,
    NotConvergedWarning,
    PenaltyError,
    SeparationError,
    SeparationWarning,
    SupportError,
    UnseenCategoryError,
    UnsuitableSolverError,
)
from mercer.families import L1, L2, Binomial, Gaussian, NegativeBinomial, Tweedie

N = 240
#: family, link, and responses of mean μ = inverse link of η
RESPONSES: dict[str, Any] = {
    "gaussian": lambda rng, eta: eta + 0.5 * rng.normal(size=len(eta)),
    "bernoulli": lambda rng, eta: rng.random(len(eta)) < 1 / (1 + np.exp(-eta)),
    "categorical": lambda rng, eta: np.argmax(np.outer(eta, [1, 0, -1]) + rng.gumbel(size=(len(eta), 3)), axis=1),
    "poisson": lambda rng, eta: rng.poisson(np.exp(eta)),
    "gamma": lambda rng, eta: np.exp(eta) * rng.gamma(2, 0.5, size=len(eta)),
    "inverse_gaussian": lambda rng, eta: rng.wald(np.exp(eta), 3),
    "negative_binomial": lambda rng, eta: rng.poisson(np.exp(eta) * rng.gamma(2, 0.5, size=len(eta))),
}
LINK = dict.fromkeys(RESPONSES, "canonical") | {"gamma": "log", "inverse_gaussian": "log"}
FAMILIES = pytest.mark.parametrize("family", RESPONSES)


def rows_of(family: str, n: int = N, seed: int = 5) -> tuple[Any, Any]:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3)) * [1, 4, 0.2] + [0, 10, -3]
    return X, RESPONSES[family](rng, (X - [0, 10, -3]) @ [0.4, -0.1, 1.0] + 0.3)


def made(family: str, **options: Any) -> GLM:
    return GLM(family, LINK[family], **options)


@pytest.mark.filterwarnings("ignore::UserWarning", "ignore::FutureWarning")
@parametrize_with_checks(
    [
        GLM("categorical", penalty="l2"),  # without, the rows of the checks are separated
        GLM("poisson"),
    ]
)
def test_follows_the_conventions_of_scikit_learn(estimator: Any, check: Any) -> None:
    check(estimator)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::UserWarning", "ignore::FutureWarning")
@parametrize_with_checks(
    [
        GLM("bernoulli"),
        GLM("bernoulli", link="probit", penalty="l2"),
        GLM("gamma", link="log", penalty=L2(0.1)),
    ]
)
def test_other_families_follow_them_too(estimator: Any, check: Any) -> None:
    check(estimator)


# What a fit is.


@FAMILIES
def test_the_certificate_holds(family: str) -> None:
    model = made(family).fit(*rows_of(family))
    assert model.certificate_.holds
    assert model.n_iter_ >= 1
    assert "(" in model.plan_.path  # the solver and the reason for it


@pytest.mark.parametrize("family", ["gaussian", "bernoulli", "poisson"])
def test_residuals_of_a_canonical_link_are_orthogonal_to_the_columns(family: str) -> None:
    X, y = rows_of(family)
    model = made(family).fit(X, y)
    mean = model.predict_proba(X)[:, 1] if family == "bernoulli" else model.predict(X)
    np.testing.assert_allclose(np.column_stack([X, np.ones(N)]).T @ (y - mean), 0.0, atol=1e-5)


@FAMILIES
def test_a_frequency_is_so_many_equal_rows(family: str) -> None:
    X, y = rows_of(family)
    times = np.random.default_rng(1).integers(0, 4, size=N)
    weighted = made(family).fit(X, y, sample_weight=times)
    repeated = made(family).fit(np.repeat(X, times, axis=0), np.repeat(y, times))
    np.testing.assert_allclose(weighted.coef_, repeated.coef_, rtol=1e-6, atol=1e-9)
    for name in ("deviance_", "null_deviance_", "dispersion_", "df_residual_", "log_likelihood_"):
        np.testing.assert_allclose(getattr(weighted, name), getattr(repeated, name), rtol=1e-6, err_msg=name)


@FAMILIES
def test_units_of_the_columns_change_nothing_but_the_coefficients(family: str) -> None:
    X, y = rows_of(family)
    model = made(family).fit(X, y)
    other = made(family).fit(X * [1e6, 1e-6, 1] + [0, 0, 1e5], y)
    np.testing.assert_allclose(other.coef_ * [1e6, 1e-6, 1], model.coef_, rtol=1e-6)
    np.testing.assert_allclose(other.deviance_, model.deviance_, rtol=1e-10)


@FAMILIES
def test_the_number_of_threads_changes_nothing(family: str) -> None:
    X, y = rows_of(family, n=3000)
    with mercer.engine(threads=1):
        alone = made(family).fit(X, y)
    np.testing.assert_allclose(made(family).fit(X, y).coef_, alone.coef_, rtol=1e-10)


@pytest.mark.parametrize("family", ["gaussian", "poisson", "gamma", "bernoulli"])
def test_a_prior_mean_is_an_offset(family: str) -> None:
    X, y = rows_of(family)
    mean = np.array([0.2, 0.1, -0.3])
    model = made(family, penalty=L2(3.0, mean=mean)).fit(X, y)
    other = made(family, penalty=L2(3.0)).fit(X, y, offset=X @ mean)
    np.testing.assert_allclose(model.coef_, other.coef_ + mean, rtol=1e-6)


@pytest.mark.parametrize("family", ["gaussian", "gamma", "poisson"])
def test_a_penalised_coefficient_counts_as_much_as_the_data_have_a_say_in_it(family: str) -> None:
    X, y = rows_of(family)
    without, held = made(family).fit(X, y), made(family, penalty=L2(1e12)).fit(X, y)
    assert held.df_residual_ == pytest.approx(N - 1)
    model = made(family, penalty=L2([1e-12, 40.0, 1e12])).fit(X, y)
    assert without.df_residual_ + 1 < model.df_residual_ < without.df_residual_ + 2
    if family == "gaussian":  # the trace of the hat matrix
        penalised = X[:, :2] - X[:, :2].mean(axis=0)
        hat = penalised @ np.linalg.solve(penalised.T @ penalised + np.diag([1e-12, 40.0]), penalised.T)
        assert N - model.df_residual_ - 1 == pytest.approx(np.trace(hat), rel=1e-6)


def test_a_strength_of_zero_is_no_penalty_and_a_large_one_no_coefficient() -> None:
    X, y = rows_of("poisson")
    model = GLM("poisson", penalty=L2([0.0, 1e12, 0.0])).fit(X, y)
    without = GLM("poisson").fit(X[:, [0, 2]], y)
    np.testing.assert_allclose(model.coef_[[0, 2]], without.coef_, rtol=1e-6)
    assert abs(model.coef_[1]) < 1e-8


def test_ridge_is_the_mode_under_a_normal_prior() -> None:
    """λ = σ²/τ²: the mode of N(y; Xβ, σ²) N(β; 0, τ²) solves (XᵀX/σ² + I/τ²) β = Xᵀy/σ²."""
    X, y = rows_of("gaussian")
    sigma, tau = 0.5, 0.1
    model = GLM(penalty=L2(sigma**2 / tau**2), fit_intercept=False).fit(X, y)
    mode = np.linalg.solve(X.T @ X / sigma**2 + np.eye(3) / tau**2, X.T @ y / sigma**2)
    np.testing.assert_allclose(model.coef_, mode, rtol=1e-10)


@pytest.mark.parametrize("family", ["bernoulli", "poisson"])
def test_an_l2_penalty_is_a_normal_prior(family: str) -> None:
    """No nearby point has a larger posterior density."""
    X, y = rows_of(family)
    model = made(family, penalty=L2(2.0)).fit(X, y)

    def log_posterior(step: Any) -> float:
        eta = X @ (model.coef_ + step[:3]) + model.intercept_ + step[3]
        partition = np.logaddexp(0, eta) if family == "bernoulli" else np.exp(eta)
        return float(np.sum(y * eta - partition) - np.sum(np.square(model.coef_ + step[:3])))  # variance 1/2

    best = log_posterior(np.zeros(4))
    steps = np.random.default_rng(0).normal(scale=1e-3, size=(50, 4))
    assert all(log_posterior(step) < best for step in steps)


@pytest.mark.parametrize(("family", "penalty"), [("gaussian", L2(2.0)), ("poisson", None), ("bernoulli", L2(0.5))])
def test_every_solver_finds_the_same(family: str, penalty: Any) -> None:
    X, y = rows_of(family)
    names = ["newton", "lbfgs"] + ["direct"] * (family == "gaussian")
    fits = {name: made(family, penalty=penalty, solver=name, max_iter=1000).fit(X, y) for name in names}
    for name, model in fits.items():
        assert model.plan_.path == f"{name} (asked for)"
        np.testing.assert_allclose(model.coef_, fits["newton"].coef_, rtol=1e-6)


# Responses of several kinds.


def test_labels_may_be_of_any_type() -> None:
    X, y = rows_of("bernoulli")
    model = GLM("bernoulli").fit(X, np.where(y, "yes", "no"))
    assert model.classes_.tolist() == ["no", "yes"]
    assert set(model.predict(X)) == {"no", "yes"}
    np.testing.assert_array_equal(model.coef_, GLM("bernoulli").fit(X, y).coef_)
    proba = model.predict_proba(X)
    np.testing.assert_allclose(proba.sum(axis=1), 1.0)
    assert model.score(X, np.where(y, "yes", "no")) == np.mean((proba[:, 1] > 0.5) == y)


def test_a_reference_class_leaves_the_differences_of_the_symmetric_fit() -> None:
    X, y = rows_of("categorical")
    labels = np.array(["a", "b", "c"])[y]
    symmetric, reference = GLM("categorical").fit(X, labels), GLM("categorical", reference="b").fit(X, labels)
    np.testing.assert_allclose(symmetric.coef_.sum(axis=0), 0.0, atol=1e-8)
    np.testing.assert_allclose(reference.coef_, symmetric.coef_ - symmetric.coef_[1], atol=1e-7)
    np.testing.assert_allclose(reference.intercept_, symmetric.intercept_ - symmetric.intercept_[1], atol=1e-6)
    np.testing.assert_allclose(reference.predict_proba(X), symmetric.predict_proba(X), atol=1e-8)
    np.testing.assert_array_equal(reference.coef_[1], 0.0)


def test_absolute_values_make_coefficients_of_classes_zero() -> None:
    X, y = rows_of("categorical")
    X = np.column_stack([X, np.random.default_rng(0).normal(size=(N, 5))])
    model = GLM("categorical", penalty=L1(8.0), max_iter=1000).fit(X, y)
    assert model.certificate_.holds
    assert (model.coef_[:, 3:] == 0).mean() > 0.5
    # KKT: the slope of the loss is the strength where a coefficient is not 0, and no more elsewhere
    slope = X.T @ (model.predict_proba(X) - np.eye(3)[y])
    np.testing.assert_allclose(slope.T[model.coef_ != 0], -8.0 * np.sign(model.coef_[model.coef_ != 0]), atol=1e-4)
    assert np.abs(slope).max() < 8.0 + 1e-4


def test_two_categories_are_bernoulli() -> None:
    X, y = rows_of("bernoulli")
    two, one = GLM("categorical", reference=False).fit(X, y), GLM("bernoulli").fit(X, y)
    np.testing.assert_allclose(two.coef_[1], one.coef_, rtol=1e-6)
    np.testing.assert_allclose(two.log_likelihood_, one.log_likelihood_, rtol=1e-10)
    np.testing.assert_allclose(two.null_deviance_, one.null_deviance_, rtol=1e-10)


def test_binomial_counts_are_repeated_trials() -> None:
    X, _ = rows_of("bernoulli")
    y = np.random.default_rng(0).binomial(5, 1 / (1 + np.exp(-X[:, 0])))
    counts = GLM(Binomial(5)).fit(X, y)
    trials = GLM("bernoulli").fit(
        np.repeat(X, 2, axis=0), np.tile([1, 0], N), sample_weight=np.column_stack([y, 5 - y]).ravel()
    )
    np.testing.assert_allclose(counts.coef_, trials.coef_, rtol=1e-6)
    assert counts.predict(X).max() > 1  # a number of successes


def test_counts_that_do_not_spread_are_a_poisson_for_the_negative_binomial() -> None:
    X, y = rows_of("poisson")
    y = np.minimum(y, 2)
    model, poisson = GLM("negative_binomial").fit(X, y), GLM("poisson").fit(X, y)
    assert model.family_.r > 1e9
    np.testing.assert_allclose(model.coef_, poisson.coef_, rtol=1e-6)


def test_an_exposure_is_the_logarithm_of_an_offset() -> None:
    X, y = rows_of("poisson")
    years = np.random.default_rng(0).uniform(0.5, 3, size=N)
    model = GLM("poisson").fit(X, y, exposure=years)
    other = GLM("poisson").fit(X, y, offset=np.log(years))
    np.testing.assert_array_equal(model.coef_, other.coef_)
    np.testing.assert_allclose(model.predict(X, exposure=years), years * model.predict(X))


@pytest.mark.parametrize(
    "family", ["gaussian", "bernoulli", "poisson", "gamma", "inverse_gaussian", "negative_binomial"]
)
def test_the_fitted_distribution_is_that_of_the_family(family: str) -> None:
    X, y = rows_of(family)
    model = made(family).fit(X, y)
    rows = model.predict_distribution(X)
    mean = model.predict_proba(X)[:, 1] if family == "bernoulli" else model.predict(X)
    np.testing.assert_allclose(rows.mean, mean)
    if family != "gaussian":  # whose likelihood is at the maximum likelihood variance, not the unbiased one
        np.testing.assert_allclose(rows.log_density(y).sum(), model.log_likelihood_, rtol=1e-9)
    np.testing.assert_allclose(rows.variance, model.dispersion_ * model.family_.unit_variance(mean), rtol=1e-9)


@pytest.mark.parametrize("power", [-1.0, 2.5])
def test_a_family_without_a_density_has_a_fit_and_no_likelihood(power: float) -> None:
    X, y = rows_of("gamma")
    model = GLM(Tweedie(power), link="log").fit(X, y)
    other = TweedieRegressor(power=power, alpha=0, link="log", tol=1e-12).fit(X, y)
    np.testing.assert_allclose(model.coef_, other.coef_, rtol=1e-6)
    assert np.isnan(model.log_likelihood_)
    np.testing.assert_allclose(model.predict_distribution(X).mean, other.predict(X), rtol=1e-6)


def test_classes_are_drawn_as_probable_as_they_are() -> None:
    X, y = rows_of("categorical")
    model = GLM("categorical").fit(X, y)
    draws = model.predict_distribution(X[:1]).sample(20_000, random_state=0)
    np.testing.assert_allclose(np.bincount(draws[:, 0]) / 20_000, model.predict_proba(X[:1])[0], atol=0.02)


@pytest.mark.parametrize("family", ["gaussian", "poisson", "gamma"])
def test_the_score_is_the_share_of_explained_deviance(family: str) -> None:
    X, y = rows_of(family)
    model = made(family).fit(X, y)
    assert model.score(X, y) == pytest.approx(1 - model.deviance_ / model.null_deviance_, rel=1e-9)


def test_what_kind_of_estimator_it_is_depends_on_the_family() -> None:
    assert is_classifier(GLM("bernoulli"))
    assert is_classifier(GLM("categorical"))
    assert is_regressor(GLM("poisson"))
    assert not hasattr(GLM("poisson"), "predict_proba")
    assert hasattr(GLM("bernoulli"), "predict_proba")
    assert not is_classifier(GLM("no such family"))


# Containers.


def containers() -> dict[str, Any]:
    X, _ = rows_of("poisson")
    read_only = X.copy()
    read_only.flags.writeable = False
    return {
        "Fortran order": np.asfortranarray(X),
        "strided": np.repeat(X, 2, axis=0)[::2],
        "read-only": read_only,
        "CSR": sp.csr_array(X),
        "CSC": sp.csc_matrix(X),
        "list": X.tolist(),
    }


@pytest.mark.parametrize("container", containers())
def test_any_container_gives_the_same_fit(container: str) -> None:
    X, y = rows_of("poisson")
    expected = GLM("poisson").fit(X, y)
    model = GLM("poisson").fit(containers()[container], y)
    np.testing.assert_allclose(model.coef_, expected.coef_, rtol=1e-8)
    np.testing.assert_allclose(model.predict(containers()[container]), expected.predict(X), rtol=1e-8)


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_frames_keep_their_names_and_categories(library: str) -> None:
    frames = pytest.importorskip(library, reason="frames are optional")
    rng = np.random.default_rng(0)
    x, city = rng.normal(size=N), rng.choice(["Bonn", "Köln", "Ulm"], size=N)
    y = rng.poisson(np.exp(0.3 * x + (city == "Ulm")))
    frame = frames.DataFrame({"x": x, "city": city})
    model = GLM("poisson").fit(frame, y)
    assert model.coefficient_names_ == ["x", "city[Köln]", "city[Ulm]"]
    indicators = np.column_stack([x, city == "Köln", city == "Ulm"]).astype(float)
    expected = GLM("poisson").fit(indicators, y)
    np.testing.assert_allclose(model.coef_, expected.coef_, rtol=1e-7)
    np.testing.assert_allclose(model.predict(frame), expected.predict(indicators), rtol=1e-7)
    with pytest.raises(UnseenCategoryError, match="'Hamm'"):
        model.predict(frames.DataFrame({"x": [0.0], "city": ["Hamm"]}))


def test_with_a_penalty_every_level_has_a_coefficient() -> None:
    pd = pytest.importorskip("pandas", reason="frames are optional")
    rng = np.random.default_rng(0)
    city = rng.choice(["Bonn", "Köln", "Ulm"], size=N)
    y = rng.poisson(1 + (city == "Ulm"))
    model = GLM("poisson", penalty=L2(1.0)).fit(pd.DataFrame({"city": city}), y)
    assert model.coefficient_names_ == ["city[Bonn]", "city[Köln]", "city[Ulm]"]
    assert model.coef_.sum() == pytest.approx(0.0, abs=1e-6)  # the prior does not care which one is left out


def test_float32_loses_nothing_but_the_digits_of_the_data() -> None:
    X, y = rows_of("poisson")
    narrow = X.astype(np.float32)
    wide = GLM("poisson").fit(narrow.astype(float), y)
    np.testing.assert_allclose(GLM("poisson").fit(narrow, y).coef_, wide.coef_, rtol=1e-9)


@pytest.mark.parametrize("scale", [1e150, 1e-150])
@FAMILIES
def test_columns_of_any_size(family: str, scale: float) -> None:
    X, y = rows_of(family)
    model, expected = made(family).fit(X * [scale, 1, 1], y), made(family).fit(X, y)
    np.testing.assert_allclose(model.coef_ * [scale, 1, 1], expected.coef_, rtol=1e-6)


@pytest.mark.parametrize("family", ["gaussian", "bernoulli", "poisson", "gamma"])
def test_columns_far_from_zero(family: str) -> None:
    X, y = rows_of(family)
    model, expected = made(family).fit(X + 1e8, y), made(family).fit(X, y)
    np.testing.assert_allclose(model.coef_, expected.coef_, rtol=1e-6)
    # what is lost is lost when 1e8 is added
    np.testing.assert_allclose(model.predict_linear(X + 1e8), expected.predict_linear(X), atol=1e-6)


# What cannot be fitted.


def _with(values: Any, value: Any) -> Any:
    return np.r_[value, np.asarray(values, dtype=float)[1:]]


X0, COUNTS = rows_of("poisson")
AMOUNTS, LABELS = rows_of("gamma")[1], rows_of("bernoulli")[1]
HOLE = np.where(np.arange(N)[:, None] * [1, 1, 0] == 7, np.nan, X0)
REFUSED: dict[str, tuple[Any, Any, Any, dict[str, Any], type[Exception], str]] = {
    "negative count": (GLM("poisson"), X0, _with(COUNTS, -1), {}, SupportError, "-1 in row 0"),
    "half a label": (GLM("bernoulli"), X0, _with(LABELS, 0.5), {}, DataError, r"not whole is 0\.5"),
    "amount of 0": (GLM("gamma"), X0, _with(AMOUNTS, 0), {}, SupportError, "0 in row 0"),
    "NaN in y": (GLM("gamma"), X0, _with(AMOUNTS, np.nan), {}, NonFiniteError, "row 0"),
    "text in y": (GLM("poisson"), X0, ["3"] * N, {}, DataError, "'3'.*bernoulli"),
    "NaN in X": (GLM("poisson"), HOLE, COUNTS, {}, NonFiniteError, "'x0'.*row 7"),
    "NaN in X, least squares": (GLM(), HOLE, COUNTS, {}, NonFiniteError, "'x0'.*row 7"),
    "infinity in X": (GLM("poisson"), np.nan_to_num(HOLE, nan=np.inf), COUNTS, {}, NonFiniteError, "'x0' is inf"),
    "no weight": (GLM("poisson"), X0, COUNTS, {"sample_weight": np.zeros(N)}, DataError, "above 0"),
    "negative weight": (GLM("poisson"), X0, COUNTS, {"sample_weight": _with(np.ones(N), -1)}, DataError, "Row 0"),
    "one class": (GLM("bernoulli"), X0, np.ones(N), {}, DataError, "one class"),
    "one class with weight": (GLM("bernoulli"), X0, LABELS, {"sample_weight": LABELS * 1.0}, DataError, "one class"),
    "three classes": (GLM("bernoulli"), X0, np.arange(N) % 3, {}, SupportError, "categorical"),
    "short offset": (GLM("poisson"), X0, COUNTS, {"offset": np.zeros(3)}, DataError, r"\(3,\).*240 rows"),
    "NaN in offset": (GLM("poisson"), X0, COUNTS, {"offset": np.full(N, np.nan)}, NonFiniteError, "offset is nan"),
    "exposure without log": (GLM(), X0, COUNTS, {"exposure": np.ones(N)}, DataError, "link='log'"),
    "no exposure": (GLM("poisson"), X0, COUNTS, {"exposure": np.zeros(N)}, DataError, "above 0"),
    "negative penalty": (GLM("poisson", penalty=L2(-1)), X0, COUNTS, {}, PenaltyError, "-1"),
    "too many strengths": (GLM("poisson", penalty=L2(np.ones(5))), X0, COUNTS, {}, PenaltyError, "3 coefficients"),
    "unknown penalty": (GLM("poisson", penalty="l3"), X0, COUNTS, {}, PenaltyError, "'l3'"),
    "unknown family": (GLM("poison"), X0, COUNTS, {}, FamilyError, "'poison'. Did you mean 'poisson'"),
    "no family of a response": (GLM("beta"), X0, COUNTS, {}, FamilyError, "does not describe a response"),
    "unknown link": (GLM("poisson", link="lgo"), X0, COUNTS, {}, LinkError, "'lgo'"),
    "link of classes": (GLM("categorical", link="log"), X0, COUNTS, {}, LinkError, "softmax"),
    "offset of classes": (GLM("categorical"), X0, COUNTS, {"offset": np.ones(N)}, DataError, "each class"),
    "unknown reference": (GLM("categorical", reference=-7), X0, COUNTS, {}, DataError, "-7"),
    "no closed form": (GLM("poisson", solver="direct"), X0, COUNTS, {}, UnsuitableSolverError, "auto"),
    "smooth solver for L1": (
        GLM("poisson", penalty="l1", solver="newton"), X0, COUNTS, {}, UnsuitableSolverError, "auto"
    ),
    "absolute values to a reference": (
        GLM("categorical", penalty="l1", reference=0), X0, COUNTS, {}, UnsuitableSolverError, "L2"
    ),
    "no y": (GLM("poisson"), X0, None, {}, DataError, "requires y"),
}  # fmt: skip


@pytest.mark.parametrize("what", REFUSED)
def test_what_cannot_be_fitted_is_refused_by_name(what: str) -> None:
    model, X, y, more, error, message = REFUSED[what]
    with pytest.raises(error, match=message):
        clone(model).fit(X, y, **more)


def test_a_failed_fit_leaves_the_old_model() -> None:
    model = GLM("poisson").fit(X0, COUNTS)
    before = model.coef_.copy()
    with pytest.raises(SupportError):
        model.fit(X0[:, :2], _with(COUNTS, -1))
    np.testing.assert_array_equal(model.coef_, before)
    assert model.n_features_in_ == 3


def test_new_rows_must_be_like_those_of_the_fit() -> None:
    model = GLM("poisson").fit(X0, COUNTS)
    with pytest.raises(DataError, match="2 features"):
        model.predict(X0[:, :2])
    with pytest.raises(NonFiniteError, match="'x0'"):
        model.predict(HOLE)


def test_no_coefficients_give_every_row_a_mean() -> None:
    with pytest.raises(DataError, match="link='log'"):
        GLM("gamma", fit_intercept=False).fit([[1.0], [-1.0], [2.0]], [1.0, 2.0, 3.0])


# What is said about the data.


@FAMILIES
def test_collinear_columns_are_named_and_share_the_smallest_coefficients(family: str) -> None:
    X, y = rows_of(family)
    expected = made(family).fit(X, y)
    with pytest.warns(CollinearWarning, match="'x0', 'x3'"):
        model = made(family).fit(np.column_stack([X, X[:, 0]]), y)
    assert model.diagnosis_.codes[0] == "collinear"
    np.testing.assert_allclose(model.coef_[..., 0], expected.coef_[..., 0] / 2, rtol=1e-6)
    np.testing.assert_allclose(model.coef_[..., 3], expected.coef_[..., 0] / 2, rtol=1e-6)
    np.testing.assert_allclose(model.df_residual_, expected.df_residual_)
    np.testing.assert_allclose(model.deviance_, expected.deviance_, rtol=1e-9)


@FAMILIES
def test_a_constant_column_is_named_and_has_no_effect(family: str) -> None:
    X, y = rows_of(family)
    with pytest.warns(CollinearWarning, match="no variation in 'x3'"):
        model = made(family).fit(np.column_stack([X, np.full(N, 7.0)]), y)
    assert model.diagnosis_.codes == ("constant",)
    np.testing.assert_allclose(model.coef_[..., 3], 0.0, atol=1e-12)
    np.testing.assert_allclose(model.coef_[..., :3], made(family).fit(X, y).coef_, rtol=1e-6)


def test_a_level_without_rows_in_a_sample_is_not_taken_for_a_dependence() -> None:
    pd = pytest.importorskip("pandas", reason="frames are optional")
    rng = np.random.default_rng(0)
    city = np.where(np.arange(5000) == 17, "rare", rng.choice(["a", "b"], size=5000))
    model = GLM("poisson").fit(pd.DataFrame({"city": city}), rng.poisson(2.0, size=5000) + 1)
    assert not model.diagnosis_


@pytest.mark.parametrize("family", ["gaussian", "gamma"])
def test_fewer_rows_than_columns_have_the_smallest_coefficients_that_fit(family: str) -> None:
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(6, 15)), rng.uniform(0.5, 2, size=6)
    with pytest.warns(CollinearWarning):
        model = made(family).fit(X, y)
    np.testing.assert_allclose(model.predict(X), y, rtol=1e-6)
    eta = y if family == "gaussian" else np.log(y)
    centred = X - X.mean(axis=0)
    np.testing.assert_allclose(model.coef_, np.linalg.pinv(centred) @ (eta - eta.mean()), rtol=1e-5, atol=1e-8)
    assert np.isnan(model.dispersion_)
    with pytest.raises(DataError, match="as many coefficients as rows"):
        model.predict_distribution(X)


def test_counts_that_spread_too_far_are_reported() -> None:
    spread, plain = rows_of("negative_binomial", n=2000), rows_of("poisson", n=2000)
    (finding,) = GLM("poisson").fit(*spread).diagnosis_
    assert finding.code == "overdispersion"
    assert "negative_binomial" in finding.remedy
    assert not GLM("poisson").fit(*plain).diagnosis_
    assert not GLM("negative_binomial").fit(*spread).diagnosis_


def test_the_test_for_overdispersion_keeps_its_level() -> None:
    found = [bool(GLM("poisson").fit(*rows_of("poisson", n=100, seed=seed)).diagnosis_) for seed in range(200)]
    assert sum(found) <= 3


def test_separated_labels_are_the_users_choice() -> None:
    X, _ = rows_of("bernoulli")
    y = X[:, 0] > 0
    with pytest.warns(SeparationWarning, match=r"x0 → \+∞"):
        model = GLM("bernoulli").fit(X, y)
    assert model.diagnosis_.codes == ("separation",)
    with pytest.raises(SeparationError, match="x0"):
        GLM("bernoulli", on_separation="error").fit(X, y)
    for remedy in ("firth", "ridge"):
        model = GLM("bernoulli", on_separation=remedy).fit(X, y)
        assert model.diagnosis_.codes == ("separation",)
        assert model.certificate_.holds
        assert np.abs(model.coef_).max() < 100


def test_an_unfinished_fit_says_what_failed_and_what_to_do() -> None:
    with pytest.warns(NotConvergedWarning, match=r"standard errors.*max_iter=10"):
        model = GLM("poisson", max_iter=1).fit(X0, COUNTS)
    assert not model.certificate_.holds


# Life of an estimator.


def test_a_warm_start_begins_at_the_last_fit() -> None:
    model = GLM("poisson", warm_start=True).fit(X0, COUNTS)
    steps = model.n_iter_
    assert model.fit(X0, COUNTS).n_iter_ <= 1 < steps
    assert model.fit(X0[:, :2], COUNTS).certificate_.holds  # other columns: a fresh start


@pytest.mark.parametrize("family", ["categorical", "negative_binomial"])
def test_a_warm_start_of_other_kinds(family: str) -> None:
    X, y = rows_of(family)
    model = made(family, warm_start=True).fit(X, y)
    before = model.coef_.copy()
    np.testing.assert_allclose(model.fit(X, y).coef_, before, rtol=1e-6)


def test_a_model_can_be_cloned_pickled_and_searched_over() -> None:
    model = GLM(Tweedie(1.5), "log", L2(0.5)).fit(*rows_of("gamma"))
    assert clone(model).get_params()["penalty"] == L2(0.5)
    loaded = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(loaded.predict(X0), model.predict(X0))
    search = GridSearchCV(GLM("poisson"), {"penalty": [None, L2(1.0), L2(100.0)]}).fit(X0, COUNTS)
    assert search.best_score_ > 0


def test_a_known_dispersion_stays_known() -> None:
    X, y = rows_of("gaussian")
    model = GLM(Gaussian(variance=2.0), link="identity").fit(X, y)
    assert model.dispersion_ == 2.0
    np.testing.assert_allclose(model.coef_, GLM().fit(X, y).coef_, rtol=1e-8)
    assert GLM(NegativeBinomial(3.0), "log").fit(*rows_of("poisson")).family_.r == 3.0


def test_another_family_makes_another_kind_of_model() -> None:
    model = GLM("bernoulli").fit(X0, LABELS).set_params(family="poisson").fit(X0, COUNTS)
    assert not hasattr(model, "classes_")
    assert model.predict(X0).dtype == float


def test_progress_is_shown_only_when_asked_for(capsys: pytest.CaptureFixture[str]) -> None:
    GLM("poisson").fit(X0, COUNTS)
    assert capsys.readouterr().out == ""
    GLM("poisson", verbose=1).fit(X0, COUNTS)
    assert "GLM: " in (shown := capsys.readouterr().out)
    assert "distance to the optimum" in shown


class Watcher:
    """A callback that does something after so many steps."""

    def __init__(self, act: Any, after: int) -> None:
        self.act, self.after, self.steps, self.torn_down = act, after, 0, False

    def setup(self, estimator: Any, context: Any) -> None: ...

    def teardown(self, estimator: Any, context: Any) -> None:
        self.torn_down = True

    def on_fit_task_begin(self, estimator: Any, context: Any) -> None: ...

    def on_fit_task_end(self, estimator: Any, context: Any) -> bool:
        if context.task_name != "step":
            return False
        self.steps += 1
        return bool(self.steps == self.after and self.act())


def _interrupt() -> None:
    raise KeyboardInterrupt


def test_ctrl_c_keeps_the_best_coefficients_so_far() -> None:
    pytest.importorskip("sklearn.callback", reason="scikit-learn has callbacks from 1.9 on")
    watcher = Watcher(_interrupt, after=2)
    model = GLM("poisson").set_callbacks(watcher)
    with pytest.raises(KeyboardInterrupt):
        model.fit(X0, COUNTS)
    assert model.n_iter_ == 2
    assert not model.certificate_.holds
    assert watcher.torn_down
    assert model.score(X0, COUNTS) > 0


def test_a_callback_may_end_the_fit() -> None:
    pytest.importorskip("sklearn.callback", reason="scikit-learn has callbacks from 1.9 on")
    watcher = Watcher(lambda: True, after=2)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = GLM("poisson").set_callbacks(watcher).fit(X0, COUNTS)
    assert (watcher.steps, model.n_iter_) == (2, 2)


def test_a_misspelt_family_is_for_fit_to_complain_about() -> None:
    assert not hasattr(GLM("poison"), "predict_proba")
    assert "poison" in repr(GLM("poison"))


LABELLED = [("bernoulli", link, None) for link in ("canonical", "probit", "cloglog", "cauchit")]
LABELLED += [("categorical", "canonical", reference) for reference in (None, 1)]


@pytest.mark.parametrize(("family", "link", "reference"), LABELLED)
def test_log_probabilities_are_those_of_the_probabilities(family: str, link: str, reference: Any) -> None:
    model = GLM(family, link, reference=reference).fit(X0, LABELS if family == "bernoulli" else np.arange(N) % 3)
    np.testing.assert_allclose(np.exp(model.predict_log_proba(X0)), model.predict_proba(X0), rtol=1e-12)


@pytest.mark.parametrize("family", ["bernoulli", "categorical"])
def test_log_probabilities_do_not_run_out_of_numbers(family: str) -> None:
    model = GLM(family).fit(X0, LABELS)
    far = 1e6 * X0[:1]
    eta = model.predict_linear(far)
    odds = eta if eta.ndim == 1 else eta[:, 1] - eta[:, 0]
    assert np.abs(odds) > 2000
    log_p = model.predict_log_proba(far)
    np.testing.assert_allclose(log_p[:, 1] - log_p[:, 0], odds, rtol=1e-12)
    assert log_p.max() == 0


def test_only_labels_have_log_probabilities() -> None:
    assert not hasattr(GLM("poisson"), "predict_log_proba")


def test_counts_that_spread_no_more_than_a_poissons_need_no_negative_binomial() -> None:
    X = np.linspace(0, 1, 30)[:, None]
    even = np.round(np.exp(1 + X[:, 0]))
    diagnosis = GLM("negative_binomial").fit(X, even).diagnosis_
    assert diagnosis.codes == ("no overdispersion",)
    assert 'family="poisson"' in str(diagnosis)
    assert not GLM("negative_binomial").fit(X, np.where(np.arange(30) % 3, 0, 9 * even)).diagnosis_
    assert not GLM(NegativeBinomial(2.0)).fit(X, even).diagnosis_
