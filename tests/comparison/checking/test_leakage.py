"""Which columns are found to give the target away."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

from mercer.comparison import Comparison, compare
from mercer.models.diagnosis import Finding

RNG = np.random.default_rng(0)
N = 300
NOISE = RNG.normal(size=N)
OTHER = RNG.normal(size=N)
PRICE = np.exp(RNG.normal(size=N))
GROUP = RNG.integers(0, 12, size=N)
BOUGHT = RNG.random(N) < 0.4


def of(columns: dict[str, Any], y: Any, **options: Any) -> Comparison:
    X = pd.DataFrame({"noise": NOISE, "other": OTHER} | columns)
    return compare(X, y, models=["DummyClassifier"] if np.asarray(y).dtype.kind in "bU" else ["Ridge"], cv=3, **options)


def leaks(columns: dict[str, Any], y: Any) -> list[Finding]:
    return [found for found in of(columns, y).problems() if found.severity == "error"]


@pytest.mark.parametrize(
    ("columns", "y"),
    [
        ({"log": np.log(PRICE)}, PRICE),
        ({"rank": -(PRICE**3)}, PRICE),
        ({"grade": [f"g{k}" for k in GROUP]}, 3.0 * GROUP + 0.1 * NOISE),
        ({"bill": np.where(BOUGHT, PRICE, 0.0)}, BOUGHT),
        ({"boat": np.where(BOUGHT, "deck A", None)}, np.where(BOUGHT, "yes", "no")),
        ({"score": BOUGHT + 0.1 * NOISE}, BOUGHT),
        ({"status": np.where(BOUGHT, "paid", np.where(NOISE > 0, "open", "closed"))}, BOUGHT),
    ],
    ids=["logarithm", "decreasing", "levels", "zeros", "gaps", "threshold", "categories"],
)
def test_a_column_that_gives_the_target_away_is_named(columns: dict[str, Any], y: Any) -> None:
    (found,) = leaks(columns, y)
    assert found.code == "MRC103"
    assert found.columns == tuple(columns)


@pytest.mark.parametrize(
    ("columns", "y"),
    [
        ({"near": PRICE + 0.3 * RNG.normal(size=N)}, PRICE),
        ({"grade": [f"g{k}" for k in GROUP]}, 3.0 * GROUP + 4 * NOISE),
        ({"often": BOUGHT + 0.6 * NOISE}, BOUGHT),
        ({"name": [f"row {i}" for i in range(N)]}, BOUGHT),
    ],
    ids=["correlated", "levels", "threshold", "names"],
)
def test_a_column_that_tells_much_is_not_a_leak(columns: dict[str, Any], y: Any) -> None:
    assert not leaks(columns, y)


@pytest.mark.parametrize(
    ("y", "columns", "how"),
    [
        (NOISE + 2 * OTHER, ("other", "noise"), "2 × other + noise"),
        (PRICE / np.exp(NOISE), ("price", "units"), "price / units"),
    ],
)
def test_columns_that_make_up_the_target_are_named(y: Any, columns: tuple[str, ...], how: str) -> None:
    (found,) = leaks({"price": PRICE, "units": np.exp(NOISE)} if "price" in columns else {"price": PRICE}, y)
    assert found.code == "MRC110"
    assert set(found.columns) == set(columns)
    assert how in found.sentence


def test_an_almost_perfect_score_is_reported_with_the_strongest_columns() -> None:
    y = np.exp(NOISE / 4) + OTHER / 2 + 0.01 * RNG.normal(size=N)
    (found,) = of({}, y).problems()
    assert (found.code, found.severity) == ("MRC109", "warning")
    assert {"noise", "other"} <= set(found.columns)
