"""Masked values are missing values."""

from __future__ import annotations

import numpy as np
import pytest

from mercer import LogisticRegression, NaiveBayes
from mercer._errors import NonFiniteError
from mercer.data import Table


def masked() -> tuple[np.ma.MaskedArray, np.ndarray]:
    X = np.random.default_rng(0).normal(size=(40, 2))
    hidden = np.zeros(X.shape, dtype=bool)
    hidden[::7, 0] = True
    return np.ma.MaskedArray(np.where(hidden, -999.0, X), hidden), np.where(hidden, np.nan, X)


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int64])
def test_masked_numbers_are_missing(dtype: type) -> None:
    values = np.ma.MaskedArray(np.array([[1, -999], [3, 4]], dtype), [[False, True], [False, False]])
    np.testing.assert_array_equal(Table.of(values).numbers(), [[1, np.nan], [3, 4]])


def test_masked_words_are_missing_and_an_empty_mask_has_no_effect() -> None:
    words = np.ma.MaskedArray(np.array([["a"], ["b"]]), [[False], [True]])
    assert Table.of(words).coded(0).codes.tolist() == [0, -1]
    assert Table.of(np.ma.MaskedArray([[1, 2]])).numbers().tolist() == [[1, 2]]


def test_models_do_not_learn_from_masked_values() -> None:
    X, gaps = masked()
    y = np.arange(40) % 2
    assert np.array_equal(NaiveBayes().fit(X, y).predict_proba(X), NaiveBayes().fit(gaps, y).predict_proba(gaps))
    with pytest.raises(NonFiniteError, match="row 0"):
        LogisticRegression().fit(X, y)
