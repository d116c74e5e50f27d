"""Computations on torch tensors, on a GPU or the CPU; torch is imported only if the caller has imported it."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
from numpy.typing import NDArray


def is_tensor(X: Any) -> bool:
    """Return whether X is a tensor of torch; False if torch has not been imported."""
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(X, torch.Tensor)


def to_numpy(X: Any) -> NDArray[Any]:
    """Convert a tensor or array to an array in main memory."""
    if not is_tensor(X):
        return np.asarray(X)
    if X.is_floating_point() and X.itemsize < 4:  # NumPy does not have all half-precision types
        X = X.float()
    return X.numpy(force=True)  # type: ignore[no-any-return]


def namespace(X: Any) -> Any:
    """Return the module whose functions take X: torch for tensors, else NumPy."""
    return sys.modules["torch"] if is_tensor(X) else np


def like(array: Any, tensor: Any, *, dtype: Any = None) -> Any:
    """Copy an array or tensor to the device of `tensor`, in its dtype or `dtype`; return an array if it is an array."""
    if not is_tensor(tensor):
        return np.asarray(array)
    import torch

    source = array if is_tensor(array) else _for_torch(array)
    return torch.as_tensor(source, device=tensor.device, dtype=tensor.dtype if dtype is None else dtype)


def _for_torch(array: Any) -> NDArray[Any]:
    """Copy an array with negative strides or swapped bytes, which torch rejects, or read-only, for which it warns."""
    array = np.asarray(array)
    kind = np.dtype(np.float64) if array.dtype == np.longdouble else array.dtype.newbyteorder("=")
    return np.require(array, dtype=kind, requirements=["C", "W"])
