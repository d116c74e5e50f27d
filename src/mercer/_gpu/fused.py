"""What the Triton kernels of `triton_sums` are given: rows scaled and in two halves, and how the work is cut."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property, partial
from math import ceil, e, log2, sqrt
from typing import Any, NamedTuple

from triton.runtime.errors import OutOfResources

from mercer._gpu.distances import squared_lengths
from mercer._gpu.profiles import TensorProfile
from mercer._gpu.triton_sums import FEW, MANY, differences, products
from mercer._threads import row_blocks

LOG2_E = log2(e)
#: rows are padded to a multiple of so many, columns to so many at least
ROWS, WIDTH = 256, 16
#: the most columns that stay on the chip, and how many are taken at a time if there are more
WIDEST, STEP = 128, 64
#: exponents up to which powers of 2 may be multiplied in any order
FACTORS = 30.0
#: programs that keep a card busy to the end
PROGRAMS = 2112


class Cut(NamedTuple):
    """Rows of x and z in a block, warps that work on it, and blocks of z that are fetched ahead."""

    rows: int
    columns: int
    warps: int
    stages: int = 1


#: cuts for cards with less room
SMALLER = (Cut(64, 64, 4, 2), Cut(64, 32, 4, 1))


class FusedSide(NamedTuple):
    """Rows in units of the profile: the halves of their float32 numbers, and half their squared lengths."""

    high: Any
    low: Any
    squares: Any


def scale_of(profile: TensorProfile) -> float:
    """What coordinates are multiplied by, so that the profile has no rate and a gaussian is a power of 2."""
    return profile.stretch * {"gaussian": sqrt(LOG2_E), "exponential": LOG2_E}.get(profile.name, 1.0)


class FusedSums:
    """Sums over rows of a card, in float32: `KernelSums` chooses them, and gives columns of numbers up to 1."""

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
        # x·z of rows √2 times as long is the 2x·z of a squared distance
        scale *= sqrt(2) if by_products else 1.0
        ready = partial(_halves, scale=scale, tf32=tf32) if by_products else partial(_turned, scale=scale)
        self._right: Any = ready(right)
        self._left: Any = self._right if left is right else ready(left)

    def times(self, V: Any) -> Any:
        return self._on_its_card(V, transposed=False)

    def transposed_times(self, V: Any) -> Any:
        return self._on_its_card(V, transposed=True)

    def _on_its_card(self, V: Any, *, transposed: bool) -> Any:
        """Triton starts kernels on the current card, which need not be that of the rows."""
        import torch

        with torch.cuda.device_of(V):
            return self._sums(V, transposed=transposed)

    def _sums(self, V: Any, *, transposed: bool) -> Any:
        import torch

        n, m = (self._m, self._n) if transposed else (self._n, self._m)
        several = V.reshape(m, -1)
        out = torch.empty(n, several.shape[1], dtype=V.dtype, device=V.device)
        for some in row_blocks(several.shape[1], MANY if self.by_products else FEW):
            width = some.stop - some.start
            padded = torch.zeros(
                width if width <= FEW else MANY, ceil(m / ROWS) * ROWS, dtype=torch.float32, device=V.device
            )
            padded[:width, :m] = several[:, some].T
            parts = self._from_products(padded, transposed) if self.by_products else self._direct(padded, transposed)
            out[:, some] = parts[:width, :n].T
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
                D=D, BK=D if D <= WIDEST else STEP, BM=cut.rows, BN=cut.columns, COLUMNS=len(V),
                KIND=self.profile.name, EXACT=not self.tf32, ON_CARD=_is_nvidia(V), STAGES=cut.stages, FREE=self._free,
                num_warps=cut.warps, enable_fp_fusion=True,
            )  # fmt: skip
            return out.sum(dim=0, dtype=torch.float64)

        sums = _first_that_fits(launch, [self._cut or _good_cut(len(V), D), *SMALLER])
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
        """Whether 2^(−‖x − z‖²) is taken as 2^(−‖x‖²) 2^(2x·z) 2^(−‖z‖²), of which only one is of a pair."""
        if self.profile.name != "gaussian" or not self.by_products:
            return False
        return all(float(side.squares.max()) < FACTORS for side in (self._left, self._right))


def _good_cut(columns: int, D: int) -> Cut:
    """As measured on an H200."""
    if D > 64:
        return Cut(64, 64, 4, 2) if columns > FEW else Cut(128, 128, 8, 2 if D <= WIDEST else 3)
    if columns > FEW:
        return Cut(128, 64, 4, 3)
    return Cut(128, 64, 4, 2) if D == 64 else Cut(128, 128, 4, 3)


def _first_that_fits(launch: Callable[[Cut], Any], cuts: list[Cut]) -> Any:
    """What a launch gives, with the first cut for which a multiprocessor has room."""
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
    """Rows times a number, with rows and columns of zeros."""
    padded = X.new_zeros(ceil(len(X) / ROWS) * ROWS, columns)
    padded[: len(X), : X.shape[1]] = X
    return padded.mul_(scale)


def _halves(X: Any, scale: float, tf32: bool) -> FusedSide:
    """Float32 numbers as sums of two of 11 bits; the squared lengths are those of what is multiplied."""
    d = X.shape[1]
    # a block has a power of two of them
    X = _padded(X, scale, max(WIDTH, 1 << (d - 1).bit_length()) if d <= WIDEST else ceil(d / STEP) * STEP)
    high = X.half()
    low = high if tf32 else (X - high.float()).half()
    kept = high.float() if tf32 else X
    return FusedSide(high, low, squared_lengths(kept) / 2)


def _turned(X: Any, scale: float) -> Any:
    """A row for every column."""
    return _padded(X, scale, X.shape[1]).T.contiguous()


def _grid(V: Any, n: int, cut: Cut) -> tuple[int, int, int, int, Any]:
    """Blocks of rows; blocks of points, in how many parts, of how many; and room for the sums of each part."""
    rows, blocks = n // cut.rows, V.shape[1] // cut.columns
    splits = max(1, min(blocks, ceil(PROGRAMS / rows)))
    per = ceil(blocks / splits)
    splits = ceil(blocks / per)
    return rows, blocks, splits, per, V.new_empty(splits, len(V), n)
