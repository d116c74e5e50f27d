"""Shapley values satisfy their axioms, and agree with brute force and with additive models."""

from __future__ import annotations

from itertools import permutations
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from numpy.typing import NDArray
from scipy import sparse
from sklearn.datasets import load_iris

from mercer import SVC, KernelRidge, LogisticRegression, explain_rows
from mercer.explanation._shapley import ShapleyValues, shapley_values
from mercer.explanation.evidence import output_of

Array = NDArray[Any]
RANDOM = np.random.default_rng(0)
ROWS, BACKGROUND = RANDOM.normal(size=(3, 4)), RANDOM.normal(size=(12, 4))
IRIS, SPECIES = load_iris(return_X_y=True)


def curved(X: Array) -> Array:
    """Two functions with interactions of three columns; the last column does not matter."""
    return np.column_stack([np.sin(X[:, 0] * X[:, 1] * X[:, 2]) + X[:, 2] ** 2, np.exp(X[:, :3].sum(axis=1) / 2)])


def wide(X: Array) -> Array:
    """All columns in one product: no order can be left out."""
    return np.tanh(X).prod(axis=1, keepdims=True) + X[:, :1] * X[:, 1:2]


def brute_force(function: Any, x: Array, background: Array) -> Array:
    found: Any = 0.0
    orders = list(permutations(range(len(x))))
    for order in orders:
        mixed = background.copy()
        values = [function(mixed).mean(axis=0)]
        for j in order:
            mixed[:, j] = x[j]
            values.append(function(mixed).mean(axis=0))
        found += np.diff(values, axis=0)[np.argsort(order)] / len(orders)
    return np.asarray(found)


def test_all_coalitions_agree_with_all_orders() -> None:
    found = shapley_values(curved, ROWS, BACKGROUND)
    assert found.error is None
    for x, values in zip(ROWS, found.values, strict=True):
        np.testing.assert_allclose(values, brute_force(curved, x, BACKGROUND), atol=1e-12)


def sampled(seed: int, budget: int = 30_000) -> tuple[ShapleyValues, Array, Array]:
    """More columns than are enumerated within the budget."""
    random = np.random.default_rng(5)
    rows, background = random.normal(size=(2, 13)), random.normal(size=(30, 13))
    return shapley_values(wide, rows, background, max_evaluations=budget, random_state=seed), rows, background


@pytest.mark.parametrize("budget", [100, 3_000, 30_000])
def test_sampled_values_add_up_and_are_reproducible(budget: int) -> None:
    found, rows, background = sampled(0, budget)
    np.testing.assert_allclose(found.base, wide(background).mean(axis=0), atol=1e-12)
    np.testing.assert_allclose(found.base + found.values.sum(axis=1), wide(rows), atol=1e-9)
    np.testing.assert_array_equal(found.values, sampled(0, budget)[0].values)


def test_errors_are_those_of_other_seeds() -> None:
    each = [sampled(seed, 4_000)[0] for seed in range(30)]
    spread = np.std([one.values for one in each], axis=0, ddof=1)
    claimed = np.sqrt(np.mean([np.square(one.error) for one in each], axis=0))
    moved = spread > 1e-6
    assert moved.any()
    assert 0.7 < np.median(claimed[moved] / spread[moved]) < 3


def test_a_column_without_effect_has_none_and_equal_columns_have_equal_values() -> None:
    rows, background = ROWS.copy(), BACKGROUND.copy()
    rows[:, 1], background[:, 1] = rows[:, 0], background[:, 0]
    found = shapley_values(lambda X: np.exp(X[:, :1] + X[:, 1:2]) * X[:, 2:3], rows, background)
    np.testing.assert_allclose(found.values[:, 3], 0, atol=1e-15)
    np.testing.assert_allclose(found.values[:, 0], found.values[:, 1], atol=1e-12)


def test_additive_models_have_their_centred_terms() -> None:
    """The result also holds for more columns than are enumerated: each order gives the same."""
    random = np.random.default_rng(1)
    X = random.normal(size=(60, 15))
    model = LogisticRegression(C=0.3).fit(X, X[:, 0] + X[:, 5] > 0)
    exact = explain_rows(model, X)
    found = shapley_values(output_of(model).function, X[:4], X)
    assert exact.method == "exact"
    assert found.error is None
    np.testing.assert_allclose(found.values, exact.contributions[:4] - exact.contributions.mean(axis=0), atol=1e-9)
    np.testing.assert_allclose(found.base, exact.totals.mean(axis=0), atol=1e-9)


def test_columns_of_wide_tables_that_matter_little_count_together() -> None:
    random = np.random.default_rng(2)
    X = random.normal(size=(40, 200))
    found = shapley_values(lambda X: (X[:, 3] * X[:, 150] + 5 * X[:, 7])[:, None], X[:2], X, max_evaluations=20_000)
    alone = {each[0] for each in found.players if len(each) == 1}
    assert {3, 7, 150} <= alone
    assert sum(map(len, found.players)) == 200
    np.testing.assert_allclose(found.values[:, -1], 0, atol=1e-12)


def test_outputs_that_are_not_numbers_count_as_the_base() -> None:
    found = shapley_values(
        lambda X: np.where(X[:, :1] > 2, np.nan, X[:, :1]), np.array([[3.0, 1.0]]), BACKGROUND[:, :2]
    )
    np.testing.assert_allclose(found.values, 0, atol=1e-12)


def test_sparse_rows_agree_with_dense_ones() -> None:
    X = np.where(RANDOM.random((40, 6)) < 0.6, 0.0, 1.0)
    model = KernelRidge(kernel="rbf", gamma=0.5).fit(X, X[:, 0] * X[:, 1])
    dense = explain_rows(model, X[:4], background=X)
    thin = explain_rows(model, sparse.csr_matrix(X[:4]), background=sparse.csr_matrix(X))
    np.testing.assert_allclose(thin.contributions, dense.contributions, atol=1e-9)


def test_kernel_machines_of_several_classes() -> None:
    model = SVC().fit(IRIS, SPECIES)
    found = explain_rows(model, IRIS[::30], background=IRIS)
    assert found.contributions.shape == (5, 4, 3)
    np.testing.assert_allclose(found.contributions.sum(axis=2), 0, atol=1e-9)


def test_dates_of_another_type_are_background_too() -> None:
    """A card has times, a file days."""
    days = np.arange("2020-01-01", "2020-02-10", dtype="datetime64[D]")
    first = pa.table({"day": pa.array(days[:3]), "x": [1.0, 2.0, 3.0]})
    second = pa.table({"day": pa.array(days.astype("datetime64[us]")), "x": np.arange(40.0)})

    def later(X: pa.Table) -> Array:
        since = X["day"].to_numpy().astype("datetime64[D]") - days[0]
        return (since.astype(float) * X["x"].to_numpy())[:, None]

    found = shapley_values(later, first, second)
    np.testing.assert_allclose(found.base + found.values.sum(axis=1), later(first), atol=1e-9)
