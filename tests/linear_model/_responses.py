"""Rows with a response of each family, and the corresponding GLM, which tests of GLMs share."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from mercer import GLM

N = 240
#: functions that draw responses of a family with the linear predictor η
RESPONSES: dict[str, Any] = {
    "gaussian": lambda rng, eta: eta + 0.5 * rng.normal(size=len(eta)),
    "bernoulli": lambda rng, eta: rng.random(len(eta)) < 1 / (1 + np.exp(-eta)),
    "categorical": lambda rng, eta: np.argmax(np.outer(eta, [1, 0, -1]) + rng.gumbel(size=(len(eta), 3)), axis=1),
    "poisson": lambda rng, eta: rng.poisson(np.exp(eta)),
    "gamma": lambda rng, eta: np.exp(eta) * rng.gamma(2, 0.5, size=len(eta)),
    "inverse_gaussian": lambda rng, eta: rng.wald(np.exp(eta), 3),
    "negative_binomial": lambda rng, eta: rng.poisson(np.exp(eta) * rng.gamma(2, 0.5, size=len(eta))),
}
LINK = dict.fromkeys(RESPONSES, "canonical") | {"gamma": "log", "inverse_gaussian": "log"}
FAMILIES = pytest.mark.parametrize("family", RESPONSES)


def rows_of(family: str, n: int = N, seed: int = 5) -> tuple[Any, Any]:
    """Three columns, two far from 0 and of other units, and responses to them; X is the same for each family."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3)) * [1, 4, 0.2] + [0, 10, -3]
    return X, RESPONSES[family](rng, (X - [0, 10, -3]) @ [0.4, -0.1, 1.0] + 0.3)


def made(family: str, **options: Any) -> GLM:
    """The GLM whose link is that of `rows_of`."""
    return GLM(family, LINK[family], **options)


X0, COUNTS = rows_of("poisson")
LABELS = rows_of("bernoulli")[1]
