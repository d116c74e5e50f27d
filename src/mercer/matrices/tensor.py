"""Design matrix of a torch tensor: vectors of rows stay on the device, those of columns are arrays in main memory."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar, Self, cast

import numpy as np

from mercer._gpu import is_tensor, like, row_products, to_numpy
from mercer._gpu.chunks import in_chunks, tile_size
from mercer._threads import row_blocks
from mercer._typing import Array
from mercer.families.loss_loops import BernoulliLogit
from mercer.matrices.base import Matrix, Tile
from mercer.matrices.coordinates import Coordinates, positive_weight_rows
from mercer.matrices.cross_products import PILOT_ROWS, CrossSums, pilot
from mercer.matrices.dense import DenseMatrix
from mercer.matrices.newton_terms import GRADIENT, HESSIAN, LOSS, NewtonTerms
from mercer.matrices.observations import Observations

#: memory for a chunk in units of its rows: its copy in float64, and products
TENSOR_CHUNK_COPIES = 4
#: memory of a chunk whose cross products are summed: the chunk, its copy in float64, and that times its weights
CROSS_PRODUCT_COPIES = 3
#: name of a chunk in errors about device memory
CHUNK_IN_WORDS = "the columns in float64"
#: numbers that are copied from a device to choose coordinates
MAX_COORDINATE_NUMBERS = 1 << 17


@dataclass(frozen=True, eq=False)
class TensorMatrix(Matrix):
    """A matrix of float32 or float64 on any device, read chunk by chunk.

    Vectors of rows (X w, weights, slopes) are tensors of float64 on that device; vectors and matrices of columns (w,
    Xᵀ r, Xᵀ diag(h) X) are arrays in main memory. Chunks are shifted, scaled and multiplied in float64 for either
    dtype of X: an X in float32 loses no digits, and only a chunk of it is copied at a time.

    Examples
    --------
    >>> import torch
    >>> design = TensorMatrix.of(torch.tensor([[1.0], [3.0]]))
    >>> design.matvec(design.coordinates.from_user(np.array([2.0]), 1.0))
    tensor([3., 7.], dtype=torch.float64)
    """

    X: Any
    coordinates: Coordinates

    prefers_gram: ClassVar[bool] = True

    @classmethod
    def of(cls, X: Any, *, intercept: bool = True, weight: Any = None) -> Self:
        """Choose shift and scale from rows of positive weight spread over X."""
        weight = weight if weight is None or is_tensor(weight) else on_device(weight, X)
        rows = _FetchedRows(positive_weight_rows(X, weight))
        return cls(X, Coordinates.of(rows, intercept=intercept))  # type: ignore[arg-type]

    @property
    def n_rows(self) -> int:
        return len(self.X)

    @property
    def dtype(self) -> np.dtype[Any]:
        return np.dtype(np.float32 if str(self.X.dtype) == "torch.float32" else np.float64)

    @property
    def device(self) -> str:  # type: ignore[override]
        return str(self.X.device)

    @property
    def most_rows(self) -> int:
        return max(1, tile_size(self.X) // (TENSOR_CHUNK_COPIES * max(1, self.n_columns)))

    @property
    def block_rows(self) -> int:
        """All rows, as the device itself computes in parallel."""
        return max(1, self.n_rows)

    def rows(self, rows: slice) -> Self:
        return replace(self, X=self.X[rows])

    def take(self, rows: Array) -> Self:
        return replace(self, X=self.X[on_device(rows, self.X)])

    def within(self, coordinates: Coordinates) -> Self:
        return replace(self, coordinates=coordinates)

    def dense_rows(self, rows: slice | Array) -> Array:
        if not self.coordinates.is_plain:
            return super().dense_rows(rows)
        return to_numpy(self.X[rows if isinstance(rows, slice) else on_device(rows, self.X)])

    def tile(self) -> TensorTile:
        return self._tile(slice(None))

    def _tile(self, rows: slice) -> TensorTile:
        shift, scale = self._working
        # scales are powers of two, so that x/s − m/s equals (x − m)/s exactly, and takes one copy less
        values = self.X[rows] / scale
        values -= shift
        return TensorTile(values, self.coordinates.intercept)

    @cached_property
    def _working(self) -> tuple[Any, Any]:
        """Shift in units of the scale, and scale, on the device; copying them for each chunk would delay it."""
        shift, scale = self.coordinates.shift, self.coordinates.scale
        return self.to_device(shift / scale), self.to_device(scale)

    @property
    def in_one_pass(self) -> bool:
        """Return whether a GPU multiplies the rows in one pass, without copies of chunks."""
        return row_products.reads_in_one_pass(self.X)

    def matvec(self, w: Array) -> Any:
        """X w, on the device."""
        self.check_length(w)
        if w.ndim == 1 and self.in_one_pass:
            return row_products.times(self.X, self._shift_of_rows(), self._to_units_of_rows(w))
        product = self.X.new_empty((self.n_rows, *w.shape[1:]), dtype=_float64())

        def fill(rows: slice) -> None:
            product[rows] = self._tile(rows).matvec(w)

        in_chunks(self.n_rows, self.most_rows, fill, CHUNK_IN_WORDS)
        return product

    def rmatvec(self, r: Any) -> Array:
        r = self.to_device(r)
        if r.ndim == 1 and self.in_one_pass:
            return self._from_units_of_rows(*row_products.rmatvec(self.X, self._shift_of_rows(), r))
        return self._sum_chunks(lambda rows: self._tile(rows).moment(r[rows]))

    def newton_terms(
        self,
        response: Any,
        w: Array,
        y: Any,
        weight: Any = None,
        offset: Any = None,
        *,
        order: int = HESSIAN,
    ) -> NewtonTerms:
        """Read the rows once, or twice if slopes need their own pass; once more for a Hessian."""
        if w.ndim > 1:
            return super().newton_terms(response, w, y, weight, offset, order=order)
        self.check_length(w)
        if order == HESSIAN:
            self.check_gram_columns()
        logistic = isinstance(response.lower(), BernoulliLogit) and offset is None
        if logistic and order == GRADIENT and self.in_one_pass:  # pragma: no cover – only on a card
            loss, gradient = self.logistic(w, y, weight)
            if np.isfinite(loss):
                return NewtonTerms(loss, gradient, None)
        eta = self.matvec(w)
        slopes = response.slopes(y, eta if offset is None else eta + offset, weight)
        if order == LOSS:
            return NewtonTerms(slopes.loss, None, None)
        return NewtonTerms(
            slopes.loss, self.rmatvec(slopes.first), self.gram(slopes.second) if order == HESSIAN else None
        )

    def logistic(self, w: Array, y: Any, weight: Any) -> tuple[float, Array]:
        """Logistic loss and gradient for labels 0 and 1 in one pass; see `in_one_pass`."""
        sums = row_products.logistic(self.X, self._shift_of_rows(), self._to_units_of_rows(w), y, weight)
        return sums[0], self._from_units_of_rows(*sums[1:])

    def _shift_of_rows(self) -> Array:
        """Shifts to be subtracted from the rows; 0 where they can be subtracted from products."""
        return np.zeros_like(self.coordinates.shift) if self.coordinates.near else self.coordinates.shift

    def _to_units_of_rows(self, w: Array) -> Array:
        """Convert working coefficients to those of the rows less `_shift_of_rows`, with the intercept last."""
        d = len(self.coordinates.shift)
        v = w[:d] / self.coordinates.scale
        level = w[d] if self.coordinates.intercept else 0.0
        return np.append(v, level - (self.coordinates.shift - self._shift_of_rows()) @ v)

    def _from_units_of_rows(self, product: Array, total: float) -> Array:
        """Convert Xᵀ r of the rows less `_shift_of_rows`, with Σ r, to working coordinates."""
        product = (product - (self.coordinates.shift - self._shift_of_rows()) * total) / self.coordinates.scale
        return np.append(product, total) if self.coordinates.intercept else product

    def gram(self, h: Any) -> Array:
        self.check_gram_columns()
        h = self.to_device(h)
        return self._sum_chunks(lambda rows: self._tile(rows).product(h[rows]))

    def squares(self, h: Any) -> Array:
        return super().squares(self.to_device(h))

    def cross_products(self, Y: Array, weight: Array | None) -> CrossSums:
        import torch

        n, d = self.shape
        some = np.arange(min(n, PILOT_ROWS)) if weight is None else np.flatnonzero(weight)[:PILOT_ROWS]
        shift = np.concatenate([pilot(self.dense_rows(some)), pilot(Y[some])])
        about = like(shift, self.X, dtype=torch.float64)
        total = torch.zeros((1 + len(shift),) * 2, dtype=torch.float64, device=self.X.device)

        def add(rows: slice) -> None:
            joined = torch.ones((rows.stop - rows.start, len(total)), dtype=torch.float64, device=self.X.device)
            joined[:, 1 : 1 + d] = self._tile(rows).values if not self.coordinates.is_plain else self.X[rows]
            joined[:, 1 + d :] = like(Y[rows], joined)
            joined[:, 1:] -= about
            weighted = joined
            if weight is not None:
                of_rows = like(weight[rows], joined)
                joined[of_rows == 0] = 0.0
                weighted = of_rows[:, None] * joined
            total.add_(weighted.T @ joined)

        in_chunks(n, tile_size(self.X) // (CROSS_PRODUCT_COPIES * len(total)), add, CHUNK_IN_WORDS)
        count = n if weight is None else int(np.count_nonzero(weight))
        product = to_numpy(total)
        return CrossSums(count, float(product[0, 0]), shift, product[0, 1:], product[1:, 1:])

    def _sum_chunks(self, product: Callable[[slice], Any]) -> Array:
        """Sum the products of chunks on the device, and copy the sum to main memory."""
        total: list[Any] = []

        def add(rows: slice) -> None:
            part = product(rows)
            total[:] = [total[0].add_(part) if total else part]

        in_chunks(self.n_rows, self.most_rows, add, CHUNK_IN_WORDS)
        return to_numpy(total[0])

    def observe(self, y: Any, weight: Any = None, offset: Any = None) -> TensorObservations:
        return TensorObservations.of(self, y, weight, offset)

    def to_device(self, values: Any) -> Any:
        """Copy numbers to the device of the rows, in float64."""
        return like(values, self.X, dtype=_float64())

    def in_memory(self) -> DenseMatrix:
        """Return the matrix in main memory, for computations without an implementation on devices."""
        return DenseMatrix(to_numpy(self.X), self.coordinates)

    def tiles(self) -> Iterator[tuple[slice, TensorTile]]:
        for rows in row_blocks(self.n_rows, self.most_rows):
            yield rows, self._tile(rows)


class TensorTile(Tile):
    """Rows on their device, in working coordinates and float64, without the column of ones."""

    def __init__(self, values: Any, intercept: bool) -> None:
        self.values, self.intercept = values, intercept

    def matvec(self, w: Array) -> Any:
        import torch

        d = self.values.shape[1]
        point = torch.as_tensor(w, dtype=torch.float64, device=self.values.device)
        product = self.values @ point[:d]
        return product + point[d] if self.intercept else product

    def rmatvec(self, r: Any) -> Array:
        return to_numpy(self.moment(r))

    def moment(self, r: Any) -> Any:
        """Xᵀ r, on the device."""
        import torch

        product = self.values.T @ r
        return torch.cat([product, r.sum(dim=0)[None]]) if self.intercept else product

    def gram(self, h: Any) -> Array:
        return to_numpy(self.product(h))

    def product(self, h: Any) -> Any:
        """Xᵀ diag(h) X, on the device."""
        import torch

        weighted = self.values * h[:, None]
        product = self.values.T @ weighted
        if not self.intercept:
            return product
        border = weighted.sum(dim=0)[:, None]
        top = torch.cat([product, border], dim=1)
        return torch.cat([top, torch.cat([border, h.sum()[None, None]]).T])

    def softmax_hessian(self, response: Any, eta: Any, weight: Any) -> Array:
        """Compute one pair of classes after the other, on the device."""
        P: Any = response.probabilities(eta)
        k, p = eta.shape[1], self.values.shape[1] + self.intercept
        kept = [c for c in range(P.shape[1]) if c != response.reference]
        hessian = np.empty((k, p, k, p))
        for c, this in enumerate(kept):
            others = P[:, :this].sum(dim=1) + P[:, this + 1 :].sum(dim=1)  # 1 − p would lose digits
            heavy = P[:, this] if weight is None else weight * P[:, this]
            hessian[c, :, c] = self.gram(heavy * others)
            for b in range(c):
                hessian[c, :, b] = hessian[b, :, c] = -self.gram(heavy * P[:, kept[b]])
        return hessian.reshape(k * p, k * p)

    def squares(self, h: Any) -> Array:
        """Diagonal of Xᵀ diag(h) X."""
        product = to_numpy(h @ self.values.square())
        return np.append(product, float(h.sum())) if self.intercept else product

    def dense(self) -> Array:
        values = to_numpy(self.values)
        return np.column_stack([values, np.ones(len(values))]) if self.intercept else values


@dataclass(frozen=True, eq=False)
class TensorObservations(Observations):
    """Observations whose responses, weights and offsets are tensors on the device of the rows."""

    design: TensorMatrix

    @classmethod
    def of(cls, design: TensorMatrix, y: Any, weight: Any = None, offset: Any = None) -> Self:
        """Build the observations; all vectors except class codes become float64."""
        weight, offset = (None if values is None else design.to_device(values) for values in (weight, offset))
        return cls(design, y if is_tensor(y) and not y.is_floating_point() else design.to_device(y), weight, offset)

    def take(self, rows: Array) -> Self:
        return Observations.take(self, on_device(rows, self.design.X))

    def responses_as(self, dtype: Any) -> Observations:
        y: Any = self.y
        return replace(self, y=y.double() if np.dtype(dtype).kind == "f" else y.long())

    def class_weights(self, levels: int) -> Array:
        import torch

        y, weight = cast("Any", self.y), cast("Any", self.weight)
        return to_numpy(torch.bincount(y, weight, minlength=levels)).astype(float)

    def in_memory(self) -> Observations:
        return replace(self.vectors_in_memory(), design=self.design.in_memory())

    def vectors_in_memory(self) -> Observations:
        weight, offset = (None if v is None else to_numpy(v) for v in (self.weight, self.offset))
        return Observations(self.design, to_numpy(self.y), weight, offset)


def on_device(rows: Array, X: Any) -> Any:
    """Copy positions of rows to the device of X."""
    import torch

    return torch.as_tensor(rows, device=X.device)


def _float64() -> Any:
    import torch

    return torch.float64


class _FetchedRows:
    """A tensor with the array interface that `Coordinates.of` uses; rows and columns are copied to main memory."""

    def __init__(self, X: Any) -> None:
        self._X = X

    def __len__(self) -> int:
        return len(self._X)

    def __getitem__(self, which: Any) -> Any:
        if isinstance(which, tuple):
            return to_numpy(self._X[which])
        if which.step is not None:  # a sample of the rows: fewer are copied if there are many columns
            numbers = len(self) // which.step * self._X.shape[1]
            which = slice(None, None, which.step * max(1, -(-numbers // MAX_COORDINATE_NUMBERS)))
        return _FetchedRows(self._X[which])

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        return to_numpy(self._X).astype(dtype if dtype is not None else float)
