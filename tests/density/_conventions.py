"""scikit-learn's checks of the conventions, where widths are chosen by leaving rows out."""

from __future__ import annotations

from typing import Any

from sklearn.utils.estimator_checks import check_estimator

LEFT_OUT = "a row of weight two is left out as a whole, of two rows one remains"


def assert_conventions(model: Any) -> None:
    failing = {"check_sample_weight_equivalence_on_dense_data": LEFT_OUT}
    check_estimator(model, expected_failed_checks=failing, on_skip=None)
