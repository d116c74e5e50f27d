"""GaussianDiscriminant: six covariance structures, shrinkage, missing values, and what it rejects."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.stats import multivariate_normal
from sklearn import covariance as reference
from sklearn.base import clone
from sklearn.model_selection import cross_val_score
from sklearn.preprocessing import StandardScaler

from mercer import GaussianDiscriminant, GaussianNB
from mercer._errors import (
    DataError,
    DegenerateDataError,
    MergeError,
    NonFiniteError,
    NotConvergedWarning,
    PriorError,
    SingularCovarianceError,
)
from mercer.discriminant_analysis._covariance import STRUCTURES
from mercer.optim import em
from tests._ctrl_c import interrupted_at
from tests.discriminant_analysis._blobs import blobs, with_gaps

PER_CLASS = ("full", "diagonal", "spherical")
every_structure = pytest.mark.parametrize("structure", STRUCTURES)


def dense_covariance(model: Any, c: int) -> Any:
    """The covariance of a class as a matrix, whatever the structure."""
    shape, shared = model.covariance.split()[-1], model.covariance.startswith("shared")
    value = model.covariance_ if shared else model.covariance_[c]
    return value if shape == "full" else np.diag(np.broadcast_to(value, model.n_features_in_))


# Maximum likelihood.


@every_structure
def test_the_covariance_agrees_with_the_rows(structure: str) -> None:
    X, y = blobs()
    model = GaussianDiscriminant(structure).fit(X, y)
    means = np.array([X[y == c].mean(axis=0) for c in range(3)])
    np.testing.assert_allclose(model.means_, means, rtol=1e-12)
    away, shape = X - means[y], structure.split()[-1]
    groups = [np.ones(len(y), dtype=bool)] if "shared" in structure else [y == c for c in range(3)]
    pick = {"full": lambda S: S, "diagonal": np.diag, "spherical": lambda S: np.trace(S) / len(S)}[shape]
    expected = np.array([pick(away[g].T @ away[g] / g.sum()) for g in groups])
    np.testing.assert_allclose(model.covariance_, expected[0] if "shared" in structure else expected, rtol=1e-10)
    np.testing.assert_allclose(model.priors_, np.bincount(y) / len(y))


@every_structure
@pytest.mark.parametrize("gaps", [False, True])
def test_the_joint_density_is_the_priors_times_normal_densities(structure: str, gaps: bool) -> None:
    X, y = blobs(n=150)
    model = GaussianDiscriminant(structure).fit(X, y)
    rows = with_gaps(X, 0.4) if gaps else X
    joint = model.predict_joint_log_proba(rows)
    for i, row in enumerate(rows):
        o = np.flatnonzero(~np.isnan(row))
        for c in range(3):
            sigma = dense_covariance(model, c)[np.ix_(o, o)]
            density = multivariate_normal.logpdf(row[o], model.means_[c, o], sigma) if len(o) else 0.0
            assert joint[i, c] == pytest.approx(np.log(model.priors_[c]) + density, rel=1e-9, abs=1e-9)


def test_diagonal_covariances_are_naive_bayes() -> None:
    X, y = blobs()
    for structure, shared in (("diagonal", False), ("shared diagonal", True)):
        for rows in (X, with_gaps(X)):
            naive = GaussianNB(var_smoothing=0, shared_variance=shared).fit(rows, y)
            ours = GaussianDiscriminant(structure).fit(rows, y)
            np.testing.assert_allclose(
                ours.predict_log_proba(rows), naive.predict_log_proba(rows), rtol=1e-10, atol=1e-12
            )


@pytest.mark.parametrize("gaps", [False, True])
def test_one_column_has_one_structure_per_class_or_shared(gaps: bool) -> None:
    X, y = blobs(d=1)
    X = with_gaps(X) if gaps else X
    for structures in (PER_CLASS, [f"shared {shape}" for shape in PER_CLASS]):
        first, *rest = (GaussianDiscriminant(structure).fit(X, y).predict_log_proba(X) for structure in structures)
        for other in rest:
            np.testing.assert_allclose(other, first, rtol=1e-10)


# Shrinkage.


def test_a_fixed_shrinkage_pulls_towards_the_mean_variance() -> None:
    X, y = blobs()
    plain, shrunk = (GaussianDiscriminant(shrinkage=amount).fit(X, y).covariance_ for amount in (0, 0.3))
    for S, shrunken in zip(plain, shrunk, strict=True):
        np.testing.assert_allclose(shrunken, 0.7 * S + 0.3 * np.trace(S) / 4 * np.eye(4), rtol=1e-12)
    diagonal = GaussianDiscriminant("diagonal", shrinkage=0.3).fit(X, y).covariance_
    np.testing.assert_allclose(diagonal, np.einsum("kii->ki", shrunk), rtol=1e-12)


@pytest.mark.parametrize(("name", "estimate"), [("ledoit-wolf", reference.ledoit_wolf), ("oas", reference.oas)])
def test_automatic_shrinkage_is_estimated_from_standardised_rows(name: str, estimate: Callable[..., Any]) -> None:
    X, y = blobs(n=90)
    scaler = StandardScaler()
    own = GaussianDiscriminant(shrinkage=name).fit(X, y).covariance_
    for c in range(3):
        expected, _ = estimate(scaler.fit_transform(X[y == c]))
        np.testing.assert_allclose(own[c], expected * scaler.scale_ * scaler.scale_[:, None], rtol=1e-9)
    away = X - np.array([X[y == c].mean(axis=0) for c in range(3)])[y]
    expected, _ = estimate(scaler.fit_transform(away), assume_centered=True)
    shared = GaussianDiscriminant("shared full", shrinkage=name).fit(X, y).covariance_
    np.testing.assert_allclose(shared, expected * scaler.scale_ * scaler.scale_[:, None], rtol=1e-9)


@pytest.mark.parametrize("shrinkage", ["oas", "ledoit-wolf"])
@pytest.mark.parametrize("structure", ["full", "shared full"])
def test_units_do_not_change_the_classifier(structure: str, shrinkage: str) -> None:
    X, y = blobs(n=60)
    unit = np.array([1e-3, 1.0, 1e3, 1e6])
    plain, scaled = (GaussianDiscriminant(structure, shrinkage=shrinkage).fit(data, y) for data in (X, X * unit))
    np.testing.assert_allclose(scaled.predict_log_proba(X * unit), plain.predict_log_proba(X), rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize("shrinkage", [0.1, "oas", "ledoit-wolf"])
def test_shrinkage_makes_more_columns_than_rows_fit(shrinkage: Any) -> None:
    X, y = blobs(classes=2, n=30, d=20)
    with pytest.raises(SingularCovarianceError):
        GaussianDiscriminant().fit(X, y)
    assert GaussianDiscriminant(shrinkage=shrinkage).fit(X, y).score(X, y) > 0.9


# Missing values.


@every_structure
@pytest.mark.parametrize("shrinkage", [None, 0.2, "oas"])
def test_missing_values_leave_a_fit_close_to_that_of_all_values(structure: str, shrinkage: Any) -> None:
    X, y = blobs(n=4000)
    model = GaussianDiscriminant(structure, shrinkage=shrinkage)
    gaps, whole = clone(model).fit(with_gaps(X, 0.1), y), model.fit(X, y)
    assert gaps.certificate_.holds
    assert gaps.certificate_.kind == ("stationary point" if "full" in structure else "closed form")
    assert np.abs(gaps.means_ - whole.means_).max() < 0.06
    assert np.abs(gaps.covariance_ - whole.covariance_).max() < 0.25
    assert np.abs(gaps.predict_proba(X) - whole.predict_proba(X)).mean() < 0.02


def test_a_class_without_gaps_has_its_closed_form() -> None:
    X, y = blobs()
    X[y == 1] = with_gaps(X[y == 1])
    model, own = GaussianDiscriminant().fit(X, y), X[y == 0]
    np.testing.assert_allclose(model.means_[0], own.mean(axis=0), rtol=1e-12)
    np.testing.assert_allclose(model.covariance_[0], np.cov(own.T, bias=True), rtol=1e-12)


@pytest.mark.parametrize("structure", ["diagonal", "shared diagonal", "spherical", "shared spherical"])
def test_a_column_that_is_never_observed_has_no_effect(structure: str) -> None:
    X, y = blobs()
    blank = np.column_stack([X, np.full(len(X), np.nan)])
    model, plain = GaussianDiscriminant(structure).fit(blank, y), GaussianDiscriminant(structure).fit(X, y)
    np.testing.assert_allclose(model.predict_log_proba(blank), plain.predict_log_proba(X), rtol=1e-10)


def test_a_row_without_any_value_has_the_prior_as_posterior() -> None:
    X, y = blobs()
    nothing = np.full((1, 4), np.nan)
    for structure in STRUCTURES:
        model = GaussianDiscriminant(structure, priors=[0.5, 0.2, 0.3]).fit(X, y)
        np.testing.assert_allclose(model.predict_proba(nothing), [[0.5, 0.2, 0.3]])
        np.testing.assert_allclose(model.log_density(nothing), 0.0, atol=1e-15)


@pytest.mark.parametrize("shrinkage", [0.1, "oas"])
def test_shrinkage_permits_a_column_that_is_constant_where_observed(shrinkage: Any) -> None:
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(90, 3)), np.repeat([0, 1, 2], 30)
    X[:30, 0] = 5.0
    X[rng.random(X.shape) < 0.3] = np.nan
    model = GaussianDiscriminant(shrinkage=shrinkage).fit(X, y)
    assert model.certificate_.holds
    assert np.isfinite(model.predict_log_proba(X)).all()


def test_an_unfinished_fit_gives_a_warning_and_a_certificate_that_does_not_hold() -> None:
    X, y = blobs()
    with pytest.warns(NotConvergedWarning, match=r"class \d has not converged"):
        model = GaussianDiscriminant(max_iter=1, tol=1e-13).fit(with_gaps(X, 0.3), y)
    assert not model.certificate_.holds
    assert model.n_iter_ == 1


def test_an_interrupted_fit_is_stored_and_marked(monkeypatch: pytest.MonkeyPatch) -> None:
    X, y = blobs()
    gaps = with_gaps(X)
    monkeypatch.setattr(em.EMProblem, "at", interrupted_at(4, em.EMProblem.at))
    model = GaussianDiscriminant().fit(X, y)
    before = model.covariance_
    with pytest.raises(KeyboardInterrupt):
        model.fit(gaps, y)
    assert not model.certificate_.holds
    assert np.abs(model.covariance_ - before).max() > 0.01
    assert model.score(X, y) > 0.5


# Learning in pieces.


def test_classes_may_appear_later() -> None:
    X, y = blobs()
    order = np.argsort(y, kind="stable")
    model = GaussianDiscriminant()
    for rows in np.array_split(order, 7):
        model.partial_fit(X[rows], y[rows])
    whole = GaussianDiscriminant().fit(X, y)
    np.testing.assert_allclose(model.covariance_, whole.covariance_, rtol=1e-9)
    np.testing.assert_allclose(model.predict_log_proba(X), whole.predict_log_proba(X), rtol=1e-9, atol=1e-12)


def test_with_too_few_rows_it_learns_but_does_not_predict() -> None:
    X, y = blobs()
    model = GaussianDiscriminant().partial_fit(X[:8], y[:8])
    assert not model.certificate_.holds
    assert not hasattr(model, "covariance_")
    for use in (model.predict, model.log_density, lambda X: model.sample(3), lambda X: model.with_priors([1, 0, 0])):
        with pytest.raises(SingularCovarianceError, match="is singular"):
            use(X)
    model.partial_fit(X[8:], y[8:])
    assert model.certificate_.holds
    np.testing.assert_allclose(model.covariance_, GaussianDiscriminant().fit(X, y).covariance_, rtol=1e-9)


def test_patterns_of_gaps_can_be_learnt_merged_and_forgotten() -> None:
    X, y = blobs()
    gaps = with_gaps(X)
    model = GaussianDiscriminant(tol=1e-11).fit(gaps[:300], y[:300])
    model.merge(GaussianDiscriminant().fit(gaps[300:], y[300:])).forget(gaps[:50], y[:50])
    left = GaussianDiscriminant(tol=1e-11).fit(gaps[50:], y[50:])
    np.testing.assert_allclose(model.covariance_, left.covariance_, rtol=1e-8)


@pytest.mark.parametrize("options", [{"covariance": "diagonal"}, {"shrinkage": "ledoit-wolf"}])
def test_models_with_different_statistics_cannot_be_merged(options: Any) -> None:
    X, y = blobs()
    with pytest.raises(MergeError, match="keep different statistics"):
        GaussianDiscriminant().fit(X, y).merge(GaussianDiscriminant(**options).fit(X, y))
    with pytest.raises(MergeError, match="keep different statistics"):
        GaussianDiscriminant().fit(X, y).set_params(**options).partial_fit(X, y)


# What is rejected.


@pytest.mark.parametrize(
    ("options", "match"),
    [
        ({"covariance": "banded"}, "'covariance' parameter"),
        ({"shrinkage": "auto"}, "'shrinkage' parameter"),
        ({"shrinkage": 1.5}, "'shrinkage' parameter"),
        ({"tol": 0.0}, "'tol' parameter"),
        ({"max_iter": 0}, "'max_iter' parameter"),
    ],
)
def test_parameters_are_checked(options: Any, match: str) -> None:
    with pytest.raises(ValueError, match=match):
        GaussianDiscriminant(**options).fit(*blobs())


def test_one_class_is_rejected_with_the_message_of_scikit_learn() -> None:
    X, _ = blobs()
    with pytest.raises(DataError, match=r"The number of classes has to be greater than one. Got 1 class.* class 'a'"):
        GaussianDiscriminant().fit(X, ["a"] * len(X))
    with pytest.raises(DataError, match="All rows are of class 3; add"):
        GaussianDiscriminant().fit(X, np.full(len(X), 3))


def test_a_singular_class_is_named_with_its_collinear_columns() -> None:
    X, y = blobs()
    frame = pd.DataFrame(X, columns=["height", "weight", "age", "both"])
    frame.loc[y == 2, "both"] = frame["height"] + frame["weight"]
    model = GaussianDiscriminant()
    with pytest.raises(
        SingularCovarianceError, match=r"class 2 is singular.*'height', 'weight', 'both'.*shrinkage"
    ) as raised:
        model.fit(frame, y)
    assert isinstance(raised.value, np.linalg.LinAlgError)
    assert not hasattr(model, "classes_")
    GaussianDiscriminant("shared full").fit(frame, y)


@pytest.mark.parametrize("structure", PER_CLASS)
@pytest.mark.parametrize("shrinkage", [None, 0.1])
def test_a_class_of_one_row_needs_a_shared_covariance(structure: str, shrinkage: Any) -> None:
    X, y = blobs()
    y[0] = 3
    y[1:][y[1:] == 3] = 0
    with pytest.raises(SingularCovarianceError, match=r"class 3 is singular: columns 'x0', .*share the covariance"):
        GaussianDiscriminant(structure, shrinkage=shrinkage).fit(X, y)
    GaussianDiscriminant(f"shared {structure}").fit(X, y)


@pytest.mark.parametrize("structure", ["diagonal", "shared diagonal"])
def test_a_constant_column_is_rejected_by_name(structure: str) -> None:
    X, y = blobs()
    X[:, 1] = 3.0
    with pytest.raises(SingularCovarianceError, match="column 'x1' is constant there"):
        GaussianDiscriminant(structure).fit(X, y)
    GaussianDiscriminant(structure, shrinkage=0.01).fit(X, y)


def test_a_column_unobserved_in_a_class_is_rejected_if_its_mean_is_needed() -> None:
    X, y = blobs()
    X[y == 0, 2] = np.nan
    for structure in ("full", "shared full"):
        with pytest.raises(DegenerateDataError, match="'x2' is missing in every row of class 0"):
            GaussianDiscriminant(structure).fit(X, y)
    GaussianDiscriminant("diagonal").fit(X, y)


def test_a_class_without_observed_values_is_rejected_if_its_means_are_needed() -> None:
    X, y = blobs()
    X[y == 1] = np.nan
    for structure in ("full", "shared full"):
        with pytest.raises(DegenerateDataError, match="'x0' is missing in every row of class 1"):
            GaussianDiscriminant(structure).fit(X, y)


def test_ledoit_and_wolf_need_complete_rows_to_learn_but_not_to_predict() -> None:
    X, y = blobs()
    model = GaussianDiscriminant(shrinkage="ledoit-wolf").fit(X, y)
    gaps = with_gaps(X)
    assert np.isfinite(model.predict_log_proba(gaps)).all()
    with pytest.raises(NonFiniteError, match="complete rows only"):
        model.fit(gaps, y)
    GaussianDiscriminant("diagonal", shrinkage="ledoit-wolf").fit(gaps, y)


def test_priors_must_be_probabilities_of_the_classes() -> None:
    for priors, message in (
        ([0.5, 0.5], "Number of priors"),
        ([0.5, 0.4, 0.2], "sum of the priors"),
        ([1.2, -0.1, -0.1], "non-negative"),
    ):
        with pytest.raises(PriorError, match=message):
            GaussianDiscriminant(priors=priors).fit(*blobs())


# Real data.


def test_heart_disease_with_its_gaps(real_data: Callable[[str], Path]) -> None:
    table = pd.read_csv(real_data("heart.csv")).drop(columns="key")
    numbers = table.select_dtypes("number")
    assert numbers.isna().any().any()
    for structure in STRUCTURES:
        model = GaussianDiscriminant(structure).fit(numbers, table["AHD"])
        assert model.certificate_.holds
        assert model.score(numbers, table["AHD"]) > 0.6
    assert cross_val_score(GaussianDiscriminant("shared full"), numbers, table["AHD"], cv=5).mean() > 0.75


def test_horse_colic_with_a_third_of_its_values_missing(real_data: Callable[[str], Path]) -> None:
    table = pd.read_csv(real_data("horse-colic.csv"), header=None, na_values="?")
    table = table[table[22].notna()]
    X, y = table[[3, 4, 5, 18, 19, 21]], table[22].astype(int)
    assert X.isna().to_numpy().mean() > 0.2
    model = GaussianDiscriminant("shared full").fit(X, y)
    assert model.certificate_.holds
    assert model.score(X, y) > 0.6
    X, y = X[y < 3], y[y < 3]
    quadratic = GaussianDiscriminant(shrinkage="oas").fit(X, y)
    assert quadratic.certificate_.holds
    assert np.isfinite(quadratic.predict_log_proba(X)).all()
