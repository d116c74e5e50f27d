"""Losses of rows as functions of their values η: a kernel model adds only a norm.

η has a column for each output: one, one for each class, or one for each target.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from mercer._typing import Array
from mercer.families import IDENTITY, Gaussian
from mercer.families.penalties import Strengths
from mercer.families.response import Response, SoftmaxResponse
from mercer.matrices import Coordinates, DenseMatrix, Observations
from mercer.optim.problem import MidwayResponse, Problem
from mercer.optim.softmax import SoftmaxProblem


class LossCurvature(ABC):
    """W, the second derivative of the losses at some η: a matrix (outputs, outputs) for each row."""

    @abstractmethod
    def matvec(self, V: Array) -> Array:
        """Return W V."""

    @property
    def diagonal(self) -> Array | None:
        """Return W if it is diagonal for each row: (rows, outputs); else None."""
        return None

    @abstractmethod
    def part(self, rows: Any) -> LossCurvature:
        """Return W of some rows, a slice or their numbers."""

    @abstractmethod
    def level(self, sums: Array) -> Array:
        """Return (1ᵀW1)⁻¹ sums: the constants for the outputs whose products with W have the given sums."""

    @property
    @abstractmethod
    def typical(self) -> Array:
        """Return one representative curvature for each row."""


@dataclass(frozen=True, eq=False)
class DiagonalCurvature(LossCurvature):
    """W of independent outputs."""

    h: Array

    def matvec(self, V: Array) -> Array:
        return np.asarray(self.h * V)

    @property
    def diagonal(self) -> Array:
        return np.ascontiguousarray(self.h)

    def part(self, rows: Any) -> DiagonalCurvature:
        return DiagonalCurvature(self.h[rows])

    def level(self, sums: Array) -> Array:
        total = self.h.sum(axis=0)
        return np.asarray(np.divide(sums, total, out=np.zeros_like(sums), where=np.broadcast_to(total > 0, sums.shape)))

    @property
    def typical(self) -> Array:
        return np.asarray(self.h.mean(axis=1))


@dataclass(frozen=True, eq=False)
class SoftmaxCurvature(LossCurvature):
    """W of a softmax: diag(p) − ppᵀ for each row, times its weight."""

    p: Array
    weight: Array | None
    #: whether every class has an output, so that adding a constant to all changes nothing
    symmetric: bool

    def matvec(self, V: Array) -> Array:
        bent = self.p * (V - np.einsum("ik,ik->i", self.p, V)[:, None])
        return np.asarray(bent if self.weight is None else self.weight[:, None] * bent)

    def part(self, rows: Any) -> SoftmaxCurvature:
        return replace(self, p=self.p[rows], weight=None if self.weight is None else self.weight[rows])

    def level(self, sums: Array) -> Array:
        weighted = self.p if self.weight is None else self.weight[:, None] * self.p
        matrix = np.diag(weighted.sum(axis=0)) - weighted.T @ self.p
        if self.symmetric:
            matrix += np.trace(matrix) / matrix.size  # the solution is not unique: that with sum 0
        return np.asarray(np.linalg.pinv(matrix, hermitian=True) @ sums)

    @property
    def typical(self) -> Array:
        spread = np.einsum("ik,ik->i", self.p, 1 - self.p) / max(1, self.p.shape[1] - 1)
        return np.asarray(spread if self.weight is None else self.weight * spread)


class RowLosses(ABC):
    """Σ weight · loss as a function of η, for arrays or tensors."""

    @property
    @abstractmethod
    def outputs(self) -> int:
        """Return the number of columns of η."""

    @abstractmethod
    def start(self) -> Array:
        """Return initial intercepts, about those of a model without anything else."""

    @abstractmethod
    def value(self, eta: Any) -> float:
        """Return Σ weight · loss."""

    @abstractmethod
    def slopes(self, eta: Any) -> tuple[Any, Any]:
        """Return weight · ∂loss/∂η of every row, and W."""

    @abstractmethod
    def part(self, rows: Any) -> RowLosses:
        """Return the losses of some rows, a slice or their numbers."""

    @abstractmethod
    def unit(self, value: float) -> float:
        """Return the unit in which lengths of gradients are standard errors; see `Problem.unit`."""

    @property
    @abstractmethod
    def is_convex(self) -> bool:
        """True if every stationary point is a minimum."""

    @property
    def quadratic(self) -> bool:
        """True if one Newton step leads to the minimum."""
        return False


class ArrayLosses(RowLosses):
    """Losses of arrays, whose W can eliminate an intercept."""

    @abstractmethod
    def slopes(self, eta: Array) -> tuple[Array, LossCurvature]: ...

    @abstractmethod
    def part(self, rows: Any) -> ArrayLosses: ...


@dataclass(frozen=True, eq=False)
class ResponseLosses(ArrayLosses):
    """Losses of a family with a link, for one output, or several with the same family and link."""

    response: Response
    y: Array  # (n, outputs)
    weight: Array | None = None
    offset: Array | None = None
    #: whether W is the expected curvature, as for degrees of freedom, rather than the observed one, as for Newton steps
    expected: bool = False

    @property
    def outputs(self) -> int:
        return int(self.y.shape[1])

    @cached_property
    def nulls(self) -> list[Problem]:
        """Return a problem with an intercept only, for each output."""
        return [
            Problem(observe_constant(y, self.weight, self.offset), self.response, Strengths.none(1)) for y in self.y.T
        ]

    def start(self) -> Array:
        return np.array([null.start()[0] for null in self.nulls])

    def value(self, eta: Array) -> float:
        parts = (self.response.loss(y, self._moved(e), self.weight) for y, e in zip(self.y.T, eta.T, strict=True))
        return float(sum(parts))

    def slopes(self, eta: Array) -> tuple[Array, LossCurvature]:
        first, second = np.empty(eta.shape), np.empty(eta.shape)
        for k in range(self.outputs):
            y, e = self.y[:, k], self._moved(eta[:, k])
            _, first[:, k], second[:, k] = self.response.slopes(y, e, self.weight)
            if not self.expected and self.response.link != self.response.family.response_link:
                # observed curvature for Newton steps; the expected one where that is not positive
                observed = self.response.curvature(y, e, self.weight)
                second[:, k] = np.where(observed > 0, observed, second[:, k])
        return first, DiagonalCurvature(second)

    def part(self, rows: Any) -> ResponseLosses:
        weight, offset = (None if given is None else given[rows] for given in (self.weight, self.offset))
        return replace(self, y=self.y[rows], weight=weight, offset=offset)

    def midway(self) -> ResponseLosses:
        """Return squared losses of η about that of a mean halfway between y and the mean of all."""
        centre = float(np.average(self.y, axis=0, weights=self.weight).mean())
        response = MidwayResponse(self.response.family, self.response.link, centre)
        return replace(self, response=response, expected=True)

    def unit(self, value: float) -> float:
        return max(null.unit(value / self.outputs) for null in self.nulls)

    @property
    def is_convex(self) -> bool:
        return self.response.is_convex

    @property
    def quadratic(self) -> bool:
        return isinstance(self.response.family, Gaussian) and self.response.link == IDENTITY

    def _moved(self, eta: Array) -> Array:
        return np.ascontiguousarray(eta) if self.offset is None else eta + self.offset


@dataclass(frozen=True, eq=False)
class ClassRowLosses(ArrayLosses):
    """Losses of a softmax with an output for each class."""

    response: SoftmaxResponse
    codes: Array
    weight: Array | None = None

    @property
    def outputs(self) -> int:
        return self.response.columns

    @cached_property
    def _null(self) -> SoftmaxProblem:
        return SoftmaxProblem(observe_constant(self.codes, self.weight, None), self.response, Strengths.none(1))

    def start(self) -> Array:
        return np.asarray(self._null.matrix(self._null.start())[0])

    def value(self, eta: Array) -> float:
        return self.response.loss(self.codes, eta, self.weight)

    def slopes(self, eta: Array) -> tuple[Array, LossCurvature]:
        p = self.response.probabilities(eta)
        if (reference := self.response.reference) is not None:
            p = np.delete(p, reference, axis=1)
        _, first = self.response.slopes(self.codes, np.array(eta), self.weight)
        return first, SoftmaxCurvature(p, self.weight, symmetric=reference is None)

    def part(self, rows: Any) -> ClassRowLosses:
        weight = None if self.weight is None else self.weight[rows]
        return replace(self, codes=self.codes[rows], weight=weight)

    def unit(self, value: float) -> float:
        return self._null.unit(value)

    @property
    def is_convex(self) -> bool:
        return self.response.is_convex


def observe_constant(y: Array, weight: Array | None, offset: Array | None) -> Observations:
    """Return observations with an intercept and no columns."""
    empty = DenseMatrix(np.empty((len(y), 0)), Coordinates.plain(0, intercept=True))
    return Observations(empty, y, weight, offset)
