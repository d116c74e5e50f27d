"""The loops of `_jit` for tensors of torch, on a card or on the CPU; who has a tensor has loaded torch, never we."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
from numpy.typing import NDArray


def is_tensor(X: Any) -> bool:
    """Whether X is a tensor of torch: nobody who has not imported torch has one."""
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(X, torch.Tensor)


def to_numpy(X: Any) -> NDArray[Any]:
    """A tensor, or what is an array already, as an array in main memory."""
    return X.detach().cpu().numpy() if is_tensor(X) else np.asarray(X)


def namespace(X: Any) -> Any:
    """The module whose functions take X: torch for its tensors, else NumPy."""
    return sys.modules["torch"] if is_tensor(X) else np


def like(array: Any, tensor: Any, *, dtype: Any = None) -> Any:
    """An array or tensor on the device of a tensor, of its type or the one given; beside an array, an array."""
    if not is_tensor(tensor):
        return np.asarray(array)
    import torch

    if not is_tensor(array):  # torch reads no array from its end, and warns of one that must not be written to
        array = np.require(array, requirements=["C", "W"])
    return torch.as_tensor(array, device=tensor.device, dtype=tensor.dtype if dtype is None else dtype)
