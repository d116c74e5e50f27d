"""Nyström features: exact on their landmarks, and no more of them than the landmarks have dimensions."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from mercer.kernel_approximation.nystroem_map import NystroemMap, compute_trace_error
from mercer.kernels import RBF, Gram, Kernel, Laplacian, Linear, Polynomial, Spectrum

KERNELS = [RBF(gamma=0.7), Laplacian(gamma=0.3), Polynomial(2), Linear(), RBF(gamma=0.2) + Linear()]


def rows(n: int = 90, d: int = 3, seed: int = 0) -> Any:
    return np.random.default_rng(seed).normal(size=(n, d))


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_the_map_is_exact_on_its_landmarks(kernel: Kernel) -> None:
    X = rows()
    features = NystroemMap.of(kernel, X[:30])(X)
    assert_allclose(features[:30] @ features[:30].T, kernel(X[:30]), atol=1e-10)
    assert_allclose(features[:30] @ features.T, kernel(X[:30], X), atol=1e-8)  # also for pairs with one of them


@given(n=st.integers(1, 25), d=st.integers(1, 3), repeats=st.integers(1, 3), seed=st.integers(0, 99))
def test_with_all_rows_as_landmarks_the_map_gives_the_kernel(n: int, d: int, repeats: int, seed: int) -> None:
    X = np.repeat(rows(n, d, seed), repeats, axis=0)
    for kernel in (RBF(gamma=1.0), Linear()):
        features = NystroemMap.of(kernel, X)(X)
        assert_allclose(features @ features.T, kernel(X), atol=1e-8)
        assert np.abs(features).max(initial=0.0) <= np.sqrt(kernel.diag(X).max()) * (1 + 1e-8)


@pytest.mark.parametrize(("kernel", "rank"), [(Linear(), 3), (Polynomial(2), 10), (RBF(gamma=0.0), 1)], ids=repr)
def test_the_number_of_features_is_the_rank(kernel: Kernel, rank: int) -> None:
    X = rows()
    mapped = NystroemMap.of(kernel, X[:40])
    assert mapped.back.shape == (40, rank)
    assert mapped.n_features == rank
    assert_allclose(mapped(X) @ mapped(X).T, kernel(X), atol=1e-10)


def test_rows_with_kernel_zero_have_zero_features() -> None:
    mapped = NystroemMap.of(Linear(), np.zeros((4, 2)))
    assert mapped(rows(5, 2)).shape == (5, 0)


def test_blocks_of_rows_do_not_change_features() -> None:
    X = rows(700)
    mapped = NystroemMap.of(KERNELS[0], X[:50])
    whole = mapped(X)
    assert_allclose(np.vstack([mapped(X[:90]), mapped(X[90:150]), mapped(X[150:])]), whole, atol=1e-12)
    assert_allclose(whole, Gram(mapped.kernel, X, X[:50]).matrix() @ mapped.back, atol=1e-12)


def test_sparse_rows_and_texts() -> None:
    X = np.random.default_rng(0).poisson(0.5, size=(40, 6)).astype(float)
    dense, sparse = (NystroemMap.of(KERNELS[0], made(X)[:10])(made(X)) for made in (np.asarray, sp.csr_array))
    assert_allclose(np.abs(dense @ dense.T), np.abs(sparse @ sparse.T), atol=1e-10)
    words = ["".join(word) for word in np.random.default_rng(0).choice(list("ab"), (30, 8))]
    kernel = Spectrum(length=2)
    features = NystroemMap.of(kernel, words[:12])(words)
    assert_allclose(features[:12] @ features[:12].T, kernel(words[:12]), atol=1e-9)


def test_tiles_are_kernel_values_with_the_landmarks() -> None:
    X = rows()
    tiles = NystroemMap.of(KERNELS[0], X[:8]).tiles(X)
    out = np.empty((5, 8))
    tiles.fill(slice(20, 25), out)
    assert tiles.shape == (90, 8)
    assert_allclose(out, KERNELS[0](X[20:25], X[:8]), atol=1e-12)


def test_the_trace_error() -> None:
    X = rows()
    features = NystroemMap.of(KERNELS[0], X[:20])(X)
    K = KERNELS[0](X)
    assert_allclose(
        compute_trace_error(features, np.diag(K)), np.trace(K - features @ features.T) / np.trace(K), rtol=1e-10
    )
    assert compute_trace_error(features[:20], np.diag(K)[:20]) < 1e-12
    assert np.isnan(compute_trace_error(np.zeros((3, 1)), np.zeros(3)))


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
@pytest.mark.parametrize("close", [False, True])
def test_features_of_tensors_agree_with_arrays(kernel: Kernel, close: bool) -> None:
    torch = pytest.importorskip("torch")
    X = rows()
    landmarks = X[:20] * (0.05 if close else 1.0)  # close together, so that float32 alone would not do
    mapped = NystroemMap.of(kernel, landmarks)
    assert_allclose(mapped(torch.tensor(X)).numpy(), mapped(X), atol=1e-9, rtol=1e-9)
    single = torch.tensor(X, dtype=torch.float32)
    found, expected = mapped(single), mapped(single.numpy().astype(float))
    assert found.dtype == torch.float32
    assert np.abs(found.numpy() - expected).max() <= 1e-5 * np.abs(expected).max()
