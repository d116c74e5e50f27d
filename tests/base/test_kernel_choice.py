"""Kernels by scikit-learn's names and widths."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.spatial.distance import pdist
from sklearn.metrics.pairwise import pairwise_kernels

from mercer._errors import DataError
from mercer.base.kernel_choice import ROWS_FOR_MEDIAN, choose_kernel, sample_row_numbers, width_of
from mercer.kernels import RBF, Linear


@pytest.mark.parametrize("name", ["linear", "poly", "rbf", "sigmoid", "laplacian"])
@pytest.mark.parametrize("coef0", [-1.0, 0.0, 1.5])
@pytest.mark.parametrize("sparse", [True, False])
def test_kernels_agree_with_scikit_learn(rng: np.random.Generator, name: str, coef0: float, sparse: bool) -> None:
    X = rng.normal(size=(7, 3))
    parameters = {"gamma": 0.3, "degree": 3, "coef0": coef0}
    expected = pairwise_kernels(X, metric=name, filter_params=True, **parameters)
    given = sp.csr_matrix(X) if sparse else X
    np.testing.assert_allclose(choose_kernel(name, given, **parameters)(given), expected, rtol=1e-12)


def test_a_kernel_object_has_its_own_parameters(rng: np.random.Generator) -> None:
    kernel = RBF(gamma=3) + Linear()
    assert choose_kernel(kernel, rng.normal(size=(5, 2)), gamma=1.0, degree=3, coef0=0.0) is kernel


@pytest.mark.parametrize("sparse", [True, False])
def test_gamma_is_set_by_scale_auto_and_median(rng: np.random.Generator, sparse: bool) -> None:
    X = rng.normal(size=(40, 5))
    given = sp.csr_matrix(X) if sparse else X
    assert width_of("scale", given) == pytest.approx(1 / (5 * X.var()), rel=1e-12)
    assert width_of("auto", given) == 0.2
    assert width_of("median", given) == pytest.approx(0.5 / np.median(pdist(X)) ** 2, rel=1e-9)
    assert width_of(2, given) == 2.0


def test_the_median_follows_the_units_and_not_the_offset(rng: np.random.Generator) -> None:
    X = rng.normal(size=(2 * ROWS_FOR_MEDIAN, 3))
    width = width_of("median", X)
    assert width_of("median", 1e3 * X) == pytest.approx(1e-6 * width, rel=1e-9)
    assert width_of("median", X + 1e8) == pytest.approx(width, rel=1e-6)
    assert width == pytest.approx(0.5 / np.median(pdist(X)) ** 2, rel=0.1)


def test_identical_rows_have_width_one() -> None:
    X = np.ones((4, 2))
    assert width_of("median", X) == width_of("scale", X) == 1.0


def test_a_variance_that_overflows_is_rejected() -> None:
    with pytest.raises(DataError, match=r"not finite.*StandardScaler"):
        width_of("scale", np.array([[1e200], [-1e200]]))


def test_the_sample_is_reproducible() -> None:
    assert sample_row_numbers(3, 5).tolist() == [0, 1, 2]
    assert np.array_equal(sample_row_numbers(100, 10), sample_row_numbers(100, 10))
    assert len(np.unique(sample_row_numbers(100, 10))) == 10
