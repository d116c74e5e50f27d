"""A tensor of torch as a design: rows stay on their device, and what is one number per column is an array here."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Self, cast

import numpy as np

from mercer._gpu import is_tensor, like, row_products, to_numpy
from mercer._gpu.chunks import in_chunks, tile_size
from mercer._threads import row_blocks
from mercer._typing import Array
from mercer.matrices._base import Design, Tile
from mercer.matrices.coordinates import Coordinates, that_count
from mercer.matrices.dense import DenseDesign
from mercer.matrices.observations import Observations

#: a chunk is copied in float64, and its products lie beside it
COPIES = 4
#: what a card may have no room for
CHUNK = "the columns in float64"
#: numbers that are fetched from a device to choose coordinates by
PILOT_NUMBERS = 1 << 17


@dataclass(frozen=True, eq=False)
class TensorDesign(Design):
    """A matrix of float32 or float64 on any device, read chunk by chunk.

    Vectors of rows (X w, weights, slopes) are tensors of float64 on that device; vectors and matrices of columns (w,
    Xᵀ r, Xᵀ diag(h) X) are arrays in main memory. Chunks are shifted, scaled and multiplied in float64, whatever X is:
    of an X in float32 no digit is lost, and no copy is made beyond a chunk.

    Examples
    --------
    >>> import torch
    >>> design = TensorDesign.of(torch.tensor([[1.0], [3.0]]))
    >>> design.times(design.coordinates.from_user(np.array([2.0]), 1.0))
    tensor([3., 7.], dtype=torch.float64)
    """

    X: Any
    coordinates: Coordinates

    @classmethod
    def of(cls, X: Any, *, intercept: bool = True, weight: Any = None) -> Self:
        """With shift and scale from rows spread over X, those of no weight left out."""
        counted = _Read(that_count(X, weight if weight is None or is_tensor(weight) else on_device(weight, X)))
        return cls(X, Coordinates.of(counted, intercept=intercept))  # type: ignore[arg-type]

    @property
    def n_rows(self) -> int:
        return len(self.X)

    @property
    def most_rows(self) -> int:
        return max(1, tile_size(self.X) // (COPIES * max(1, self.n_columns)))

    @property
    def block_rows(self) -> int:
        """All: it is the device that does many things at a time."""
        return max(1, self.n_rows)

    def rows(self, rows: slice) -> Self:
        return replace(self, X=self.X[rows])

    def take(self, rows: Array) -> Self:
        return replace(self, X=self.X[on_device(rows, self.X)])

    def tile(self) -> TensorTile:
        return self._tile(slice(None))

    def _tile(self, rows: slice) -> TensorTile:
        shift, scale = self._working
        # scales are powers of two, so that x/s − m/s is (x − m)/s to the last digit, and costs a copy less
        values = self.X[rows] / scale
        values -= shift
        return TensorTile(values, self.coordinates.intercept)

    @cached_property
    def _working(self) -> tuple[Any, Any]:
        """Shift, in units of the scale, and scale on the device: to move them there again would hold up each chunk."""
        parts = self.coordinates.shift / self.coordinates.scale, self.coordinates.scale
        return self.beside(parts[0]), self.beside(parts[1])

    @property
    def in_one_pass(self) -> bool:
        """Whether a card multiplies the rows as they are, without copies of chunks."""
        return row_products.reads_in_one_pass(self.X)

    def times(self, w: Array) -> Any:
        """X w, on the device."""
        self.refuse_other_length(w)
        if w.ndim == 1 and self.in_one_pass:
            return row_products.times(self.X, self._left(), self._unscaled(w))
        product = self.X.new_empty((self.n_rows, *w.shape[1:]), dtype=_float64())

        def fill(rows: slice) -> None:
            product[rows] = self._tile(rows).times(w)

        in_chunks(self.n_rows, self.most_rows, fill, CHUNK)
        return product

    def transposed_times(self, r: Any) -> Array:
        r = self.beside(r)
        if r.ndim == 1 and self.in_one_pass:
            return self._scaled(*row_products.transposed_times(self.X, self._left(), r))
        return self._added(lambda rows: self._tile(rows).moment(r[rows]))

    def logistic(self, w: Array, y: Any, weight: Any) -> tuple[float, Array]:
        """Loss and gradient of labels 0 and 1 in one reading of the rows; see `in_one_pass`."""
        sums = row_products.logistic(self.X, self._left(), self._unscaled(w), y, weight)
        return sums[0], self._scaled(*sums[1:])

    def _left(self) -> Array:
        """Shifts that have to be taken out of the rows themselves: none where products lose no digits by it."""
        return np.zeros_like(self.coordinates.shift) if self.coordinates.near else self.coordinates.shift

    def _unscaled(self, w: Array) -> Array:
        """Of the columns as they are multiplied, and a last coefficient for the intercept."""
        d = len(self.coordinates.shift)
        v = w[:d] / self.coordinates.scale
        level = w[d] if self.coordinates.intercept else 0.0
        return np.append(v, level - (self.coordinates.shift - self._left()) @ v)

    def _scaled(self, product: Array, total: float) -> Array:
        product = (product - (self.coordinates.shift - self._left()) * total) / self.coordinates.scale
        return np.append(product, total) if self.coordinates.intercept else product

    def gram(self, h: Any) -> Array:
        self.refuse_wide_gram()
        h = self.beside(h)
        return self._added(lambda rows: self._tile(rows).product(h[rows]))

    def _added(self, product: Callable[[slice], Any]) -> Array:
        """Products of chunks, summed where the rows are and fetched once."""
        total: list[Any] = []

        def add(rows: slice) -> None:
            part = product(rows)
            total[:] = [total[0].add_(part) if total else part]

        in_chunks(self.n_rows, self.most_rows, add, CHUNK)
        return to_numpy(total[0])

    def beside(self, values: Any) -> Any:
        """Numbers of rows where the rows are."""
        return like(values, self.X, dtype=_float64())

    def in_memory(self) -> DenseDesign:
        """The same rows in main memory: for what has no form on a device."""
        return DenseDesign(to_numpy(self.X), self.coordinates)

    def tiles(self) -> Iterator[tuple[slice, TensorTile]]:
        for rows in row_blocks(self.n_rows, self.most_rows):
            yield rows, self._tile(rows)


class TensorTile(Tile):
    """Some rows on their device, in working coordinates and float64; the column of ones is not there."""

    def __init__(self, values: Any, intercept: bool) -> None:
        self.values, self.intercept = values, intercept

    def times(self, w: Array) -> Any:
        import torch

        d = self.values.shape[1]
        point = torch.as_tensor(w, dtype=torch.float64, device=self.values.device)
        product = self.values @ point[:d]
        return product + point[d] if self.intercept else product

    def transposed_times(self, r: Any) -> Array:
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

        heavy = self.values * h[:, None]
        product = self.values.T @ heavy
        if not self.intercept:
            return product
        across = heavy.sum(dim=0)[:, None]
        top = torch.cat([product, across], dim=1)
        return torch.cat([top, torch.cat([across, h.sum()[None, None]]).T])

    def squares(self, h: Any) -> Array:
        """The diagonal of Xᵀ diag(h) X."""
        product = to_numpy(h @ self.values.square())
        return np.append(product, float(h.sum())) if self.intercept else product

    def dense(self) -> Array:
        values = to_numpy(self.values)
        return np.column_stack([values, np.ones(len(values))]) if self.intercept else values


@dataclass(frozen=True, eq=False)
class TensorObservations(Observations):
    """Rows whose responses, weights and offsets are tensors beside them."""

    design: TensorDesign

    @classmethod
    def of(cls, design: TensorDesign, y: Any, weight: Any = None, offset: Any = None) -> Self:
        """With all that is not codes of classes as float64."""
        weight, offset = (None if values is None else design.beside(values) for values in (weight, offset))
        return cls(design, y if is_tensor(y) and not y.is_floating_point() else design.beside(y), weight, offset)

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
    """Positions of rows, where X is."""
    import torch

    return torch.as_tensor(rows, device=X.device)


def _float64() -> Any:
    import torch

    return torch.float64


class _Read:
    """What `Coordinates.of` looks at of a tensor: some rows, or some columns of some rows, in main memory."""

    def __init__(self, X: Any) -> None:
        self._X = X

    def __len__(self) -> int:
        return len(self._X)

    def __getitem__(self, which: Any) -> Any:
        if isinstance(which, tuple):
            return to_numpy(self._X[which])
        if which.step is not None:  # rows to look at before the fit: where columns are many, fewer have to be fetched
            numbers = len(self) // which.step * self._X.shape[1]
            which = slice(None, None, which.step * max(1, -(-numbers // PILOT_NUMBERS)))
        return _Read(self._X[which])

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        return to_numpy(self._X).astype(dtype if dtype is not None else float)
