"""Losses of rows on a device: the losses of `span.losses` for values η that are tensors."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from mercer._gpu import like
from mercer._typing import Array
from mercer.optim.span.losses import ClassRowLosses, ResponseLosses, RowLosses


@dataclass(frozen=True, eq=False)
class DiagonalTensorCurvature:
    """W of independent outputs, as tensors."""

    h: Any
    #: tensors have no compiled loops over tiles
    diagonal = None

    def matvec(self, V: Any) -> Any:
        return self.h * V

    def part(self, rows: Any) -> DiagonalTensorCurvature:
        return DiagonalTensorCurvature(self.h[rows])

    @property
    def typical(self) -> Any:
        return self.h.mean(dim=1)


@dataclass(frozen=True, eq=False)
class SoftmaxTensorCurvature(DiagonalTensorCurvature):
    """W of a softmax, diag(p) − ppᵀ for each row, times its weight; h is p."""

    weight: Any = None

    def matvec(self, V: Any) -> Any:
        bent = self.h * (V - (self.h * V).sum(dim=1, keepdim=True))
        return bent if self.weight is None else self.weight[:, None] * bent

    def part(self, rows: Any) -> SoftmaxTensorCurvature:
        return replace(self, h=self.h[rows], weight=None if self.weight is None else self.weight[rows])

    @property
    def typical(self) -> Any:
        spread = (self.h * (1 - self.h)).sum(dim=1) / max(1, self.h.shape[1] - 1)
        return spread if self.weight is None else self.weight * spread


@dataclass(frozen=True, eq=False)
class TensorRowLosses(RowLosses):
    """Losses of arrays, evaluated with responses, weights and offsets as float64 tensors on the device of X."""

    losses: ResponseLosses | ClassRowLosses
    y: Any  # (n, outputs), or codes
    weight: Any = None
    offset: Any = None

    @classmethod
    def on_device_of(cls, losses: ResponseLosses | ClassRowLosses, X: Any) -> TensorRowLosses:
        """Copy responses, weights and offsets to the device of X."""
        import torch

        def moved(values: Array | None) -> Any:
            return None if values is None else like(values, X, dtype=torch.float64)

        if isinstance(losses, ClassRowLosses):
            return cls(losses, like(losses.codes, X, dtype=torch.int64), moved(losses.weight))
        return cls(losses, moved(losses.y), moved(losses.weight), moved(losses.offset))

    @property
    def outputs(self) -> int:
        return self.losses.outputs

    @property
    def is_convex(self) -> bool:
        return self.losses.is_convex

    @property
    def quadratic(self) -> bool:
        return self.losses.quadratic

    def start(self) -> Array:
        return self.losses.start()

    def unit(self, value: float) -> float:
        return self.losses.unit(value)

    def part(self, rows: Any) -> TensorRowLosses:
        if isinstance(rows, slice):
            return (
                self
                if rows == slice(None)
                else replace(self, **{name: self._cut(name, rows) for name in TENSOR_FIELDS})
            )
        import torch

        numbers = like(rows, self.y, dtype=torch.int64)
        return replace(
            self, losses=self.losses.part(rows), **{name: self._cut(name, numbers) for name in TENSOR_FIELDS}
        )

    def _cut(self, name: str, rows: Any) -> Any:
        values = getattr(self, name)
        return None if values is None else values[rows]

    def value(self, eta: Any) -> float:
        if isinstance(self.losses, ClassRowLosses):
            return float(self.losses.response.loss(self.y, eta, self.weight))
        parts = (
            self.losses.response.loss(self.y[:, k], self._moved(eta[:, k]), self.weight) for k in range(self.outputs)
        )
        return float(sum(parts))

    def slopes(self, eta: Any) -> tuple[Any, DiagonalTensorCurvature]:
        import torch

        eta = like(eta, self.y, dtype=torch.float64)
        if isinstance(self.losses, ClassRowLosses):
            p, reference = self.losses.response.probabilities(eta), self.losses.response.reference
            if reference is not None:
                p = torch.cat([p[:, :reference], p[:, reference + 1 :]], dim=1)
            first = self.losses.response.slopes(self.y, eta, self.weight)[1]
            return first, SoftmaxTensorCurvature(p, self.weight)
        found = [
            self.losses.response.slopes(self.y[:, k], self._moved(eta[:, k]), self.weight) for k in range(self.outputs)
        ]
        first, second = (torch.stack([getattr(one, name) for one in found], dim=1) for name in ("first", "second"))
        return first, DiagonalTensorCurvature(second)

    def _moved(self, eta: Any) -> Any:
        return eta if self.offset is None else eta + self.offset


TENSOR_FIELDS = ("y", "weight", "offset")
