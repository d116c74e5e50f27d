"""The smallest kernel that needs of Triton what the others need."""

from __future__ import annotations

from typing import Any

import triton
import triton.language as tl

SIDE = 16


@triton.jit
def _product_of_ones(out):  # type: ignore[no-untyped-def]
    ones = tl.full((16, 16), 1.0, tl.float16)
    i = tl.arange(0, 16)
    tl.store(out + i[:, None] * 16 + i[None, :], tl.dot(ones, ones))


def works(device: Any) -> bool:
    """Whether tensor cores of a card, or what stands for them, multiply."""
    import torch

    out = torch.zeros(SIDE, SIDE, device=device)
    with torch.cuda.device_of(out):
        _product_of_ones[(1,)](out)
    return bool((out == SIDE).all())
