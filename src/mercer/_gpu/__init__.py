"""The loops of `_jit` for torch tensors, on a GPU or the CPU; whoever made a tensor has loaded torch, never mercer."""

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
    if not is_tensor(X):
        return np.asarray(X)
    if X.is_floating_point() and X.itemsize < 4:  # NumPy has fewer types of halves
        X = X.float()
    return X.numpy(force=True)  # type: ignore[no-any-return]


def namespace(X: Any) -> Any:
    """The module whose functions take X: torch for its tensors, else NumPy."""
    return sys.modules["torch"] if is_tensor(X) else np


def like(array: Any, tensor: Any, *, dtype: Any = None) -> Any:
    """An array or tensor on the device of a tensor, of its type or the one given; beside an array, an array."""
    if not is_tensor(tensor):
        return np.asarray(array)
    import torch

    there = array if is_tensor(array) else _readable(array)
    return torch.as_tensor(there, device=tensor.device, dtype=tensor.dtype if dtype is None else dtype)


def _readable(array: Any) -> NDArray[Any]:
    """For torch, which reads no array from its end or of swapped bytes, and warns of those that are read-only."""
    array = np.asarray(array)
    kind = np.dtype(np.float64) if array.dtype == np.longdouble else array.dtype.newbyteorder("=")
    return np.require(array, dtype=kind, requirements=["C", "W"])
