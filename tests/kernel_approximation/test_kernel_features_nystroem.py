"""Nystroem: scikit-learn's numbers, better landmarks, and the error they leave."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from sklearn import kernel_approximation
from sklearn.base import clone
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import FeatureUnion, make_pipeline
from sklearn.preprocessing import StandardScaler

from mercer import LogisticRegression, Nystroem, Ridge, engine
from mercer._errors import DataError, KernelError, NonFiniteError, TooLargeError
from mercer.kernel_approximation._nystroem import make_nystroem_map
from mercer.kernels import RBF, FromFunction, Linear, Polynomial, Spectrum, WeisfeilerLehman
from tests.kernel_approximation._kernel_features import RULES
from tests.kernel_approximation._kernel_features import uniform_rows as rows
from tests.kernels._clusters import clusters

NAMES = ["rbf", "laplacian", "chi2", "poly", "polynomial", "sigmoid", "cosine", "linear", "additive_chi2"]


def true_error(features: Any, K: Any) -> float:
    return float(np.trace(K - features @ features.T) / np.trace(K))


# scikit-learn's numbers.


@pytest.mark.parametrize("kernel", NAMES)
def test_named_kernels(kernel: str) -> None:
    X = rows()
    ours, theirs = (
        made(kernel=kernel, n_components=5, random_state=3).fit(X) for made in (Nystroem, kernel_approximation.Nystroem)
    )
    assert_array_equal(ours.component_indices_, theirs.component_indices_)
    assert_array_equal(ours.components_, theirs.components_)
    assert_allclose(ours.normalization_, theirs.normalization_, rtol=1e-9, atol=1e-10)
    assert_allclose(ours.transform(X), theirs.transform(X), rtol=1e-10, atol=1e-10)
    assert_array_equal(ours.get_feature_names_out(), theirs.get_feature_names_out())


@pytest.mark.parametrize(
    "params",
    [
        {"gamma": 2.0},
        {"kernel": "poly", "degree": 2, "coef0": 0.5, "gamma": 0.3},
        {"kernel": "poly", "degree": 2.5, "coef0": 1.0},
        {"kernel": "sigmoid", "coef0": -0.5, "gamma": 0.1},
        {"kernel_params": {"gamma": 3.0, "unknown": 1}},
        # scikit-learn hands over sparse rows as matrices
        {"kernel": lambda x, z, power: float((x @ z.T).sum()) ** power, "kernel_params": {"power": 3}},
        {"n_jobs": 2, "kernel": lambda x, z: float((x @ z.T).sum()) + 1},
    ],
)
@pytest.mark.parametrize("container", [np.asarray, sp.csr_matrix, lambda X: X.astype(np.float32)])
def test_parameters_and_containers(params: dict[str, Any], container: Any) -> None:
    X = container(rows())
    ours, theirs = (
        made(n_components=4, random_state=1, **params).fit(X) for made in (Nystroem, kernel_approximation.Nystroem)
    )
    features = ours.transform(X)
    assert features.dtype == ours.normalization_.dtype == theirs.normalization_.dtype
    assert_allclose(features, theirs.transform(X), atol=1e-9 if X.dtype == np.float64 else 2e-4)


def test_a_given_matrix() -> None:
    K = rbf_kernel(rows(20))
    ours, theirs = (
        made(kernel="precomputed", n_components=20, random_state=0).fit(K)
        for made in (Nystroem, kernel_approximation.Nystroem)
    )
    assert_allclose(ours.transform(K), theirs.transform(K), atol=1e-8)


@pytest.mark.parametrize("rule", RULES)
def test_some_rows_of_a_given_matrix(rule: str) -> None:
    """scikit-learn wants all of them."""
    X = rows()
    by_matrix, by_kernel = (
        Nystroem(kernel, n_components=15, random_state=0, landmarks=rule).fit(given)
        for kernel, given in (("precomputed", RBF(gamma=0.2)(X)), (RBF(gamma=0.2), X))
    )
    assert_array_equal(by_matrix.component_indices_, by_kernel.component_indices_)
    assert_allclose(by_matrix.transform(RBF(gamma=0.2)(X[:7], X)), by_kernel.transform(X[:7]), atol=1e-7)
    assert_allclose(by_matrix.approximation_error_, by_kernel.approximation_error_, rtol=1e-6)


def test_more_landmarks_than_rows() -> None:
    X = rows(12)
    with pytest.warns(UserWarning, match=r"n_components > n_samples[\s\S]*All 12 rows are landmarks") as caught:
        model = Nystroem(n_components=13).fit(X)
    assert caught[0].filename == __file__
    features = model.transform(X)
    assert features.shape == (12, 12)
    assert_allclose(features @ features.T, rbf_kernel(X), atol=1e-8)


@pytest.mark.parametrize("kernel", [RBF(), "precomputed", lambda x, z: 1.0])
@pytest.mark.parametrize("param", ["gamma", "coef0", "degree"])
def test_parameters_of_named_kernels_are_rejected_with_kernel_objects(kernel: Any, param: str) -> None:
    with pytest.raises(ValueError, match="Don't pass gamma, coef0 or degree to Nystroem"):
        Nystroem(kernel, **{param: 1.0}).fit(np.eye(120))


# The lecture's laws.


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("kernel", [RBF(gamma=1.0), Linear() + RBF(gamma=3), Polynomial(2)], ids=repr)
def test_the_map_is_exact_on_its_landmarks(kernel: Any, rule: str) -> None:
    X = rows()
    model = Nystroem(kernel, n_components=15, landmarks=rule, random_state=0).fit(X)
    features = model.transform(model.components_)
    assert_allclose(features @ features.T, kernel(model.components_), atol=1e-8)


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("kernel", [1e-20 * RBF(gamma=1.0), 1e-200 * RBF(gamma=1.0), 1e200 * RBF(gamma=1.0)], ids=repr)
def test_kernels_far_from_one_are_exact_on_landmarks(kernel: Any, rule: str) -> None:
    X = rows()
    model = Nystroem(kernel, n_components=10, landmarks=rule, random_state=0).fit(X)
    size, features = float(kernel.diag(X[:1])[0]), model.transform(model.components_)
    assert_allclose(
        (features / np.sqrt(size)) @ (features / np.sqrt(size)).T, kernel(model.components_) / size, atol=1e-8
    )


@pytest.mark.parametrize("rule", RULES)
def test_the_reported_error_is_the_true_one(rule: str) -> None:
    X = clusters(400)
    model = Nystroem(gamma=0.5, n_components=25, landmarks=rule, random_state=0).fit(X)
    assert_allclose(model.approximation_error_, true_error(model.transform(X), rbf_kernel(X, gamma=0.5)), rtol=1e-6)
    assert "error of all rows" in model.plan_.path


@pytest.mark.parametrize("rule", RULES[:2])
def test_the_error_estimated_from_some_rows_is_close_to_the_true_one(rule: str) -> None:
    X = clusters(3000)
    model = Nystroem(gamma=0.5, n_components=25, landmarks=rule, random_state=0).fit(X)
    true = true_error(model.transform(X), rbf_kernel(X, gamma=0.5))
    assert abs(model.approximation_error_ - true) < 4 * np.sqrt(true * (1 - true) / 500)
    assert "error of 500 rows" in model.plan_.path


def test_pivots_leave_a_smaller_error_than_uniform_landmarks_on_clustered_data() -> None:
    X = clusters(800)
    errors = {
        rule: [
            Nystroem(gamma=0.5, n_components=31, landmarks=rule, random_state=seed).fit(X).approximation_error_
            for seed in range(5)
        ]
        for rule in RULES
    }
    assert max(errors["rpcholesky"]) < 0.5 * min(errors["uniform"])
    assert max(errors["kmeans++"]) < 0.5 * min(errors["uniform"])


@pytest.mark.parametrize("rule", RULES)
def test_a_tolerance_needs_fewer_landmarks(rule: str) -> None:
    X = clusters(800)
    model = Nystroem(gamma=0.5, n_components=400, landmarks=rule, random_state=0, tol=0.02).fit(X)
    n_landmarks = len(model.components_)
    assert 5 < n_landmarks < 400
    assert model.approximation_error_ <= 0.02 * (1 + 1e-6)
    assert model.transform(X).shape == (800, n_landmarks) == (800, len(model.get_feature_names_out()))
    assert len(model.component_indices_) == len(model.normalization_) == n_landmarks
    assert_array_equal(X[model.component_indices_], model.components_)


def test_zero_eigenvalues() -> None:
    """One column and a linear kernel: of 30 eigenvalues 29 are 0, and so are their features."""
    x = np.random.default_rng(0).normal(size=(100, 1))
    model = Nystroem("linear", n_components=30, random_state=0).fit(x)
    features = model.transform(x)
    assert_allclose(features @ features.T, x @ x.T, atol=1e-10)
    assert np.abs(features).max() <= np.abs(x).max()
    assert np.abs(model.normalization_).max() < 1e3  # scikit-learn has 1e6, times noise
    assert model.approximation_error_ < 1e-12


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize(
    ("X", "gamma"),
    [
        (np.repeat(rows(8), 40, axis=0), 1.0),
        (np.ones((60, 3)), 1.0),
        (np.c_[rows(60, 2), np.full(60, 1e8)], 1.0),
        (1e150 * rows(60), 1e-300),
        (1e-150 * rows(60), 1e300),
        (rows(60) + 1e8, 1.0),
        (rows(60, 300), 0.01),
    ],
    ids=["repeated", "constant", "offset column", "huge", "tiny", "far away", "wide"],
)
def test_degenerate_rows_have_finite_features(rule: str, X: Any, gamma: float) -> None:
    kernel = RBF(gamma=gamma)
    model = Nystroem(kernel, n_components=20, landmarks=rule, random_state=0).fit(X)
    features, numbers = model.transform(X), model.component_indices_
    assert np.isfinite(features).all()
    assert np.abs(features).max() <= 1 + 1e-6
    assert_allclose(features[numbers] @ features[numbers].T, kernel(X[numbers]), atol=1e-6)


@pytest.mark.parametrize(("rule", "size"), zip(RULES, (3, 1, 1), strict=True))
def test_rows_of_zeros(rule: str, size: int) -> None:
    features = Nystroem("linear", n_components=3, random_state=0, landmarks=rule).fit_transform(np.zeros((9, 2)))
    assert_array_equal(features, np.zeros((9, size)))


@pytest.mark.parametrize("rule", RULES)
def test_the_map_for_a_solver_has_the_same_inner_products(rule: str) -> None:
    X = rows()
    transformer = Nystroem(n_components=20, landmarks=rule, random_state=0)
    for kernel, rank in ((Linear(), 5), (RBF(gamma=2.0), 20)):
        mapped = make_nystroem_map(kernel, transformer, X)
        whole = Nystroem(kernel, n_components=20, landmarks=rule, random_state=0).fit_transform(X)
        assert mapped.n_features == rank
        assert_allclose(mapped(X) @ mapped(X).T, whole @ whole.T, atol=1e-10)
    assert not hasattr(transformer, "components_")


def test_one_landmark_and_one_row() -> None:
    X = rows()
    features = Nystroem(n_components=1, random_state=0).fit_transform(X)
    assert features.shape == (300, 1)
    assert_allclose(features.max(), 1.0)
    assert_allclose(Nystroem(n_components=1).fit(X[:1]).transform(X[:1]), [[1.0]])


# What goes in.


@pytest.mark.parametrize("rule", RULES)
def test_texts_and_graphs(rule: str) -> None:
    words = ["".join(word) for word in np.random.default_rng(0).choice(list("abc"), (60, 9))]
    kernel = Spectrum(length=2).normalised()
    model = Nystroem(kernel, n_components=20, landmarks=rule, random_state=0).fit(words)
    features = model.transform(model.components_)
    assert_allclose(features @ features.T, kernel(model.components_), atol=1e-8)
    assert 0 <= model.approximation_error_ < 0.5
    rng = np.random.default_rng(1)
    graphs = [(rng.integers(0, 6, size=(8, 2)), rng.integers(0, 2, size=6)) for _ in range(25)]
    features = Nystroem(WeisfeilerLehman(2), n_components=25, landmarks=rule, random_state=0).fit_transform(graphs)
    assert_allclose(features @ features.T, WeisfeilerLehman(2)(graphs), atol=1e-6)


def test_objects_compared_by_a_function() -> None:
    words = ["a" * n for n in range(1, 31)]
    model = Nystroem(lambda x, z: float(min(len(x), len(z))), n_components=30, random_state=0).fit(words)
    assert_allclose(model.transform(["aaaa"]) @ model.transform(["aa"]).T, [[2.0]], atol=1e-8)


def test_sparse_rows_have_the_features_of_dense_ones() -> None:
    X = np.random.default_rng(0).poisson(0.4, size=(80, 12)).astype(float)
    for rule in RULES:
        sparse, dense = (
            Nystroem(gamma=0.3, n_components=20, landmarks=rule, random_state=0).fit(made(X))
            for made in (sp.csr_matrix, np.asarray)
        )
        assert sp.issparse(sparse.components_)
        assert_array_equal(sparse.component_indices_, dense.component_indices_)
        assert_allclose(sparse.transform(sp.csc_matrix(X)), dense.transform(X), atol=1e-9)


def test_order_ownership_and_threads_do_not_matter() -> None:
    X = rows(1500)
    expected = Nystroem(n_components=30, random_state=0).fit_transform(X)
    locked = np.asfortranarray(X)
    locked.flags.writeable = False
    with engine(threads=1):
        assert_allclose(Nystroem(n_components=30, random_state=0).fit_transform(locked), expected, atol=1e-10)
    assert_allclose(
        Nystroem(n_components=30, random_state=0).fit_transform(np.repeat(X, 2, axis=1)[:, ::2]), expected, atol=1e-10
    )


def test_float32_agrees_with_float64() -> None:
    X = rows().astype(np.float32)
    single = Nystroem(gamma=0.1, n_components=40, random_state=0).fit(X)
    double = Nystroem(gamma=0.1, n_components=40, random_state=0).fit(X.astype(float))
    assert single.transform(X).dtype == single.normalization_.dtype == single.components_.dtype == np.float32
    assert_allclose(single.transform(X), double.transform(X.astype(float)), atol=1e-6)
    assert single.plan_.dtype == "float32"


@pytest.mark.parametrize("name", ["pandas", "polars"])
def test_frames(name: str) -> None:
    frames = pytest.importorskip(name)
    X = rows()
    frame = frames.DataFrame({f"c{j}": X[:, j] for j in range(5)})
    model = Nystroem(n_components=7, random_state=0).set_output(transform=name)
    out = model.fit_transform(frame)
    assert isinstance(out, frames.DataFrame)
    assert list(out.columns) == [f"nystroem{j}" for j in range(7)]
    assert_allclose(out.to_numpy(), Nystroem(n_components=7, random_state=0).fit_transform(X))
    assert list(model.feature_names_in_) == ["c0", "c1", "c2", "c3", "c4"]


def test_features_are_combined_with_other_features() -> None:
    """Lecture 5: "or appended to other features we construct"."""
    X = rows()
    y = np.sin(9 * X[:, 0]) + 3 * X[:, 1]
    union = FeatureUnion([("itself", StandardScaler()), ("waves", Nystroem(RBF(gamma=20).on(0), random_state=0))])
    both = make_pipeline(union, Ridge(alpha=1e-3)).fit(X, y)
    assert both.score(X, y) > 0.99 > Ridge().fit(X, y).score(X, y)


def test_landmarks_and_kernels_can_be_searched() -> None:
    X = rows()
    y = (np.sin(9 * X[:, 0]) > 0).astype(int)
    model = make_pipeline(Nystroem(RBF(gamma=1.0), random_state=0), LogisticRegression(C=100))
    grid = {"nystroem__kernel__gamma": [1e-3, 3.0], "nystroem__n_components": [3, 60]}
    search = GridSearchCV(model, grid, cv=3).fit(X, y)
    assert search.best_params_ == {"nystroem__kernel__gamma": 3.0, "nystroem__n_components": 60}
    assert model[0].kernel == RBF(gamma=1.0)
    by_matrix = make_pipeline(Nystroem("precomputed", random_state=0, n_components=50), LogisticRegression())
    GridSearchCV(by_matrix, {"nystroem__n_components": [20, 50]}, cv=3).fit(RBF(gamma=3.0)(X), y)


def test_models_can_be_copied() -> None:
    X = rows()
    model = Nystroem(RBF(gamma=1.0), n_components=9, random_state=0, landmarks="rpcholesky", tol=1e-9).fit(X)
    assert_array_equal(pickle.loads(pickle.dumps(model)).transform(X), model.transform(X))
    assert_array_equal(clone(model).fit(X).transform(X), model.transform(X))


# Bad input.


def test_a_failed_fit_leaves_the_old_model() -> None:
    X = rows()
    model = Nystroem(n_components=5, random_state=0).fit(X)
    before = model.transform(X)
    bad = X.copy()
    bad[3, 1] = np.nan
    with pytest.raises(NonFiniteError, match="Input X contains NaN"):
        model.fit(bad)
    assert_array_equal(model.transform(X), before)
    with pytest.raises(NonFiniteError):
        model.transform(bad)
    with pytest.raises(ValueError, match="expecting 5 features"):
        model.transform(X[:, :2])


@pytest.mark.parametrize("params", [{"landmarks": "best"}, {"tol": 1.0}, {"tol": -0.1}, {"n_components": 0}])
def test_parameters_out_of_range_are_rejected(params: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=f"The '{next(iter(params))}' parameter of Nystroem"):
        Nystroem(**params).fit(rows())


def test_a_matrix_that_is_not_square_is_rejected() -> None:
    with pytest.raises(DataError, match="Precomputed matrix must be a square matrix"):
        Nystroem("precomputed", n_components=2).fit(np.ones((3, 4)))


def test_a_function_is_called_no_more_often_than_by_scikit_learn() -> None:
    calls = []

    def kernel(x: Any, z: Any) -> float:
        calls.append(1)
        return float(x @ z)

    model = Nystroem(kernel, n_components=6, random_state=0).fit(rows())
    assert len(calls) == 21
    assert np.isnan(model.approximation_error_)
    assert Nystroem(kernel, n_components=6, random_state=0, landmarks="rpcholesky").fit(rows()).approximation_error_ < 1


@pytest.mark.parametrize("rule", RULES)
def test_kernels_with_nan_values_are_rejected(rule: str) -> None:
    with pytest.raises(NonFiniteError, match="a kernel is finite"):
        Nystroem(FromFunction(lambda x, z: np.nan), n_components=10, landmarks=rule, random_state=0).fit(rows())


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("size", [1e306, 1e308])
def test_kernels_whose_sum_overflows_are_rejected(rule: str, size: float) -> None:
    model = Nystroem(size * RBF(), n_components=10, landmarks=rule, random_state=0)
    with pytest.raises(KernelError, match=r"cannot add up .*1e-100"):
        model.fit(rows())
    large = model.set_params(kernel=1e300 * RBF()).fit(rows())
    plain = clone(large).set_params(kernel=RBF()).fit(rows())
    assert_allclose(large.approximation_error_, plain.approximation_error_, atol=1e-9)


def test_features_that_do_not_fit_into_memory_are_rejected(monkeypatch: pytest.MonkeyPatch) -> None:
    model = Nystroem(n_components=5, random_state=0).fit(rows())
    monkeypatch.setattr("mercer._memory.available_bytes", lambda: 1000)
    with pytest.raises(TooLargeError, match="300 rows of 5 features"):
        model.transform(rows())


@pytest.mark.parametrize("container", [sp.csr_array, sp.csr_matrix, sp.csc_array])
def test_landmarks_of_sparse_rows_are_sparse(container: Any) -> None:
    X = container(np.eye(6))
    ours, theirs = Nystroem(n_components=3).fit(X), kernel_approximation.Nystroem(n_components=3).fit(X)
    assert type(ours.components_) is type(theirs.components_)
