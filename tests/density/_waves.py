"""Values along a wave, with noise, to smooth."""

from __future__ import annotations

import numpy as np

Array = np.ndarray


def draw(n: int = 40, d: int = 2, outputs: int | None = None, seed: int = 0) -> tuple[Array, Array]:
    rng = np.random.default_rng(seed)
    X = rng.uniform(-2, 2, size=(n, d))
    shape = (n,) if outputs is None else (n, outputs)
    return X, np.sin(X @ rng.normal(size=(d, *shape[1:]))) + 0.1 * rng.normal(size=shape)
