"""scikit-learn's checks of the conventions, for every estimator."""

from __future__ import annotations

import inspect
from typing import Any

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from tests.base._estimators import estimator_classes

#: parameters without which some check cannot pass. The checks learn from classes with fewer distinct rows than columns,
#: whose covariance is singular unless shrunk, and from classes of three rows, which make three folds and not five. They
#: want a row of twice the weight to be two rows to nine digits, but "scale" looks at rows whatever their weight, a rule
#: for bandwidths takes such a row for less than two, and a tolerance of 1e-3 leaves fewer digits.
SUITED = {
    "GaussianDiscriminant": {"covariance": "shared full", "shrinkage": 0.1},
    "KernelBayes": {"bandwidth": 1.0},
    "LocalLinear": {"bandwidth": 1.0},  # by default rows are left out, as in LEFT_OUT: see their own tests
    "LogisticRegressionCV": {"cv": 3},
    "NadarayaWatson": {"bandwidth": 1.0},
    "NadarayaWatsonClassifier": {"bandwidth": 1.0},
    "QuadraticDiscriminantAnalysis": {"solver": "eigen", "shrinkage": 0.1},
    "SVR": {"gamma": 1.0, "tol": 1e-10},
}
ONE_ROW = "learns from a class of one distinct row, which has no covariance of its own, however it is shrunk"
ONE_BY_ONE = "a row learnt twice is not a row of twice the weight: there are two updates, as in scikit-learn"
LEFT_OUT = "probabilities come from leaving rows out: one of weight two goes as a whole, of two rows one remains"
FEW_COLUMNS = "has more than three columns, which a histogram rejects; densities/test_histogram_density.py lifts that"
IMPOSSIBLE = {
    "HistogramDensity": dict.fromkeys(
        (
            "check_all_zero_sample_weights_error",
            "check_dtype_object",
            "check_estimators_dtypes",
            "check_fit2d_1sample",
            "check_n_features_in_after_fitting",
            "check_positive_only_tag_during_fit",
            "check_sample_weight_equivalence_on_dense_data",
        ),
        FEW_COLUMNS,
    ),
    "Perceptron": {
        "check_sample_weight_equivalence_on_dense_data": ONE_BY_ONE,
        "check_sample_weight_equivalence_on_sparse_data": ONE_BY_ONE,
    },
    "QuadraticDiscriminantAnalysis": {
        "check_sample_weight_equivalence_on_dense_data": ONE_ROW,
        "check_sample_weight_equivalence_on_sparse_data": ONE_ROW,
    },
    "SVC": {
        "check_sample_weight_equivalence_on_dense_data": LEFT_OUT,
        "check_sample_weight_equivalence_on_sparse_data": LEFT_OUT,
    },
    "Ridge": {"check_non_transformer_estimators_n_iter": "n_iter_ is None as in scikit-learn: nothing is iterated"},
}


def estimators() -> list[Any]:
    """One of each, with default parameters where the checks allow it."""
    return [made(**SUITED.get(made.__name__, {})) for made in estimator_classes()]


@pytest.mark.filterwarnings("ignore::UserWarning", "ignore::FutureWarning")
@parametrize_with_checks(
    estimators(), expected_failed_checks=lambda estimator: IMPOSSIBLE.get(type(estimator).__name__, {})
)
def test_follows_the_conventions_of_scikit_learn(estimator: Any, check: Any) -> None:
    check(estimator)


@pytest.mark.parametrize("estimator", estimators(), ids=lambda estimator: type(estimator).__name__)
def test_every_parameter_is_documented_and_there_is_an_example(estimator: Any) -> None:
    documentation = inspect.getdoc(type(estimator)) or ""
    for name in estimator.get_params():
        assert f"\n{name} : " in documentation, f"{name} is not described"
    assert "\nExamples\n" in documentation
