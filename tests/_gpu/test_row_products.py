"""Products of rows in one reading, by Triton's interpreter: the kernel that a card runs, on tensors in main memory."""

from __future__ import annotations

import os
import sys

import pytest

from tests._jit._process import printed

pytest.importorskip("torch")
pytest.importorskip("triton")

SCRIPT = """
import numpy as np, torch
from mercer._gpu import row_products
from mercer.matrices import DenseMatrix, Observations, TensorMatrix, TensorObservations
from mercer.families import LOG, LOGIT, Bernoulli, Poisson
from mercer.families.penalties import Strengths
from mercer.families.response import Response
from mercer.optim.problem import Problem

row_products.reads_in_one_pass = lambda X: True
rng = np.random.default_rng(0)
CASES = (70, 5, np.float32, 1.0), (33, 17, np.float64, 1e8), (9, 200, np.float32, 0.0), (1, 1, np.float64, 0.0)
for n, d, dtype, far in CASES:
    for intercept in (True, False):
        X = (rng.normal(size=(n, d)) + far).astype(dtype)
        y, weight = (rng.random(n) < 0.5) * 1.0, rng.random(n)
        arrays = DenseMatrix.of(X, intercept=intercept)
        tensors = TensorMatrix.of(torch.as_tensor(X), intercept=intercept)
        w = rng.normal(size=arrays.n_columns)
        close = {"rtol": 1e-9, "atol": 1e-9}
        np.testing.assert_allclose(tensors.matvec(w).numpy(), arrays.matvec(w), **close)
        np.testing.assert_allclose(tensors.rmatvec(weight), arrays.rmatvec(weight), **close)
        for response in (Response(Bernoulli(), LOGIT), Response(Poisson(), LOG)):
            for of_rows in (None, weight):
                one = Problem(Observations(arrays, y, of_rows), response, Strengths.none(len(w)))
                other = Problem(TensorObservations.of(tensors, y, of_rows), response, Strengths.none(len(w)))
                for order in range(3):
                    for found, expected in zip(other.at(w / 10, order), one.at(w / 10, order)):
                        np.testing.assert_allclose(found, expected, **close)
print("all agree")
"""


def test_the_kernel_agrees_with_loops_over_arrays():
    assert "all agree" in printed(SCRIPT, TRITON_INTERPRET="1", PYTHONPATH=os.pathsep.join(sys.path))
