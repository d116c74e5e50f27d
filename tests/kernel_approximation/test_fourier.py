"""E ψ(x)ᵀψ(z) = k(x, z) with an error that falls as 1/√M, whichever way frequencies are drawn."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from mercer import engine
from mercer import kernels as k
from mercer._errors import DeviceMemoryError
from mercer.kernel_approximation.fourier import DIRECTIONS, FourierMap

Array = np.ndarray
KERNELS: list[k.Kernel] = [
    k.RBF(),
    k.Matern(nu=0.5, length_scale=2.0),
    k.Matern(nu=1.5),
    k.Laplacian(),
    k.RationalQuadratic(alpha=0.7),
    k.Constant(3.0),
    2 * k.RBF(gamma=0.1) + k.Laplacian(),
    k.RBF() * k.Matern(nu=2.5),
    (k.RBF() + 1) ** 2,
    k.Matern().on([0, 2]) + k.RBF().on([1]),
]
FORMS = pytest.mark.parametrize("paired", [False, True], ids=["cosine", "pairs"])
SAMPLINGS = pytest.mark.parametrize("sampling", DIRECTIONS)


def rows(n: int = 25, d: int = 3, seed: int = 0) -> Array:
    return np.random.default_rng(seed).normal(size=(n, d))


def errors(kernel: k.Kernel, X: Array, M: int, maps: int, **options: Any) -> Array:
    """ψψᵀ − K of several maps."""
    K, spectrum = kernel(X), kernel.spectrum(X.shape[1])
    found = [FourierMap.draw(spectrum, M, np.random.default_rng(seed), **options)(X) for seed in range(maps)]
    return np.array([features @ features.T - K for features in found])


def size(error: Array) -> float:
    return float(np.sqrt(np.mean(np.square(error))))


@FORMS
@SAMPLINGS
@pytest.mark.parametrize("d", [1, 3, 70])
@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_the_mean_over_maps_is_the_kernel(kernel: k.Kernel, sampling: str, d: int, paired: bool) -> None:
    if d == 1 and kernel.parts and "on(" in repr(kernel):
        pytest.skip("is a kernel of three columns")
    error = errors(kernel, rows(d=d), 200, 40, sampling=sampling, paired=paired)
    assert size(error.mean(axis=0)) < 2.5 * size(error) / np.sqrt(40) + 1e-12


@FORMS
@SAMPLINGS
@pytest.mark.parametrize("kernel", [kernel for kernel in KERNELS if not isinstance(kernel, k.Constant)], ids=repr)
def test_the_error_falls_as_one_over_root_m(kernel: k.Kernel, sampling: str, paired: bool) -> None:
    few, many = (size(errors(kernel, rows(), M, 12, sampling=sampling, paired=paired)) for M in (96, 96 * 16))
    assert 0.15 < many / few < 0.4


@FORMS
@pytest.mark.parametrize("d", [4, 16])
def test_orthogonal_frequencies_reduce_the_error(d: int, paired: bool) -> None:
    X = rows(d=d)
    by_itself, even = (
        size(errors(k.RBF(), X, 8 * d, 60, sampling=sampling, paired=paired))
        for sampling in ("independent", "orthogonal")
    )
    assert even < 0.95 * by_itself


def test_pairs_give_the_exact_diagonal() -> None:
    X = rows()
    for kernel in KERNELS:
        features = FourierMap.draw(kernel.spectrum(3), 10, np.random.default_rng(0), paired=True)(X)
        np.testing.assert_allclose(np.square(features).sum(axis=1), kernel.diag(X))


def test_the_formula_of_the_lecture() -> None:
    """√(2/M) cos(wᵀx + b)."""
    X, features = rows(), FourierMap.draw(k.RBF().spectrum(3), 7, np.random.default_rng(0))
    expected = np.sqrt(2 / 7) * np.cos(X @ features.weights + features.offset)
    np.testing.assert_allclose(features(X), expected, atol=1e-14)


@pytest.mark.parametrize("d", [3, 300])
@FORMS
@SAMPLINGS
def test_a_transform_and_a_product_give_the_same_features(d: int, sampling: str, paired: bool) -> None:
    X = rows(40, d)
    features = FourierMap.draw(
        k.Matern().spectrum(d), 1024, np.random.default_rng(0), sampling=sampling, paired=paired, shift=X[0]
    )
    assert (features.chain is not None) == (sampling == "hadamard" and d == 300)
    angles = (X - X[0]) @ features.weights
    parts = [np.cos(angles), np.sin(angles)] if features.offset is None else [np.cos(angles + features.offset)]
    np.testing.assert_allclose(features(X), np.sqrt(2 / 1024) * np.hstack(parts), atol=1e-10)
    np.testing.assert_allclose(features(X.astype(np.float32)), features(X), atol=1e-3)


@FORMS
def test_tiles_are_unscaled_features(paired: bool) -> None:
    X = rows(50)
    features = FourierMap.draw(
        (3 * k.RBF()).spectrum(3), 20, np.random.default_rng(0), paired=paired, shift=X.mean(axis=0)
    )
    tiles = features.tiles(X)
    assert tiles.shape == (50, features.n_features)
    for dtype, error in ((np.dtype(np.float64), 1e-14), (tiles.rough, 1e-5)):
        tile = np.empty((30, 20), dtype)
        tiles.fill(slice(10, 40), tile)
        np.testing.assert_allclose(features.back * tile, features(X)[10:40], atol=error)
    taken = np.empty((2, 20))
    tiles.take(np.array([3, 7])).fill(slice(0, 2), taken)
    np.testing.assert_allclose(features.back * taken, features(X)[[3, 7]], atol=1e-14)


def test_rough_tiles_use_float64_if_angles_are_large() -> None:
    X = rows()
    features = FourierMap.draw(k.RBF().spectrum(3), 20, np.random.default_rng(0))
    assert features.tiles(X).rough == np.float32
    assert features.tiles(1e6 * X).rough == np.float64


@FORMS
def test_sparse_rows(paired: bool) -> None:
    X = sp.random_array((30, 8), density=0.3, rng=np.random.default_rng(0), format="csr")
    for shift in (None, np.arange(8.0)):
        features = FourierMap.draw(k.Laplacian().spectrum(8), 20, np.random.default_rng(0), paired=paired, shift=shift)
        np.testing.assert_allclose(features(X), features(X.toarray()), atol=1e-10)
        assert features.tiles(X).rough == np.float64


def test_the_saved_size_does_not_grow_with_use() -> None:
    X, features = rows(), FourierMap.draw(k.RBF().spectrum(3), 300, np.random.default_rng(0))
    saved = pickle.dumps(features)
    before = features(X)
    assert pickle.dumps(features) == saved
    np.testing.assert_array_equal(pickle.loads(saved)(X), before)


def test_the_number_of_threads_does_not_change_features() -> None:
    X, features = rows(5000), FourierMap.draw(k.RBF().spectrum(3), 300, np.random.default_rng(0))
    with engine(threads=1):
        alone = features(X)
    np.testing.assert_array_equal(alone, features(X))


@FORMS
@pytest.mark.parametrize(("dtype", "error"), [("float64", 1e-12), ("float32", 1e-5)])
def test_tensors(paired: bool, dtype: str, error: float) -> None:
    torch = pytest.importorskip("torch")
    X = (rows() + 100).astype(dtype)
    features = FourierMap.draw(
        k.RBF().spectrum(3), 20, np.random.default_rng(0), paired=paired, shift=np.full(3, 100.0)
    )
    found = features(torch.as_tensor(X))
    assert found.dtype == getattr(torch, dtype)
    np.testing.assert_allclose(found.numpy(), features(X), atol=error)


def test_features_that_do_not_fit_on_the_device(monkeypatch: pytest.MonkeyPatch) -> None:
    torch = pytest.importorskip("torch")

    def full(*args: Any, **options: Any) -> Any:
        raise torch.cuda.OutOfMemoryError("CUDA out of memory.")

    features = FourierMap.draw(k.RBF().spectrum(3), 20, np.random.default_rng(0))
    monkeypatch.setattr(torch.Tensor, "new_empty", full)
    with pytest.raises(DeviceMemoryError, match=r"25 rows of 20 features take 4e-06 GB.*fewer rows at a time"):
        features(torch.as_tensor(rows()))
