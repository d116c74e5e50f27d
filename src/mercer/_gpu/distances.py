"""Squared distances between the rows of two tensors."""

from __future__ import annotations

from math import floor, isfinite, log2
from typing import Any

from mercer._gpu.profiles import TensorProfile

#: ‖x‖² + ‖z‖², times the slope of a kernel, up to which products are good enough, by the bytes of a number: of the
#: longest rows, and of the usual ones; a rounding of it is the error of a kernel value
LARGEST, USUAL = {4: 300.0, 8: 2000.0}, {4: 100.0, 8: 2000.0}


def squared_lengths(X: Any) -> Any:
    """‖x‖² of every row."""
    import torch

    return torch.einsum("ij,ij->i", X, X)


def from_products(slope: float, X: Any, Z: Any) -> bool:
    """Whether ‖x‖² + ‖z‖² − 2x·z is good enough for a function of such a slope, between centred rows."""
    import torch

    if not len(X) or not len(Z):
        return True
    squares = [squared_lengths(side) for side in ((X,) if X is Z else (X, Z))]
    largest, usual = (
        float(sum(number(of) for of in squares)) * (2 // len(squares)) for number in (torch.max, torch.mean)
    )
    size = X.element_size()
    return slope * largest <= LARGEST[size] and slope * usual <= USUAL[size]


def in_units(profile: TensorProfile, X: Any, Z: Any, shift: Any) -> tuple[TensorProfile, Any, Any]:
    """A profile, and rows about a point, in units in which squares are floats; by a power of 2, which rounds nothing.

    Squares of float32 end at 1e19, and are 0 from 1e-23 on. X is Z before and after where there is only one.
    """
    import torch

    right = Z - shift
    left = right if X is Z else X - shift
    exponent = _exponent(profile.stretch, left, right)
    for side in (right,) if left is right else (right, left):
        side.mul_(2.0**exponent)
    return profile.stretched(exponent, torch.finfo(right.dtype).max), left, right


def _exponent(stretch: float, X: Any, Z: Any) -> int:
    """That of the units of a profile, or less where numbers in these would be no floats."""
    import torch

    most = torch.finfo(X.dtype)
    wanted = round(log2(stretch)) if stretch > 0 and isfinite(stretch) else 0
    largest = max(
        [float(side.aminmax()[which].abs()) for side in (X, Z) if side.numel() for which in (0, 1)], default=0
    )
    room = floor(log2(most.max) - log2(largest)) - 2 if largest > 0 and isfinite(largest) else wanted
    least = round(log2(most.tiny))
    return max(least, min(wanted, room, -least))


def squared_distances(X: Any, Z: Any, *, by_products: bool) -> Any:
    """‖x − z‖² for every pair, in a tensor of its own; from products, or from differences, which keeps all digits."""
    import torch

    if not by_products:
        away = torch.cdist(X, Z, compute_mode="donot_use_mm_for_euclid_dist")
        return away.clamp_(max=torch.finfo(X.dtype).max ** 0.5 / 2).square_()
    s = torch.addmm(squared_lengths(Z)[None], X, Z.T, alpha=-2.0)
    return s.add_(squared_lengths(X)[:, None]).clamp_(min=0.0)
