"""Conditional models for the solvers of smooth objectives."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from mercer.families import LOG, LOGIT, Bernoulli, Poisson
from mercer.families.penalties import L2, Strengths
from mercer.families.response import Response
from mercer.matrices import DenseMatrix, Observations, SparseMatrix, SplitMatrix
from mercer.optim.problem import Problem


def independent(family: Any, link: Any, penalty: Any = None, n: int = 200) -> Problem:
    """Return a problem with three independent columns, weights and offsets."""
    rng = np.random.default_rng(3)
    X = rng.normal(size=(n, 3))
    eta = X @ [0.5, -0.3, 0.2] + 0.2
    y = {
        "Gaussian": lambda: eta + rng.normal(size=n),
        "Bernoulli": lambda: (rng.random(n) < 1 / (1 + np.exp(-eta))).astype(float),
        "Poisson": lambda: rng.poisson(np.exp(eta)).astype(float),
    }[type(family).__name__]()
    design = DenseMatrix.of(X)
    strengths = Strengths.none(3) if penalty is None else penalty.strengths(3)
    observations = Observations(design, y, rng.uniform(0.5, 1.5, n), 0.1 * X[:, 0])
    return Problem(observations, Response(family, link), design.coordinates.strengths(strengths))


def correlated(response: str = "logistic", *, kind: str = "dense", n: int = 400, strength: float = 1.0) -> Problem:
    """Return a problem with six correlated columns and weights."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 6)) @ (np.eye(6) + 0.4 * rng.normal(size=(6, 6)))
    eta = X @ rng.normal(size=6) / 3
    if kind == "sparse":
        X = np.where(X > 0, X, 0.0)
        design: Any = SplitMatrix.of(sparse=SparseMatrix.of(sparse.csr_array(X)), intercept=True)
    else:
        design = DenseMatrix.of(X + (1e6 if kind == "far" else 0.0))
    logistic = response == "logistic"
    y = (rng.uniform(size=n) < 1 / (1 + np.exp(-eta))).astype(float) if logistic else rng.poisson(np.exp(eta)) * 1.0
    family = Response(Bernoulli(), LOGIT) if logistic else Response(Poisson(), LOG)
    strengths = design.coordinates.strengths(L2(strength).strengths(6))
    return Problem(Observations(design, y, rng.uniform(0.5, 2, n)), family, strengths)
