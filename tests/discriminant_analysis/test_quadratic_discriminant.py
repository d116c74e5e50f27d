"""QuadraticDiscriminantAnalysis: scikit-learn's numbers, and what scikit-learn has not."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.stats import multivariate_normal
from sklearn import discriminant_analysis
from sklearn.covariance import OAS

from mercer import GaussianDiscriminant, QuadraticDiscriminantAnalysis
from mercer._errors import DataError, SingularCovarianceError
from tests.discriminant_analysis._blobs import blobs

OPTIONS = [
    {},
    {"reg_param": 0.2, "store_covariance": True},
    {"store_covariance": True, "solver": "eigen"},
    {"solver": "eigen", "shrinkage": 0.3},
    {"solver": "eigen", "shrinkage": "auto", "store_covariance": True},
    {"solver": "eigen", "covariance_estimator": OAS(), "store_covariance": True},
]


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("given", [False, True])
@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_has_the_numbers_of_scikit_learn(options: Any, given: bool, classes: int) -> None:
    X, y = blobs(classes)
    priors = np.arange(1.0, classes + 1) / np.arange(1, classes + 1).sum() if given else None
    ours = QuadraticDiscriminantAnalysis(priors=priors, **options).fit(X, y)
    theirs = discriminant_analysis.QuadraticDiscriminantAnalysis(priors=priors, **options).fit(X, y)
    for name in ("means_", "priors_", "scalings_", "covariance_"):
        assert hasattr(ours, name) == hasattr(theirs, name), name
        if hasattr(theirs, name):
            np.testing.assert_allclose(getattr(ours, name), getattr(theirs, name), rtol=1e-10, atol=1e-10, err_msg=name)
    np.testing.assert_allclose(np.abs(ours.rotations_), np.abs(theirs.rotations_), rtol=1e-8, atol=1e-9)
    np.testing.assert_allclose(ours.decision_function(X), theirs.decision_function(X), rtol=1e-10, atol=1e-10)
    np.testing.assert_allclose(ours.predict_log_proba(X), theirs.predict_log_proba(X), rtol=1e-10, atol=1e-10)
    np.testing.assert_array_equal(ours.predict(X), theirs.predict(X))


def test_priors_need_not_sum_to_one_as_in_scikit_learn() -> None:
    X, y = blobs(2)
    made = (QuadraticDiscriminantAnalysis, discriminant_analysis.QuadraticDiscriminantAnalysis)
    ours, theirs = (model(priors=[2, 5]).fit(X, y) for model in made)
    np.testing.assert_allclose(ours.predict_proba(X), theirs.predict_proba(X), rtol=1e-10)


def test_the_joint_density_is_the_priors_times_normal_densities() -> None:
    X, y = blobs()
    model = QuadraticDiscriminantAnalysis(store_covariance=True).fit(X, y)
    expected = [
        np.log(prior) + multivariate_normal.logpdf(X, mean, covariance)
        for prior, mean, covariance in zip(model.priors_, model.means_, model.covariance_, strict=True)
    ]
    np.testing.assert_allclose(model.predict_joint_log_proba(X), np.transpose(expected), rtol=1e-10)


def test_missing_values_are_integrated_out() -> None:
    X, y = blobs(n=600)
    X[np.random.default_rng(0).random(X.shape) < 0.15] = np.nan
    ours, same = QuadraticDiscriminantAnalysis().fit(X, y), GaussianDiscriminant().fit(X, y)
    assert ours.certificate_.kind == "stationary point"
    np.testing.assert_allclose(ours.predict_joint_log_proba(X), same.predict_joint_log_proba(X), atol=1e-6)


def test_a_singular_class_is_a_linear_algebra_error_that_names_columns() -> None:
    X, y = blobs()
    X[y == 1, 3] = X[y == 1, 0] + X[y == 1, 1]
    with pytest.raises(
        np.linalg.LinAlgError, match=r"of class 1 is not full rank.*`reg_param`.*'x0', 'x1', 'x3'"
    ) as raised:
        QuadraticDiscriminantAnalysis().fit(X, y)
    assert isinstance(raised.value, SingularCovarianceError)
    with pytest.raises(np.linalg.LinAlgError, match="`shrinkage`"):
        QuadraticDiscriminantAnalysis(solver="eigen").fit(X, y)
    QuadraticDiscriminantAnalysis(reg_param=0.01).fit(X, y)


@pytest.mark.parametrize(
    ("rows", "match"),
    [
        (slice(0, 3), "The number of classes has to be greater than one. Got 1 class. All rows are of class 'a'"),
        (slice(0, 5), "y has only 1 sample in class b"),
        (slice(0, 7), r"When using `solver='svd'` the number of samples in each class should be more"),
    ],
)
def test_too_little_data_is_rejected_with_the_message_of_scikit_learn(rows: slice, match: str) -> None:
    X = np.random.default_rng(0).normal(size=(7, 3))
    y = np.array(["a", "a", "a", "a", "b", "b", "b"])
    with pytest.raises(ValueError, match=match):
        QuadraticDiscriminantAnalysis().fit(X[rows], y[rows])


def test_small_first_batches_are_learnt_but_do_not_permit_predictions() -> None:
    X, y = blobs()
    model = QuadraticDiscriminantAnalysis()
    for i in range(10):
        model.partial_fit(X[i : i + 1], y[i : i + 1], classes=[0, 1, 2])
    with pytest.raises(DataError, match=r"not full rank|only 1 sample"):
        model.predict(X)
    model.partial_fit(X[10:], y[10:])
    whole = QuadraticDiscriminantAnalysis().fit(X, y)
    np.testing.assert_allclose(model.predict_log_proba(X), whole.predict_log_proba(X), rtol=1e-9, atol=1e-12)


def test_a_column_far_from_zero_keeps_its_digits() -> None:
    X, y = blobs()
    X = np.round(X * 2**20) / 2**20  # so that adding 1e8 is exact
    near, far = (QuadraticDiscriminantAnalysis().fit(data, y) for data in (X, X + 1e8))
    np.testing.assert_allclose(np.array(far.scalings_), near.scalings_, rtol=1e-10)
    np.testing.assert_allclose(far.predict_log_proba(X + 1e8), near.predict_log_proba(X), rtol=1e-10, atol=1e-10)


def test_small_columns_are_not_lost_next_to_large_ones():
    """Without shrinkage, units do not matter."""
    X, y = blobs(classes=2)
    units = np.array([1.0, 1e2, 1e4, 1e7])
    expected = QuadraticDiscriminantAnalysis().fit(X, y).predict_proba(X)
    np.testing.assert_allclose(
        QuadraticDiscriminantAnalysis().fit(X * units, y).predict_proba(X * units), expected, atol=1e-9
    )


def test_a_column_next_to_one_of_size_1e9_counts_towards_the_rank():
    X, y = blobs(classes=2)
    X = X * [1.0, 1e9, 1.0, 1e3]
    model, theirs = (
        QuadraticDiscriminantAnalysis().fit(X, y),
        discriminant_analysis.QuadraticDiscriminantAnalysis().fit(X, y),
    )
    for mine, expected in zip(model.scalings_, theirs.scalings_, strict=True):
        np.testing.assert_allclose(mine, expected, rtol=1e-5)
    np.testing.assert_allclose(model.predict_proba(X), theirs.predict_proba(X), atol=1e-5)


def test_a_covariance_that_stays_singular_after_regularisation_is_rejected():
    rng = np.random.default_rng(0)
    X = 1e12 * rng.normal(size=(20, 1)) @ np.ones((1, 2))
    with pytest.raises(SingularCovarianceError, match="class 0"):
        QuadraticDiscriminantAnalysis(reg_param=0.1).fit(X, np.arange(20) % 2)


def test_priors_of_single_precision_keep_their_digits():
    X, y = blobs()
    model = QuadraticDiscriminantAnalysis().fit(X.astype(np.float32), y)
    theirs = discriminant_analysis.QuadraticDiscriminantAnalysis().fit(X.astype(np.float32), y)
    assert model.priors_.dtype == theirs.priors_.dtype == np.float64
    np.testing.assert_allclose(model.priors_, theirs.priors_, rtol=1e-15)
