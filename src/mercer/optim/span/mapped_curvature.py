"""The curvature of a problem on features, from some of the rows: what preconditions steps with all of them.

Of m rows with r features all eigenvalues of the Hessian are right to about a factor 1 ± 2√(r/m), so that conjugate
gradients gain a digit a step however ill-conditioned the kernel is; the one of all rows would cost as much as all steps
together.
"""

from __future__ import annotations

from copy import copy
from typing import Any, Protocol

import numpy as np
from scipy.linalg.lapack import dpotrf, dpotrs

from mercer._threads import blas_for
from mercer._typing import Array
from mercer.matrices.mapped import MappedDesign
from mercer.optim.span._tensor_curvature import TensorInverse
from mercer.optim.span.losses import SoftmaxCurvature

#: rows for each feature, and products that their square may cost at most
ROWS, FEWEST_ROWS, PRODUCTS = 30, 3, 3e10
#: what is added to the diagonal, in the largest entry of it, if rounding left the matrix indefinite
JITTER = 1e-12
#: portion of the typical curvature that a class has at least
RARE = 1e-3


class Inverse(Protocol):
    """r ↦ (Zᵀ W Z + λ)⁻¹ r, about, for each output with its λ."""

    def times(self, R: Array) -> Array: ...

    def penalised(self, strengths: Array) -> Inverse:
        """With other penalties."""

    def used_degrees(self) -> float:
        """tr (ZᵀWZ + λ)⁻¹ ZᵀWZ for the first of the penalties."""


def sampled_inverse(design: Any, sample: Array, bend: Any, strengths: Array) -> Inverse:
    """From the rows of a sample."""
    if isinstance(design, MappedDesign):
        return SampledInverse(design.gram(sample_weights(sample, bend.typical), sample), design.n_features, strengths)
    inverse: Inverse = TensorInverse(design, sample, bend, strengths)
    return inverse


def sampled_preconditioner(design: Any, sample: Array, bend: Any, strengths: Array) -> Inverse:
    """From the rows of a sample; classes have a curvature each: with one for all it takes three times the steps."""
    if not (isinstance(design, MappedDesign) and isinstance(bend, SoftmaxCurvature)):
        return sampled_inverse(design, sample, bend, strengths)
    spread = bend.p * (1 - bend.p) if bend.weight is None else bend.weight[:, None] * bend.p * (1 - bend.p)
    # of a class that hardly any row may be of, nothing would be known of the intercept
    each = (sample_weights(sample, h + RARE * bend.typical) for h in spread.T)
    parts = [
        SampledInverse(design.gram(h, sample), design.n_features, strengths[k : k + 1]) for k, h in enumerate(each)
    ]
    return ClassInverses(parts, strengths, symmetric=bend.symmetric and bool(np.ptp(strengths) == 0))


def sample_weights(sample: Array, h: Array) -> Array:
    """With which the curvature of a sample is about that of all rows, whose weights are given."""
    of_sample = h[sample]
    share = of_sample.sum() / h.sum() if h.sum() > 0 else 1.0
    return np.asarray(of_sample / share if share > 0 else np.ones(len(sample)))


def curvature_sample(n: int, columns: int) -> Array:
    """Numbers of the rows that stand for all, always the same ones; all where that is no more work."""
    share = np.clip(PRODUCTS / max(columns, 1) ** 3, FEWEST_ROWS, ROWS)
    return sample_numbers(n, int(share * max(columns, 100)))


def sample_numbers(n: int, size: int) -> Array:
    """So many of n numbers, in order; all where these are not twice as many."""
    return np.arange(n) if 2 * size >= n else np.sort(np.random.default_rng(0).choice(n, size, replace=False))


class SampledInverse:
    """r ↦ (Zᵀ W Z + λ)⁻¹ r, about, for each output with its λ."""

    def __init__(self, gram: Array, n_features: int, strengths: Array) -> None:
        self._gram = gram
        self.penalises = np.arange(len(gram)) < n_features
        self._factorise(strengths)

    def penalised(self, strengths: Array) -> SampledInverse:
        """With other penalties."""
        other = copy(self)
        other._factorise(strengths)
        return other

    def _factorise(self, strengths: Array) -> None:
        each, self._of = np.unique(strengths, return_inverse=True)
        self._factors = [self._factor(float(strength)) for strength in each]

    def _factor(self, strength: float) -> Array:
        jitter = 0.0
        while True:
            matrix = np.array(self._gram, order="F")
            diagonal = np.einsum("ii->i", matrix)
            diagonal += np.where(self.penalises, strength, 0.0) + jitter
            with blas_for(len(matrix)):
                factor, failed = dpotrf(matrix, lower=1, clean=0, overwrite_a=1)
            if not failed:
                return np.asarray(factor)
            jitter = max(JITTER * float(self._gram.max(initial=strength)), 100 * jitter)

    def times(self, R: Array) -> Array:
        result = np.empty_like(R)
        for number, factor in enumerate(self._factors):
            of = self._of == number
            # other threads would go on spinning while the rows are read that come next
            with blas_for(R.shape[1]):
                result[:, of] = dpotrs(factor, R[:, of], lower=1)[0]
        return result

    def used_degrees(self) -> float:
        """tr (ZᵀWZ + λ)⁻¹ ZᵀWZ for the first of the penalties."""
        return float(np.trace(dpotrs(self._factors[0], self._gram, lower=1)[0]))


class ClassInverses:
    """One for each class, as if the others were given.

    Where every class has an output, what all have in common changes no probability: only the penalty bends it, and
    classes are left to what they differ in.
    """

    def __init__(self, parts: list[SampledInverse], strengths: Array, *, symmetric: bool) -> None:
        self._parts, self._strengths, self._symmetric = parts, strengths, symmetric

    def penalised(self, strengths: Array) -> ClassInverses:
        """With other penalties."""
        parts = [part.penalised(strengths[k : k + 1]) for k, part in enumerate(self._parts)]
        return ClassInverses(parts, strengths, symmetric=self._symmetric and bool(np.ptp(strengths) == 0))

    def times(self, R: Array) -> Array:
        if not self._symmetric:
            return self._each(R)
        common = R.mean(axis=1, keepdims=True)
        result = self._each(R - common)
        shared = np.where(self._parts[0].penalises[:, None], common / self._strengths[0], 0.0)
        return np.asarray(result - result.mean(axis=1, keepdims=True) + shared)

    def _each(self, R: Array) -> Array:
        return np.column_stack([part.times(R[:, k : k + 1]) for k, part in enumerate(self._parts)])

    def used_degrees(self) -> float:
        """Of all classes, each as if the others were given."""
        return sum(part.used_degrees() for part in self._parts)
