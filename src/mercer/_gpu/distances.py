"""Squared distances between the rows of two tensors."""

from __future__ import annotations

from typing import Any

#: ‖x‖² + ‖z‖², times the slope of a kernel, up to which products are good enough: of the longest rows, and in float32
#: of the usual ones; a rounding of it is the error of a kernel value
LARGEST, USUAL = 2000.0, 100.0


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
    return slope * largest <= LARGEST and (X.dtype == torch.float64 or slope * usual <= USUAL)


def squared_distances(X: Any, Z: Any, *, by_products: bool) -> Any:
    """‖x − z‖² for every pair, in a tensor of its own; from products, or from differences, which keeps all digits."""
    import torch

    if not by_products:
        return torch.cdist(X, Z, compute_mode="donot_use_mm_for_euclid_dist").square_()
    s = torch.addmm(squared_lengths(Z)[None], X, Z.T, alpha=-2.0)
    return s.add_(squared_lengths(X)[:, None]).clamp_(min=0.0)
