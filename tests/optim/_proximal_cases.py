"""Responses and designs of every kind for proximal Newton."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from mercer.families import (
    IDENTITY,
    LOG,
    LOGIT,
    PROBIT,
    Bernoulli,
    Gamma,
    Gaussian,
    NegativeBinomial,
    Poisson,
    Response,
)
from mercer.matrices import CategoricalMatrix, DenseMatrix, Matrix, SparseMatrix, SplitMatrix

Array = NDArray[np.float64]

RESPONSES = {
    "gaussian": Response(Gaussian(), IDENTITY),
    "bernoulli": Response(Bernoulli(), LOGIT),
    "poisson": Response(Poisson(), LOG),
    "gamma": Response(Gamma(), LOG),
    "negative binomial": Response(NegativeBinomial(2.0), LOG),
    "probit": Response(Bernoulli(), PROBIT),
}


def drawn(response: Response, eta: Array, rng: np.random.Generator) -> Array:
    family, mean = response.family, response.mean(eta)
    if isinstance(family, Gaussian):
        return mean + rng.normal(size=len(eta))
    if isinstance(family, Bernoulli):
        return (rng.random(len(eta)) < mean).astype(float)
    if isinstance(family, Gamma):
        return rng.gamma(2.0, mean / 2)
    return rng.poisson(mean).astype(float)


def dense(n: int, p: int, rng: np.random.Generator) -> Matrix:
    return DenseMatrix.of(rng.normal(size=(n, p)) + rng.normal(size=p))


def sparse_rows(n: int, p: int, rng: np.random.Generator) -> Matrix:
    X = sparse.random_array((n, p), density=0.2, rng=rng, format="csr")
    return SplitMatrix.of(sparse=SparseMatrix.of(X), intercept=True)


def mixed(n: int, p: int, rng: np.random.Generator) -> Matrix:
    numbers = DenseMatrix.of(rng.normal(size=(n, p // 3)), intercept=False)
    stored = SparseMatrix.of(sparse.random_array((n, p // 3), density=0.3, rng=rng, format="csr"))
    levels = p - 2 * (p // 3)
    codes = CategoricalMatrix.of([rng.integers(-1, levels - 2, size=n), rng.integers(0, 2, size=n)], [levels - 2, 2])
    return SplitMatrix.of(numbers, stored, codes, intercept=True)


DESIGNS = {"dense": dense, "sparse": sparse_rows, "mixed": mixed}
