"""Features that stand for a kernel: with all rows as landmarks each model is its exact twin; and what can go wrong."""

from __future__ import annotations

import pickle
import warnings
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV

from mercer import (
    GLM,
    GammaRegressor,
    KernelRidge,
    LogisticRegression,
    Nystroem,
    Perceptron,
    PoissonRegressor,
    RandomFourierFeatures,
    Ridge,
    TweedieRegressor,
    estimate_cost,
    kernelize,
)
from mercer._errors import DataError, FitInterrupted, KernelError, NoSpectrumError, PenaltyError
from mercer.cost import work
from mercer.families import L2, NegativeBinomial, Tweedie
from mercer.kernel_approximation.approximate import assess_approximation, choose_transformer, fit_map_of
from mercer.kernels import RBF, Laplacian, Polynomial, Spectrum
from mercer.matrices.mapped import TileOptions
from mercer.optim.span import mapped_newton
from tests._ctrl_c import interrupt, interrupted_at
from tests.base._layouts import read_only
from tests.kernel_ridge._kernel_models import output

N = 90
RNG = np.random.default_rng(0)
X, NEW = RNG.normal(size=(N, 2)), RNG.normal(size=(30, 2))
ETA = np.sin(2 * X[:, 0]) + 0.5 * X[:, 1]
WEIGHT = RNG.integers(0, 3, size=N).astype(float)
KERNEL = RBF(gamma=0.4)
Y: dict[str, Any] = {
    "numbers": ETA + 0.5 * RNG.normal(size=N),
    "targets": np.column_stack([ETA + RNG.normal(size=N), 1e4 * RNG.normal(size=N)]),
    "counts": RNG.poisson(np.exp(ETA)).astype(float),
    "positive": np.exp(ETA) * RNG.gamma(2, 0.5, size=N) + 0.01,
    "labels": np.where(ETA + RNG.normal(size=N) > 0, "yes", "no"),
    "classes": np.array(["a", "b", "c"])[np.digitize(ETA + RNG.normal(size=N), [-0.5, 0.5])],
}
MODELS: dict[str, tuple[Any, str]] = {
    "ridge": (kernelize(Ridge(alpha=2.0), KERNEL), "numbers"),
    "ridge without an intercept": (kernelize(Ridge(alpha=0.1, fit_intercept=False), KERNEL), "numbers"),
    "ridge, an alpha each": (kernelize(Ridge(alpha=[0.5, 5.0]), KERNEL), "targets"),
    "logistic": (kernelize(LogisticRegression(C=3.0, tol=1e-10), KERNEL), "labels"),
    "balanced": (kernelize(LogisticRegression(class_weight="balanced", tol=1e-10), KERNEL), "labels"),
    "softmax": (kernelize(LogisticRegression(C=0.5, tol=1e-10), KERNEL), "classes"),
    "liblinear": (kernelize(LogisticRegression(solver="liblinear", tol=1e-10), KERNEL), "labels"),
    "poisson": (kernelize(PoissonRegressor(alpha=0.3), KERNEL), "counts"),
    "gamma": (kernelize(GammaRegressor(alpha=0.1), KERNEL), "positive"),
    "tweedie": (kernelize(TweedieRegressor(power=1.5, alpha=0.2), KERNEL), "counts"),
    "glm gaussian": (GLM("gaussian", penalty=L2(2.0), kernel=KERNEL), "numbers"),
    "glm gaussian log": (GLM("gaussian", "log", penalty=L2(2.0), kernel=KERNEL), "positive"),
    "glm logit": (GLM("bernoulli", penalty=L2(0.5), kernel=KERNEL), "labels"),
    "glm probit": (GLM("bernoulli", "probit", penalty=L2(0.5), kernel=KERNEL), "labels"),
    "glm softmax": (GLM("categorical", penalty=L2(0.5), kernel=KERNEL), "classes"),
    "glm reference": (GLM("categorical", penalty=L2(0.5), kernel=KERNEL, reference="b"), "classes"),
    "glm poisson": (GLM("poisson", penalty=L2(0.5), kernel=KERNEL), "counts"),
    "glm gamma": (GLM("gamma", "log", penalty=L2(0.5), kernel=KERNEL), "positive"),
    "glm inverse gaussian": (GLM("inverse_gaussian", "log", penalty=L2(0.5), kernel=KERNEL), "positive"),
    "glm tweedie": (GLM(Tweedie(1.5), "log", penalty=L2(0.5), kernel=KERNEL), "counts"),
    "glm negative binomial": (GLM("negative_binomial", penalty=L2(0.5), kernel=KERNEL), "counts"),
    "glm known r": (GLM(NegativeBinomial(2.0), "log", penalty=L2(0.5), kernel=KERNEL), "counts"),
    "kernel ridge": (KernelRidge(alpha=0.3, kernel="rbf"), "numbers"),
    "kernel ridge, an alpha each": (KernelRidge(alpha=[0.3, 2.0], kernel="laplacian"), "targets"),
    "kernel ridge loo": (KernelRidge(alpha="loo", kernel="rbf"), "numbers"),
    "kernel ridge gcv": (KernelRidge(alpha="gcv", kernel=KERNEL), "numbers"),
    "kernel ridge widths": (KernelRidge(alpha=0.1, kernel="rbf", gamma=[0.1, 1.0]), "targets"),
    "kernel ridge all": (KernelRidge(alpha="loo", kernel="rbf", gamma="loo"), "numbers"),
}
EACH = pytest.mark.parametrize("name", MODELS)
QUICK = pytest.mark.parametrize("name", ["ridge", "softmax", "glm poisson", "kernel ridge", "kernel ridge all"])
CHOSEN = ("alpha_", "alphas_", "alpha_errors_", "gamma_", "gammas_", "gamma_errors_", "loo_predictions_")


def all_rows(n: int = N) -> Nystroem:
    return Nystroem(n_components=n, random_state=0)


def same(a: Any, b: Any, error: float = 1e-6) -> None:
    np.testing.assert_allclose(a, b, rtol=0, atol=error * max(np.abs(b).max(), 1e-300))


@EACH
@pytest.mark.parametrize("weighted", [False, True])
def test_with_all_rows_as_landmarks_the_model_is_exact(name: str, weighted: bool) -> None:
    model, kind = MODELS[name]
    weight = WEIGHT if weighted else None
    if name == "glm reference" and weighted:
        weight = WEIGHT + 1  # no class may be without a weight
    n = N if weight is None else np.count_nonzero(weight)
    exact = clone(model).fit(X, Y[kind], sample_weight=weight)
    approximate = clone(model).set_params(approximate=all_rows(n)).fit(X, Y[kind], sample_weight=weight)
    assert approximate.certificate_.holds
    assert not approximate.plan_.exact
    assert exact.plan_.exact
    assert approximate.approximation_.distance < 1e-3
    for a, b in zip(np.atleast_2d(output(approximate, NEW).T), np.atleast_2d(output(exact, NEW).T), strict=True):
        same(a, b)  # of each target by itself
    for attribute in CHOSEN:
        if hasattr(exact, attribute):
            a, b = getattr(approximate, attribute), getattr(exact, attribute)
            same(a, b) if "errors" not in attribute else same(a, b, 1e-5)
    for attribute in ("deviance_", "log_likelihood_", "df_residual_"):
        if hasattr(exact, attribute):
            np.testing.assert_allclose(getattr(approximate, attribute), getattr(exact, attribute), rtol=1e-3)


@pytest.mark.parametrize("name", ["ridge", "softmax", "glm poisson", "kernel ridge", "kernel ridge widths"])
def test_rows_of_weight_0_have_no_effect(name: str) -> None:
    model, kind = MODELS[name]
    weighted = np.flatnonzero(WEIGHT)
    some = clone(model).set_params(approximate=Nystroem(n_components=20, random_state=0))
    with_them = clone(some).fit(X, Y[kind], sample_weight=WEIGHT)
    without = clone(some).fit(X[weighted], Y[kind][weighted], sample_weight=WEIGHT[weighted])
    same(output(with_them, NEW), output(without, NEW), 1e-12)
    np.testing.assert_array_equal(with_them.X_fit_, without.X_fit_)


@EACH
def test_landmarks_have_the_coefficients(name: str) -> None:
    model, kind = MODELS[name]
    fitted = clone(model).set_params(approximate="nystroem").fit(X, Y[kind])
    kernel, landmarks = fitted.kernel_, fitted.X_fit_
    assert len(landmarks) == len(fitted.dual_coef_) <= N
    if "ridge" in name:
        f = kernel(NEW, landmarks) @ fitted.dual_coef_ + getattr(fitted, "intercept_", 0.0)
        same(fitted.predict(NEW), f, 1e-8)


@pytest.mark.parametrize("name", ["ridge", "logistic", "softmax", "glm poisson", "kernel ridge", "liblinear"])
def test_more_fourier_features_approximate_better(name: str) -> None:
    model, kind = MODELS[name]
    exact = output(clone(model).fit(X, Y[kind]), NEW)
    errors, approximations = [], []
    for size in (20, 600):
        features = RandomFourierFeatures(n_components=size, sampling="orthogonal", random_state=0)
        fitted = clone(model).set_params(approximate=features).fit(X, Y[kind])
        assert fitted.X_fit_ is None
        assert fitted.dual_coef_.shape[0] == size
        assert fitted.certificate_.holds
        errors.append(np.abs(output(fitted, NEW) - exact).max())
        approximations.append(fitted.approximation_)
    assert errors[1] < 0.5 * errors[0]
    assert errors[1] < 0.15 * np.ptp(exact)
    assert approximations[1].error < approximations[0].error
    assert approximations[1].distance < approximations[0].distance
    assert approximations[1].kind == "fourier"
    assert approximations[1].n_components == 600


@pytest.mark.parametrize("name", ["ridge", "glm poisson", "kernel ridge", "kernel ridge widths"])
def test_the_kernel_of_the_features_is_that_of_the_model(name: str) -> None:
    """Features with a width agree with a kernel given by its name."""
    model, kind = MODELS[name]
    for features in (RandomFourierFeatures(n_components=20, random_state=0), Nystroem(n_components=20, random_state=0)):
        plain = clone(model).set_params(approximate=features).fit(X, Y[kind])
        other = clone(model).set_params(approximate=clone(features).set_params(gamma=7.0)).fit(X, Y[kind])
        same(output(other, NEW), output(plain, NEW), 1e-12)
        with pytest.raises(ValueError, match="gamma"):
            clone(model).set_params(approximate=clone(features).set_params(gamma=-1.0)).fit(X, Y[kind])


@QUICK
def test_auto_is_exact_if_that_takes_only_seconds(name: str) -> None:
    model, kind = MODELS[name]
    auto = clone(model).set_params(approximate="auto")
    fitted = clone(auto).fit(X, Y[kind])
    assert fitted.plan_.exact
    assert not hasattr(fitted, "approximation_")
    same(output(fitted, NEW), output(clone(model).fit(X, Y[kind]), NEW), 1e-12)
    many = np.random.default_rng(0).normal(size=(200_000, 2))
    assert isinstance(choose_transformer(auto, many), Nystroem)
    fitted = fitted.set_params(approximate="nystroem").fit(X, Y[kind])
    assert not fitted.plan_.exact
    assert fitted.approximation_.kind == "nystroem"
    assert not hasattr(fitted.set_params(approximate="auto").fit(X, Y[kind]), "approximation_")  # of an earlier fit


@QUICK
def test_the_error_of_the_features_is_reported(name: str) -> None:
    model, kind = MODELS[name]
    few = clone(model).set_params(approximate=Nystroem(n_components=3, random_state=0)).fit(X, Y[kind])
    more = clone(model).set_params(approximate=Nystroem(n_components=40, random_state=0)).fit(X, Y[kind])
    assert 0 < more.approximation_.error < few.approximation_.error < 1
    assert more.approximation_.distance < few.approximation_.distance
    assert "nystroem features" in str(more.approximation_)
    assert "exact model" in str(more.approximation_)


def test_predictions_of_a_sample_that_cannot_be_fitted_are_not_compared() -> None:
    def fail(*_: Any) -> Any:
        raise np.linalg.LinAlgError("no")

    approximation = assess_approximation(fit_map_of(all_rows(), KERNEL, X), KERNEL, X, fail)
    assert np.isnan(approximation.distance)
    assert approximation.error < 1e-12
    assert "could not be compared" in str(approximation)


@QUICK
def test_more_landmarks_than_rows_are_all_rows_and_a_warning(name: str) -> None:
    model, kind = MODELS[name]
    with pytest.warns(UserWarning, match="n_components > n_samples"):
        fitted = clone(model).set_params(approximate=all_rows(500)).fit(X, Y[kind])
    assert len(fitted.X_fit_) == N
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        clone(model).set_params(approximate="nystroem").fit(X[:30], Y[kind][:30])


def test_a_kernel_without_a_spectrum_has_no_fourier_features() -> None:
    for model in (
        KernelRidge(kernel="poly"),
        kernelize(Ridge(), Polynomial(2)),
        GLM(penalty="l2", kernel=Polynomial(2)),
    ):
        with pytest.raises(NoSpectrumError, match=r"RBF.*Laplacian"):
            clone(model).set_params(approximate="fourier").fit(X, Y["numbers"])


@pytest.mark.parametrize("wrong", [sp.eye(3), Ridge(), "fast", 17])
def test_other_values_of_approximate_are_rejected(wrong: Any) -> None:
    for model in (KernelRidge(kernel="rbf"), kernelize(Ridge(), "rbf"), GLM(penalty="l2", kernel="rbf")):
        with pytest.raises((KernelError, ValueError), match="approximate"):
            clone(model).set_params(approximate=wrong).fit(X, Y["numbers"])


def test_options_incompatible_with_approximations_are_rejected() -> None:
    with pytest.raises(KernelError, match="precomputed"):
        KernelRidge(kernel="precomputed", approximate="nystroem").fit(X @ X.T, Y["numbers"])
    with pytest.raises(KernelError, match="Pipeline"):
        kernelize(Perceptron(), "rbf", approximate="nystroem")
    with pytest.raises(PenaltyError, match="above 0"):
        KernelRidge(alpha=0.0, kernel="rbf", approximate="nystroem").fit(X, Y["numbers"])
    with pytest.raises(DataError, match="leave one out"):
        KernelRidge(alpha="loo", kernel="rbf", approximate="nystroem").fit(X[:1], Y["numbers"][:1])


def test_kernelize_passes_the_option_on() -> None:
    features = Nystroem(n_components=7, random_state=0)
    for model in (Ridge(), LogisticRegression(), PoissonRegressor(), GLM("poisson", penalty="l2")):
        made = kernelize(model, "rbf", features)
        assert made.approximate is features
        assert made.get_params()["approximate__n_components"] == 7
        assert len(made.fit(X, Y["counts"] > 1 if isinstance(model, LogisticRegression) else Y["counts"]).X_fit_) == 7


def test_kernels_of_texts_are_approximated() -> None:
    texts = ["".join(letters) for letters in RNG.choice(list("abc"), size=(60, 8))]
    y = np.array([text.count("ab") for text in texts], dtype=float)
    for model in (
        KernelRidge(kernel=Spectrum(2)),
        kernelize(Ridge(), Spectrum(2)),
        GLM(penalty="l2", kernel=Spectrum(2)),
    ):
        exact = clone(model).fit(texts, y)
        fitted = clone(model).set_params(approximate=all_rows(60)).fit(texts, y)
        same(fitted.predict(texts), exact.predict(texts))
        assert isinstance(fitted.X_fit_, list)
        with pytest.raises(NoSpectrumError):
            clone(model).set_params(approximate="fourier").fit(texts, y)


def test_a_function_of_two_rows_is_a_kernel_too() -> None:
    def k(x: Any, z: Any) -> float:
        return float(np.exp(-np.sum((x - z) ** 2)))

    for model in (KernelRidge(kernel=k), kernelize(Ridge(), k), GLM(penalty="l2", kernel=k)):
        exact = clone(model).fit(X[:40], Y["numbers"][:40])
        fitted = clone(model).set_params(approximate=all_rows(40)).fit(X[:40], Y["numbers"][:40])
        same(fitted.predict(NEW), exact.predict(NEW))


@QUICK
@pytest.mark.parametrize("approximate", ["nystroem", "fourier"])
def test_rows_of_any_container_are_accepted(name: str, approximate: str) -> None:
    model, kind = MODELS[name]
    model = clone(model).set_params(approximate=approximate)
    expected = output(clone(model).fit(X, Y[kind]), NEW)
    if approximate == "fourier":  # whose random numbers mean something else for rows that are not shifted
        assert np.isfinite(output(clone(model).fit(sp.csr_matrix(X), Y[kind]), sp.csr_matrix(NEW))).all()
    for convert in (np.asfortranarray, np.ndarray.tolist, *([sp.csr_matrix] if approximate == "nystroem" else [])):
        same(output(clone(model).fit(convert(X), Y[kind]), convert(NEW)), expected, 1e-3)
    single = clone(model).fit(X.astype(np.float32), Y[kind])
    same(output(single, NEW.astype(np.float32)), expected, 5e-2)
    same(output(clone(model).fit(read_only(X), Y[kind]), NEW), expected, 1e-9)


@pytest.mark.parametrize("scale", [1e-150, 1e-8, 1e8, 1e150])
def test_targets_may_be_of_any_scale(scale: float) -> None:
    for model in (KernelRidge(kernel="rbf"), kernelize(Ridge(), "rbf")):
        model = clone(model).set_params(approximate="nystroem")
        plain, scaled = clone(model).fit(X, Y["numbers"]), clone(model).fit(X, scale * Y["numbers"])
        assert scaled.certificate_.holds
        same(scaled.predict(NEW), scale * plain.predict(NEW))


def test_targets_far_from_0_keep_their_digits() -> None:
    model = kernelize(Ridge(), "rbf", "nystroem")
    same(model.fit(X, Y["numbers"] + 1e8).predict(NEW) - 1e8, clone(model).fit(X, Y["numbers"]).predict(NEW), 1e-5)


@pytest.mark.parametrize("approximate", ["nystroem", "fourier"])
def test_rows_far_from_0_and_of_any_scale_are_accepted(approximate: str) -> None:
    for move, scale in ((1e8, 1.0), (0.0, 1e-150), (0.0, 1e150)):
        rows, new = move + scale * X, move + scale * NEW
        kernel = RBF(gamma=0.4 / scale / scale) if 1e-100 < scale < 1e100 else Laplacian(gamma=0.4 / scale)
        for model in (KernelRidge(kernel=kernel), kernelize(LogisticRegression(), kernel)):
            y = Y["labels"] if hasattr(model, "model") else Y["numbers"]
            plain = clone(model).set_params(kernel=kernel.replaced(gamma=0.4), approximate=approximate)
            fitted = clone(model).set_params(approximate=approximate).fit(rows, y)
            same(output(fitted, new), output(plain.fit(X, y), NEW), 1e-5)


def test_separable_classes_with_a_tiny_penalty() -> None:
    y = X[:, 0] > 0
    for C in (1e4, 1e8):
        fitted = kernelize(LogisticRegression(C=C, max_iter=1000), "rbf", "nystroem").fit(X, y)
        assert fitted.score(X, y) == 1.0
        assert fitted.certificate_.holds


def test_identical_landmarks() -> None:
    rows = np.repeat(X[:3], 30, axis=0)
    for model in (
        KernelRidge(kernel="rbf"),
        kernelize(LogisticRegression(), "rbf"),
        kernelize(PoissonRegressor(), "rbf"),
    ):
        y = np.arange(90) % 2 if not isinstance(model, KernelRidge) else Y["numbers"]
        exact = clone(model).fit(rows, y)
        same(output(clone(model).set_params(approximate="nystroem").fit(rows, y), NEW), output(exact, NEW))
    constant = KernelRidge(kernel="rbf", approximate="nystroem").fit(np.ones((20, 2)), np.ones(20))
    np.testing.assert_allclose(constant.predict(np.ones((1, 2))), 20 / 21)


@pytest.mark.parametrize("alpha", ["loo", "gcv", 1.0])
def test_a_kernel_that_is_zero(alpha: Any) -> None:
    fitted = KernelRidge(alpha=alpha, kernel="linear", approximate="nystroem").fit(np.zeros((20, 2)), Y["numbers"][:20])
    np.testing.assert_array_equal(fitted.predict(NEW), 0.0)
    classes = kernelize(LogisticRegression(), "linear", "nystroem").fit(np.zeros((20, 2)), np.arange(20) % 2)
    np.testing.assert_allclose(classes.predict_proba(NEW), 0.5)


@pytest.mark.parametrize("scale", [1e-150, 1e77, 1e150])
def test_kernels_may_be_of_any_scale(scale: float) -> None:
    """With a small kernel the penalty dominates, with a large one it is negligible."""
    ridge = KernelRidge(kernel="linear", approximate="nystroem").fit(scale * X, Y["numbers"])
    free = np.linalg.lstsq(X, Y["numbers"], rcond=None)[0] if scale > 1 else np.zeros(2)
    np.testing.assert_allclose(ridge.predict(scale * NEW), NEW @ free, atol=1e-6)
    classes = kernelize(LogisticRegression(), "linear", "nystroem").fit(scale * X, Y["labels"])
    assert np.isfinite(classes.predict_proba(scale * NEW)).all()
    assert ridge.certificate_.holds
    assert classes.certificate_.holds


@pytest.mark.parametrize("alpha", ["loo", "gcv", 1.0])
def test_targets_that_are_0_or_constant(alpha: Any) -> None:
    fitted = KernelRidge(alpha=alpha, kernel="rbf", approximate="nystroem").fit(X, np.zeros(N))
    np.testing.assert_array_equal(fitted.predict(NEW), 0.0)
    assert fitted.certificate_.holds


def test_a_rare_class_absent_from_the_sample() -> None:
    rng = np.random.default_rng(1)
    rows = rng.normal(size=(3000, 2))
    labels = np.where(rows[:, 0] > 0, "right", "left").astype(object)
    labels[:2] = "rare"
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        fitted = kernelize(LogisticRegression(), "rbf", Nystroem(n_components=30, random_state=0)).fit(rows, labels)
        glm = GLM("categorical", penalty="l2", kernel="rbf", approximate=Nystroem(n_components=30, random_state=0))
        glm.fit(rows, labels)
    assert fitted.predict_proba(NEW).shape == (30, 3)
    assert np.isfinite(fitted.approximation_.distance)
    assert glm.predict_proba(NEW).shape == (30, 3)
    same(glm.predict_proba(NEW), fitted.predict_proba(NEW), 1e-4)
    two = kernelize(LogisticRegression(), "rbf", Nystroem(n_components=30, random_state=0))
    assert two.fit(rows, labels == "rare").certificate_.holds


def test_float32_tiles_of_many_rows_agree_with_float64_features() -> None:
    n, landmarks = 80_000, 50
    assert n * landmarks >= TileOptions().single_from
    rng = np.random.default_rng(2)
    rows = rng.normal(size=(n, 3))
    y = np.sin(rows[:, 0]) + 0.1 * rng.normal(size=n)
    nystroem = Nystroem(n_components=landmarks, random_state=0)
    features = clone(nystroem).fit_transform(rows)
    for model, linear, target in (
        (KernelRidge(kernel="rbf"), Ridge(fit_intercept=False), y),
        (kernelize(LogisticRegression(tol=1e-8), "rbf"), LogisticRegression(tol=1e-8), y > 0),
    ):
        fitted = clone(model).set_params(approximate=nystroem).fit(rows, target)
        same(output(fitted, rows[:50]), output(linear.fit(features, target), features[:50]))


@QUICK
@pytest.mark.parametrize("approximate", ["nystroem", "fourier"])
def test_models_can_be_pickled_and_cloned(name: str, approximate: str) -> None:
    model, kind = MODELS[name]
    fitted = clone(model).set_params(approximate=approximate).fit(X, Y[kind])
    np.testing.assert_array_equal(output(pickle.loads(pickle.dumps(fitted)), NEW), output(fitted, NEW))
    same(output(clone(fitted).fit(X, Y[kind]), NEW), output(fitted, NEW), 1e-12)


@QUICK
def test_features_are_parameters_that_can_be_searched(name: str) -> None:
    model, kind = MODELS[name]
    model = clone(model).set_params(approximate=Nystroem(n_components=2, random_state=0))
    search = GridSearchCV(model, {"approximate__n_components": [2, 30]}, cv=3).fit(X, Y[kind])
    assert search.best_params_ == {"approximate__n_components": 30}


@QUICK
def test_a_failed_fit_leaves_the_old_model(name: str) -> None:
    model, kind = MODELS[name]
    fitted = clone(model).set_params(approximate="nystroem").fit(X, Y[kind])
    before, printed = output(fitted, NEW), str(fitted.approximation_)
    with pytest.raises((KernelError, ValueError), match="approximate"):
        fitted.set_params(approximate=Ridge()).fit(X, Y[kind])
    np.testing.assert_array_equal(output(fitted, NEW), before)
    assert str(fitted.approximation_) == printed


@pytest.mark.parametrize("name", ["ridge", "logistic", "glm poisson", "kernel ridge"])
def test_interrupting_keeps_the_best(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    model, kind = MODELS[name]
    monkeypatch.setattr(
        mapped_newton.MappedNewtonDescent, "_find_step", interrupted_at(2, mapped_newton.MappedNewtonDescent._find_step)
    )
    fitted = clone(model).set_params(approximate=Nystroem(n_components=40, random_state=0))
    with pytest.raises(FitInterrupted):
        fitted.fit(X, Y[kind])
    assert np.isfinite(output(fitted, NEW)).all()
    assert not fitted.certificate_.holds
    assert not hasattr(fitted, "approximation_")


def test_interrupting_the_assessment_of_the_features_keeps_the_fit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mercer.linear_model.kernel_fit.fit_without_comparison", interrupt)
    for model in (KernelRidge(kernel="rbf"), kernelize(Ridge(), "rbf")):
        fitted = clone(model).set_params(approximate="nystroem")
        with pytest.raises(FitInterrupted):
            fitted.fit(X, Y["numbers"])
        assert fitted.certificate_.holds


def test_offsets_and_exposures_are_used() -> None:
    exposure = RNG.uniform(0.5, 2, size=N)
    model = GLM("poisson", penalty="l2", kernel=KERNEL)
    exact = clone(model).fit(X, Y["counts"], exposure=exposure)
    fitted = clone(model).set_params(approximate=all_rows()).fit(X, Y["counts"], exposure=exposure)
    same(fitted.predict(NEW), exact.predict(NEW))


def test_the_cost_of_an_approximation_is_estimated() -> None:
    rows = np.random.default_rng(0).normal(size=(20_000, 5))
    for model in (KernelRidge(kernel="rbf"), kernelize(LogisticRegression(), "rbf"), GLM(penalty="l2", kernel="rbf")):
        cost = estimate_cost(clone(model).set_params(approximate=Nystroem(n_components=100)), rows)
        exact = estimate_cost(model, rows)
        assert 0 < cost.seconds < exact.seconds
        assert cost.bytes < exact.bytes
        assert cost.fits
        assert "features" in cost.sentence


def test_uniform_landmarks_cost_nothing_to_choose() -> None:
    rows = np.random.default_rng(0).normal(size=(20_000, 5))
    model = KernelRidge(kernel="rbf")
    any_rows, chosen = (
        work.work_of(clone(model).set_params(approximate=Nystroem(n_components=300, landmarks=rule)), rows)
        for rule in ("uniform", "rpcholesky")
    )
    assert any_rows.flops < chosen.flops
    assert any_rows.entries < chosen.entries
    assert any_rows.memory < chosen.memory
