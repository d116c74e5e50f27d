"""Dependent columns: found although a sample may not show them, named, and resolved to the smallest coefficients."""

from __future__ import annotations

import numpy as np
import pytest

from mercer import GLM
from mercer._errors import CollinearWarning, DataError
from mercer.families.penalties import L2, Strengths
from mercer.linear_model._dependence import find_dependence
from mercer.matrices import DenseMatrix, Observations, matrix_of
from tests.linear_model._responses import FAMILIES, N, made, rows_of


def observed(X: np.ndarray, *, intercept: bool = True, weight: np.ndarray | None = None) -> Observations:
    return Observations(DenseMatrix.of(X, intercept=intercept), np.zeros(len(X)), weight)


def free(observations: Observations) -> Strengths:
    return Strengths.none(observations.design.n_columns)


def test_independent_columns_have_no_dependence() -> None:
    rows = observed(np.random.default_rng(0).normal(size=(5000, 6)))
    assert find_dependence(rows, free(rows)) is None


@pytest.mark.parametrize("n", [30, 5000])
def test_the_columns_of_a_dependence_are_found(n: int) -> None:
    X = np.random.default_rng(0).normal(size=(n, 5)) * [1, 1e6, 1e-6, 1, 1]
    X[:, 4] = 2 * X[:, 0] - 1e-6 * X[:, 1] + 3
    rows = observed(X)
    found = find_dependence(rows, free(rows))
    assert found is not None
    assert (found.columns(), found.rank_lost, found.constant) == ([0, 1, 4], 1, ())
    np.testing.assert_allclose(rows.design.matvec(found.directions), 0.0, atol=1e-8 * np.abs(found.directions).max())


def test_a_single_row_may_make_columns_independent() -> None:
    X = np.random.default_rng(0).normal(size=(5000, 2))
    X[:, 1] = X[:, 0]
    X[1234, 1] += 1.0
    rows = observed(X)
    assert find_dependence(rows, free(rows)) is None
    without = observed(X, weight=(np.arange(5000) != 1234).astype(float))
    assert find_dependence(without, free(without)) is not None


def test_a_penalty_resolves_a_dependence() -> None:
    X = np.random.default_rng(0).normal(size=(50, 2))
    rows = observed(np.column_stack([X, X]))
    assert find_dependence(rows, rows.design.coordinates.strengths(L2(1e-6).strengths(4))) is None
    partly = rows.design.coordinates.strengths(L2([1.0, 0.0, 1.0, 0.0]).strengths(4))
    found = find_dependence(rows, partly)
    assert found is not None
    assert found.columns() == [1, 3]


def test_the_smallest_coefficients_are_those_of_the_pseudo_inverse() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 3)) @ rng.normal(size=(3, 6)) * [1, 1, 10, 1, 0.1, 1]
    rows = observed(X, intercept=False)
    found = find_dependence(rows, free(rows))
    assert found is not None
    beta = rng.normal(size=6)
    coordinates = rows.design.coordinates
    smallest, _ = coordinates.to_user(found.smallest(coordinates.from_user(beta), coordinates))
    np.testing.assert_allclose(smallest, np.linalg.pinv(X) @ (X @ beta), rtol=1e-8)


@pytest.mark.parametrize("outputs", [None, 3])
@pytest.mark.parametrize("intercept", [False, True])
def test_the_smallest_coefficients_of_fewer_rows_than_columns(intercept: bool, outputs: int | None) -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(7, 3)) @ rng.normal(size=(3, 12)) * np.repeat([1.0, 10.0, 0.1], 4)
    weight = np.array([1.0, 2.0, 0.0, 1.0, 1.0, 1.0, 1.0])
    rows = observed(X, intercept=intercept, weight=weight)
    strengths = rows.design.coordinates.strengths(L2([1.0, *[0.0] * 11]).strengths(12))
    found = find_dependence(rows, strengths)
    assert found is not None
    w = rng.normal(size=(12 + intercept,) if outputs is None else (12 + intercept, outputs))
    changed = found.smallest(w, rows.design.coordinates)
    weighted = weight > 0
    np.testing.assert_allclose(
        rows.design.matvec(changed)[weighted], rows.design.matvec(w)[weighted], rtol=1e-9, atol=1e-9
    )
    before, after = (rows.design.coordinates.to_user(each)[0] for each in (w, changed))
    np.testing.assert_allclose(after[0], before[0], rtol=1e-12)
    A = X[weighted][:, 1:]
    A = A - A.mean(axis=0) if intercept else A
    np.testing.assert_allclose(after[1:], np.linalg.pinv(A, rcond=1e-10) @ (A @ before[1:]), rtol=1e-7, atol=1e-9)


def test_a_level_for_each_category_depends_on_the_intercept() -> None:
    pa = pytest.importorskip("pyarrow")
    design, terms = matrix_of(pa.table({"city": ["a", "b", "c", "a"]}), intercept=True, drop_first=False)
    rows = Observations(design, np.zeros(4))
    found = find_dependence(rows, free(rows))
    assert found is not None
    assert found.columns() == [0, 1, 2, 3]
    assert terms.names == ("city[a]", "city[b]", "city[c]")


# Fits of dependent columns.


@FAMILIES
def test_collinear_columns_are_named_and_share_the_smallest_coefficients(family: str) -> None:
    X, y = rows_of(family)
    expected = made(family).fit(X, y)
    with pytest.warns(CollinearWarning, match="'x0', 'x3'"):
        model = made(family).fit(np.column_stack([X, X[:, 0]]), y)
    assert model.diagnosis_.codes[0] == "collinear"
    np.testing.assert_allclose(model.coef_[..., 0], expected.coef_[..., 0] / 2, rtol=1e-6)
    np.testing.assert_allclose(model.coef_[..., 3], expected.coef_[..., 0] / 2, rtol=1e-6)
    np.testing.assert_allclose(model.df_residual_, expected.df_residual_)
    np.testing.assert_allclose(model.deviance_, expected.deviance_, rtol=1e-9)


@FAMILIES
def test_a_constant_column_is_named_and_has_no_effect(family: str) -> None:
    X, y = rows_of(family)
    with pytest.warns(CollinearWarning, match="no variation in 'x3'"):
        model = made(family).fit(np.column_stack([X, np.full(N, 7.0)]), y)
    assert model.diagnosis_.codes == ("constant",)
    np.testing.assert_allclose(model.coef_[..., 3], 0.0, atol=1e-12)
    np.testing.assert_allclose(model.coef_[..., :3], made(family).fit(X, y).coef_, rtol=1e-6)


def test_a_level_absent_from_the_sample_is_not_a_dependence() -> None:
    pd = pytest.importorskip("pandas", reason="frames are optional")
    rng = np.random.default_rng(0)
    city = np.where(np.arange(5000) == 17, "rare", rng.choice(["a", "b"], size=5000))
    model = GLM("poisson").fit(pd.DataFrame({"city": city}), rng.poisson(2.0, size=5000) + 1)
    assert not model.diagnosis_


@pytest.mark.parametrize("family", ["gaussian", "gamma"])
def test_fewer_rows_than_columns_have_the_smallest_coefficients_that_fit(family: str) -> None:
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(6, 15)), rng.uniform(0.5, 2, size=6)
    with pytest.warns(CollinearWarning):
        model = made(family).fit(X, y)
    np.testing.assert_allclose(model.predict(X), y, rtol=1e-6)
    eta = y if family == "gaussian" else np.log(y)
    centred = X - X.mean(axis=0)
    np.testing.assert_allclose(model.coef_, np.linalg.pinv(centred) @ (eta - eta.mean()), rtol=1e-5, atol=1e-8)
    assert np.isnan(model.dispersion_)
    with pytest.raises(DataError, match="as many coefficients as rows"):
        model.predict_distribution(X)


def test_dependences_of_columns_below_rounding() -> None:
    """The step of these coefficients overflows float64 in the units of the data, where it is not needed."""
    X = np.column_stack([5e-324 * np.arange(4), 1e-323 * np.arange(4), np.array([1.0, 3.0, 2.0, 5.0])])
    observations = observed(X)
    dependence = find_dependence(observations, free(observations))
    assert dependence is not None
    w = np.array([1.0, 1.0, 1.0, 0.0])
    assert np.isfinite(dependence.smallest(w, observations.design.coordinates)).all()
