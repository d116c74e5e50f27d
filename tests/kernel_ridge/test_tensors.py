"""Kernel models of tensors agree with those of arrays."""

from __future__ import annotations

import pickle
import re

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV

from mercer import (
    GLM,
    KernelRidge,
    LogisticRegression,
    Nystroem,
    PoissonRegressor,
    RandomFourierFeatures,
    Ridge,
    kernelize,
)
from mercer._errors import DataError, DeviceError, KernelError, NonFiniteError, TooLargeError
from mercer.families import IDENTITY, Gaussian
from mercer.families.response import Response
from mercer.kernel_approximation.function import MAX_EXACT_ROWS, KernelFunction
from mercer.kernel_approximation.nystroem_map import NystroemMap
from mercer.kernels import RBF, Spectrum
from mercer.linear_model.glm_response import MeanResponse
from mercer.linear_model.glm_solve import SolverLimits
from mercer.linear_model.kernel_fit import KernelData, KernelFit, kernel_convergence_warnings
from mercer.matrices.mapped_tensors import LandmarkTensors
from mercer.optim.span import mapped_newton, tensor_ridge
from mercer.optim.span.losses import ResponseLosses
from mercer.optim.span.mapped_newton import MappedProblem
from mercer.optim.span.tensor_losses import TensorRowLosses
from tests._ctrl_c import interrupt
from tests._gpu._devices import DEVICES

torch = pytest.importorskip("torch")

RNG = np.random.default_rng(0)
N = 150
X = RNG.normal(size=(N, 3)).astype(np.float32).astype(float)
F = np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2]
Y = {
    "gaussian": F + 0.3 * RNG.normal(size=N),
    "bernoulli": (RNG.random(N) < 1 / (1 + np.exp(-2 * F))).astype(int),
    "poisson": RNG.poisson(np.exp(F / 2)),
    "categorical": np.digitize(F, [-0.5, 0.5]),
}
FEATURES = {
    "exact": None,
    "nystroem": Nystroem(n_components=30, random_state=0),
    "fourier": RandomFourierFeatures(n_components=40, random_state=0),
}


def close(a, b, error):
    a, b = (part.cpu().numpy() if isinstance(part, torch.Tensor) else part for part in (a, b))
    np.testing.assert_allclose(a, b, rtol=0, atol=error * max(1.0, np.abs(b).max()))


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize(("dtype", "error"), [("float64", 1e-7), ("float32", 1e-5)])
@pytest.mark.parametrize("features", FEATURES)
@pytest.mark.parametrize("family", Y)
def test_a_glm_of_tensors_agrees_with_arrays(device, dtype, error, features, family):
    T = torch.as_tensor(X, dtype=getattr(torch, dtype), device=device)
    model = GLM(family, penalty="l2", kernel=RBF(gamma=0.5), approximate=FEATURES[features])
    of_arrays = pickle.loads(pickle.dumps(model.fit(X, Y[family])))
    of_tensors = model.fit(T, torch.as_tensor(Y[family], device=device))
    found = of_tensors.predict_linear(T)
    assert found.device == T.device
    assert found.dtype == T.dtype
    assert of_tensors.certificate_.holds
    assert T.device.type in of_tensors.plan_.device
    close(found, of_arrays.predict_linear(X), error)
    close(of_tensors.predict_linear(X), of_arrays.predict_linear(X), error)
    close(of_arrays.predict_linear(T), of_arrays.predict_linear(X), error)


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize(("dtype", "error"), [("float64", 1e-9), ("float32", 1e-5)])
@pytest.mark.parametrize("features", FEATURES)
def test_kernel_ridge_with_weights_and_several_penalties(device, dtype, error, features):
    T = torch.as_tensor(X, dtype=getattr(torch, dtype), device=device)
    targets, weight = np.column_stack([Y["gaussian"], Y["poisson"]]), RNG.integers(0, 3, N)
    model = KernelRidge(alpha=[0.3, 2.0], kernel="rbf", gamma="scale", approximate=FEATURES[features])
    expected = model.fit(X, targets, weight).predict(X)
    score = model.score(X, targets)
    model.fit(T, torch.as_tensor(targets, device=device), torch.as_tensor(weight, device=device))
    close(model.predict(T), expected, error)
    close(model.predict(X), expected, error)
    assert model.score(T, torch.as_tensor(targets, device=device)) == pytest.approx(score, abs=10 * error)


def test_labels_offsets_and_exposure():
    T, names = torch.as_tensor(X), np.array(["low", "mid", "high"])[Y["categorical"]]
    model = kernelize(LogisticRegression(), "rbf")
    expected = model.fit(X, names).predict_proba(X)
    close(model.fit(T, names).predict_proba(T), expected, 1e-6)
    assert (model.predict(T) == model.predict(X)).all()
    assert model.score(T, names) == model.score(X, names)
    exposure = RNG.uniform(1, 3, N)
    glm = GLM("poisson", penalty="l2", kernel="rbf")
    expected = glm.fit(X, Y["poisson"], exposure=exposure).predict_linear(X)
    close(glm.fit(T, Y["poisson"], exposure=torch.as_tensor(exposure)).predict_linear(T), expected, 1e-7)


def test_warm_and_cold_starts_of_tensors_agree():
    T = torch.as_tensor(X)
    model = GLM("bernoulli", penalty="l2", kernel="rbf", warm_start=True).fit(T, Y["bernoulli"])
    expected = model.predict_linear(X)
    close(model.fit(T, Y["bernoulli"]).predict_linear(X), expected, 1e-9)


def test_parameters_are_chosen_in_main_memory():
    model = KernelRidge(alpha="loo", kernel="rbf", gamma="scale")
    expected = model.fit(X, Y["gaussian"]).predict(X)
    close(model.fit(torch.as_tensor(X), Y["gaussian"]).predict(torch.as_tensor(X)), expected, 1e-9)
    assert model.plan_.device == "cpu"
    assert model.fit(torch.as_tensor(X, dtype=torch.bfloat16), Y["gaussian"]).plan_.device == "cpu"


def test_kernel_matrices_and_models_of_sparse_rows_take_tensors():
    K = RBF(gamma=0.5)(X)
    model = KernelRidge(kernel="precomputed").fit(K, Y["gaussian"])
    close(model.predict(torch.as_tensor(K)), model.predict(K), 1e-12)
    model = KernelRidge(kernel="rbf").fit(sparse.csr_array(X), Y["gaussian"])
    close(model.predict(torch.as_tensor(X)), model.predict(X), 1e-9)


@pytest.mark.parametrize("kernel", [Spectrum(), lambda x, z: float(x @ z)])
def test_kernels_without_tensor_support_are_rejected(kernel):
    for model in (KernelRidge(kernel=kernel), GLM("gaussian", penalty="l2", kernel=kernel), kernelize(Ridge(), kernel)):
        with pytest.raises(DeviceError, match="does not compare rows of a tensor"):
            model.fit(torch.as_tensor(X), Y["gaussian"])
    with pytest.raises(KernelError, match="precomputed"):
        GLM("gaussian", penalty="l2", kernel="precomputed").fit(torch.as_tensor(X), Y["gaussian"])


@pytest.mark.parametrize("name", ["y", "sample_weight", "offset"])
def test_tensors_on_different_devices_are_rejected(name):
    given = {"y": Y["poisson"], name: torch.ones(N, device="meta")}
    with pytest.raises(DeviceError, match=name):
        GLM("poisson", penalty="l2", kernel="rbf").fit(torch.as_tensor(X), **given)
    if name != "offset":
        for model in (KernelRidge(kernel="rbf"), KernelRidge(alpha="loo"), kernelize(Ridge(), "rbf")):
            with pytest.raises(DeviceError, match=name):
                model.fit(torch.as_tensor(X), **given)


def test_responses_of_a_wrong_shape_are_rejected():
    T = torch.as_tensor(X)
    for y in (np.zeros((N, 2, 2)), np.zeros(N - 1), torch.tensor(1.0)):
        for model in (KernelRidge(), kernelize(PoissonRegressor(), "rbf"), GLM("poisson", penalty="l2", kernel="rbf")):
            with pytest.raises(DataError):
                model.fit(T, y)
    with pytest.raises(DataError, match="1d array"):
        kernelize(PoissonRegressor(), "rbf").fit(T, np.ones((N, 2)))


def test_a_failed_fit_leaves_the_old_model():
    model = KernelRidge(kernel="rbf").fit(torch.as_tensor(X), Y["gaussian"])
    expected = model.predict(X)
    with pytest.raises(NonFiniteError):
        model.fit(torch.full((N, 3), torch.nan), Y["gaussian"])
    close(model.predict(X), expected, 0.0)


def test_an_exact_model_of_too_many_rows_is_rejected():
    rows = torch.randn((MAX_EXACT_ROWS + 1, 2), dtype=torch.float64)
    with pytest.raises(TooLargeError, match="nystroem"):
        GLM("gaussian", penalty="l2", kernel="rbf").fit(rows, rows[:, 0])


def test_ctrl_c_keeps_the_best_iterate(monkeypatch):
    monkeypatch.setattr(mapped_newton.MappedNewtonDescent, "advance", interrupt)
    model = GLM("bernoulli", penalty="l2", kernel="rbf")
    with pytest.raises(KeyboardInterrupt):
        model.fit(torch.as_tensor(X), Y["bernoulli"])
    assert model.predict(torch.as_tensor(X)).shape == (N,)
    assert not model.certificate_.holds


def test_exact_ridge_by_steps():
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(4_100, 2))
    y = np.sin(rows[:, 0]) + 0.1 * rng.normal(size=4_100)
    model = KernelRidge(alpha=0.5, kernel="rbf")
    expected = model.fit(rows, y).predict(rows)
    close(model.fit(torch.as_tensor(rows), y).predict(rows), expected, 1e-7)
    assert "pivots" in str(model.plan_)


@pytest.mark.parametrize("alpha", [1.0, 1e-4, 1e-6])
def test_exact_ridge_of_float32_has_the_digits_that_a_small_penalty_needs(alpha):
    kernel, T = RBF(gamma=0.5), torch.as_tensor(X[:, :2], dtype=torch.float32)
    target, strength = Y["gaussian"][:, None], np.array([alpha])
    solution = tensor_ridge.kernel_ridge(kernel, T, target, None, strength, max_factored_rows=0, double=False)
    exact = KernelRidge(alpha, kernel=kernel).fit(X[:, :2], Y["gaussian"])
    assert solution.certificate.holds
    assert ("float64" in solution.coef.path) is (alpha < 1e-3)
    function = KernelFunction(kernel, T.numpy(), solution.coef.coefficients, np.zeros(1))
    close(function.values(T, double=False)[:, 0], exact.predict(X[:, :2]), 5e-4)


def test_values_of_float32_rows_have_digits_where_coefficients_cancel():
    rows = np.linspace(0, 1, 40)[:, None].astype(np.float32)
    alpha = np.linalg.solve(RBF()(rows.astype(float)) + 1e-8 * np.eye(40), np.sin(6 * rows))
    function = KernelFunction(RBF(), rows, alpha, np.zeros(1))
    assert np.abs(alpha).max() > 1e3
    close(function.values(torch.as_tensor(rows), double=False), function.values(rows.astype(float)), 1e-6)


def test_a_failed_float32_fit_names_the_remedy():
    kernel, T = RBF(gamma=0.02), torch.as_tensor(X[:, :1], dtype=torch.float32)
    features = NystroemMap.of(kernel, X[:, :1])
    design = LandmarkTensors.of(kernel, T, T, features.back, intercept=True, double=False)
    kind = MeanResponse(Response(Gaussian(), IDENTITY))
    losses = ResponseLosses(kind.response, Y["gaussian"][:, None])
    problem = MappedProblem(design, TensorRowLosses.on_device_of(losses, T), np.array([1e-9]))
    limits = SolverLimits(tolerance=5e-5 * np.sqrt(N), most_steps=100)  # those of a GLM of float32 rows
    solution = mapped_newton.solve(problem, None, tolerance=limits.tolerance, most_steps=limits.most_steps)
    assert not solution.certificate.holds
    function = KernelFunction(kernel, X[:, :1], np.zeros((N, 1)), np.zeros(1))
    fit = KernelFit(function, solution, kind, "", lambda: problem, KernelData(Y["gaussian"]), intercept=True)
    (warning,) = kernel_convergence_warnings(fit, limits)
    assert re.search(r"not converged: .* > .*float32.*X\.double\(\).*fewer landmarks", str(warning))


EDGES = {
    "huge columns": lambda: (1e150 * X, None),
    "tiny columns": lambda: (1e-150 * X, None),
    "more columns than rows": lambda: (RNG.normal(size=(N, 2 * N)), None),
    "constant columns": lambda: (np.ones_like(X), None),
    "rows without weight": lambda: (X, (np.arange(N) % 3 > 0).astype(float)),
    "tiny weights": lambda: (X, np.full(N, 1e-150)),
}


@pytest.mark.parametrize("features", ["exact", "nystroem"])
@pytest.mark.parametrize("family", ["gaussian", "categorical", "poisson"])
@pytest.mark.parametrize("edge", EDGES)
def test_edge_cases_agree_with_arrays(edge, family, features):
    rows, weight = EDGES[edge]()
    T, weights = torch.as_tensor(rows), None if weight is None else torch.as_tensor(weight)
    model = GLM(family, penalty="l2", kernel="rbf", approximate=FEATURES[features])
    arrays = clone(model).fit(rows, Y[family], weight)
    given = clone(model).fit(T, torch.as_tensor(Y[family]), weights)
    assert arrays.certificate_.holds
    assert given.certificate_.holds
    close(given.predict_linear(T), arrays.predict_linear(rows), 1e-7)


def test_searches_over_tensors_and_arrays_agree():
    search = GridSearchCV(KernelRidge(kernel="rbf"), {"alpha": [0.01, 100.0], "gamma": [0.1, 1.0]}, cv=3)
    arrays, given = clone(search).fit(X, Y["gaussian"]), clone(search).fit(*map(torch.as_tensor, (X, Y["gaussian"])))
    assert given.best_params_ == arrays.best_params_
    close(pickle.loads(pickle.dumps(given)).predict(torch.as_tensor(X)), arrays.predict(X), 1e-9)
