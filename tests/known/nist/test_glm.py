"""NIST's certified values, from `GLM` with default parameters."""

from __future__ import annotations

import pytest

from mercer import GLM
from tests.known.nist.regression import Reference, correct_digits, references


@pytest.mark.parametrize("reference", references(), ids=str)
def test_coefficients_and_residual_deviation(reference: Reference) -> None:
    model = GLM().fit(reference.X, reference.y)
    assert correct_digits([model.intercept_, *model.coef_], reference.coefficients) >= reference.digits
    assert correct_digits(model.dispersion_**0.5, reference.residual_deviation) >= reference.digits
    assert model.certificate_.holds
    assert not model.diagnosis_
