"""Common properties of linear and quadratic discriminants."""

from __future__ import annotations

import numpy as np
import pytest

from mercer._errors import DegenerateDataError
from mercer.discriminant_analysis import LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis


@pytest.mark.parametrize("size", [1e150, 1e-150])
@pytest.mark.parametrize(
    "model",
    [
        LinearDiscriminantAnalysis(solver="lsqr", shrinkage="auto"),
        QuadraticDiscriminantAnalysis(solver="eigen", shrinkage="auto"),
    ],
)
def test_numbers_whose_fourth_powers_overflow_are_rejected_by_ledoit_and_wolf(model, size):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(20, 3)) * [1.0, size, 1.0], np.arange(20) % 2
    with pytest.raises(DegenerateDataError, match=r"'x1' .*fourth powers .*Ledoit and Wolf"):
        model.fit(X, y)
