"""Data that support vector classifiers are tried on."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from sklearn.datasets import load_breast_cancer, load_digits, make_moons
from sklearn.preprocessing import StandardScaler

Array = np.ndarray

XOR = np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]]), np.array([0, 1, 1, 0])


def two_moons(n: int = 120) -> tuple[Array, Array]:
    """Rows of two classes that overlap a little."""
    X, y = make_moons(n, noise=0.3, random_state=0)
    return X, y


def real(name: str, real_data: Any) -> tuple[Array, Array]:
    """Standardised rows and classes of a set by its name; `real_data` is the fixture."""
    if name in ("digits", "breast_cancer"):
        X, y = (load_digits if name == "digits" else load_breast_cancer)(return_X_y=True)
    else:
        table = pd.read_csv(real_data(f"{name}.csv"), header=None)
        X, y = table.iloc[:, :-1].to_numpy(dtype=float), table.iloc[:, -1].to_numpy()
    return StandardScaler().fit_transform(X), y
