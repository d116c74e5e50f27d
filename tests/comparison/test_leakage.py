"""Detection of columns that give the target away."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.datasets import load_breast_cancer, load_iris, load_wine

from mercer.base.diagnosis import Finding
from mercer.comparison import Comparison, compare

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
def test_a_column_that_leaks_the_target_is_named(columns: dict[str, Any], y: Any) -> None:
    (found,) = leaks(columns, y)
    assert found.code == "MRC103"
    assert found.columns == tuple(columns)


@pytest.mark.parametrize(
    ("columns", "y"),
    [
        ({"near": PRICE + 0.3 * RNG.normal(size=N)}, PRICE),
        ({"grade": [f"g{k}" for k in GROUP]}, 3.0 * GROUP + 4 * NOISE),
        ({"often": BOUGHT + 0.6 * NOISE[::-1]}, BOUGHT),
        ({"name": [f"row {i}" for i in range(N)]}, BOUGHT),
    ],
    ids=["correlated", "levels", "threshold", "names"],
)
def test_an_informative_column_is_not_a_leak(columns: dict[str, Any], y: Any) -> None:
    assert not leaks(columns, y)


@pytest.mark.parametrize(
    ("y", "columns", "how"),
    [
        (NOISE + 2 * OTHER, ("other", "noise"), "2 × other + noise"),
        (PRICE / np.exp(NOISE), ("price", "units"), "price / units"),
    ],
)
def test_columns_that_determine_the_target_are_named(y: Any, columns: tuple[str, ...], how: str) -> None:
    (found,) = leaks({"price": PRICE, "units": np.exp(NOISE)} if "price" in columns else {"price": PRICE}, y)
    assert found.code == "MRC110"
    assert set(found.columns) == set(columns)
    assert how in found.sentence


PARTS = RNG.integers(0, 20, size=(N, 9))
FEW = RNG.integers(0, 3, size=N)


def found_of(columns: dict[str, Any], y: Any, *models: str) -> list[Finding]:
    X = pd.DataFrame({"noise": NOISE, "other": OTHER} | columns)
    return compare(X, y, models=list(models) or ["DummyClassifier"], cv=3).problems()


@pytest.mark.parametrize("labels", [[0, 1, 2], [-1.0, 0.0, 1.0]], ids=["from 0", "around 0"])
def test_columns_that_determine_the_labels_are_named(labels: list[float]) -> None:
    rest = RNG.integers(0, 3, size=N)
    (found,) = found_of({"tot": rest + FEW, "rest": rest}, np.array(labels)[FEW])
    assert (found.code, found.severity, set(found.columns)) == ("MRC110", "error", {"tot", "rest"})
    assert "the target is tot − rest" in found.sentence


def test_a_sum_of_many_columns_is_found() -> None:
    columns = {f"p{j}": PARTS[:, j] for j in range(9)}
    (found,) = leaks(columns, PARTS.sum(axis=1) * 1.0)
    assert (found.code, set(found.columns)) == ("MRC110", set(columns))
    y = np.array(["low", "high"])[FEW // 2]
    total = PARTS.sum(axis=1) + FEW // 2  # with a gap for each part that is 0, of which there are other sums, too
    gaps = {name: np.where(values > 0, values, np.nan) for name, values in columns.items()}
    (found,) = found_of({**gaps, "total": total, "half": PARTS[:, :4].sum(axis=1)}, y)
    assert found.code == "MRC110"
    assert "total" in found.columns
    assert "half" in found.columns  # in place of four
    assert len(found.columns) == 7


@pytest.mark.parametrize("limit", [0.4, 1.5])
def test_a_threshold_on_a_sum_of_columns_is_a_leak_of_two_classes(limit: float) -> None:
    rng = np.random.default_rng(1)
    a, b = rng.normal(size=(2, N))
    (found,) = found_of({"a": a, "b": b}, np.where(a + b > limit, "yes", "no"))
    assert (found.code, set(found.columns)) == ("MRC110", {"a", "b"})
    assert "the target is 'yes' where" in found.sentence
    assert not found_of({"a": a, "b": b}, np.where(a + b + 0.3 * NOISE[::-1] > limit, "yes", "no"))


@pytest.mark.parametrize("load", [load_iris, load_wine, load_breast_cancer])
def test_honest_classes_that_are_far_apart_are_not_suspicious(load: Any) -> None:
    X, y = load(return_X_y=True, as_frame=True)
    for classes in (y.map("class {}".format), np.where(y == 2, "last", "other")):
        if len(np.unique(classes)) > 1:
            assert not compare(X, classes, models=["LinearDiscriminantAnalysis"], cv=5).problems()


def test_a_suspicious_accuracy_is_judged_by_the_errors_it_avoids() -> None:
    """A rule of a product is not a sum; of a rare class guessing has nearly the same accuracy."""
    rng = np.random.default_rng(2)
    x, z = rng.normal(size=(2, 4 * N))
    X, y = pd.DataFrame({"x": x, "z": z, "xz": x * z + 0.02 * rng.normal(size=4 * N)}), np.where(x * z > 0.1, "b", "a")
    rule = compare(X[["x", "z"]], y, models={"rule": Product()}, cv=3)
    (found,) = rule.problems()
    assert (found.code, found.severity) == ("MRC109", "warning")
    assert "rule reaches accuracy" in found.sentence
    rare = np.where(np.arange(4 * N) % 200 == 0, "b", "a")
    assert not compare(X[["x", "z"]], rare, models={"rule": Product(10)}, cv=3).problems()


class Product(ClassifierMixin, BaseEstimator):
    """Knows that the classes are the sides of a threshold on a product."""

    def __init__(self, limit: float = 0.1) -> None:
        self.limit = limit

    def fit(self, X: Any, y: Any) -> Product:
        self.classes_ = np.unique(y)
        return self

    def predict_proba(self, X: Any) -> Any:
        p = 1 / (1 + np.exp(-10 * (np.asarray(X)[:, 0] * np.asarray(X)[:, 1] - self.limit)))
        return np.column_stack([1 - p, p])

    def predict(self, X: Any) -> Any:
        return self.classes_[self.predict_proba(X).argmax(axis=1)]


def test_an_almost_perfect_score_is_reported_with_the_strongest_columns() -> None:
    y = np.exp(NOISE / 4) + OTHER / 2 + 0.01 * RNG.normal(size=N)
    (found,) = of({}, y).problems()
    assert (found.code, found.severity) == ("MRC109", "warning")
    assert {"noise", "other"} <= set(found.columns)
