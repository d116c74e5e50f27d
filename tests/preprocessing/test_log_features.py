"""LogFeatures: log(1 + x) of dense and sparse rows, and negative numbers."""

from __future__ import annotations

import pickle

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

from mercer import LogFeatures
from mercer._errors import NonFiniteError, SupportError


def test_known_answers() -> None:
    X = np.array([[0.0, 1.0], [np.e - 1, 1e9]])
    np.testing.assert_allclose(LogFeatures().fit_transform(X), [[0, np.log(2)], [1, np.log(1e9 + 1)]], rtol=1e-15)
    np.testing.assert_allclose(LogFeatures(signed=True).fit_transform(-X), -np.log1p(X), rtol=1e-15)


def test_rows_are_not_changed_and_integers_become_floats() -> None:
    X = np.array([[0.0, 3.0]])
    LogFeatures().fit_transform(X)
    assert X.tolist() == [[0, 3]]
    assert LogFeatures().fit_transform([[0, 1]]).dtype == np.float64


def test_sparse_rows_and_single_precision_are_kept() -> None:
    X = sp.random(30, 4, 0.3, format="csr", random_state=0, dtype=np.float32)
    features = LogFeatures().fit_transform(X)
    assert features.nnz == X.nnz
    assert features.dtype == np.float32
    np.testing.assert_allclose(features.toarray(), np.log1p(X.toarray()), rtol=1e-6)


def test_negative_numbers_are_named_with_the_remedy() -> None:
    X = pd.DataFrame({"bought": [1.0, -3.0]})
    with pytest.raises(SupportError, match=r"'bought' is -3.0 in row 1.*signed=True"):
        LogFeatures().fit(X)
    features = LogFeatures().fit(X.abs())
    with pytest.raises(SupportError, match="row 1"):
        features.transform(X)


def test_names_and_missing_values() -> None:
    X = pd.DataFrame({"bought": [1.0, np.nan]})
    features = LogFeatures().fit(X)
    assert features.get_feature_names_out().tolist() == ["log(1 + bought)"]
    assert LogFeatures(signed=True).fit(X).get_feature_names_out().tolist() == ["signed log(1 + bought)"]
    assert np.isnan(features.transform(X)[1, 0])
    assert features.set_output(transform="pandas").transform(X).columns.tolist() == ["log(1 + bought)"]
    with pytest.raises(NonFiniteError, match="'bought' is inf"):
        features.transform(X.fillna(np.inf))


def test_transformers_can_be_pickled() -> None:
    features = pickle.loads(pickle.dumps(LogFeatures().fit([[1.0]])))
    assert features.n_output_features_ == 1
    assert "logarithms of 1 columns" in str(features.plan_)
