"""Nystroem of tensors: features of the same rows as arrays, and kernels that cannot compare them."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal

from mercer import Nystroem
from mercer._errors import ColumnMismatchError, DeviceError, NonFiniteError
from mercer.kernels import RBF, FromFunction
from tests.kernel_approximation._kernel_features import RULES
from tests.kernel_approximation._kernel_features import uniform_rows as rows

torch = pytest.importorskip("torch")


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("dtype", ["float32", "float64", "int64", "float16"])
def test_features_of_tensors_are_tensors(rule: str, dtype: str) -> None:
    tensor = torch.tensor(10 * rows()).to(getattr(torch, dtype))
    X = tensor.numpy().astype(np.float32 if dtype.startswith("float") and dtype != "float64" else float)
    model = Nystroem(gamma=0.02, n_components=20, random_state=0, landmarks=rule)
    found = model.fit(tensor).transform(tensor)
    indices = model.component_indices_
    assert found.dtype == (torch.float32 if dtype in ("float32", "float16") else torch.float64)
    assert isinstance(model.components_, np.ndarray)
    assert isinstance(model.normalization_, np.ndarray)
    assert model.plan_.device == "cpu"
    tolerance = 1e-5 if found.dtype == torch.float32 else 1e-9
    assert_allclose(found.numpy(), model.transform(X), atol=tolerance)  # fitted to tensors, applied to arrays
    by_arrays = model.fit(X)
    assert_allclose(by_arrays.transform(tensor).numpy(), by_arrays.transform(X), atol=tolerance)
    if rule == "uniform":
        assert_array_equal(by_arrays.component_indices_, indices)


def test_kernel_matrices_and_functions_take_tensors() -> None:
    K = RBF(gamma=0.2)(rows())
    model = Nystroem("precomputed", n_components=15, random_state=0).fit(torch.tensor(K))
    assert_allclose(model.transform(torch.tensor(K)).numpy(), model.transform(K))
    with pytest.raises(DeviceError, match="does not compare rows of a tensor"):
        Nystroem(lambda x, z: 1.0).fit(torch.ones(3, 2))


@pytest.mark.parametrize("rule", RULES)
def test_kernels_without_tensor_support_are_rejected_in_fit(rule: str) -> None:
    model = Nystroem(RBF(), n_components=5, landmarks=rule, random_state=0).fit(torch.tensor(rows()))
    for kernel in (FromFunction(lambda x, z: float(x @ z)), 2 * FromFunction(lambda x, z: 1.0) + RBF()):
        with pytest.raises(DeviceError, match="does not compare rows of a tensor"):
            model.set_params(kernel=kernel).fit(torch.tensor(rows()))
    assert model.kernel_ == RBF()


def test_invalid_tensors_are_rejected() -> None:
    model = Nystroem(n_components=5, random_state=0).fit(torch.tensor(rows()))
    with pytest.raises(ColumnMismatchError, match="expecting 5 features"):
        model.transform(torch.ones(3, 2))
    with pytest.raises(NonFiniteError):
        model.transform(torch.full((3, 5), torch.nan))


def test_tensors_with_sparse_landmarks() -> None:
    model = Nystroem(n_components=5, random_state=0).fit(sp.csr_matrix(rows()))
    assert_allclose(model.transform(torch.tensor(rows())).numpy(), model.transform(rows()), atol=1e-9)
