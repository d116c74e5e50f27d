"""kernelize: each model in its kernel form, equal to itself on a linear kernel, and what is rejected, and why."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone, is_classifier, is_regressor
from sklearn.datasets import load_iris, make_circles
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import Ridge as OtherRidge
from sklearn.model_selection import GridSearchCV
from sklearn.utils.estimator_checks import parametrize_with_checks

import mercer
from mercer import (
    GLM,
    ElasticNet,
    GammaRegressor,
    GaussianNB,
    Lasso,
    LinearRegression,
    LinearThreshold,
    LogisticRegression,
    LogisticRegressionCV,
    Perceptron,
    PoissonRegressor,
    Ridge,
    RidgeCV,
    TweedieRegressor,
    kernelize,
)
from mercer._errors import (
    DataError,
    InferenceError,
    KernelError,
    NonFiniteError,
    NoRepresenterError,
    NotPositiveDefiniteError,
    PenaltyError,
)
from mercer.families import L2
from mercer.kernels import RBF, Linear, OneDimensional, Polynomial, Spectrum
from tests.kernel_ridge._kernel_models import output

RNG = np.random.default_rng(0)
TALL, WIDE = RNG.normal(size=(90, 3)), RNG.normal(size=(30, 70))


def responses(kind: str, X: Any) -> Any:
    eta = X[:, :3] @ [0.6, -0.4, 0.3]
    rng = np.random.default_rng(1)
    return {
        "numbers": eta + rng.normal(size=len(X)),
        "targets": np.column_stack([eta + rng.normal(size=len(X)), 1e4 * rng.normal(size=len(X))]),
        "counts": rng.poisson(np.exp(eta)).astype(float),
        "positive": np.exp(eta) * rng.gamma(2, 0.5, size=len(X)) + 0.01,
        "labels": np.where(eta + rng.normal(size=len(X)) > 0, "yes", "no"),
        "classes": np.array(["a", "b", "c"])[np.digitize(eta + rng.normal(size=len(X)), [-0.5, 0.5])],
    }[kind]


MODELS: dict[str, tuple[Any, str]] = {
    "ridge": (Ridge(alpha=2.0), "numbers"),
    "ridge without an intercept": (Ridge(alpha=0.1, fit_intercept=False), "numbers"),
    "ridge of two targets": (Ridge(alpha=2.0), "targets"),
    "ridge, an alpha each": (Ridge(alpha=[0.5, 5.0]), "targets"),
    "logistic": (LogisticRegression(C=3.0, tol=1e-10), "labels"),
    "balanced": (LogisticRegression(class_weight="balanced", tol=1e-10), "labels"),
    "weights of classes": (LogisticRegression(class_weight={"a": 2.0}, tol=1e-10), "classes"),
    "without an intercept": (LogisticRegression(fit_intercept=False, tol=1e-10), "labels"),
    "softmax": (LogisticRegression(C=0.5, tol=1e-10), "classes"),
    "liblinear": (LogisticRegression(solver="liblinear", intercept_scaling=2.0, tol=1e-10), "labels"),
    "liblinear without": (LogisticRegression(solver="liblinear", fit_intercept=False, tol=1e-10), "labels"),
    "poisson": (PoissonRegressor(alpha=0.3), "counts"),
    "gamma": (GammaRegressor(alpha=0.1, fit_intercept=False), "positive"),
    "tweedie": (TweedieRegressor(power=1.5, alpha=0.2), "counts"),
    "identity": (TweedieRegressor(power=0, alpha=0.2), "numbers"),
    "glm": (GLM("gamma", "log", L2(3.0)), "positive"),
}
EACH = pytest.mark.parametrize("name", MODELS)


@EACH
@pytest.mark.parametrize("X", [TALL, WIDE], ids=["tall", "wide"])
@pytest.mark.parametrize("weighted", [False, True])
def test_on_a_linear_kernel_a_model_agrees_with_itself(name: str, X: Any, weighted: bool) -> None:
    model, kind = MODELS[name]
    y, weight = responses(kind, X), np.arange(len(X)) % 3 if weighted else None
    with_kernel = kernelize(model, Linear()).fit(X, y, sample_weight=weight)
    linear = clone(model).fit(X, y, sample_weight=weight)
    new = np.random.default_rng(2).normal(size=(20, X.shape[1]))
    np.testing.assert_allclose(output(with_kernel, new), output(linear, new), rtol=1e-6, atol=1e-6)
    if is_classifier(linear):
        np.testing.assert_array_equal(with_kernel.predict(new), linear.predict(new))
    assert with_kernel.certificate_.holds
    np.testing.assert_allclose(with_kernel.score(X, y, weight), linear.score(X, y, weight), rtol=1e-6)


@EACH
def test_on_a_polynomial_kernel_it_agrees_with_the_model_on_its_features(name: str) -> None:
    model, kind = MODELS[name]
    if name.startswith("liblinear"):
        pytest.skip("with a penalised intercept the constant feature is not for nothing")
    kernel, y = Polynomial(degree=3, gamma=0.3, constant=0.5), responses(kind, TALL)
    features = kernel.feature_map(3)
    with_kernel, explicit = kernelize(model, kernel).fit(TALL, y), clone(model).fit(features(TALL), y)
    new = np.random.default_rng(2).normal(size=(20, 3))
    np.testing.assert_allclose(output(with_kernel, new), output(explicit, features(new)), rtol=1e-5, atol=1e-5)


def test_ridge_without_an_intercept_is_kernel_ridge() -> None:
    y = responses("targets", TALL)
    ours = kernelize(Ridge(alpha=[0.3, 2.0], fit_intercept=False), RBF(gamma=0.2)).fit(TALL, y)
    other = KernelRidge(alpha=[0.3, 2.0], kernel="rbf", gamma=0.2).fit(TALL, y)
    np.testing.assert_allclose(ours.dual_coef_, other.dual_coef_, rtol=1e-8)
    np.testing.assert_allclose(ours.predict(TALL), other.predict(TALL), rtol=1e-8)


def test_ridge_has_its_closed_form() -> None:
    y, kernel = responses("numbers", TALL), RBF(gamma=0.2)
    model = kernelize(Ridge(alpha=0.7), kernel).fit(TALL, y)
    np.testing.assert_allclose(
        model.dual_coef_, np.linalg.solve(kernel(TALL) + 0.7 * np.eye(90), y - model.intercept_), rtol=1e-8
    )
    np.testing.assert_allclose(model.dual_coef_, (y - model.predict(TALL)) / 0.7, rtol=1e-7)  # lecture 2
    assert abs(model.dual_coef_.sum()) < 1e-9


@pytest.mark.parametrize("scale", [1e-150, 1e150])
@pytest.mark.parametrize("shift", [0.0, 1e8])
def test_responses_of_any_scale(scale: float, shift: float) -> None:
    y = responses("numbers", TALL)
    model = kernelize(Ridge(), RBF(gamma=0.2))
    expected = model.fit(TALL, y).predict(TALL)
    np.testing.assert_allclose(
        model.fit(TALL, scale * (y + shift)).predict(TALL), scale * (expected + shift), rtol=1e-8
    )


def test_the_largest_responses_have_a_mean() -> None:
    X, largest = np.linspace(0, 3, 8)[:, None], np.finfo(float).max
    y = np.where(X[:, 0] > 1, 0.5 * largest, -0.5 * largest)
    model, small = (kernelize(Ridge(0.5), "rbf").fit(X, values) for values in (y, y / largest))
    np.testing.assert_allclose(model.predict(X) / largest, small.predict(X), rtol=1e-12)


def test_columns_far_from_zero_keep_their_digits() -> None:
    y = responses("labels", TALL)
    model = kernelize(LogisticRegression(), RBF(gamma=0.2))
    expected = model.fit(TALL, y).predict_proba(TALL)
    np.testing.assert_allclose(model.fit(TALL + 1e6, y).predict_proba(TALL + 1e6), expected, atol=1e-7)


def test_circles_and_xor_are_separated() -> None:
    X, y = make_circles(200, noise=0.05, factor=0.5, random_state=0)
    assert kernelize(LogisticRegression(), RBF(gamma=2)).fit(X, y).score(X, y) == 1
    # lecture 1's features: x₁, x₂, x₁² + x₂²
    squares = OneDimensional(lambda rows: np.square(np.atleast_2d(rows)).sum(axis=-1))
    assert kernelize(LogisticRegression(C=100), Linear() + squares).fit(X, y).score(X, y) == 1
    corners, odd = [[0, 0], [0, 1], [1, 0], [1, 1]], [0, 1, 1, 0]
    assert kernelize(LogisticRegression(), "rbf").fit(corners, odd).predict(corners).tolist() == odd
    assert kernelize(LogisticRegression(C=100), Polynomial(degree=2)).fit(corners, odd).predict(corners).tolist() == odd


def test_probabilities_agree_with_decisions() -> None:
    X, y = load_iris(return_X_y=True)
    model = kernelize(LogisticRegression(), RBF(gamma=0.5)).fit(X, y)
    proba = model.predict_proba(X)
    np.testing.assert_allclose(proba.sum(axis=1), 1)
    np.testing.assert_array_equal(model.classes_[proba.argmax(axis=1)], model.predict(X))
    np.testing.assert_array_equal(model.decision_function(X).argmax(axis=1), proba.argmax(axis=1))
    np.testing.assert_allclose(np.exp(model.predict_log_proba(X)), proba)
    assert model.score(X, y) > 0.95


def test_attributes_and_repr() -> None:
    y = responses("labels", TALL)
    model = kernelize(LogisticRegression(), "rbf").fit(TALL, y)
    assert is_classifier(model)
    assert is_regressor(kernelize(Ridge(), "rbf"))
    assert model.dual_coef_.shape == (90,)
    assert isinstance(model.intercept_, float)
    assert model.X_fit_.shape == (90, 3)
    assert model.n_features_in_ == 3
    assert "span of 90 rows" in str(model.plan_)
    assert "standard errors" in str(model.certificate_)
    assert not hasattr(kernelize(Ridge(), "rbf"), "predict_proba")
    assert not hasattr(kernelize(Ridge(), "rbf"), "decision_function")
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(model)).predict(TALL), model.predict(TALL))
    assert "LogisticRegression" in repr(model)
    assert "RBF" in repr(model)


def test_the_given_model_is_not_modified() -> None:
    model = Ridge()
    made = kernelize(model, "rbf").fit(TALL, responses("numbers", TALL))
    assert not hasattr(model, "coef_")
    made.set_params(model__alpha=7.0)
    assert model.alpha == 1.0


def test_parameters_of_model_and_kernel_can_be_searched() -> None:
    X, y = make_circles(80, noise=0.1, factor=0.5, random_state=0)
    grid = {"kernel__gamma": [1e-4, 1.0], "model__C": [0.1, 10.0]}
    search = GridSearchCV(kernelize(LogisticRegression(), "rbf"), grid, cv=3).fit(X, y)
    assert search.best_params_["kernel__gamma"] == 1.0
    assert search.best_estimator_.kernel == RBF(gamma=1.0)
    glm = kernelize(GLM("bernoulli", penalty="l2"), RBF(gamma=2.0))
    assert isinstance(glm, GLM)
    assert clone(glm).set_params(kernel__gamma=3.0).kernel == RBF(gamma=3.0)


def test_texts_are_accepted_as_rows() -> None:
    texts = ["abab", "baba", "abba", "xyxy", "yxyx", "xyyx"]
    model = kernelize(Ridge(alpha=0.1), Spectrum(2)).fit(texts, [1.0, 1.0, 1.0, 2.0, 2.0, 2.0])
    assert isinstance(model.X_fit_, list)
    low, high = model.predict(["ab", "yx"])
    assert low < 1.5 < high
    with pytest.raises(DataError, match="inconsistent"):
        model.fit(texts, [1.0])


def test_user_functions_are_kernels() -> None:
    y = responses("numbers", TALL)
    words = kernelize(Ridge(alpha=0.01), lambda a, b: float(len(set(a) & set(b)))).fit(
        ["ab", "bc", "xy"], [0.0, 0.0, 1.0]
    )
    assert words.predict(["cb"])[0] < 0.1
    by_function = kernelize(Ridge(), lambda x, z: float(x @ z)).fit(TALL, y)
    np.testing.assert_allclose(by_function.predict(TALL), Ridge().fit(TALL, y).predict(TALL), rtol=1e-8)


@pytest.mark.parametrize("kind", [sp.csr_matrix, sp.csc_array, np.asfortranarray, np.float32, list])
def test_rows_of_any_kind(kind: Any) -> None:
    X, y = np.round(TALL, 1).astype(np.float32).astype(float), responses("classes", TALL)
    model = kernelize(LogisticRegression(), "rbf")
    plain = model.fit(X, y).predict_proba(X)
    np.testing.assert_allclose(model.fit(kind(X), y).predict_proba(kind(X)), plain, atol=1e-6)


def test_one_row_and_constant_columns() -> None:
    assert kernelize(Ridge(), "rbf").fit([[1.0]], [3.0]).predict([[5.0]]) == pytest.approx(3.0)
    flat = kernelize(Ridge(), "rbf").fit(np.ones((5, 2)), np.arange(5.0))
    np.testing.assert_allclose(flat.predict(np.ones((2, 2))), 2.0)


@pytest.mark.parametrize(
    ("model", "error", "sentence"),
    [
        (Lasso(), NoRepresenterError, r"representer theorem.*increasing function of the norm.*feature_map"),
        (ElasticNet(), NoRepresenterError, "representer theorem"),
        (LogisticRegression(l1_ratio=1.0, solver="saga"), NoRepresenterError, "representer theorem"),
        (LogisticRegression(l1_ratio=0.5, solver="saga"), NoRepresenterError, "representer theorem"),
        (Ridge(positive=True), NoRepresenterError, "representer theorem"),
        (GaussianNB(), NoRepresenterError, "representer theorem"),
        (LinearRegression(), NoRepresenterError, "no penalty"),
        (RidgeCV(), NoRepresenterError, "GridSearchCV"),
        (LogisticRegressionCV(), NoRepresenterError, "GridSearchCV"),
        (LinearThreshold("lms"), NoRepresenterError, "perceptron"),
        (Perceptron(penalty="l1"), NoRepresenterError, "penalty"),
        (OtherRidge(), NoRepresenterError, r"mercer\.Ridge"),
        (Ridge, NoRepresenterError, "estimator"),
        (kernelize(Ridge(), "rbf"), NoRepresenterError, "kernel of its own"),
        (Ridge(alpha="loo"), PenaltyError, "KernelRidge"),
        (Perceptron(early_stopping=True), DataError, "early_stopping"),
    ],
)
def test_models_without_a_kernel_form_are_rejected(model: Any, error: type[Exception], sentence: str) -> None:
    with pytest.raises(error, match=sentence):
        kernelize(model, "rbf")


@pytest.mark.parametrize(
    ("model", "error", "sentence"),
    [
        (Ridge(alpha=0.0), PenaltyError, "above 0"),
        (Ridge(alpha=-1.0), ValueError, "alpha"),
        (Ridge(alpha=[1.0, 2.0]), DataError, "penalties"),
        (LogisticRegression(C=np.inf), PenaltyError, "above 0"),
        (LogisticRegression(C=-1.0), ValueError, "'C'"),
        (PoissonRegressor(alpha=0.0), PenaltyError, "singular"),
    ],
)
def test_invalid_penalties_are_rejected_in_fit(model: Any, error: type[Exception], sentence: str) -> None:
    y = np.arange(90) % 2 if is_classifier(model) else responses("counts", TALL)
    with pytest.raises(error, match=sentence):
        kernelize(model, "rbf").fit(TALL, y)


def test_invalid_data_are_rejected() -> None:
    y = responses("labels", TALL)
    model = kernelize(LogisticRegression(), "rbf").fit(TALL, y)
    before = model.predict_proba(TALL)
    holes = TALL.copy()
    holes[4, 2] = np.inf
    with pytest.raises(NonFiniteError, match=r"x2.*row 4"):
        model.fit(holes, y)
    with pytest.raises(NonFiniteError):
        model.predict(holes)
    with pytest.raises(DataError, match="one class"):
        model.fit(TALL, np.zeros(90))
    with pytest.raises(DataError, match="weight"):
        model.fit(TALL, y, sample_weight=np.zeros(90))
    for other in (Ridge(), PoissonRegressor(), Perceptron()):
        with pytest.raises(DataError, match="give some rows a weight"):
            kernelize(other, "rbf").fit(TALL, np.arange(90) % 2, sample_weight=np.zeros(90))
    with pytest.raises(DataError, match="predicts numbers"):
        kernelize(Ridge(), "rbf").fit(TALL, y)
    with pytest.raises(ValueError, match="features"):
        model.predict(WIDE)
    with pytest.raises(ValueError, match="inconsistent"):
        model.fit(TALL, y[:5])
    with pytest.raises(DataError, match="y to be passed"):
        model.fit(TALL, None)
    np.testing.assert_array_equal(model.predict_proba(TALL), before)  # a failed fit leaves the model
    with pytest.raises(KernelError, match="rbf"):
        kernelize(Ridge(), "rfb")
    with pytest.raises(NotPositiveDefiniteError, match="not positive definite"):
        kernelize(Ridge(), lambda x, z: -float(np.abs(x - z).sum())).fit(TALL, np.ones(90))
    with pytest.raises(DataError, match="valid range"):
        kernelize(PoissonRegressor(), "rbf").fit(TALL, -np.ones(90))


def test_there_is_no_summary() -> None:
    model = kernelize(Ridge(), "rbf").fit(TALL, responses("numbers", TALL))
    with pytest.raises(InferenceError):
        mercer.summary(model, TALL, responses("numbers", TALL))


@pytest.mark.filterwarnings("ignore::UserWarning", "ignore::FutureWarning")
@parametrize_with_checks([kernelize(Ridge(), "rbf"), kernelize(LogisticRegression(), "rbf")])
def test_follows_the_conventions_of_scikit_learn(estimator: Any, check: Any) -> None:
    check(estimator)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::UserWarning", "ignore::FutureWarning")
@parametrize_with_checks(
    [kernelize(PoissonRegressor(alpha=1e-3), "rbf"), kernelize(GLM("categorical", penalty="l2"), "rbf")]
)
def test_other_models_follow_the_conventions_too(estimator: Any, check: Any) -> None:
    check(estimator)
