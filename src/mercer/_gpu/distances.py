"""Squared distances between the rows of two tensors."""

from __future__ import annotations

from math import floor, isfinite, log2
from typing import Any

from mercer._gpu.profiles import TensorProfile

#: largest slope · (‖x‖² + ‖z‖²) of the longest rows for which distances are computed from products, by the bytes of a
#: number; the rounding error of a kernel value is a rounding of this
LARGEST_SQUARES = {4: 300.0, 8: 2000.0}
#: the same for the mean over the rows
LARGEST_MEAN_SQUARES = {4: 100.0, 8: 2000.0}


def squared_lengths(X: Any) -> Any:
    """‖x‖² of every row."""
    import torch

    return torch.einsum("ij,ij->i", X, X)


def from_products(slope: float, X: Any, Z: Any) -> bool:
    """Return whether ‖x‖² + ‖z‖² − 2x·z of centred rows is precise enough for a function of this slope."""
    import torch

    if not len(X) or not len(Z):
        return True
    squares = [squared_lengths(side) for side in ((X,) if X is Z else (X, Z))]
    largest, mean = (
        float(sum(reduce(lengths) for lengths in squares)) * (2 // len(squares)) for reduce in (torch.max, torch.mean)
    )
    size = X.element_size()
    return slope * largest <= LARGEST_SQUARES[size] and slope * mean <= LARGEST_MEAN_SQUARES[size]


def in_units(profile: TensorProfile, X: Any, Z: Any, shift: Any) -> tuple[TensorProfile, Any, Any]:
    """Shift rows, and scale rows and profile by a power of 2, which is exact, so that squares do not overflow.

    Squares of float32 overflow from 1e19 on and underflow below 1e-23. If X is Z, so are the results.
    """
    import torch

    right = Z - shift
    left = right if X is Z else X - shift
    exponent = _exponent(profile.stretch, left, right)
    for side in (right,) if left is right else (right, left):
        side.mul_(2.0**exponent)
    return profile.stretched(exponent, torch.finfo(right.dtype).max), left, right


def _exponent(stretch: float, X: Any, Z: Any) -> int:
    """Exponent of the units of a profile, limited so that rows in these units do not overflow."""
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
    """‖x − z‖² of all pairs in a new tensor, from products, or from differences, which do not cancel."""
    import torch

    if not by_products:
        away = torch.cdist(X, Z, compute_mode="donot_use_mm_for_euclid_dist")
        return away.clamp_(max=torch.finfo(X.dtype).max ** 0.5 / 2).square_()
    s = torch.addmm(squared_lengths(Z)[None], X, Z.T, alpha=-2.0)
    return s.add_(squared_lengths(X)[:, None]).clamp_(min=0.0)
