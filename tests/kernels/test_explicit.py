"""Explicit feature maps: the number of features and their values."""

from __future__ import annotations

from math import comb

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.svm import LinearSVC

from mercer import kernels as k
from mercer._errors import ColumnMismatchError, NoFeatureMapError, TooManyColumnsError


def test_monomials_are_counted() -> None:
    assert k.Polynomial(degree=3, constant=0).feature_map(3).n_features == 10
    assert k.Polynomial(degree=8, constant=0).feature_map(40).n_features == 314_457_495
    assert k.Polynomial(degree=8).feature_map(40).n_features == 377_348_994


@pytest.mark.parametrize("d", [1, 2, 5, 30])
def test_the_quadratic_kernel_has_2d_and_d_over_2_features(d: int) -> None:
    assert k.Quadratic().feature_map(d).n_features == 2 * d + comb(d, 2)
    assert k.Quadratic().feature_map(d)(np.ones((1, d))).shape == (1, 2 * d + comb(d, 2))


def test_the_maps_of_the_lecture() -> None:
    x, root = np.array([[3.0, 5.0]]), np.sqrt(2)
    np.testing.assert_allclose(k.Polynomial(degree=2, constant=0).feature_map(2)(x), [[9, root * 15, 25]], rtol=1e-15)
    all_of_them = [[1, root * 3, root * 5, 9, root * 15, 25]]
    np.testing.assert_allclose(k.Polynomial(degree=2).feature_map(2)(x), all_of_them, rtol=1e-15)
    np.testing.assert_allclose(k.Quadratic().feature_map(2)(x), [[3, 5, 9, root * 15, 25]], rtol=1e-15)


@settings(max_examples=50)
@given(
    d=st.integers(1, 4),
    degree=st.integers(0, 5),
    gamma=st.floats(0.1, 3),
    constant=st.sampled_from([0.0, 0.5, 1.0, 3.0]),
    seed=st.integers(0, 100),
)
def test_scaled_monomials_give_the_polynomial_kernel(
    d: int, degree: int, gamma: float, constant: float, seed: int
) -> None:
    X = np.random.default_rng(seed).normal(size=(6, d))
    kernel = k.Polynomial(degree=degree, gamma=gamma, constant=constant)
    features = kernel.feature_map(d)(X)
    K = kernel(X)
    assert features.shape[1] == kernel.feature_map(d).n_features
    np.testing.assert_allclose(features @ features.T, K, rtol=0, atol=1e-12 * np.abs(K).max())


def test_maps_compose_as_kernels_do() -> None:
    X = np.random.default_rng(0).normal(size=(7, 3))
    quadratic = k.Polynomial(degree=2)
    kernel = 2 * (quadratic + k.Linear().on([1])) * k.OneDimensional(np.sum) + k.Cosine() ** 2 + 3
    feature_map = kernel.feature_map(3)
    assert feature_map.n_features == (10 + 1) * 1 + 6 + 1
    np.testing.assert_allclose(
        feature_map(X) @ feature_map(X).T, kernel(X), rtol=0, atol=1e-12 * np.abs(kernel(X)).max()
    )


def test_infinite_and_too_large_maps_are_rejected() -> None:
    with pytest.raises(NoFeatureMapError, match="random Fourier features"):
        k.RBF().feature_map(3)
    with pytest.raises(TooManyColumnsError, match="377,348,994 features"):
        k.Polynomial(degree=8).feature_map(40)(np.ones((2, 40)))
    words = [f"{i:06d}" for i in range(3000)]  # the part of a sum that is sparse does not hide the other
    with pytest.raises(TooManyColumnsError, match="features of 3,000 rows"):
        (k.Spectrum(2) + k.Spectrum(2) ** 4).feature_map(words)(words)
    with pytest.raises(ColumnMismatchError, match=r"feature_map\(3\)"):
        k.Quadratic().feature_map(2)(np.ones((2, 3)))


def test_a_map_of_texts_through_numbers() -> None:
    texts = ["a", "abc", "bc"]
    kernel = k.Spectrum(1) + k.Linear().of(lambda text: [len(text)])
    psi = kernel.feature_map(texts)(texts)
    np.testing.assert_allclose((psi @ psi.T).toarray(), kernel(texts))


@pytest.mark.parametrize(
    "kernel", [k.Spectrum(1), 2 * k.Spectrum(1), k.Spectrum(1).normalised(), k.Spectrum(1) + k.Spectrum(2)], ids=repr
)
def test_linear_models_of_other_libraries_accept_counts(kernel: k.Kernel) -> None:
    texts, y = ["aab", "abab", "ccd", "dcdc"], [0, 0, 1, 1]
    psi = kernel.feature_map(texts)
    assert psi(texts).indices.dtype == np.int32
    assert f"n_features={k.Spectrum(1).feature_map(texts).n_features}" in repr(psi)
    assert LinearSVC().fit(psi(texts), y).score(psi(texts), y) == 1  # liblinear accepts no other indices
