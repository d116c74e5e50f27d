"""The quadratic model of a step: earlier results are computed anew where they are not accurate enough."""

from __future__ import annotations

import numpy as np
from scipy import sparse

from mercer.matrices import SparseMatrix
from mercer.optim.duality import GapPenalty
from mercer.optim.proximal_newton import ProximalModel
from tests.optim._proximal_cases import dense


def test_columns_of_float32_are_refined_once() -> None:
    X = sparse.csr_array(np.random.default_rng(0).normal(size=(20, 3)))
    made = ProximalModel(SparseMatrix.of(X), GapPenalty(np.ones(4), np.zeros(4)), many=1)
    assert made.columns.dtype == np.float32
    assert made.refine()
    assert made.columns.dtype == np.float64
    assert not made.refine()


def test_products_of_an_earlier_point_are_recomputed_first() -> None:
    design = dense(50, 3, np.random.default_rng(0))
    made, h = ProximalModel(design, GapPenalty(np.ones(4), np.zeros(4))), np.ones(50)
    made._prepare(np.arange(4), h)
    assert not made.refine()  # they are those of this point, and of float64
    made._prepare(np.arange(4), 1.001 * h)
    assert made.refine()
    made._prepare(np.arange(4), 1.001 * h)
    assert not made.refine()
