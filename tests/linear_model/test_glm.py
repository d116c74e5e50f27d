"""GLM: laws of any fit, responses of several kinds, and the conventions of estimators."""

from __future__ import annotations

import pickle
import warnings
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone, is_classifier, is_regressor
from sklearn.model_selection import GridSearchCV
from sklearn.utils.estimator_checks import parametrize_with_checks

import mercer
from mercer import GLM
from mercer._errors import NotConvergedWarning
from mercer.data.sources.memory import MemorySource
from mercer.families import L1, L2, Binomial, Gaussian, NegativeBinomial, Tweedie
from tests._ctrl_c import interrupt
from tests.linear_model._responses import COUNTS, FAMILIES, LABELS, X0, N, made, rows_of


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
def test_other_families_follow_the_conventions_too(estimator: Any, check: Any) -> None:
    check(estimator)


# Laws of a fit.


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
def test_a_frequency_is_equivalent_to_equal_rows(family: str) -> None:
    X, y = rows_of(family)
    times = np.random.default_rng(1).integers(0, 4, size=N)
    weighted = made(family).fit(X, y, sample_weight=times)
    repeated = made(family).fit(np.repeat(X, times, axis=0), np.repeat(y, times))
    np.testing.assert_allclose(weighted.coef_, repeated.coef_, rtol=1e-6, atol=1e-9)
    for name in ("deviance_", "null_deviance_", "dispersion_", "df_residual_", "log_likelihood_"):
        np.testing.assert_allclose(getattr(weighted, name), getattr(repeated, name), rtol=1e-6, err_msg=name)


@FAMILIES
def test_units_of_the_columns_change_only_the_coefficients(family: str) -> None:
    X, y = rows_of(family)
    model = made(family).fit(X, y)
    other = made(family).fit(X * [1e6, 1e-6, 1] + [0, 0, 1e5], y)
    np.testing.assert_allclose(other.coef_ * [1e6, 1e-6, 1], model.coef_, rtol=1e-6)
    np.testing.assert_allclose(other.deviance_, model.deviance_, rtol=1e-10)


@FAMILIES
def test_the_number_of_threads_does_not_change_the_result(family: str) -> None:
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
def test_a_penalised_coefficient_counts_by_the_share_that_the_data_determine(family: str) -> None:
    X, y = rows_of(family)
    without, held = made(family).fit(X, y), made(family, penalty=L2(1e12)).fit(X, y)
    assert held.df_residual_ == pytest.approx(N - 1)
    model = made(family, penalty=L2([1e-12, 40.0, 1e12])).fit(X, y)
    assert without.df_residual_ + 1 < model.df_residual_ < without.df_residual_ + 2
    if family == "gaussian":  # the trace of the hat matrix
        penalised = X[:, :2] - X[:, :2].mean(axis=0)
        hat = penalised @ np.linalg.solve(penalised.T @ penalised + np.diag([1e-12, 40.0]), penalised.T)
        assert N - model.df_residual_ - 1 == pytest.approx(np.trace(hat), rel=1e-6)


def test_strengths_of_zero_and_infinity() -> None:
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
def test_every_solver_finds_the_same_optimum(family: str, penalty: Any) -> None:
    X, y = rows_of(family)
    names = ["newton", "lbfgs"] + ["direct"] * (family == "gaussian")
    fits = {name: made(family, penalty=penalty, solver=name, max_iter=1000).fit(X, y) for name in names}
    for name, model in fits.items():
        assert model.plan_.path == f"{name} (requested)"
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


def test_an_l1_penalty_makes_coefficients_of_classes_zero() -> None:
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


def test_an_exposure_is_the_logarithm_of_an_offset() -> None:
    X, y = rows_of("poisson")
    years = np.random.default_rng(0).uniform(0.5, 3, size=N)
    model = GLM("poisson").fit(X, y, exposure=years)
    other = GLM("poisson").fit(X, y, offset=np.log(years))
    np.testing.assert_array_equal(model.coef_, other.coef_)
    np.testing.assert_allclose(model.predict(X, exposure=years), years * model.predict(X))


def test_the_kind_of_estimator_depends_on_the_family() -> None:
    assert is_classifier(GLM("bernoulli"))
    assert is_classifier(GLM("categorical"))
    assert is_regressor(GLM("poisson"))
    assert not hasattr(GLM("poisson"), "predict_proba")
    assert hasattr(GLM("bernoulli"), "predict_proba")
    assert not is_classifier(GLM("no such family"))


# Conventions of estimators.


def test_a_warning_about_an_unfinished_fit_has_cause_and_remedy() -> None:
    with pytest.warns(NotConvergedWarning, match=r"standard errors.*max_iter=10"):
        model = GLM("poisson", max_iter=1).fit(X0, COUNTS)
    assert not model.certificate_.holds


def test_a_warm_start_begins_at_the_last_fit() -> None:
    model = GLM("poisson", warm_start=True).fit(X0, COUNTS)
    steps = model.n_iter_
    assert model.fit(X0, COUNTS).n_iter_ <= 1 < steps
    assert model.fit(X0[:, :2], COUNTS).certificate_.holds  # other columns: a fresh start


@pytest.mark.parametrize("family", ["categorical", "negative_binomial"])
def test_a_warm_start_of_another_response(family: str) -> None:
    X, y = rows_of(family)
    model = made(family, warm_start=True).fit(X, y)
    before = model.coef_.copy()
    np.testing.assert_allclose(model.fit(X, y).coef_, before, rtol=1e-6)


@pytest.mark.parametrize("solver", ["newton", "newton-cg", "lbfgs", "gradient", "proximal"])
@pytest.mark.parametrize("family", ["gamma", "inverse_gaussian"])
def test_a_warm_start_without_finite_means_is_ignored(family: str, solver: str) -> None:
    """The old coefficients give negative means for the new rows, at which no deviance is finite."""
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(100, 2))
    y = rng.gamma(3.0, 1 / (1 + X @ [3.0, 0.0]) / 3)
    model = GLM(family, solver=solver, warm_start=True, max_iter=1000).fit(X, y).fit(-2 * X, y)
    assert model.certificate_.holds
    assert model.deviance_ == pytest.approx(GLM(family).fit(-2 * X, y).deviance_, rel=1e-10)


def test_a_warm_start_from_another_family_may_have_no_loss() -> None:
    X, y = rows_of("gamma")
    model = GLM(warm_start=True).fit(X, -y).set_params(family="gamma").fit(X, y)
    assert model.deviance_ == pytest.approx(GLM("gamma").fit(X, y).deviance_, rel=1e-10)


@pytest.mark.parametrize("times", [1e5, -1e5], ids=["vanish", "overflow"])
def test_a_warm_start_with_means_of_nan_is_ignored(times: float) -> None:
    model = GLM("poisson", warm_start=True).fit(X0, COUNTS).fit(times * X0, COUNTS)
    assert model.certificate_.holds
    assert model.deviance_ == pytest.approx(GLM("poisson").fit(X0, COUNTS).deviance_, rel=1e-10)


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


@pytest.mark.parametrize("penalty", [None, L2(0.1)])
def test_wide_rows_of_long_doubles_are_fitted_in_double_precision(penalty: Any) -> None:
    X, y = np.random.default_rng(0).normal(size=(5, 8)), np.arange(5.0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model, expected = (GLM("gaussian", penalty=penalty).fit(rows, y) for rows in (X.astype(np.longdouble), X))
    np.testing.assert_allclose(model.coef_, expected.coef_, rtol=1e-10)
    assert model.coef_.dtype == np.float64


def test_progress_is_shown_only_if_verbose(capsys: pytest.CaptureFixture[str]) -> None:
    GLM("poisson").fit(X0, COUNTS)
    assert capsys.readouterr().out == ""
    GLM("poisson", verbose=1).fit(X0, COUNTS)
    assert "GLM: " in (shown := capsys.readouterr().out)
    assert "distance to the optimum" in shown


class Watcher:
    """A callback that calls a function after a number of steps."""

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


def test_ctrl_c_keeps_the_best_coefficients_so_far() -> None:
    pytest.importorskip("sklearn.callback", reason="scikit-learn has callbacks from 1.9 on")
    watcher = Watcher(interrupt, after=2)
    model = GLM("poisson").set_callbacks(watcher)
    with pytest.raises(KeyboardInterrupt):
        model.fit(X0, COUNTS)
    assert model.n_iter_ == 2
    assert not model.certificate_.holds
    assert watcher.torn_down
    assert model.score(X0, COUNTS) > 0


def test_ctrl_c_counts_the_coefficients_of_all_classes() -> None:
    pytest.importorskip("sklearn.callback", reason="scikit-learn has callbacks from 1.9 on")
    labels = np.arange(len(X0)) % 4
    expected = GLM("categorical").fit(X0, labels).df_residual_
    model = GLM("categorical").set_callbacks(Watcher(interrupt, after=1))
    with pytest.raises(KeyboardInterrupt):
        model.fit(X0, labels)
    assert model.df_residual_ == expected == len(X0) - 3 * (X0.shape[1] + 1)


class Stopped(MemorySource):
    """Rows whose reader presses Ctrl-C as a pass over them begins, the first pass being 1."""

    passes = 0
    stop_at = 0

    def pieces(self) -> Any:
        self.passes += 1
        if self.passes == self.stop_at:
            raise KeyboardInterrupt
        return super().pieces()


@pytest.mark.parametrize("penalty", [None, L2(0.1)])
def test_ctrl_c_after_the_search_keeps_its_coefficients(penalty: Any) -> None:
    source = Stopped(X0, COUNTS, rows=50)
    whole = GLM("poisson", penalty=penalty).fit(source)
    stopped = Stopped(X0, COUNTS, rows=50)
    stopped.stop_at = source.passes
    model = GLM("poisson", penalty=penalty)
    with pytest.raises(KeyboardInterrupt, match="coefficients are kept"):
        model.fit(stopped)
    np.testing.assert_array_equal(model.coef_, whole.coef_)
    assert model.certificate_.holds
    assert model.score(X0, COUNTS) > 0


def test_a_callback_may_end_the_fit() -> None:
    pytest.importorskip("sklearn.callback", reason="scikit-learn has callbacks from 1.9 on")
    watcher = Watcher(lambda: True, after=2)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = GLM("poisson").set_callbacks(watcher).fit(X0, COUNTS)
    assert (watcher.steps, model.n_iter_) == (2, 2)


def test_a_misspelt_family_is_rejected_in_fit() -> None:
    assert not hasattr(GLM("poison"), "predict_proba")
    assert "poison" in repr(GLM("poison"))


def test_figures_of_tiny_responses_give_no_warnings() -> None:
    model = GLM("gamma", link="log", tol=1.0).fit(np.arange(4.0)[:, None], np.array([1, 2, 3, 1]) * 5e-324)
    assert np.isnan(model.log_likelihood_) or model.log_likelihood_ > 0


def test_a_kernel_model_of_tiny_counts() -> None:
    """The curvature of tiny counts divides the penalty, and is practically 0."""
    model = GLM("poisson", kernel="rbf", penalty=L2(1.0)).fit(np.arange(4.0)[:, None], np.array([1, 2, 0, 1]) * 5e-324)
    assert np.isfinite(model.predict(np.arange(4.0)[:, None])).all()


def test_squares_of_slopes_beyond_float64_are_not_needed() -> None:
    """No RuntimeWarning: one row whose response is the largest number there is."""
    with pytest.warns(NotConvergedWarning):
        model = GLM("poisson", penalty=L1(0.5)).fit([[1.0]], [1.7e308])
    assert np.isfinite(model.coef_).all()


@pytest.mark.parametrize("spread", [5.0, 40.0, 200.0, 700.0])
@pytest.mark.parametrize(("family", "power"), [("poisson", 1.0), ("gamma", 2.0), (Tweedie(1.5), 1.5)], ids=str)
def test_the_optimum_is_found_for_any_offsets(family: Any, power: float, spread: float) -> None:
    """A start at the mean of the offsets was a factor of e²⁰⁰ away from it; a gamma's certificate held out there."""
    rng = np.random.default_rng(0)
    X, offset = rng.normal(size=(200, 2)), spread * rng.choice([-1.0, 1.0], 200)
    y = 1.0 + rng.poisson(np.exp(0.5 + X @ [0.3, -0.2]))
    weight = rng.integers(0, 3, 200).astype(float)
    model = GLM(family, link="log").fit(X, y, offset=offset, sample_weight=weight)
    assert model.certificate_.holds
    assert model.n_iter_ <= 15
    eta = model.intercept_ + X @ model.coef_ + offset
    pull, push = weight * y * np.exp((1 - power) * eta), weight * np.exp((2 - power) * eta)
    design = np.column_stack([np.ones(200), X])
    np.testing.assert_allclose(design.T @ pull, design.T @ push, rtol=1e-6, atol=1e-6 * pull.sum())
