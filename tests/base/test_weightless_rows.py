"""A row of weight zero has no effect, whatever its values: not even on the scales of columns."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
from scipy import sparse

import mercer
from mercer import GLM, LogisticRegression, PoissonRegressor

RNG = np.random.default_rng(0)
X = RNG.normal(size=(300, 3))
Y = (RNG.random(300) < 1 / (1 + np.exp(-X @ [1.0, -0.5, 0.3]))).astype(int)
MODELS = [
    LogisticRegression(C=10.0),
    LogisticRegression(solver="liblinear"),
    PoissonRegressor(alpha=0.0),
    GLM("bernoulli"),
]


def with_an_extreme_row(value: float) -> tuple[np.ndarray, np.ndarray]:
    wild, weight = X.copy(), np.ones(300)
    wild[7, 0], weight[7] = value, 0.0
    return wild, weight


def as_source(rows: np.ndarray, weight: np.ndarray) -> Any:
    frame = pd.DataFrame(rows, columns=["a", "b", "c"]).assign(y=Y, weight=weight)
    return mercer.data.open(frame, target="y", weight="weight", rows=70)


@pytest.mark.parametrize("value", [1e9, -1e150])
@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array, pd.DataFrame, torch.tensor])
def test_extreme_rows_of_weight_zero_have_no_effect(container: Any, model: Any, value: float) -> None:
    rows, weight = with_an_extreme_row(value)
    expected = model.fit(np.delete(X, 7, axis=0), np.delete(Y, 7)).coef_.copy()
    targets_and_weights = (torch.tensor(Y), torch.tensor(weight)) if container is torch.tensor else (Y, weight)
    found = model.fit(container(rows), targets_and_weights[0], sample_weight=targets_and_weights[1])
    np.testing.assert_allclose(np.asarray(found.coef_), expected, rtol=1e-6, atol=1e-8)
    assert found.certificate_.holds


@pytest.mark.parametrize("model", MODELS)
def test_extreme_rows_of_weight_zero_in_a_source_have_no_effect(model: Any) -> None:
    expected = model.fit(np.delete(X, 7, axis=0), np.delete(Y, 7)).coef_.copy()
    found = model.fit(as_source(*with_an_extreme_row(1e9)))
    np.testing.assert_allclose(found.coef_, expected, rtol=1e-6, atol=1e-8)
