"""How many degrees of freedom a function in the span of the rows has used up: tr W̃K(λI + W̃K)⁻¹, and its intercept."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from mercer._typing import Array
from mercer.optim.span.losses import ResponseLosses
from mercer.optim.span.mapped_curvature import sampled_inverse, curvature_sample
from mercer.optim.span.mapped_newton import MappedProblem
from mercer.optim.span.newton import KernelProblem, conjugate_gradient, threads_for

#: rows up to which the trace is computed, and how many random signs estimate it else
EXACT_ROWS, SIGNS = 1000, 50
#: error of the products that go into it
TOLERANCE = 1e-4


def used_degrees_of_freedom(problem: KernelProblem | MappedProblem, eta: Array) -> float:
    """Of a problem of one output, at the optimum; of many rows, give or take a fifth of the root of the trace."""
    if isinstance(problem, MappedProblem):
        return _degrees_on_features(problem, eta)
    n, bend = len(problem.products), _expected_curvature(problem, eta)
    V = np.eye(n) if n <= EXACT_ROWS else _random_signs(n)
    bent = bend.times(V - bend.level(bend.times(V).sum(axis=0)) if problem.intercept else V)
    # tr K(λI + W̃K)⁻¹W̃, in which what K does not see has no part
    with threads_for(problem.products):
        inverse = problem.products.preconditioner(bend, problem.strength, intercept=problem.intercept)
        _, moved, _, _ = conjugate_gradient(problem, bend, inverse, bent, TOLERANCE)
    return float(np.vdot(V, moved)) * n / float(np.vdot(V, V)) + problem.intercept


def _degrees_on_features(problem: MappedProblem, eta: Array) -> float:
    """tr (ZᵀWZ + λ)⁻¹ ZᵀWZ, with the curvature of a sample."""
    design, sample = problem.design, curvature_sample(problem.design.n_rows, problem.design.n_columns)
    return sampled_inverse(design, sample, _expected_curvature(problem, eta), problem.strengths).used_degrees()


def _expected_curvature(problem: KernelProblem | MappedProblem, eta: Array) -> Any:
    losses = problem.losses
    return (replace(losses, expected=True) if isinstance(losses, ResponseLosses) else losses).slopes(eta)[1]


def _random_signs(n: int) -> Array:
    return np.where(np.random.default_rng(0).random((n, SIGNS)) < 0.5, -1.0, 1.0)
