"""Covariances: by their definition, and by the meaning of rows, weights and clusters."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

import mercer
from mercer import GLM, LinearRegression, summary
from mercer._errors import DataError, InferenceError, NonFiniteError
from mercer.inference._covariance import _corrected
from tests.inference._data import clustered_counts, columns, glm, responses, three_classes
from tests.known.nist.regression import Reference, correct_digits, references

FAMILIES = ("gaussian", "bernoulli", "poisson", "gamma")


def with_ones(X: Any) -> Any:
    return np.column_stack([np.ones(len(X)), X])


@pytest.mark.parametrize("reference", references(), ids=str)
def test_standard_errors_agree_with_certified_values(reference: Reference) -> None:
    model = LinearRegression().fit(reference.X, reference.y)
    errors = summary(model, reference.X, reference.y).standard_errors
    assert correct_digits(errors, reference.standard_errors) >= reference.digits


def test_hc0_is_the_sandwich_by_hand() -> None:
    X, y, _ = clustered_counts()
    model = GLM("poisson").fit(X, y)
    A, mu = with_ones(X), model.predict(X)
    bread = np.linalg.inv((A.T * mu) @ A)
    by_hand = bread @ (A.T * np.square(y - mu)) @ A @ bread
    np.testing.assert_allclose(summary(model, X, y, covariance="HC0").covariance, by_hand, rtol=1e-8)


@pytest.mark.parametrize(("kind", "power"), [("HC2", 1), ("HC3", 2)])
def test_hc2_and_hc3_divide_by_one_minus_the_leverage(kind: str, power: int) -> None:
    X, y, _ = clustered_counts()
    model = GLM("poisson").fit(X, y)
    A, mu = with_ones(X), model.predict(X)
    bread = np.linalg.inv((A.T * mu) @ A)
    leverage = mu * np.einsum("ij,jk,ik->i", A, bread, A)
    by_hand = bread @ (A.T * (np.square(y - mu) / (1 - leverage) ** power)) @ A @ bread
    np.testing.assert_allclose(summary(model, X, y, covariance=kind).covariance, by_hand, rtol=1e-8)


@pytest.mark.parametrize("kind", ["HC2", "HC3"])
def test_a_row_of_leverage_one_has_no_residual(kind: str) -> None:
    # the only row of its level: what the tolerance left of its residual, divided by 1 − 1, was an error of 522
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.normal(size=40), np.eye(40)[0]])
    y = rng.poisson(np.exp(0.3 * X[:, 0] + 1)).astype(float)
    table = summary(GLM("poisson", tol=1e-5).fit(X, y), X, y, covariance=kind)
    others = X[1:, :1], y[1:]
    without = summary(GLM("poisson").fit(*others), *others, covariance=kind)
    np.testing.assert_allclose(table.standard_errors[:2], without.standard_errors, rtol=1e-4)
    assert table.standard_errors[2] < 2 * without.standard_errors[0]


@pytest.mark.parametrize("power", [0.5, 1.0])
def test_a_row_of_classes_with_leverage_one_has_no_residual(power: float) -> None:
    p = np.array([0.3, 0.3, 0.4])
    W = np.diag(p) - np.outer(p, p)
    noise = np.array([[1e-6, -3e-6, 2e-6]])
    left = _corrected(W[None], np.linalg.pinv(W)[None], noise, power)
    np.testing.assert_allclose(left, 0.0, atol=1e-18)


def test_each_correction_makes_errors_larger() -> None:
    X, y, _ = clustered_counts(80)
    model = GLM("poisson").fit(X, y)
    errors = [summary(model, X, y, covariance=kind).standard_errors for kind in ("HC0", "HC2", "HC3")]
    assert (np.diff(errors, axis=0) > 0).all()


def test_clusters_of_one_row_are_hc0_but_for_the_correction() -> None:
    X, y, _ = clustered_counts()
    model, n = GLM("poisson").fit(X, y), len(y)
    order = np.random.default_rng(0).permutation(n)
    alone = summary(model, X, y, covariance="cluster", clusters=order).covariance
    robust = summary(model, X, y, covariance="HC0").covariance
    np.testing.assert_allclose(alone, robust * n / (n - 1) * (n - 1) / (n - 4), rtol=1e-9)


def test_clusters_need_neither_order_nor_numbers() -> None:
    X, y, clusters = clustered_counts()
    model = GLM("poisson").fit(X, y)
    names, order = np.array([f"ward {code}" for code in clusters]), np.random.default_rng(1).permutation(len(y))
    together = summary(model, X, y, covariance="cluster", clusters=clusters)
    shuffled = summary(model, X[order], y[order], covariance="cluster", clusters=names[order])
    np.testing.assert_allclose(shuffled.covariance, together.covariance, rtol=1e-9)
    assert (together.standard_errors[[0, 1]] > summary(model, X, y).standard_errors[[0, 1]]).all()


def test_a_cluster_may_be_larger_than_a_block() -> None:
    X, y, clusters = clustered_counts(40)
    X, y, clusters = np.tile(X, (2000, 1)), np.tile(y, 2000), np.tile(np.minimum(clusters, 5), 2000)
    model = GLM("poisson").fit(X, y)
    scores = (y - model.predict(X))[:, None] * with_ones(X)
    sums = np.stack([scores[clusters == cluster].sum(axis=0) for cluster in range(6)])
    bread = np.linalg.inv((with_ones(X).T * model.predict(X)) @ with_ones(X))
    by_hand = bread @ sums.T @ sums @ bread * 6 / 5 * (len(y) - 1) / (len(y) - 4)
    found = summary(model, X, y, covariance="cluster", clusters=clusters).covariance
    np.testing.assert_allclose(found, by_hand, rtol=1e-5, atol=1e-9 * np.abs(by_hand).max())


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("kind", ["model", "HC0", "HC1", "HC2", "HC3"])
def test_a_frequency_is_equivalent_to_equal_rows(family: str, kind: str) -> None:
    X = columns(60)
    y, times = responses(family, X), np.arange(60) % 3 + 1
    weighted = summary(
        glm(family, tol=1e-10).fit(X, y, sample_weight=times), X, y, sample_weight=times, covariance=kind
    )
    X, y = np.repeat(X, times, axis=0), np.repeat(y, times)
    repeated = summary(glm(family, tol=1e-10).fit(X, y), X, y, covariance=kind)
    np.testing.assert_allclose(weighted.covariance, repeated.covariance, rtol=1e-7)
    np.testing.assert_allclose(weighted.criteria, repeated.criteria, rtol=1e-8)
    np.testing.assert_allclose(weighted.p_values, repeated.p_values, rtol=1e-7)


@pytest.mark.parametrize("family", ["gaussian", "gamma"])
def test_the_unit_of_precisions_cancels(family: str) -> None:
    X = columns(60)
    y, weight = responses(family, X), np.random.default_rng(0).uniform(0.5, 2.0, 60)
    model = glm(family, weight_kind="precision", tol=1e-10)
    one, ten = (
        summary(model.fit(X, y, sample_weight=unit * weight), X, y, sample_weight=unit * weight) for unit in (1, 10)
    )
    np.testing.assert_allclose(ten.covariance, one.covariance, rtol=1e-7)
    assert ten.criteria.log_likelihood == pytest.approx(one.criteria.log_likelihood)
    assert one.criteria.observations == 60


@pytest.mark.parametrize("covariance", ["model", "HC0", "HC3"])
def test_units_and_origin_of_a_column_do_not_matter(covariance: str) -> None:
    X = columns(200)
    y = responses("poisson", X)
    plain = summary(GLM("poisson").fit(X, y), X, y, covariance=covariance)
    for factor, shift in ((1e-150, 0.0), (1e150, 0.0), (1.0, 1e8)):
        moved = X * [factor, 1, 1] + [shift, 0, 0]
        table = summary(GLM("poisson").fit(moved, y), moved, y, covariance=covariance)
        np.testing.assert_allclose(table.statistics[1:], plain.statistics[1:], rtol=1e-5)
        np.testing.assert_allclose(table.standard_errors[1] * factor, plain.standard_errors[1], rtol=1e-5)


@pytest.mark.parametrize("as_type", [np.asfortranarray, sp.csr_array, sp.csc_array, lambda X: X.astype(np.float32)])
@pytest.mark.parametrize("covariance", ["model", "HC3", "cluster"])
def test_any_storage_has_the_same_errors(as_type: Any, covariance: str) -> None:
    X = np.round(columns(120), 1).astype(np.float32).astype(float)
    y, clusters = responses("poisson", X), np.arange(120) // 5 if covariance == "cluster" else None
    plain = summary(GLM("poisson").fit(X, y), X, y, covariance=covariance, clusters=clusters)
    given = as_type(X)
    table = summary(GLM("poisson").fit(given, y), given, y, covariance=covariance, clusters=clusters)
    np.testing.assert_allclose(table.covariance, plain.covariance, rtol=1e-6)


@pytest.mark.parametrize("covariance", ["model", "HC3", "cluster"])
def test_categories_agree_with_indicators(covariance: str) -> None:
    X = columns(120)[:, :2]
    city = np.array(["Bonn", "Kiel", "Ulm"])[np.arange(120) % 3]
    y, clusters = responses("poisson", columns(120)), np.arange(120) // 5 if covariance == "cluster" else None
    frame = pd.DataFrame({"a": X[:, 0], "city": city, "b": X[:, 1]})
    expanded = np.column_stack([X[:, 0], city == "Kiel", city == "Ulm", X[:, 1]]).astype(float)
    table, plain = (
        summary(GLM("poisson").fit(given, y), given, y, covariance=covariance, clusters=clusters)
        for given in (frame, expanded)
    )
    assert table.names == ("(intercept)", "a", "city[Kiel]", "city[Ulm]", "b")
    np.testing.assert_allclose(table.covariance, plain.covariance, rtol=1e-7)


def test_threads_do_not_matter() -> None:
    X = columns(50_000)
    y = responses("bernoulli", X)
    model = GLM("bernoulli").fit(X, y)
    found = []
    for threads in (1, 2):
        with mercer.engine(threads=threads):
            found.append(summary(model, X, y, covariance="HC3").covariance)
    np.testing.assert_array_equal(*found)


def test_only_independent_columns_have_standard_errors() -> None:
    X = columns(100)
    y = responses("gaussian", X)
    doubled = np.column_stack([X, 2 * X[:, 2] - 1])
    table, plain = (summary(LinearRegression().fit(given, y), given, y) for given in (doubled, X))
    np.testing.assert_allclose(table.standard_errors[1:3], plain.standard_errors[1:3], rtol=1e-8)
    assert np.isnan(table.standard_errors[[0, 3, 4]]).all()
    assert table.criteria.residual_freedom == plain.criteria.residual_freedom
    assert "collinear: (intercept), x2, x3" in str(table)
    with pytest.raises(InferenceError, match="do not determine"):
        table.wald_test("x3")


def test_without_an_intercept() -> None:
    X = columns(50)
    y = responses("gaussian", X)
    table = summary(LinearRegression(fit_intercept=False).fit(X, y), X, y)
    residual = y - X @ np.linalg.lstsq(X, y, rcond=None)[0]
    by_hand = np.linalg.inv(X.T @ X) * (residual @ residual) / 47
    assert table.names == ("x0", "x1", "x2")
    np.testing.assert_allclose(table.covariance, by_hand, rtol=1e-9)
    assert table.criteria.null_deviance == pytest.approx(y @ y)


def test_invalid_requests_are_rejected() -> None:
    X, y, clusters = clustered_counts(40)
    model = GLM("poisson").fit(X, y)
    with pytest.raises(InferenceError, match="no covariance 'HC4'"):
        summary(model, X, y, covariance="HC4")
    with pytest.raises(InferenceError, match="belong together"):
        summary(model, X, y, covariance="cluster")
    with pytest.raises(InferenceError, match="belong together"):
        summary(model, X, y, clusters=clusters)
    with pytest.raises(DataError, match=r"shape \(39,\), but X has 40 rows"):
        summary(model, X, y, covariance="cluster", clusters=clusters[1:])
    with pytest.raises(InferenceError, match="one cluster"):
        summary(model, X, y, covariance="cluster", clusters=np.zeros(40))
    with pytest.raises(InferenceError, match="nothing to estimate the dispersion"):
        summary(LinearRegression().fit(X[:4], y[:4]), X[:4], y[:4])


@pytest.mark.parametrize("weight", [None, np.full(40, 1 / 40)])
@pytest.mark.parametrize("options", [{"covariance": "HC1"}, {"covariance": "cluster", "clusters": np.arange(40) // 2}])
def test_a_correction_by_degrees_of_freedom_needs_residual_degrees(options: dict[str, Any], weight: Any) -> None:
    # as many rows as coefficients were an error of Python's, and weights that sum to less than that errors of 0
    X, y, _ = clustered_counts(40)
    if weight is None:
        X, y = X[:4], np.array([1.0, 3.0, 2.0, 5.0])
        options = {name: value[:4] if name == "clusters" else value for name, value in options.items()}
    model = GLM("poisson").fit(X, y, weight)
    with pytest.raises(InferenceError, match="nothing to correct the robust errors of 4 coefficients"):
        summary(model, X, y, sample_weight=weight, **options)


@pytest.mark.parametrize("clusters", [np.arange(40) / 8, np.arange(40.0) // 4, np.arange(40).astype("M8[D]")])
def test_clusters_may_be_of_any_type(clusters: Any) -> None:
    X, y, _ = clustered_counts(40)
    model = GLM("poisson").fit(X, y)
    names = [f"cluster {label}" for label in clusters]
    found, expected = (summary(model, X, y, covariance="cluster", clusters=given) for given in (clusters, names))
    np.testing.assert_allclose(found.covariance, expected.covariance, rtol=1e-9)


@pytest.mark.parametrize("missing", [np.nan, None, np.datetime64("NaT")])
def test_a_missing_cluster_is_named(missing: Any) -> None:
    X, y, _ = clustered_counts(40)
    clusters = [np.datetime64("2020-01-01"), np.datetime64("2020-01-02")] * 20
    labels = clusters if isinstance(missing, np.datetime64) else np.resize([1.0, 2.0], 40).astype(object)
    labels[7] = missing
    with pytest.raises(NonFiniteError, match="clusters has no label for row 7"):
        summary(GLM("poisson").fit(X, y), X, y, covariance="cluster", clusters=np.array(labels))


# Classes, whose rows have a linear predictor for each.


@pytest.mark.parametrize("kind", ["HC0", "HC1", "HC2", "HC3"])
def test_two_classes_have_the_robust_errors_of_a_logistic_regression(kind: str) -> None:
    X = columns(100)
    y = responses("bernoulli", X).astype(int)
    logistic = summary(GLM("bernoulli", tol=1e-10).fit(X, y), X, y, covariance=kind).covariance
    referred = summary(GLM("categorical", reference=0, tol=1e-10).fit(X, y), X, y, covariance=kind)
    np.testing.assert_allclose(referred.covariance, logistic, rtol=1e-7)
    symmetric = summary(GLM("categorical", tol=1e-10).fit(X, y), X, y, covariance=kind).covariance
    difference = np.kron([[-1.0, 1.0]], np.eye(4))
    np.testing.assert_allclose(difference @ symmetric @ difference.T, logistic, rtol=1e-7)


@pytest.mark.parametrize("weighted", [False, True])
def test_hc3_of_classes_is_a_jackknife_of_one_newton_step(weighted: bool) -> None:
    """Each row is left out in turn, and the estimate follows by one step with the Hessian of the others."""
    X, y = three_classes(150)
    weight = np.random.default_rng(0).uniform(0.5, 2.0, len(y)) if weighted else np.ones(len(y))
    model = GLM("categorical", reference=0, weight_kind="precision", tol=1e-10).fit(X, y, sample_weight=weight)
    p, A = model.predict_proba(X)[:, 1:], with_ones(X)
    scores = np.einsum("ia,ij->iaj", weight[:, None] * (p - np.eye(3)[y][:, 1:]), A).reshape(len(y), -1)
    bend = weight[:, None, None] * (p[:, :, None] * np.eye(2) - p[:, :, None] * p[:, None, :])
    hessians = np.einsum("iab,ij,ik->iajbk", bend, A, A).reshape(len(y), 8, 8)
    moves = [np.linalg.solve(hessians.sum(axis=0) - hessian, s) for s, hessian in zip(scores, hessians, strict=True)]
    found = summary(model, X, y, sample_weight=weight, covariance="HC3").covariance
    np.testing.assert_allclose(found, np.transpose(moves) @ moves, rtol=1e-6)


def test_hc2_of_classes_lies_between_hc0_and_hc3() -> None:
    X, y = three_classes(150)
    model = GLM("categorical").fit(X, y)
    errors = [summary(model, X, y, covariance=kind).standard_errors for kind in ("HC0", "HC2", "HC3")]
    assert (np.diff(errors, axis=0) > 0).all()
    np.testing.assert_allclose(errors[1] ** 2, errors[0] * errors[2], rtol=0.02)


def test_a_frequency_of_classes_is_equivalent_to_equal_rows() -> None:
    X, y = three_classes(150)
    times = np.arange(len(y)) % 3 + 1
    model = GLM("categorical", tol=1e-10)
    weighted = summary(model.fit(X, y, sample_weight=times), X, y, sample_weight=times, covariance="HC2")
    X, y = np.repeat(X, times, axis=0), np.repeat(y, times)
    repeated = summary(model.fit(X, y), X, y, covariance="HC2")
    np.testing.assert_allclose(weighted.covariance, repeated.covariance, rtol=1e-6, atol=1e-12)


@pytest.mark.parametrize("weight_kind", ["frequency", "precision"])
@pytest.mark.parametrize("family", ["gaussian", "poisson"])
def test_a_cluster_of_weight_zero_has_no_effect(family: str, weight_kind: str) -> None:
    X = columns(60)
    y, clusters, weight = responses(family, X), np.arange(60) // 5, (np.arange(60) < 50).astype(float)
    model = GLM(family, weight_kind=weight_kind)
    some = summary(model.fit(X[:50], y[:50]), X[:50], y[:50], covariance="cluster", clusters=clusters[:50])
    table = summary(
        model.fit(X, y, sample_weight=weight), X, y, sample_weight=weight, covariance="cluster", clusters=clusters
    )
    np.testing.assert_allclose(table.covariance, some.covariance, rtol=1e-7)
    np.testing.assert_allclose(table.p_values, some.p_values, rtol=1e-6)
    with pytest.raises(InferenceError, match="one cluster"):
        summary(model, X, y, sample_weight=weight, covariance="cluster", clusters=(weight > 0))
