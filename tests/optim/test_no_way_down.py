"""Solvers stop where no step lowers the objective, with a certificate that does not hold."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from mercer.families import LOGIT, Bernoulli
from mercer.families.penalties import Strengths
from mercer.families.response import Response
from mercer.matrices import DenseMatrix, Observations
from mercer.optim import _newton_cg as newton_cg
from mercer.optim import firth, gradient, lbfgs, newton
from tests.optim._uphill import Uphill


@pytest.mark.parametrize(
    "solve",
    [firth.solve, gradient.solve, lbfgs.solve, newton.solve, newton_cg.solve],
    ids=lambda solve: solve.__module__,
)
def test_a_gradient_that_leads_uphill_is_not_followed(solve: Callable[..., Any]) -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 2))
    y = (rng.random(80) < 1 / (1 + np.exp(-X[:, 0]))) * 1.0
    design = DenseMatrix.of(X)
    problem = Uphill(Observations(design, y), Response(Bernoulli(), LOGIT), Strengths.none(design.n_columns))
    found = solve(problem)
    assert not found.certificate.holds
    assert problem.at(found.coef).value <= problem.at(problem.start()).value * (1 + 1e-9)
