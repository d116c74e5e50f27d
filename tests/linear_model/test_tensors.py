"""Ridge, logistic regression and other GLMs of tensors are the models of the same arrays."""

from __future__ import annotations

import pickle
import warnings

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV

from mercer import (
    GLM,
    GammaRegressor,
    Lasso,
    LinearRegression,
    LogisticRegression,
    PoissonRegressor,
    Ridge,
    TweedieRegressor,
)
from mercer._errors import ColumnMismatchError, DataError, DeviceError, NonFiniteError, SeparationWarning, SupportError
from mercer.families import L1, L2
from mercer.optim.problem import Problem
from mercer.optim.softmax import SoftmaxProblem
from tests._ctrl_c import interrupted_at
from tests._gpu._devices import DEVICES

torch = pytest.importorskip("torch")

N = 400


def columns(seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=(N, 3)) * [1.0, 10.0, 0.1]


def linear(seed: int = 0) -> np.ndarray:
    return columns(seed) @ [0.5, -0.03, 2.0] + 0.2


def numbers(rng, eta):
    return eta + rng.normal(size=N)


def counts(rng, eta):
    return rng.poisson(np.exp(eta)).astype(float)


def amounts(rng, eta):
    return np.exp(eta) * rng.gamma(3.0, 1 / 3, size=N)


def two(rng, eta):
    return (rng.random(N) < 1 / (1 + np.exp(-eta))).astype(int)


def three(rng, eta):
    return two(rng, eta) + (rng.random(N) < 0.3)


def names(rng, eta):
    return np.array(["no", "yes"])[two(rng, eta)]


MODELS = {
    "ridge": (Ridge(), numbers),
    "ridge without an intercept": (Ridge(alpha=0.1, fit_intercept=False), numbers),
    "ridge by leaving one out": (Ridge(alpha="loo"), numbers),
    "least squares": (LinearRegression(), numbers),
    "logistic": (LogisticRegression(), two),
    "logistic without a penalty": (LogisticRegression(C=np.inf, fit_intercept=False), two),
    "logistic, balanced": (LogisticRegression(class_weight="balanced"), two),
    "logistic, intercept penalised": (LogisticRegression(solver="liblinear"), two),
    "logistic of names": (LogisticRegression(class_weight={"no": 2.0}), names),
    "softmax": (LogisticRegression(), three),
    "poisson": (PoissonRegressor(), counts),
    "gamma": (GammaRegressor(alpha=0), amounts),
    "tweedie": (TweedieRegressor(power=1.5, alpha=0.1), counts),
    "inverse Gaussian": (TweedieRegressor(power=3), amounts),
    "GLM gaussian": (GLM("gaussian"), numbers),
    "GLM ridge": (GLM("gaussian", penalty=L2(2.0)), numbers),
    "GLM poisson": (GLM("poisson"), counts),
    "GLM bernoulli": (GLM("bernoulli", penalty=L2(0.5)), two),
    "GLM probit": (GLM("bernoulli", "probit"), names),
    "GLM categorical": (GLM("categorical"), three),
    "GLM categorical, reference": (GLM("categorical", penalty="l2", reference=1), three),
    "GLM inverse link": (GLM("gamma"), amounts),
    "GLM lbfgs": (GLM("poisson", penalty=L2(1.0), solver="lbfgs"), counts),
}


def task(name: str):
    model, response = MODELS[name]
    rng = np.random.default_rng(1)
    return model, response(rng, linear()), rng.random(N)


def tensor(values, device="cpu"):
    """Return a tensor, or the values themselves if they are names, for which torch has no type."""
    return values if values.dtype.kind == "U" else torch.as_tensor(values, device=device)


def same(found, expected, **close):
    found = found.cpu().numpy() if isinstance(found, torch.Tensor) else found
    if expected.dtype.kind == "U":
        np.testing.assert_array_equal(found, expected)
    else:
        np.testing.assert_allclose(found, expected, **close)


def fitted(model, *data, **parameters):
    return type(model)(**{**model.get_params(deep=False), **parameters}).fit(*data)


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("device", DEVICES)
def test_fits_to_tensors_and_arrays_agree(name, dtype, device):
    model, y, weight = task(name)
    X = columns().astype(dtype)
    Z, weights = (torch.as_tensor(part, device=device) for part in (X, weight))
    labels = tensor(y, device)
    arrays = fitted(model, X, y, weight)
    given = fitted(model, Z, labels, weights)
    close = {"rtol": 1e-9, "atol": 1e-9} if dtype is np.float64 else {"rtol": 1e-5, "atol": 1e-5}
    assert given.certificate_.holds
    assert (given.plan_.device, given.plan_.dtype) == (str(Z.device), arrays.plan_.dtype)
    same(given.coef_, arrays.coef_, **close)
    for method in ("predict", "predict_proba", "predict_log_proba", "decision_function", "predict_linear"):
        if hasattr(arrays, method):
            expected = getattr(arrays, method)(X)
            found = getattr(given, method)(Z)
            assert expected.dtype.kind == "U" or found.device == Z.device
            same(found, expected, **close)
            same(getattr(given, method)(X), expected, **close)  # a model of tensors predicts arrays …
            same(getattr(arrays, method)(Z), expected, **close)  # … and one of arrays tensors
    expected = arrays.score(X, y, weight)
    assert given.score(Z, labels, weights) == pytest.approx(expected, rel=1e-5)


@pytest.mark.parametrize("name", MODELS)
def test_a_model_of_tensors_is_pickled(name):
    model, y, _ = task(name)
    X = torch.as_tensor(columns())
    given = fitted(model, X, tensor(y))
    same(pickle.loads(pickle.dumps(given)).predict(X), np.asarray(given.predict(X)))


@pytest.mark.parametrize("name", ["ridge", "logistic", "softmax", "poisson", "GLM poisson"])
def test_columns_far_from_zero_keep_their_digits(name):
    model, y, _ = task(name)
    far = np.array([1e8, 0.0, -1e4])
    X = columns() + far
    arrays, given = fitted(model, X, y), fitted(model, torch.as_tensor(X), tensor(y))
    np.testing.assert_allclose(given.coef_, arrays.coef_, rtol=1e-8, atol=1e-12)
    centred = fitted(model, torch.as_tensor(X - far), tensor(y))
    np.testing.assert_allclose(given.coef_, centred.coef_, rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("name", ["ridge", "logistic", "poisson", "GLM bernoulli"])
def test_every_kind_of_tensor_is_accepted(name):
    model, y, _ = task(name)
    X = np.round(4 * columns())
    expected = fitted(model, X, y).coef_
    wide = torch.as_tensor(np.repeat(X, 2, axis=1))
    for given in (
        torch.as_tensor(X).T.contiguous().T,
        wide[:, ::2],
        torch.as_tensor(X, dtype=torch.int32),
        torch.as_tensor(X).requires_grad_(),
    ):
        np.testing.assert_allclose(fitted(model, given, tensor(y)).coef_, expected, rtol=1e-9, atol=1e-12)
    for half in (torch.float16, torch.bfloat16):
        given = fitted(model, torch.as_tensor(X).to(half), torch.as_tensor(y))
        assert given.plan_.dtype == "float32"
        np.testing.assert_allclose(given.coef_, expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(("width", "classes"), [(320, 2), (60, 8), (1600, 2)])
@pytest.mark.parametrize("device", DEVICES)
def test_many_columns_are_fitted_by_gradients(width, classes, device):
    rng = np.random.default_rng(9)
    X, weight = rng.normal(size=(500, width)), rng.random(500)
    y = np.argmax(X[:, :classes] + rng.gumbel(size=(500, classes)), axis=1)
    model = LogisticRegression(tol=1e-8, max_iter=1000)
    arrays = fitted(model, X, y, weight)
    given = fitted(model, *(torch.as_tensor(part, device=device) for part in (X, y, weight)))
    assert "L-BFGS" in given.plan_.path
    np.testing.assert_allclose(given.coef_, arrays.coef_, rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize("targets", [1, 2])
def test_several_targets_are_fitted_at_once(targets):
    rng = np.random.default_rng(3)
    X, Y = columns(), rng.normal(size=(N, targets))
    arrays = Ridge(alpha=np.arange(1.0, targets + 1)).fit(X, Y)
    given = Ridge(alpha=np.arange(1.0, targets + 1)).fit(torch.as_tensor(X), torch.as_tensor(Y))
    np.testing.assert_allclose(given.coef_, arrays.coef_, rtol=1e-10)
    same(given.predict(torch.as_tensor(X)), arrays.predict(X), rtol=1e-9, atol=1e-12)


def test_offset_and_exposure_are_added():
    rng = np.random.default_rng(4)
    X, y, exposure, offset = columns(), counts(rng, linear()), 0.5 + rng.random(N), rng.normal(size=N)
    arrays = GLM("poisson").fit(X, y, offset=offset, exposure=exposure)
    arguments = {"offset": torch.as_tensor(offset), "exposure": torch.as_tensor(exposure)}
    given = GLM("poisson").fit(torch.as_tensor(X), torch.as_tensor(y), **arguments)
    np.testing.assert_allclose(given.coef_, arrays.coef_, rtol=1e-9)
    assert given.null_deviance_ == pytest.approx(arrays.null_deviance_, rel=1e-10)
    same(given.predict(torch.as_tensor(X), **arguments), arrays.predict(X, offset, exposure), rtol=1e-9)


@pytest.mark.parametrize("family", ["poisson", "gaussian", "bernoulli", "categorical"])
def test_figures_of_a_glm_agree_with_arrays(family):
    response = {"poisson": counts, "gaussian": numbers, "bernoulli": two, "categorical": three}[family]
    X, y = columns(), response(np.random.default_rng(5), linear())
    arrays, given = GLM(family).fit(X, y), GLM(family).fit(torch.as_tensor(X), torch.as_tensor(y))
    for figure in ("deviance_", "null_deviance_", "dispersion_", "df_residual_", "log_likelihood_"):
        assert getattr(given, figure) == pytest.approx(getattr(arrays, figure), rel=1e-9)


@pytest.mark.parametrize("name", ["ridge", "least squares", "logistic without a penalty", "gamma", "GLM gaussian"])
def test_collinear_columns_have_the_same_answer_and_the_same_diagnosis(name):
    model, y, _ = task(name)
    X = np.column_stack([columns(), columns()[:, 0] * 2])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        arrays, given = fitted(model, X, y), fitted(model, torch.as_tensor(X), tensor(y))
    np.testing.assert_allclose(given.coef_, arrays.coef_, rtol=1e-6, atol=1e-8)
    if hasattr(arrays, "diagnosis_"):
        assert str(given.diagnosis_) == str(arrays.diagnosis_)


@pytest.mark.parametrize("classes", [2, 3])
def test_separated_classes_are_reported_as_for_arrays(classes):
    X = np.random.default_rng(6).normal(size=(90, 2))
    y = np.digitize(X[:, 0], [0.0] if classes == 2 else [-0.5, 0.5])
    X += 0.1 * np.sign(X)
    arrays, given = (LogisticRegression(C=np.inf).fit(*data) for data in ((X, y), (tensor(X), tensor(y))))
    assert [finding.code for finding in given.diagnosis_] == [finding.code for finding in arrays.diagnosis_]
    family = "bernoulli" if classes == 2 else "categorical"
    with pytest.warns(SeparationWarning, match="separates"):
        GLM(family).fit(tensor(X), tensor(y))
    np.testing.assert_allclose(
        GLM(family, on_separation="ridge").fit(tensor(X), tensor(y)).coef_,
        GLM(family, on_separation="ridge").fit(X, y).coef_,
        rtol=1e-6,
    )


def test_firth_agrees_with_arrays():
    X = np.arange(8.0)[:, None]
    y = (X[:, 0] > 3).astype(int)
    model = GLM("bernoulli", on_separation="firth")
    np.testing.assert_allclose(fitted(model, tensor(X), tensor(y)).coef_, fitted(model, X, y).coef_, rtol=1e-6)


@pytest.mark.parametrize("model", [LogisticRegression(), PoissonRegressor(), GLM("poisson")])
def test_a_warm_start_begins_at_the_last_coefficients(model):
    X, y = tensor(columns()), tensor(two(np.random.default_rng(7), linear()))
    model = fitted(model, X, y, warm_start=True)
    before = model.coef_.copy()
    model.fit(X, y)
    np.testing.assert_allclose(model.coef_, before, rtol=1e-6, atol=1e-9)
    assert np.max(model.n_iter_) <= 1


@pytest.mark.parametrize("name", ["ridge", "logistic", "softmax", "poisson", "GLM poisson"])
@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_a_value_that_is_not_finite_is_named(name, value):
    model, y, _ = task(name)
    X = columns()
    model = fitted(model, tensor(X), tensor(y))
    before = model.coef_.copy()
    X[3, 1] = value
    with pytest.raises(NonFiniteError, match="x1"):
        model.fit(tensor(X), tensor(y))
    np.testing.assert_array_equal(model.coef_, before)  # a fit that fails leaves the old model
    with pytest.raises(NonFiniteError, match="x1"):
        model.predict(tensor(X))


@pytest.mark.parametrize("name", ["ridge", "logistic", "poisson", "GLM poisson"])
def test_invalid_input_gives_the_errors_of_arrays(name):
    model, y, weight = task(name)
    X = tensor(columns())
    model = fitted(model, X, tensor(y))
    with pytest.raises(DeviceError, match=r"\.to\(X\.device\)"):
        model.fit(X, tensor(y).to("meta"))
    with pytest.raises(DeviceError, match="sample_weight"):
        model.fit(X, tensor(y), tensor(weight).to("meta"))
    with pytest.raises(ValueError, match="inconsistent"):
        model.fit(X, tensor(y)[:-1])
    with pytest.raises(ValueError, match=r"sample_weight|inconsistent"):
        model.fit(X, tensor(y), tensor(weight)[:-1])
    with pytest.raises(ValueError, match=r"[Nn]egative"):
        model.fit(X, tensor(y), -tensor(weight))
    with pytest.raises(ValueError, match="y"):
        model.fit(X, None)
    with pytest.raises(DataError, match="2D"):
        model.fit(X[:, 0], tensor(y))
    with pytest.raises(ColumnMismatchError, match="features"):
        model.predict(X[:, :2])
    with pytest.raises(ValueError, match=r"NaN|nan"):
        model.fit(X, torch.full((N,), np.nan))


@pytest.mark.parametrize("model", [PoissonRegressor(), GLM("poisson")])
def test_negative_counts_are_rejected(model):
    y = torch.ones(N)
    y[5] = -1
    with pytest.raises(SupportError, match=r"row 5|-1"):
        model.fit(tensor(columns()), y)


@pytest.mark.parametrize("model", [LogisticRegression(), GLM("bernoulli")])
def test_one_class_is_rejected(model):
    with pytest.raises(DataError, match="one class"):
        model.fit(tensor(columns()), torch.ones(N))


@pytest.mark.parametrize(
    ("model", "response"),
    [
        (LogisticRegression(solver="saga", l1_ratio=1.0), two),
        (Ridge(positive=True), numbers),
        (LinearRegression(positive=True), numbers),
        (Lasso(), numbers),
        (GLM("poisson", penalty=L1(1.0)), counts),
        (GLM("negative_binomial"), counts),
        (GLM("poisson", solver="online", tol=0.2), counts),
    ],
)
def test_options_without_tensors_are_fitted_in_main_memory(model, response):
    X, y = columns(), response(np.random.default_rng(8), linear())
    of_tensors, of_arrays = clone(model).fit(tensor(X), tensor(y)), clone(model).fit(X, y)
    np.testing.assert_array_equal(of_tensors.coef_, of_arrays.coef_)
    np.testing.assert_allclose(of_tensors.predict(tensor(X)), of_arrays.predict(X), rtol=1e-9, atol=1e-12)
    before = dict(vars(of_tensors))
    with pytest.raises(DeviceError, match=r"give X\.cpu\(\)"):
        of_tensors.fit(tensor(X).to("meta"), tensor(y).to("meta"))
    assert vars(of_tensors) == before


@pytest.mark.parametrize("name", ["logistic", "softmax", "poisson", "GLM poisson"])
def test_an_interrupted_fit_keeps_the_best_so_far(name, monkeypatch):
    model, y, _ = task(name)
    for kind in (Problem, SoftmaxProblem):
        monkeypatch.setattr(kind, "at", interrupted_at(3, kind.at))
    model = clone(model)
    with pytest.raises(KeyboardInterrupt):
        model.fit(tensor(columns()), tensor(y))
    assert not model.certificate_.holds
    assert len(model.predict(tensor(columns()))) == N


EDGES = {
    "huge columns": lambda X, y: (1e150 * X, y, None),
    "tiny columns": lambda X, y: (1e-150 * X, y, None),
    "columns of every size": lambda X, y: (X * [1e150, 1.0, 1e-150], y, None),
    "more columns than rows": lambda X, y: (np.random.default_rng(2).normal(size=(20, 50)), y[:20], None),
    "constant columns": lambda X, y: (np.ones_like(X), y, None),
    "rows without weight": lambda X, y: (X, y, (np.arange(N) % 3 > 0).astype(float)),
    "huge weights": lambda X, y: (X, y, np.full(N, 1e150)),
    "tiny weights": lambda X, y: (X, y, np.full(N, 1e-150)),
}


@pytest.mark.parametrize("name", ["ridge", "least squares", "logistic", "softmax", "poisson", "gamma", "GLM poisson"])
@pytest.mark.parametrize("edge", EDGES)
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_edge_cases_agree_with_arrays(name, edge):
    model, y, _ = task(name)
    X, y, weight = EDGES[edge](columns(), y)
    weights = None if weight is None else torch.as_tensor(weight)
    fits = []
    for data in ((X, y, weight), (torch.as_tensor(X), tensor(y), weights)):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            fits.append((fitted(model, *data), sorted({warning.category.__name__ for warning in caught})))
    (arrays, cautions), (given, same_cautions) = fits
    assert same_cautions == cautions
    assert given.certificate_.holds == arrays.certificate_.holds
    expected = arrays.predict(X)
    same(given.predict(torch.as_tensor(X)), expected, rtol=1e-7, atol=1e-7 * np.abs(expected).max())


@pytest.mark.parametrize(("name", "parameter"), [("ridge", "alpha"), ("softmax", "C"), ("poisson", "alpha")])
def test_searches_over_tensors_and_arrays_agree(name, parameter):
    model, y, _ = task(name)
    search = GridSearchCV(model, {parameter: [0.01, 100.0]}, cv=3)
    arrays, given = clone(search).fit(columns(), y), clone(search).fit(torch.as_tensor(columns()), tensor(y))
    assert given.best_params_ == arrays.best_params_
    np.testing.assert_allclose(given.cv_results_["mean_test_score"], arrays.cv_results_["mean_test_score"], rtol=1e-9)
    again = pickle.loads(pickle.dumps(given))
    same(again.predict(torch.as_tensor(columns())), arrays.predict(columns()), rtol=1e-9)
