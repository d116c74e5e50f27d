"""NIST's certified values, from `LinearRegression` with default parameters."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from mercer.linear_model import LinearRegression, Ridge
from mercer.matrices import DenseMatrix
from tests.known.nist.regression import Reference, correct_digits, references

REFERENCES = references()


@pytest.mark.parametrize("reference", REFERENCES, ids=str)
def test_coefficients(reference: Reference) -> None:
    model = LinearRegression().fit(reference.X, reference.y)
    assert correct_digits([model.intercept_, *model.coef_], reference.coefficients) >= reference.digits
    assert model.certificate_.holds
    assert model.rank_ == reference.X.shape[1]
    assert not model.diagnosis_
    assert correct_digits(model.score(reference.X, reference.y), reference.r_squared) >= reference.digits


@pytest.mark.parametrize("reference", REFERENCES, ids=str)
@pytest.mark.parametrize("how", ["weights", "in any order", "sparse", "ridge without a penalty", "read in blocks"])
def test_coefficients_by_other_ways(reference: Reference, how: str, monkeypatch: pytest.MonkeyPatch) -> None:
    X, y, weight, model = reference.X, reference.y, None, LinearRegression()
    if how == "weights":
        weight = np.full(len(y), 0.25)
    elif how == "in any order":
        order = np.random.default_rng(0).permutation(len(y))
        X, y = X[order], y[order]
    elif how == "sparse":
        X = sparse.csr_array(X)
    elif how == "ridge without a penalty":
        model = Ridge(alpha=0.0)
    else:
        blocks = [slice(i, i + 3) for i in range(0, len(y), 3)]
        monkeypatch.setattr(DenseMatrix, "triangle_blocks", lambda matrix: blocks)
    model.fit(X, y, sample_weight=weight)
    assert correct_digits([model.intercept_, *model.coef_], reference.coefficients) >= reference.digits


def test_the_data_are_nists() -> None:
    """R² and the residual deviation follow from the data and the certified coefficients."""
    for reference in REFERENCES:
        fitted = reference.coefficients[0] + reference.X @ reference.coefficients[1:]
        residual = reference.y - fitted
        n, d = reference.X.shape
        deviation = np.linalg.norm(residual) / np.sqrt(n - d - 1)
        np.testing.assert_allclose(deviation, reference.residual_deviation, rtol=1e-5, atol=1e-9)
        spread = np.sum((reference.y - reference.y.mean()) ** 2)
        np.testing.assert_allclose(1 - residual @ residual / spread, reference.r_squared, rtol=1e-7)
