"""Smallest kernel with the requirements of all Triton kernels."""

from __future__ import annotations

from typing import Any

import triton
import triton.language as tl

#: rows and columns of the product
PROBE_SIDE = 16


@triton.jit
def _product_of_ones(out):  # type: ignore[no-untyped-def]
    ones = tl.full((16, 16), 1.0, tl.float16)
    i = tl.arange(0, 16)
    tl.store(out + i[:, None] * 16 + i[None, :], tl.dot(ones, ones))


def works(device: Any) -> bool:
    """Return whether a product by tensor cores, or by Triton's interpreter, is right."""
    import torch

    out = torch.zeros(PROBE_SIDE, PROBE_SIDE, device=device)
    with torch.cuda.device_of(out):
        _product_of_ones[(1,)](out)
    return bool((out == PROBE_SIDE).all())
