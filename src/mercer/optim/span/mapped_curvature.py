"""Preconditioners for problems on features: the inverse Hessian of a sample of the rows.

With m rows and r features all eigenvalues of the Hessian are right up to a factor of about 1 ± 2√(r/m), so that
conjugate gradients gain a digit per step however ill-conditioned the kernel is; the Hessian of all rows would cost as
much as all steps together.
"""

from __future__ import annotations

from copy import copy
from typing import Any, Protocol

import numpy as np
from scipy.linalg.lapack import dpotrf, dpotrs

from mercer._threads import blas_for
from mercer._typing import Array
from mercer.matrices.mapped import MappedMatrix
from mercer.optim.span._tensor_curvature import TensorInverse
from mercer.optim.span.losses import SoftmaxCurvature

#: sampled rows per feature
SAMPLED_ROWS_PER_FEATURE = 30
#: smallest number of sampled rows per feature
FEWEST_SAMPLED_ROWS = 3
#: multiplications that the Hessian of the sample may cost
MAX_SAMPLE_PRODUCTS = 3e10
#: first addition to the diagonal of an indefinite matrix, in units of its largest entry
GRAM_JITTER = 1e-12
#: portion of the typical curvature that is added to that of each class
RARE_CLASS_CURVATURE = 1e-3


class Inverse(Protocol):
    """Approximate inverse r ↦ (Zᵀ W Z + λ)⁻¹ r, for each output with its λ."""

    def matvec(self, R: Array) -> Array: ...

    def with_penalties(self, strengths: Array) -> Inverse:
        """Return the inverse for other penalties."""

    def used_degrees(self) -> float:
        """Return tr (ZᵀWZ + λ)⁻¹ ZᵀWZ for the first of the penalties."""


def sampled_inverse(design: Any, sample: Array, curvature: Any, strengths: Array) -> Inverse:
    """Return the inverse for the rows of a sample, with one curvature per row."""
    if isinstance(design, MappedMatrix):
        gram = design.gram(sample_weights(sample, curvature.typical), sample)
        return SampledInverse(gram, design.n_features, strengths)
    inverse: Inverse = TensorInverse(design, sample, curvature, strengths)
    return inverse


def sampled_preconditioner(design: Any, sample: Array, curvature: Any, strengths: Array) -> Inverse:
    """Return the inverse for a sample, with a curvature for each class: one for all takes three times the steps."""
    if not (isinstance(design, MappedMatrix) and isinstance(curvature, SoftmaxCurvature)):
        return sampled_inverse(design, sample, curvature, strengths)
    weight = 1.0 if curvature.weight is None else curvature.weight[:, None]
    spread = weight * curvature.p * (1 - curvature.p)
    # the intercept of a rare class would have almost no curvature
    each = (sample_weights(sample, h + RARE_CLASS_CURVATURE * curvature.typical) for h in spread.T)
    parts = [
        SampledInverse(design.gram(h, sample), design.n_features, strengths[k : k + 1]) for k, h in enumerate(each)
    ]
    return ClassInverses(parts, strengths, symmetric=curvature.symmetric and bool(np.ptp(strengths) == 0))


def sample_weights(sample: Array, h: Array) -> Array:
    """Return weights by which the curvature of a sample approximates that of all rows with weights h."""
    of_sample = h[sample]
    share = of_sample.sum() / h.sum() if h.sum() > 0 else 1.0
    return np.asarray(of_sample / share if share > 0 else np.ones(len(sample)))


def curvature_sample(n: int, columns: int) -> Array:
    """Return the numbers of the sampled rows, always the same; all rows if that is affordable."""
    share = np.clip(MAX_SAMPLE_PRODUCTS / max(columns, 1) ** 3, FEWEST_SAMPLED_ROWS, SAMPLED_ROWS_PER_FEATURE)
    return sample_numbers(n, int(share * max(columns, 100)))


def sample_numbers(n: int, size: int) -> Array:
    """Return `size` of n numbers, drawn with a fixed seed, in order; all if n is less than twice `size`."""
    return np.arange(n) if 2 * size >= n else np.sort(np.random.default_rng(0).choice(n, size, replace=False))


class SampledInverse:
    """Approximate inverse r ↦ (Zᵀ W Z + λ)⁻¹ r, for each output with its λ."""

    def __init__(self, gram: Array, n_features: int, strengths: Array) -> None:
        self._gram = gram
        self.penalises = np.arange(len(gram)) < n_features
        self._factorise(strengths)

    def with_penalties(self, strengths: Array) -> SampledInverse:
        """Return the inverse for other penalties."""
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
            jitter = max(GRAM_JITTER * float(self._gram.max(initial=strength)), 100 * jitter)

    def matvec(self, R: Array) -> Array:
        result = np.empty_like(R)
        for number, factor in enumerate(self._factors):
            of = self._of == number
            # BLAS threads would keep spinning while the next rows are read
            with blas_for(R.shape[1]):
                result[:, of] = dpotrs(factor, R[:, of], lower=1)[0]
        return result

    def used_degrees(self) -> float:
        """Return tr (ZᵀWZ + λ)⁻¹ ZᵀWZ for the first of the penalties."""
        return float(np.trace(dpotrs(self._factors[0], self._gram, lower=1)[0]))


class ClassInverses:
    """An inverse for each class, as if the others were fixed.

    If every class has an output, a common change of all changes no probability: only the penalty has curvature there,
    and the inverses of the classes apply to their differences.
    """

    def __init__(self, parts: list[SampledInverse], strengths: Array, *, symmetric: bool) -> None:
        self._parts, self._strengths, self._symmetric = parts, strengths, symmetric

    def with_penalties(self, strengths: Array) -> ClassInverses:
        """Return the inverse for other penalties."""
        parts = [part.with_penalties(strengths[k : k + 1]) for k, part in enumerate(self._parts)]
        return ClassInverses(parts, strengths, symmetric=self._symmetric and bool(np.ptp(strengths) == 0))

    def matvec(self, R: Array) -> Array:
        if not self._symmetric:
            return self._each(R)
        common = R.mean(axis=1, keepdims=True)
        result = self._each(R - common)
        shared = np.where(self._parts[0].penalises[:, None], common / self._strengths[0], 0.0)
        return np.asarray(result - result.mean(axis=1, keepdims=True) + shared)

    def _each(self, R: Array) -> Array:
        return np.column_stack([part.matvec(R[:, k : k + 1]) for k, part in enumerate(self._parts)])

    def used_degrees(self) -> float:
        """Return the sum over the classes, each as if the others were fixed."""
        return sum(part.used_degrees() for part in self._parts)
