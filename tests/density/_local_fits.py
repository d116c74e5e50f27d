"""Rows to fit local means and lines to, and the heights of kernels by their definition."""

from __future__ import annotations

from typing import TypeVar

import numpy as np
from scipy.linalg import sqrtm

from mercer.density import Bandwidth, smoothing_kernel_from
from mercer.density._mixed import MixedRows
from mercer.density._regression import LocalFit

Array = np.ndarray
Fit = TypeVar("Fit", bound=LocalFit)


def draw(n: int = 30, d: int = 2, outputs: int = 2, seed: int = 0) -> tuple[Array, Array, Array]:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    Y = np.sin(X @ rng.normal(size=(d, outputs))) + 0.1 * rng.normal(size=(n, outputs))
    return X, Y, rng.uniform(0.5, 2.0, n)


def fit(kind: type[Fit], kernel: str, bandwidth: object, X: Array, Y: Array, weight: Array) -> Fit:
    return kind(smoothing_kernel_from(kernel), Bandwidth(bandwidth), MixedRows(X), Y, weight)


def heights(kernel: str, bandwidth: object, x: Array, X: Array) -> Array:
    """K of the differences, from the definition of each form of a bandwidth."""
    h = np.asarray(bandwidth)
    u = (X - x) @ np.linalg.inv(sqrtm(h)) if h.ndim == 2 else (X - x) / h
    return smoothing_kernel_from(kernel).profile(np.linalg.norm(u, axis=1))
