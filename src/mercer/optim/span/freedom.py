"""Effective degrees of freedom of a function in the span of the rows: tr W̃K(λI + W̃K)⁻¹ plus its intercept."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from mercer._typing import Array
from mercer.optim.span.losses import ResponseLosses
from mercer.optim.span.mapped_curvature import curvature_sample, sampled_inverse
from mercer.optim.span.mapped_newton import MappedProblem
from mercer.optim.span.newton import KernelProblem, conjugate_gradient, threads_for

#: rows up to which the trace is exact
EXACT_TRACE_ROWS = 1000
#: vectors of random signs that estimate it otherwise (Hutchinson)
SIGN_VECTORS = 50
#: relative error of the solutions from which it is computed
TRACE_TOLERANCE = 1e-4


def used_degrees_of_freedom(
    problem: KernelProblem | MappedProblem, eta: Array, *, exact_rows: int = EXACT_TRACE_ROWS
) -> float:
    """Return the degrees of freedom at the optimum, for one output.

    For more than `exact_rows` rows they are estimated, with an error of about a fifth of their root.
    """
    if isinstance(problem, MappedProblem):
        return _degrees_on_features(problem, eta)
    n, curvature = len(problem.products), _expected_curvature(problem, eta)
    V = np.eye(n) if n <= exact_rows else _random_signs(n)
    weighted = curvature.matvec(V - curvature.level(curvature.matvec(V).sum(axis=0)) if problem.intercept else V)
    # tr K(λI + W̃K)⁻¹W̃, to which the null space of K does not contribute
    with threads_for(problem.products):
        inverse = problem.products.preconditioner(curvature, problem.strength, intercept=problem.intercept)
        _, moved, _, _ = conjugate_gradient(problem, curvature, inverse, weighted, TRACE_TOLERANCE)
    return float(np.vdot(V, moved)) * n / float(np.vdot(V, V)) + problem.intercept


def _degrees_on_features(problem: MappedProblem, eta: Array) -> float:
    """Return tr (ZᵀWZ + λ)⁻¹ ZᵀWZ, with the curvature of a sample."""
    design, sample = problem.design, curvature_sample(problem.design.n_rows, problem.design.n_columns)
    return sampled_inverse(design, sample, _expected_curvature(problem, eta), problem.strengths).used_degrees()


def _expected_curvature(problem: KernelProblem | MappedProblem, eta: Array) -> Any:
    losses = problem.losses
    return (replace(losses, expected=True) if isinstance(losses, ResponseLosses) else losses).slopes(eta)[1]


def _random_signs(n: int) -> Array:
    return np.where(np.random.default_rng(0).random((n, SIGN_VECTORS)) < 0.5, -1.0, 1.0)
