"""scikit-learn's checks of the conventions, where widths are chosen by leaving rows out."""

from __future__ import annotations

from typing import Any

import pytest
from sklearn.utils.estimator_checks import check_estimator

from mercer.density import regression_widths

LEFT_OUT = "a row of weight two is left out as a whole, of two rows one remains"


def assert_conventions(model: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(regression_widths, "MOST_AXES", 1)  # what the search of each finds has tests of its own
    failing = {"check_sample_weight_equivalence_on_dense_data": LEFT_OUT}
    check_estimator(model, expected_failed_checks=failing, on_skip=None)
