"""Helpers for tests of kernel models."""

from __future__ import annotations

from typing import Any

import numpy as np

Array = np.ndarray


def draw(n: int = 40, d: int = 4, targets: int | None = None) -> tuple[Array, Array]:
    """Rows, and one or several waves over them with noise."""
    rng = np.random.default_rng(0)
    X = rng.uniform(0, 2, size=(n, d))
    shape = (n,) if targets is None else (n, targets)
    return X, np.sin(X @ rng.normal(size=(d, *shape[1:]))) + 0.1 * rng.normal(size=shape)


def output(model: Any, rows: Any) -> Any:
    """All that a model says of rows: probabilities of classes, or else predictions."""
    return model.predict_proba(rows) if hasattr(model, "predict_proba") else model.predict(rows)
