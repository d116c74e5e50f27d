"""Linear dependences between the columns of a covariance matrix."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from mercer._errors import SingularCovarianceError
from mercer.families.multivariate import cholesky, collinear_columns, singular_covariance


def covariance(n: int = 200, scale: float = 1.0) -> np.ndarray:
    x = np.random.default_rng(0).normal(size=(n, 6))
    x[:, 4] = 2 * x[:, 1] - x[:, 3]
    return np.cov(x.T * np.array([scale, 1.0, 1.0, 1.0, 1.0, 1 / scale])[:, None])


@pytest.mark.parametrize("scale", [1.0, 1e6, 1e-100])
def test_a_dependence_is_found_whatever_the_units(scale: float) -> None:
    assert collinear_columns(covariance(scale=scale)) == (1, 3, 4)


def test_a_regular_matrix_has_none() -> None:
    assert collinear_columns(np.eye(4) + 0.3) == ()


def test_a_constant_column_is_dependent_by_itself() -> None:
    assert collinear_columns(np.diag([1.0, 0.0, 2.0])) == (1,)


def test_fewer_rows_than_columns_involve_them_all() -> None:
    assert collinear_columns(covariance(n=3)) == tuple(range(6))


def test_the_error_names_columns_and_a_remedy() -> None:
    assert "columns 1, 3, 4 are collinear" in str(singular_covariance(covariance()))
    assert "'b', 'd', 'e'" in str(singular_covariance(covariance(), names="abcdef"))
    assert "shrinkage" in str(singular_covariance(covariance()))


@pytest.mark.parametrize("bad", [covariance(), np.diag([1.0, 0.0]), np.array([[1.0, 2.0], [2.0, 1.0]])])
def test_cholesky_rejects_singular_matrices(bad: np.ndarray) -> None:
    with pytest.raises(SingularCovarianceError):
        cholesky(np.stack([np.eye(len(bad)), bad]))


def test_cholesky_factors_many_matrices_at_once() -> None:
    matrices = np.stack([np.eye(3) + 0.5, np.diag([1e-200, 1.0, 1e200])])
    factors = cholesky(matrices)
    np.testing.assert_allclose(factors @ factors.transpose(0, 2, 1), matrices, rtol=1e-14)
    assert (np.triu(factors, 1) == 0).all()


def test_a_variance_rounded_below_zero_counts_as_constant() -> None:
    below = np.diag([1.0, -2e-16])
    assert collinear_columns(below) == (1,)
    with pytest.raises(SingularCovarianceError):
        cholesky(below)


def test_a_singular_matrix_is_rejected_in_every_order_of_rows_and_columns() -> None:
    three = np.array(
        [
            [0.16727378, -2.11148604, 0.37521814],
            [0.05027848, -2.13261881, -0.25772067],
            [-0.32519954, 0.60256551, 1.01734184],
        ]
    )  # distinct points, whose covariance has rank two
    for rows, columns in itertools.product(itertools.permutations(range(3)), repeat=2):
        centred = three[list(rows)][:, list(columns)] - three[:, list(columns)].mean(axis=0)
        for shift in np.linspace(-1, 1, 21):  # as of a pilot elsewhere, which leaves other rounding
            from_pilot = centred - shift
            scatter = from_pilot.T @ from_pilot - 3 * np.multiply.outer(
                from_pilot.mean(axis=0), from_pilot.mean(axis=0)
            )
            with pytest.raises(SingularCovarianceError):
                cholesky((scatter + scatter.T) / 6)
