"""Changes of variables: S and its transpose, and S Sᵀ as the inverse of a Hessian."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import sparse

from mercer.matrices import DenseMatrix, SparseMatrix, SplitMatrix
from mercer.optim.scaling import DiagonalScaling, RepeatedScaling, Scaling, WhiteningScaling, WoodburyScaling


def root(rng: np.random.Generator, rows: int = 40) -> Any:
    return rng.normal(size=(rows, 5)) @ (np.eye(5) + 0.5 * rng.normal(size=(5, 5))) * [1, 1e3, 1e-3, 1, 1]


def scalings() -> dict[str, Scaling]:
    rng = np.random.default_rng(0)
    X = np.abs(rng.normal(size=(60, 4)))
    entries = SplitMatrix.of(sparse=SparseMatrix.of(sparse.csr_array(X)), intercept=True)
    A, singular = root(rng), root(rng, rows=3)
    whitening = WhiteningScaling.of(A.T @ A)
    return {
        "whitening": whitening,
        "of a singular Hessian": WhiteningScaling.of(singular.T @ singular),
        "standardising": DiagonalScaling.of(entries, np.ones(60), np.ones(5)),
        "without an intercept": DiagonalScaling.of(DenseMatrix.of(X, intercept=False), np.ones(60), np.ones(4)),
        "repeated": RepeatedScaling(whitening, np.array([1.0, 2.0, 0.5])),
    }


@pytest.mark.parametrize("name", scalings())
def test_the_backward_map_is_the_transpose_of_the_forward_map(name: str) -> None:
    scaling, rng = scalings()[name], np.random.default_rng(1)
    size = {"without an intercept": 4, "repeated": 15}.get(name, 5)
    gradient = rng.normal(size=size)
    u = rng.normal(size=scaling.apply_transposed(gradient).shape)
    assert scaling.apply(u) @ gradient == pytest.approx(u @ scaling.apply_transposed(gradient), rel=1e-9)


@pytest.mark.parametrize("rows", [40, 3])
def test_whitening_is_a_square_root_of_the_inverse(rows: int) -> None:
    A = root(np.random.default_rng(2), rows)
    hessian = A.T @ A
    g = hessian @ np.random.default_rng(3).normal(size=(5, 2))  # in its range
    scaling = WhiteningScaling.of(hessian)
    np.testing.assert_allclose(hessian @ scaling.apply(scaling.apply_transposed(g)), g, rtol=1e-6)


def test_standardising_is_the_inverse_for_uncorrelated_columns() -> None:
    """For orthogonal centred columns the Hessian with its intercept is diagonal except for the means."""
    X = np.array([[1.0, 1.0], [1.0, -1.0], [-1.0, 1.0], [-1.0, -1.0]]) * [1, 3] + [5, 7]
    design = SplitMatrix.of(sparse=SparseMatrix.of(sparse.csr_array(X)), intercept=True)
    h, l2 = np.full(4, 0.25), np.zeros(3)
    scaling, hessian = DiagonalScaling.of(design, h, l2), design.gram(h)
    inverse = np.column_stack([scaling.apply(scaling.apply_transposed(unit)) for unit in np.eye(3)])
    np.testing.assert_allclose(hessian @ inverse, np.eye(3), atol=1e-10)


def wide(kind: str) -> tuple[Any, Any]:
    """Return six rows of twenty columns and a penalty, without an intercept, with a free or with a penalised one."""
    rng = np.random.default_rng(4)
    X = np.maximum(rng.normal(size=(6, 20)), 0.0)
    if kind == "no intercept":
        return DenseMatrix.of(X, intercept=False), rng.uniform(0.5, 2.0, 20)
    design = SplitMatrix.of(sparse=SparseMatrix.of(sparse.csr_array(X)), intercept=True)
    return design, np.append(rng.uniform(0.5, 2.0, 20), 0.0 if kind == "intercept" else 0.3)


@pytest.mark.parametrize("kind", ["no intercept", "intercept", "penalised intercept"])
def test_few_rows_determine_the_hessian(kind: str) -> None:
    design, l2 = wide(kind)
    h = np.random.default_rng(5).uniform(0.1, 3.0, 6)
    scaling = WoodburyScaling.of(design, h, l2)
    assert scaling is not None
    one = np.eye(len(l2))
    hessian = design.gram(h) + np.diag(l2)
    np.testing.assert_allclose(hessian @ scaling.apply(scaling.apply_transposed(one)), one, atol=1e-12)
    np.testing.assert_allclose(scaling.apply_transposed(one), scaling.apply(one).T, atol=1e-14)


def test_few_rows_need_a_penalty() -> None:
    design, l2 = wide("intercept")
    h = np.ones(6)
    assert WoodburyScaling.of(design, h, np.zeros_like(l2)) is None
    assert WoodburyScaling.of(design, 0 * h, l2) is None
    assert WoodburyScaling.of(design, h, 1e-20 * l2) is None
