"""LinearDiscriminantAnalysis: scikit-learn's numbers, and what scikit-learn has not."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn import discriminant_analysis
from sklearn.covariance import OAS, ShrunkCovariance

from mercer import GaussianDiscriminant, LinearDiscriminantAnalysis, load, save
from mercer._errors import DataError, DegenerateDataError, NonFiniteError, PriorError, SingularCovarianceError
from mercer.discriminant_analysis._linear import fix_signs
from tests.discriminant_analysis._blobs import with_gaps

SOLVERS = ("svd", "lsqr", "eigen")


def blobs(classes: int = 3, n: int = 300, d: int = 5) -> tuple[Any, Any]:
    """Normal classes of one covariance."""
    rng = np.random.default_rng(0)
    y = rng.integers(classes, size=n)
    X = rng.normal(size=(n, d)) @ (np.eye(d) + 0.4 * rng.normal(size=(d, d))) + rng.normal(size=(classes, d))[y]
    return X + 3.0, y


OPTIONS = [
    {"solver": "svd"},
    {"solver": "svd", "store_covariance": True, "n_components": 1},
    {"solver": "svd", "tol": 0.5},
    *({"solver": solver, "shrinkage": amount} for solver in ("lsqr", "eigen") for amount in (None, 0.0, 0.3, "auto")),
    {"solver": "eigen", "n_components": 1},
    {"solver": "lsqr", "covariance_estimator": ShrunkCovariance(shrinkage=0.2)},
    {"solver": "eigen", "covariance_estimator": OAS()},
]
PRIORS = [None, "given"]


@pytest.mark.parametrize("classes", [2, 3, 7])
@pytest.mark.parametrize("priors", PRIORS)
@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_has_the_numbers_of_scikit_learn(options: Any, priors: Any, classes: int) -> None:
    X, y = blobs(classes)
    given = None if priors is None else np.arange(1.0, classes + 1) / np.arange(1, classes + 1).sum()
    ours = LinearDiscriminantAnalysis(priors=given, **options).fit(X, y)
    theirs = discriminant_analysis.LinearDiscriminantAnalysis(priors=given, **options).fit(X, y)
    for name in ("coef_", "intercept_", "means_", "priors_", "xbar_", "covariance_", "explained_variance_ratio_"):
        assert hasattr(ours, name) == hasattr(theirs, name), name
        if hasattr(theirs, name):
            value = getattr(theirs, name)
            np.testing.assert_allclose(getattr(ours, name), value, rtol=1e-10, atol=1e-10, err_msg=name)
    np.testing.assert_allclose(ours.decision_function(X), theirs.decision_function(X), rtol=1e-10, atol=1e-10)
    np.testing.assert_allclose(ours.predict_proba(X), theirs.predict_proba(X), rtol=1e-9, atol=1e-12)
    np.testing.assert_array_equal(ours.predict(X), theirs.predict(X))
    if options["solver"] != "lsqr":
        assert ours.scalings_.shape == theirs.scalings_.shape
        np.testing.assert_allclose(np.abs(ours.transform(X)), np.abs(theirs.transform(X)), rtol=1e-8, atol=1e-9)


def test_svd_accepts_collinear_columns() -> None:
    X, y = blobs()
    X = np.column_stack([X, X[:, 0] - 2 * X[:, 1], np.ones(len(X))])
    ours, theirs = (
        made().fit(X, y) for made in (LinearDiscriminantAnalysis, discriminant_analysis.LinearDiscriminantAnalysis)
    )
    np.testing.assert_allclose(ours.predict_proba(X), theirs.predict_proba(X), rtol=1e-7, atol=1e-10)
    with pytest.raises(SingularCovarianceError, match=r"columns 'x0', 'x1', 'x5', 'x6' are collinear"):
        ours.log_density(X)
    sampled, _ = ours.sample(50, random_state=0)
    np.testing.assert_allclose(sampled[:, 5], sampled[:, 0] - 2 * sampled[:, 1], atol=1e-6)


def test_columns_without_spread_leave_fewer_directions(tmp_path: Path) -> None:
    """The number of output features agrees with their names and with the rules for model files."""
    model = LinearDiscriminantAnalysis().fit(np.full((6, 2), 3.0), ["a", "b", "c"] * 2)
    assert model.transform([[3.0, 3.0]]).shape == (1, 0)
    assert len(model.get_feature_names_out()) == 0
    save(model, tmp_path / "model")
    np.testing.assert_allclose(load(tmp_path / "model").predict_proba([[3.0, 3.0]]), 1 / 3)


def test_classes_of_equal_means_explain_no_variance() -> None:
    """The variance between the classes is 0, and so is the sum by which its parts are divided."""
    model = LinearDiscriminantAnalysis(solver="eigen").fit([[0.0], [1.0], [0.0], [1.0]], [0, 0, 1, 1])
    np.testing.assert_array_equal(model.explained_variance_ratio_, 0.0)
    np.testing.assert_allclose(model.predict_proba([[7.0]]), 0.5)


def test_eigen_rejects_a_singular_covariance_as_numpy_does() -> None:
    X, y = blobs()
    X[:, 1] = 2.0
    with pytest.raises(np.linalg.LinAlgError, match="'x1'"):
        LinearDiscriminantAnalysis(solver="eigen").fit(X, y)


def test_a_column_far_from_zero_keeps_its_digits() -> None:
    X, y = blobs(3)
    X = np.round(X * 2**20) / 2**20  # so that adding 1e8 is exact
    near, far = (LinearDiscriminantAnalysis().fit(data, y) for data in (X, X + 1e8))
    np.testing.assert_allclose(far.predict_log_proba(X + 1e8), near.predict_log_proba(X), rtol=1e-10, atol=1e-10)
    gaps = with_gaps(X)
    np.testing.assert_allclose(far.predict_proba(gaps + 1e8), near.predict_proba(gaps), rtol=1e-9, atol=1e-10)


@pytest.mark.parametrize("solver", SOLVERS)
def test_agrees_with_gaussian_discriminant_with_a_shared_covariance(solver: str) -> None:
    X, y = blobs()
    ours = LinearDiscriminantAnalysis(solver=solver).fit(X, y)
    same = GaussianDiscriminant("shared full").fit(X, y)
    np.testing.assert_allclose(ours.predict_joint_log_proba(X), same.predict_joint_log_proba(X), rtol=1e-10)
    np.testing.assert_allclose(ours.log_density(X), same.log_density(X), rtol=1e-10)


@pytest.mark.parametrize("solver", SOLVERS)
def test_missing_values_are_integrated_out(solver: str) -> None:
    X, y = blobs(n=600)
    gaps = with_gaps(X)
    ours = LinearDiscriminantAnalysis(solver=solver).fit(gaps, y)
    same = GaussianDiscriminant("shared full").fit(gaps, y)
    assert ours.certificate_.kind == "stationary point"
    assert ours.certificate_.holds
    assert "EM" in ours.plan_.path
    np.testing.assert_allclose(ours.predict_proba(gaps), same.predict_proba(gaps), atol=1e-7)
    np.testing.assert_allclose(ours.predict_joint_log_proba(gaps), same.predict_joint_log_proba(gaps), atol=1e-6)


def test_given_priors_weight_the_covariance_with_and_without_gaps() -> None:
    X, y = blobs(2, n=400)
    priors = [0.9, 0.1]
    complete = LinearDiscriminantAnalysis("lsqr", priors=priors).fit(X, y)
    X[0, 0] = np.nan
    one_gap = LinearDiscriminantAnalysis("lsqr", priors=priors).fit(X, y)
    np.testing.assert_allclose(one_gap.covariance_, complete.covariance_, rtol=0.02)
    assert np.abs(one_gap.covariance_ - LinearDiscriminantAnalysis("lsqr").fit(X, y).covariance_).max() > 0.02


def test_a_row_with_a_gap_is_projected_to_its_expectation() -> None:
    """The expectation of the projection over what the gap may hold, by numerical integration."""
    X, y = blobs(3)
    model = LinearDiscriminantAnalysis().fit(X, y)
    for row in X[:5]:
        filled = np.tile(row, (4001, 1))
        filled[:, 2] = np.linspace(-30, 30, 4001)
        weight = np.exp(model.log_density(filled))
        expected = weight @ model.transform(filled) / weight.sum()
        gap = np.where(np.arange(5) == 2, np.nan, row)
        np.testing.assert_allclose(model.transform(gap[None])[0], expected, rtol=1e-8)


@pytest.mark.parametrize(("solver", "shrinkage"), [("svd", None), ("eigen", "auto")])
def test_transform_accepts_the_input_of_fit(solver: str, shrinkage: Any) -> None:
    X, y = blobs()
    X = np.where(np.abs(X) > 1, X, 0.0)
    model = LinearDiscriminantAnalysis(solver, shrinkage).fit(X, y)
    plain = model.transform(X)
    np.testing.assert_allclose(model.transform(sp.csr_array(X)), plain)
    assert model.transform(X.astype(np.float32)).dtype == np.float32
    frame = pd.DataFrame(X, columns=list("abcde"))
    projected = LinearDiscriminantAnalysis(solver, shrinkage).set_output(transform="pandas").fit_transform(frame, y)
    assert list(projected) == ["lineardiscriminantanalysis0", "lineardiscriminantanalysis1"]
    with pytest.raises(NonFiniteError, match="'x0' is inf in row 3"):
        model.transform(np.where((np.arange(len(X)) == 3)[:, None] & (np.arange(5) == 0), np.inf, X))


def test_ledoit_and_wolf_need_complete_rows() -> None:
    X, y = blobs()
    X[7, 3] = np.nan
    with pytest.raises(NonFiniteError, match=r"'x3' has a missing value in row 7.*shrinkage=0.1"):
        LinearDiscriminantAnalysis("lsqr", "auto").fit(X, y)


def test_small_first_batches_are_learnt_but_do_not_permit_predictions() -> None:
    X, y = blobs()
    model = LinearDiscriminantAnalysis("eigen")
    for i in range(4):
        model.partial_fit(X[i : i + 1], y[i : i + 1], classes=[0, 1, 2])
    with pytest.raises(SingularCovarianceError, match="singular"):
        model.predict(X)
    assert not model.certificate_.holds
    assert not hasattr(model, "coef_")
    model.partial_fit(X[4:], y[4:])
    np.testing.assert_allclose(model.coef_, LinearDiscriminantAnalysis("eigen").fit(X, y).coef_, rtol=1e-9)


@pytest.mark.parametrize(("solver", "given"), itertools.product(SOLVERS, [None, [0.2, 0.3, 0.1, 0.4]]))
def test_an_announced_class_without_rows_is_never_predicted(solver: str, given: Any) -> None:
    X, y = blobs()
    model = LinearDiscriminantAnalysis(solver, priors=given).partial_fit(X, y, classes=[0, 1, 2, 3])
    proba = model.predict_proba(with_gaps(X))
    assert (proba[:, 3] == 0).all()
    plain = LinearDiscriminantAnalysis(solver, priors=None if given is None else np.array(given[:3]) / 0.6).fit(X, y)
    np.testing.assert_allclose(model.predict_proba(X)[:, :3], plain.predict_proba(X), rtol=1e-9)


def test_one_class_is_fitted_and_predicted() -> None:
    X, _ = blobs()
    model = LinearDiscriminantAnalysis().fit(X, np.zeros(len(X)))
    assert (model.predict(X) == 0).all()


@pytest.mark.parametrize(
    ("options", "error", "match"),
    [
        ({"shrinkage": 0.1}, NotImplementedError, "shrinkage not supported with 'svd' solver"),
        ({"covariance_estimator": OAS()}, ValueError, "covariance estimator is not supported with svd"),
        ({"solver": "eigen", "shrinkage": 0.1, "covariance_estimator": OAS()}, DataError, "Only one of the two"),
        ({"n_components": 3}, ValueError, "n_components cannot be larger than min"),
        ({"priors": [0.5, 0.6, -0.1]}, PriorError, "priors must be non-negative"),
        ({"priors": [0.5, 0.5]}, PriorError, "Number of priors"),
    ],
)
def test_incompatible_options_are_rejected(options: Any, error: Any, match: str) -> None:
    with pytest.raises(error, match=match):
        LinearDiscriminantAnalysis(**options).fit(*blobs())


def test_priors_that_do_not_sum_to_one_are_renormalised_with_a_warning() -> None:
    with pytest.warns(UserWarning, match="do not sum to 1"):
        model = LinearDiscriminantAnalysis(priors=[1, 2, 1]).fit(*blobs())
    np.testing.assert_allclose(model.priors_, [0.25, 0.5, 0.25])


def test_estimates_of_a_covariance_estimator_cannot_be_updated() -> None:
    X, y = blobs()
    model = LinearDiscriminantAnalysis("lsqr", covariance_estimator=OAS()).fit(X, y)
    assert "OAS" in model.plan_.path
    for update in (lambda: model.partial_fit(X, y), lambda: model.forget(X[:60], y[:60]), lambda: model.merge(model)):
        with pytest.raises(DataError, match="fit on all rows at once"):
            update()
    with pytest.raises(DataError, match="takes no sample_weight"):
        model.fit(X, y, sample_weight=np.ones(len(y)))
    assert not hasattr(model.covariance_estimator, "covariance_")


def test_classes_so_far_apart_that_the_variance_overflows_are_rejected():
    y = np.arange(20) % 2
    X = 1e145 * np.random.default_rng(0).normal(size=(20, 1)) + 1e155 * (2 * y - 1)[:, None]
    with pytest.raises(DegenerateDataError, match="'x0' is so wide that its variance is too large for float64"):
        LinearDiscriminantAnalysis(solver="eigen").fit(X, y)


def test_means_that_differ_by_rounding_do_not_differ():
    """A third is the mean of both classes: of half of the rows merged with the rest, as of all at once."""
    X, y = np.tile([[1.0], [0.0], [0.0]], (7, 1)), np.repeat([0, 1], [9, 12])
    rows = np.random.default_rng(0).permutation(21)
    whole = LinearDiscriminantAnalysis().fit(X, y)
    halves = [LinearDiscriminantAnalysis().fit(X[part], y[part]) for part in (rows[:8], rows[8:])]
    assert whole.transform(X).shape == halves[0].merge(halves[1]).transform(X).shape == (21, 0)


def test_classes_whose_means_have_an_overflowing_difference_are_rejected():
    X = np.array([[-1.0, 0.0], [-1.0, 0.0], [-1.0, 0.0], [1.0, 0.0]]) * np.finfo(float).max
    with pytest.raises(DegenerateDataError, match="'x0' is so wide"):
        LinearDiscriminantAnalysis().fit(X, [0, 0, 0, 1])


def test_the_first_of_the_largest_entries_of_a_direction_is_positive():
    """Not the one that rounding has left the largest."""
    direction = np.array([[0.5], [-0.5 * (1 + 1e-15)], [0.1]])
    np.testing.assert_array_equal(fix_signs(-direction), direction)
    np.testing.assert_array_equal(fix_signs(direction), direction)


def test_small_weights_do_not_hide_numbers_whose_fourth_powers_overflow():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(20, 2)) * [1.0, 1e90], np.arange(20) % 2
    with pytest.raises(DegenerateDataError, match=r"'x1' .*fourth powers"):
        LinearDiscriminantAnalysis(solver="lsqr", shrinkage="auto").fit(X, y, sample_weight=np.full(20, 1e-150))


@pytest.mark.parametrize("gaps", [False, True])
@pytest.mark.parametrize("solver", SOLVERS)
def test_classes_that_have_no_prior_still_have_a_covariance(solver: str, gaps: bool) -> None:
    """Classes without a prior may come first: their statistics are kept until the others arrive."""
    X, y = blobs()
    if gaps:
        X[::7, 1] = np.nan
    first = y < 2
    model = LinearDiscriminantAnalysis(solver, priors=[0.0, 0.0, 1.0], store_covariance=True)
    plain = LinearDiscriminantAnalysis(solver, store_covariance=True)
    for each, classes in ((model, [0, 1, 2]), (plain, [0, 1])):
        each.partial_fit(X[first], y[first], classes=classes)
    np.testing.assert_allclose(model.covariance_, plain.covariance_, rtol=1e-12)
    assert (model.partial_fit(X[~first], y[~first]).predict(X) == 2).all()


def test_a_single_row_is_rejected_with_the_message_of_scikit_learn() -> None:
    with pytest.raises(ValueError, match="Found array with 1 sample") as theirs:
        discriminant_analysis.LinearDiscriminantAnalysis().fit([[1.0, 2.0]], [0])
    with pytest.raises(DataError) as ours:
        LinearDiscriminantAnalysis().fit([[1.0, 2.0]], [0])
    assert str(ours.value).startswith(str(theirs.value))


@pytest.mark.parametrize("solver", SOLVERS)
def test_columns_so_small_that_their_precision_overflows_have_coefficients(solver: str) -> None:
    X, y = blobs()
    plain, tiny = (LinearDiscriminantAnalysis(solver).fit(X * scale, y) for scale in (1.0, 1e-155))
    np.testing.assert_allclose(tiny.coef_ * 1e-155, plain.coef_, rtol=1e-9)
    np.testing.assert_allclose(tiny.predict_proba(X * 1e-155), plain.predict_proba(X), rtol=1e-9)


@pytest.mark.parametrize("scale", [1.0, 1e-150])
def test_eigen_rejects_a_covariance_that_is_singular_but_for_rounding_in_every_order(scale: float) -> None:
    rng = np.random.default_rng(1)
    X, y = rng.normal(size=(6, 6))[rng.integers(6, size=20)] * scale, rng.integers(3, size=20)  # six points span five
    for _ in range(20):
        order = rng.permutation(20)
        with pytest.raises(SingularCovarianceError, match="collinear"):
            LinearDiscriminantAnalysis(solver="eigen").fit(X[order], y[order])


@pytest.mark.parametrize("shrinkage", [0.3, 1.0])
def test_priors_that_favour_a_wide_class_leave_the_ratios_of_scikit_learn(shrinkage: float) -> None:
    """The covariance within the classes may then be larger than that of all rows, and ratios add up to less than 0."""
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1, 2], [20, 20, 5])
    X = rng.normal(size=(45, 4)) * np.where(y == 2, 5.0, 1.0)[:, None] + 0.3 * y[:, None]
    options: Any = {"solver": "eigen", "shrinkage": shrinkage, "priors": [0.02, 0.03, 0.95]}
    theirs = discriminant_analysis.LinearDiscriminantAnalysis(**options).fit(X, y)
    ours = LinearDiscriminantAnalysis(**options).fit(X, y)
    assert np.all(theirs.explained_variance_ratio_ > 0.1)
    np.testing.assert_allclose(ours.explained_variance_ratio_, theirs.explained_variance_ratio_, rtol=1e-10)


@pytest.mark.parametrize("shrinkage", [None, "auto"])
def test_units_of_columns_cost_lsqr_no_digits(shrinkage: Any) -> None:
    """The same rows in units that are powers of two have the same coefficients, in these units."""
    rng = np.random.default_rng(33)
    y = np.repeat([0, 1, 2], 10)
    X = rng.normal(size=(30, 4)) @ rng.normal(size=(4, 4)) + rng.normal(size=(3, 4))[y]
    unit = np.exp2([-10, 0, 10, -4])
    plain = LinearDiscriminantAnalysis(solver="lsqr", shrinkage=shrinkage).fit(X, y)
    scaled = LinearDiscriminantAnalysis(solver="lsqr", shrinkage=shrinkage).fit(X * unit, y)
    np.testing.assert_allclose(scaled.coef_ * unit, plain.coef_, rtol=1e-11)
    np.testing.assert_allclose(scaled.intercept_, plain.intercept_, rtol=1e-11)


def test_equivalent_directions_agree_with_scikit_learn() -> None:
    """Full shrinkage leaves multiples of the identity: rounding must not make one axis longer than another."""
    for seed in range(20):
        rng = np.random.default_rng(seed)
        y = np.repeat([0, 1, 2, 3], [8, 7, 7, 5])
        X = rng.normal(size=(27, 5)) + rng.normal(size=(4, 5))[y]
        options: Any = {"solver": "eigen", "shrinkage": 1.0}
        theirs = discriminant_analysis.LinearDiscriminantAnalysis(**options).fit(X, y)
        ours = LinearDiscriminantAnalysis(**options).fit(X, y)
        assert np.ptp(np.diagonal(ours.covariance_)) == 0
        np.testing.assert_allclose(np.abs(ours.transform(X)), np.abs(theirs.transform(X)), rtol=1e-10)


@pytest.mark.parametrize(
    "options", [{"solver": "svd"}, {"solver": "lsqr"}, {"solver": "lsqr", "shrinkage": 0.0}], ids=str
)
@pytest.mark.parametrize("constant", [0.1, 7.7, 3.0])
def test_a_constant_column_has_no_effect(constant: float, options: Any) -> None:
    """Its rounding affects scikit-learn: see docs/decisions/0005."""
    X, y = blobs(n=35)
    still = np.column_stack([np.full(len(X), constant), X])
    with_it, without = (LinearDiscriminantAnalysis(**options).fit(rows, y) for rows in (still, X))
    np.testing.assert_allclose(with_it.predict_proba(still), without.predict_proba(X), atol=1e-10)
    alone = LinearDiscriminantAnalysis(**options).fit(still[:, :1], y)
    np.testing.assert_allclose(alone.predict_proba(still[:, :1]), np.tile(alone.priors_, (len(X), 1)), atol=1e-12)
