"""GLM with a kernel: the model of the kernel's features where these are known, and errors."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.datasets import make_circles
from sklearn.model_selection import GridSearchCV

import mercer
from mercer import GLM
from mercer._errors import (
    DataError,
    FitInterrupted,
    InferenceError,
    KernelError,
    KernelShapeError,
    NonFiniteError,
    NoRepresenterError,
    NotConvergedWarning,
    NotPositiveDefiniteError,
    PenaltyError,
    SupportError,
    UnsuitableSolverError,
)
from mercer.families import L1, L2, ElasticNet, NegativeBinomial, Tweedie
from mercer.kernels import RBF, Linear, Polynomial, Sigmoid, Spectrum
from mercer.optim.span import newton
from tests._ctrl_c import interrupted_at
from tests.linear_model._responses import RESPONSES

#: family, link, and how responses are drawn
CASES: dict[str, tuple[Any, str, Any]] = {
    "gaussian": ("gaussian", "canonical", lambda rng, eta: eta + rng.normal(size=len(eta))),
    "gaussian log": ("gaussian", "log", lambda rng, eta: np.exp(eta) + 0.1 * rng.normal(size=len(eta))),
    "logit": ("bernoulli", "canonical", RESPONSES["bernoulli"]),
    "probit": ("bernoulli", "probit", lambda rng, eta: rng.normal(size=len(eta)) < eta),
    "cloglog": ("bernoulli", "cloglog", lambda rng, eta: rng.random(len(eta)) < 1 - np.exp(-np.exp(eta))),
    "softmax": ("categorical", "canonical", RESPONSES["categorical"]),
    "poisson": ("poisson", "canonical", RESPONSES["poisson"]),
    "gamma": ("gamma", "log", RESPONSES["gamma"]),
    "inverse gaussian": ("inverse_gaussian", "log", RESPONSES["inverse_gaussian"]),
    "tweedie": (Tweedie(1.5), "log", lambda rng, eta: rng.poisson(np.exp(eta)) * rng.gamma(2, 0.5, size=len(eta))),
    "negative binomial": ("negative_binomial", "canonical", RESPONSES["negative_binomial"]),
    "known r": (NegativeBinomial(2.0), "log", RESPONSES["negative_binomial"]),
}
EACH = pytest.mark.parametrize("case", CASES)


def rows_of(case: str, n: int, d: int, seed: int = 1) -> tuple[Any, Any]:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    return X, CASES[case][2](rng, X[:, :3] @ [0.5, -0.4, 0.3] + 0.2)


def made(case: str, **options: Any) -> GLM:
    return GLM(*CASES[case][:2], **options)


@EACH
@pytest.mark.parametrize(("n", "d"), [(120, 3), (40, 90)])
@pytest.mark.parametrize("intercept", [True, False])
def test_on_a_linear_kernel_it_agrees_with_the_linear_model(case: str, n: int, d: int, intercept: bool) -> None:
    X, y = rows_of(case, n, d)
    options = {"penalty": L2(2.0), "fit_intercept": intercept}
    with_kernel, linear = made(case, kernel=Linear(), **options).fit(X, y), made(case, **options).fit(X, y)
    new = np.random.default_rng(2).normal(size=(20, d))
    np.testing.assert_allclose(with_kernel.predict_linear(new), linear.predict_linear(new), rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(with_kernel.deviance_, linear.deviance_, rtol=1e-7)
    np.testing.assert_allclose(with_kernel.null_deviance_, linear.null_deviance_, rtol=1e-10)
    np.testing.assert_allclose(with_kernel.log_likelihood_, linear.log_likelihood_, rtol=1e-6)
    assert with_kernel.certificate_.holds
    if case != "softmax":
        np.testing.assert_allclose(with_kernel.df_residual_, linear.df_residual_, rtol=1e-5)
        np.testing.assert_allclose(with_kernel.dispersion_, linear.dispersion_, rtol=1e-5)


@EACH
def test_on_a_polynomial_kernel_it_agrees_with_the_model_on_its_features(case: str) -> None:
    """The constant among the features is one more intercept, which the free one makes useless."""
    X, y = rows_of(case, 60, 3)
    kernel = Polynomial(degree=2, gamma=0.5, constant=1.0)
    features = kernel.feature_map(3)
    with_kernel = made(case, kernel=kernel, penalty=L2(0.5)).fit(X, y)
    explicit = made(case, penalty=L2(0.5)).fit(features(X), y)
    new = np.random.default_rng(2).normal(size=(20, 3))
    np.testing.assert_allclose(
        with_kernel.predict_linear(new), explicit.predict_linear(features(new)), rtol=1e-6, atol=1e-6
    )


@EACH
@pytest.mark.parametrize("solver", ["newton", "newton-cg"])
def test_the_coefficients_minimize_the_objective(case: str, solver: str) -> None:
    """The gradient of Σ ½ deviance + ½ λ αᵀKα by differences, in α and in the intercept."""
    X, y = rows_of(case, 50, 3)
    kernel, strength = RBF(gamma=0.3), 0.7
    model = made(case, kernel=kernel, penalty=L2(strength), solver=solver).fit(X, y)
    assert model.certificate_.holds
    K, rng, kind = kernel(X), np.random.default_rng(0), model._kind
    codes = np.searchsorted(model.classes_, y) if hasattr(model, "classes_") else np.asarray(y, dtype=float)
    A = model.dual_coef_.reshape(50, -1)

    def objective(alpha: Any, b: Any) -> float:
        eta = K @ alpha + b
        loss = kind.response.loss(codes, eta if kind.response.__class__.__name__ == "SoftmaxResponse" else eta[:, 0])
        return float(loss) + 0.5 * strength * np.vdot(alpha, K @ alpha)

    b = np.atleast_1d(model.intercept_)
    best = objective(A, b)
    for _ in range(10):
        step, shift = rng.normal(size=A.shape), rng.normal(size=b.shape)
        for size in (1e-3, -1e-3):
            assert objective(A + size * step, b + size * shift) > best
        slope = (objective(A + 1e-5 * step, b + 1e-5 * shift) - objective(A - 1e-5 * step, b - 1e-5 * shift)) / 2e-5
        assert abs(slope) < 1e-4


@EACH
def test_weights_are_equivalent_to_repetitions(case: str) -> None:
    X, y = rows_of(case, 40, 3)
    weight = np.random.default_rng(3).integers(0, 4, size=40)
    options = {"kernel": RBF(gamma=0.5), "penalty": "l2"}
    weighted = made(case, **options).fit(X, y, sample_weight=weight)
    repeated = made(case, **options).fit(np.repeat(X, weight, axis=0), np.repeat(y, weight))
    np.testing.assert_allclose(weighted.predict_linear(X), repeated.predict_linear(X), rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(weighted.deviance_, repeated.deviance_, rtol=1e-7)
    assert not weighted.dual_coef_[weight == 0].any()


@pytest.mark.parametrize("case", ["gaussian", "logit", "poisson", "gamma"])
def test_offsets_are_added_and_not_learnt(case: str) -> None:
    X, y = rows_of(case, 80, 3)
    offset = np.random.default_rng(4).normal(size=80)
    options = {"penalty": L2(1.0)}
    with_kernel = made(case, kernel=Linear(), **options).fit(X, y, offset=offset)
    linear = made(case, **options).fit(X, y, offset=offset)
    np.testing.assert_allclose(with_kernel.predict(X, offset=offset), linear.predict(X, offset=offset), rtol=1e-6)
    np.testing.assert_allclose(with_kernel.null_deviance_, linear.null_deviance_, rtol=1e-7)


def test_exposures_multiply_means() -> None:
    X, y = rows_of("poisson", 80, 3)
    exposure = np.random.default_rng(4).uniform(1, 3, size=80)
    with_kernel = GLM("poisson", penalty="l2", kernel=Linear()).fit(X, y, exposure=exposure)
    linear = GLM("poisson", penalty="l2").fit(X, y, exposure=exposure)
    np.testing.assert_allclose(
        with_kernel.predict(X, exposure=exposure), linear.predict(X, exposure=exposure), rtol=1e-6
    )


def test_a_reference_class_has_no_function() -> None:
    X, y = rows_of("softmax", 90, 3)
    options = {"penalty": "l2", "reference": 1}
    with_kernel = GLM("categorical", kernel=Linear(), **options).fit(X, y)
    linear = GLM("categorical", **options).fit(X, y)
    np.testing.assert_allclose(with_kernel.predict_proba(X), linear.predict_proba(X), atol=1e-7)
    assert with_kernel.dual_coef_.shape == (90, 2)
    assert with_kernel.intercept_[1] == 0


def test_identity_links_that_bound_the_predictor() -> None:
    rng = np.random.default_rng(0)
    X = rng.uniform(1, 3, size=(100, 2))
    y = rng.poisson(X @ [2.0, 1.0])
    with_kernel = GLM("poisson", "identity", "l2", kernel=Linear()).fit(X, y)
    linear = GLM("poisson", "identity", "l2").fit(X, y)
    np.testing.assert_allclose(with_kernel.predict(X), linear.predict(X), rtol=1e-6)


def test_circles_are_separated() -> None:
    X, y = make_circles(200, noise=0.05, factor=0.5, random_state=0)
    model = GLM("bernoulli", penalty=L2(0.1), kernel=RBF(gamma=2)).fit(X, y)
    assert model.score(X, y) == 1
    np.testing.assert_allclose(np.exp(model.predict_log_proba(X)), model.predict_proba(X), rtol=1e-10)
    assert GLM("bernoulli", penalty=L2(0.1)).fit(X, y).score(X, y) < 0.7


def test_fitted_attributes() -> None:
    X, y = rows_of("poisson", 50, 3)
    model = GLM("poisson", penalty="l2", kernel="rbf").fit(X, y)
    assert model.dual_coef_.shape == (50,)
    assert model.X_fit_.shape == (50, 3)
    assert isinstance(model.kernel_, RBF)
    assert not hasattr(model, "coef_")
    assert "span of 50 rows" in str(model.plan_)
    np.testing.assert_allclose(model.dual_coef_.sum(), 0, atol=1e-8)
    np.testing.assert_allclose(model.dual_coef_, y - model.predict(X), atol=1e-7)  # α = −slopes/λ, with λ = 1
    assert model.predict_distribution(X).quantile(0.5).shape == (50,)
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.predict(X), model.predict(X))
    # another fit leaves nothing of this one
    model.set_params(kernel=None).fit(X, y)
    assert not hasattr(model, "dual_coef_")
    assert model.coef_.shape == (3,)
    model.set_params(kernel="rbf").fit(X, y)
    assert not hasattr(model, "coef_")


def test_parameters_of_the_kernel_can_be_searched() -> None:
    X, y = make_circles(80, noise=0.1, factor=0.5, random_state=0)
    model = GLM("bernoulli", penalty="l2", kernel=RBF(gamma=1e-3))
    search = GridSearchCV(model, {"kernel__gamma": [1e-3, 1.0], "penalty": [L2(0.1), L2(10.0)]}, cv=3).fit(X, y)
    assert search.best_params_["kernel__gamma"] == 1.0
    assert clone(model).kernel == RBF(gamma=1e-3)


def test_a_warm_start_takes_fewer_steps_to_the_same_answer() -> None:
    X, y = rows_of("logit", 100, 3)
    cold = GLM("bernoulli", penalty=L2(0.1), kernel="rbf", tol=1e-6).fit(X, y)
    warm = GLM("bernoulli", penalty=L2(0.1), kernel="rbf", tol=1e-6, warm_start=True).fit(X, y).fit(X, y)
    assert warm.n_iter_ < cold.n_iter_
    np.testing.assert_allclose(warm.predict_linear(X), cold.predict_linear(X), atol=1e-5)


def test_texts_are_accepted_as_rows() -> None:
    texts = ["abab", "baba", "abba", "xyxy", "yxyx", "xyyx"]
    model = GLM("bernoulli", penalty=L2(0.1), kernel=Spectrum(2)).fit(texts, [0, 0, 0, 1, 1, 1])
    assert model.predict(["ab", "yx"]).tolist() == [0, 1]


@pytest.mark.parametrize("kind", [sp.csr_matrix, sp.csc_array, np.asfortranarray, np.float32, list])
def test_rows_of_any_kind(kind: Any) -> None:
    X, y = rows_of("poisson", 40, 3)
    X = np.round(X, 1).astype(np.float32).astype(float)
    model = GLM("poisson", penalty="l2", kernel="rbf")
    plain = model.fit(X, y).predict(X)
    np.testing.assert_allclose(model.fit(kind(X), y).predict(kind(X)), plain, rtol=1e-6)


def test_frames() -> None:
    pd = pytest.importorskip("pandas")
    X, y = rows_of("poisson", 40, 3)
    frame = pd.DataFrame(X, columns=["a", "b", "z"])
    model = GLM("poisson", penalty="l2", kernel="rbf").fit(frame, y)
    assert model.feature_names_in_.tolist() == ["a", "b", "z"]
    with pytest.raises(ValueError, match="feature names"):
        model.predict(frame.rename(columns={"a": "c"}))


def test_ctrl_c_keeps_the_function_found_so_far(monkeypatch: pytest.MonkeyPatch) -> None:
    X, y = rows_of("logit", 60, 3)
    monkeypatch.setattr(newton, "newton_step", interrupted_at(3, newton.newton_step))
    model = GLM("bernoulli", penalty=L2(0.01), kernel="rbf")
    with pytest.raises(FitInterrupted):
        model.fit(X, y)
    assert model.score(X, y) > 0.5
    assert not model.certificate_.holds


def test_a_failed_fit_leaves_the_old_model() -> None:
    X, y = rows_of("poisson", 40, 3)
    model = GLM("poisson", penalty="l2", kernel="rbf").fit(X, y)
    before = model.predict(X)
    with pytest.raises(SupportError):
        model.fit(X, -1.0 - y)
    np.testing.assert_array_equal(model.predict(X), before)


def test_too_few_steps_give_a_warning() -> None:
    X, y = rows_of("logit", 60, 3)
    with pytest.warns(NotConvergedWarning, match="max_iter=10"):
        GLM("bernoulli", penalty=L2(1e-4), kernel="rbf", max_iter=1).fit(X, y)


def nothing(x: Any, z: Any) -> Any:
    return np.zeros((1, 7))


@pytest.mark.parametrize(
    ("options", "error", "sentence"),
    [
        ({"penalty": None}, PenaltyError, "penalty above 0"),
        ({"penalty": L2(0.0)}, PenaltyError, "singular"),
        ({"penalty": L2(-1.0)}, PenaltyError, "0 or more"),
        ({"penalty": "l1"}, NoRepresenterError, "representer theorem"),
        ({"penalty": L1(2.0)}, NoRepresenterError, "increasing function of the norm"),
        ({"penalty": ElasticNet(1.0, l1_ratio=0.5)}, NoRepresenterError, "feature_map"),
        ({"penalty": L2(np.ones(3))}, PenaltyError, "one number"),
        ({"penalty": L2(1.0, mean=2.0)}, PenaltyError, "one number"),
        ({"solver": "proximal"}, UnsuitableSolverError, "newton"),
        ({"kernel": "rbff"}, KernelError, "rbf"),
        ({"kernel": Sigmoid(gamma=-1.0, constant=0.0)}, NotPositiveDefiniteError, "not positive definite"),
        ({"kernel": nothing}, KernelShapeError, "shape"),
        ({"kernel": lambda x, z: -float(x @ z)}, NotPositiveDefiniteError, "not positive definite"),
    ],
)
def test_options_without_a_kernel_form_are_rejected(
    options: dict[str, Any], error: type[Exception], sentence: str
) -> None:
    X, y = rows_of("poisson", 40, 3)
    with pytest.raises(error, match=sentence):
        GLM("poisson", **{"penalty": "l2", "kernel": "rbf"} | options).fit(X, y)


def test_invalid_rows_are_rejected() -> None:
    X, y = rows_of("logit", 40, 3)
    model = GLM("bernoulli", penalty="l2", kernel="rbf")
    holes = X.copy()
    holes[3, 1] = np.nan
    with pytest.raises(NonFiniteError, match=r"x1.*row 3"):
        model.fit(holes, y)
    with pytest.raises(DataError, match="one class"):
        model.fit(X, np.ones(40))
    with pytest.raises(DataError, match="text"):
        model.fit(np.array([["a"], ["b"]]), [0, 1])
    with pytest.raises(DataError, match="inconsistent"):
        model.fit(X, y[:-1])
    with pytest.raises(NonFiniteError):
        model.fit(X, y).predict(holes)
    with pytest.raises(DataError, match="offset"):
        GLM("categorical", penalty="l2", kernel="rbf").fit(X, y, offset=np.ones(40))


def test_there_is_no_summary() -> None:
    X, y = rows_of("poisson", 40, 3)
    model = GLM("poisson", penalty="l2", kernel="rbf").fit(X, y)
    with pytest.raises(InferenceError, match="kernel"):
        mercer.summary(model, X, y)
