"""The losses of rows as functions of their values η, wherever these come from: a kernel model adds only a norm.

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
from mercer.matrices import Coordinates, DenseDesign, Observations
from mercer.optim.problem import MidwayResponse, Problem
from mercer.optim.softmax import SoftmaxProblem


class LossCurvature(ABC):
    """W, the second derivative of the losses at some η: a matrix of outputs for each row."""

    @abstractmethod
    def times(self, V: Array) -> Array:
        """W V."""

    @property
    def diagonal(self) -> Array | None:
        """W where every output has a number of its own for each row; else None."""
        return None

    @abstractmethod
    def part(self, rows: Any) -> LossCurvature:
        """Of some rows, a slice or their numbers."""

    @abstractmethod
    def level(self, sums: Array) -> Array:
        """(1ᵀW1)⁻¹ sums: constants, one for each output, whose Σ W is given."""

    @property
    @abstractmethod
    def typical(self) -> Array:
        """One number for each row that stands for its matrix."""


@dataclass(frozen=True, eq=False)
class DiagonalCurvature(LossCurvature):
    """Outputs that are independent of each other."""

    h: Array

    def times(self, V: Array) -> Array:
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
    """diag(p) − ppᵀ for each row, times its weight."""

    p: Array
    weight: Array | None
    #: whether there is an output for every class, so that the same constant for all changes nothing
    symmetric: bool

    def times(self, V: Array) -> Array:
        bent = self.p * (V - np.einsum("ik,ik->i", self.p, V)[:, None])
        return np.asarray(bent if self.weight is None else self.weight[:, None] * bent)

    def part(self, rows: Any) -> SoftmaxCurvature:
        return replace(self, p=self.p[rows], weight=None if self.weight is None else self.weight[rows])

    def level(self, sums: Array) -> Array:
        weighted = self.p if self.weight is None else self.weight[:, None] * self.p
        matrix = np.diag(weighted.sum(axis=0)) - weighted.T @ self.p
        if self.symmetric:
            matrix += np.trace(matrix) / matrix.size  # of all constants that do, those whose sum is 0
        return np.asarray(np.linalg.pinv(matrix, hermitian=True) @ sums)

    @property
    def typical(self) -> Array:
        spread = np.einsum("ik,ik->i", self.p, 1 - self.p) / max(1, self.p.shape[1] - 1)
        return np.asarray(spread if self.weight is None else self.weight * spread)


class RowLosses(ABC):
    """Σ weight · loss as a function of η, of arrays or tensors."""

    @property
    @abstractmethod
    def outputs(self) -> int:
        """Columns of η."""

    @abstractmethod
    def start(self) -> Array:
        """Intercepts to begin with: those of a model that has nothing else, about."""

    @abstractmethod
    def value(self, eta: Any) -> float:
        """Σ weight · loss."""

    @abstractmethod
    def slopes(self, eta: Any) -> tuple[Any, Any]:
        """weight · ∂loss/∂η of every row, and W."""

    @abstractmethod
    def part(self, rows: Any) -> RowLosses:
        """Of some rows, a slice or their numbers."""

    @abstractmethod
    def unit(self, value: float) -> float:
        """What makes lengths of gradients standard errors; see `Problem.unit`."""

    @property
    @abstractmethod
    def is_convex(self) -> bool:
        """Whether a point without a gradient is known to be the minimum."""

    @property
    def quadratic(self) -> bool:
        """Whether one Newton step is all it takes."""
        return False


class ArrayLosses(RowLosses):
    """Of arrays: an intercept can be taken out of their W."""

    @abstractmethod
    def slopes(self, eta: Array) -> tuple[Array, LossCurvature]: ...

    @abstractmethod
    def part(self, rows: Any) -> ArrayLosses: ...


@dataclass(frozen=True, eq=False)
class ResponseLosses(ArrayLosses):
    """A family seen through a link, for one output or several that share it."""

    response: Response
    y: Array  # (n, outputs)
    weight: Array | None = None
    offset: Array | None = None
    #: whether W is what is expected of it, which degrees of freedom mean, not what is seen, which makes quicker steps
    expected: bool = False

    @property
    def outputs(self) -> int:
        return int(self.y.shape[1])

    @cached_property
    def nulls(self) -> list[Problem]:
        """One for each output."""
        return [Problem(observe_constant(y, self.weight, self.offset), self.response, Strengths.none(1)) for y in self.y.T]

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
                # what is seen makes Newton's steps, what is expected is positive everywhere
                seen = self.response.curvature(y, e, self.weight)
                second[:, k] = np.where(seen > 0, seen, second[:, k])
        return first, DiagonalCurvature(second)

    def part(self, rows: Any) -> ResponseLosses:
        weight, offset = (None if given is None else given[rows] for given in (self.weight, self.offset))
        return replace(self, y=self.y[rows], weight=weight, offset=offset)

    def midway(self) -> ResponseLosses:
        """Squares of η less that of a mean halfway between y and the mean of all: its minimum may be a start."""
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
    """The softmax of an output for each class."""

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
    """Rows of which only the response is known: a design with an intercept and no columns."""
    nothing = DenseDesign(np.empty((len(y), 0)), Coordinates.plain(0, intercept=True))
    return Observations(nothing, y, weight, offset)
