"""The curvature of all rows, estimated from some."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from mercer.base.sources import observe
from mercer.data.sources.memory import MemorySource
from mercer.families import LOG, Poisson
from mercer.families.penalties import L2
from mercer.families.response import Response, SoftmaxResponse
from mercer.optim import lbfgs, newton, scaling
from mercer.optim.problem import Problem
from mercer.optim.scaling import WhiteningScaling
from mercer.optim.softmax import SoftmaxProblem
from tests.matrices._streamed import of_classes, of_numbers, sample_chunk
from tests.optim._problems import correlated


def test_the_hessian_of_a_sample_suffices() -> None:
    this = correlated(n=4000)
    assert scaling.sample_size(7, 100) == 100
    sampled, exact = scaling.sampled_hessian(this, this.start(), smallest=100), this.at(this.start()).hessian
    assert np.abs(np.linalg.eigvals(np.linalg.solve(exact, sampled)) - 1).max() < 0.8
    found = lbfgs.solve_from(this, this.start(), WhiteningScaling.of(sampled))
    np.testing.assert_allclose(found.coef, newton.solve(this).coef, atol=1e-7)


@pytest.mark.parametrize("classes", [False, True])
def test_rows_in_memory_represent_those_of_a_source(classes: bool) -> None:
    """If all rows are in the sample, products with its Hessian are exact."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(300, 4)), rng.integers(0, 3, 300)
    source = MemorySource(X, y if classes else y.astype(float), rows=70)
    found: Any = observe(source, sample_chunk, of_classes if classes else of_numbers, labels=classes, intercept=True)
    strengths = found.design.coordinates.strengths(L2(2.0).strengths(4))
    this: Any = (
        SoftmaxProblem(found, SoftmaxResponse(3), strengths)
        if classes
        else Problem(found, Response(Poisson(), LOG), strengths)
    )
    w, v = 0.3 * rng.normal(size=(2, this.n_columns))
    assert classes or scaling.woodbury_scaling(this, w) is None  # which would need the rows
    np.testing.assert_allclose(this.hessian_product(w)(v), this.at(w).hessian @ v, rtol=1e-9, atol=1e-9)
