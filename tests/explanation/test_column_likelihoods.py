"""Likelihoods of single columns add up to the joint likelihood."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.stats import norm
from sklearn.datasets import load_iris

from mercer import GaussianNB, NaiveBayes
from mercer.explanation.evidence import column_likelihoods
from mercer.families import MultivariateGaussian

X, Y = load_iris(return_X_y=True, as_frame=True)
MIXED = X.assign(colour=np.where(np.arange(150) % 3 == 0, "red", "blue"), flag=np.arange(150) % 2 == 0)
MIXED.iloc[::7, 0] = np.nan
MIXED.iloc[::11, 4] = None
TOGETHER = {("sepal length (cm)", "sepal width (cm)"): MultivariateGaussian()}


@pytest.mark.parametrize(
    ("model", "rows"),
    [(GaussianNB(), X), (NaiveBayes(), X), (NaiveBayes(), MIXED), (NaiveBayes(TOGETHER), X)],
)
def test_the_sum_is_the_joint_density(model: Any, rows: pd.DataFrame) -> None:
    model.fit(rows, Y)
    found = column_likelihoods(model, rows)
    joint = found.log_prior + found.log_likelihoods.sum(axis=1)
    np.testing.assert_allclose(joint, model.predict_joint_log_proba(rows), rtol=1e-10)


def test_the_likelihood_of_a_column_is_its_density() -> None:
    model = GaussianNB().fit(X, Y)
    found = column_likelihoods(model, X)
    assert found.names == tuple(X.columns)
    values = X.iloc[:, 2].to_numpy()[:, None]
    expected = norm.logpdf(values, model.theta_[:, 2], np.sqrt(model.var_[:, 2]))
    np.testing.assert_allclose(found.log_likelihoods[:, 2], expected, rtol=1e-9)


def test_missing_values_contribute_0_and_columns_keep_their_order() -> None:
    found = column_likelihoods(NaiveBayes().fit(MIXED, Y), MIXED)
    assert found.names == tuple(MIXED.columns)
    assert not found.log_likelihoods[::7, 0].any()
    assert not found.log_likelihoods[::11, 4].any()


def test_columns_with_a_joint_distribution_have_one_name() -> None:
    names = column_likelihoods(NaiveBayes(TOGETHER).fit(X, Y), X).names
    assert set(names) == {"sepal length (cm), sepal width (cm)", "petal length (cm)", "petal width (cm)"}
