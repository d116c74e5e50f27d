"""RandomFourierFeatures: any kernel with a spectrum, wherever the rows lie."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline, make_union
from sklearn.preprocessing import StandardScaler
from sklearn.utils._param_validation import InvalidParameterError

from mercer import KernelRidge, LogisticRegression, RandomFourierFeatures, Ridge
from mercer import kernels as k
from mercer._errors import DataError, NonFiniteError, NoSpectrumError
from tests.kernel_approximation._kernel_features import Array
from tests.kernel_approximation._kernel_features import normal_rows as rows

FORMS = pytest.mark.parametrize("form", ["cosine", "pairs"])
SAMPLINGS = pytest.mark.parametrize("sampling", ["independent", "orthogonal", "hadamard"])


def made(*args: Any, **params: Any) -> RandomFourierFeatures:
    return RandomFourierFeatures(*args, **{"n_components": 2000, "random_state": 0, **params})


@FORMS
@SAMPLINGS
@pytest.mark.parametrize(
    "kernel", ["rbf", "laplacian", "matern", "rational_quadratic", k.RBF() + 2 * k.Laplacian(), k.RBF() * k.Matern()]
)
def test_products_of_features_are_the_kernel(kernel: Any, form: str, sampling: str) -> None:
    X = rows()
    features = made(kernel, form=form, sampling=sampling).fit(X)
    psi = features.transform(X)
    assert psi.shape == (60, 2000)
    error = psi @ psi.T - features.kernel_(X)
    mass = features.kernel_.diag(X)[0]
    assert np.abs(error).max() < 6 * mass / np.sqrt(2000)
    assert features.approximation_error_ == pytest.approx(np.sqrt(np.mean(error**2)))


@FORMS
@SAMPLINGS
def test_the_same_seed_gives_the_same_map(form: str, sampling: str) -> None:
    X = rows(d=70)
    features = made(form=form, sampling=sampling, n_components=128)
    first = features.fit_transform(X)
    np.testing.assert_array_equal(clone(features).fit_transform(X), first)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(features)).transform(X), first)
    assert np.abs(features.set_params(random_state=1).fit_transform(X) - first).max() > 0.01


@FORMS
@SAMPLINGS
def test_rows_far_from_zero_keep_their_digits(form: str, sampling: str) -> None:
    X = rows().round(6)
    near = made(form=form, sampling=sampling).fit_transform(X)
    far = made(form=form, sampling=sampling).fit_transform(X + 1e8)
    np.testing.assert_allclose(far, near, atol=1e-7)  # X + 1e8 is rounded to 1e-8


def test_scales_that_are_far_from_one() -> None:
    X = rows()
    expected = made(gamma="scale").fit_transform(X)
    for scale in (1e-150, 1e150):
        np.testing.assert_allclose(made(gamma="scale").fit_transform(scale * X), expected, atol=1e-8)
    with pytest.raises(DataError, match=r"no digits left.*gamma='scale'"):
        made().fit(1e150 * X)


@pytest.mark.parametrize(
    "X", [rows(1), rows(d=1), np.ones((5, 3)), np.asfortranarray(rows()), rows().astype(int), rows(5, 300)]
)
@FORMS
@SAMPLINGS
def test_few_rows_few_columns_and_constant_columns(X: Array, form: str, sampling: str) -> None:
    features = made(form=form, sampling=sampling).fit(X)
    assert np.isfinite(features.transform(X)).all()
    assert features.approximation_error_ < 0.1


def test_one_component() -> None:
    assert made(n_components=1).fit_transform(rows()).shape == (60, 1)
    assert made(n_components=2, form="pairs").fit_transform(rows()).shape == (60, 2)


@FORMS
@SAMPLINGS
def test_float32(form: str, sampling: str) -> None:
    X = rows(d=70)
    features = made(form=form, sampling=sampling).fit(X.astype(np.float32))
    found = features.transform(X.astype(np.float32))
    assert found.dtype == features.random_weights_.dtype == np.float32
    np.testing.assert_allclose(found, made(form=form, sampling=sampling).fit_transform(X), atol=1e-5)


@FORMS
@SAMPLINGS
def test_sparse_rows(form: str, sampling: str) -> None:
    X = sp.random_array((50, 80), density=0.1, rng=np.random.default_rng(0), format="csr")
    features = made("laplacian", gamma=0.1, form=form, sampling=sampling).fit(X)
    assert features.shift_ is None
    np.testing.assert_allclose(features.transform(X), features.transform(X.toarray()), atol=1e-9)
    assert features.approximation_error_ < 0.03


@pytest.mark.parametrize("gamma", [2.0, "scale"])
def test_gamma_is_rejected_with_a_kernel_object(gamma: object) -> None:
    X = rows(20)
    fitted = made(k.RBF(gamma=1.0)).fit(X)
    with pytest.raises(DataError, match=r"gamma=.*RBF\(gamma=…\)"):
        fitted.set_params(gamma=gamma).fit(X)
    assert fitted.kernel_ == k.RBF(gamma=1.0)


def test_gamma_by_rule() -> None:
    X = rows()
    assert made(gamma="scale").fit(X).kernel_ == k.RBF(gamma=1 / (4 * X.var()))
    assert made(gamma="auto").fit(X).kernel_ == k.RBF(gamma=0.25)
    assert made().fit(X).kernel_ == made(None).fit(X).kernel_ == k.RBF()
    assert made(gamma=2.0).fit(X).kernel_ == k.RBF(gamma=2.0)
    assert 0.05 < made(gamma="median").fit(X).kernel_.gamma < 0.2


def test_the_variance_of_small_integers_does_not_overflow() -> None:
    X = np.random.default_rng(0).integers(0, 100, size=(20, 3)).astype(np.int8)
    sparse, dense = (made(gamma="scale").fit(data).kernel_.gamma for data in (sp.csr_array(X), X.astype(float)))
    assert sparse == pytest.approx(dense, rel=1e-12)


def test_parameters_of_the_kernel_in_a_search() -> None:
    X = rows(80, d=1)
    y = np.sin(3 * X[:, 0])
    pipeline = make_pipeline(made(k.RBF(gamma=1.0), n_components=100), Ridge(alpha=0.1))
    search = GridSearchCV(pipeline, {"randomfourierfeatures__kernel__gamma": [1e-6, 0.5]}, cv=3).fit(X, y)
    assert search.best_params_ == {"randomfourierfeatures__kernel__gamma": 0.5}


def test_ridge_on_the_features_is_kernel_ridge() -> None:
    X = rows(200, 2)
    y = np.sin(X[:, 0]) * X[:, 1]
    exact = KernelRidge(alpha=1.0, kernel="rbf", gamma=0.5).fit(X, y).predict(X)
    errors = []
    for M in (100, 6400):
        model = make_pipeline(made(gamma=0.5, n_components=M), Ridge(alpha=1.0, fit_intercept=False)).fit(X, y)
        errors.append(np.abs(model.predict(X) - exact).max())
    assert errors[1] < 0.03
    assert errors[1] < 0.4 * errors[0]


def test_appended_to_other_features() -> None:
    """Lecture 5: "or appended to other features we construct"; a circle is not a half-plane."""
    X = pd.DataFrame(rows(300, 2), columns=["a", "b"])
    y = (np.square(X).sum(axis=1) > 1.5).astype(int)
    union = make_union(StandardScaler(), made(n_components=100)).set_output(transform="pandas")
    assert union.fit_transform(X).shape == (300, 102)
    assert make_pipeline(union, LogisticRegression()).fit(X, y).score(X, y) > 0.9
    assert LogisticRegression().fit(X, y).score(X, y) < 0.7


def test_kernels_without_a_spectrum() -> None:
    features = made().fit(rows())
    for kernel in ("linear", "poly", k.RBF() + k.Linear(), np.dot):
        with pytest.raises(NoSpectrumError, match=r"RBF, Laplacian, Matern.*Nyström"):
            features.set_params(kernel=kernel).fit(rows())
    assert features.kernel_ == k.RBF()  # a failed fit leaves the model that was there


@pytest.mark.filterwarnings("error")
def test_integers_up_to_the_largest_are_accepted() -> None:
    """The mean of the rows is not representable, and need not be."""
    X = np.array([[0, 1, 2**63, 2**64 - 1, 5, 2**64 - 1]], dtype=np.uint64)
    features = made(n_components=10).fit(X)
    np.testing.assert_array_equal(features.shift_, X[0].astype(float))
    assert np.isfinite(features.transform(X)).all()


def test_invalid_input_is_rejected() -> None:
    with pytest.raises(DataError, match=r"even number such as 8"):
        made(form="pairs", n_components=7).fit(rows())
    with pytest.raises(InvalidParameterError, match="sampling"):
        made(sampling="uniform").fit(rows())
    with pytest.raises(NonFiniteError, match="row 0"):
        made().fit([[np.nan, 1.0]])


@FORMS
@SAMPLINGS
@pytest.mark.parametrize(("dtype", "error"), [("float64", 1e-9), ("float32", 1e-5)])
def test_tensors(form: str, sampling: str, dtype: str, error: float) -> None:
    torch = pytest.importorskip("torch")
    X = rows(d=70).astype(dtype)
    T = torch.as_tensor(X)
    ours, fitted = (made(form=form, sampling=sampling, n_components=128).fit(data) for data in (X, T))
    for features in (ours, fitted):
        found = features.transform(T)
        assert found.dtype == T.dtype
        np.testing.assert_allclose(found.numpy(), ours.transform(X), atol=error)
        np.testing.assert_allclose(features.transform(X), ours.transform(X), atol=error)
    assert fitted.approximation_error_ == pytest.approx(ours.approximation_error_, rel=1e-3)
    assert isinstance(fitted.random_weights_, np.ndarray)


@FORMS
@pytest.mark.parametrize("kernel", ["laplacian", "matern", "rbf"])
def test_float32_keeps_its_digits_for_large_angles(kernel: str, form: str) -> None:
    torch = pytest.importorskip("torch")
    X = (100 * rows()).astype(np.float32)
    features = made(kernel, form=form, n_components=100).fit(X)
    for found in (features.transform(X), features.transform(torch.as_tensor(X)).numpy()):
        assert found.dtype == np.float32
        np.testing.assert_allclose(found, features.transform(X.astype(float)), atol=1e-6)


def test_the_scale_of_a_tensor_is_computed_from_all_rows() -> None:
    torch = pytest.importorskip("torch")
    X = rows(1200) + np.arange(1200)[:, None]
    found, expected = (made(gamma="scale").fit(data).kernel_.gamma for data in (torch.as_tensor(X), X))
    assert found == pytest.approx(expected, rel=1e-12)
