"""Random Fourier features: a kernel of x − z is the mean of cos(wᵀ(x − z)) over its spectrum (lecture 5).

Angles are counted in half turns, whose whole part can be subtracted without an error, and rows from a point among them:
cosines keep all their digits wherever the rows lie.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from mercer._errors import DeviceMemoryError
from mercer._gpu import is_tensor, like
from mercer._gpu.chunks import in_chunks, tile_size
from mercer._jit.product import put_product
from mercer._memory import check_memory, gigabytes
from mercer._stored import floats, optional, part_of, stored, whole
from mercer._threads import ordered_map, row_blocks
from mercer._typing import Array
from mercer.kernel_approximation._fourier_loops import put_cosines, put_hadamard_products, put_pairs
from mercer.kernels.inputs import is_sparse
from mercer.kernels.spectra import Directions, FrequencySpectrum, draw_independent

#: remedy in errors about the memory of features
MEMORY_REMEDY = "transform fewer rows at a time, or have fewer components"


def allocate_array(rows: int, features: int, dtype: Any) -> NDArray[Any]:
    """Return an empty array in main memory, or raise an error with the size that it would have."""
    size = float(rows) * features * np.dtype(dtype).itemsize
    check_memory(size, f"{rows:,} rows of {features:,} features", MEMORY_REMEDY)
    return np.empty((rows, features), dtype)


def allocate_tensor(X: Any, features: int) -> Any:
    """Return an empty tensor for the rows of a tensor, of its type and on its device."""
    import torch

    try:
        return X.new_empty((len(X), features))
    except torch.cuda.OutOfMemoryError as full:
        size = gigabytes(len(X) * features * X.element_size())
        raise DeviceMemoryError(
            f"{len(X):,} rows of {features:,} features take {size}, which does not fit on {X.device}; {MEMORY_REMEDY}."
        ) from full


#: columns from which rows are made of signs: sums of fewer are far from normal, and products with fewer are fast anyway
MIN_HADAMARD_COLUMNS = 64
#: nanoseconds of a transform per result, measured on one core
TRANSFORM_NS = 6.0
#: nanoseconds of a matrix product per result and column, measured on one core
PRODUCT_NS = 0.03


def draw_orthogonal(count: int, columns: int, rng: Any) -> Array:
    """Draw rows that are orthogonal in blocks of as many as there are columns, with the lengths of independent ones.

    Each row by itself is standard normal; together they cover the directions evenly, which reduces the error of random
    features (Yu, Suresh, Choromanski, Holtmann-Rice and Kumar 2016).
    """
    blocks = -(-count // columns)
    within = min(count, columns)
    Q, R = np.linalg.qr(rng.standard_normal((blocks, columns, within)))
    Q *= np.sign(np.diagonal(R, axis1=1, axis2=2))[:, None, :]  # otherwise Q is not uniform
    units = np.swapaxes(Q, 1, 2).reshape(-1, columns)[:count]
    return np.asarray(units * np.sqrt(rng.chisquare(columns, (count, 1))))


@stored(lambda chain: chain.is_consistent, signs=floats(), scales=floats("m"), columns=whole(1))
@dataclass(frozen=True, eq=False)
class Hadamard:
    """Rows of blocks H D₁ H D₂ H D₃ with random signs D: nearly orthogonal, and multiplied in O(d log d).

    The number of columns is a power of two; shorter rows are padded with zeros.
    """

    signs: Array  # (blocks, 3, length)
    scales: Array  # of each row
    columns: int

    @classmethod
    def draw(cls, count: int, columns: int, rng: Any) -> Self:
        """Draw rows with the lengths of standard normal ones."""
        length = 1 << (columns - 1).bit_length()
        signs = np.where(rng.uniform(size=(-(-count // length), 3, length)) < 0.5, -1.0, 1.0)
        return cls(signs, np.sqrt(rng.chisquare(length, count)) / length**1.5, columns)

    @property
    def is_consistent(self) -> bool:
        """Return whether the length of blocks is a power of two, and there is a row for each scale."""
        if self.signs.ndim != 3:
            return False
        blocks, times, length = self.signs.shape
        made = times == 3 and length & (length - 1) == 0 and blocks * length >= len(self.scales)
        return bool(made and 0 < self.columns <= length)

    def scale_rows(self, factors: Array | float) -> Hadamard:
        """Return the rows times one number each."""
        return Hadamard(self.signs, self.scales * factors, self.columns)

    def astype(self, dtype: Any) -> Hadamard:
        return Hadamard(self.signs.astype(dtype), self.scales.astype(dtype), self.columns)

    @property
    def is_faster(self) -> bool:
        """Return whether the transform is faster than a product with the rows as an array."""
        blocks, _, length = self.signs.shape
        return bool(TRANSFORM_NS * blocks * length < PRODUCT_NS * self.columns * len(self.scales))

    def put_products(self, X: Array, out: Array) -> None:
        """Compute X times the transposed rows."""
        put_hadamard_products(X, self.signs, self.scales, out)

    def rows(self) -> Array:
        """Return the rows as an array."""
        out = np.empty((self.columns, len(self.scales)))
        self.put_products(np.eye(self.columns), out)
        return out.T


def draw_hadamard(count: int, columns: int, rng: Any) -> Array:
    """Draw the rows of a `Hadamard` as an array; orthogonal ones where there are few columns."""
    return (
        draw_orthogonal(count, columns, rng)
        if columns < MIN_HADAMARD_COLUMNS
        else Hadamard.draw(count, columns, rng).rows()
    )


DIRECTIONS: dict[str, Directions] = {
    "independent": draw_independent,
    "orthogonal": draw_orthogonal,
    "hadamard": draw_hadamard,
}

#: bytes of a tile of angles, which become cosines while they are in the cache
COSINE_TILE_BYTES = 2**20
#: least number of rows of such a tile
MIN_TILE_ROWS = 16
#: largest error of a cosine for which float32 is used
FLOAT32_COSINE_ERROR = 1e-5
#: rows of a block whose norms are computed at once
NORM_BLOCK = 4096


@stored(
    weights=floats("dm"),
    offset=optional(floats("m")),
    shift=optional(floats("d")),
    chain=optional(part_of(Hadamard, m="m")),
)
@dataclass(frozen=True, eq=False)
class FourierMap:
    """ψ(x) = scale · cos(Wᵀ(x − shift) + b), or scale · [cos Wᵀ(x − shift), sin Wᵀ(x − shift)] without b."""

    weights: Array  # W, one column for each frequency
    offset: Array | None  # b
    scale: float
    shift: Array | None = None
    #: W again, as a transform, where that is faster than a product
    chain: Hadamard | None = None

    @classmethod
    def draw(
        cls,
        spectrum: FrequencySpectrum,
        n_features: int,
        rng: Any,
        *,
        paired: bool = False,
        sampling: str = "independent",
        shift: Array | None = None,
    ) -> Self:
        """Draw frequencies from a spectrum: as many as features, or half as many in pairs.

        Parameters
        ----------
        spectrum : FrequencySpectrum
            `kernel.spectrum(columns)`.
        n_features : int
            Features M; an even number where they are paired.
        rng : numpy.random.Generator or RandomState
            Random number generator.
        paired : bool, default=False
            √(1/M')·[cos, sin] of M' = M/2 frequencies, instead of √(2/M)·cos with random offsets.
        sampling : {"independent", "orthogonal", "hadamard"}, default="independent"
            Distribution of the directions of frequencies.
        shift : ndarray of shape (n_columns,), default=None
            Centre to subtract from rows.
        """
        count = n_features // 2 if paired else n_features
        scales, chain = spectrum.scales(count, rng), None
        if sampling == "hadamard" and scales.shape[1] == 1 and spectrum.columns >= MIN_HADAMARD_COLUMNS:
            chain = Hadamard.draw(count, spectrum.columns, rng).scale_rows(scales[:, 0])
            weights = chain.rows().T
        else:
            weights = spectrum.sample(count, rng, DIRECTIONS[sampling], scales=scales).T
        offset = None if paired else np.asarray(rng.uniform(0, 2 * np.pi, count))
        scale = float(np.sqrt(2 * spectrum.mass / n_features))
        return cls(weights, offset, scale, shift, chain if chain is not None and chain.is_faster else None)

    def __getstate__(self) -> dict[str, Any]:
        return {field.name: getattr(self, field.name) for field in fields(self)}  # without cached properties

    @property
    def n_features(self) -> int:
        return int(self.weights.shape[1]) * (2 if self.offset is None else 1)

    @property
    def back(self) -> float:
        """The factor that `tiles` leave out: ψ = back · t."""
        return self.scale

    def tiles(self, X: Any) -> CosineTiles:
        """Return tiles of cos(Wᵀx + b) without the scale."""
        return CosineTiles(replace(self, scale=1.0), X)

    def __call__(self, X: Any) -> Any:
        """ψ of all rows in the precision of X, float32 or float64: an array, or a tensor on the device of X."""
        return self._of_tensor(X) if is_tensor(X) else self.in_precision(X, X.dtype)

    def in_precision(self, X: Any, dtype: Any) -> Array:
        """Return ψ of all rows as an array of float32, or else of float64."""
        out = allocate_array(X.shape[0], self.n_features, np.float32 if dtype == np.float32 else np.float64)
        is_rounded = out.dtype == np.float32 and not self.is_single_enough(X)

        def work(rows: slice) -> None:
            tile = np.empty(out[rows].shape) if is_rounded else out[rows]
            self.fill(X[rows], tile)
            if is_rounded:
                out[rows] = tile

        ordered_map(
            work, row_blocks(len(out), max(MIN_TILE_ROWS, COSINE_TILE_BYTES // (out.itemsize * self.n_features)))
        )
        return out

    def is_single_enough(self, X: Any) -> bool:
        """Return whether float32 has the range for w, and the digits for wᵀ(x − shift), at most ‖w‖‖x − shift‖."""
        if is_sparse(X) and self.shift is not None:
            return False
        longest = float(np.sqrt(np.square(self.weights, dtype=np.float64).sum(axis=0).max(initial=0.0)))
        if longest > float(np.finfo(np.float32).max):
            return False
        height = tile_size(X) // X.shape[1] if is_tensor(X) else NORM_BLOCK
        farthest = max((self._farthest(X[rows]) for rows in row_blocks(X.shape[0], max(1, height))), default=0.0)
        return bool(longest * farthest * np.finfo(np.float32).eps < FLOAT32_COSINE_ERROR)

    def _farthest(self, X: Any) -> float:
        """Return the largest ‖x − shift‖ of some rows."""
        if is_tensor(X):
            away = X if self.shift is None else X - like(self.shift, X)
            return float(away.double().norm(dim=1).max())
        with np.errstate(over="ignore"):
            if is_sparse(X):
                return float(np.sqrt(X.multiply(X).sum(axis=1).max()))
            away = X if self.shift is None else X - self.shift
            return float(np.sqrt(np.einsum("ij,ij->i", away, away, dtype=np.float64).max()))

    def fill(self, X: Any, out: Array) -> None:
        """Write ψ of some rows into contiguous memory, in its precision."""
        turns, scale = self._double if out.dtype == np.float64 else self._single, out.dtype.type(self.scale)
        # angles beyond the range of floats give NaN, without a warning for each block
        with np.errstate(over="ignore", invalid="ignore"):
            if turns.offset is None:
                angles = np.empty((len(out), out.shape[1] // 2), out.dtype)
                turns.put(X, angles)
                put_pairs(angles, out, scale)
            else:
                turns.put(X, out)
                put_cosines(out, turns.offset, scale)

    @cached_property
    def _double(self) -> _HalfTurns:
        return _HalfTurns.of(self, np.dtype(np.float64))

    @cached_property
    def _single(self) -> _HalfTurns:
        return _HalfTurns.of(self, np.dtype(np.float32))

    def _of_tensor(self, X: Any) -> Any:
        import torch

        dtype = X.dtype if X.dtype == torch.float64 or self.is_single_enough(X) else torch.float64
        weights, many = like(self.weights, X, dtype=dtype), self.weights.shape[1]
        offset, shift = (None if part is None else like(part, X, dtype=dtype) for part in (self.offset, self.shift))
        out = allocate_tensor(X, self.n_features)

        def work(rows: slice) -> None:
            some = X[rows].to(dtype)
            angles = (some if shift is None else some - shift) @ weights
            if offset is None:
                out[rows, many:] = torch.sin(angles).mul_(self.scale)
            else:
                angles += offset
            out[rows, :many] = angles.cos_().mul_(self.scale)

        in_chunks(len(X), tile_size(X) // max(1, many), work, "features")
        return out


@dataclass(frozen=True, eq=False)
class _HalfTurns:
    """W and b in one precision, divided by π."""

    weights: Array
    offset: Array | None
    shift: Array | None
    chain: Hadamard | None

    @classmethod
    def of(cls, features: FourierMap, dtype: np.dtype[Any]) -> Self:
        def turned(values: Array) -> Array:
            return np.ascontiguousarray(values.astype(np.float64) / np.pi, dtype)

        return cls(
            turned(features.weights),
            None if features.offset is None else turned(features.offset),
            features.shift,
            None if features.chain is None else features.chain.scale_rows(1 / np.pi).astype(dtype),
        )

    def put(self, X: Any, out: Array) -> None:
        """Compute Wᵀ(x − shift)/π of some rows."""
        if is_sparse(X):
            product = X @ self.weights
            out[...] = product if self.shift is None else product - self.shift @ self.weights
            return
        # the difference in the precision of X, in which it is exact
        rows = np.asarray(X if self.shift is None else X - self.shift, dtype=out.dtype)
        if self.chain is None:
            put_product(np.ascontiguousarray(rows), self.weights, out)
        else:
            self.chain.put_products(np.array(rows, order="C"), out)


@dataclass(frozen=True, eq=False)
class CosineTiles:
    """Cosines of all rows, computed tile by tile for `matrices.mapped`."""

    map: FourierMap  # of scale 1
    X: Any

    @property
    def shape(self) -> tuple[int, int]:
        return self.X.shape[0], self.map.n_features

    @cached_property
    def rough(self) -> np.dtype[Any]:
        """float32, unless rows are sparse or angles too large for its digits."""
        return np.dtype(np.float32 if not is_sparse(self.X) and self.map.is_single_enough(self.X) else np.float64)

    def fill(self, rows: slice, out: Array) -> None:
        self.map.fill(self.X[rows], out)

    def take(self, rows: Array) -> CosineTiles:
        return replace(self, X=self.X[rows])
