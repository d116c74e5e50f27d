"""Arguments of the Triton kernels of `triton_sums`: rows scaled and in two halves, and the sizes of blocks."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property, partial
from math import ceil, e, log2, sqrt
from typing import Any, NamedTuple

from triton.runtime.errors import OutOfResources

from mercer._gpu.distances import squared_lengths
from mercer._gpu.profiles import TensorProfile
from mercer._gpu.triton_sums import SINGLE_COLUMNS, TENSOR_CORE_COLUMNS, differences, products
from mercer._threads import row_blocks

#: factor of an exponent of e that makes it one of 2
NATS_TO_BITS = log2(e)
#: rows are padded to a multiple of this
ROW_MULTIPLE = 256
#: columns are padded to at least this many
MIN_COLUMNS = 16
#: columns up to which rows stay on the chip
MAX_COLUMNS_ON_CHIP = 128
#: columns in a step if there are more
COLUMN_STEP = 64
#: exponents up to which powers of 2 may be multiplied in any order without overflow
LARGEST_FREE_EXPONENT = 30.0
#: programs that keep a GPU busy until the end
FUSED_PROGRAMS = 2112


class Cut(NamedTuple):
    """Rows of x and z in a block, warps for a block, and blocks of z that are prefetched."""

    rows: int
    columns: int
    warps: int
    stages: int = 1


#: cuts for GPUs with less memory on the chip
SMALLER_CUTS = (Cut(64, 64, 4, 2), Cut(64, 32, 4, 1))


class FusedSide(NamedTuple):
    """Rows in units of the profile: the two halves of their float32 numbers, and half their squared lengths."""

    high: Any
    low: Any
    squares: Any


def scale_of(profile: TensorProfile) -> float:
    """Factor of the coordinates with which the profile has no rate and a gaussian is a power of 2."""
    return profile.stretch * {"gaussian": sqrt(NATS_TO_BITS), "exponential": NATS_TO_BITS}.get(profile.name, 1.0)


class FusedSums:
    """Sums over rows on a GPU in float32, chosen by `TensorKernelSums`, which passes columns of numbers up to 1."""

    def __init__(
        self,
        profile: TensorProfile,
        left: Any,
        right: Any,
        *,
        by_products: bool,
        tf32: bool = False,
        cut: Cut | None = None,
    ) -> None:
        scale = scale_of(profile)
        self.profile, self.by_products, self.tf32 = profile, by_products, tf32
        self._cut = cut
        self._n, self._m = len(left), len(right)
        # rows are scaled by √2, so that their product is the 2x·z of a squared distance
        scale *= sqrt(2) if by_products else 1.0
        prepare = partial(_halves, scale=scale, tf32=tf32) if by_products else partial(_transpose, scale=scale)
        self._right: Any = prepare(right)
        self._left: Any = self._right if left is right else prepare(left)

    def matvec(self, V: Any) -> Any:
        return self._on_its_card(V, transposed=False)

    def rmatvec(self, V: Any) -> Any:
        return self._on_its_card(V, transposed=True)

    def _on_its_card(self, V: Any, *, transposed: bool) -> Any:
        """Compute the sums on the GPU of the rows; Triton starts kernels on the current GPU."""
        import torch

        with torch.cuda.device_of(V):
            return self._sums(V, transposed=transposed)

    def _sums(self, V: Any, *, transposed: bool) -> Any:
        import torch

        n, m = (self._m, self._n) if transposed else (self._n, self._m)
        columns = V.reshape(m, -1)
        out = torch.empty(n, columns.shape[1], dtype=V.dtype, device=V.device)
        for block in row_blocks(columns.shape[1], TENSOR_CORE_COLUMNS if self.by_products else SINGLE_COLUMNS):
            width = block.stop - block.start
            height = width if width <= SINGLE_COLUMNS else TENSOR_CORE_COLUMNS
            padded = torch.zeros(height, ceil(m / ROW_MULTIPLE) * ROW_MULTIPLE, dtype=torch.float32, device=V.device)
            padded[:width, :m] = columns[:, block].T
            parts = self._from_products(padded, transposed) if self.by_products else self._direct(padded, transposed)
            out[:, block] = parts[:width, :n].T
        return out.reshape(n, *V.shape[1:])

    def _from_products(self, V: Any, transposed: bool) -> Any:
        import torch

        left, right = (self._right, self._left) if transposed else (self._left, self._right)
        n, D = left.high.shape
        if self._free:
            V = V * torch.exp2(-right.squares)

        def launch(cut: Cut) -> Any:
            rows, blocks, splits, per, out = _grid(V, n, cut)
            products[(rows, splits)](
                *left, *right, V, out, self.profile.power, n, V.shape[1], blocks, per,
                D=D, BK=D if D <= MAX_COLUMNS_ON_CHIP else COLUMN_STEP, BM=cut.rows, BN=cut.columns, COLUMNS=len(V),
                KIND=self.profile.name, EXACT=not self.tf32, ON_CARD=_is_nvidia(V), STAGES=cut.stages, FREE=self._free,
                num_warps=cut.warps, enable_fp_fusion=True,
            )  # fmt: skip
            return out.sum(dim=0, dtype=torch.float64)

        sums = _first_that_fits(launch, [self._cut or _measured_cut(len(V), D), *SMALLER_CUTS])
        return sums * torch.exp2(-left.squares.double()) if self._free else sums

    def _direct(self, V: Any, transposed: bool) -> Any:
        import torch

        left, right = (self._right, self._left) if transposed else (self._left, self._right)
        D, n = left.shape
        cut = self._cut or Cut(256, 16, 2)
        rows, blocks, splits, per, out = _grid(V, n, cut)
        differences[(rows, splits)](
            left, right, V, out, self.profile.power, n, V.shape[1], blocks, per,
            D=D, BM=cut.rows, BN=cut.columns, COLUMNS=len(V), KIND=self.profile.name, ON_CARD=_is_nvidia(V),
            num_warps=cut.warps, enable_fp_fusion=True,
        )  # fmt: skip
        return out.sum(dim=0, dtype=torch.float64)

    @cached_property
    def _free(self) -> bool:
        """True if 2^(−‖x − z‖²) is computed as 2^(−‖x‖²) 2^(2x·z) 2^(−‖z‖²), with one factor per pair."""
        if self.profile.name != "gaussian" or not self.by_products:
            return False
        return all(float(side.squares.max()) < LARGEST_FREE_EXPONENT for side in (self._left, self._right))


def _measured_cut(columns: int, D: int) -> Cut:
    """Return the cut that was fastest on an H200."""
    if D > 64:
        fits = D <= MAX_COLUMNS_ON_CHIP
        return Cut(64, 64, 4, 2) if columns > SINGLE_COLUMNS else Cut(128, 128, 8, 2 if fits else 3)
    if columns > SINGLE_COLUMNS:
        return Cut(128, 64, 4, 3)
    return Cut(128, 64, 4, 2) if D == 64 else Cut(128, 128, 4, 3)


def _first_that_fits(launch: Callable[[Cut], Any], cuts: list[Cut]) -> Any:
    """Launch with the first cut that fits into the memory of a multiprocessor."""
    for cut in cuts[:-1]:
        try:
            return launch(cut)
        except OutOfResources:
            continue
    return launch(cuts[-1])


def _is_nvidia(V: Any) -> bool:
    import torch

    return V.is_cuda and torch.version.hip is None


def _padded(X: Any, scale: float, columns: int) -> Any:
    """Scale rows, and append rows and columns of zeros."""
    padded = X.new_zeros(ceil(len(X) / ROW_MULTIPLE) * ROW_MULTIPLE, columns)
    padded[: len(X), : X.shape[1]] = X
    return padded.mul_(scale)


def _halves(X: Any, scale: float, tf32: bool) -> FusedSide:
    """Split float32 numbers into two of 11 bits; the squared lengths are those of the numbers that are multiplied."""
    d = X.shape[1]
    # the number of columns of a block is a power of two
    on_chip = d <= MAX_COLUMNS_ON_CHIP
    columns = max(MIN_COLUMNS, 1 << (d - 1).bit_length()) if on_chip else ceil(d / COLUMN_STEP) * COLUMN_STEP
    X = _padded(X, scale, columns)
    high = X.half()
    low = high if tf32 else (X - high.float()).half()
    kept = high.float() if tf32 else X
    return FusedSide(high, low, squared_lengths(kept) / 2)


def _transpose(X: Any, scale: float) -> Any:
    """Scale, pad and transpose rows."""
    return _padded(X, scale, X.shape[1]).T.contiguous()


def _grid(V: Any, n: int, cut: Cut) -> tuple[int, int, int, int, Any]:
    """Return the numbers of blocks of rows, blocks of points, parts and blocks per part, and memory for the sums."""
    rows, blocks = n // cut.rows, V.shape[1] // cut.columns
    splits = max(1, min(blocks, ceil(FUSED_PROGRAMS / rows)))
    per = ceil(blocks / splits)
    splits = ceil(blocks / per)
    return rows, blocks, splits, per, V.new_empty(splits, len(V), n)
