"""Changes of variables: S and its transpose, and S Sᵀ as the inverse of a Hessian."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import sparse

from mercer.designs import DenseDesign, MixedDesign, SparseDesign
from mercer.solvers.scaling import Repeated, Scaling, Standardising, Whitening


def root(rng: np.random.Generator, rows: int = 40) -> Any:
    return rng.normal(size=(rows, 5)) @ (np.eye(5) + 0.5 * rng.normal(size=(5, 5))) * [1, 1e3, 1e-3, 1, 1]


def scalings() -> dict[str, Scaling]:
    rng = np.random.default_rng(0)
    X = np.abs(rng.normal(size=(60, 4)))
    entries = MixedDesign.of(sparse=SparseDesign.of(sparse.csr_array(X)), intercept=True)
    A, singular = root(rng), root(rng, rows=3)
    whitening = Whitening.of(A.T @ A)
    return {
        "whitening": whitening,
        "of a singular Hessian": Whitening.of(singular.T @ singular),
        "standardising": Standardising.of(entries, np.ones(60), np.ones(5)),
        "without an intercept": Standardising.of(DenseDesign.of(X, intercept=False), np.ones(60), np.ones(4)),
        "repeated": Repeated(whitening, np.array([1.0, 2.0, 0.5])),
    }


@pytest.mark.parametrize("name", scalings())
def test_back_is_the_transpose_of_forth(name: str) -> None:
    scaling, rng = scalings()[name], np.random.default_rng(1)
    size = {"without an intercept": 4, "repeated": 15}.get(name, 5)
    gradient = rng.normal(size=size)
    u = rng.normal(size=scaling.back(gradient).shape)
    assert scaling.forth(u) @ gradient == pytest.approx(u @ scaling.back(gradient), rel=1e-9)


@pytest.mark.parametrize("rows", [40, 3])
def test_whitening_is_a_root_of_the_inverse(rows: int) -> None:
    A = root(np.random.default_rng(2), rows)
    hessian = A.T @ A
    g = hessian @ np.random.default_rng(3).normal(size=(5, 2))  # in its range
    scaling = Whitening.of(hessian)
    np.testing.assert_allclose(hessian @ scaling.forth(scaling.back(g)), g, rtol=1e-6)


def test_standardising_is_the_inverse_for_uncorrelated_columns() -> None:
    """Centred columns at right angles: the Hessian with its intercept is diagonal but for the means."""
    X = np.array([[1.0, 1.0], [1.0, -1.0], [-1.0, 1.0], [-1.0, -1.0]]) * [1, 3] + [5, 7]
    design = MixedDesign.of(sparse=SparseDesign.of(sparse.csr_array(X)), intercept=True)
    h, l2 = np.full(4, 0.25), np.zeros(3)
    scaling, hessian = Standardising.of(design, h, l2), design.gram(h)
    inverse = np.column_stack([scaling.forth(scaling.back(unit)) for unit in np.eye(3)])
    np.testing.assert_allclose(hessian @ inverse, np.eye(3), atol=1e-10)
