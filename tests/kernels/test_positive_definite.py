"""Tests of certificates of positive definiteness: by construction, or on a sample."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from mercer import kernels as k
from mercer._errors import AsymmetricKernelError, DataError, NoFeatureMapError, NonFiniteError, NotPositiveDefiniteError
from mercer.kernels import check_matrix, check_on_sample, check_positive_definite

X = np.random.default_rng(0).normal(size=(20, 3))


def test_kernels_are_positive_definite_by_construction() -> None:
    kernel = 2 * k.RBF(gamma=1) + k.Polynomial(degree=2) * k.OneDimensional(np.sum)
    found = check_positive_definite(kernel, X)
    assert (found.kind, found.holds, found.factor) == ("by construction", True, None)
    for word in ("Bochner", "monomials", "sum of two", "product of two", "scaled"):
        assert word in found.sentence
    with pytest.raises(NoFeatureMapError, match="check_on_sample"):
        found.features(X)


@pytest.mark.parametrize(
    "kernel", [k.Sigmoid(), 2 * k.Sigmoid(), k.RBF() + k.Sigmoid(), k.Sigmoid().on(0), k.Sigmoid() ** 2]
)
def test_one_part_without_a_proof_leaves_the_whole_unproven(kernel: k.Kernel) -> None:
    assert kernel.reason is None
    assert check_positive_definite(kernel, X).kind == "on this sample"


def test_a_negative_eigenvalue_is_a_proof() -> None:
    kernel = k.Sigmoid(gamma=1, constant=-1)
    found = check_positive_definite(kernel, X)
    assert not found.holds
    assert found.violation is not None
    assert found.violation @ kernel(X) @ found.violation == pytest.approx(found.smallest_eigenvalue, rel=1e-10)
    assert found.smallest_eigenvalue < -found.error
    assert found.factor is None
    assert "not positive definite" in found.sentence
    with pytest.raises(NotPositiveDefiniteError, match="no squared length is negative"):
        found.require()


def test_a_sample_is_not_a_proof() -> None:
    found = check_positive_definite(k.FromFunction(lambda A, B: A @ B.T), X)
    assert found.holds
    assert found.require() is found
    assert found.kind == "on this sample"
    assert "can refute, but not prove" in found.sentence
    assert abs(found.smallest_eigenvalue) <= found.error  # 20 rows of 3 columns: K has rank 3
    assert found.factor.shape == (3, 20)


@pytest.mark.parametrize("kernel", [k.RBF(gamma=0.5), k.Polynomial(degree=2), k.Linear()], ids=repr)
def test_the_factor_is_an_empirical_feature_map(kernel: k.Kernel) -> None:
    found, new = check_on_sample(kernel, X), X[:4] + 0.1
    K = kernel(X)
    np.testing.assert_allclose(found.factor.T @ found.factor, K, atol=1e-10 * np.abs(K).max())
    np.testing.assert_allclose(found.features(X), found.factor.T, atol=1e-6)
    np.testing.assert_allclose(found.features(new) @ found.factor, kernel(new, X), atol=1e-6 * np.abs(K).max())


def test_an_asymmetric_kernel_is_refuted() -> None:
    found = check_positive_definite(k.FromFunction(lambda x, z: x[0] - z[0]), X)
    assert not found.holds
    with pytest.raises(AsymmetricKernelError):
        found.require()


def test_matrices_are_checked() -> None:
    assert check_matrix(k.RBF()(X)).holds
    assert check_matrix(sp.eye_array(3)).holds
    assert not check_matrix([[0.0, 1.0], [1.0, 0.0]]).holds
    assert "(0, 1)" in check_matrix([[1.0, 0.5], [0.0, 1.0]]).sentence
    with pytest.raises(DataError, match="n columns"):
        check_matrix(np.ones((2, 3)))
    with pytest.raises(NonFiniteError, match=r"nan at \(0, 0\)"):
        check_matrix([[np.nan]])
    with pytest.raises(DataError, match="no rows"):
        check_on_sample(k.RBF(), np.ones((0, 2)))


def test_entries_of_few_digits_refute_nothing() -> None:
    rough = k.FromFunction(lambda A, B: (A @ B.T).astype(np.float32))
    assert check_positive_definite(rough, X, entry_error=1e-6).holds


def test_names_and_functions_are_kernels_too() -> None:
    assert check_positive_definite("rbf", X).kind == "by construction"
    assert not check_positive_definite(lambda x, z: -float(x @ z), X).holds


def test_a_certificate_reads_as_a_sentence() -> None:
    certificate = k.check_positive_definite(k.RBF(), np.eye(3))
    assert str(certificate) == f"{certificate.kind}: {certificate.sentence}"
